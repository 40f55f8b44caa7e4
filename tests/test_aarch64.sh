#!/bin/sh
# test_aarch64.sh SOURCE BUILD: kaeru.c, which BUILD made on another processor, compiles for AArch64 and trains a model to the
# weights that the library of BUILD has. It needs a compiler for AArch64, and qemu-user to run the program.

source=$1 build=$2
compiler=aarch64-linux-gnu-gcc machine=qemu-aarch64
root=$source
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
for tool in $compiler $machine; do have "$tool" || not_tried tests/test_aarch64.sh "there is no $tool"; done
# shellcheck source=tests/try.sh
. "$source/tests/try.sh"

with_one_file "$build"
try "compile" $compiler -Wall -Wextra -Werror -O1 -static -I "$folder/include" "$source/tests/final_weights.c" \
    "$source/tests/runs.c" "$build/packaging/kaeru.c" -lm -pthread -o "$folder/final_weights"
try "gpt here" "$build/tests/final_weights" gpt float32 2 "$folder/here"
try "gpt on AArch64" $machine "$folder/final_weights" gpt float32 2 "$folder/there"
try "the same weights" cmp "$folder/here" "$folder/there"

echo "aarch64: $passed passed, $failed failed"
[ $failed -eq 0 ]
