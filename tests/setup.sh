# setup.sh: functions that the scripts share: find the tools that a build needs, install them on Debian and Ubuntu, and
# build. Set `root` to the project's folder, then read this file with `.`; it only defines functions and variables.
# shellcheck shell=sh
: "${root:?is set by the script that reads this one}"

# The oldest meson that meson.build accepts.
meson_needed=$(sed -n "s/^ *meson_version: '>=\([0-9.]*\)',\$/\1/p" "$root/meson.build")
: "${meson_needed:?is not found in meson.build}"

say() { printf '%s\n' "$@" >&2; }
die() { say "$@"; exit 1; }

# compiles SOURCE COMMAND...: does this command compile and link this program?
compiles() {
    _dir=$(mktemp -d) || die "cannot make a temporary folder in ${TMPDIR:-/tmp}"
    printf '%s\n' "$1" >"$_dir/try.c"
    shift
    "$@" -o "$_dir/try" "$_dir/try.c" >/dev/null 2>&1
    _result=$?
    rm -rf "$_dir"
    return $_result
}

# have TOOL: is it installed? A compiler must also compile and link a program.
have() {
    _program='#include <stdio.h>
        int main(void) { return puts("") == EOF; }'
    _fuzzed='int LLVMFuzzerTestOneInput(const char *x, unsigned long n) { return x && n > 1 && x[0] < 0; }'
    case $1 in
    cc)
        # shellcheck disable=SC2086 # a command and its first words
        compiles "$_program" ${CC:-cc} -pthread ;;
    gnuplot)
        command -v gnuplot >/dev/null 2>&1 &&
            { [ "$(system_kind)" != debian ] || [ -n "$(fc-list :lang=ja family 2>/dev/null)" ]; } ;;
    ninja) command -v ninja >/dev/null 2>&1 || command -v ninja-build >/dev/null 2>&1 ;;
    pkg-config) command -v pkg-config >/dev/null 2>&1 || command -v pkgconf >/dev/null 2>&1 ;;
    check) pkg-config --exists check 2>/dev/null ;;
    fuzzer) compiles "$_fuzzed" clang -fsanitize=fuzzer,address,undefined ;;
    wasm) compiles "$_program" clang --target=wasm32-wasi ;;
    chromium) chromium_program >/dev/null ;;
    venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    mpi) command -v mpicc >/dev/null 2>&1 && command -v mpirun >/dev/null 2>&1 ;;
    mpich) pkg-config --exists mpich 2>/dev/null && command -v mpirun.mpich >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# packages SYSTEM TOOL: prints the packages of that system that contain the tool.
packages() {
    case $1:$2 in
    debian:cc) echo gcc libc6-dev ;;
    debian:ninja) echo ninja-build ;;
    debian:gnuplot) echo gnuplot-nox fonts-vlgothic ;;         # the figures have Japanese labels
    *:dot) echo graphviz ;;
    debian:valgrind) echo valgrind libc6-dbg ;;
    # Only recommended by the package clang; clang is installed before.
    debian:fuzzer) echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev" ;;
    *:fuzzer) echo compiler-rt ;;
    mac:ip) ;;
    fedora:ip) echo iproute ;;
    *:ip) echo iproute2 ;;
    # A C library and a linker for WebAssembly; the package of clang's own functions has clang's version in its name.
    debian:wasm) echo lld wasi-libc "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev-wasm32" ;;
    arch:wasm) echo lld wasi-libc wasi-compiler-rt ;;
    *:wasm) echo lld wasi-libc ;;
    debian:node) echo nodejs ;;
    debian:aarch64-linux-gnu-gcc) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
    debian:riscv64-linux-gnu-gcc) echo gcc-riscv64-linux-gnu libc6-dev-riscv64-cross ;;
    debian:qemu-aarch64 | debian:qemu-riscv64) echo qemu-user ;;
    debian:x86_64-w64-mingw32-gcc-posix) echo gcc-mingw-w64-x86-64-posix ;;
    debian:wine) echo wine wine64 ;;
    debian:musl-gcc) echo musl-tools ;;
    debian:venv) echo python3-venv ;;
    *:venv) echo python3 ;;
    debian:mpi) echo libopenmpi-dev openmpi-bin ;;
    debian:mpich) echo libmpich-dev mpich ;;
    alpine:mpi) echo openmpi openmpi-dev ;;
    arch:mpi) echo openmpi ;;
    mac:mpi) echo open-mpi ;;
    *:mpi) echo openmpi-devel ;;
    debian:debootstrap) echo debootstrap debian-archive-keyring ;;
    fedora:cc) echo gcc ;;
    fedora:ninja) echo ninja-build ;;
    fedora:pkg-config) echo pkgconf-pkg-config ;;
    fedora:check | suse:check) echo check-devel ;;
    suse:cc) echo gcc ;;
    suse:pkg-config) echo pkgconf-pkg-config ;;
    arch:cc) echo gcc ;;
    arch:pkg-config) echo pkgconf ;;
    alpine:cc) echo gcc musl-dev ;;
    alpine:pkg-config) echo pkgconf ;;
    alpine:check) echo check-dev ;;
    mac:pkg-config) echo pkgconf ;;
    mac:cc | mac:clang) ;;
    *) echo "$2" ;;
    esac
}

