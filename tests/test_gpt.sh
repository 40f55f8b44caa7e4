#!/bin/sh
# test_gpt.sh PROGRAM PLOTS FIXTURES: the commands of gpt: messages, files, a run that is killed and resumed.

# shellcheck disable=SC2086,SC3045 # lists of words; limits that POSIX does not have

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
KAERU_PLOTS=$(cd "$2" && pwd)
fixtures=$(cd "$3" && pwd)
export KAERU_PLOTS
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# ---- messages --------------------------------------------------------------------------------------------------------

expect 0 'usage: gpt COMMAND' '' --help
"$program" >stdout 2>stderr
that "status without a command" [ $? -eq 2 ]
that "usage without a command" grep -qF 'usage: gpt COMMAND' stderr
that "nothing on stdout without a command" [ ! -s stdout ]
expect 2 '' "gpt: unknown command 'draw' (gpt --help" draw
for command in train sample generate eval tokenize export; do
    expect 0 "  $command " '' --help
    expect 0 "usage: gpt $command [options]" '' $command --help
    expect 2 '' "gpt $command: unknown option --stepz" $command --stepz 5
done

# ---- training --------------------------------------------------------------------------------------------------------

i=0
while [ $i -lt 200 ]; do
    echo "The frog $i goes back to the pond, and the pond is $((i * 7 % 13)) feet deep."
    i=$((i + 1))
done >story.txt
tiny='--layers 2 --heads 2 --width 16 --context 12 --batch 3 --warmup 5 --held-out 300'

run="$tiny --steps 300 --every 100 --dropout 0.1 --accumulate 2"
: >empty.txt
expect 1 '' 'empty.txt: is empty, expected a text to learn from' train --data empty.txt $run --out plain
if [ -c /dev/full ]; then
    "$program" --help >/dev/full 2>stderr
    if [ $? -eq 1 ] && grep -qF 'gpt: cannot write the output' stderr; then ok; else wrong "--help on a full disk"; fi
fi
expect 0 'モデル：  plain/gpt_last.safetensors' '' train --data story.txt $run --language ja --out plain
# (V + context) D + layers (12 D^2 + 2 D) + D
kinds=$(sed -n '1s/.*語彙は\([0-9]*\)$/\1/p' stdout)
that "parameters" grep -q "、パラメータ$(((kinds + 12) * 16 + 2 * (12 * 256 + 32) + 16))\$" stdout
has plain/gpt_best.safetensors
has plain/gpt_vocab.json
lacks plain/gpt_merges.txt
printf 'step,train_loss,valid_loss,learning_rate,tokens_per_second\n' >header
head -n 1 plain/gpt.csv >got
same header got
that "steps of gpt.csv" [ "$(cut -d, -f1 plain/gpt.csv | tr '\n' ' ')" = 'step 100 200 300 ' ]
if command -v gnuplot >/dev/null; then
    has plain/gpt.png
    japanese plain/gpt.svg
fi

# A run that is killed after the first checkpoints and resumed with another number of threads ends with the same bytes.
killed broken/gpt.csv.part 100 300 train --data story.txt $run --threads 1 --out broken
lacks broken/gpt.csv
has broken/gpt.csv.part
expect 1 '' 'broken/gpt_last.safetensors exists from an earlier run: --resume resumes' train --data story.txt \
    --out broken
expect 0 'resumes at step ' '' train --resume --threads 3 --out broken
that "how much an evaluation reads" grep -qx 'each evaluation reads about 300 of the [0-9]* held-out tokens to predict' stdout
same plain/gpt_last.safetensors broken/gpt_last.safetensors
same plain/gpt_best.safetensors broken/gpt_best.safetensors
cut -d, -f1-4 plain/gpt.csv >one
cut -d, -f1-4 broken/gpt.csv >two
same one two
# Products in bfloat16 give other losses, and a resumed run keeps its precision.
expect 2 '' 'gpt train: --precision fp8: expected float32 or bf16' train --data story.txt $run --precision fp8
expect 0 '' '' train --data story.txt $run --precision bf16 --seed 7 --out bf16
cut -d, -f1-4 bf16/gpt.csv >two
differ one two
killed resumed/gpt.csv.part 100 300 train --data story.txt $run --precision bf16 --seed 7 --out resumed
expect 2 '' '--seed 8: the run in resumed/gpt_last.safetensors began with --seed 7, expected this or none' train --resume \
    --seed 8 --out resumed
expect 0 'resumes at step ' '' train --resume --seed 7 --out resumed
same bf16/gpt_last.safetensors resumed/gpt_last.safetensors
for kind in float32 bf16; do
    expect 0 '' '' sample --checkpoint bf16/gpt_last.safetensors --precision $kind
    that "a text in $kind" [ -s stdout ]
done
expect 0 'all 300 steps are done' '' train --resume --out broken
same plain/gpt_last.safetensors broken/gpt_last.safetensors
# Killed after the last checkpoint was saved, but before gpt.csv was closed: resuming closes it.
mv broken/gpt.csv broken/gpt.csv.part
expect 0 'data:    broken/gpt.csv' '' train --resume --sample 0 --out broken
cut -d, -f1-4 broken/gpt.csv >two
same one two
cp broken/gpt_last.safetensors checkpoint_300
expect 2 '' '--width: the run in this folder was started with ' train --resume --width 24 --sample 0 --out broken
expect 2 '' '--vocab: the run in this folder was started with none, which cannot be changed' train --resume \
    --vocab plain/gpt_vocab.json --out broken
