#!/bin/sh
# test_cpp.sh SOURCE BUILD CC...: an installed kaeru in C++, and found by CMake. What needs a tool that is missing is left out,
# or fails if NEED_TOOLS=yes is in the environment.

# shellcheck source=tests/installed.sh
. "$1/tests/installed.sh"

# lacks TOOL WHAT
lacks() {
    echo "no $1: $2 not tested"
    [ "${NEED_TOOLS-}" != yes ] || failed=$((failed + 1))
}

# ---- C++ -------------------------------------------------------------------------------------------------------------

for cxx in g++ clang++; do
    if ! command -v $cxx >/dev/null; then
        lacks $cxx "C++ with $cxx"
        continue
    fi
    for standard in 11 14 17 20 2b; do
        compile_cpp() {
            # shellcheck disable=SC2046 # a list of words
            "$cxx" "-std=c++$standard" -Wall -Wextra -Wshadow -Wpedantic -Werror $(pkg-config --cflags kaeru) "$@"
        }
        case $standard in 11 | 2b)
            for header in "$include"/*.h; do
                name=$(basename "$header")
                case $name in mpi.h) continue ;; esac
                printf '#include <kaeru/%s>\nint main() {}\n' "$name" >"$folder/header.cpp"
                try "$name alone in C++$standard" compile_cpp -Wconversion -Wsign-conversion -Wold-style-cast -fsyntax-only \
                    "$folder/header.cpp"
            done ;;
        esac
        # shellcheck disable=SC2046 # a list of words
        try "compile in C++$standard" compile_cpp "$source/tests/adopt/spiral.cpp" -o "$folder/spiral_cpp" \
            $(pkg-config --libs kaeru)
        try "run in C++$standard" run_there ./spiral_cpp
        # shellcheck disable=SC2046 # a list of words
        try "compile owners in C++$standard" compile_cpp "$source/tests/adopt/owners.cpp" -o "$folder/owners" \
            $(pkg-config --libs kaeru)
        try "run owners" "$folder/owners"
        # shellcheck disable=SC2046 # a list of words
        try "compile calls in C++$standard" compile_cpp -x c++ "$source/tests/adopt/lines.c" -o "$folder/lines" \
            -fmacro-prefix-map="$source/tests/adopt/=" $(pkg-config --libs kaeru)
        try "their lines" "$folder/lines"
        # shellcheck disable=SC2046 # a list of words
        try "compile a program with short names in C++$standard" compile_cpp -x c++ "$source/tests/adopt/own_names.c" \
            -o "$folder/own_names" $(pkg-config --libs kaeru)
        try "run it" "$folder/own_names"
    done
    printf '#include <complex>\nusing namespace std;\n#include <kaeru/kaeru.h>\nint main() { return ag_threads() < 1; }\n' \
        >"$folder/std.cpp"
    try "names of std in the global namespace" compile_cpp -fsyntax-only "$folder/std.cpp"
    compile_wrong() { ! compile_cpp -DBOX="$1" -fsyntax-only "$folder/wrong.cpp"; }
    printf '#include <string>\n#include <kaeru/kaeru.h>\nstruct Box { BOX };\nint main() { ag_free(nn_new(Box)); }\n' \
        >"$folder/wrong.cpp"
    try "a module with a module" compile_cpp -DBOX='Module module; int n;' -fsyntax-only "$folder/wrong.cpp"
    try "a module with a constructor" compile_wrong 'Module module; std::string name;'
    try "a module not in its place" compile_wrong 'int n; Module module;'
    printf '#include <kaeru/kaeru.h>\nenum { rows = 2 };\nint main() { unsigned long n = 3; return SHAPE(LIST).ndim; }\n' \
        >"$folder/shape.cpp"
    compile_shape() { compile_cpp -Wno-unused -DLIST="$1" -fsyntax-only "$folder/shape.cpp"; }
    compile_wrong_shape() { ! compile_shape "$1"; }
    try "a shape of integers" compile_shape 'rows, n, 3'
    try "a shape with a fraction" compile_wrong_shape '2.9, 3'
    # shellcheck disable=SC2046 # a list of words
    refuse_double() { ! compile_cpp -DKAERU_DOUBLE "$source/tests/adopt/spiral.cpp" -o "$folder/double" "$@"; }
    try "KAERU_DOUBLE does not link with the library of floats" refuse_double $(pkg-config --libs kaeru)
    printf '#include <kaeru/kaeru.h>\nint main() { nn_load("x", NULL); }\n' >"$folder/unchecked.cpp"
    ignore_result() { ! compile_cpp -c "$folder/unchecked.cpp" -o "$folder/unchecked.o"; }
    try "the result of nn_load is ignored" ignore_result
done

# ---- CMake -----------------------------------------------------------------------------------------------------------

if command -v cmake >/dev/null && command -v g++ >/dev/null; then
    mkdir "$folder/cmake"
    cp "$source/tests/adopt/CMakeLists.txt" "$source/tests/adopt/spiral.cpp" "$source/examples/spiral.c" "$folder/cmake/"
    prefix=${LD_LIBRARY_PATH%/lib*}
    try "configure with CMake" cmake -S "$folder/cmake" -B "$folder/cmake/build" -DCMAKE_PREFIX_PATH="$prefix"
    try "compile with CMake" cmake --build "$folder/cmake/build"
    for program in spiral spiral_static spiral_cpp; do
        try "$program of CMake" run_there env LD_LIBRARY_PATH= "$folder/cmake/build/$program"
    done
    ln -s "$prefix" "$folder/cmake/link"                            # as /lib is a link to /usr/lib
    config=$(find "$prefix/" -name kaeru-config.cmake | sed "s|^$prefix/*|$folder/cmake/link/|")
    try "configure through a link" cmake -S "$folder/cmake" -B "$folder/cmake/linked" -Dkaeru_DIR="$(dirname "$config")"
    sed -i 's/kaeru 0.4 CONFIG/kaeru 0.5 CONFIG/' "$folder/cmake/CMakeLists.txt"
    refuse() { ! cmake -S "$folder/cmake" -B "$folder/cmake/other" -DCMAKE_PREFIX_PATH="$prefix"; }
    try "a version that is not installed" refuse
else
    lacks "CMake and g++" "find_package"
fi

echo "cpp: $passed passed, $failed failed"
[ $failed -eq 0 ]
