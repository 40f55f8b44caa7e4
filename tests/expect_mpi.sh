# expect_mpi.sh: functions for the tests of training by several processes. A test sets $root to the folder of the project,
# $examples to that of the programs and $faults to the library of mpi_faults.c or to nothing, and reads this file with `.`. This
# file reads setup.sh and expect.sh.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154 # SC2086: lists of words

program=$examples/gpt
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
# shellcheck source=tests/expect.sh
. "$root/tests/expect.sh"
launcher=$(launcher_of "$program") || { echo "no mpirun"; exit 1; }
LC_ALL=C
export LC_ALL

# Each process writes its number here. $other is what process $odd has besides: options, fault=CALL, or cd=FOLDER, in which it
# starts.
mkdir pids
# The MPI libraries keep memory until the end. test_parallel.c looks for leaks of kaeru, without MPI. A process may load FAULTS
# before the library of the address sanitizer.
export ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
cat >each.sh <<'END'
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
echo $$ >"$FOLDER/pids/$rank"
[ "$rank" = "$ODD" ] || exec "$@"
case $OTHER in
cd=*) cd "${OTHER#*=}" && exec "$@" ;;
*=*) export LD_PRELOAD="$FAULTS" KAERU_MPI_FAULT="${OTHER#*=}"; exec "$@" ;;
*) exec "$@" $OTHER ;;
esac
END
# TMPDIR: each mpirun removes what it finds of Open MPI there when it ends, and another one may run.
FOLDER=$folder FAULTS=$faults TMPDIR=$folder odd=none other=''
export FOLDER FAULTS TMPDIR

# start N ARGUMENT...: N processes of $program, which leave stdout and stderr. The function becomes mpirun, unless $by is a
# command that runs it.
by=''
start() {
    rm -f pids/*
    n=$1
    shift
    ODD=$odd OTHER=$other
    export ODD OTHER
    $by launch "$launcher" "$n" sh "$folder/each.sh" "$program" "$@" >stdout 2>stderr </dev/null
}

# gone: no process is left, at most three seconds after the end of mpirun.
gone() {
    i=0
    while for id in $(cat pids/*); do ! kill -0 "$id" 2>/dev/null || break; done && kill -0 "$id" 2>/dev/null; do
        i=$((i + 1))
        [ $i -lt 60 ] || { wrong "process $id is left"; kill -9 "$id"; return; }
        sleep 0.05
    done
    ok
}
# ended STATUS "LINE IN STDERR": what has ended, and nothing is left. Of MPI's own, only mpirun's words about a process that
# was killed may be there. An empty line: stderr is empty. For an error's status, MPICH's mpirun may give 9: the signal by which
# it ends the other processes.
ended() {
    # Of a race between Open MPI and its child, which changes nothing.
    grep -vE '^(\[[^]]*\] )?plm:rsh: Warning: setpgid\(' stderr >others
    mv others stderr
    grep '^kaeru: \|^gpt\( train\)\?: \|^translate train: ' stderr | grep -v gnuplot >told
    if [ $status -ne "$1" ] && { [ "$status" -ne 9 ] || [ "$1" -gt 2 ] || is_open_mpi "$launcher"; }; then
        wrong "status $status, expected $1: $2"
        cat stderr
    elif [ -z "$2" ] && [ -s stderr ]; then
        wrong "unexpected text on stderr"
        cat stderr
    elif [ -n "$2" ] && { [ "$(wc -l <told)" -ne 1 ] || ! grep -qF -- "$2" told; }; then
        wrong "expected one line '$2'"
        cat stderr
    else
        ok
    fi
    gone
}
# together STATUS "LINE IN STDERR" N ARGUMENT...
together() {
    want=$1 line=$2
    shift 2
    (start "$@")
    status=$?
    ended "$want" "$line"
}
# interrupted "COMMAND" FILE ROW N ARGUMENT...: runs the command when the file has the row. The arguments ask for so many steps
# that the run does not end by itself.
interrupted() {
    command=$1 file=$2 row=$3
    shift 3
    case " $* " in *' --resume '*) ;; *) rm -rf "$(dirname "$file")" ;; esac
    (start "$@") &
    child=$!
    while ! grep -q "^$row," "$file" 2>/dev/null && kill -0 $child; do sleep 0.01; done
    $command
    wait $child
    status=$?
}
send() { kill "-$1" "$(cat "pids/$2")"; }               # SIGNAL RANK
# same_run ONE OTHER: the checkpoints and the rows of both, but for the times at the end of a row.
same_run() {
    for file in "$1"/*_last.safetensors "$1"/*_best.safetensors; do
        [ ! -e "$file" ] || same "$file" "$2/${file##*/}"
    done
    for name in "$1" "$2"; do sed 's/,[^,]*$//' "$name"/*.csv >"$name.rows"; done
    same "$1.rows" "$2.rows"
}

# A text to learn, and options with every part of the training that the processes divide.
i=0
while [ $i -lt 200 ]; do
    echo "The frog $i goes back to the pond, and the pond is $((i * 7 % 13)) feet deep."
    i=$((i + 1))
done >story.txt
gpt="train --data story.txt --layers 2 --heads 2 --width 16 --context 12 --batch 5 --warmup 5 --held-out 300 --sample 0
    --dropout 0.1 --clip 0.5 --accumulate 2 --shards 5 --deadline 20 --every 50"
# The same weights at a step, however many steps are to come: the learning rate does not fall.
endless="$gpt --lr-min 0.001 --steps 1000000"
# last_row: the first number of the last row in the folder `broken`
last_row() { cat broken/*.csv broken/*.csv.part 2>/dev/null | tail -n 1 | cut -d, -f1; }
# resumes N: the run $endless in the folder `broken`, by N processes, to a step beyond those that were taken. A run that was not
# interrupted has the same files.
resumes() {
    steps=$(($(last_row) + 100))
    rm -rf long
    expect 0 '' '' $endless --steps $steps --out long
    if [ "$1" -eq 1 ]; then expect 0 'resumes at step ' '' train --resume --steps $steps --every 50 --out broken
    else together 0 '' "$1" train --resume --steps $steps --every 50 --out broken
    fi
    same_run long broken
}
