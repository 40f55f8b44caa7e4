#!/bin/sh
# test_llama.sh PROGRAM FIXTURES: the commands of llama: messages, and text as the library `transformers` writes it.

# shellcheck disable=SC2086 # lists of words
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
fixtures=$(cd "$2" && pwd)
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

expect 0 'usage: llama COMMAND' '' --help
expect 2 '' "llama: unknown command 'draw' (llama --help" draw
for command in generate finetune; do
    expect 0 "  $command " '' --help
    expect 0 "usage: llama $command [options]" '' $command --help
    expect 2 '' "llama $command: unknown option --stepz" $command --stepz 5
    expect 2 '' 'expected --model, the folder of a model' $command
done

# ---- writing ---------------------------------------------------------------------------------------------------------

mkdir model
cp "$fixtures/llama/writer/config.json" "$fixtures/llama/writer/model.safetensors" model
expect 1 '' 'model/tokenizer.json: cannot be opened' generate --model model
cp "$fixtures/tokenizers/llama3.json" model/tokenizer.json
expect 0 '' '' generate --model model --prompt 'Cafés, 42 naïve' --temperature 0 --tokens 12
same stdout "$fixtures/llama/writer/text.txt"
expect 0 '' '' generate --model model --seed 4
mv stdout first
expect 0 '' '' generate --model model --seed 4 --threads 1
same stdout first
expect 0 '' '' generate --model model --seed 4 --prompt ''
same stdout first                                                       # both begin with the token before a text
mkdir spaced
cp model/config.json model/model.safetensors spaced
cp "$fixtures/tokenizers/characters.json" spaced/tokenizer.json
expect 0 'the c at , an d' '' generate --model spaced --prompt 'the cat, and' --temperature 0 --tokens 4
that "spaces between the tokens that are written" [ "$(wc -w <stdout)" -ge 10 ]
expect 0 '' '' generate --model model --tokens 0
that "an empty text" [ "$(wc -c <stdout)" -eq 1 ]

# ---- learning --------------------------------------------------------------------------------------------------------

i=0
while [ $i -lt 20 ]; do
    echo "{\"prompt\": \"$i?\", \"completion\": \" n$((i % 3))\"}"
    echo "The frog $i goes back to the pond." >>story.txt
    i=$((i + 1))
done >pairs.jsonl
expect 2 '' 'expected --model, the folder of a model, and --data' finetune --model model
expect 2 '' '--targets: no Linear of this Llama has the name "proj"' \
    finetune --model model --data pairs.jsonl --targets proj --window 16 --out x
names=q_proj,q_proj,q_proj,q_proj
expect 2 '' '--targets: no Linear of this Llama has the name "other"' \
    finetune --model model --data pairs.jsonl --targets $names,$names,$names,$names,$names,other --window 16 --out x
expect 0 'loss 0.' '' finetune --model model --data pairs.jsonl --rank 0 --steps 60 --lr 0.02 --window 16 --out full
lacks full/adapter
# What --window cuts off or leaves out is told before the training and stands in each row. The prompt of the first line fills
# short windows, and the answer of the second one is longer than them.
{
    echo '{"prompt": "a b c d e f g h", "completion": " i"}'
    echo '{"prompt": "a", "completion": " b c d e f g h i"}'
    cat pairs.jsonl
} >mixed.jsonl
expect 0 '19 examples to learn from: 17 whole, 1 cut, 1 never used; tokens to predict: ' '' finetune --model model \
    --data mixed.jsonl --steps 2 --every 1 --window 8 --out mixed
