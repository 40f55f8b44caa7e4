"""Files that the library safetensors writes and reads, beside kaeru's: tensor_load, tensor_save, nn_save."""
import torch
from check import check, enter_folder, finish, run
from safetensors import safe_open
from safetensors.torch import load_file, save_file

enter_folder()
torch.manual_seed(0)
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4, 5)]
REALS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
OTHERS = [torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2]


def tensor_of(dtype, shape):
    if dtype in REALS:
        return (3 * torch.randn(shape, dtype=torch.float64)).to(dtype)
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    low, high = max(torch.iinfo(dtype).min, -2**31), min(torch.iinfo(dtype).max, 2**31 - 1)
    return torch.randint(low, high + 1, shape).to(dtype)


def as_kaeru(tensor):
    return tensor if tensor.dtype == torch.bool else tensor.to(torch.float32 if tensor.dtype in REALS else torch.int32)


tensors = {f"{dtype} {shape}": tensor_of(dtype, shape) for dtype in [*REALS, *INTS, torch.bool] for shape in SHAPES}
tensors["カエル \" \\ \n"] = torch.ones(2)
save_file(tensors, "all.safetensors", metadata={"format": "pt", "kaeru": "蛙"})
told = run("tests/library_files", "copy", "all.safetensors", "copy.safetensors")
check("all tensors are read", told == "", told)
copied = load_file("copy.safetensors")
check("the names", set(copied) == set(tensors))
for name, tensor in tensors.items():
    expected = as_kaeru(tensor)
    check(repr(name), copied[name].dtype == expected.dtype and torch.equal(copied[name], expected))
with safe_open("copy.safetensors", "pt") as f:
    check("the library opens a copy lazily", set(f.keys()) == set(tensors))

# Types that kaeru does not have are refused with a reason; the others of the file are read.
for dtype in OTHERS:
    save_file({"good": torch.ones(3), "other": torch.zeros(2).to(dtype)}, "some.safetensors")
    told = run("tests/library_files", "copy", "some.safetensors", "copy.safetensors")
    check(f"{dtype} is refused with a reason", told.startswith("other: "), told)
    check(f"{dtype}: the other tensor", torch.equal(load_file("copy.safetensors")["good"], torch.ones(3)))

# A checkpoint of a training has the weights by name.
run("examples/gpt", "train", "--steps", "2", "--layers", "1", "--heads", "2", "--width", "8", "--context", "8", "--sample", "0",
    "--out", ".", "--language", "en")
weights = load_file("gpt_best.safetensors")
check("the weights of a checkpoint", weights["wte.weight"].shape[1] == 8 and "h.0.attn.c_attn.weight" in weights)
check("the weights are numbers", all(bool(torch.isfinite(t).all()) for t in weights.values() if t.is_floating_point()))

finish()
