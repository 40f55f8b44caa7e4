#!/bin/sh
# test_tiny.sh SOURCE PROGRAMS: examples/tiny.c, compiled here in several ways, trains to the bits of the library's programs in
# the folder PROGRAMS, with each instruction set of their kernels.

# shellcheck disable=SC2086 # lists of words

source=$(cd "$1" && pwd)/examples/tiny.c
wasi=$(cd "$1" && pwd)/tests/wasi.mjs
programs=$(cd "$2" && pwd)
program=$programs/tiny
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

have() { command -v "$1" >/dev/null 2>&1; }

# ---- the source ------------------------------------------------------------------------------------------------------

that "at most 800 lines" [ "$(wc -l <"$source")" -le 800 ]
that "at most 100 columns" awk 'length($0) > 100 { bad = 1 } END { exit bad }' "$source"
that "headers of C alone" [ "$(sed -n 's/^#include //p' "$source" | tr -d '\n')" = \
    '<float.h><math.h><stdbool.h><stdint.h><stdio.h><stdlib.h><string.h>' ]

# ---- the command line ------------------------------------------------------------------------------------------------

for option in rows hidden heads width context layers batch steps seed; do
    expect 0 "  --$option " '' --help
done
expect 0 'usage: tiny skip' '' gpt --help
expect 0 'Alice' '' text
expect 2 'usage: tiny skip' '' train
expect 2 'usage: tiny skip' '' gpt --width 30 --heads 4
expect 2 '' 'tiny: --row: expected an option and a number' skip --row 5
expect 2 '' 'tiny: --rows: expected an option and a number' skip --rows
expect 2 '' 'tiny: --rows: expected an option and a number' skip --rows ten
expect 2 '' 'tiny: --rows: expected an option and a number' skip --rows 5x
expect 2 '' 'tiny: --rows: expected an option and a number' skip --rows 0

# ---- hashes ----------------------------------------------------------------------------------------------------------

hashes() { tr -d '\r' | sed -n 's/^SHA-256 of the weights of .* \([0-9a-f]*\)$/\1/p'; }

# More than 64, 512 and 2048 rows, and more than 512 hidden numbers; more than 64 tokens of a window, 512 of a batch.
skip_1='--rows 100 --hidden 16 --steps 12'
skip_2='--rows 2113 --hidden 5 --steps 4 --seed 7'
skip_3='--rows 70 --hidden 600 --steps 4 --seed 1'
gpt_1='--layers 2 --heads 2 --width 32 --context 16 --batch 4 --steps 15'
gpt_2='--layers 1 --heads 3 --width 24 --context 7 --batch 3 --steps 12 --seed 5'
gpt_3='--layers 2 --heads 1 --width 16 --context 79 --batch 8 --steps 3 --seed 2'
sizes='skip_1 skip_2 skip_3 gpt_1 gpt_2 gpt_3'

# library SIZE: the hashes of the library's program.
library() {
    eval "options=\$$1"
    case $1 in
    skip*) "$programs/skip_connection" --seeds 1 --depth 0 $options --out "library/$1" ;;
    gpt*)
        "$programs/gpt" train --data tiny.txt --dropout 0 --bias --clip 0 --warmup 10 --lr-min 0.001 --sample 0 $options \
            --out "library/$1" --overwrite ;;
    esac 2>stderr | hashes
}

"$program" text >tiny.txt
for size in $sizes; do
    library $size >"want_$size"
    case $size in
    skip*) that "hashes of $size" [ "$(wc -c <"want_$size")" -eq 130 ] ;;
    gpt*) that "hash of $size" [ "$(wc -c <"want_$size")" -eq 65 ] ;;
    esac
done
for isa in portable avx2 avx512 avx512_bf16 amx; do
    flag=$(echo $isa | sed 's/avx512$/avx512f/; s/amx/amx_bf16/')
    [ $isa = portable ] || grep -qw "$flag" /proc/cpuinfo 2>/dev/null || continue
    export KAERU_ISA=$isa
    for size in skip_2 gpt_1 gpt_3; do
        library $size >"got_$size"
        same "want_$size" "got_$size"
    done
    unset KAERU_ISA
done

# agrees RUNNER COMMAND...: tiny.c, compiled by this command and run by RUNNER (may be empty), has the same hashes.
agrees() {
    runner=$1
    shift
    rm -f compiled.exe
    if ! "$@" "$source" -o compiled.exe -lm 2>stderr; then
        wrong "compile with $*"
        cat stderr
        return
    fi
    for size in $sizes; do
        eval "options=\$$size"
        $runner ./compiled.exe ${size%_*} $options 2>stderr | hashes >got
        if cmp -s "want_$size" got; then ok; else wrong "$size, compiled with $*"; cat stderr; fi
    done
}

flags='-std=c11 -Wall -Wextra -pedantic -Werror'
m32='-m32 -msse2 -mfpmath=sse -idirafter /usr/include/x86_64-linux-gnu'
printf '#include <stdio.h>\nint main(void) { return 0; }\n' >empty.c
for compiler in gcc clang; do
    have $compiler || continue
    agrees '' $compiler -O2
    agrees '' $compiler $flags -O0
    case $(uname -m) in
    x86_64) agrees '' $compiler $flags -O3 -march=native ;;
    *) agrees '' $compiler $flags -O3 ;;
    esac
    if $compiler -fsanitize=address,undefined empty.c -o empty 2>stderr && ./empty 2>stderr; then
        agrees '' $compiler $flags -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
    fi
    if $compiler $m32 empty.c -o empty 2>stderr && ./empty 2>stderr; then
        agrees '' $compiler $flags -O2 $m32
    fi
done
for machine in aarch64 riscv64; do
    if have $machine-linux-gnu-gcc && have qemu-$machine; then
        agrees qemu-$machine $machine-linux-gnu-gcc $flags -O2 -static
        ! have clang || agrees qemu-$machine clang --target=$machine-linux-gnu $flags -O2 -static
    fi
done
! have musl-gcc || agrees '' musl-gcc $flags -O2 -static
# A machine of 32 bits, that of the page.
if have clang && have node && clang --target=wasm32-wasi empty.c -o empty 2>stderr; then
    agrees "node --no-warnings $wasi" clang --target=wasm32-wasi $flags -O2
fi
# MinGW's fmaf rounds twice; with -mfma it is an instruction.
if have x86_64-w64-mingw32-gcc-posix && have wine && grep -qw fma /proc/cpuinfo 2>/dev/null; then
    WINEDEBUG=-all WINEPREFIX=$PWD/wine
    export WINEDEBUG WINEPREFIX
    agrees wine x86_64-w64-mingw32-gcc-posix $flags -O2 -mfma -static
fi
summary tiny