that "the hint" grep -qxF 'examples are cut to windows of 8 tokens: a longer --window uses more of them' stdout
that "all that is held out" grep -q '^3 examples held out: 3 whole, 0 cut, 0 never used; .* used, 0 cut off, 0 never' stdout
told=$(sed -n 's/.*learn from: .* predict: \([0-9]*\) used, \([0-9]*\) cut off, \([0-9]*\) never used$/\1,\2,\3/p' stdout)
columns=step,train_loss,valid_loss,learning_rate,tokens_per_second
columns=$columns,whole,cut,unused,targets,targets_cut,targets_unused
that "the columns" [ "$(head -n 1 mixed/llama.csv)" = $columns ]
for row in 2 3; do that "row $row" [ "$(sed -n ${row}p mixed/llama.csv | cut -d, -f6-)" = "17,1,1,$told" ]; done
expect 0 'step 3 of 3' '' finetune --resume --steps 3 --window 24 --out mixed
that "nothing is cut" grep -q '^19 examples to learn from: 19 whole, 0 cut, 0 never used; .* used, 0 cut off, 0 never' stdout
that "no hint" sh -c '! grep -q "examples are cut" stdout'
all=$(echo "$told" | tr , + | sed 's/$/+0/')
that "the row of the longer window" [ "$(sed -n 4p mixed/llama.csv | cut -d, -f6-)" = "19,0,0,$(($all)),0,0" ]
expect 0 '3? n' '' generate --model full/model --prompt '3?' --temperature 0
# A run would replace the files of its own model: it is refused before anything is written.
mkdir self linked files
cp -R full/model self
ln -s ../full/model linked/model
cp -R full/model files
ln -sf ../../full/model/tokenizer.json files/model/tokenizer.json
for own in self/config.json linked/config.json files/tokenizer.json; do
    to=${own%/*} file=${own#*/}
    model=full/model
    [ $to = self ] && model=self/model/../model
    expect 2 '' "--out $to: $to/model/$file is a file of --model and would be replaced: expected another folder" \
        finetune --model $model --data pairs.jsonl --steps 1 --window 16 --out $to
    that "only the model in $to" [ "$(ls -A $to)" = model ]
    for file in config.json model.safetensors tokenizer.json; do same $to/model/$file full/model/$file; done
done
same full/model/tokenizer.json model/tokenizer.json
# The tokenizer is replaced in one step, and what is there must be a regular file. Its settings come with it.
echo '{"chat_template": "x"}' >model/tokenizer_config.json
cp -R model large
i=0
while [ $i -lt 3000 ]; do
    printf '%100s' ''
    i=$((i + 1))
done >>large/tokenizer.json
short='--data pairs.jsonl --steps 1 --window 16'
expect 0 '' '' finetune --model model $short --out disk
same disk/model/tokenizer_config.json model/tokenizer_config.json
lacks disk/model/chat_template.jinja
echo old >disk/model/chat_template.jinja                    # of another model, from an earlier run
expect 0 '' '' finetune --model model $short --overwrite --out disk
lacks disk/model/chat_template.jinja
mkdir kept
cp -R disk/adapter kept
expect 1 '' 'llama finetune: kept/adapter exists from an earlier run: --overwrite replaces it' finetune --model model \
    $short --out kept
