"""PyTorch itself, beside what is written about it: the fixtures of test_torch.c, and the differences that headers name."""
import subprocess
import sys

import torch
from check import FIXTURES, check, check_close, enter_folder, finish
from safetensors.torch import load_file
from torch.nn import functional as F

enter_folder()

# ---- the fixtures, which test_torch.c compares with kaeru, are what this version computes -----------------------------------

subprocess.run([sys.executable, FIXTURES / "make_torch.py", "."], check=True)
for name in "torch_ops", "torch_optim":
    now, stored = load_file(f"{name}.safetensors"), load_file(FIXTURES / f"{name}.safetensors")
    check(f"{name}: the names", sorted(now) == sorted(stored))
    for key in stored:
        check_close(f"{name}: {key}", now[key], stored[key])

# ---- ag_interpolate2d, AG_NEAREST: item i comes from item i N / n in exact arithmetic; here from another one for 156 pairs ---

differ = 0
for n in range(1, 121):
    x = torch.arange(n, dtype=torch.float64)[None, None, None]
    for size in range(1, 121):
        exact = torch.arange(size) * n // size
        differ += not torch.equal(F.interpolate(x, (1, size)).flatten().long(), exact)
check("pairs of sizes with another nearest item", differ == 156, str(differ))
at_82 = F.interpolate(torch.tensor([[[[0.0, 1.0]]]]), (1, 82)).flatten()
check("from 2 to 82", at_82[41] == 0 and at_82[42] == 1)

# ---- rows with infinity, which test_torch.c compares with kaeru --------------------------------------------------------------

x = torch.tensor([float("inf"), 1.0])
for function in F.softmax, F.log_softmax:
    check(f"{function.__name__} of infinity", bool(torch.isnan(function(x, -1)).all()))

# ---- what ops.h names beside kaeru's values: the ends of GELU, powers of -infinity, the gradient of a quotient ----


def gradient(function, *numbers):
    leaves = [torch.tensor(number, requires_grad=True) for number in numbers]
    y = function(*leaves)
    y.backward()
    return y.item(), leaves[-1].grad.item()


infinity = float("inf")
for what, function, number, differs in (
        ("gelu", lambda x: F.gelu(x, approximate="tanh"), 1e38, [False, True]),
        ("gelu", lambda x: F.gelu(x, approximate="tanh"), 1e19, [False, False]),
        ("gelu", lambda x: F.gelu(x, approximate="tanh"), -infinity, [True, True]),
        ("gelu_erf", F.gelu, infinity, [False, True]), ("gelu_erf", F.gelu, 1e38, [False, False]),
        ("gelu_erf", F.gelu, -infinity, [True, True]),
        ("x ** 0.5", lambda x: x ** 0.5, -infinity, [True, True]),
        ("x ** -0.5", lambda x: x ** -0.5, -infinity, [True, False])):
    found = gradient(function, number)
    check(f"{what} at {number}: what is NaN", [value != value for value in found] == differs, str(found))
check("the gradient of a quotient, |b| below 2.9e-39", gradient(torch.div, 0.0, 1e-40)[1] == 0)
check("powers of -infinity", [torch.pow(torch.tensor(-infinity), b).item() for b in (torch.tensor(0.5), torch.tensor(-1.5))]
      == [infinity, 0])

# ---- what headers name beside kaeru's values: a mean, kl_div, logsumexp, clipping --------------------------------------------

check("the mean of large numbers", torch.full((1000,), 3e36).mean().item() == infinity)
loss = F.kl_div(torch.tensor([-infinity, 0.0]), torch.tensor([0.0, 1.0]), reduction="sum").item()
check("kl_div of target 0 and log_p -infinity", loss != loss, str(loss))
x = torch.zeros(0, 3, requires_grad=True)
y = x.logsumexp(0)
y.sum().backward()
check("logsumexp along a dimension of size 0", y.tolist() == [-infinity] * 3 and x.grad.shape == (0, 3), str(y))
for bad in infinity, float("nan"):
    weights = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    for weight, number in zip(weights, (bad, 1e6)):
        weight.grad = torch.tensor([number])
    norm = torch.nn.utils.clip_grad_norm_(weights, 1.0).item()
    spoiled, finite = (weight.grad.item() for weight in weights)
    check(f"clipping with a gradient of {bad}", spoiled != spoiled and (finite == 0 if bad == infinity else finite != finite)
          and (norm == bad or norm != norm), f"{norm} {spoiled} {finite}")

# ---- ag_rope_frequencies: the powers are rounded to the nearest float; here a few are not ------------------------------------

count = differ = largest = 0
for base in 1e4, 1e5, 1.5e5, 2e5, 5e5, 1e6, 5e6, 8e6, 1e7:
    for width in range(8, 257, 8):
        exponent = torch.arange(0, width, 2).float() / width
        here, nearest = 1 / base ** exponent, 1 / (base ** exponent.double()).float()
        if base in (1e4, 5e5) and width in (32, 64, 80, 128):
            check(f"frequencies of base {base} and width {width}", torch.equal(here, nearest))
        count += len(here)
        differ += int((here != nearest).sum())
        largest = max(largest, float((here.double() / nearest - 1).abs().max()))
check("rotary frequencies", count == 19008 and 0 < differ < 500 and largest < 1.7e-7, f"{differ} of {count}, by {largest}")

# ---- what test_nan.c wants: hidden steps of a recurrent layer are not read, not even NaN ------------------------------

for kind in torch.nn.GRU, torch.nn.LSTM:
    layer, results = kind(2, 3, batch_first=True), []
    for hidden in 0.0, float("nan"):
        x = torch.ones(2, 4, 2)
        x[0, 2:] = hidden
        layer.zero_grad()
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [2, 4], batch_first=True, enforce_sorted=False)
        layer(packed)[0].data.sum().backward()
        results.append([p.grad.clone() for p in layer.parameters()])
    check(f"{kind.__name__}: NaN in the padding", all(map(torch.equal, *results)))

finish()
