#!/bin/sh
# test_translate.sh PROGRAM PLOTS: the commands of translate: messages, files, a run that is killed and resumed, and input that
# cannot be used.

# shellcheck disable=SC2016,SC2086 # programs of awk; lists of words

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
KAERU_PLOTS=$(cd "$2" && pwd)
export KAERU_PLOTS
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

# ---- messages --------------------------------------------------------------------------------------------------------

expect 0 'usage: translate [COMMAND] [options]' '' --help
expect 2 '' "translate: unknown command 'draw' (translate --help" draw
for command in train translate score show; do
    expect 0 "  $command " '' --help
    expect 0 "usage: translate $command [options]" '' $command --help
    expect 2 '' "translate $command: unknown option --stepz" $command --stepz 5
done
for option in --train-src --train-tgt --valid-src --valid-tgt --resume --beam --seed --threads; do
    expect 0 "  $option " '' train --help
done
expect 2 '' 'translate train: unknown option --stepz' --stepz 5

# ---- the grammar -----------------------------------------------------------------------------------------------------

tiny='--layers 1 --width 16 --heads 2 --hidden 32 --warmup 20 --beam 2'
run="$tiny --sentences 200 --held-out 20 --epochs 4 --average 2"
expect 0 'モデル：  plain/translate.safetensors（最後の2エポックの平均）' '' $run --language ja --out plain
that "a corpus of English and Japanese" grep -q '。' stdout
has plain/translate_valid.txt
that "a translation for each sentence" [ "$(wc -l <plain/translate_valid.txt)" -eq 20 ]
printf 'epoch,train_loss,valid_loss,bleu,learning_rate,tokens_per_second\n' >header
head -n 1 plain/translate.csv >got
same header got
that "epochs of translate.csv" [ "$(cut -d, -f1 plain/translate.csv | tr '\n' ' ')" = 'epoch 1 2 3 4 ' ]
expect 0 '' '' $tiny --sentences 200 --held-out 20 --epochs 1 --lower-case --out small
echo 'I go to Tokyo .' >sentence
input=sentence
expect 0 '' '' translate --out small
input=/dev/null
that "the grammar in lower case" [ ! -s stderr ]
printf '5 %% of it\nI pay\nyou pay 5 %%\n' >percent
expect 0 '' '' --train-src percent --train-tgt percent --valid-src percent --valid-tgt percent --vocab words $tiny --epochs 1 \
    --out percents
that "attention adds up to 1" awk -F, '
    NR > 1 { sum[$1 FS $2 FS $3 FS $4] += $6; n++ }
    END { for (row in sum) if (sum[row] < 0.999 || sum[row] > 1.001) bad = 1; exit bad || n < 10 }' \
    plain/translate_attention.csv
lacks plain/translate_epoch_02.safetensors
has plain/translate_epoch_03.safetensors
has plain/translate_epoch_04.safetensors
if command -v gnuplot >/dev/null; then
    words=$(tail -n +2 plain/translate_attention.csv | cut -d, -f7,8 | grep -oE '[A-Za-z]+' | sort -u | tr '\n' '|')
    for picture in translate translate_source translate_encoder translate_decoder; do
        has plain/$picture.png
        japanese plain/$picture.svg "${words%|}"
    done
fi

# A run that is killed after the first epochs and resumed with another number of threads ends with the same bytes.
killed broken/translate.csv.part 2 4 train $run --threads 1 --out broken
lacks broken/translate.safetensors
expect 1 '' 'broken/translate_last.safetensors exists from an earlier run: --resume resumes' $run --out broken
mkdir kept
cp plain/translate.safetensors kept
expect 1 '' 'kept/translate.safetensors exists from an earlier run: --overwrite replaces it' $run --out kept
expect 2 '' '--width: the run in this folder was started with 16' --resume --width 32 --out broken
expect 0 'resumes after epoch ' '' --resume --threads 3 --out broken
for file in translate_last translate translate_epoch_03; do same plain/$file.safetensors broken/$file.safetensors; done
cut -d, -f1-5 plain/translate.csv >one
cut -d, -f1-5 broken/translate.csv >two
same one two
same plain/translate_valid.txt broken/translate_valid.txt
expect 0 'all 4 epochs are done' '' --resume --out broken
same plain/translate.safetensors broken/translate.safetensors
# A run that was stopped by a signal goes on within its epoch.
long="$tiny --dropout 0.2 --sentences 2000 --held-out 20 --batch-tokens 100 --accumulate 2"
expect 0 '' '' $long --epochs 3 --out long
stopped stopped/translate.csv.part 1 train $long --epochs 3 --out stopped
expect 2 '' 'stopped within an epoch, which ends with --batch-tokens 100 --max-tokens 100' \
    --resume --batch-tokens 200 --out stopped