system_kind() {
    case $(uname -s) in
    Darwin) echo mac; return ;;
    esac
    # shellcheck disable=SC1091 # a file of the system
    _ids=$(. /etc/os-release 2>/dev/null && echo "$ID $ID_LIKE")
    for _id in $_ids; do
        case $_id in
        debian | ubuntu) echo debian; return ;;
        fedora | rhel | centos) echo fedora; return ;;
        arch | alpine) echo "$_id"; return ;;
        suse | opensuse*) echo suse; return ;;
        esac
    done
    echo unknown
}

# need TOOL...: makes sure that these tools are installed. Installs missing ones on Debian and Ubuntu; on other systems
# prints the command that does and exits. A tool written as gnuplot? is optional.
need() {
    _tools=$*
    _missing=''
    _must=''
    for _tool in "$@"; do
        have "${_tool%\?}" && continue
        _missing="$_missing ${_tool%\?}"
        case $_tool in *\?) ;; *) _must="$_must $_tool" ;; esac
    done
    if [ -n "$_missing" ]; then
        _system=$(system_kind)
        _packages=
        for _tool in $_missing; do
            _packages="$_packages $(packages "$_system" "$_tool")"
        done
        # shellcheck disable=SC2086 # a list of words
        set -- $_packages
        case $_system in
        debian) install_by_apt "$@" ;;
        fedora) ask_to_install sudo dnf install "$@" ;;
        arch) ask_to_install sudo pacman -S --needed "$@" ;;
        alpine) ask_to_install apk add "$@" ;;
        suse) ask_to_install sudo zypper install "$@" ;;
        mac)
            have cc || ask_to_install xcode-select --install
            [ $# -eq 0 ] || ask_to_install brew install "$@" ;;
        *)
            [ -z "$_must" ] ||
                die "Missing:$_missing. Please install them, then run this again." ;;
        esac
    fi
    case " $_tools " in *" meson "*) ;; *) return 0 ;; esac
    _version=$(meson --version 2>/dev/null) || die "meson is installed but does not start; try: meson --version"
    older "$_version" "$meson_needed" &&
        die "meson $_version is too old, $meson_needed or newer is needed; one way: python3 -m pip install --user meson"
    return 0
}

# need_fuzzer: clang with the libraries of its sanitizers and of its fuzzer.
need_fuzzer() { need clang && need fuzzer; }
# need_wasm: clang with what it needs to make WebAssembly.
need_wasm() { need clang && need wasm; }

# need_zig: a compiler with the headers of many systems, which Debian does not have: Python's package of it.
need_zig() {
    have zig && return
    need venv
    _zig=${TMPDIR:-/tmp}/kaeru-zig-$(id -u)
    quietly python3 -m venv "$_zig"
    quietly "$_zig/bin/pip" install ziglang
    printf '#!/bin/sh\nexec "%s/bin/python3" -m ziglang "$@"\n' "$_zig" >"$_zig/bin/zig" && chmod +x "$_zig/bin/zig"
    mkdir "$_zig/path" 2>/dev/null
    ln -sf ../bin/zig "$_zig/path/zig"          # the folder bin has another python3
    PATH=$PATH:$_zig/path
}

