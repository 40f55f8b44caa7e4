#!/bin/sh
# Builds and runs an example: sh examples/run.sh [--processes N] [NAME [ARGUMENT...]]
# Installs missing tools, builds in build/, runs build/examples/NAME in the current folder.

usage() {
    cat <<'END'
usage: sh examples/run.sh [--processes N] [NAME [ARGUMENT...]]

Builds the example NAME in build/ and runs it in the current folder. Without NAME it is skip_connection, which is built of
what it needs: it compares the losses with and without a skip connection. On Debian and Ubuntu
it installs the missing tools (a C compiler, meson, ninja, pkg-config; gnuplot for pictures, and Graphviz for those of
backprop and architectures); on other systems it prints how to install them.

  --list          lists the examples
  --processes N   starts the example in N processes, which train together, by MPI's mpirun: gpt train, translate train,
                  llama finetune and copy_task can. Installs Open MPI if there is no MPI. Ctrl-C ends all; SIGTERM and SIGUSR1
                  reach all.
  NAME --help     describes an example and its options
  gallery         runs the lessons and makes one page of all pictures, out/gallery/index.html; --language ja: in Japanese
  page            also makes the page in which the library itself runs, out/page.html. Installs clang, lld and wasi-libc.
  page --publish FOLDER   writes that page as a folder for a static web server, with FOLDER/index.html
  tiny            needs a C compiler alone; without arguments it runs both commands, tiny skip and tiny gpt
  course [FOLDER] makes the folder for a class, out/course: ten assignments cut out of tiny.c, with their check, without
                  readable solutions; --only NAME,NAME: these. Students need a C compiler alone.
  course grade FOLDER...          prints a CSV with a row for each student's folder
END
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

# Uses the first line of each source: "/* name.c: what it shows. */"
list() {
    for _source in "$root"/examples/*.c; do
        _name=$(basename "$_source" .c)
        printf '  %-20s%s\n' "$_name" "$(sed -n "1s|^/\* $_name\.c: *||; 1s| *\*/\$||; 1p" "$_source")"
    done
}

processes=''
if [ "${1-}" = --processes ]; then
    processes=${2-}
    case $processes in
    '' | 0* | *[!0-9]* | ?????*) say "examples/run.sh: --processes '$processes': expected 1 to 9999"; exit 2 ;;
    esac
    shift 2
fi
case ${1-} in
--help | -h) usage; exit 0 ;;
--list) list; exit 0 ;;
-*) say "examples/run.sh: there is no option $1"; usage >&2; exit 2 ;;
esac

if [ "${1-}" = gallery ]; then
    [ -z "$processes" ] || { say "examples/run.sh: gallery has no --processes"; exit 2; }
    shift
    exec sh "$root/examples/gallery.sh" "$@"
fi
# course [FOLDER] [--only NAMES], course grade FOLDER...
if [ "${1-}" = course ]; then
    [ -z "$processes" ] || { say "examples/run.sh: course has no --processes"; exit 2; }
    shift
    need cc python3
    case ${1-} in
    --help | grade) ;;
    '' | -*) set -- make out/course "$@" ;;
    *) set -- make "$@" ;;
    esac
    python3 "$root/examples/course/course.py" "$@" || exit
    [ "$1" != make ] || say "$2: the folder for a class. Its README.ja.md and README.md say how to begin."
    exit 0
fi
name=${1:-skip_connection}
[ $# -eq 0 ] || shift
case $name in
*/*) known=no ;;
*) known=yes; [ -f "$root/examples/$name.c" ] || known=no ;;
esac
if [ $known = no ]; then
    say "There is no example $name (--list lists them)."
    exit 2
fi

if [ "$name" = spiral ] && [ $# -gt 0 ]; then
    say "spiral has no options: it is a whole program in one file, examples/spiral.c, and writes spiral.safetensors."
    case $1 in --help | -h) exit 0 ;; esac
    exit 2
fi

publish=''
if [ "$name:${1-}" = page:--publish ]; then
    publish=${2-}
    [ -n "$publish" ] && [ $# -eq 2 ] || { say "examples/run.sh: page --publish: expected a FOLDER"; exit 2; }
    [ -z "$processes" ] || { say "examples/run.sh: page --publish has no --processes"; exit 2; }
fi

# tiny.c needs nothing but a compiler, so it is built without the library.
run_tiny() {
    need cc
    mkdir -p out || exit 1
    cc -O2 "$root/examples/tiny.c" -o out/tiny -lm || exit 1
    [ $# -eq 0 ] || exec out/tiny "$@"
    out/tiny skip && out/tiny gpt && cat <<'END' || exit 1

These print the same SHA-256. The library's programs train faster, by vectors and threads:

sh examples/run.sh skip_connection --seeds 1 --rows 500
out/tiny text >out/tiny.txt
sh examples/run.sh gpt train --data out/tiny.txt --layers 2 --heads 2 --width 32 --context 16 --batch 4 --steps 100 \
    --warmup 10 --lr-min 0.001 --clip 0 --bias --sample 0 --out out/tiny_gpt

So do they with other values of these options. tiny has --rows, --hidden, --layers, --heads, --width, --context,
--batch, --steps and --seed.
END
    exit
}
if [ "$name" = tiny ]; then
    [ -z "$processes" ] || { say "examples/run.sh: tiny has no --processes"; exit 2; }
    run_tiny "$@"
fi

# shellcheck source=examples/processes/signals.sh
. "$root/examples/processes/signals.sh"
run_processes() {
    launcher=$(launcher_of "$1") || die "There is no mpirun."
    [ "$(id -u)" -ne 0 ] || ! is_open_mpi "$launcher" ||
        say "As root: OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 are set for Open MPI."
    pass_signals launch "$launcher" "$processes" "$@"
    exit
}

need cc meson ninja pkg-config gnuplot?
case $name in backprop | architectures) need 'dot?' ;; esac
[ -d "$root/build" ] || say "Building kaeru ..."
if [ -n "$processes" ]; then
    need mpi
    configure_with_mpi "$root/build"
else
    configure "$root/build"
fi
program=examples/$name
# first is skip_connection built of what it needs, with the kernels of one instruction set.
case $name:${KAERU_ISA-} in skip_connection:) program=examples/first ;; esac
target=$program
[ "$name" != page ] || target=page_programs
quietly meson compile -C "$root/build" "$target"
program=$root/build/$program
case $name:${1-} in
page:--help | page:-h) ;;
page:--publish)
    need_wasm
    # .nojekyll: GitHub Pages takes the files as they are.
    python3 "$root/examples/page/make.py" "$root/build" "$publish/index.html" && : >"$publish/.nojekyll" &&
        cp "$root/LICENSE" "$publish/LICENSE.txt" || exit 1
    say "$publish: a folder for a static web server"
    exit 0 ;;
page:*)
    need_wasm
    python3 "$root/examples/page/make.py" "$root/build" out/page.html || exit 1 ;;
esac
if [ "$name" = spiral ]; then
    mkdir -p out && cd out || exit 1        # it writes its file where it runs
fi
[ -z "$processes" ] || run_processes "$program" "$@"
exec "$program" "$@"
