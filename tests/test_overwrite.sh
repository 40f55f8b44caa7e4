#!/bin/sh
# test_overwrite.sh EXAMPLES FAULTS: --overwrite leaves the earlier run or the new one, never neither; no mixture that nobody
# tells of. gpt train, translate train, gpt export, gpt tokenize and llama finetune are killed before each call that changes
# files, and meet a full disk from that call on. FAULTS is the library of call_faults.c.
# shellcheck disable=SC2086 # lists of words

examples=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
faults=$(CDPATH='' cd -- "${2%/*}" && pwd -P)/${2##*/}
fixtures=$(CDPATH='' cd -- "$(dirname "$0")/fixtures" && pwd -P)
program=$examples/gpt
# Each run writes its files to the disk, which takes no time in memory.
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || TMPDIR=/dev/shm
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
# The name has no space, which would be its end.
cp "$faults" faults.so || exit 1
faults=./faults.so
# Pictures take time, and the programs draw none without gnuplot.
mkdir tools
for tool in cat cksum cmp cp cut env find grep head ln mkdir mv rm sed sort tr wc yes; do
    ln -s "$(command -v $tool)" tools
done
all_tools=$PATH PATH=$folder/tools KAERU_THREADS=1
export PATH KAERU_THREADS

# faulty "kill N" ARGUMENT...: runs the program, whose call number N is the last; "full N": then the disk is full.
faulty() {
    fault=$1
    shift
    # The library is loaded by the program alone, not by the shell.
    LC_ALL=C KAERU_CALL_FAULT=$fault LD_PRELOAD=$faults "$program" "$@" >stdout 2>stderr
}

# at_each_call KIND FOLDER ARGUMENT...: copies FOLDER to `now` and runs the arguments there, with that fault at call 0, then at
# call 1, ..., from call 120 on at every 29th, until a run ends well. After each the function `usable` looks at `now`.
at_each_call() {
    kind=$1 from=$2 n=0
    shift 2
    while :; do
        rm -rf now
        cp -R "$from" now
        (faulty "$kind $n" "$@") 2>/dev/null
        ended=$?
        [ $ended -ne 0 ] || break
        case="$kind $n: $*"
        case $kind in
        kill) that "status $ended of $case" [ $ended -eq 137 ] ;;
        full) that "status $ended and one line of $case" [ $ended -eq 1 -a "$(wc -l <stderr)" -eq 1 ] ;;
        esac
        usable
        n=$((n < 120 ? n + 1 : n + 29))
        [ $n -lt 5000 ] || { wrong "$case does not end"; return; }
    done
    that "calls of $*: $n" [ $n -ge "$least" ]
    usable
}

# ---- gpt train -------------------------------------------------------------------------------------------------------

yes 'the cat sat on the mat, the dog sat on the log' | head -n 40 >old.txt
yes 'A CAT IS NOT A DOG, BUT SITS WHERE IT WANTS' | head -n 40 >new.txt
tiny='train --layers 1 --heads 1 --width 8 --context 8 --batch 2 --steps 2 --every 1 --warmup 1 --held-out 8 --sample 0'
expect 0 '' '' $tiny --data old.txt --out old
expect 0 '' '' $tiny --data new.txt --out new
expect 0 '' '' $tiny --data old.txt --lr 0.1 --out rate
for run in old new rate; do
    expect 0 '' '' sample --tokens 20 --temperature 0 --out $run
    mv stdout $run.text
done

# same_as RUN...: whether `now` has the checkpoints and the vocabulary of one of these runs.
same_as() {
    for run in "$@"; do
        cmp -s $run/gpt_last.safetensors now/gpt_last.safetensors &&
            cmp -s $run/gpt_best.safetensors now/gpt_best.safetensors &&
            cmp -s $run/gpt_vocab.json now/gpt_vocab.json && return
    done
    return 1
}
# The best model writes a text. If it is not of the run that can be resumed, the program says so. That run ends as it would
# have without the fault.
usable() {
    expected=''
    LC_ALL=C "$program" sample --tokens 20 --temperature 0 --out now >stdout 2>stderr
    that "status of sample after $case" [ $? -eq 0 ]
    [ ! -s stderr ] ||
        that "what sample says after $case" grep -qxF "gpt sample: now/gpt_best.safetensors is of an earlier run: that of\
 now/gpt_last.safetensors has not replaced it yet" stderr
    cp stderr said
    LC_ALL=C "$program" train --resume --out now >stdout 2>stderr
    that "status of --resume after $case" [ $? -eq 0 ]
    that "the run after $case" same_as $from $to
    if [ -s said ]; then
        mixtures=$((mixtures + 1))
        that "what has ended after $case" same_as $to
    fi
}
least=40
for test in 'kill new' 'full new' 'kill rate'; do
    kind=${test% *} to=${test#* } mixtures=0
    case $to in new) data=new.txt ;; *) data='old.txt --lr 0.1' ;; esac
    at_each_call $kind old $tiny --data $data --overwrite --out now
    that "a best model of the earlier run" [ $mixtures -gt 0 ]