(ulimit -f 400 && "$program" finetune --model large $short --overwrite --out disk) >stdout 2>stderr
that "status on a full disk" [ $? -eq 1 ]
echo 'llama finetune: disk/model/new.part/tokenizer.json: cannot be written: File too large' >want
same want stderr
lacks disk/model/new.part
same disk/model/tokenizer.json model/tokenizer.json
chmod 600 disk/model/model.safetensors disk/model/tokenizer.json disk/model/config.json disk/adapter/*
expect 0 '' '' finetune --model large $short --overwrite --out disk
same disk/model/tokenizer.json large/tokenizer.json
that "the permissions stay" [ "$(find disk -perm 600 | wc -l)" -eq 5 ]
lacks disk/model/new.part
that "nothing is left on a full disk" [ -z "$(find disk -name '*.tmp')" ]
# A file of --model that is a link out of its folder is not copied. In the cache of Hugging Face's library all are links.
echo private >private
cp -R model leading
ln -s ../private leading/chat_template.jinja
expect 1 '' 'llama finetune: leading/chat_template.jinja: is a link to ' finetune --model leading $short --out of_link
lacks of_link/llama_last.safetensors
expect 0 '' '' finetune --model leading $short --no-merge --out of_link
# Nor is a folder or a FIFO, which is known at the start.
for kind in mkdir mkfifo; do
    cp -R model irregular
    rm -f irregular/tokenizer_config.json
    $kind irregular/tokenizer_config.json
    expect 1 '' 'llama finetune: irregular/tokenizer_config.json: expected a regular file, which is copied' \
        finetune --model irregular $short --out of_irregular
    lacks of_irregular
    rm -r irregular
done
# Results that a new run does not write are removed when it begins, with what a killed program has left there.
expect 0 '' '' finetune --model model $short --best --out several
mkdir several/model/new.part
for name in model.safetensors notes; do echo left >several/model/new.part/$name; done
expect 0 '' '' finetune --model model $short --no-merge --overwrite --out several
that "only what is the user's of the model" [ "$(find several/model -type f)" = several/model/new.part/notes ]
lacks several/llama_best.safetensors
has several/adapter/adapter_model.safetensors
rm -r several/model
expect 0 '' '' finetune --model model $short --rank 0 --overwrite --out several
lacks several/adapter
has several/model/model.safetensors
# Where a link leads, other files stay.
mkdir elsewhere
mv several/model elsewhere
echo mine >elsewhere/model/notes
ln -s ../elsewhere/model several/model
expect 0 '' '' finetune --model model $short --no-merge --overwrite --out several
that "only what is the user's behind the link" [ "$(ls elsewhere/model)" = notes ]
that "the link to the folder model" [ -h several/model ]
# The folder model gets the files that the run began with, whatever happens to those of --model meanwhile.
cp -R model begun
for file in special_tokens_map.json generation_config.json; do echo '{}' >begun/$file; done
echo template >begun/chat_template.jinja
long='--model begun --data pairs.jsonl --steps 100 --every 100 --window 16 --threads 1'
expect 0 '' '' finetune $long --out as_begun
for change in another none; do
    LC_ALL=C "$program" finetune $long --out meanwhile >stdout 2>stderr &
    child=$!
    while [ ! -e meanwhile/llama.csv.part ] && kill -0 $child; do sleep 0.01; done
    kill -STOP $child
    mv begun kept_begun
    [ $change = none ] || mkdir begun
    for file in tokenizer.json tokenizer_config.json special_tokens_map.json generation_config.json chat_template.jinja; do
        [ $change = none ] || echo another >begun/$file
    done
    that "the run was not over" [ ! -e meanwhile/model/config.json ]
    kill -CONT $child
    wait $child
    that "status with $change at --model" [ $? -eq 0 ]
    rm -rf begun
    mv kept_begun begun
    for file in model.safetensors config.json tokenizer.json tokenizer_config.json special_tokens_map.json \
        generation_config.json chat_template.jinja; do
        same meanwhile/model/$file as_begun/model/$file
    done
    rm -r meanwhile
done
# A change while the program reads the model is an error, before the training: here when it waits for config.json.
cp -R begun changing
rm changing/config.json
mkfifo changing/config.json
that "the status if a file changes while the model is read" python3 - "$program" finetune --model changing $short \
    --out of_change 2>stderr <<'END'
import os, shutil, subprocess, sys, time
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, env=dict(os.environ, LC_ALL='C'))
fifo = None
while fifo is None and run.poll() is None:
    try:
        fifo = os.open('changing/config.json', os.O_WRONLY | os.O_NONBLOCK)     # fails while nobody reads it
    except OSError:
        time.sleep(0.001)
if fifo is not None:
    with open('changing/chat_template.jinja', 'w') as file:
        file.write('another')
    shutil.copy('begun/config.json', 'config.json')
    os.rename('config.json', 'changing/config.json')                           # for those who open it later
    with open('begun/config.json', 'rb') as file:
        os.write(fifo, file.read())
    os.close(fifo)
sys.exit(run.wait() != 1)
END
why='has changed while the model was read: expected a folder in which no program writes'
echo "llama finetune: changing/chat_template.jinja: $why" >want
same want stderr
lacks of_change/llama_last.safetensors
# A user's file in the folder of new files stays, also with a name like that of a temporary file; those of a killed program do
# not.
mkdir -p disk/model/new.part
for name in notes.txt config.json.tmp config.json model.safetensors.0123abcd.tmp; do echo mine >disk/model/new.part/$name; done
expect 0 '' '' finetune --model model $short --overwrite --out disk
that "only what is the user's" \
    [ "$(cd disk/model/new.part && echo *)" = 'config.json.tmp model.safetensors.0123abcd.tmp notes.txt' ]
rm -r disk/model/new.part
mkdir -p cache/models--a/snapshots/1 cache/models--a/blobs cache/models--b/blobs
for file in model/*; do
    cp "$file" cache/models--a/blobs
    ln -s "../../blobs/$(basename "$file")" cache/models--a/snapshots/1
done
ln -s ../../blobs/template cache/models--a/snapshots/1/chat_template.jinja
echo template >cache/models--a/blobs/template
expect 0 '' '' finetune --model cache/models--a/snapshots/1 $short --out of_cache
same cache/models--a/blobs/template of_cache/model/chat_template.jinja
that "a copy is no link" [ ! -h of_cache/model/tokenizer.json ]
mv cache/models--a/blobs/template cache/models--b/blobs
ln -sf ../../../models--b/blobs/template cache/models--a/snapshots/1/chat_template.jinja
expect 1 '' 'outside of --model, and would be copied' finetune --model cache/models--a/snapshots/1 $short --out of_others
# Only files that lie in these blobs themselves are of the model: not in a folder below, not behind another link, not beside.
mkdir cache/models--a/blobs/deeper cache/models--a/private
cp private cache/models--a/blobs/deeper/template
cp private cache/models--a/private/template
cp private cache/models--a/template
ln -s ../private/template cache/models--a/blobs/link
for target in blobs/deeper/template blobs/link blobs/../private/template private/template template; do
    ln -sf "../../$target" cache/models--a/snapshots/1/chat_template.jinja
    expect 1 '' 'outside of --model, and would be copied' finetune --model cache/models--a/snapshots/1 $short \
        --out of_others
done
rm cache/models--a/snapshots/1/chat_template.jinja
mv cache/models--a/blobs cache/models--a/elsewhere
ln -s elsewhere cache/models--a/blobs
expect 1 '' 'outside of --model, and would be copied' finetune --model cache/models--a/snapshots/1 $short --out of_others
# A folder has no blobs only because of its name.
for place in snapshots own/snapshots cache/models--b/snapshots/1 cache/models--c/revisions; do
    mkdir -p "$place" "$place/../blobs"
    cp -R model "$place/1"
    cp private "$place/../secret"
    cp private "$place/../blobs/template"
    for target in secret blobs/template; do
        ln -sf "../../$target" "$place/1/chat_template.jinja"
        expect 1 '' 'outside of --model, and would be copied' finetune --model "$place/1" $short --out of_others
        expect 1 '' 'outside of --model, and would be copied' finetune --model "$(pwd)/$place/1" $short --out of_others
    done
done
lacks of_others/model
rm disk/model/tokenizer.json
mkfifo disk/model/tokenizer.json
if command -v timeout >/dev/null; then
    timeout -s KILL 60 "$program" finetune --model model $short --overwrite --out disk >stdout 2>stderr
    that "status with a FIFO" [ $? -eq 1 ]
    echo 'llama finetune: cannot write disk/model/tokenizer.json: expected a regular file there' >want
    same want stderr
fi
# A file that an option names, or a folder, is not replaced. That is known at the start, so that --overwrite leaves the earlier
# run.
expect 0 '' '' finetune --model model $short --out earlier
for name in llama_last.safetensors llama_best.safetensors llama.csv llama.csv.part adapter/adapter_config.json \
    adapter/adapter_model.safetensors model/config.json model/model.safetensors model/tokenizer_config.json \
    model/chat_template.jinja; do
    cp -R earlier refused
    cp story.txt refused/$name
    refuses refused "cannot write refused/$name: --data needs this file; expected another folder --out" finetune \
        --model model --data refused/$name --steps 1 --window 16 --best --overwrite --out refused
    rm refused/$name
    mkdir refused/$name
    refuses refused "cannot write refused/$name: expected a regular file there" finetune --model model $short --best \
        --overwrite --out refused
    rm -r refused
done
for name in adapter model; do
    cp -R earlier refused
    rm -r refused/$name
    cp story.txt refused/$name
    refuses refused "cannot write refused/$name: expected a folder there" finetune --model model $short --overwrite \
        --out refused
    rm -r refused
done
# A run whose folder is moved away writes nothing into the folder that is in its place then.
case $(uname -s) in
MINGW* | MSYS*) ;;
*)
    LC_ALL=C "$program" finetune --model model --data pairs.jsonl --steps 1000000000 --every 1000000 \
        --window 16 --out moved >stdout 2>stderr &
    child=$!
    while [ ! -e moved/llama.csv.part ] && kill -0 $child; do sleep 0.01; done
    mv moved moved_away
    mkdir moved
    wait $child
    that "status of a run whose folder was moved" [ $? -eq 1 ]
    why='the folder of this run was moved, and another one is in its place: nothing is written there'
    echo "llama finetune: --out moved: $why" >want
    same want stderr
    that "nothing in the other folder" [ -z "$(ls -A moved 2>/dev/null)" ]
    ;;
esac
# A run that is killed and resumed ends with the same bytes.
for data in pairs.jsonl story.txt; do
    run="--model model --data $data --targets q_proj,down_proj --dropout 0.1 --steps 600 --every 20 --lr 0.01 --window 16"
    expect 0 'adapter: whole/adapter' '' finetune $run --out whole --overwrite
    : >stdout                                   # without the rows of the run before
    "$program" finetune $run --out broken --overwrite >stdout 2>stderr &
    until grep -q '^step 40 ' stdout; do :; done
    kill -KILL $! 2>/dev/null
    wait $! 2>/dev/null
    that "$data is killed before its end" [ ! -e broken/model/model.safetensors ]
    expect 0 'step 600 of 600' '' finetune --out broken --resume
    that "$data resumes after its beginning" [ "$(sed -n 's/^resumes at step \([0-9]*\) .*/\1/p' stdout)" -ge 20 ]
    for file in llama_last.safetensors adapter/adapter_model.safetensors model/model.safetensors; do
        same whole/$file broken/$file
    done
    for out in whole broken; do cut -d, -f1-4 $out/llama.csv >$out.csv; done
    same whole.csv broken.csv
    that "$data: header" [ "$(head -n 1 whole.csv)" = step,train_loss,valid_loss,learning_rate ]
    that "$data: rows" [ "$(wc -l <whole.csv)" -eq 31 ]
    rm -r broken
