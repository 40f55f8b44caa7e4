#!/bin/sh
# test_embed.sh PROGRAM FIXTURES: embed: messages, and vectors as the library `transformers` computes them.

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
fixtures=$(cd "$2" && pwd)
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

bert=$fixtures/bert
expect 0 'usage: embed [options]' '' --help
expect 0 '' '' --help --language ja
speaks_japanese stdout
expect 2 '' 'embed: unknown option --models' --models "$bert"
expect 2 '' 'expected --model, the folder of a model, and --index or --tune' --index notes.txt question
expect 2 '' 'expected --model, the folder of a model, and --index or --tune' --model "$bert" question
expect 2 '' 'expected --model, the folder of a model, and --index or --tune' --model "$bert" --index a --tune b question
expect 2 '' '--index: expected a question, or --vectors' --model "$bert" --index notes.txt
expect 2 '' '--tune: expected no question, --vectors or --csv' --model "$bert" --tune pairs.tsv question
expect 2 '' "unexpected argument 'two'" --model "$bert" --index notes.txt one two
expect 1 '' 'notes.txt: cannot be opened' --model "$bert" --index notes.txt question

# ---- vectors ---------------------------------------------------------------------------------------------------------

# close FILE FILE LIMIT: two .npy files of float32 have the same shape, and numbers that differ by less.
close() {
    that "$1 and $2 differ by less than $3" python3 - "$@" <<'END'
import ast, struct, sys
def read(path):
    data = open(path, "rb").read()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    return ast.literal_eval(data[10:end].decode())["shape"], [x for x, in struct.iter_unpack("<f", data[end:])]
(shape, a), (other, b) = read(sys.argv[1]), read(sys.argv[2])
difference = max(abs(x - y) for x, y in zip(a, b))
sys.exit(None if shape == other and difference < float(sys.argv[3]) else f"{shape}, {other}, {difference}")
END
}
expect 0 'wrote:   found.npy' '' --model "$bert" --index "$bert/lines.txt" --vectors found.npy
close found.npy "$bert/embeddings.npy" 1e-5
expect 0 '' '' --model "$bert" --index "$bert/lines.txt" --vectors again.npy --threads 2
same found.npy again.npy
expect 1 '' 'expected a path that ends in .safetensors, .npz or .npy' --model "$bert" --index "$bert/lines.txt" --vectors found
mkdir same
cp "$bert/lines.txt" same/lines.npy
refuses same 'same/lines.npy: is the file of --index' --model "$bert" --index same/lines.npy --vectors same/lines.npy

# ---- search ----------------------------------------------------------------------------------------------------------

expect 0 '' '' --model "$bert" --index "$bert/lines.txt" --top 3 --csv 'A man is eating food.'
that "three lines" [ "$(wc -l <stdout)" -eq 4 ]
that "the line itself" [ "$(head -n 1 stdout)" = '1.0000  line 1  A man is eating food.' ]
that "the columns" [ "$(head -n 1 out/embed.csv)" = rank,line,cosine ]
that "the first row" grep -q '^1,1,\(1\|0.99999\)' out/embed.csv
that "falling cosines" sh -c 'tail -n +2 out/embed.csv | cut -d, -f3 | sort -c -r -g'
printf 'b\n\n\na\n' >short.txt
expect 0 '' '' --model "$bert" --index short.txt a
that "no empty lines" [ "$(cut -d' ' -f3- stdout | tr '\n' ';')" = 'line 4  a;line 1  b;' ]
: >empty.txt
expect 0 '' '' --model "$bert" --index empty.txt a
that "nothing in an empty file" [ ! -s stdout ]
printf 'a\033[2Jb\n' >control.txt
expect 0 'a' '' --model "$bert" --index control.txt a --language ja
that "Japanese" grep -q '1行目  a' stdout
printf '\351\n' >latin.txt
expect 1 '' 'latin.txt: line 1, column 1, byte 0: expected UTF-8, found byte 0xE9' --model "$bert" --index latin.txt a

