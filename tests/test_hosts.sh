#!/bin/sh
# test_hosts.sh ROOT EXAMPLES: training by one process on each of three machines, which share no memory, and no files but the
# system and the programs. A machine is a set of Linux namespaces: a network, a host name, System V's shared memory, and mounts
# with an empty /tmp and /dev/shm. Machine `one` has the namespaces of this script, and the bridge that connects all.
# shellcheck disable=SC2086 # lists of words

root=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
examples=$(CDPATH='' cd -- "$2" && pwd -P) || exit 1
faults=''
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

# The namespaces and all processes in them end with this script.
if [ "${INSIDE-}" != yes ]; then
    # nn/mpi/mpi.c tells how MPICH over TCP ends.
    is_open_mpi "$(launcher_of "$examples/gpt")" || { say "tests/test_hosts.sh: not tried: this is not Open MPI"; exit 77; }
    for tool in ip nsenter unshare; do have $tool || not_tried tests/test_hosts.sh "there is no $tool"; done
    user=''
    [ "$(id -u)" -eq 0 ] || user=--map-root-user
    new="unshare $user --mount --uts --ipc --net --pid --fork --kill-child --mount-proc"
    $new ip link add bridge type bridge 2>/dev/null || not_tried tests/test_hosts.sh "there are no network namespaces"
    INSIDE=yes exec $new sh "$0" "$@"
fi
# shellcheck source=tests/expect_mpi.sh
. "$root/tests/expect_mpi.sh"
trap 'exit 1' HUP INT TERM

# ---- the machines ----------------------------------------------------------------------------------------------------

mount -t tmpfs tmpfs /dev/shm
hostname one
printf '%s\n' '127.0.0.1 localhost' '10.0.0.1 one' '10.0.0.2 two' '10.0.0.3 three' >hosts
mount --bind hosts /etc/hosts
ip link set lo up
ip link add bridge type bridge
ip address add 10.0.0.1/24 dev bridge
ip link set bridge up
# TCP gives up data that does not arrive after a second, not after 16 minutes: so mpirun and its daemons end, too.
echo 1 >/proc/sys/net/ipv4/tcp_retries2

# agent MACHINE COMMAND: as ssh.
cat >agent <<'END'
#!/bin/sh
id=$(cat "$FOLDER/id.$1")
shift
exec nsenter -t "$id" -m -r -w -u -i -n sh -c "$*"
END
chmod +x agent
PATH=$PATH:$folder
export BUILD="${examples%/*}"

# machine NAME NUMBER: its root folder is in memory.
machine() {
    # shellcheck disable=SC2016 # for the shell in the machine
    unshare --mount --uts --ipc --net sh -ec '
        hostname "$1"
        mount -t tmpfs tmpfs /mnt
        cd /mnt
        mkdir tmp
        for place in /bin /dev /etc /lib /lib64 /proc /sbin /sys /usr "$BUILD" "$FOLDER/pids"; do
            [ -d "$place" ] || continue
            mkdir -p "./$place"
            mount --rbind "$place" "./$place"
        done
        mount -t tmpfs tmpfs dev/shm
        exec unshare --root=/mnt sleep 1000000' sh "$1" &
    echo $! >"id.$1"
    while kill -0 $! && ! grep -qx sleep "/proc/$!/comm"; do sleep 0.01; done
    ip link add "cable$2" type veth peer name eth0 netns $!
    ip link set "cable$2" master bridge up
    agent "$1" "ip address add 10.0.0.$2/24 dev eth0 && ip link set eth0 up && ip link set lo up &&
        echo 1 >/proc/sys/net/ipv4/tcp_retries2" || exit 1
    cp story.txt each.sh agent "/proc/$!/root$folder"
}
machine two 2
machine three 3

printf '%s slots=1\n' one two three >machines
export OMPI_MCA_plm_rsh_agent=agent OMPI_MCA_orte_default_hostfile="$folder/machines"

# gone: as in expect_mpi.sh, but of MPI's processes none is left either: there are only this script and one for each machine.
gone() {
    i=0
    while set -- /proc/[0-9]*; [ $# -gt 3 ]; do
        i=$((i + 1))
        [ $i -lt 800 ] || { wrong "left: $(cat /proc/[0-9]*/comm)"; return; }
        sleep 0.05
    done
    ok
}

# ---- the same files from three machines as from one ------------------------------------------------------------------

run="$gpt --steps 300 --every 100 --deadline 3"
expect 0 '' '' $run --out long
together 0 '' 3 $run --out together
same_run long together
printf '%s\n' agent each.sh story.txt >given
for name in two three; do
    there=/proc/$(cat id.$name)/root
    find "$there/" "$there/dev/shm" -xdev ! -type d | sed 's|.*/||' | sort >files
    same given files
done

# ---- a process that is killed, a cable that is cut -------------------------------------------------------------------

kill_process() { send KILL 1 && begin=$(date +%s); }
endless="$endless --deadline 3"
interrupted kill_process broken/gpt.csv.part 100 3 $endless --out broken
that "a status other than 0 after a kill" [ $status -ne 0 ]
gone
that "processes end within twenty seconds" [ $(($(date +%s) - begin)) -le 20 ]
resumes 1
expect 0 '' '' $endless --steps 100 --overwrite --out broken
# To resume, each machine needs a copy of the checkpoint.
for name in two three; do cp -r broken "/proc/$(cat id.$name)/root$folder"; done
interrupted 'ip link set cable2 down' broken/gpt.csv.part 100 3 train --resume --deadline 3 --steps 1000000 --every 1000000 \
    --out broken
# mpirun has lost a machine, too. If it notices this first, its status is that of OPAL_ERR_COMM_FAILURE, -51.
[ $status -ne 205 ] || status=1
ended 1 ' has been silent for 3 seconds, since step '
# A connection needs no question for the address of machine two, which has failed while the cable was cut.
ip link set cable2 up
until agent two 'ip link show eth0' | grep -q 'state UP'; do sleep 0.01; done
agent two 'ip neigh flush dev eth0'
resumes 3

summary hosts