# older A B: is version A older than B? Compares the first two numbers.
older() {
    _a1=${1%%.*} _b1=${2%%.*}
    _a2=${1#*.} _b2=${2#*.}
    _a2=${_a2%%[!0-9]*} _b2=${_b2%%[!0-9]*}
    [ "$_a1" -lt "$_b1" ] || { [ "$_a1" -eq "$_b1" ] && [ "${_a2:-0}" -lt "${_b2:-0}" ]; }
}

# ask_to_install COMMAND...: prints the command that installs the missing tools, and exits if one of them is not optional.
ask_to_install() {
    [ -n "$_must" ] || { say "Without$_missing, some things are left out. To install: $*"; return 0; }
    say "Missing:$_missing. To install:"
    say ""
    say "    $*"
    say ""
    die "Then run this again."
}

install_by_apt() {
    if [ "$(id -u)" -eq 0 ]; then
        _sudo=''
        say "Installing: $*"
    elif command -v sudo >/dev/null 2>&1; then
        _sudo=sudo
        say "Installing with sudo: $*"
    else
        ask_to_install su -c "'apt-get update && apt-get install --no-install-recommends $*'"
        return 0
    fi
    _log=$(mktemp) || die "cannot make a temporary file in ${TMPDIR:-/tmp}"
    # A package source that does not answer may not matter. If it does, the next line fails.
    apt_get update >"$_log" 2>&1
    if apt_get install --no-install-recommends "$@" >>"$_log" 2>&1; then
        rm -f "$_log"
        return 0
    fi
    say ""
    grep -E '^(E:|W:|Err:|sudo:|.* sudoers)' "$_log" | awk '!seen[$0]++' | head -n 8 >&2
    say ""
    rm -f "$_log"
    [ -n "$_must" ] || { say "Continuing without:$_missing."; return 0; }
    die "apt-get could not install them. Is there a network? By hand: apt-get update && apt-get install $*"
}

apt_get() {
    $_sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q -y "$@"
}

# configure FOLDER [OPTION...]: sets up the build folder; an existing one is reconfigured if there are options. Quiet
# unless it fails.
configure() {
    _folder=$1
    shift
    # A build folder has its sources' absolute path. After a move, or if it is incomplete, it is made again.
    if [ -d "$_folder/meson-private" ] && { [ ! -f "$_folder/build.ninja" ] ||
        ! python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1], encoding="utf-8"))["directories"]["source"] != sys.argv[2])' \
            "$_folder/meson-info/meson-info.json" "$root" 2>/dev/null; }
    then
        rm -rf "$_folder" || die "$_folder belongs to another user; remove it first"
    fi
    if [ ! -f "$_folder/build.ninja" ]; then
        quietly meson setup "$_folder" "$root" "$@"
    elif [ ! -w "$_folder/build.ninja" ]; then
        die "$_folder belongs to another user; remove it first"
    elif [ $# -gt 0 ]; then
        quietly meson setup --reconfigure "$_folder" "$root" "$@"
    fi
}

# chromium_program: prints the path of Chromium, or of Chrome, which is the same to the tests.
chromium_program() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

# launcher_of PROGRAM: prints the mpirun of the MPI that the program was linked with.
launcher_of() {
    case $(ldd "$1" 2>/dev/null) in
    *libmpich*) command -v mpirun.mpich ;;
    *) command -v mpirun.openmpi ;;
    esac || command -v mpirun
}

