#!/bin/sh
# Builds and runs an example: sh examples/run.sh [NAME [ARGUMENT...]]
# Installs missing tools, builds in build/, runs build/examples/NAME in the current folder.

usage() {
    cat <<'END'
usage: sh examples/run.sh [NAME [ARGUMENT...]]

Builds kaeru in build/ and runs the example NAME (default: skip_connection) in the current folder. On Debian and Ubuntu
it installs the missing tools (a C compiler, meson, ninja, pkg-config; gnuplot for pictures); on other systems it prints
how to install them.

  --list        lists the examples
  NAME --help   describes an example and its options
  gallery       runs the lessons and makes one page of all pictures, out/gallery/index.html
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

case ${1-} in
--help | -h) usage; exit 0 ;;
--list) list; exit 0 ;;
-*) say "examples/run.sh: there is no option $1"; usage >&2; exit 2 ;;
esac

if [ "${1-}" = gallery ]; then
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
    say "There is no example $name. There are:"
    list >&2
    exit 2
fi

need cc meson ninja pkg-config gnuplot?
[ -d "$root/build" ] || say "Building kaeru ..."
configure "$root/build"
quietly meson compile -C "$root/build" "examples/$name"
exec "$root/build/examples/$name" "$@"
