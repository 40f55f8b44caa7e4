#!/bin/sh
# test_lldb.sh SOURCE BUILD CC...: lldb prints tensors and modules of an installed kaeru. Status 77 (skipped) without an lldb
# that has Python. lldb is no tool of `need` in setup.sh, because its packages take 100 MB.

# lldb takes the modules of the first python3 in PATH, which must be the one that it is built for. On Debian 12, it does not
# find its own modules either; there PYTHONPATH tells where they are.
run_lldb() {
    PATH=$(dirname "$(command -v lldb)"):$PATH PYTHONPATH=$(printf '%s:' /usr/lib/llvm-*/lib/python3.*/dist-packages) \
        lldb -b -x "$@" </dev/null 2>&1
}
if ! run_lldb -o 'script print(lldb.debugger)' | grep -q '^Debugger'; then
    echo "no lldb with Python: what it prints is not tested"
    exit 77
fi

# shellcheck source=tests/installed.sh
. "$1/tests/installed.sh"

try "compile" compile kaeru "$source/tests/adopt/debugged.c" "$folder/debugged" -std=c11 -Wall -Wextra -Werror -g
run_lldb -o "command script import $(find "$root" -name kaeru_lldb.py)" -o "breakpoint set -n here" -o "run" -o "p *net" \
    -o "p x" -o "p *ids" -o "v mask" -o "v packed" -o "v *net->fc1" -o "p net->module.parent" "$folder/debugged" |
    sed 's/0x[0-9a-f]*/ADDRESS/' >"$folder/printed"
prints() { grep -qxF "$1" "$folder/printed" || { cat "$folder/printed"; false; }; }
weight='Tensor fc1.weight (3, 2) real [0.5, 0.5, 0.5, 0.5, 0.5, 0.5], requires_grad'
try "a module" prints '  module = Net {'
try "a parameter of a module" prints "    fc1.weight = $weight"
try "a parameter of a part of a part" prints '    rest.0.bias = Tensor rest.0.bias (3,) real [0, 0, 0], requires_grad'
try "reals" prints '(Tensor *) $1 = ADDRESS Tensor (10,) real [0, 1, 2, 3, 4, 5, ...]'
try "ints" prints '(Tensor) $2 = Tensor (2, 1) int [4, -5]'
try "a scalar of bools" prints '(Tensor *) mask = ADDRESS Tensor () bool [0]'
try "a packed matrix" prints '(Tensor *) packed = ADDRESS Tensor (3, 2) bfloat16 packed'
try "a layer" prints "    weight = $weight"
try "no module" prints '(Module *) $3 = NULL'

echo "lldb: $passed passed, $failed failed"
[ $failed -eq 0 ]
