#!/bin/sh
# test_install.sh SOURCE BUILD CC...: kaeru as its users have it: installed and found by pkg-config or CMake, in C and C++, with
# several processes if there is MPI, and as a subproject of meson. What needs a tool that is missing is left out, or fails
# if NEED_TOOLS=yes is in the environment.

source=$1 build=$2
shift 2
cc=$*
# shellcheck source=tests/try.sh
. "$source/tests/try.sh"

# lacks TOOL WHAT
lacks() {
    echo "no $1: $2 not tested"
    [ "${NEED_TOOLS-}" != yes ] || failed=$((failed + 1))
}

# ---- installed -------------------------------------------------------------------------------------------------------

root=$folder/root
try "meson install" meson install -C "$build" --no-rebuild --destdir "$root"
PKG_CONFIG_PATH=$(dirname "$(find "$root" -name kaeru.pc)")
PKG_CONFIG_SYSROOT_DIR=$root
LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/*}
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH

# compile PACKAGE SOURCE PROGRAM [FLAG...]: as the README says.
compile() {
    package=$1 file=$2 program=$3
    shift 3
    # shellcheck disable=SC2046,SC2086 # lists of words
    $cc "$@" "$file" -o "$program" $(pkg-config --cflags --libs "$package")
}

# The README shows that file, whole.
readme_shows() {
    awk '/^```/ { inside = 0 } /^\/\* spiral\.c/ { inside = 1 } inside' "$source/README.md" >"$folder/shown.c"
    diff "$folder/shown.c" "$source/examples/spiral.c"
}
try "README" readme_shows

# In a folder of its own, since the program saves its model in out/ of the current folder.
run_there() { (cd "$folder" && "$@"); }

try "compile with pkg-config" compile kaeru "$source/examples/spiral.c" "$folder/spiral"
try "run" run_there ./spiral
try "it saved its model" test -s "$folder/out/spiral.safetensors"

# program SOURCE [FLAG...]: compiles a program of at most 100 lines against the installed files, and runs it.
program() {
    name=$(basename "$1" .c) file=$1
    shift
    try "$name: at most 100 lines" [ "$(wc -l <"$file")" -le 100 ]
    try "$name: compile" compile kaeru "$file" "$folder/$name" -O2 -Wall -Wextra -Wshadow -Werror "$@"
    try "$name: run" run_there env KAERU_PLOTS="$source/plots" sh -c "./$name >printed 2>&1 || { cat printed; false; }"
}

# learned "TEXT" '<' NUMBER: the program printed this text once, and behind it a number that is less; '>': more.
learned() {
    # shellcheck disable=SC2016 # a program of awk
    try "$name: $*" awk -v text="$1" -v sign="$2" -v limit="$3" '
        { print } at = index($0, text) { n++; value = substr($0, at + length(text)) + 0 }
        END { exit !(n == 1 && (sign == "<" ? value < limit : value > limit)) }' "$folder/printed"
}

# Untrained, they print 101 and 0.44; 0 and 0; 51; 1.1; with SGD instead of Muon 0.31; 10; 0.7.
program "$source/tests/programs/vae.c" -std=c11 -Wpedantic
learned 'loss for new images ' '<' 26
learned 'loss for new images ' '>' 24                           # a bound that is not one is lower
learned 'difference of made images from spots ' '<' 0.02
program "$source/tests/programs/gan.c" -std=c11 -Wpedantic
learned 'made points near a spot ' '>' 60
learned 'made points near the rarest spot ' '>' 2
program "$source/tests/programs/vit.c" -std=c11 -Wpedantic
learned 'new images right ' '>' 98
program "$source/tests/programs/experts.c" -std=c11 -Wpedantic
learned 'loss for new rows ' '<' 0.02
learned 'share of the expert that is used least ' '>' 2
program "$source/tests/programs/muon.c" -std=c11 -Wpedantic
learned 'loss with Muon ' '<' 0.12
try "muon: resumed" grep -qx 'resumed from a checkpoint: the same loss' "$folder/printed"
# Two programs are examples, which share code of their own.
set -- -I"$source/examples" -DKAERU_PLOTS='""' "$source"/examples/common/*.c
program "$source/examples/digits.c" "$@"
learned 'the network reads ' '>' 98
program "$source/examples/moons.c" "$@"
learned ' 0 levels left: distance from the moons ' '<' 0.06
on_both_moons() { awk -F, '$1 == 0 { left += $2 < -0.2; right += $2 > 1.2 } END { exit left < 100 || right < 100 }' "$1"; }
try "moons: both" on_both_moons "$folder/out/moons.csv"

# libkaeru_double is installed with the option double or with tests enabled.
packages=kaeru
[ ! -e "$PKG_CONFIG_PATH/kaeru-double.pc" ] || packages='kaeru kaeru-double'

# Every installed header stands alone and is quiet under the usual warnings.
include=$(dirname "$(find "$root" -name kaeru.h)")
for header in "$include"/*.h; do
    name=$(basename "$header")
    case $name in ops.h | *_at.h) continue ;; esac
    printf '#include <kaeru/%s>\nint main(void) { return 0; }\n' "$name" >"$folder/header.c"
    for package in $packages; do
        try "$name alone" compile "$package" "$folder/header.c" "$folder/header" \
            -std=c11 -Wall -Wextra -Wshadow -Wpedantic -Werror
    done
done

if [ "$packages" != kaeru ]; then
    cat >"$folder/width.c" <<'END'
#include <kaeru/kaeru.h>
int main(void)
{
    Scope scope = ag_begin(AG_NO_GRAD);
    double sum = tensor_item(ag_sum(tensor_full(SHAPE(3), 1.0 / 3)));
    ag_end(scope);
    return sizeof(real) == 8 && sum == 1.0 ? 0 : 1;
}
END
    try "compile in double" compile kaeru-double "$folder/width.c" "$folder/width"
    try "run in double" "$folder/width"
fi

# The static library beside the shared one. The program has names that files of the library use, and words that a header
# should not take.
cat >"$folder/version.c" <<'END'
#include <string.h>
#include <kaeru/kaeru.h>
int file_read(void) { return 1; }
int json_parse(void) { return 2; }
double softmax_sample(double x) { return x; }
int batch_new(int n) { return n; }
int text_open(const char *path) { return *path; }
double rate = 1, gpt = 2;
int encode(int code), decode(int code);
int encode(int code) { return code + 1; }
int decode(int code) { return code - 1; }
typedef struct { int state; } Generator, Encoder, Batch, Text, Line;
typedef enum { SCALAR, VECTOR, WORD_START, WORD_END } Kind;
int encoder(Encoder *e) { return e->state; }
int generator(Generator *g) { return g->state++; }
int main(void)
{
    Generator g = { 0 };
    Encoder e = { 7 };
    return strcmp(kaeru_version(), KAERU_VERSION) != 0 || file_read() + json_parse() != 3 || ag_threads() < 1 ||
        decode(encode(3)) != 3 || generator(&g) + g.state != 1 || encoder(&e) != 7 || batch_new(2) != 2 ||
        text_open("a") != 'a' || softmax_sample(rate) + gpt != 3;
}
END
try "compile with the shared library" compile kaeru "$folder/version.c" "$folder/version_shared"
try "run with the shared library" "$folder/version_shared"
uses_library() { readelf -d "$folder/version_$1" | grep -c 'NEEDED.*libkaeru\.so\.[0-9]*\]'; }
try "its name has the number of the ABI" uses_library shared
if [ "$(uname -s)" = Linux ]; then
    compile_static() {
        # shellcheck disable=SC2046,SC2086 # lists of words
        $cc "$folder/version.c" -o "$folder/version_static" $(pkg-config --cflags kaeru) "$LD_LIBRARY_PATH/libkaeru.a" \
            $(pkg-config --libs-only-l --libs-only-other --static kaeru | sed 's/-lkaeru//')
    }
    try "compile with the static library" compile_static
    try "run with the static library" env LD_LIBRARY_PATH= "$folder/version_static"
fi

# The libraries export what the headers declare.
for library in "$LD_LIBRARY_PATH/libkaeru.a" "$LD_LIBRARY_PATH/libkaeru.so"; do
    try "exports" python3 "$source/tests/exports.py" "$library" "$include" "$source/debian/libkaeru0.symbols"
done
for library in "$LD_LIBRARY_PATH/libkaeru_mpi.so" "$LD_LIBRARY_PATH/libkaeru_mpi.a"; do
    [ ! -e "$library" ] || try "exports of MPI" python3 "$source/tests/exports.py" "$library" "$include"
done

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
                case $name in ops.h | *_at.h) continue ;; esac
                try "$name alone in C++$standard" compile_cpp -fsyntax-only "$folder/header.cpp"
            done ;;
        esac
        # shellcheck disable=SC2046 # a list of words
        try "compile in C++$standard" compile_cpp "$source/tests/adopt/spiral.cpp" -o "$folder/spiral_cpp" \
            $(pkg-config --libs kaeru)
        try "run in C++$standard" run_there ./spiral_cpp
    done
    compile_wrong() { ! compile_cpp -DBOX="$1" -fsyntax-only "$folder/wrong.cpp"; }
    printf '#include <string>\n#include <kaeru/kaeru.h>\nstruct Box { BOX };\nint main() { nn_free(nn_new(Box)); }\n' \
        >"$folder/wrong.cpp"
    try "a module with a module" compile_cpp -DBOX='Module module; int n;' -fsyntax-only "$folder/wrong.cpp"
    try "a module with a constructor" compile_wrong 'Module module; std::string name;'
    try "a module not in its place" compile_wrong 'int n; Module module;'
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
    sed -i 's/kaeru 0.2 CONFIG/kaeru 0.3 CONFIG/' "$folder/cmake/CMakeLists.txt"
    refuse() { ! cmake -S "$folder/cmake" -B "$folder/cmake/other" -DCMAKE_PREFIX_PATH="$prefix"; }
    try "a version that is not installed" refuse
else
    lacks "CMake and g++" "find_package"
fi

# ---- several processes -----------------------------------------------------------------------------------------------

# Applies the README's diff to spiral.c: a line with a blank or - is the next such line of the file, and @@ skips lines.
parallel_spiral() {
    awk '/^```/ { inside = 0 } inside; /^```diff/ { inside = 1 }' "$source/README.md" >"$folder/diff"
    awk -v file="$source/examples/spiral.c" '
        /^[+]/ { print substr($0, 2); added++; next }
        /^@@/ { next }
        { do { if ((getline line <file) <= 0) { print "no line: " $0 >"/dev/stderr"; exit 1 }
               if (line == substr($0, 2)) break
               print line } while (1)
          if (/^ /) print line }
        END { while ((getline line <file) > 0) print line
              if (added != 5) { print added + 0 " lines, not 5" >"/dev/stderr"; exit 1 } }' "$folder/diff"
}

# spiral_on PROCESSES: its model and what it prints, in a folder of that name. Open MPI must be told to start as root, and more
# processes than processors.
spiral_on() (
    mkdir -p "$folder/$1" && cd "$folder/$1" || return 1
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        mpirun -n "$1" ../parallel >printed
)

if [ -e "$PKG_CONFIG_PATH/kaeru-mpi.pc" ] && command -v mpirun >/dev/null; then
    apply() { parallel_spiral >"$folder/parallel.c"; }
    try "the README's diff" apply
    # MPI's own folders are not below $root.
    compile_parallel() {
        # shellcheck disable=SC2046,SC2086 # lists of words
        $cc "$folder/parallel.c" -o "$folder/parallel" $(PKG_CONFIG_SYSROOT_DIR='' pkg-config \
            --define-variable=prefix="${PKG_CONFIG_PATH%/*/*}" --cflags --libs kaeru-mpi)
    }
    try "compile with kaeru-mpi" compile_parallel
    for n in 1 3; do try "$n processes" spiral_on $n; done
    for file in printed out/spiral.safetensors; do try "$file of 1 and 3" cmp "$folder/1/$file" "$folder/3/$file"; done
else
    echo "no MPI: several processes not tested"
fi

# ---- a subproject ----------------------------------------------------------------------------------------------------

mkdir -p "$folder/user/subprojects"
ln -s "$source" "$folder/user/subprojects/kaeru"
cp "$source/examples/spiral.c" "$folder/user/"
cat >"$folder/user/meson.build" <<'END'
project('user', 'c')
executable('spiral', 'spiral.c', dependencies: dependency('kaeru', fallback: 'kaeru'))
END
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
# Without optimization: it compiles in a third of the time. An optimization that the user asks for reaches a subproject
# in some versions of meson only; c_args does in all.
try "set up with a subproject" meson setup "$folder/user/build" "$folder/user" --wrap-mode=forcefallback \
    -Dc_args=-O0 -Ddebug=false
try "compile with a subproject" meson compile -C "$folder/user/build" spiral
try "run with a subproject" run_there "$folder/user/build/spiral"

echo "install: $passed passed, $failed failed"
[ $failed -eq 0 ]
