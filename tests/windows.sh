#!/bin/sh
# Builds kaeru for Windows and runs its programs under wine: sh tests/windows.sh [KILLS]

usage() {
    cat <<'END'
usage: sh tests/windows.sh [KILLS]

Builds the library and the programs for Windows in a temporary folder, as docs/install.md says, and runs them under wine:
their files are those of the programs of this system, which are built in build/, also in folders with Japanese names; a
console shows Japanese texts; a second run in one folder is refused; a training that is killed KILLS times (5 if it is not
given) and resumed ends with the bytes of one that was not. Also runs the suites of Check that need no fork, with Check built
from its Debian sources.
Needs gcc-mingw-w64-x86-64-posix, wine and wine64; the suites also need Debian or Ubuntu, and the network.

The last line is the number of checks that passed and failed. The exit status is 0 if none failed, 1 if one failed, 2 if
the command line is wrong, and 77 if a tool is missing; with CI=true in the environment, 1 instead of 77.
END
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
case ${1-} in
--help | -h) usage; exit 0 ;;
-*) say "tests/windows.sh: there is no option $1"; usage >&2; exit 2 ;;
*[!0-9]*) say "tests/windows.sh: '$1' is not a count"; usage >&2; exit 2 ;;
esac
kills=${1:-5}
for tool in x86_64-w64-mingw32-gcc-posix wine script; do have "$tool" || not_tried tests/windows.sh "there is no $tool"; done
need cc meson ninja pkg-config
# shellcheck source=tests/try.sh
. "$root/tests/try.sh"
# In another locale wine cannot name the files with Japanese letters.
export LC_ALL=C.UTF-8 WINEDEBUG=-all WINEPREFIX="$folder/wine" KAERU_PLOTS="$root/plots"

# check_for_windows: builds Check and writes check.ini, meson's second cross file, which says where it is. apt downloads the
# sources: its own lists stay as they are.
check_for_windows() (
    mkdir -p "$folder/check/from" "$folder/check/lists/partial" && cd "$folder/check" || exit
    for kind in list sources; do
        find /etc/apt/sources.list /etc/apt/sources.list.d -name "*.$kind" -exec cat {} \; -exec echo \; 2>/dev/null |
            sed 's/^deb /deb-src /; s/^Types:.*/Types: deb-src/' >"from/all.$kind"
    done
    set -- -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD/from" -o "Dir::State::lists=$PWD/lists"
    apt-get "$@" update         # fails if one of the lists has no sources
    apt-get "$@" source --download-only check && tar xf check_*.orig.tar.* && cd check-*/ &&
        ./configure --host=x86_64-w64-mingw32 CC=x86_64-w64-mingw32-gcc-posix --prefix="$folder/check" --disable-shared \
            --disable-subunit &&
        make -s SUBDIRS='lib src' install || exit
    printf '%s\n' '[binaries]' "pkg-config = 'pkg-config'" '[properties]' \
        "pkg_config_libdir = '$folder/check/lib/pkgconfig'" >"$folder/check.ini"
)

cd "$root" || exit 1
set --
if [ "$(system_kind)" = debian ]; then
    need make
    try "Check for Windows" check_for_windows
    [ ! -e "$folder/check.ini" ] || set -- --cross-file "$folder/check.ini"
else
    echo "windows: the suites of Check: not tried: this system has no apt-get"
    [ "${CI-}" != true ] || failed=$((failed + 1))
fi
here=$root/build
build_here() (configure "$here")
try "build here" build_here
try "compile here" meson compile -C "$here" examples/spiral examples/skip_connection examples/gpt examples/temperature
# With -O1 in place of -O3 it compiles in half of the time; the bits are the same.
try "build" meson setup "$folder/build-windows" --cross-file packaging/windows.ini -Doptimization=1 "$@"
try "compile" meson compile -C "$folder/build-windows"
if [ $# -gt 0 ]; then
    try "compile the suites" meson compile -C "$folder/build-windows" run_tests_float
    try "the suites" env CK_FORK=no wine "$folder/build-windows/tests/run_tests_float.exe"
    grep ' passed, ' "$folder/output"
fi

cd "$folder" || exit 1
# both NAME ARGUMENT...: runs the program of this system in the folder linux, that of Windows in the folder windows.
mkdir linux windows
both() {
    name=$1
    shift
    try "$name here" sh -c 'cd linux && exec "$@"' sh "$here/examples/$name" "$@"
    try "$name" sh -c 'cd windows && exec "$@"' sh wine "$folder/build-windows/examples/$name.exe" "$@"
}
both spiral
both skip_connection --steps 20 --depth 4 --out skip
both temperature --out うさぎ
small="--steps 40 --every 2 --layers 1 --width 32 --heads 2 --window 32 --batch 4"
# shellcheck disable=SC2086 # a list of words
both gpt train $small --data "$root/LICENSE" --out gpt
find linux windows \( -name '*.png' -o -name '*.svg' \) -exec rm {} +
for csv in linux/gpt/gpt.csv windows/gpt/gpt.csv; do
    cut -d, -f1-4 "$csv" >rows && mv rows "$csv"        # the last column is a speed
done
try "the same files" diff -r linux windows

# On a console: the bytes of a Japanese letter arrive together, or they become U+FFFD.
gpt=$folder/build-windows/examples/gpt.exe
script -qec "wine '$gpt' train $small --data '$root/LICENSE' --language ja --out console" typed >/dev/null 2>&1 </dev/null
try "Japanese letters" grep -q 損失 typed
broken=$(printf '\357\277\275')
try "no letter in pieces" [ "$(grep -c "$broken" typed)" -eq 0 ]

# The process of a program for Windows is one of this system: kill -9 ends it as the task manager does.
# shellcheck disable=SC2086 # a list of words
wine "$gpt" train $small --steps 100000 --data "$root/LICENSE" --out busy >/dev/null 2>&1 &
for _ in $(seq 600); do
    [ ! -e busy/gpt_last.safetensors ] || break
    sleep 0.2
done
try "a run that is killed soon" [ -e busy/gpt_last.safetensors ]
# shellcheck disable=SC2086 # a list of words
wine "$gpt" train $small --steps 40 --data "$root/LICENSE" --out busy --resume >second 2>&1
try "a second run is refused" grep -q 'another program is writing into this folder' second
kill -9 $!
wait $! 2>/dev/null

work=$folder all=0
# shellcheck source=tests/kills.sh
. "$root/tests/kills.sh"
# shellcheck disable=SC2086 # a list of words
try "the kills" kill_program "$kills" gpt 4 wine "$gpt" train $small --steps 400 --data "$root/LICENSE"
grep killed "$folder/output"
wineserver -k

echo "windows: $passed passed, $failed failed"
[ $failed -eq 0 ]