done

# The adapter is added to the weights in float32, whatever the precision of the training was.
expect 0 '' '' finetune --model model --data pairs.jsonl --steps 20 --lr 0.01 --window 16 --precision bf16 --out half
mv half/model/model.safetensors merged
expect 0 '' '' finetune --resume --precision float32 --out half
same half/model/model.safetensors merged

# Weights in two bytes: the same adapters and the same model as with four, and a checkpoint without them.
run="--data pairs.jsonl --steps 20 --every 10 --lr 0.01 --window 16 --precision bf16"
expect 0 '' '' finetune --model model $run --weights float32 --float32-model --out wide
expect 0 'the weights of wide/model are rounded to bfloat16' '' finetune --model wide/model $run --weights bf16 --out rounded
two=rounded/model
expect 0 'rounded to bfloat16, as those of --model' '' finetune --model $two $run --out auto
expect 0 '' '' finetune --model $two $run --weights float32 --out float32
for file in adapter/adapter_model.safetensors model/model.safetensors; do same auto/$file float32/$file; done
that "the checkpoint lacks frozen weights" sh -c '! grep -q embed_tokens auto/llama_last.safetensors'
expect 0 '' '' finetune --model $two $run --no-merge --best --out apart
same apart/adapter/adapter_model.safetensors auto/adapter/adapter_model.safetensors
lacks apart/model
that "the model in float32 is larger" [ "$(wc -c <wide/model/model.safetensors)" -gt "$(wc -c <auto/model/model.safetensors)" ]
expect 1 '' 'auto/llama_last.safetensors: the model has other frozen weights than the one with which this run began' \
    finetune --resume --steps 30 --model wide/model --weights bf16 --out auto
