#!/bin/sh
# test_gdb.sh SOURCE BUILD CC...: gdb prints tensors and modules of an installed kaeru. Without gdb nothing is tested; with
# NEED_TOOLS=yes in the environment that is a failure.

# shellcheck source=tests/installed.sh
. "$1/tests/installed.sh"

if command -v gdb >/dev/null; then
    try "compile" compile kaeru "$source/tests/adopt/debugged.c" "$folder/debugged" -std=c11 -Wall -Wextra -Werror -g
    # gdb looks for the real path of the library below a folder auto-load. Here the library is below a folder of the test.
    mkdir -p "$folder/auto-load$root"
    cp -R "$(find "$root" -name auto-load)/." "$folder/auto-load$root"
    gdb -q -batch -nx -iex "set auto-load scripts-directory $folder/auto-load" -iex "set auto-load safe-path /" \
        -iex "set debuginfod enabled off" -ex "break here" -ex "run" -ex "print x" -ex "print *ids" -ex "print mask" \
        -ex "print net" -ex "print *net->fc1" -ex "print packed" "$folder/debugged" >"$folder/printed" 2>&1
    prints() { grep -qxF "$1" "$folder/printed" || { cat "$folder/printed"; false; }; }
    weight='Tensor fc1.weight (3, 2) real [0.5, 0.5, 0.5, 0.5, 0.5, 0.5], requires_grad'
    try "reals" prints '$1 = Tensor (10,) real [0, 1, 2, 3, 4, 5, ...]'
    try "ints" prints '$2 = Tensor (2, 1) int [4, -5]'
    try "a scalar of bools" prints '$3 = Tensor () bool [0]'
    try "a module" prints "\$4 = Net = {fc1.weight = $weight, rest.0.weight = Tensor rest.0.weight (3,) real [1, 1, 1], \
requires_grad, rest.0.bias = Tensor rest.0.bias (3,) real [0, 0, 0], requires_grad}"
    try "a packed matrix" prints '$6 = Tensor (3, 2) bfloat16 packed'
    try "a layer" prints "\$5 = Linear = {weight = $weight}"
else
    echo "no gdb: what it prints is not tested"
    [ "${NEED_TOOLS-}" != yes ] || failed=$((failed + 1))
fi

echo "gdb: $passed passed, $failed failed"
[ $failed -eq 0 ]
