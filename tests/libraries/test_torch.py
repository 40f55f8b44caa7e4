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