expect 0 'step 30 of 30' '' finetune --resume --steps 30 --out auto
expect 2 '' '--float32-model: expected --weights float32 with it' finetune --model $two $run --float32-model --out x
expect 2 '' '--rank 0 trains all weights' finetune --model $two $run --rank 0 --no-merge --out x
expect 2 '' '--rank 0 trains all weights' finetune --model $two $run --rank 0 --dropout 0.1 --out x
expect 2 '' '--rank 0 trains all weights' finetune --model $two $run --rank 0 --alpha 9 --out x
expect 2 '' '--weights bf16: expected --precision bf16 with it' generate --model $two --weights bf16
expect 2 '' '--weights bf17: expected auto, float32 or bf16' generate --model $two --weights bf17
write="generate --model $two --precision bf16 --tokens 12 --seed 4"
expect 0 '' '' $write --prompt '3?'
mv stdout first
expect 0 '' '' $write --prompt '3?' --weights float32
same stdout first
expect 0 '' 'the first token was there after ' $write --prompt '3?' --times

# Prompts of a file, in one pass, give the texts that each gives by itself.
printf '3?\nThe frog goes\n\n7' >prompts
: >single
for prompt in '3?' 'The frog goes' '' 7; do
    if [ -n "$prompt" ]; then expect 0 '' '' $write --prompt "$prompt"; else expect 0 '' '' $write; fi
    cat stdout >>single
