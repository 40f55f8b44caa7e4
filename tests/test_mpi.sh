#!/bin/sh
# test_mpi.sh ROOT EXAMPLES [FAULTS]: training by several processes over MPI: the same files from any number of them, signals,
# errors in one process, processes that are killed or stopped, and with the library FAULTS (mpi_faults.c) calls that fail.

# shellcheck disable=SC2086 # lists of words

root=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
examples=$(CDPATH='' cd -- "$2" && pwd -P) || exit 1
faults=''
[ $# -lt 3 ] || faults=$(CDPATH='' cd -- "$(dirname -- "$3")" && pwd -P)/$(basename -- "$3")
program=$examples/gpt
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
# shellcheck source=tests/expect.sh
. "$root/tests/expect.sh"
launcher=$(launcher_of "$program") || { echo "no mpirun"; exit 1; }
LC_ALL=C
export LC_ALL

# Each process writes its number here. $other is what process $odd has besides: options, or fault=CALL. If
# $apart is yes, all but the first run in a folder of their own.
mkdir pids elsewhere
# The MPI libraries keep memory until the end. test_parallel.c looks for leaks of kaeru, without MPI.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
cat >each.sh <<'END'
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
echo $$ >"$FOLDER/pids/$rank"
[ "$rank" = 0 ] || [ "$APART" = no ] || cd "$FOLDER/elsewhere" || exit 1
[ "$rank" = "$ODD" ] || exec "$@"
case $OTHER in
*=*) export LD_PRELOAD="$FAULTS" KAERU_MPI_FAULT="${OTHER#*=}"; exec "$@" ;;
*) exec "$@" $OTHER ;;
esac
END
FOLDER=$folder FAULTS=$faults odd=none other='' apart=no
export FOLDER FAULTS

