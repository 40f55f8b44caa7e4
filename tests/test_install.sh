#!/bin/sh
# test_install.sh SOURCE BUILD CC...: kaeru as its users have it: installed and found by pkg-config, with several processes if
# there is MPI, and as a subproject of meson, there as a shared library.

source=$1 build=$2
shift 2
cc=$*
passed=0
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# try "WHAT" COMMAND...: counts, and shows the output of what fails.
try() {
    what=$1
    shift
    if "$@" >"$folder/output" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what: $*"
        cat "$folder/output"
    fi
}

# ---- installed -------------------------------------------------------------------------------------------------------

root=$folder/root
try "meson install" meson install -C "$build" --no-rebuild --destdir "$root"
PKG_CONFIG_PATH=$(dirname "$(find "$root" -name kaeru.pc)")
PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR

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
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
# Without optimization: it compiles in a third of the time. An optimization that the user asks for reaches a subproject
# in some versions of meson only; c_args does in all.
try "set up with a subproject" meson setup "$folder/user/build" "$folder/user" --wrap-mode=forcefallback \
    -Dc_args=-O0 -Ddebug=false -Dkaeru:default_library=shared
try "compile with a subproject" meson compile -C "$folder/user/build" spiral
try "run with a subproject" run_there "$folder/user/build/spiral"

# What the shared library exports is what the headers declare.
library=$(find "$folder/user/build/subprojects/kaeru/" -name 'libkaeru.so' -o -name 'libkaeru.dylib' | head -n 1)
exports_only_public() {
    nm -g "$library" | awk '$2 ~ /^[TDBRV]$/ { sub(/^_/, "", $3); print $3 }' | sort -u >"$folder/exported"
    [ -s "$folder/exported" ] || { echo "nm shows nothing in $library"; return 1; }
    cat "$include"/*.h | tr -c 'A-Za-z0-9_' '\n' | sort -u >"$folder/declared"
    hidden=$(comm -23 "$folder/exported" "$folder/declared")
    [ -z "$hidden" ] || { echo "exported, but in no public header:" "$hidden"; return 1; }
}
try "exports" exports_only_public

echo "install: $passed passed, $failed failed"
[ $failed -eq 0 ]