# What a checkpoint says reaches the terminal without characters that it would obey.
python3 - broken/gpt_last.safetensors <<'END'
import json, struct, sys
content = open(sys.argv[1], 'rb').read()
size = struct.unpack('<Q', content[:8])[0]
header = json.loads(content[8:8 + size])
for name, key in ('seed', 'run.seed'), ('vocab', 'option.vocab'), ('data', 'option.data'), ('number', 'gpt.layers'):
    metadata = dict(header['__metadata__'])
    del metadata['kaeru.hash']
    metadata['settings.' + key] = '\x1b]0;owned\x07\x7f\x9b\u202e'
    text = json.dumps(dict(header, __metadata__=metadata)).encode()
    open(name, 'wb').write(struct.pack('<Q', len(text)) + text + content[8 + size:])
END
for name in seed vocab data number; do
    cp $name broken/gpt_last.safetensors
    option=
    [ $name != seed ] || option='--seed 5'
    [ $name != vocab ] || option='--vocab x'
    "$program" train --resume $option --out broken >stdout 2>stderr
    that "refuses another $name" [ $? -ne 0 ]
    that "prints another $name" grep -qF '\x1B]0;owned\x07\x7F\xC2\x9B\xE2\x80\xAE' stderr
    rm $name
done
cp checkpoint_300 broken/gpt_last.safetensors
expect 0 'step 310 of 310' '' train --resume --steps 310 --sample 0 --out broken
that "where it resumes" grep -qxF 'resumes at step 300 of 310, from broken/gpt_last.safetensors' stdout
rows='step 100 200 300 310 '
that "steps of the longer gpt.csv" [ "$(cut -d, -f1 broken/gpt.csv | tr '\n' ' ')" = "$rows" ]
# Killed between the row of step 310 and its checkpoint: resuming replaces the row.
cut -d, -f1-4 broken/gpt.csv >one
mv broken/gpt.csv broken/gpt.csv.part
mv checkpoint_300 broken/gpt_last.safetensors
expect 0 'resumes at step 300 of 310' '' train --resume --steps 310 --sample 0 --out broken
cut -d, -f1-4 broken/gpt.csv >two
same one two
# Losses that are not those of the checkpoint: cut, of another run, in another order, of another program, or none at all.
mkdir lost
cp broken/gpt_last.safetensors broken/gpt_vocab.json lost
last=$(cut -d, -f1,2 broken/gpt.csv | sed -n '$p')
third=$(cut -d, -f1,2 broken/gpt.csv | sed -n 4p)
# Only the rows that are those of the checkpoint are used. Another row, or a line that is no row, stays in a file of its own.
for kind in cut changed turned another earlier step killed; do
    rows="3 rows, the last one $third,..."
    name=gpt.csv
    case $kind in
    cut) head -n 4 broken/gpt.csv ;;
    changed) sed 's/^310,[^,]*/310,2.5/' broken/gpt.csv ;;
    turned) rows='no rows' && head -n 1 broken/gpt.csv && sed '1s/.*/-inf,1,1,1,1/' broken/gpt.csv | sort -t, -k1 -rg ;;
    another) rows='no rows' && echo epoch,loss && echo 1,2.5 ;;
    earlier) rows="3 rows, the last one $last,..." && sed 's/^100,\([^,]*\),[^,]*/100,\1,2.5/' broken/gpt.csv ;;
    step) sed 's/^310,/910,/' broken/gpt.csv ;;
    killed) name=gpt.csv.part && sed 's/^310,[^,]*/310,2.5/' broken/gpt.csv ;;
    esac >other
    rm -f lost/gpt.csv*
    cp other lost/$name
    found="gpt train: lost/gpt.csv: expected 4 rows, the last one $last,...; found $rows: continues with these"
    [ $kind = cut ] || found="$found; rows that are not as the run wrote them stay in lost/$name.1"
    expect 0 '' "$found" train --resume --steps 311 --sample 0 --out lost
    if [ $kind = cut ]; then that "no other file" [ ! -e lost/$name.1 ]; else same other lost/$name.1; fi
    that "the rows of a run with $kind rows" \
        [ "$(grep -c '^311,' lost/gpt.csv)$(grep -cE '(^|,)(2[.]5|1),' lost/gpt.csv)" = 10 ]
    cp broken/gpt_last.safetensors lost
done
# A name that is taken is left alone.
echo mine >lost/gpt.csv.1
cp other lost/gpt.csv
expect 0 '' 'stay in lost/gpt.csv.2' train --resume --steps 311 --sample 0 --out lost
same other lost/gpt.csv.2
that "the file with the name before" grep -qx mine lost/gpt.csv.1
cp broken/gpt_last.safetensors lost
for ends in '\n' '\r\n'; do                                            # an editor for Windows may have saved the file
    awk -v ends="$ends" '{ printf "%s" ends, $0 }' broken/gpt.csv >lost/gpt.csv
    cp broken/gpt_last.safetensors lost
    expect 0 '' '' train --resume --sample 0 --out lost
    that "no warning with the rows of the checkpoint" [ ! -s stderr ]
    same broken/gpt.csv lost/gpt.csv
done
# The loss at the end is that of `gpt eval` with the same windows; other windows give another one.
expect 0 '' '' train --data story.txt $tiny --window 5 --steps 3 --sample 0 --out windows
sed -n 's/^loss over all \([0-9]*\) held-out tokens: \(.*\)$/\2 \1/p' stdout >want
for window in 5 12; do
    expect 0 'perplexity' '' eval --checkpoint windows/gpt_last.safetensors --window $window
    sed 's/^loss \([0-9.]*\), .* over \([0-9]*\) held-out tokens$/\1 \2/' stdout >got_$window