done
for weights in auto float32; do
    expect 0 '' '' $write --prompts prompts --weights $weights
    same stdout single
done
expect 2 '' '--prompt and --prompts: expected one of them' $write --prompts prompts --prompt 7
expect 1 '' 'none: cannot be opened' $write --prompts none
expect 1 '' "prompts: line 1 has 3 tokens: with --tokens 100000, they exceed the model's context of " \
    generate --model $two --tokens 100000 --prompts prompts
: >prompts
expect 1 '' 'prompts: expected a line or more' $write --prompts prompts

# So do prompts of a model that writes its end after a few tokens, each of them after another number.
printf '3?\nThe\n7?\n' >prompts
: >single
for prompt in '3?' The '7?'; do
    expect 0 '' '' generate --model full/model --temperature 0 --tokens 20 --prompt "$prompt"
    cat stdout >>single
done
that "a text that ends early" [ "$(head -n 1 single | wc -c)" -le 8 ]
expect 0 '' '' generate --model full/model --temperature 0 --tokens 20 --prompts prompts
same stdout single

# --best writes what the run had at the evaluation with the least held-out loss. The learning rate is the same at each step, so
# that a run of that many steps ends there.
run="--model model --data story.txt --lr 0.05 --lr-min 0.05 --warmup 0 --window 16 --every 10"
expect 0 'model:   best/model' '' finetune $run --steps 200 --best --out best
expect 0 '' '' finetune $run --steps 200 --out last
least=$(tail -n +2 best/llama.csv | sort -t, -k3,3g | sed -n '1s/,.*//p')
that "the last loss is not the least" [ "$least" -lt 200 ]
expect 0 '' '' finetune $run --steps "$least" --out stopped
same stopped/model/model.safetensors best/model/model.safetensors
differ last/model/model.safetensors best/model/model.safetensors
has best/llama_best.safetensors
lacks last/llama_best.safetensors
expect 0 '' '' finetune $run --steps 20 --seed 3 --best --out third
cp -R best crossed
cp third/llama_best.safetensors crossed
other='crossed/llama_best.safetensors is of another run than crossed/llama_last.safetensors: expected a file of the same run'
refuses crossed "$other" finetune --resume --out crossed
refuses crossed "$other" finetune --resume --steps 210 --out crossed
cp best/llama_best.safetensors crossed
expect 0 '' '' finetune --resume --out crossed
same crossed/model/model.safetensors best/model/model.safetensors
expect 2 '' '--best' finetune --resume --best --out last
mkdir best_alone
cp best/llama_best.safetensors best_alone
expect 1 '' 'llama finetune: best_alone/llama_best.safetensors exists from an earlier run: --overwrite replaces it' \
    finetune $run --steps 1 --best --out best_alone