expect 0 'resumes after epoch ' '' --resume --out stopped
for file in translate_last translate; do same long/$file.safetensors stopped/$file.safetensors; done
for name in long stopped; do cut -d, -f1-5 $name/translate.csv >$name.rows; done
same long.rows stopped.rows
# So does one with a single shard, which draws its dropout from the random state of the program.
alone="$long --shards 1 --accumulate 1 --epochs 2"
expect 0 '' '' $alone --out one_shard
stopped halted/translate.csv.part 1 train $alone --out halted
expect 0 'resumes after epoch ' '' --resume --out halted
for file in translate_last translate; do same one_shard/$file.safetensors halted/$file.safetensors; done
# There is a checkpoint before the first epoch ends.
"$program" train $long --epochs 3 --out early >/dev/null 2>&1 &
id=$!
until [ -e early/translate_last.safetensors ] || ! kill -0 $id 2>/dev/null; do sleep 0.05; done
kill -9 $id
wait $id 2>/dev/null
expect 0 'resumes after epoch ' '' --resume --out early
for file in translate_last translate; do same long/$file.safetensors early/$file.safetensors; done
# A run whose folder is moved away writes nothing into the folder that is in its place then.
case $(uname -s) in
MINGW* | MSYS*) ;;
*)
    LC_ALL=C "$program" train $long --epochs 1000000 --out moved >stdout 2>stderr &
    child=$!
    while [ ! -e moved/translate.csv.part ] && kill -0 $child; do sleep 0.01; done
    mv moved moved_away
    mkdir moved
    wait $child
    that "status of a run whose folder was moved" [ $? -eq 1 ]
    why='the folder of this run was moved, and another one is in its place: nothing is written there'
    echo "translate train: --out moved: $why" >want
    same want stderr
    that "nothing in the other folder" [ -z "$(ls -A moved 2>/dev/null)" ]
    ;;
esac
# More epochs to average than there are files: an error before the training, which changes nothing. A kill just before a
# checkpoint leaves the file of epoch 1.
for file in translate_last.safetensors translate.csv; do cp broken/$file one.$file; done
expect 1 '' '.safetensors: No such file or directory, but --average 5 needs the weights after epochs 1 to 5' \
    --resume --epochs 5 --average 5 --out broken
for file in translate_last.safetensors translate.csv; do same one.$file broken/$file; done
expect 0 'epoch 5 of 5' '' --resume --epochs 5 --average 3 --out broken
that "where it resumes" grep -qxF 'resumes after epoch 4 of 5, from broken/translate_last.safetensors' stdout
that "epochs of the longer translate.csv" [ "$(cut -d, -f1 broken/translate.csv | tr '\n' ' ')" = 'epoch 1 2 3 4 5 ' ]
# The mean is of the epochs of one run.
expect 0 '' '' $run --seed 3 --out third
cp -R plain mixed
cp third/translate_epoch_03.safetensors mixed
other='translate_epoch_03.safetensors is of another run than mixed/translate_last.safetensors: expected a file of the same run'
refuses mixed "mixed/$other" --resume --out mixed
cp plain/translate_epoch_03.safetensors third/translate_last.safetensors mixed
refuses mixed "mixed/$other" --resume --out mixed
cp plain/translate_last.safetensors mixed
cp plain/translate_epoch_04.safetensors mixed/translate_epoch_03.safetensors
refuses mixed 'mixed/translate_epoch_03.safetensors: has the weights after epoch 4, expected those after epoch 3' \
    --resume --out mixed
cp plain/translate_epoch_03.safetensors mixed
expect 0 'all 4 epochs are done' '' --resume --out mixed
same plain/translate.safetensors mixed/translate.safetensors
# A setting that is no number is told with the name of the file.
edited plain/translate_last.safetensors mixed/translate_last.safetensors '"settings.translate.epochs":"4"' \
    '"settings.translate.epochs":"abc"'
refuses mixed 'mixed/translate_last.safetensors: the setting "translate.epochs" is "abc", expected a whole number' \
    --resume --out mixed
edited plain/translate.safetensors mixed/translate.safetensors '"settings.option.lower-case":"0"' \
    '"settings.option.lower-case":"abc"'
