#!/bin/sh
# Runs an example, from nothing: sh examples/run.sh [NAME [ARGUMENT...]]
# Installs what is missing, builds into build/, runs build/examples/NAME in the current folder.

usage() {
    cat <<'END'
usage: sh examples/run.sh [NAME [ARGUMENT...]]

Builds kaeru in build/ and runs the example NAME (skip_connection if none is given) in the current folder. What the
build needs (a C compiler, meson, ninja, pkg-config; gnuplot for pictures) is installed if it is missing, on Debian and
Ubuntu; elsewhere you are told how.

  --list        the examples
  NAME --help   what an example does, and its options
  gallery       runs the lessons and puts all their pictures on one page, out/gallery/index.html
END
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

# The first line of each source says what it is: "/* name.c: words. */"
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
[ -d "$root/build" ] || say "Building kaeru, this once ..."
configure "$root/build"
quietly meson compile -C "$root/build" "examples/$name"
exec "$root/build/examples/$name" "$@"