done

# A model that is replaced while it is read is not used with the vocabulary of another run.
# replaced COMMAND...: runs a command, whose standard input is the file $input, again and again while the file of `lower` in
# `now` is replaced by that of `upper`, each time a little later: it gives the text of one of the runs, or the message. The runs
# learn as many characters or words, others in another order, so their weights have the same shapes.
replaced() {
    differ lower.text upper.text
    PATH=$all_tools python3 - "$program" "$checkpoint" "$input" "$@" <<'END_OF_PYTHON'
import os, subprocess, sys, time
program, name, given, *arguments = sys.argv[1:]
texts = [open(run + '.text', 'rb').read() for run in ('lower', 'upper')]
message = f'now/{name}: another run has replaced it while it was read\n'
def put(run):
    os.symlink(f'../{run}/{name}', 'next')
    os.replace('next', f'now/{name}')
times, took, wrong = 100, 0, 0
for i in range(-1, times):              # the first one, without a change, tells how long it takes
    put('lower')
    began = time.monotonic()
    with open(given, 'rb') as file:
        run = subprocess.Popen([program, *arguments], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, LC_ALL='C'))
    if i >= 0:
        time.sleep(max(0, began + took * i / times - time.monotonic()))
        put('upper')
    text, said = run.communicate()
    took = took or time.monotonic() - began
    wrong += text not in texts if run.returncode == 0 else not said.decode().endswith(message)
sys.exit(wrong > 0)
END_OF_PYTHON
}
rm -rf now
mkdir now
sed 's/cat/tac/g' old.txt | tr a-z A-Z >upper.txt
expect 0 '' '' $tiny --data old.txt --out lower
expect 0 '' '' $tiny --data upper.txt --seed 7 --out upper
for run in lower upper; do
    expect 0 '' '' sample --tokens 20 --temperature 0 --out $run
    mv stdout $run.text
done
checkpoint=gpt_best.safetensors
that "a model that is replaced while it is read" replaced sample --tokens 20 --temperature 0 --out now

# A run of an earlier version, whose checkpoints need the vocabulary in their folder, can be resumed.
# without_vocabulary FILE: removes it from the settings.
without_vocabulary() {
    PATH=$all_tools python3 - "$@" <<'END_OF_PYTHON'
import json, struct, sys
for path in sys.argv[1:]:
    with open(path, 'rb') as file:
        size, = struct.unpack('<Q', file.read(8))
        header = json.loads(file.read(size))
        values = file.read()
    header['__metadata__'] = {key: value for key, value in header['__metadata__'].items()
                              if not key.endswith(('.tokens', '.merges', 'run.id')) or not key.startswith('settings.')}
    header['__metadata__'].pop('kaeru.hash')                # earlier versions write none
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + values)
END_OF_PYTHON
}
cp -R old earlier
without_vocabulary earlier/gpt_*.safetensors
expect 0 '' '' sample --tokens 20 --temperature 0 --out earlier
same stdout old.text
expect 0 'step 3 of 3' '' train --resume --steps 3 --out earlier
expect 0 '' '' train --resume --steps 3 --out old
cut -d, -f1-4 earlier/gpt.csv >one
cut -d, -f1-4 old/gpt.csv >two
same one two
rm earlier/gpt_vocab.json
expect 0 '' '' sample --tokens 20 --out earlier
without_vocabulary earlier/gpt_*.safetensors
expect 1 '' 'earlier/gpt_vocab.json: cannot be opened' sample --tokens 20 --out earlier
cp new/gpt_vocab.json earlier
expect 1 '' 'earlier/gpt_vocab.json: is not the vocabulary that earlier/gpt_best.safetensors was trained with' \
    sample --out earlier

