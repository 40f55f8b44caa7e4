"""Arrays that NumPy writes and reads, beside kaeru's: tensor_load, tensor_save, .npy and .npz."""
import numpy
from check import check, check_refused, enter_folder, finish, run

enter_folder()
generator = numpy.random.default_rng(0)
SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4, 5), (1, 2, 1, 2, 1, 2, 1, 2)]
REALS = ["f2", "f4", "f8"]
INTS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def array_of(kind, shape):
    if kind == "?":
        return generator.integers(0, 2, shape).astype(bool)
    if kind in REALS:
        return generator.normal(0, 3, shape).astype(kind)
    kind = numpy.dtype(kind)
    low, high = max(numpy.iinfo(kind).min, -2**31), min(numpy.iinfo(kind).max, 2**31 - 1)
    return generator.integers(low, high, shape, endpoint=True).astype(kind)


def as_kaeru(array):
    """What kaeru makes of an array: float32, int32 or bool, all of the same values but for the rounding of float64."""
    return array if array.dtype == bool else array.astype("f4" if array.dtype.kind == "f" else "i4")


def same(found, expected):
    return found.dtype == expected.dtype and found.shape == expected.shape and numpy.array_equal(found, expected)


# ---- what NumPy wrote -----------------------------------------------------------------------------------------------------

arrays = {f"{kind} {shape}": array_of(kind, shape) for kind in [*REALS, *INTS, "?"] for shape in SHAPES}
arrays["f4 special"] = numpy.array([numpy.inf, -numpy.inf, numpy.nan, -0.0, 1e-45, 3.4028235e38], "f4")
numpy.savez("all.npz", **arrays)
told = run("tests/library_files", "copy", "all.npz", "copy.npz")
check("all.npz is read", told == "", told)
copied = numpy.load("copy.npz")
check("all.npz: the names", list(copied) == list(arrays))
for name, array in arrays.items():
    if name == "f4 special":
        check(name, array.tobytes() == copied[name].tobytes())
    else:
        check(f"all.npz: {name}", same(copied[name], as_kaeru(array)))
for kind in "f4", "f8", "i8", "?":
    for shape in SHAPES:
        array = array_of(kind, shape)
        numpy.save("one.npy", array)
        check(f"one.npy: {kind} {shape}", run("tests/library_files", "copy", "one.npy", "copy.npy") == "" and
              same(numpy.load("copy.npy"), as_kaeru(array)))

# ---- what is refused, with a reason, while the other arrays can be read ----------------------------------------------------

good = array_of("f4", (3,))
for name, array, reason in [
        ("fortran", numpy.asfortranarray(array_of("f4", (3, 4))), "Fortran"),
        ("big-endian", good.astype(">f4"), ">f4"),
        ("text", numpy.array(["frog", "pond"]), ""),
        ("complex", numpy.array([1j, 2]), ""),
        ("objects", numpy.array([{}, None], dtype=object), "")]:
    numpy.savez("some.npz", **{name: array, "good": good})
    told = run("tests/library_files", "copy", "some.npz", "copy.npz")
    check(f"{name} is refused with a reason", name in told and reason in told, told)
    check(f"{name}: the other array", same(numpy.load("copy.npz")["good"], good))
numpy.savez_compressed("compressed.npz", good=good)
told = run("tests/library_files", "copy", "compressed.npz", "copy.npz")
check("a compressed file is refused", "compressed" in told, told)
for value in 2**31, -2**31 - 1:
    numpy.save("one.npy", numpy.array([value]))
    told = run("tests/library_files", "copy", "one.npy", "copy.npy")
    check(f"{value} does not fit an int", told != "", told)
numpy.save("one.npy", numpy.array([1e39]))
told = run("tests/library_files", "copy", "one.npy", "copy.npy")
check("1e39 does not fit a float32", told != "", told)
with open("one.npy", "wb") as f:
    f.write(b"no array")
check_refused("no array", run("tests/library_files", "copy", "one.npy", "copy.npy").removeprefix("refused: "), "one.npy")

finish()