is_open_mpi() { OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$1" --version 2>&1 | grep -q open-mpi; }

# launch MPIRUN N COMMAND...: becomes mpirun, which runs the command in N processes. They share the processors. mpirun's own
# messages are left out as far as possible.
launch() {
    _mpirun=$1 _n=$2
    shift 2
    if is_open_mpi "$_mpirun"; then
        [ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        exec "$_mpirun" --oversubscribe --bind-to none -q -n "$_n" "$@"
    fi
    export MPIR_CVAR_SUPPRESS_ABORT_MESSAGE=1
    exec "$_mpirun" -n "$_n" "$@"
}

# configure_with_mpi FOLDER [OPTION]: reconfigures the build folder if it was made without MPI.
configure_with_mpi() {
    configure "$@"
    grep -qE '"name": "(mpi|mpich)"' "$1/meson-info/intro-dependencies.json" || configure "$@" -Dmpi=enabled
}

# need_bare SCRIPT: debootstrap, and what else a script needs to make a bare Debian system. Without it the script ends.
need_bare() {
    _script=$1
    [ "$(id -u)" -eq 0 ] || not_tried "$_script" "only root can make a bare system"
    have debootstrap || [ "$(system_kind)" = debian ] || not_tried "$_script" "there is no debootstrap"
    need debootstrap
}
# not_tried SCRIPT "WHY": ends the script with status 77: skipped. With CI=true, 1.
not_tried() {
    say "$1: not tried: $2"
    [ "${CI-}" != true ] || exit 1
    exit 77
}

# bare_folder [FOLDER]: sets $folder, where bare Debian systems are made. Without FOLDER it is a temporary folder. When the
# script ends, that is removed, and from FOLDER the system in use, $machine.
# shellcheck disable=SC2154 # status: set when the script ends
bare_folder() {
    if [ $# -eq 1 ]; then
        mkdir -p "$1" || exit 1
        folder=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
        trap 'status=$?; leave_machine; exit $status' EXIT
    else
        folder=$(mktemp -d) || die "cannot make a temporary folder in ${TMPDIR:-/tmp}"
        trap 'status=$?; leave_machine; rm -rf --one-file-system "$folder"; exit $status' EXIT
    fi
    trap 'exit 1' HUP INT TERM
    machine=$folder/machine
}
leave_machine() {
    umount "$machine/proc" "$machine/dev/pts" "$machine/dev" 2>/dev/null
    rm -rf --one-file-system "$machine"
}
# enter_machine SCRIPT SYSTEM: a bare Debian of that name in $machine, which can reach the network and has /dev, /dev/pts
# and /proc: a copy of the one in $folder, which is made unless it is there from an earlier run.
enter_machine() {
    if [ ! -d "$folder/$2" ]; then
        say "Making a bare Debian system, $2 ..."
        rm -rf --one-file-system "$folder/$2.part"
        quietly debootstrap --variant=minbase "$2" "$folder/$2.part"
        rm -rf "$folder/$2.part"/var/lib/apt/lists/*
        mv "$folder/$2.part" "$folder/$2" || exit 1
    fi
    leave_machine
    cp -a "$folder/$2" "$machine" || exit 1
    cp /etc/resolv.conf "$machine/etc/"
    echo force-unsafe-io >"$machine/etc/dpkg/dpkg.cfg.d/unsafe-io"      # faster; this system need not survive a crash
    { mount -t tmpfs -o mode=755 tmpfs "$machine/dev" && mount -t proc proc "$machine/proc"; } ||
        not_tried "$1" "mount does not work here"
    # Not a bind mount of /dev: after a kill, rm -r of $folder would remove this system's devices.
    (cd /dev && cp -a full null random tty urandom zero "$machine/dev") || not_tried "$1" "devices cannot be made here"
    # Terminals of its own, as on any system: tests open some.
    mkdir "$machine/dev/pts" && ln -s pts/ptmx "$machine/dev/ptmx" &&
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$machine/dev/pts" ||
        not_tried "$1" "terminals cannot be made here"
    mkdir -m 1777 "$machine/dev/shm" && ln -s /proc/self/fd "$machine/dev/fd" && ln -s fd/0 "$machine/dev/stdin" &&
        ln -s fd/1 "$machine/dev/stdout" && ln -s fd/2 "$machine/dev/stderr" || exit 1
}

# quoted WORD...: prints the words with the quotes that a shell needs.
quoted() {
    _line=''
    for _word in "$@"; do
        case $_word in
        '' | *[!A-Za-z0-9_./=:,@%+-]*) _word="'$(printf '%s' "$_word" | sed "s/'/'\\\\''/g")'" ;;
        esac
        _line="$_line${_line:+ }$_word"
    done
    printf '%s\n' "$_line"
}

# Shows the last line of FILE each second, on one line of the terminal, until it is killed or this script has ended.
follow() {
    while sleep 1 && kill -0 $$ 2>/dev/null; do
        printf '\r\033[K%s' "$(tail -n 1 "$1" | cut -c 1-79)" >&2
    done
}

# quietly COMMAND...: shows its output only if it fails; on a terminal, while it runs, the last line of it.
quietly() {
    _log=$(mktemp) || die "cannot make a temporary file in ${TMPDIR:-/tmp}"
    _follower=''
    [ ! -t 2 ] || { follow "$_log" & _follower=$!; }
    "$@" >"$_log" 2>&1 </dev/null
    _status=$?
    if [ -n "$_follower" ]; then
        kill "$_follower"
        wait "$_follower" 2>/dev/null
        printf '\r\033[K' >&2
    fi
    if [ $_status -eq 0 ]; then
        rm -f "$_log"
    else
        cat "$_log" >&2
        rm -f "$_log"
        die "" "This failed: $(quoted "$@")"
    fi
}

# The options of a build of the fuzz targets; the compiler must be clang.
# shellcheck disable=SC2034 # for the scripts that read this one
fuzz_options="-Dfuzz=true -Dc_args=-fsanitize=fuzzer-no-link -Db_sanitize=address,undefined -Db_lundef=false
    -Dtests=disabled -Dexamples=false -Dbuildtype=release"