# ---- tuning ----------------------------------------------------------------------------------------------------------

printf 'A man is eating\tfood\nCats sleep\tdogs bark\nthe fox\t東京\nviolin\tthe girl\n' >pairs.tsv
expect 0 '' '' --model "$bert" --tune pairs.tsv --batch 4 --epochs 30 --lr 0.01 --out tuned
that "the columns" [ "$(head -n 1 tuned/embed_tune.csv)" = step,loss ]
that "the loss falls" awk -F, 'NR == 2 { first = $2 } { last = $2 } END { exit !(NR == 31 && last < first / 10) }' \
    tuned/embed_tune.csv
for file in config.json tokenizer.json sentence_bert_config.json; do same "$bert/$file" tuned/$file; done
printf 'dogs bark\nfood\nthe girl\n' >right.txt
expect 0 '' '' --model tuned --index right.txt --top 1 'Cats sleep'
that "the pair is found" grep -q 'line 1  dogs bark' stdout
expect 0 '' '' --model "$bert" --tune pairs.tsv --batch 4 --epochs 30 --lr 0.01 --out tuned_too --threads 1
same tuned/model.safetensors tuned_too/model.safetensors
expect 0 '' '' --model "$bert" --tune pairs.tsv --batch 2 --out seed_0
expect 0 '' '' --model "$bert" --tune pairs.tsv --batch 2 --out seed_5 --seed 5
differ seed_0/model.safetensors seed_5/model.safetensors
refuses tuned 'tuned/config.json exists: expected --overwrite' --model "$bert" --tune pairs.tsv --batch 4 --out tuned
refuses tuned 'tuned/config.json is a file of --model' --model tuned --tune pairs.tsv --batch 4 --out tuned --overwrite
expect 0 '' '' --model "$bert" --tune pairs.tsv --batch 4 --out tuned --overwrite
differ tuned/model.safetensors tuned_too/model.safetensors
expect 1 '' 'pairs.tsv: has 4 pairs, expected as many as --batch, 32' --model "$bert" --tune pairs.tsv --out x
for line in 'no tab' "$(printf 'a\tb\tc')" ''; do
    printf 'a\tb\n%s\n' "$line" >bad.tsv
    expect 1 '' 'bad.tsv: line 2: expected two texts with one tab between them' --model "$bert" --tune bad.tsv --batch 2 --out x
done

# ---- folders with mistakes -------------------------------------------------------------------------------------------

# refused FILE OLD NEW MESSAGE: in a copy of the folder, OLD in the file becomes NEW, and the folder is refused.
refused() {
    rm -rf wrong
    cp -R "$bert" wrong
    sed "s|$2|$3|" "$bert/$1" >wrong/$1
    that "$1 changed" sh -c "! cmp -s '$bert/$1' wrong/$1"
    expect 1 '' "$4" --model wrong --index short.txt question
}
config=wrong/config.json
refused config.json '"hidden_size": 12' '"hidden_size": 13' \
    "$config: hidden_size is 13, expected a multiple of num_attention_heads, 3"
refused config.json '"hidden_size": 12' '"hidden_size": 99999' \
    'model.safetensors: tensor "embeddings.word_embeddings.weight" is (360, 12), expected (360, 99999) by config.json'
refused config.json '"hidden_size": 12' '"hidden_size": 0' "$config: hidden_size is 0, expected a whole number from 1 to 100000"
refused config.json '"hidden_size": 12' '"hidden_size": 1e30' "$config: hidden_size is "
refused config.json '"hidden_size": 12,' '' "$config: the setting \"hidden_size\" is missing"
refused config.json '"hidden_size": 12' '"hidden_size": "x"' "$config: hidden_size is \"x\", expected a whole number"
refused config.json '"hidden_size": 12' '"hidden_size": [12]' "$config: the setting \"hidden_size\" is missing"
refused config.json '"num_hidden_layers": 2' '"num_hidden_layers": 3' \
    'tensor "encoder.layer.2.attention.self.query.weight" is missing, expected (12, 12) by config.json'