done
has want
same want got_5
differ want got_12
# A finished run of which only the best model is kept is not replaced.
mkdir kept
cp broken/gpt_best.safetensors broken/gpt_vocab.json kept
expect 1 '' 'gpt train: kept/gpt_best.safetensors exists from an earlier run: --overwrite replaces it' train \
    --data story.txt $run --out kept
same broken/gpt_best.safetensors kept/gpt_best.safetensors
same broken/gpt_vocab.json kept/gpt_vocab.json
# Resuming takes time in proportion to the rows: 60,000 rows within 10 s of processor time, of which it needs a twentieth.
mkdir many
cp broken/gpt_last.safetensors broken/gpt_vocab.json many
edited broken/gpt_last.safetensors many/gpt_last.safetensors csv.digits csv.digitX  # an earlier version does not have them
head -n 1 broken/gpt.csv >many/gpt.csv
yes 1,2,3,4,5 | head -n 60000 >>many/gpt.csv
that "60,000 rows in linear time" env PATH="$folder" "$(command -v sh)" -c 'ulimit -t 10; exec "$@" >stdout 2>stderr' sh \
    "$program" train --resume --sample 0 --out many
that "all of the 60,000 rows" [ "$(wc -l <many/gpt.csv)" -eq 60001 ]
# A signal in the last step is not lost: the resumed run does what is left.
LC_ALL=C "$program" train --data story.txt --steps 1 --batch 100 --sample 0 --out late >stdout 2>stderr &
child=$!
while [ ! -e late/gpt.csv.part ] && kill -0 $child; do sleep 0.01; done
kill -TERM $child
wait $child
that "a signal in the last step" [ $? -eq 75 ]
expect 0 'model:   late/gpt_last.safetensors' '' train --resume --sample 0 --out late
# Ctrl-C saves, too. A shell lets the programs in its background ignore it, so Python sends it.
rm -r late
that "Ctrl-C" python3 - "$program" <<'END'
import os, signal, subprocess, sys, time
run = subprocess.Popen([sys.argv[1], 'train', '--data', 'story.txt', '--steps', '1000000', '--sample', '0', '--out', 'late'],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while not os.path.exists('late/gpt.csv.part') and run.poll() is None:
    time.sleep(0.01)
run.send_signal(signal.SIGINT)
sys.exit(run.wait() != 75)
END
# While a run writes into a folder, another one cannot; commands that read can.
mkdir busy
cp broken/gpt_*.safetensors broken/gpt_vocab.json broken/gpt.csv busy
LC_ALL=C "$program" train --resume --steps 1000000000 --out busy >/dev/null 2>&1 &
child=$!
while [ ! -e busy/gpt.csv.part ] && kill -0 $child; do sleep 0.01; done
expect 1 '' '--out busy: another program is writing into this folder: expected another folder' train --resume \
    --steps 310 --out busy
expect 1 '' '--out busy: another program' train --data story.txt $tiny --steps 2 --overwrite --out busy
expect 1 '' '--out busy: another program' tokenize --data story.txt --out busy
expect 0 '' '' sample --tokens 5 --out busy
expect 0 'perplexity' '' eval --out busy
# It does not wait for the end of the run, whose result it would replace: the run is killed only if it is seen to wait.
LC_ALL=C "$program" train --data story.txt $tiny --steps 2 --overwrite --out busy >stdout 2>stderr &
second=$!
waits() { ls -l "/proc/$1/fd" | grep -q '/busy$' && grep -q '^State:.S' "/proc/$1/status"; }
while kill -0 $second && ! waits $second; do sleep 0.01; done 2>/dev/null
kill -9 $child
wait $second
that "a second run that waits for the first one" [ $? -eq 1 ]
wait $child 2>/dev/null
expect 0 'data:    busy/gpt.csv' '' train --resume --steps 310 --sample 0 --out busy
# A run whose folder is moved away writes nothing into the folder that is in its place then.
case $(uname -s) in
MINGW* | MSYS*) ;;
*)
    LC_ALL=C "$program" train --data story.txt $tiny --steps 1000000000 --every 1000000 --out moved \
        >stdout 2>stderr &
    child=$!
    while [ ! -e moved/gpt.csv.part ] && kill -0 $child; do sleep 0.01; done
    mv moved moved_away
    mkdir moved
    wait $child
    that "status of a run whose folder was moved" [ $? -eq 1 ]
    why='the folder of this run was moved, and another one is in its place: nothing is written there'
    echo "gpt train: --out moved: $why" >want
    same want stderr
    that "nothing in the other folder" [ -z "$(ls -A moved 2>/dev/null)" ]
    ;;
esac
# A resumed run that has not found a better model does not name a best one that is not its own.
cp -R plain bestless
rm bestless/gpt_best.safetensors
lost='the best model of this run is lost, and no later one was better: bestless/gpt_best.safetensors'
expect 0 'model:   bestless/gpt_last.safetensors' "$lost" \
    train --resume --sample 0 --out bestless
that "no best model" sh -c '! grep -q best.safetensors stdout'
expect 0 'best.safetensors (best)' '' train --data story.txt $tiny --steps 2 --seed 9 --sample 0 --out of_other_seed
cp of_other_seed/gpt_best.safetensors bestless
expect 0 'model:   bestless/gpt_last.safetensors' "$lost" \
    train --resume --sample 0 --out bestless
