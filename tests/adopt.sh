#!/bin/sh
# Installs kaeru on a bare Debian 12 in each way that others get it: sh tests/adopt.sh [--short] [FOLDER]

usage() {
    cat <<'END'
usage: sh tests/adopt.sh [--short] [FOLDER]

Makes a bare Debian 12 in FOLDER, or in a temporary folder that is removed at the end, and there, from the current commit:

  - writes the archive of a release (meson dist),
  - builds the Debian packages from the archive, with their tests; lintian must find nothing,
  - installs them and runs the packages' own test,
  - compiles a program of the examples package, and a C++ program by CMake,
  - builds a meson project with the archive and the wrap file,
  - compiles a program with the two files kaeru.c and kaeru.h, by clang, and compares its weights with the library's
    (tests/test_one_file.sh),
  - runs the commands of docs/install.md,
  - builds, installs and uses the library by pkg-config, CMake, g++ and clang++ (tests/test_install.sh, tests/test_cpp.sh),
  - compares the binary interface with that of the last tag, if there is one (abidiff).

Needs root and a network; installs debootstrap if it is missing.

  --short   the packages are built with -O1 and without their tests, and clang does not compile kaeru.c
  --help    this text

The last line is the number of steps that passed and failed. The exit status is 0 if none failed, 1 if one failed, 2 if the
command line is wrong, and 77 if no system can be made here; with CI=true in the environment, 1 instead of 77.
END
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

package_options='DEB_BUILD_OPTIONS=parallel=2'
# shellcheck disable=SC2016 # for the shell in $machine
by_clang='sh tests/test_one_file.sh "$PWD" "$PWD/build-user" clang &&'
case ${1-} in
--help | -h) usage; exit 0 ;;
--short) package_options="DEB_BUILD_OPTIONS='parallel=2 nocheck' DEB_CFLAGS_APPEND=-O1" by_clang=''; shift ;;
-*) say "tests/adopt.sh: there is no option $1"; usage >&2; exit 2 ;;
esac
[ $# -le 1 ] || { say "tests/adopt.sh: unexpected argument '$2'"; usage >&2; exit 2; }

need_bare tests/adopt.sh
git -C "$root" rev-parse HEAD >/dev/null 2>&1 || not_tried tests/adopt.sh "this is not a clone of the repository"

bare_folder "$@"
enter_machine tests/adopt.sh bookworm
quietly git clone "$root" "$machine/home/the project"

passed=0
failed=0
# try "WHAT" COMMAND: runs it as root in /home there, counts, and shows the output of what fails. What several steps compile in
# the same way is compiled once: meson uses ccache where it is installed.
try() {
    begin=$(date +%s)
    prepare="export CCACHE_BASEDIR=/home CCACHE_NOHASHDIR=yes; cd /home"
    if chroot "$machine" su - root -c "$prepare && $2" >"$folder/log" 2>&1 </dev/null; then
        passed=$((passed + 1))
        echo "passed, $(($(date +%s) - begin)) s: $1"
    else
        failed=$((failed + 1))
        tail -n 50 "$folder/log"
        echo "FAILED: $1: $2"
    fi
}

version=$(sed -n "s/^ *version: '\([0-9.]*\)',\$/\1/p" "$root/meson.build")
# shellcheck disable=SC2016 # for the shell in $machine
libs='$(pkg-config --cflags --libs kaeru)'
try "tools" "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends abigail-tools \
    build-essential ccache check clang cmake debhelper fakeroot git lintian meson pkg-config python3"
try "meson dist" "cd 'the project' && meson setup build-dist -Dexamples=false && meson dist -C build-dist --no-tests &&
    mkdir ../packages && cp build-dist/meson-dist/kaeru-$version.tar.xz ../packages/kaeru_$version.orig.tar.xz"
try "dpkg-buildpackage" "cd packages && tar -xf kaeru_$version.orig.tar.xz && cd kaeru-$version &&
    $package_options dpkg-buildpackage -us -uc"
# The package is not in Debian, so no bug asks for it, and the release itself has the folder debian/.
try "lintian" "lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs,no-debian-changes \
    packages/*.changes"
try "install the packages" "dpkg -i packages/*.deb"
try "the packages' test" "mkdir -p user/tmp && cd packages/kaeru-$version &&
    AUTOPKGTEST_TMP=/home/user/tmp debian/tests/pkg-config"
try "an example" "cp -r /usr/share/doc/kaeru-examples/examples user/ && cd user/examples && gunzip -rq . ; cc -I. \
    -DKAERU_PLOTS='\"plots\"' skip_connection.c skip_connection/*.c common/*.c $libs -lm \
    -o skip && ./skip --steps 3"
try "CMake with the packages" "mkdir user/cmake && cd user/cmake && cp '/home/the project/tests/adopt/'* . &&
    cp '/home/the project/examples/spiral.c' . && cmake -B build && cmake --build build && build/spiral_cpp"
try "remove the packages" "dpkg -r kaeru-examples libkaeru-dev libkaeru3-dbgsym libkaeru3"
try "wrap file" "mkdir -p user/wrap/subprojects/packagefiles && cd user/wrap &&
    cp /home/packages/kaeru_$version.orig.tar.xz subprojects/packagefiles/kaeru-$version.tar.xz &&
    cp '/home/the project/packaging/kaeru.wrap' subprojects/ && cp '/home/the project/examples/spiral.c' . &&
    printf \"project('user', 'c')\\nexecutable('spiral', 'spiral.c', dependencies: dependency('kaeru'))\\n\" >meson.build &&
    meson setup build -Dc_args=-O0 -Ddebug=false && meson compile -C build spiral && build/spiral"
try "pkg-config" "cd 'the project' && meson setup build-user -Dexamples=false -Dmpi=disabled &&
    meson compile -C build-user && sh tests/test_install.sh \"\$PWD\" \"\$PWD/build-user\" cc"
try "CMake, C++" "cd 'the project' && NEED_TOOLS=yes sh tests/test_cpp.sh \"\$PWD\" \"\$PWD/build-user\" cc"
try "two files" "cd 'the project' && meson compile -C build-user onefile tests/final_weights && mkdir ../user/two_files &&
    cp build-user/packaging/kaeru.? ../user/two_files/ &&
    sed 's|<kaeru/kaeru.h>|\"kaeru.h\"|' examples/spiral.c >../user/two_files/spiral.c &&
    $by_clang
    cd ../user/two_files && cc spiral.c kaeru.c -lm -pthread -o spiral && ./spiral"
# The commands of the page as they stand, in one shell. This user is root, so sudo has nothing to do.
try "docs/install.md" "cd 'the project' && git worktree add ../clone && cd ../clone &&
    awk '/^## In other projects/ { exit } /^\`\`\`/ { inside = /sh/; next } inside' docs/install.md >commands.sh &&
    [ \$(wc -l <commands.sh) -eq 5 ] && sudo() { \"\$@\"; } && set -e && . ./commands.sh && ./a.out"
tag=$(git -C "$root" describe --tags --abbrev=0 --match 'v*' 2>/dev/null)
if [ -n "$tag" ]; then
    try "abidiff with $tag" "git -C 'the project' worktree add ../tag $tag && cd tag &&
        meson setup build -Ddefault_library=shared -Dexamples=false -Dmpi=disabled && meson compile -C build &&
        { abidiff --no-added-syms build/libkaeru.so '../the project/build-user/libkaeru.so' ||
        [ \"\$(readlink build/libkaeru.so)\" != \"\$(readlink '../the project/build-user/libkaeru.so')\" ]; }"
else
    echo "no tag yet: the binary interface is not compared"
fi

echo "adopt: $passed passed, $failed failed"
[ $failed -eq 0 ]