# ---- translate train -------------------------------------------------------------------------------------------------

program=$examples/translate
rm -rf old new
tiny='train --layers 1 --width 8 --hidden 8 --heads 1 --epochs 3 --average 2 --held-out 2 --beam 2 --batch-tokens 200'
tiny="$tiny --warmup 2"
input=sentence
echo 'Is this your old book ?' >sentence
# The earlier run has more epochs than the new one, which removes their files.
expect 0 '' '' $tiny --sentences 8 --epochs 6 --average 3 --out old
expect 0 '' '' $tiny --sentences 12 --out new
for run in old new; do
    LC_ALL=C "$program" translate --out $run <sentence >$run.text 2>$run.unknown
    (cd $run && echo translate_epoch_*) >$run.epochs
done
that "two epochs for the mean" [ "$(cat new.epochs)" = 'translate_epoch_02.safetensors translate_epoch_03.safetensors' ]
same_as() {
    for run in "$@"; do
        same=yes
        for file in translate_last.safetensors translate.safetensors translate_src_vocab.json translate_tgt_vocab.json; do
            cmp -s $run/$file now/$file || same=no
        done
        [ "$(cd now && echo translate_epoch_*)" = "$(cat $run.epochs)" ] || same=no
        [ $same = no ] || return 0
    done
    return 1
}
# The result translates as that of the earlier run or of the new one. If it is not of the run that can be resumed, the program
# says so. That run ends as it would have without the fault, and no file of another epoch is left.
mixed='translate translate: now/translate.safetensors is of an earlier run: that of now/translate_last.safetensors'
mixed="$mixed has not replaced it yet"
usable() {
    LC_ALL=C "$program" translate --out now <sentence >stdout 2>stderr
    that "status of translate after $case" [ $? -eq 0 ]
    if cmp -s stdout old.text; then ok; else same stdout new.text; fi
    grep 'of an earlier run' stderr >said
    [ ! -s said ] ||
        that "what translate says after $case" grep -qxF "$mixed" said
    LC_ALL=C "$program" train --resume --out now >stdout 2>stderr
    that "status of --resume after $case" [ $? -eq 0 ]
    that "the run after $case" same_as old new
    if [ -s said ]; then
        mixtures=$((mixtures + 1))
        that "what has ended after $case" same_as new
    fi
}
for kind in kill full; do
    mixtures=0
    at_each_call $kind old $tiny --sentences 12 --overwrite --out now
    that "a result of the earlier run" [ $mixtures -gt 0 ]
done
rm -rf now lower upper
mkdir now
yes 'the cat sat on the mat' | head -n 12 >lower.words
yes 'ON THE MAT SAT THE CAT' | head -n 12 >upper.words
for run in lower upper; do
    files=$run.words
    expect 0 '' '' $tiny --train-src $files --train-tgt $files --valid-src $files --valid-tgt $files --vocab words \
        --width 16 --epochs 12 --average 1 --dropout 0 --out $run
    LC_ALL=C "$program" translate --out $run <sentence >$run.text 2>/dev/null
done
checkpoint=translate.safetensors
that "a model that is replaced while it is read" replaced translate --out now
cp -R old earlier_pairs
without_vocabulary earlier_pairs/translate*.safetensors
LC_ALL=C "$program" translate --out earlier_pairs <sentence >stdout 2>stderr
same stdout old.text
rm earlier_pairs/translate_tgt_vocab.json
expect 1 '' 'earlier_pairs/translate_tgt_vocab.json: cannot be opened' translate --out earlier_pairs
cp new/translate_tgt_vocab.json earlier_pairs
expect 1 '' 'earlier_pairs/translate.safetensors: was trained with another vocabulary than the one in it or in its folder' \
    translate --out earlier_pairs
# Files of epochs of which no other file is left are not removed either.
mkdir kept
cp old/translate_epoch_05.safetensors kept
expect 1 '' 'kept/translate_epoch_05.safetensors exists from an earlier run: --overwrite replaces it' $tiny --sentences 8 \
    --out kept
