#!/bin/sh
# Makes the files of a release from the last commit: sh packaging/release.sh [FOLDER]

usage() {
    cat <<'END'
usage: sh packaging/release.sh [FOLDER]

Writes into FOLDER (release/ if it is not given):
  kaeru-VERSION.tar.xz            the sources, as meson dist makes them, after they were built once
  kaeru-VERSION-two-files.zip     kaeru.c and kaeru.h
  kaeru-VERSION-windows.zip       the programs for Windows x86-64, the figures' scripts and the page
  page.html                       the page that runs the library
  SHA256SUMS                      the hashes of these files
It needs a compiler for Windows (gcc-mingw-w64-x86-64-posix) and clang for WebAssembly; on Debian and Ubuntu it installs them.
END
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
case ${1-} in
--help | -h) usage; exit 0 ;;
-*) say "packaging/release.sh: there is no option $1"; usage >&2; exit 2 ;;
esac
[ $# -le 1 ] || { usage >&2; exit 2; }
need cc meson ninja pkg-config x86_64-w64-mingw32-gcc-posix
need_wasm
mkdir -p "${1:-release}" && release=$(CDPATH='' cd -- "${1:-release}" && pwd -P) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

set -e
git -C "$root" archive --prefix=kaeru/ HEAD | tar -x -C "$work"
cd "$work/kaeru"
version=$(sed -n "s/^ *version: '\(.*\)',\$/\1/p" meson.build)
name=kaeru-$version
# meson dist wants a repository.
git init -q && git add -A && git -c user.name=kaeru -c user.email= commit -qm "$name"
quietly meson setup build
quietly meson compile -C build onefile page_programs
quietly meson dist -C build --no-tests
cp "build/meson-dist/$name.tar.xz" "$release/"
python3 examples/page/make.py build "$release/page.html"
quietly meson setup build-windows --cross-file packaging/windows.ini -Ddebug=false -Dtests=disabled
quietly meson compile -C build-windows
mkdir -p "files/$name" "windows/$name/plots"
cp build/packaging/kaeru.c build/packaging/kaeru.h LICENSE "files/$name/"
x86_64-w64-mingw32-strip build-windows/examples/*.exe
cp build-windows/examples/*.exe LICENSE "$release/page.html" "windows/$name/"
cp plots/*.gp plots/*.awk plots/ja.txt "windows/$name/plots/"
for kind in files windows; do
    (cd "$kind" && python3 -m zipfile -c "../$kind.zip" "$name")
done
cp files.zip "$release/$name-two-files.zip"
cp windows.zip "$release/$name-windows.zip"
cd "$release"
sha256sum "$name.tar.xz" "$name-two-files.zip" "$name-windows.zip" page.html >SHA256SUMS
cat SHA256SUMS
