#!/bin/sh
# test_one_file.sh SOURCE BUILD CC...: the two files kaeru.c and kaeru.h, which `meson compile onefile` writes in
# BUILD/packaging. They export what the library does, and train models to the weights that the library of BUILD has, with each
# instruction set. machine.sh makes the same files without meson, and from them a program that needs nothing else.

source=$1 build=$2
shift 2
# shellcheck source=tests/try.sh
. "$source/tests/try.sh"

with_one_file "$build"

# From -O2 on, gcc fuses products with sums where nothing forbids it.
try "compile kaeru.c" "$@" -Wall -Wextra -Werror -O2 -c "$build/packaging/kaeru.c" -o "$folder/kaeru.o"
nm -g --defined-only "$folder/kaeru.o" | awk '{ print $NF }' | LC_ALL=C sort >"$folder/exported"
sed -n 's/^ \([a-z0-9_]*\)@.*/\1/p' "$source/debian/libkaeru3.symbols" | LC_ALL=C sort >"$folder/public/symbols"
try "names" diff "$folder/public/symbols" "$folder/exported"
try "compile a program" "$@" -O2 -I "$folder/include" "$source/tests/final_weights.c" "$source/tests/runs.c" "$folder/kaeru.o" \
    -lm -pthread -o "$folder/final_weights"
refuse_double() {
    ! "$@" -DKAERU_DOUBLE -I "$folder/include" "$source/examples/spiral.c" "$folder/kaeru.o" -lm -pthread -o "$folder/double"
}
try "KAERU_DOUBLE does not link with the file of floats" refuse_double "$@"
refuse_fast_math() { "$@" -O3 -ffast-math -fsyntax-only "$build/packaging/kaeru.c" 2>&1 | grep -q 'expected -O3'; }
try "kaeru.c refuses -ffast-math" refuse_fast_math "$@"
# A program's constructor can run before the choice of the instruction set.
cat >"$folder/early.c" <<'END'
#include "public/kaeru.h"
static Linear *layer;
__attribute__((constructor)) static void make_layer(void) { layer = nn_linear_new(2, 64); }
int main(void) { return layer ? 0 : 1; }
END
try "compile a program with a constructor" "$@" "$folder/early.c" "$folder/kaeru.o" -lm -pthread -o "$folder/early"
try "its constructor uses kaeru" "$folder/early"
for model in transformer gpt; do
    for precision in float32 bf16; do
        try "$model in $precision" "$build/tests/final_weights" $model $precision 2 "$folder/library"
        # An instruction set that the processor lacks is replaced by the best that it has.
        for isa in portable avx2 avx512 avx512_bf16 amx; do
            try "$model in $precision, $isa" env KAERU_ISA=$isa "$folder/final_weights" $model $precision 2 "$folder/one_file"
            try "the same weights of $model in $precision, $isa" cmp "$folder/library" "$folder/one_file"
        done
    done
done

carried() { (cd "$folder" && env -i machine/bench --machine --threads 2 --seconds 0 --minutes 60 gemm_128); }
try "machine.sh" env CC="$*" CFLAGS=-O1 sh "$source/tests/machine.sh" --build "$folder/machine" --make
for file in kaeru.c kaeru.h; do try "$file without meson" cmp "$build/packaging/$file" "$folder/machine/$file"; done
try "its program alone" carried
try "the times of its program" [ "$(grep -c '^gemm_128,' "$folder/machine.csv")" -eq 4 ]

echo "one file: $passed passed, $failed failed"
[ $failed -eq 0 ]
