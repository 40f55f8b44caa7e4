#!/bin/sh
# test_llama.sh PROGRAM FIXTURES: the commands of llama: messages, and text as the library `transformers` writes it.

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
fixtures=$(cd "$2" && pwd)
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

expect 0 'usage: llama COMMAND' '' --help
expect 2 '' "llama: unknown command 'draw' (llama --help" draw
for command in generate; do
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
expect 0 '' '' generate --model model --tokens 0
that "an empty text" [ "$(wc -c <stdout)" -eq 1 ]
sed 's/"vocab_size": 853/"vocab_size": 852/' model/config.json >config.json
mv config.json model/config.json
expect 1 '' 'wrong shape' generate --model model
summary llama