refuses mixed 'mixed/translate.safetensors: the setting "option.lower-case" is "abc", expected a whole number' \
    translate --out mixed
for flag in option.lower-case vocabulary.shared; do
    for value in -1 2 4294967297; do
        edited plain/translate.safetensors mixed/translate.safetensors "\"settings.$flag\":\"[01]\"" \
            "\"settings.$flag\":\"$value\""
        refuses mixed "mixed/translate.safetensors: the setting \"$flag\" is $value, expected 0 or 1" translate --out mixed
    done
done
edited plain/translate.safetensors mixed/translate.safetensors '"settings.vocabulary":"[a-z]*"' '"settings.vocabulary":"other"'
refuses mixed 'mixed/translate.safetensors: has no setting for the kind of its vocabulary' translate --out mixed
# A translate.csv that was cut.
head -n 3 broken/translate.csv >cut.csv
mv cut.csv broken/translate.csv
expect 0 '' 'broken/translate.csv: expected 5 rows, the last one 5,' --resume --out broken
that "which rows there are" grep -q '; found 2 rows, the last one 2,.*: continues with these$' stderr
expect 0 '' '' $run --epochs 1 --overwrite --seed 3 --out broken
differ plain/translate_epoch_03.safetensors broken/translate_last.safetensors

# ---- losses and steps ------------------------------------------------------------------------------------------------

# The held-out loss is without smoothing: with weights that hardly change, it does not depend on --smoothing.
still="$tiny --sentences 20 --held-out 5 --epochs 1 --batch-tokens 100000"
for smoothing in 0 0.5; do
    expect 0 '' '' $still --factor 1e-6 --smoothing $smoothing --out smooth
    tail -n 1 smooth/translate.csv | cut -d, -f3 >held_out_$smoothing
    tail -n 1 smooth/translate.csv | cut -d, -f2 >learned_$smoothing
    rm -r smooth
done
that "the held-out loss without smoothing" awk 'NR == 1 { a = $1 } END { exit !(NR == 2 && a - $1 < 1e-3 && $1 - a < 1e-3) }' \
    held_out_0 held_out_0.5
differ learned_0 learned_0.5
# After one step, Adam has the means 0.1 g and 0.02 g^2 of a gradient g: beta1 is 0.9 and beta2 0.98.
expect 0 '' '' $still --shards 1 --out step
that "the betas of Adam" python3 - step/translate_last.safetensors <<'END'
import json, struct, sys
content = open(sys.argv[1], 'rb').read()
begin = 8 + int.from_bytes(content[:8], 'little')
header = json.loads(content[8:begin])

def values(name):
    return [struct.unpack_from('<f', content, begin + at)[0] for at in range(*header[name]['data_offsets'], 4)]

ratios = [v / m ** 2 for name in header if name.startswith('optimizer.m.')
          for m, v in zip(values(name), values(name.replace('.m.', '.v.'))) if abs(m) > 1e-4]
sys.exit(header['__metadata__']['step'] != '1' or len(ratios) < 100 or any(abs(r - 0.02 / 0.1 ** 2) > 1e-4 for r in ratios))
END

# ---- files -----------------------------------------------------------------------------------------------------------

words='one two three four five six seven eight'
i=0
for a in $words; do
    for b in $words; do
        i=$((i + 1))
        echo "The $a and THE $b, number $i."
    done
done >train.src
sed 's/The/Der/; s/THE/DIE/; s/and/und/; s/number/Nummer/' train.src >train.tgt
head -n 5 train.src >valid.src
head -n 5 train.tgt >valid.tgt
files='--train-src train.src --train-tgt train.tgt --valid-src valid.src --valid-tgt valid.tgt'
expect 0 '64 pairs of sentences to learn from' '' train $files $tiny --vocab-size 400 --epochs 3 --out pairs
has pairs/translate_src_merges.txt
lacks pairs/translate_tgt_vocab.json
expect 0 'greedy: BLEU' '' score --src valid.src --tgt valid.tgt --out pairs
that "beam, too" grep -q '^beam 4: BLEU' stdout
expect 0 '' '' train $files $tiny --vocab words --lower-case --epochs 2 --accumulate 3 --out words
that "small letters" grep -q '"the"' words/translate_src_vocab.json
lacks words/translate_src_merges.txt
expect 2 '' '--factor is 0, expected a number from 1e-06 to 1000' train $files $tiny --factor 0 --out none
(cat valid.src; seq 600 | tr '\n' ' '; echo) >long.src
(cat valid.tgt; echo x) >long.tgt
expect 1 '' 'long.src: line 6: ' train --train-src train.src --train-tgt train.tgt --valid-src long.src --valid-tgt long.tgt \
    $tiny --vocab words --epochs 1 --out none