has kept/translate_epoch_05.safetensors

# ---- gpt export ------------------------------------------------------------------------------------------------------
#
# The files of a model are those of one model, or config.json is missing: nothing opens them. With a full disk they are the old
# ones. Other files of the folder stay.

program=$examples/gpt
input=/dev/null
rm -rf old new now
tiny='train --layers 1 --heads 1 --width 8 --context 8 --batch 2 --steps 1 --warmup 1 --sample 0'
expect 0 '' '' $tiny --data old.txt --out from_old
expect 0 '' '' $tiny --data new.txt --out from_new
for run in old new; do
    expect 0 '' '' export --checkpoint from_$run/gpt_last.safetensors --out $run
    echo mine >$run/notes
done
# same_files RUN FOLDER FILE...: each file is that of the run.
same_files() {
    run=$1 in=$2
    shift 2
    for file in "$@"; do cmp -s $run/$in/$file now/$in/$file || return; done
}
# one_model FOLDER FIRST FILE...: the files are those of one run, or the first one is missing.
one_model() {
    in=$1 first=$2
    shift 2
    if [ $kind = full ]; then same_files old "$in" "$first" "$@" || same_files new "$in" "$first" "$@"
    else [ ! -e now/$in/$first ] || same_files old "$in" "$first" "$@" || same_files new "$in" "$first" "$@"
    fi
}
usable() {
    that "the model after $case" one_model . config.json model.safetensors vocab.json
    that "other files after $case" [ "$(cat now/notes)" = mine ]
    LC_ALL=C "$program" export --checkpoint from_new/gpt_last.safetensors --overwrite --out now >stdout 2>stderr
    that "the model after $case, written again" same_files new . config.json model.safetensors vocab.json
    lacks now/new.part
}
least=15
for kind in kill full; do at_each_call $kind old export --checkpoint from_new/gpt_last.safetensors --overwrite --out now; done
# The folder of the new files must be one: the files of another folder are not removed.
mkdir -p precious
echo mine >precious/notes
rm -rf now
cp -R old now
ln -s ../precious now/new.part
expect 1 '' 'cannot make the folder now/new.part: File exists' export --checkpoint from_new/gpt_last.safetensors --overwrite \
    --out now
has precious/notes

# ---- gpt tokenize ----------------------------------------------------------------------------------------------------

rm -rf old new now precious
for run in old new; do
    expect 0 '' '' tokenize --data $run.txt --size 280 --out $run
    echo mine >$run/notes
done
files='gpt.tokens gpt_vocab.json gpt_merges.txt'
usable() {
    that "the tokens after $case" one_model . $files
    LC_ALL=C "$program" tokenize --data new.txt --size 280 --overwrite --out now >stdout 2>stderr
    that "the tokens after $case, written again" same_files new . $files
}
least=10
for kind in kill full; do at_each_call $kind old tokenize --data new.txt --size 280 --overwrite --out now; done

# ---- llama finetune --------------------------------------------------------------------------------------------------

program=$examples/llama
rm -rf old new now
for model in old_model new_model; do
    mkdir $model
    cp "$fixtures/llama/writer/config.json" "$fixtures/llama/writer/model.safetensors" $model
done
cp "$fixtures/tokenizers/llama3.json" old_model/tokenizer.json
{ cat old_model/tokenizer.json && echo; } >new_model/tokenizer.json
echo '{"chat_template": "x"}' >new_model/tokenizer_config.json
tiny='finetune --steps 2 --every 1 --batch 2 --window 8 --lr 0.01 --best'
expect 0 '' '' $tiny --model old_model --data old.txt --rank 2 --out old
expect 0 '' '' $tiny --model new_model --data new.txt --rank 4 --alpha 4 --out new
for run in old new; do echo mine >$run/model/notes; done
model='config.json model.safetensors tokenizer.json'
adapter='adapter_config.json adapter_model.safetensors'
usable() {
    that "the model after $case" one_model model $model
    that "the adapter after $case" one_model adapter $adapter
    that "other files after $case" [ "$(cat now/model/notes)" = mine ]
    LC_ALL=C "$program" finetune --resume --out now >stdout 2>stderr
    that "status of --resume after $case" [ $? -eq 0 ]
    for run in old new; do
        ! cmp -s $run/llama_last.safetensors now/llama_last.safetensors || break
    done
    that "the run after $case" same_files $run . llama_last.safetensors llama_best.safetensors
    that "the model after $case, resumed" same_files $run model $model
    that "the adapter after $case, resumed" same_files $run adapter $adapter
}
least=40
for kind in kill full; do
    at_each_call $kind old $tiny --model new_model --data new.txt --rank 4 --alpha 4 --overwrite --out now