refused config.json '"num_hidden_layers": 2' '"num_hidden_layers": 1' 'model.safetensors: unexpected'
refused config.json '"intermediate_size": 20' '"intermediate_size": 1000000' \
    'tensor "encoder.layer.0.intermediate.dense.weight" is (20, 12), expected (1000000, 12) by config.json'
refused config.json '"vocab_size": 360' '"vocab_size": 10000000' 'is (360, 12), expected (10000000, 12) by config.json'
refused config.json '"type_vocab_size": 2' '"type_vocab_size": 3' 'is (2, 12), expected (3, 12) by config.json'
refused config.json '"model_type": "bert"' '"model_type": "roberta"' "$config: model_type is \"roberta\", expected \"bert\""
refused config.json '"hidden_act": "gelu"' '"hidden_act": "relu"' "$config: hidden_act is \"relu\", expected \"gelu\""
refused config.json '{' '[' "$config: line 2, column"
refused tokenizer.json '"post_processor":{' '"post_processor":null,"other":{' \
    'wrong/tokenizer.json: post_processor: expected a token before a text and one behind it'
refused tokenizer.json '"WordPiece","unk' '"BPE","unk' 'wrong/tokenizer.json: model BPE is not supported: expected WordPiece'
refused sentence_bert_config.json 24 33 'max_seq_length is 33, expected a whole number from 3 to 32'
refused sentence_bert_config.json 24 2 'max_seq_length is 2, expected a whole number from 3 to 32'
refused sentence_bert_config.json 24 '"x"' 'wrong/sentence_bert_config.json: the setting "max_seq_length" is "x"'
rm -rf wrong
cp -R "$bert" wrong
that "a weight that is NaN" python3 - wrong/model.safetensors <<'END'
import json, pathlib, struct, sys
path = pathlib.Path(sys.argv[1])
data = bytearray(path.read_bytes())
size, = struct.unpack_from('<Q', data)
place = json.loads(data[8:8 + size])['encoder.layer.0.attention.self.query.weight']
struct.pack_into('<f', data, 8 + size + place['data_offsets'][0], float('nan'))
path.write_bytes(data)
END
not_finite='--model: the vector of a text is not finite: expected finite weights'
expect 1 '' "$not_finite" --model wrong --index short.txt question
that "nothing is ranked" [ ! -s stdout ]
expect 1 '' "$not_finite" --model wrong --index short.txt --vectors none.npy
lacks none.npy
for file in config.json model.safetensors tokenizer.json; do
    rm -rf wrong
    cp -R "$bert" wrong
    rm wrong/$file
    expect 1 '' "wrong/$file: cannot be opened" --model wrong --index short.txt question
done
cp "$bert"/* wrong
head -c 30000 "$bert/model.safetensors" >wrong/model.safetensors
expect 1 '' 'wrong/model.safetensors: ' --model wrong --index short.txt question
# The first token instead of the mean, as in BGE.
cp "$bert"/* wrong
mkdir wrong/1_Pooling
echo '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}' >wrong/1_Pooling/config.json
expect 0 '' '' --model wrong --index "$bert/lines.txt" --vectors first.npy
differ first.npy found.npy
expect 1 '' 'wrong: pooling_mode_cls_token: --tune expects' --model wrong --tune pairs.tsv --batch 4 --out x
echo '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}' >wrong/1_Pooling/config.json
expect 1 '' 'expected pooling_mode_cls_token or pooling_mode_mean_tokens alone' --model wrong --index short.txt question
echo '{"pooling_mode_max_tokens": true}' >wrong/1_Pooling/config.json
expect 1 '' 'expected pooling_mode_cls_token or pooling_mode_mean_tokens alone' --model wrong --index short.txt question
rm -r wrong/1_Pooling
echo secret >secret
ln -s ../secret wrong/vocab.txt
refuses wrong 'wrong/vocab.txt: is a link to ' --model wrong --tune pairs.tsv --batch 4 --out x
lacks x/vocab.txt
summary embed