that "no best model of this run" sh -c '! grep -q best.safetensors stdout'
# A new run in the same folder, killed: the file of the earlier run has more rows, but they are not used.
expect 0 '' '' train --data story.txt $tiny --steps 60 --every 10 --sample 0 --overwrite --out broken
expect 0 '' '' train --data story.txt $tiny --steps 40 --every 20 --sample 0 --out later
mv later/gpt_last.safetensors broken
mv later/gpt.csv broken/gpt.csv.part
expect 0 'resumes at step 40 of 60' '' train --resume --steps 60 --sample 0 --out broken
that "steps of the later gpt.csv" [ "$(cut -d, -f1 broken/gpt.csv | tr '\n' ' ')" = 'step 20 40 60 ' ]
expect 0 '' '' train --data story.txt $tiny --steps 3 --sample 0 --overwrite --out broken
expect 0 '' '' train $tiny --steps 2 --sample 5 --out 'with its own t é x t/蛙'
has 'with its own t é x t/蛙/gpt_last.safetensors'
expect 0 'The' '' sample --tokens 5 --prompt The --checkpoint 'with its own t é x t/蛙/gpt_last.safetensors'

# Blocks that are computed again give the same files, but for the saved option. A checkpoint of an earlier version lacks it.
expect 0 'each block is computed again during backward' '' train --data story.txt $run --recompute --out twice
cut -d, -f1-4 plain/gpt.csv >one
cut -d, -f1-4 twice/gpt.csv >two
same one two
for name in gpt_last gpt_best; do
    edited plain/$name.safetensors one_plain
    edited twice/$name.safetensors one_twice
    that "one byte of $name" [ "$(cmp -l one_plain one_twice | wc -l)" -eq 1 ]
done
expect 0 'each block is computed again during backward' '' train --resume --steps 310 --sample 0 --out twice
mkdir earlier
cp plain/gpt_last.safetensors plain/gpt_vocab.json plain/gpt.csv earlier
edited plain/gpt_last.safetensors earlier/gpt_last.safetensors settings.option.recompute settings.option.recomputX
expect 0 'step 310 of 310' '' train --resume --recompute --steps 310 --sample 0 --out earlier
cut -d, -f1-4 twice/gpt.csv >two
cut -d, -f1-4 earlier/gpt.csv >one
same one two

# A run goes on with its own data alone, unless it is told that there are others. An earlier version's checkpoint has no hash.
cp story.txt changing.txt
short="--data changing.txt $tiny --every 2 --sample 0 --out changing"
expect 0 '' '' train $short --steps 2
sed 's/frog 1 /frog 2 /' story.txt >changing.txt
other='changing/gpt_last.safetensors has learned from other data, or with another tokenizer: --other-data'
expect 1 '' "$other" train --resume --steps 4 --out changing
expect 1 '' "$other" train --resume --data changing.txt --steps 4 --out changing
cp changing/gpt_best.safetensors best_before
expect 0 'step 4 of 4' '' train --resume --other-data --steps 4 --sample 0 --out changing
that 'the least loss begins again with other data' [ "$(cmp changing/gpt_best.safetensors best_before | wc -l)" -eq 1 ]
expect 0 'step 6 of 6' '' train --resume --steps 6 --sample 0 --out changing
# So does it if the loss is measured in another way, which is told; the next run that measures so goes on with the least loss.
begins='the next evaluation begins again to choose the best model'
step=6
for how in '--held-out 30' '--window 5' '--precision bf16' '--batch 5'; do
    step=$((step + 2))
    cp changing/gpt_best.safetensors best_before
    # shellcheck disable=SC2086
    expect 0 "$begins" '' train --resume --steps $step $how --sample 0 --out changing
    that "the least loss begins again with $how" [ "$(cmp changing/gpt_best.safetensors best_before | wc -l)" -eq 1 ]
    expect 0 "step $((step + 1)) of" '' train --resume --steps $((step + 1)) --sample 0 --out changing
    that "it does not begin again without a change" [ "$(grep -cF "$begins" stdout)" -eq 0 ]
    step=$((step + 1))
done
cp story.txt changing.txt
expect 1 '' "$other" train --resume --steps 20 --out changing
edited changing/gpt_last.safetensors changing/gpt_last.safetensors settings.data.hash settings.data.hasX
expect 0 'step 20 of 20' '' train --resume --steps 20 --sample 0 --out changing

expect 1 '' 'none/gpt_last.safetensors: cannot be opened' train --resume --out none
expect 1 '' 'absent.txt: cannot be opened' train --data absent.txt --out none
expect 2 '' 'a width of 16 does not divide into 3 heads' train --data story.txt $tiny --heads 3 --out none
expect 2 '' '--weights needs --config and --vocab' train --weights story.txt --out none
expect 2 '' '--merges needs --vocab' train --data story.txt --merges story.txt --out none
expect 2 '' '--config needs --weights' train --data story.txt --config story.txt --out none
expect 2 '' '--steps is 0, expected' train --steps 0 --out none
printf 'caf\351 au lait\n' >latin.txt
expect 1 '' 'latin.txt: line 1, column 4, byte 3: expected UTF-8, found byte 0xE9' train --data latin.txt --out none
printf 'short' >short.txt
expect 1 '' 'short.txt: 4 tokens to learn from and 1 held out are too few: expected 13' train --data short.txt $tiny \
    --out none