printf a >byte
expect 1 '' 'translate train: byte: too few sentences to learn from, expected 2 or more' \
    train --train-src byte --train-tgt byte --valid-src byte --valid-tgt byte $tiny --epochs 1 --out none
lacks none

# A run goes on with its own sentences and its own vocabulary alone.
cp train.src whole.src
sed 's/The one and THE two/The two and THE one/' whole.src >train.src
differ whole.src train.src
expect 1 '' 'words/translate_last.safetensors has learned from other data, or with another tokenizer' train \
    --resume --epochs 3 --out words
expect 0 'epoch 3 of 3' '' train --resume --epochs 3 --other-data --out words
cp -r words swapped
sed 's/"one"/"eno"/; s/"two"/"one"/; s/"eno"/"two"/' words/translate_src_vocab.json >swapped/translate_src_vocab.json
differ words/translate_src_vocab.json swapped/translate_src_vocab.json
input=valid.src
expect 0 '' '' translate --out words
mv stdout want
expect 0 '' '' translate --out swapped                       # by the vocabulary in the checkpoint
same stdout want
input=/dev/null
expect 0 '' '' train --resume --epochs 4 --out swapped
same words/translate_src_vocab.json swapped/translate_src_vocab.json
mv whole.src train.src

printf 'The one\n\nand \351t\xc3\xa9\n%s\nThe two' "$(yes two | head -n 600 | tr '\n' ' ')" >odd
LC_ALL=C "$program" translate --out words <odd >stdout 2>stderr
that "status of bad lines" [ $? -eq 1 ]
that "one output line for each input line" [ "$(wc -l <stdout)" -eq 5 ]
that "an empty line stays empty" [ -z "$(sed -n 2p stdout)" ]
that "the third line is reported" grep -qF \
    'translate translate: standard input: line 3, column 5, byte 4: expected UTF-8, found byte 0xE9' stderr
that "the fourth line is reported" grep -qF \
    'translate translate: line 4: 602 tokens with start and end, expected at most 512' stderr
printf 'The one\n' >odd
input=odd
expect 0 '' '' translate --out words --beam 1
cp stdout one
expect 0 '' '' translate --out words --beam 1 --threads 2
same one stdout
input=/dev/null
expect 0 '' '' translate --out words
"$program" translate --out words <&- >stdout 2>stderr
that "status without stdin" [ $? -eq 1 ]
echo 'translate translate: cannot read standard input: Bad file descriptor' >want
same want stderr
printf 'The one\nTHE dog and One cat dog\n' >odd
input=odd
expect 0 '' 'translate translate: line 2: not in the vocabulary, read as <unk>: "dog", "cat"' translate --out words
that "both lines are translated" [ "$(wc -l <stdout)" -eq 2 ]
expect 0 '' '' translate --out pairs
input=/dev/null
expect 0 'Output word <- source word' '--sentence: not in the vocabulary, read as <unk>: "dog"' show --sentence 'The dog' \
    --out words
expect 0 'Output word <- source word' '' show --sentence 'The one and the two' --out words
expect 2 '' 'expected --sentence' show --out words
rm words/translate_attention.csv
expect 2 '' '--sentence: expected one line, found 2' show --out words --sentence 'The one
The two'
lacks words/translate_attention.csv

# ---- input that cannot be used ---------------------------------------------------------------------------------------

expect 2 '' 'expected --train-src, --train-tgt, --valid-src and --valid-tgt together' --train-src train.src --out none
expect 1 '' 'train.src has 64 lines and valid.tgt has 5: expected the same number' --train-src train.src \
    --train-tgt valid.tgt --valid-src valid.src --valid-tgt valid.tgt --out none
expect 1 '' 'absent: cannot be opened' --train-src absent --train-tgt train.tgt --valid-src valid.src \
    --valid-tgt valid.tgt
printf 'caf\351\n' >latin
expect 1 '' 'latin: line 1, column 4, byte 3: expected UTF-8, found byte 0xE9' --train-src latin --train-tgt latin \
    --valid-src valid.src --valid-tgt valid.tgt --out none
: >empty
expect 1 '' 'empty and empty are empty: expected one sentence in each line' --train-src empty --train-tgt empty \
    --valid-src valid.src --valid-tgt valid.tgt --out none
