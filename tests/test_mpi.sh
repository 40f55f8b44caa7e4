#!/bin/sh
# test_mpi.sh ROOT EXAMPLES THREADS [FAULTS]: training by several processes over MPI: the same files from any number of them,
# signals, errors in one process, processes that are killed or stopped, the number of threads as the program THREADS
# (mpi_threads.c) prints it, and with the library FAULTS (mpi_faults.c) calls that fail.
# shellcheck disable=SC2086 # lists of words

root=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
examples=$(CDPATH='' cd -- "$2" && pwd -P) || exit 1
absolute() { echo "$(CDPATH='' cd -- "${1%/*}" && pwd -P)/${1##*/}"; }
threads=$(absolute "$3")
faults=''
[ $# -lt 4 ] || faults=$(absolute "$4")
# shellcheck source=tests/expect_mpi.sh
. "$root/tests/expect_mpi.sh"

# ---- the same files from any number of processes ---------------------------------------------------------------------

run="$gpt --steps 300"
expect 0 '' '' $run --out one
for n in 2 3; do
    together 0 '' $n $run --deadline $((20 + n)) --out together$n       # it is not a setting of the run
    same_run one together$n
done

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

interrupted 'send USR1 1' broken/gpt.csv.part 100 3 $endless --out broken
ended 75 'gpt train: stopped by a signal after step '
resumes 2
interrupted 'send TERM 0' broken/gpt.csv.part 100 2 $endless --out broken
ended 75 'gpt train: stopped by a signal after step '
resumes 1
# A scheduler signals what has started mpirun.
# shellcheck source=examples/processes/signals.sh
. "$root/examples/processes/signals.sh"
by=pass_signals
end_job() { kill -TERM $child; }
interrupted end_job broken/gpt.csv.part 100 3 $endless --out broken
ended 75 'gpt train: stopped by a signal after step '
by=''
resumes 2
interrupted 'send KILL 1' broken/gpt.csv.part 100 2 $endless --out broken
that "a status other than 0 after a kill" [ $status -ne 0 ]
gone
resumes 3
program=$examples/translate
interrupted 'send USR1 1' broken/translate.csv.part 1 3 $translate --epochs 100000 --out broken
ended 75 'translate train: stopped by a signal in epoch '
epochs=$(($(last_row) + 2))
together 0 '' 2 train --resume --epochs $epochs --out broken
expect 0 '' '' $translate --epochs $epochs --out words_long
same words_long/translate.safetensors broken/translate.safetensors
same_run words_long broken
program=$examples/gpt
# Also while each step writes a checkpoint, and whatever the others are doing then. The ranks side by side, each in a folder of
# its own, because most of the time mpirun waits.
for every in 1000000 1 2; do
    for rank in 0 1 2; do
        mkdir -p "stop$rank/pids" "$folder/tmp$rank"
        cp story.txt each.sh "stop$rank"
        (
            cd "stop$rank" || exit 1
            TMPDIR=$folder/tmp$rank folder=$PWD FOLDER=$PWD begin=$(date +%s)
            interrupted "send STOP $rank" stopped/gpt.csv.part step 3 $gpt --steps 1000000 --every $every --deadline 2 \
                --out stopped
            echo "$status $(($(date +%s) - begin))" >status
        ) &
    done
    wait
    for rank in 0 1 2; do
        cd "$folder/stop$rank" || exit 1
        read -r status seconds <status
        ended 1 "kaeru: process $rank has been silent for 2 seconds, since step "
        that "processes end within ten seconds" [ "$seconds" -lt 20 ]
        cd "$folder" || exit 1
    done
done

# ---- threads ---------------------------------------------------------------------------------------------------------

program=$threads
expect 0 '' ''
share=$(($(cat stdout) / 2))
together 0 '' 2
that "two processes divide the processors" [ "$(cat stdout)" -eq $((share > 1 ? share : 1)) ]
export KAERU_THREADS=5
together 0 '' 2
that "KAERU_THREADS counts for each process" [ "$(cat stdout)" -eq 5 ]
unset KAERU_THREADS
# A shell inside a job of Slurm with one task: its programs are not processes of MPI.
if [ -n "$faults" ]; then
    program='env'
    expect 0 '' '' SLURM_STEP_NUM_TASKS=1 LD_PRELOAD="$faults" KAERU_MPI_FAULT='MPI_Init 0' "$threads"
    # A launcher that does not tell the number of processes
    env PMIX_RANK=0 LD_PRELOAD="$faults" KAERU_MPI_FAULT='MPI_Init 0' "$threads" >stdout 2>stderr
    that "MPI begins also then" grep -q '^kaeru: MPI_Init failed' stderr
fi
# Processes of another MPI's mpirun, and of srun without a plugin for this MPI
for size in OMPI_COMM_WORLD_SIZE SLURM_STEP_NUM_TASKS; do
    env $size=2 "$threads" >stdout 2>stderr
    that "processes without the others end: $size" [ $? -eq 1 ]
    that "and say why" grep -q '^kaeru: the launcher has started processes that do not find each other' stderr
done
program=$examples/gpt

# ---- errors ----------------------------------------------------------------------------------------------------------

# differs "LINE" ARGUMENT...: process 1 has these besides.
differs() {
    line=$1
    shift
    odd=1 other=$*
    together "${wanted:-1}" "$line" 2 $gpt --steps 20 --overwrite --out differs
    odd=none
}
differs 'process 1 and process 0 differ in --seed: 5 and 0' --seed 5
differs 'process 1 and process 0 differ in --dropout: 0.3 and 0.1' --dropout 0.3
differs 'process 1 and process 0 differ in --batch: 4 and 5' --batch 4
differs 'process 1 and process 0 differ in --steps: 10 and 20' --steps 10
differs 'process 1 and process 0 differ in --vocab: vocab.json and none' --vocab vocab.json
differs 'process 1 and process 0 differ in --resume: 1 and 0' --resume
differs 'process 1 and process 0 differ in --help: 1 and 0' --help
mkdir elsewhere
sed 's/frog 1 /frog 2 /' story.txt >elsewhere/story.txt
differs 'process 1 and process 0 differ in the data: ' cd=elsewhere
mkdir empty
differs 'gpt train: story.txt: cannot be opened: No such file or directory' cd=empty
wanted=2
differs 'gpt train: unknown option --stepz' --stepz 4
wanted=''
together 0 '' 2 train --help
that "the help once" [ "$(grep -c '^usage: gpt train' stdout)" -eq 1 ]
together 0 '' 2 --help
that "the list of commands once" [ "$(grep -c '^usage: gpt COMMAND' stdout)" -eq 1 ]
# Process 1 trains with other labels than process 0.
program=$examples/translate
odd=1 other='--smoothing 0.2'
together 1 'process 1 and process 0 differ in --smoothing: 0.2 and 0.1' 2 $translate --out differs
odd=none
# A usage error of the library in all processes
program=${examples%/*}/tests/final_weights
together 1 'kaeru: nn_parallel_new_with: -1 shards, expected 1 or more' 3 transformer float32 1 weights 2 -1
program=$examples/gpt
together 2 "gpt: unknown command 'trian' (gpt --help lists the commands)" 3 trian
together 1 'gpt train: absent.txt: cannot be opened: No such file or directory' 3 train --data absent.txt --out differs
together 1 ': the loss is ' 3 $gpt --clip 0 --lr 1000 --steps 100 --overwrite --out differs
together 2 '3 processes for 2 shards: expected at most one process a shard (--shards)' 3 $gpt --shards 2 --overwrite \
    --out differs

# The first process saves the model, although MPI does not end. Open MPI's mpirun calls this an error.
if [ -n "$faults" ]; then
    program=$examples/translate
    odd=0 other='fault=MPI_Finalize never'
    (start 2 $translate --out unended)
    gone
    same words/translate.safetensors unended/translate.safetensors
    odd=none
    program=$examples/gpt
fi

# ---- calls that fail -------------------------------------------------------------------------------------------------

# Five at a time, each in a folder of its own: most of the time mpirun waits.
calls='Init-0 Comm_set_errhandler-0 Comm_size-0 Comm_size-1 Comm_dup-0 Comm_rank-0 Comm_get_attr-0 Comm_split_type-0 Allgather-0
    Isend-0 Isend-200 Irecv-0 Irecv-200 Testsome-0 Testsome-200 Request_free-0 Ibarrier-0 Test-0 Cancel-0 Wait-0 Comm_free-0
    Comm_free-1 Finalize-0'
[ -n "$faults" ] || calls=''
n=0
for call in $calls; do
    mkdir -p "$call/pids" "$folder/$n"
    cp story.txt each.sh "$call"
    (
        cd "$call" || exit 1
        TMPDIR=$folder/$n                               # each mpirun removes the files of those beside it
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