# start N ARGUMENT...: becomes N processes of $program, which leave stdout and stderr.
start() {
    rm -f pids/*
    n=$1
    shift
    ODD=$odd OTHER=$other APART=$apart
    export ODD OTHER APART
    launch "$launcher" "$n" sh "$folder/each.sh" "$program" "$@" >stdout 2>stderr </dev/null
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
    grep '^kaeru: \|^gpt train: \|^translate train: ' stderr | grep -v gnuplot >told
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
# interrupted SIGNAL RANK FILE ROW N ARGUMENT...: sends a signal to a process $after seconds after the file has the row.
after=0
interrupted() {
    signal=$1 rank=$2 file=$3 row=$4
    shift 4
    rm -rf "$(dirname "$file")"
    (start "$@") &
    child=$!
    while ! grep -q "^$row," "$file" 2>/dev/null && kill -0 $child; do sleep 0.01; done
    sleep $after
    kill "-$signal" "$(cat "pids/$rank")"
    wait $child
    status=$?
}
# same_run ONE OTHER: the checkpoints and the rows of both, but for the times at the end of a row.
same_run() {
    for file in "$1"/*_last.safetensors "$1"/*_best.safetensors; do
        [ ! -e "$file" ] || same "$file" "$2/${file##*/}"
    done
    for name in "$1" "$2"; do sed 's/,[^,]*$//' "$name"/*.csv >"$name.rows"; done
    same "$1.rows" "$2.rows"
}

# ---- the same files from any number of processes ---------------------------------------------------------------------

i=0
while [ $i -lt 200 ]; do
    echo "The frog $i goes back to the pond, and the pond is $((i * 7 % 13)) feet deep."
    i=$((i + 1))
done >story.txt
cp story.txt elsewhere
gpt="train --data story.txt --layers 2 --heads 2 --width 16 --context 12 --batch 5 --warmup 5 --held-out 300 --sample 0
    --dropout 0.1 --clip 0.5 --accumulate 2 --shards 5 --deadline 20 --every 50"
run="$gpt --steps 300"
expect 0 '' '' $run --out one
for n in 2 3; do
    together 0 '' $n $run --out together$n
    same_run one together$n
done
# Only the first process has a folder for files. Open MPI does without shared memory; MPICH 4.0 over TCP hangs in MPI_Finalize.
apart=yes
export OMPI_MCA_btl=tcp,self
together 0 '' 3 $gpt --steps 20 --every 10 --out apart
unset OMPI_MCA_btl
apart=no
expect 0 '' '' $gpt --steps 20 --every 10 --out few
same_run few apart

program=$examples/translate
translate='train --layers 1 --width 16 --heads 2 --hidden 32 --warmup 20 --beam 2 --sentences 300 --held-out 20 --epochs 2
    --average 2 --batch-tokens 300 --shards 5 --deadline 20'
expect 0 '' '' $translate --out words
for n in 2 3; do
    together 0 '' $n $translate --out words$n
    same words/translate.safetensors words$n/translate.safetensors
    same_run words words$n
done
program=$examples/gpt

# ---- signals, kills and resuming -------------------------------------------------------------------------------------

expect 0 '' '' $gpt --steps 1000 --out long
# resumes: the folder `broken`, by N processes
resumes() {
    if [ "$1" -eq 1 ]; then expect 0 'resumes at step ' '' train --resume --out broken
    else together 0 '' "$1" train --resume --out broken
    fi
    same_run long broken
}
interrupted USR1 1 broken/gpt.csv.part 100 3 $gpt --steps 1000 --out broken
ended 75 'gpt train: stopped by a signal after step '
resumes 2
interrupted TERM 0 broken/gpt.csv.part 100 2 $gpt --steps 1000 --out broken
ended 75 'gpt train: stopped by a signal after step '
resumes 1
interrupted KILL 1 broken/gpt.csv.part 100 2 $gpt --steps 1000 --out broken
that "a status other than 0 after a kill" [ $status -ne 0 ]
gone
resumes 3
program=$examples/translate
interrupted USR1 1 broken/translate.csv.part 1 3 $translate --sentences 2000 --batch-tokens 100 --out broken
ended 75 'translate train: stopped by a signal in epoch '
together 0 '' 2 train --resume --out broken
expect 0 '' '' $translate --sentences 2000 --batch-tokens 100 --out words_long
same words_long/translate.safetensors broken/translate.safetensors
same_run words_long broken
program=$examples/gpt
after=0.5                                               # then no checkpoint is written, for which processes wait longer
for rank in 0 2; do
    begin=$(date +%s)
    interrupted STOP $rank stopped/gpt.csv.part step 3 $gpt --steps 1000000 --every 1000000 --deadline 2 --out stopped
    ended 1 "kaeru: process $rank has been silent for 2 seconds, since step "
    that "processes end within ten seconds" [ $(($(date +%s) - begin)) -lt 20 ]
done

# ---- errors ----------------------------------------------------------------------------------------------------------

# differs "LINE" ARGUMENT...: process 1 has these besides.
differs() {
    line=$1
    shift
    odd=1 other=$*
    together "${wanted:-1}" "$line" 2 $gpt --steps 20 --overwrite --out differs
    odd=none
}
differs 'process 1 and process 0 differ in the number of shards, the norm to clip, the seed or the precision' --seed 5
differs 'process 1 and process 0 differ in the options of the optimizer' --beta2 0.9
head -n 150 story.txt >shorter.txt
differs 'process 1 and process 0 differ in ' --data shorter.txt
differs 'gpt train: absent.txt: cannot be opened: No such file or directory' --data absent.txt
wanted=2
differs 'gpt train: unknown option --stepz' --stepz 4
wanted=''
together 1 'gpt train: absent.txt: cannot be opened: No such file or directory' 3 train --data absent.txt --out differs
together 1 ': the loss is ' 3 $gpt --clip 0 --lr 1000 --steps 100 --overwrite --out differs
together 2 '3 processes for 2 shards: expected at most one process a shard (--shards)' 3 $gpt --shards 2 --overwrite \
    --out differs

# ---- calls that fail -------------------------------------------------------------------------------------------------

# Five at a time, each in a folder of its own: most of the time mpirun waits.
calls='Init-0 Comm_set_errhandler-0 Comm_size-0 Comm_size-1 Comm_dup-0 Comm_rank-0 Comm_get_attr-0 Comm_split_type-0 Allgather-0
    Isend-0 Isend-200 Irecv-0 Irecv-200 Testsome-0 Testsome-200 Ibarrier-0 Test-0 Comm_free-0 Comm_free-1 Finalize-0'
[ -n "$faults" ] || calls=''
n=0
for call in $calls; do
    mkdir -p "$call/pids"
    cp story.txt each.sh "$call"
    (
        cd "$call" || exit 1
        folder=$PWD FOLDER=$PWD odd=1 other="fault=MPI_${call%-*} ${call#*-}"
        (start 2 $gpt --steps 20 --out differs)
        echo $? >status
    ) &
    n=$((n + 1))
    [ $((n % 5)) -ne 0 ] || wait
done
wait
for call in $calls; do
    cd "$folder/$call" || exit 1
    status=$(cat status)
    ended 1 "MPI_${call%-*} "
    cd "$folder" || exit 1
done

summary mpi
