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
# first is skip_connection built of what it needs, with the kernels of one instruction set.
case $name:${KAERU_ISA-} in
skip_connection:) target=first ;;
*) target=$name ;;
esac
quietly meson compile -C "$root/build" "examples/$target"
program=$root/build/examples/$target
case $name:${1-} in
page:--help | page:-h) ;;
page:*)
    need_wasm
    python3 "$root/examples/page/make.py" "$root/build" out/page.html || exit 1 ;;
esac
if [ "$name" = spiral ]; then
    mkdir -p out && cd out || exit 1        # it writes its file where it runs
fi
[ -z "$processes" ] || run_processes "$program" "$@"
exec "$program" "$@"