same best/llama_best.safetensors best_alone/llama_best.safetensors
# A model can name an end that its tokenizer does not have. Pairs would have no end; a text has none.
mkdir no_end
cp spaced/* no_end
sed 's/"eos_token_id": *\[/"eos_token_id": [852,/' spaced/config.json >no_end/config.json
differ spaced/config.json no_end/config.json
for word in the cat and the cat and the cat and the cat and; do
    echo "{\"prompt\": \"$word\", \"completion\": \"a\"}"
done >words.jsonl
expect 1 '' 'llama finetune: the token behind a text is 852, the vocabulary has ' \
    finetune --model no_end --data words.jsonl --steps 1 --window 16 --out ends
yes the cat and | head -n 40 >words.txt
expect 0 'step 1 of 1' '' finetune --model no_end --data words.txt --steps 1 --window 16 --out ends
tr -d '\n' <spaced/config.json | sed 's/"eos_token_id": *\[[^]]*\]/"eos_token_id": null/' >no_end/config.json
that "a model without an end" grep -q '"eos_token_id": null' no_end/config.json
expect 0 'step 1 of 1' '' finetune --model no_end --data words.jsonl --steps 1 --window 16 --overwrite --out ends
learned='last/llama_last.safetensors has learned from other data, or with another tokenizer: --other-data'
expect 1 '' "$learned" finetune --resume --data pairs.jsonl --out last
# A setting that is no number is told with the name of the file.
edited best/llama_last.safetensors crossed/llama_last.safetensors '"settings.train.best_loss":"[^"]*"' \
    '"settings.train.best_loss":"abc"'
refuses crossed 'crossed/llama_last.safetensors: the setting "train.best_loss" is "abc", expected a number' \
    finetune --resume --steps 210 --out crossed
# A model of which config.json has changed is another one, also if its weights have the same shapes.
for change in 's/"rms_norm_eps": *[^,]*/"rms_norm_eps": 0.25/' 's/"rope_theta": *[^,]*/"rope_theta": 77.0/'; do
    cp -R model configured
    expect 0 '' '' finetune --model configured --data pairs.jsonl --rank 0 --steps 2 --window 16 --overwrite --out of_config
    sed "$change" configured/config.json >config.json
    differ config.json model/config.json
    mv config.json configured/config.json
    refuses of_config 'of_config/llama_last.safetensors: the run began with a model of llama.' \
        finetune --resume --steps 4 --out of_config
    rm -r configured
done
# With another measure of the loss, the first evaluation writes the best weights.
cp -R best measured
cp best/llama_best.safetensors best_before
expect 0 'the next evaluation begins again to choose the best model' '' finetune --resume --steps 201 \
    --held-out 5 --lr 1 --lr-min 1 --out measured
differ best_before measured/llama_best.safetensors
# The same text has other ids with another tokenizer.
cp -R model other
cp "$fixtures/tokenizers/smollm.json" other/tokenizer.json
expect 1 '' "$learned" finetune --resume --model other --out last

# Links and permissions stay.
expect 0 '' '' finetune --model model $short --out to_links
links to_links
expect 0 '' '' finetune --model model $short --best --overwrite --out to_links
expect 0 '' '' finetune --model model $short --best --seed 3 --overwrite --out to_links
rm to_links/llama_best.safetensors                            # was not there before
still_links to_links
# A link to a file of --model is no output.
mkdir to_model
ln -s ../model/model.safetensors to_model/llama_last.safetensors
expect 2 '' '--out to_model: to_model/llama_last.safetensors is a file of --model and would be replaced' finetune \
    --model model $short --overwrite --out to_model

sed 's/"vocab_size": 853/"vocab_size": 852/' model/config.json >config.json
mv config.json model/config.json
expect 1 '' 'wrong shape' generate --model model
summary llama