done

# What the new run does not write is not left of the earlier one: a run that is killed and resumed has the files of one run.
# only_files RUN: the files of `now` have the names of those of this run, and, but for the speeds in *.csv, their bytes.
only_files() {
    for folder_of_files in "$1" now; do
        (cd "$folder_of_files" && find . -type f ! -name notes ! -name '*.tmp' | LC_ALL=C sort) >$folder_of_files.names
    done
    cmp -s "$1.names" now.names || return
    while read -r file; do
        case $file in
        *.csv) ;;
        *) cmp -s "$1/$file" "now/$file" || return ;;
        esac
    done <now.names
}
of_one_run() {
    LC_ALL=C "$program" $resume --out now >stdout 2>stderr
    that "status of --resume after $case" [ $? -eq 0 ]
    run=new
    ! cmp -s old/$last now/$last || run=old
    that "files after $case" only_files $run
}
usable() {
    of_one_run
    that "the user's files after $case" [ "$(cat now/model/notes)" = mine ]
}
resume='finetune --resume' last=llama_last.safetensors
tiny='finetune --steps 2 --every 1 --batch 2 --window 8 --lr 0.01'
for other in '--no-merge --rank 4' '--rank 0 --best'; do
    rm -rf old new
    case $other in
    --no*) expect 0 '' '' $tiny --model old_model --data old.txt --rank 2 --best --out old ;;
    *) expect 0 '' '' $tiny --model old_model --data old.txt --rank 2 --out old ;;
    esac
    expect 0 '' '' $tiny --model new_model --data new.txt $other --out new
    echo mine >old/model/notes
    at_each_call kill old $tiny --model new_model --data new.txt $other --overwrite --out now
    that "the run at its end" only_files new
    # A folder that has only these results is not begun without --overwrite.
    for result in adapter model llama_best.safetensors; do
        [ -e old/$result ] || continue
        rm -rf kept
        mkdir kept
        cp -R old/$result kept
        refuses kept "kept/$result exists from an earlier run: --overwrite replaces it" $tiny --model new_model \
            --data new.txt $other --out kept
    done
done

program=$examples/gpt
rm -rf old new
usable() { of_one_run; }
expect 0 '' '' tokenize --data old.txt --size 280 --out pairs
tiny='train --layers 1 --heads 1 --width 8 --context 8 --batch 2 --steps 2 --every 1 --warmup 1 --held-out 8 --sample 0'
resume='train --resume' last=gpt_last.safetensors
expect 0 '' '' $tiny --data old.txt --vocab pairs/gpt_vocab.json --merges pairs/gpt_merges.txt --out old
expect 0 '' '' $tiny --data new.txt --out new
at_each_call kill old $tiny --data new.txt --overwrite --out now
that "the run at its end" only_files new
mkdir -p merges
cp old/gpt_merges.txt merges
refuses merges 'merges/gpt_merges.txt exists from an earlier run: --overwrite replaces it' $tiny --data new.txt --out merges

program=$examples/translate
rm -rf old new
tiny='train --layers 1 --width 8 --hidden 8 --heads 1 --epochs 1 --average 1 --held-out 2 --beam 2 --batch-tokens 200'
resume='train --resume' last=translate_last.safetensors
expect 0 '' '' $tiny --sentences 8 --vocab bpe --vocab-size 300 --out old
expect 0 '' '' $tiny --sentences 12 --shared --out new
at_each_call kill old $tiny --sentences 12 --shared --overwrite --out now
that "the run at its end" only_files new
for result in translate_src_merges.txt translate_tgt_vocab.json translate_tgt_merges.txt; do
    rm -rf kept
    mkdir kept
    cp old/$result kept
    refuses kept "kept/$result exists from an earlier run: --overwrite replaces it" $tiny --sentences 12 --shared --out kept
done

summary overwrite
