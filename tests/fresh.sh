#!/bin/sh
# Tries the two commands on machines that have nothing: sh tests/fresh.sh FOLDER, as root, with debootstrap installed.
# Puts a bare Debian 12 into FOLDER and in copies of it, with this project in a folder with a space in its name, runs
# examples/run.sh and tests/run.sh: as root, and in the other order as a user with sudo.

if [ "${1-}" = --help ] || [ "${1-}" = -h ]; then
    sed -n 's/^# //p' "$0" | head -n 3
    exit 0
fi
if [ $# -ne 1 ] || [ "$(id -u)" -ne 0 ]; then
    sed -n 's/^# //p' "$0" | head -n 3 >&2
    exit 2
fi
mkdir -p "$1" || exit 1
folder=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1

machine=''
leave() {
    [ -z "$machine" ] || umount "$machine/dev" "$machine/proc" 2>/dev/null
}
trap leave EXIT
trap 'exit 1' INT TERM

[ -e "$folder/bare/bin/sh" ] || debootstrap --variant=minbase bookworm "$folder/bare" || exit 1

# enter NAME: makes a copy of the bare machine and the project in it, and goes on there.
enter() {
    machine=$folder/$1
    rm -rf --one-file-system "$machine"
    cp -a "$folder/bare" "$machine" || exit 1
    rm -rf "$machine"/var/lib/apt/lists/*
    cp /etc/resolv.conf "$machine/etc/"
    mount --bind /dev "$machine/dev" && mount -t proc proc "$machine/proc" || exit 1
    mkdir "$machine/home/the project"
    (cd "$root" && tar --exclude='./build*' --exclude=./.git -cf - .) | tar -xf - -C "$machine/home/the project"
}

failed=0
# try USER COMMAND...
try() {
    user=$1
    shift
    echo "==== $user: $*"
    if chroot "$machine" su - "$user" -c "sh '/home/the project/'$*" </dev/null; then
        echo "==== good"
    else
        echo "==== FAILED"
        failed=$((failed + 1))
    fi
}

enter as-root
try root examples/run.sh
try root tests/run.sh
leave

enter as-user
chroot "$machine" sh -c 'apt-get update -q && apt-get install -q -y --no-install-recommends sudo &&
    useradd -m student &&
    echo "student ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/student && chown -R student "/home/the project"' >/dev/null
try student tests/run.sh
try student examples/run.sh
leave

[ $failed -eq 0 ]
