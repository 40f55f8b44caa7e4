#!/bin/sh
# Runs the README's commands on bare systems: sh tests/fresh.sh [--short] [--only SYSTEM] [FOLDER]

usage() {
    cat <<'END'
usage: sh tests/fresh.sh [--short] [--only SYSTEM] [FOLDER]

Makes bare Debian systems in FOLDER, or in a temporary folder that is removed at the end, and runs commands in a copy of
this project there; the copy's folder has a space in its name. On Debian 12 and 13 it runs the README's two commands,
unchanged: as root, and in the other order as a user with sudo; that user then installs kaeru and builds a program with
it. On Debian 13 it also configures and builds everything with clang. Needs root and a network; installs debootstrap if it
is missing.

  --short        one system of each: the two commands as root on Debian 13, and then tests/trust.sh with failures, kills
                 and graphs; on Debian 12, the first command as a user with sudo, who then installs kaeru and builds a
                 program with it
  --only SYSTEM  bookworm (Debian 12) or trixie (Debian 13) alone
  --help         this text

The last line is the number of commands that passed and failed. The exit status is 0 if none failed, 1 if one failed, 2 if
the command line is wrong, and 77 if no system can be made here; with CI=true in the environment, 1 instead of 77.
END
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

short=no only=''
while :; do
    case ${1-} in
    --help | -h) usage; exit 0 ;;
    --short) short=yes ;;
    --only)
        shift
        only=${1-}
        case $only in
        bookworm | trixie) ;;
        *) say "tests/fresh.sh: --only $only: expected bookworm or trixie"; exit 2 ;;
        esac ;;
    -*) say "tests/fresh.sh: there is no option $1"; usage >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
[ $# -le 1 ] || { say "tests/fresh.sh: unexpected argument '$2'"; usage >&2; exit 2; }

need_bare tests/fresh.sh

# The README's two commands: the first code block below the heading.
commands=$(awk '
    /^## Two commands$/ { found = 1 }
    found && /^```/     { if (fence++) exit; next }
    fence               { sub(/ *#.*/, ""); print }' "$root/README.md")
[ "$(echo "$commands" | wc -l)" -eq 2 ] || die "tests/fresh.sh: expected two commands in README.md, found:" "$commands"
first=$(echo "$commands" | sed -n 1p)
second=$(echo "$commands" | sed -n 2p)

bare_folder "$@"

# enter SYSTEM: makes a new bare system and copies the project into it.
enter() {
    system=$1
    enter_machine tests/fresh.sh "$system"
    mkdir "$machine/home/the project"
    (cd "$root" && tar --exclude='./build*' --exclude=./.git -cf - .) | tar -xf - -C "$machine/home/the project"
}

# there USER COMMAND: runs the command in the project's folder of $machine.
there() { chroot "$machine" su - "$1" -c "cd '/home/the project' && $2" </dev/null; }

passed=0
failed=0
# try USER COMMAND: runs it there and counts.
try() {
    echo "==== $system, $1: $2"
    begin=$(date +%s)
    if there "$1" "$2"; then
        passed=$((passed + 1))
        echo "==== passed, $(($(date +%s) - begin)) s"
    else
        failed=$((failed + 1))
        echo "==== FAILED"
    fi
}

add_student() {
    there root 'apt-get update -q && apt-get install -q -y --no-install-recommends sudo && useradd -m student &&
        echo "student ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/student && chown -R student .'
}

as_root() {
    enter "$1"
    try root "$first"
    try root "$second"
}
as_student() {
    enter "$1"
    quietly add_student
    # shellcheck disable=SC2016 # for the shell in $machine
    install_and_use='sudo meson install -C build >log && sudo ldconfig && cd &&
        cc "$OLDPWD"/examples/spiral.c $(pkg-config --cflags --libs kaeru) && ./a.out'
    if [ $short = yes ]; then
        try student "$first"
        try student "$install_and_use"
    else
        try student "$second"
        try student "$install_and_use"
        try student "$first"
    fi
}

if [ "$only" != trixie ]; then
    as_student bookworm
    if [ $short = no ]; then
        as_root bookworm
        try root 'sh examples/run.sh page && test -s out/page.html'
    fi
fi
if [ "$only" != bookworm ]; then
    [ $short = yes ] || as_student trixie
    as_root trixie
    if [ $short = yes ]; then
        for check in 'failures 4' 'kills 50' 'graphs 20000'; do try root "sh tests/trust.sh $check"; done
    else
        try root 'apt-get install -q -y --no-install-recommends clang >log &&
            CC=clang meson setup build-clang >log && meson compile -C build-clang >>log || { cat log; false; }'
    fi
fi

echo "fresh: $passed passed, $failed failed"
[ $failed -eq 0 ]