expect 1 '' 'latin.txt: ' train --data latin.txt --out none/of/these/
expect 1 '' 'gpt_best.safetensors: cannot be opened: No such file or directory (gpt train writes it)' sample --out none
lacks none
# No memory: one line and no empty folder. (A sanitizer needs more memory than this before main.)
if (ulimit -v 300000 && "$program" --help) >stdout 2>&1; then
    (ulimit -v 300000 && "$program" train --data story.txt --width 8192 --out none/of/these) >stdout 2>stderr
    that "status without memory" [ $? -eq 1 ]
    that "one line without memory" [ "$(wc -l <stderr)" -eq 1 ]
    that "the reason without memory" grep -q '^gpt train: .*: no memory for [0-9]* bytes' stderr
    lacks none
fi
# A limit on file sizes is an error of the write, not a signal: the unfinished file is removed.
(ulimit -f 64 && "$program" train --data story.txt $tiny --width 128 --steps 2 --sample 0 --out small) >stdout 2>stderr
that "status with small files" [ $? -eq 1 ]
echo 'gpt train: small/gpt_last.safetensors: cannot be written: File too large' >want
same want stderr
that "nothing is left with small files" [ -z "$(find small -name '*.tmp')" ]
# No name that can be guessed leads the bytes elsewhere.
mkdir links
for name in gpt.csv.part gpt_last.safetensors.tmp gpt_best.safetensors.tmp gpt_vocab.json.tmp; do
    echo precious >"links/$name.precious"
    if [ $name = gpt.csv.part ]; then ln -s $name.precious links/$name; else ln "links/$name.precious" "links/$name"; fi
