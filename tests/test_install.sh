#!/bin/sh
# test_install.sh SOURCE BUILD CC...: kaeru as its users have it: installed and found by pkg-config, in C, and with several
# processes if there is MPI.

# shellcheck source=tests/installed.sh
. "$1/tests/installed.sh"

# The README shows that file, whole.
readme_shows() {
    awk '/^```/ { inside = 0 } /^\/\* spiral\.c/ { inside = 1 } inside' "$source/README.md" >"$folder/shown.c"
    diff "$folder/shown.c" "$source/examples/spiral.c"
}
try "README" readme_shows

try "compile with pkg-config" compile kaeru "$source/examples/spiral.c" "$folder/spiral"
try "run" run_there ./spiral
try "it saved its model" test -s "$folder/spiral.safetensors"

# libkaeru_double is installed with the option double or with tests enabled.
packages=kaeru
[ ! -e "$PKG_CONFIG_PATH/kaeru-double.pc" ] || packages='kaeru kaeru-double'

# Every installed header stands alone and is quiet under the usual warnings.
for header in "$include"/*.h; do
    name=$(basename "$header")
    printf '#include <kaeru/%s>\nint main(void) { return 0; }\n' "$name" >"$folder/header.c"
    for package in $packages; do
        try "$name alone" compile "$package" "$folder/header.c" "$folder/header" \
            -std=c11 -Wall -Wextra -Wshadow -Wpedantic -Wconversion -Wsign-conversion -Wcast-qual -Werror
    done
done

# The line of each kind of call.
for lines in '' -DKAERU_NO_LINES; do
    # shellcheck disable=SC2086 # none or one
    try "compile calls $lines" compile kaeru "$source/tests/adopt/lines.c" "$folder/lines" -std=c11 -Wall -Wextra -Wshadow \
        -Wpedantic -Wconversion -Wsign-conversion -Werror -fmacro-prefix-map="$source/tests/adopt/=" $lines
    try "their lines $lines" "$folder/lines"
done

# Usual mistakes that the compiler tells in words.
cat >"$folder/wrong.c" <<'END'
#include <kaeru/kaeru.h>
typedef struct { int n; Module module; } Last;
typedef struct { Module module; Linear *linear; void *any; } Net;
int main(void)
{
    void *any = nn_linear_new(1, 1);
    Net *net = nn_new(Net);
    nn_child(net, linear, any);
    nn_child(net, any, nn_layer_norm_new(1));
    ag_end(ag_begin(AG_NO_GRAD));
    MISTAKE;
}
END
try "no mistake" compile kaeru "$folder/wrong.c" "$folder/wrong" -std=c11 -Wall -Wextra -Wpedantic -Werror '-DMISTAKE=return 0'
# tells "MISTAKE" "WORDS"
tells() {
    ! compile kaeru "$folder/wrong.c" "$folder/wrong" "-DMISTAKE=$1" 2>"$folder/told" || return 1
    grep -qF "$2" "$folder/told" || { cat "$folder/told"; return 1; }
}
# shellcheck disable=SC2016 # in the message
try "nn_new" tells 'nn_new(Last)' 'nn_new: the first member of a module is `Module module`'
try "nn_child" tells 'nn_child(net, linear, nn_layer_norm_new(1))' 'nn_child: the module is of another type than the field'
try "ag_begin" tells 'ag_begin()' 'ag_begin takes AG_RECORD or AG_NO_GRAD'

if [ "$packages" != kaeru ]; then
    cat >"$folder/width.c" <<'END'
#include <kaeru/kaeru.h>
int main(void)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    double sum = tensor_item(ag_sum(tensor_full(SHAPE(3), 1.0 / 3)));
    ag_end(scope);
    return sizeof(ag_real) == 8 && sum == 1.0 ? 0 : 1;
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

# Short names are the program's.
try "compile a program with short names" compile kaeru "$source/tests/adopt/own_names.c" "$folder/own_names" \
    -std=c11 -Wall -Wextra -Wshadow -Wpedantic -Werror
try "run it" "$folder/own_names"

# The libraries export what the headers declare.
for library in "$LD_LIBRARY_PATH/libkaeru.a" "$LD_LIBRARY_PATH/libkaeru.so"; do
    try "exports" python3 "$source/tests/exports.py" "$library" "$include" "$source/debian/libkaeru3.symbols"
done
for library in "$LD_LIBRARY_PATH/libkaeru_mpi.so" "$LD_LIBRARY_PATH/libkaeru_mpi.a"; do
    [ ! -e "$library" ] || try "exports of MPI" python3 "$source/tests/exports.py" "$library" "$include"
done

# ---- several processes -----------------------------------------------------------------------------------------------

# Applies the diff of docs/processes.md to spiral.c: a line with a blank or - is the next such line of the file, and @@ skips
# lines.
parallel_spiral() {
    awk '/^```/ { inside = 0 } inside; /^```diff/ { inside = 1 }' "$source/docs/processes.md" >"$folder/diff"
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
    try "the diff of docs/processes.md" apply
    # MPI's own folders are not below $root.
    compile_parallel() {
        # shellcheck disable=SC2046,SC2086 # lists of words
        $cc "$folder/parallel.c" -o "$folder/parallel" $(PKG_CONFIG_SYSROOT_DIR='' pkg-config \
            --define-variable=prefix="${PKG_CONFIG_PATH%/*/*}" --cflags --libs kaeru-mpi)
    }
    try "compile with kaeru-mpi" compile_parallel
    for n in 1 3; do try "$n processes" spiral_on $n; done
    for file in printed spiral.safetensors; do try "$file of 1 and 3" cmp "$folder/1/$file" "$folder/3/$file"; done
else
    echo "no MPI: several processes not tested"
fi

echo "install: $passed passed, $failed failed"
[ $failed -eq 0 ]
