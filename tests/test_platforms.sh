#!/bin/sh
# test_platforms.sh SOURCE BUILD: kaeru.c, which BUILD made, compiles without a warning for other systems and processors. Where
# an emulator runs the program, it trains models to the weights that the library of BUILD has.

source=$1 build=$2
root=$source
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
# shellcheck source=tests/try.sh
. "$source/tests/try.sh"
# shellcheck source=tests/round_trips.sh
. "$root/tests/round_trips.sh"

with_one_file "$build"
export WINEDEBUG=-all WINEPREFIX="$folder/wine"
tried=0

# is_there TOOL...: with CI=true, a tool that is missing is a failure.
is_there() {
    for tool in "$@"; do
        have "$tool" && continue
        echo "not tried: there is no $tool"
        [ "${CI-}" != true ] || failed=$((failed + 1))
        return 1
    done
    tried=$((tried + 1))
}

# compiled NAME COMMAND...: makes $folder/NAME.exe of $kaeru, kaeru.c or its object file, and a program that trains models.
kaeru=$build/packaging/kaeru.c
compiled() {
    name=$1
    shift
    try "compile for $name" "$@" -std=c11 -Wall -Wextra -Werror -I "$folder/include" \
        "$source/tests/final_weights.c" "$source/tests/runs.c" "$kaeru" -lm -pthread -o "$folder/$name.exe"
}

# object NAME COMMAND...: makes $folder/NAME.o of kaeru.c.
object() {
    name=$1
    shift
    try "kaeru.c for $name" "$@" -std=c11 -Wall -Wextra -Werror -c "$kaeru" -o "$folder/$name.o"
}

# trains NAME "MODEL PRECISION" "STEPS" EMULATOR: STEPS is empty for the program's own number.
trains() {
    # shellcheck disable=SC2086 # lists of words
    {
        try "$2 here" "$build/tests/final_weights" $2 2 "$folder/here" $3
        try "$2 on $1" $4 "$folder/$1.exe" $2 2 "$folder/there" $3
    }
    try "the same weights of $2 on $1" cmp "$folder/here" "$folder/there"
}

if is_there x86_64-w64-mingw32-gcc-posix wine; then
    # gcc aligns the stack to 16 bytes there, and vectors on it need 64.
    compiled windows x86_64-w64-mingw32-gcc-posix -O1 -Wa,-muse-unaligned-vector-move -static
    for model in transformer gpt; do
        for precision in float32 bf16; do trains windows "$model $precision" '' wine; done
    done
    if is_there clang; then
        libgcc=$(x86_64-w64-mingw32-gcc-posix -print-libgcc-file-name)
        compiled windows-clang clang --target=x86_64-w64-mingw32 -O0 -static -L"${libgcc%/*}"
        trains windows-clang 'gpt float32' '' wine
    fi
fi
if is_there aarch64-linux-gnu-gcc qemu-aarch64; then
    object aarch64 aarch64-linux-gnu-gcc -O1
    kaeru=$folder/aarch64.o
    compiled aarch64 aarch64-linux-gnu-gcc -O1 -static
    trains aarch64 'gpt float32' '' qemu-aarch64
    # What was compressed here is decompressed there.
    try "compress for aarch64" compress_by "$build" "$kaeru" "$folder/compress" aarch64-linux-gnu-gcc -O1 -static
    try "files to decompress" pack "$build/examples/compress" 12 "$folder/packed"
    try "decompress on aarch64" unpack aarch64 "$folder/packed" 1 qemu-aarch64 "$folder/compress"
    kaeru=$build/packaging/kaeru.c
fi
if is_there riscv64-linux-gnu-gcc qemu-riscv64; then
    compiled riscv64 riscv64-linux-gnu-gcc -O1 -static
    trains riscv64 'transformer float32' '2 1' qemu-riscv64
fi
if is_there musl-gcc; then
    compiled musl musl-gcc -O0 -static
    trains musl 'transformer float32' '2 1' ''
fi
# Zig's package has the headers of these systems. Nothing here runs their programs. Those of macOS are linked; to link the
# others, Zig would compile their C libraries, which takes eight minutes. By default Zig adds a sanitizer and information for a
# debugger, with which the compilation takes seven times as long.
if is_there zig; then
    zig='zig cc -g0 -fno-sanitize=undefined'
    # shellcheck disable=SC2086 # a list of words
    {
        for target in aarch64-macos x86_64-macos; do compiled $target $zig -target $target; done
        for target in aarch64-windows-gnu x86_64-windows-gnu aarch64-linux-musl riscv64-linux-musl; do
            object $target $zig -target $target
        done
    }
fi

[ $tried -gt 0 ] || not_tried tests/test_platforms.sh "there is no other compiler"
echo "platforms: $passed passed, $failed failed"
[ $failed -eq 0 ]