done
expect 0 '' '' train --data story.txt $tiny --steps 2 --sample 0 --out links
for name in links/*.precious; do that "the file behind a link: $name" [ "$(cat "$name")" = precious ]; done
that "gpt.csv is no link" [ ! -h links/gpt.csv ]
# A damaged checkpoint is refused by name.
python3 -c "
path = 'links/gpt_last.safetensors'
data = bytearray(open(path, 'rb').read())
data[-5] ^= 64
open(path, 'wb').write(data)"
expect 1 '' 'gpt train: links/gpt_last.safetensors: tensor ' train --data story.txt $tiny --steps 4 --sample 0 --out links \
    --resume
that "the reason" grep -q 'the file is damaged$' stderr
# What is not a regular file is refused at once, not read without end.
# Nor is a file that an option names replaced.
mkdir named
cp story.txt named/gpt.csv
expect 1 '' 'cannot write named/gpt.csv: --data needs this file; expected another folder --out' \
    train --data named/gpt.csv $tiny --steps 2 --sample 0 --out named
same story.txt named/gpt.csv
# That is known at the start, so that --overwrite leaves the earlier run.
for name in gpt_last.safetensors gpt_best.safetensors gpt_vocab.json gpt_merges.txt gpt.csv gpt.csv.part gpt.png gpt.svg; do
    cp -R plain refused
    cp story.txt refused/$name
    refuses refused "cannot write refused/$name: --data needs this file; expected another folder --out" \
        train --data refused/$name $tiny --steps 2 --sample 0 --overwrite --out refused
    rm refused/$name
    mkdir refused/$name
    refuses refused "cannot write refused/$name: expected a regular file there" \
        train --data story.txt $tiny --steps 2 --sample 0 --overwrite --out refused
    rm -r refused
done
mkdir piped
mkfifo piped/gpt.svg
expect 1 '' 'cannot write piped/gpt.svg: expected a regular file there' \
    train --data story.txt $tiny --steps 2 --sample 0 --out piped
mkfifo pipe
if command -v timeout >/dev/null; then
    timeout 60 "$program" train --data pipe --out none >stdout 2>stderr
    that "status with a FIFO" [ $? -eq 1 ]
    that "the reason with a FIFO" grep -qxF 'gpt train: pipe: expected a regular file' stderr
fi
mkdir fifo
cp broken/gpt_last.safetensors fifo
mkfifo fifo/gpt_vocab.json
if command -v timeout >/dev/null; then
    timeout -s KILL 60 "$program" train --resume --out fifo >stdout 2>stderr
    that "status with a FIFO as vocabulary" [ $? -eq 1 ]
    echo 'gpt train: cannot write fifo/gpt_vocab.json: expected a regular file there' >want
    same want stderr
fi
lacks small
mkdir small
cp broken/gpt_last.safetensors broken/gpt_vocab.json small
ln -s /dev/zero small/gpt.csv
(ulimit -t 60 && "$program" train --resume --out small) >stdout 2>stderr
that "status with an endless gpt.csv" [ $? -eq 1 ]
echo 'gpt train: cannot write small/gpt.csv: expected a regular file there' >want
same want stderr
mkdir some
expect 1 '' 'latin.txt: ' train --data latin.txt --out some/none/of/these
that "a folder that was there stays" [ -d some ]
lacks some/none
# An option in the checkpoint out of its range, sizes that are not those of its model, then a model without any options.
mkdir foreign
edited plain/gpt_last.safetensors foreign/gpt_last.safetensors '"settings.gpt.layers":"2"' '"settings.gpt.layers":"0"'
expect 1 '' 'foreign/gpt_last.safetensors: gpt.layers is 0, expected a whole number from 1 to 100000' train --resume \
    --out foreign
edited plain/gpt_last.safetensors foreign/gpt_last.safetensors '"settings.gpt.width":"16"' '"settings.gpt.width":"26"'
cp plain/gpt_vocab.json foreign
expect 1 '' 'foreign/gpt_last.safetensors: wrong shape: "wte.weight" is (31, 16), expected (31, 26)' train --resume \
    --out foreign
for value in abc nan; do
    edited plain/gpt_last.safetensors foreign/gpt_last.safetensors '"settings.train.best_loss":"[^"]*"' \
        "\"settings.train.best_loss\":\"$value\""
    expect 1 '' "foreign/gpt_last.safetensors: the setting \"train.best_loss\" is \"$value\", expected a number" train \
        --resume --steps 310 --sample 0 --out foreign
done
edited plain/gpt_last.safetensors foreign/gpt_last.safetensors '"settings.option.shards":"1"' '"settings.option.shards":"0"'
expect 1 '' 'foreign/gpt_last.safetensors: the setting of --shards is 0, expected 1 or more' train --resume --out foreign
rm foreign/gpt_vocab.json
cp plain/gpt_last.safetensors cut
head -c 5000 cut >broken/gpt_last.safetensors
expect 1 '' 'broken/gpt_last.safetensors: ' train --resume --out broken
cp plain/gpt_last.safetensors broken/
# The vocabulary in the checkpoint counts, not the file beside it, which the run writes again.
echo '{"a": 0}' >broken/gpt_vocab.json
cp plain/gpt_best.safetensors plain/gpt.csv broken
expect 0 'loss ' '' eval --out broken
expect 0 'all 300 steps are done' '' train --resume --sample 0 --out broken
same plain/gpt_vocab.json broken/gpt_vocab.json

# ---- writing ---------------------------------------------------------------------------------------------------------

sample="sample --checkpoint plain/gpt_best.safetensors --tokens 40"
expect 0 'The frog' '' $sample --prompt 'The frog' --seed 5
cp stdout one
expect 0 '' '' $sample --prompt 'The frog' --seed 5 --threads 3
same one stdout
that "not the prompt, 40 characters and a new line" [ "$(wc -m <stdout)" -eq 49 ]
expect 0 '' '' $sample --prompt 'The frog' --seed 6
differ one stdout
expect 0 '' '' $sample --prompt 'The frog' --temperature 0 --seed 6
cp stdout greedy
expect 0 '' '' $sample --prompt 'The frog' --top-k 1 --seed 7
same greedy stdout
expect 0 '' '' $sample
expect 1 '' 'the prompt: "%" (U+0025) at line 1, column 6, byte 5 is not in the vocabulary' $sample --prompt 'is 12%'
expect 1 '' 'story.txt: ' sample --checkpoint story.txt
expect 1 '' 'absent: cannot be opened' sample --checkpoint absent

# ---- Hugging Face's files --------------------------------------------------------------------------------------------

expect 0 'wrote:   theirs/config.json' '' export --checkpoint plain/gpt_best.safetensors --out theirs
lacks theirs/merges.txt
has theirs/tokenizer.json
has theirs/tokenizer_config.json
echo precious >theirs/model.safetensors
echo precious >theirs/merges.txt
expect 1 '' 'theirs/config.json exists: expected --overwrite, or another folder as --out' export \
    --checkpoint plain/gpt_best.safetensors --out theirs
that "the files of a model are kept" [ "$(cat theirs/model.safetensors theirs/merges.txt | grep -c precious)" -eq 2 ]
expect 0 'wrote:   theirs/config.json' '' export --checkpoint plain/gpt_best.safetensors --overwrite --out theirs
lacks theirs/merges.txt
cp theirs/model.safetensors foreign/gpt_last.safetensors
expect 1 '' 'foreign/gpt_last.safetensors: the setting "option.sample" is missing' train --resume --out foreign
theirs='--weights theirs/model.safetensors --config theirs/config.json --vocab theirs/vocab.json'
expect 0 '' '' generate $theirs --prompt 'The frog' --temperature 0 --tokens 40
same greedy stdout
expect 0 '' '' eval --checkpoint plain/gpt_best.safetensors
cp stdout one
expect 0 'perplexity' '' eval $theirs --data story.txt --batch 5
same one stdout
expect 2 '' 'expected --weights, --config and --vocab (and --merges) together' generate --prompt x
expect 2 '' '--checkpoint is a complete model' eval --checkpoint plain/gpt_best.safetensors --vocab theirs/vocab.json
expect 2 '' 'expected --weights, --config and --vocab (and --merges) together' eval --weights theirs/model.safetensors
expect 2 '' '--weights needs --data' eval $theirs
expect 1 '' 'theirs/vocab.json: "n_layer": expected a whole number, found nothing' generate \
    --weights theirs/model.safetensors --config theirs/vocab.json --vocab theirs/vocab.json
expect 1 '' 'the vocabulary has' generate --weights "$fixtures/gpt2.safetensors" --config "$fixtures/gpt2_config.json" \
    --vocab "$fixtures/bpe/vocab.json" --merges "$fixtures/bpe/merges.txt"
expect 0 '' '' train --data story.txt $theirs --steps 2 --sample 0 --out tuned
expect 2 '' '--layers 9: the model of --weights has ' train --data story.txt $theirs --layers 9 --out none
expect 2 '' '--dropout 0.5: the model of --weights has ' train --data story.txt $theirs --dropout 0.5 --out none

# ---- files of tokens -------------------------------------------------------------------------------------------------

expect 0 'tokens, vocabulary of 300' '' tokenize --data story.txt --size 300 --out pairs
that 'the first tokens' grep -q "^It begins with 'The" stdout
pairs='--vocab pairs/gpt_vocab.json --merges pairs/gpt_merges.txt'
expect 0 '' '' train --data pairs/gpt.tokens $pairs $tiny --steps 5 --sample 10 --seed 3 --out learned
expect 0 '' '' train --data story.txt $pairs $tiny --steps 5 --sample 10 --seed 3 --out again
that "merges are not kept" [ "$(wc -l <learned/gpt_merges.txt)" -eq "$(wc -l <pairs/gpt_merges.txt)" ]
expect 0 'The frog' '' sample --checkpoint learned/gpt_last.safetensors --prompt 'The frog' --tokens 5
expect 0 '' '' eval --checkpoint learned/gpt_last.safetensors
cp stdout one
expect 0 '' '' eval --checkpoint again/gpt_last.safetensors
same one stdout
# A training leaves the vocabulary of a file of tokens, and removes the merges of an earlier run that are not its own.
cp -R pairs together
same pairs/gpt.tokens together/gpt.tokens
for overwrite in '' --overwrite; do
    refuses together '--out together: together/gpt.tokens has its vocabulary in this folder: expected another folder' \
        train --data story.txt $tiny --steps 5 --sample 0 $overwrite --out together
done
beside='--vocab together/gpt_vocab.json --merges together/gpt_merges.txt'
expect 0 '' '' train --data together/gpt.tokens $beside $tiny --steps 5 --sample 0 --out together
expect 0 '' '' train --data together/gpt.tokens $beside $tiny --steps 5 --sample 0 --overwrite --out together
same together/gpt_merges.txt pairs/gpt_merges.txt
rm together/gpt.tokens
expect 0 '' '' train --data story.txt $tiny --steps 5 --sample 0 --overwrite --out together
lacks together/gpt_merges.txt
expect 0 '' '' train --data story.txt --vocab together/gpt_vocab.json $tiny --steps 5 --sample 0 --out by_vocabulary
expect 2 '' 'pairs/gpt.tokens is a file of tokens: expected --vocab' train --data pairs/gpt.tokens --out none
expect 1 '' 'pairs/gpt.tokens: was made with another vocabulary' train --data pairs/gpt.tokens \
    --vocab plain/gpt_vocab.json --out none
expect 0 '' '' tokenize --data story.txt --characters --out chars
expect 2 '' '--characters takes all characters of the text: expected no --size' tokenize --data story.txt --characters \
    --size 300 --out none
expect 2 '' '--vocab is a whole vocabulary: expected no --size' tokenize --data story.txt $pairs --size 300 --out none
expect 2 '' '--vocab is a whole vocabulary: expected no --size' tokenize --data story.txt $pairs --characters --out none
same chars/gpt_vocab.json plain/gpt_vocab.json
expect 0 '' '' train --data chars/gpt.tokens --vocab chars/gpt_vocab.json $run --out chars
expect 0 '' '' eval --checkpoint chars/gpt_last.safetensors
cp stdout one
expect 0 '' '' eval --checkpoint plain/gpt_last.safetensors
same one stdout
cp story.txt as_it_was
head -n 1 as_it_was >>story.txt
expect 0 'the data are not those of the training: they have changed since then' '' eval \
    --checkpoint plain/gpt_last.safetensors
mv as_it_was story.txt
expect 2 '' 'expected --data FILE' tokenize
expect 2 '' '--merges needs --vocab' tokenize --data story.txt --merges pairs/gpt_merges.txt
expect 1 '' 'latin.txt: line 1, column 4, byte 3: ' tokenize --data latin.txt --out none
printf '1\n2%%' >percent.txt
expect 1 '' 'percent.txt: "%" (U+0025) at line 2, column 2, byte 3 is not in the vocabulary' tokenize \
    --data percent.txt --vocab plain/gpt_vocab.json --out none
lacks none
# An earlier result is replaced only if that is asked for, and each of its files counts, also behind a link.
cp -R pairs earlier_pairs
for name in gpt.tokens gpt_vocab.json gpt_merges.txt; do
    mv earlier_pairs one_of_three
    mkdir earlier_pairs
    mv one_of_three/$name earlier_pairs
    rm -r one_of_three
    refuses earlier_pairs "earlier_pairs/$name exists: expected --overwrite, or another folder as --out" \
        tokenize --data story.txt --size 280 --out earlier_pairs
    expect 0 'tokens, vocabulary of 280' '' tokenize --data story.txt --size 280 --overwrite --out earlier_pairs
    differ earlier_pairs/$name pairs/$name
done
# With --overwrite, a vocabulary of characters leaves no merges of the earlier one.
expect 0 '' '' tokenize --data story.txt --characters --overwrite --out earlier_pairs
lacks earlier_pairs/gpt_merges.txt
# Files that must not be replaced: the vocabulary of a trained model, the text itself.
cp plain/gpt_vocab.json one
expect 1 '' '--out plain: the model in plain/gpt_last.safetensors has its vocabulary in this folder: expected another' \
    tokenize --data story.txt --out plain
same one plain/gpt_vocab.json
lacks plain/gpt.tokens
lacks plain/gpt_merges.txt
mkdir own
for name in gpt.tokens gpt_vocab.json gpt_merges.txt; do
    cp story.txt own/$name
    expect 1 '' "--data own/../own/$name: is the file own/$name, which would be replaced: expected another folder" \
        tokenize --data own/../own/$name --out own
    that "only the text in own" [ "$(ls own)" = $name ]
    same story.txt own/$name
    rm own/$name
done

# ---- NUL as a character of the text ----------------------------------------------------------------------------------

sed 's/frog/fr!g/' story.txt | tr '!' '\000' >nul.txt
expect 0 '' '' train --data nul.txt $tiny --steps 2 --sample 20 --out nul
that "NUL in the vocabulary" grep -qF '"\u0000":0' nul/gpt_vocab.json
expect 0 '' '' eval --out nul
expect 0 '' '' train --resume --steps 3 --sample 0 --out nul
expect 0 '' '' tokenize --data nul.txt --size 300 --out nul_pairs
expect 0 '' '' train --data nul_pairs/gpt.tokens --vocab nul_pairs/gpt_vocab.json --merges nul_pairs/gpt_merges.txt \
    $tiny --steps 2 --sample 20 --out nul_learned

# ---- links, permissions, and files of the user ---------------------------------------------------------------------------

short="--data story.txt $tiny --every 2 --sample 0"
expect 0 '' '' train $short --steps 4 --out linked
links linked
expect 0 '' '' train $short --steps 6 --seed 3 --overwrite --out linked
still_links linked
expect 0 '' '' train --resume --steps 8 --sample 0 --out linked
still_links linked
that "the rows of both parts" [ "$(cut -d, -f1 linked/gpt.csv | tr '\n' ' ')" = 'step 2 4 6 8 ' ]
expect 0 '' '' export --checkpoint linked/gpt_last.safetensors --out exported
links exported
expect 0 '' '' export --checkpoint linked/gpt_last.safetensors --overwrite --out exported
still_links exported
expect 0 '' '' tokenize --data story.txt --out tokenized
links tokenized
expect 0 '' '' tokenize --data story.txt --size 280 --overwrite --out tokenized
still_links tokenized
rm tokenized_behind/*                                                   # the links stay, and their files are made again
expect 0 '' '' tokenize --data story.txt --size 280 --out tokenized
that "no link dangles" [ -z "$(find -L tokenized -type l)" ]
that "files behind links" [ "$(find tokenized_behind -type f | wc -l)" -eq 3 ]
# Without links, the permissions of all files stay.
expect 0 '' '' export --checkpoint linked/gpt_last.safetensors --out private_files
chmod 600 private_files/*
expect 0 '' '' export --checkpoint linked/gpt_last.safetensors --overwrite --out private_files
that "exported files stay private" [ -z "$(find private_files -type f ! -perm 600)" ]
# A file of the user with a name like that of a temporary file stays.
expect 0 '' '' train $short --steps 2 --out of_user
for name in gpt_last.safetensors.20240101.tmp gpt.csv.deadbeef.tmp gpt_vocab.json.2024010112000000.tmp; do
    echo mine >of_user/$name
done
expect 0 '' '' train $short --steps 2 --overwrite --out of_user
that "the user's files stay" [ "$(cat of_user/*.tmp | grep -cx mine)" -eq 3 ]
# If the losses cannot replace the file of an earlier run, NAME.part stays, with which --resume goes on.
expect 0 '' '' train $short --steps 4 --out blocked
LC_ALL=C "$program" train --data story.txt $tiny --every 2 --steps 1000000000 --seed 5 --sample 0 --overwrite --out blocked \
    >stdout 2>stderr &
child=$!
while [ ! -e blocked/gpt.csv.part ] && kill -0 $child; do sleep 0.01; done
cp blocked/gpt.csv of_earlier.csv
rm blocked/gpt.csv
mkdir blocked/gpt.csv
kill -TERM $child
wait $child
that "the status if gpt.csv is a folder" [ $? -eq 1 ]
rows=$(wc -l <blocked/gpt.csv.part)
that "the rows stay" [ "$rows" -gt 0 ]
rmdir blocked/gpt.csv
cp of_earlier.csv blocked/gpt.csv
step=$(($(tail -n 1 blocked/gpt.csv.part | sed 's/^step.*/0/' | cut -d, -f1) + 4))
cp blocked/gpt.csv.part rows_before
expect 0 '' '' train --resume --steps $step --sample 0 --out blocked
head -n "$rows" blocked/gpt.csv >rows_after
same rows_before rows_after
# A link to itself is refused before anything is changed.
expect 0 '' '' train $short --steps 4 --out in_circles
expect 0 '' '' export --checkpoint in_circles/gpt_last.safetensors --out in_circles
for name in gpt_last.safetensors gpt_best.safetensors gpt.csv gpt_vocab.json tokenizer.json config.json; do
    mv in_circles/$name kept_file
    ln -s $name in_circles/$name
    circle="cannot write in_circles/$name: Too many levels of symbolic links"
    case $name in
    *.safetensors | gpt*) refuses in_circles "$circle" train $short --steps 4 --overwrite --out in_circles ;;
    *) refuses in_circles "$circle" export --checkpoint linked/gpt_last.safetensors --overwrite --out in_circles ;;
    esac
    that "the link $name" [ -h in_circles/$name ]
    rm in_circles/$name
    mv kept_file in_circles/$name
done
# Two names of one file.
expect 0 '' '' train $short --steps 4 --out one_file
ln -sf gpt_last.safetensors one_file/gpt.csv
refuses one_file 'one_file/gpt_last.safetensors and one_file/gpt.csv are the same file, expected two' train $short --steps 4 \
    --overwrite --out one_file
summary gpt