expect 2 '' "--vocab letters: expected words or bpe" --vocab letters --out none
expect 2 '' '--width 10 does not divide into --heads 4' --width 10 --out none
expect 2 '' '--width 1: expected 2 or more, for the norms' --width 1 --heads 1 --out none
expect 2 '' '--dropout is 1, expected' --dropout 1 --out none
expect 1 '' 'none/translate_last.safetensors: cannot be opened' --resume --out none
expect 1 '' 'none of 64 pairs of sentences can be used' train $files --max-tokens 3 --out none
lacks none
expect 1 '' 'absent: cannot be opened' translate --checkpoint absent
expect 1 '' 'train.src: ' translate --checkpoint train.src
expect 2 '' 'expected --src and --tgt' score --out words
# A FIFO that no program writes or reads, in the place of a file.
if command -v timeout >/dev/null; then
    for fifo in translate_src_vocab.json translate_tgt_vocab.json translate_attention.csv translate_valid.txt; do
        cp -R plain fifo
        rm fifo/$fifo
        mkfifo fifo/$fifo
        timeout -s KILL 60 "$program" train --resume --epochs 4 --out fifo >stdout 2>stderr
        that "status with a FIFO $fifo" [ $? -eq 1 ]
        echo "translate train: cannot write fifo/$fifo: expected a regular file there" >want
        same want stderr
        rm -r fifo
    done
fi
# A file that an option names, or a folder, is not replaced. That is known at the start, so that --overwrite leaves the earlier
# run.
for name in translate_last.safetensors translate.safetensors translate_epoch_03.safetensors translate_src_vocab.json \
    translate_src_merges.txt translate_tgt_vocab.json translate_tgt_merges.txt translate_valid.txt translate_attention.csv \
    translate.csv translate.csv.part translate.png translate_source.svg translate_encoder.png translate_decoder.svg; do
    cp -R plain refused
    cp train.tgt refused/$name
    refuses refused "cannot write refused/$name: --train-tgt needs this file; expected another folder --out" train \
        --train-src train.src --train-tgt refused/$name --valid-src valid.src --valid-tgt valid.tgt $tiny --epochs 1 \
        --overwrite --out refused
    rm refused/$name
    mkdir refused/$name
    refuses refused "cannot write refused/$name: expected a regular file there" train $files $tiny --epochs 1 --overwrite \
        --out refused
    rm -r refused
done
head -c 5000 pairs/translate.safetensors >cut.safetensors
expect 1 '' 'cut.safetensors: ' translate --checkpoint cut.safetensors

# ---- links, permissions, and data that have moved ------------------------------------------------------------------------

small="$files $tiny --vocab words --epochs 3 --average 2"
expect 0 '' '' train $small --out linked
links linked
expect 0 '' '' train $small --seed 3 --overwrite --out linked
rm -f linked/translate_epoch_01.safetensors
still_links linked
for name in translate.csv translate_src_vocab.json translate_epoch_03.safetensors; do
    cp -R linked one_file
    rm one_file/$name
    ln -s translate_last.safetensors one_file/$name
    refuses one_file "are the same file, expected two" train $small --overwrite --out one_file
    rm -r one_file
done
# A resumed run reads its data where they are now. Other data need --other-data.
expect 0 '' '' train $small --out moving
mv train.src moved.src
mv train.tgt moved.tgt
expect 0 '' '' train --resume --epochs 4 --train-src moved.src --train-tgt moved.tgt --out moving
sed '1s/.*/a b c/' moved.src >other.src
expect 1 '' 'moving/translate_last.safetensors has learned from other data, or with another tokenizer: --other-data' train \
    --resume --epochs 5 --train-src other.src --out moving
expect 0 '' '' train --resume --other-data --epochs 5 --train-src other.src --out moving
mv moved.src train.src
mv moved.tgt train.tgt

# ---- sentences on a terminal -------------------------------------------------------------------------------------------

# The held-out sentences that train prints are those of a data file, which do not command the terminal.
escape=$(printf '\033')
for i in 1 2 3 4 5 6 7 8 9; do
    echo "a$escape]0;EVIL b $i"
done >commands
python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)' "$program" train --train-src commands \
    --train-tgt commands --valid-src commands --valid-tgt commands --epochs 1 --layers 1 --width 16 --hidden 16 --heads 1 \
    --out terminal </dev/null >shown
that "held-out sentences on a terminal" grep -q 'a\\x1B\]0;EVIL b 1   (expected)' shown
that "no command of a sentence reaches the terminal" [ "$(grep -c "$escape\]0;" shown)" -eq 0 ]

summary translate
