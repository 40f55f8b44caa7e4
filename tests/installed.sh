# installed.sh: for tests of an installed kaeru, whose arguments are SOURCE BUILD CC... . A test reads this file with `.`, which
# also reads try.sh, and installs BUILD in a temporary folder, where pkg-config finds it.
# shellcheck shell=sh disable=SC2034 # for the tests
source=$1 build=$2
shift 2
cc=$*
# shellcheck source=tests/try.sh
. "$source/tests/try.sh"

root=$folder/root
try "meson install" meson install -C "$build" --no-rebuild --destdir "$root"
PKG_CONFIG_PATH=$(dirname "$(find "$root" -name kaeru.pc)")
PKG_CONFIG_SYSROOT_DIR=$root
LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/*}
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
include=$(dirname "$(find "$root" -name kaeru.h)")

# compile PACKAGE SOURCE PROGRAM [FLAG...]: as the README says.
compile() {
    package=$1 file=$2 program=$3
    shift 3
    # shellcheck disable=SC2046,SC2086 # lists of words
    $cc "$@" "$file" -o "$program" $(pkg-config --cflags --libs "$package")
}

# In a folder of its own, since the program saves its model in out/ of the current folder.
run_there() { (cd "$folder" && "$@"); }
