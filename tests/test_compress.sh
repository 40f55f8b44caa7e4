#!/bin/sh
# test_compress.sh PROGRAM GPT FIXTURES SOURCE: what compress writes and reads: files of all kinds, models, instruction sets,
# threads, damaged files. DAMAGED is the number of damaged files (default 60; 20 with SHORT=yes in the environment, under
# sanitizers, where texts are shorter, and the portable kernels are compared only if there are no others).

# shellcheck disable=SC2086 # lists of words
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
gpt=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
fixtures=$(cd "$3" && pwd)
source=$(cd "$4" && pwd)
KAERU_PLOTS=$source/plots
export KAERU_PLOTS
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

tiny='--layers 1 --heads 1 --window 16'
head -c 3000 "$source/README.md" >text

# ---- messages --------------------------------------------------------------------------------------------------------

expect 0 'usage: compress [options]' '' --help
expect 2 '' 'expected a file: compress -d FILE.k' -d
expect 2 '' 'unknown option --stepz' text --stepz 5
expect 2 '' '--layers' text --layers 0
expect 1 '' 'missing: cannot be read: No such file' missing
expect 1 '' '.: expected a regular file' .
expect 1 '' '/dev/zero: expected a regular file' -d /dev/zero new
mkfifo fifo
expect 1 '' 'fifo: expected a regular file' fifo
rm fifo
expect 2 '' 'text does not end in .k: expected the name of the file to write' -d text
expect 2 '' 'text: is the file to read' text ./text --overwrite
expect 1 '' 'text: is no file of this program: expected kaeru.k1 in its first bytes' -d text other
expect 1 '' 'none/text.k: cannot be written: its folder: No such file' text none/text.k
expect 1 '' 'cannot write /dev/null: expected a regular file' text /dev/null --overwrite
expect 1 '' 'nowhere' text --model nowhere
lacks text.k

# A file that was made while the program works is not replaced.
mkdir bin
printf '#!/bin/sh\necho precious >"%s/late.k"\n' "$PWD" >bin/gnuplot
chmod +x bin/gnuplot
env LC_ALL=C PATH="$PWD/bin:$PATH" "$program" text late.k --curve --out curve >stdout 2>stderr
that "a file that came meanwhile" [ $? -eq 1 ]
that "where the result is" grep -q 'late.k was made while this program ran: the result is in late.k.part' stderr
that "it stays" [ "$(cat late.k)" = precious ]
rm -r bin curve late.k late.k.part

# ---- round trips -----------------------------------------------------------------------------------------------------

: >empty
printf x >one
printf '\000' >nul
printf 'a\377\200b\303' >invalid
printf 'caf\303\251, cafe\314\201, \346\227\245\346\234\254\350\252\236\n' >accents
i=0
while [ $i -lt 256 ]; do
    # shellcheck disable=SC2059 # an octal number
    printf "\\$(printf %03o $i)"
    i=$((i + 1))
done >bytes
cat bytes bytes bytes >>bytes3
head -c 2000 "$program" >binary
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(700))' >random
few=60 frogs=40000 several='text text bytes text'
[ "${SHORT-}" != yes ] || { few=20 frogs=8000 several='text bytes'; }
yes frog | head -c $frogs >frogs
head -c 2500 "$source/README.ja.md" >japanese
sed 's/$/\r/' text | head -c 1500 >dos
kinds='empty one nul invalid accents bytes bytes3 binary random frogs japanese dos text'
isas="$(for isa in avx512 avx2; do KAERU_ISA=$isa "$program" --help 2>&1 >isa_help | grep -q . || echo $isa; done)"
if [ "${SHORT-}" != yes ] || [ -z "$isas" ]; then isas="$isas portable"; fi
isas=$(echo $isas)

# trip FILE ARGUMENT...: compresses and decompresses a file.
trip() {
    kind=$1
    shift
    rm -f back
    expect 0 "$kind.k: " '' $kind $kind.k --overwrite "$@"
    model=
    case " $* " in *' --model '*) model="--model ${*##*--model }" ;; esac
    expect 0 'back: ' '' -d $kind.k back $model
    same $kind back
}
for kind in $kinds; do
    trip $kind $tiny
done
that "a text that repeats itself becomes small" [ "$(wc -c <frogs.k)" -lt 200 ]
trip text $tiny --order 0
trip text $tiny --order 1 --streams 7 --seed 4
trip text $tiny --order 6 --rate 100000
trip text --layers 2 --heads 2 --window 33 --precision bf16
if [ "${SHORT-}" != yes ]; then
    trip text
    that "a text becomes smaller" [ "$(wc -c <text.k)" -lt 1800 ]
fi

# The same bytes on each instruction set and with each number of threads, and one decompresses what another has compressed.
cat $several >several
for precision in float32 bf16; do
    rm -f first
    for isa in $isas; do
        for threads in 1 2; do
            with=KAERU_ISA=$isa
            expect 0 '' '' several several.k --overwrite --layers 1 --heads 2 --streams 3 --precision $precision \
                --threads $threads
            [ -e first ] || cp several.k first
            same several.k first
            expect 0 '' '' -d first back --overwrite --threads $((3 - threads))
            same several back
        done
    done
done
with=LC_ALL=C

# ---- models ----------------------------------------------------------------------------------------------------------

for name in llama3 qwen3; do
    mkdir $name
    cp "$fixtures/llama/writer/config.json" "$fixtures/llama/writer/model.safetensors" $name
    cp "$fixtures/tokenizers/$name.json" $name/tokenizer.json
done
for kind in $kinds several; do
    trip $kind --model llama3
done
trip accents --model qwen3
trip text --precision bf16 --model llama3
trip text --window 7 --streams 1 --model llama3
for isa in $isas; do
    with=KAERU_ISA=$isa
    expect 0 '' '' -d text.k back --overwrite --model llama3 --threads 2
    same text back
done
with=LC_ALL=C
"$gpt" train --data text --layers 1 --heads 2 --width 16 --context 24 --steps 3 --sample 0 --out gpt >/dev/null
"$gpt" train --data text --layers 1 --heads 2 --width 16 --context 24 --steps 4 --sample 0 --out other >/dev/null
for kind in $kinds; do
    trip $kind --model gpt/gpt_last.safetensors
done
expect 1 '' 'text.k: was not made with other/gpt_last.safetensors' -d text.k new --model other/gpt_last.safetensors
expect 1 '' 'text.k: was not made with llama3' -d text.k new --model llama3
expect 2 '' 'text.k was made with a model: expected --model' -d text.k new
expect 1 '' 'new' -d text.k new --model new
trip text $tiny
expect 2 '' 'text.k was made by a model that learns: expected no --model' -d text.k new --model llama3
lacks new

# ---- files that are not replaced, full disks, kills ------------------------------------------------------------------

cp text.k before
expect 2 '' 'text.k exists: expected --overwrite' text $tiny
expect 2 '' 'text exists: expected --overwrite' -d text.k
same text.k before
expect 0 'text: 3000 bytes' '' -d text.k --overwrite
# shellcheck disable=SC3045 # a limit that POSIX does not have
(ulimit -f 1; "$program" several new $tiny >stdout 2>stderr)
that "status 1 on a full disk" [ $? -eq 1 ]
that "one line about a full disk" grep -qx 'compress: new: cannot be written: File too large' stderr
lacks new
that "nothing is left on a full disk" [ -z "$(find . -name 'new.*')" ]
"$program" several new --window 8 >/dev/null 2>&1 &
child=$!
sleep 0.3
kill -9 $child
wait $child 2>/dev/null
that "nothing is left after a kill" [ -z "$(find . -name 'new*')" ]
mkdir closed
chmod 500 closed
if [ ! -w closed ]; then
    expect 1 '' 'closed/text.k: cannot be written: Permission denied' text closed/text.k
fi

# ---- links and permissions ---------------------------------------------------------------------------------------------

# No name that can be guessed leads the bytes elsewhere, and what has such a name stays.
mkdir links
for end in part tmp; do
    echo precious >links/precious
    ln -s precious "links/a.k.$end"
    expect 0 '' '' text links/a.k $tiny --overwrite
    that "where the link a.k.$end leads" [ "$(cat links/precious)" = precious ]
    that "the link a.k.$end stays" [ -h "links/a.k.$end" ]
    rm "links/a.k.$end" links/a.k
    ln links/precious "links/a.k.$end"
    expect 0 '' '' text links/a.k $tiny --overwrite
    that "the other name of a.k.$end" [ "$(cat links/precious)" = precious ]
    ln -sf made "links/a.k.$end"
    expect 0 '' '' text links/a.k $tiny --overwrite
    lacks links/made
    rm "links/a.k.$end" links/a.k
done
# A link that leads to itself stays one, in both directions.
ln -s loop links/loop
for arguments in "text links/loop $tiny" '-d text.k links/loop'; do
    for overwrite in '' --overwrite; do
        refuses links 'cannot write links/loop: Too many levels of symbolic links' $arguments $overwrite
    done
done
rm links/loop
# Nor does a picture's, which another program writes.
mkdir bin curve
printf '#!/bin/sh\necho drawn >compress.svg\n' >bin/gnuplot
chmod +x bin/gnuplot
ln -s ../links/precious curve/compress.svg
ln links/precious curve/compress.png
env LC_ALL=C PATH="$PWD/bin:$PATH" "$program" text links/a.k --curve --out curve >stdout 2>stderr
that "where a picture's link leads" [ "$(cat links/precious)" = precious ]
that "the picture" [ "$(cat curve/compress.svg)" = drawn ]
rm -r bin curve links/a.k
# A text that others cannot read stays so, in both directions, whatever the umask; a file that is replaced does not count.
cp text links/private
for mode in 600 640 644; do
    chmod $mode links/private
    rm -f links/private.k links/again
    expect 0 '' '' links/private $tiny
    that "a file of mode $mode" [ -n "$(find links/private.k -perm $mode)" ]
    expect 0 '' '' -d links/private.k links/again
    that "the text of a file of mode $mode" [ -n "$(find links/again -perm $mode)" ]
done
chmod 600 links/private
expect 0 '' '' links/private $tiny --overwrite
that "a file that is replaced becomes private" [ -n "$(find links/private.k -perm 600)" ]

# ---- damaged files ---------------------------------------------------------------------------------------------------

head -c 20 text.k >cut.k
expect 1 '' 'cut.k: is damaged or cut' -d cut.k new
head -c 900 text.k >cut.k
expect 1 '' 'cut.k: is damaged or cut: its bytes do not have their checksum' -d cut.k new
sed '1s/kaeru.k1/kaeru.k2/' text.k >later.k
expect 1 '' 'later.k: has version 2 of the format, expected 1' -d later.k new
lacks new
# changed FROM.k TO.k PLACE=VALUE...: sets settings in the head, by their places behind the number of tokens, and the checksum.
changed() {
    python3 - "$@" <<'END'
import sys
content, at, numbers = open(sys.argv[1], 'rb').read(), 32, []
while len(numbers) < 10:
    number = shift = 0
    while True:
        byte, at = content[at], at + 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    numbers.append(number)
for word in sys.argv[3:]:
    place, value = word.split('=')
    numbers[int(place)] = int(value)
new = bytearray(content[16:32])
for number in numbers:
    while number > 127:
        new.append(number & 127 | 128)
        number >>= 7
    new.append(number)
new += content[at:]
checksum = 0xcbf29ce484222325
for byte in new:
    checksum = (checksum ^ byte) * 0x100000001b3 % 2 ** 64
open(sys.argv[2], 'wb').write(content[:8] + checksum.to_bytes(8, 'little') + new)
END
}
# No file makes the decoder take much memory without --memory: layers and heads, streams and window, what learning keeps.
changed text.k text2.k
same text.k text2.k
changed text.k large.k 6=100 7=64
expect 1 '' 'large.k: needs 76' -d large.k new
that "how much memory" grep -qx 'compress: large.k: needs \([0-9]*\) MiB for its model: expected --memory \1 or more' stderr
changed text.k large.k 4=64 5=65536
expect 1 '' 'large.k: needs 4' -d large.k new
changed text.k large.k 0=1000000 4=64 5=2048 6=4 7=8
expect 1 '' 'large.k: needs ' -d large.k new
that "what learning keeps" [ "$(sed 's/.*needs \([0-9]*\) MiB.*/\1/' stderr)" -gt 4096 ]
changed text.k large.k 0=144115188075855872
expect 1 '' 'large.k: is damaged: it has no number of tokens' -d large.k new
changed text.k large.k 0=70000000000000
expect 1 '' 'large.k: asks for 560000.0 GB of memory, but this machine has ' -d large.k new
changed text.k large.k 2=9007199254740993
expect 1 '' 'large.k: compress.seed is 9007199254740993, expected a whole number from 0 to 9007199254740992' -d large.k new
# Nor can bytes follow the code, one or many.
for n in 1 7 100000; do
    { cat text.k && head -c $n /dev/zero; } >more
    changed more more.k
    expect 1 '' 'compress: more.k: is damaged: it has other bytes behind the text' -d more.k new
done
lacks new
# A model that is larger than --memory: compress says what -d needs.
rm -f one.k back
expect 0 'to decompress it, give -d the option --memory 5 or more' '' one one.k --overwrite $tiny --window 4096 --memory 4
expect 1 '' 'one.k: needs 5 MiB for its model: expected --memory 5 or more' -d one.k back --memory 4
lacks back
expect 0 'back: ' '' -d one.k back --memory 5
same one back
if [ "${SHORT-}" != yes ]; then
    rm -f one.k back
    expect 0 'to decompress it, give -d the option --memory ' '' one one.k --layers 6 --heads 16
    that "a large model makes no file larger" [ "$(wc -c <one.k)" -lt 60 ]
    expect 1 '' 'one.k: needs ' -d one.k back
    expect 0 'back: ' '' -d one.k back --memory 400
    same one back
fi
head -c 400 text >short
expect 0 '' '' short $tiny
that "damaged files" python3 "$source/tests/damage_compressed.py" "$program" short.k "${DAMAGED:-$few}" --threads 1
expect 0 '' '' short short.k --overwrite --model llama3
that "damaged files" python3 "$source/tests/damage_compressed.py" "$program" short.k "${DAMAGED:-$few}" --model llama3

# ---- what the tokens cost --------------------------------------------------------------------------------------------

expect 0 '' '' text text.k --overwrite $tiny --show
(cat text; echo) >expected
sed '$d' stdout >shown
same shown expected
if command -v gnuplot >/dev/null; then none=''; else none='gnuplot'; fi
expect 0 '' "$none" text text.k --overwrite $tiny --curve --out curve
[ -n "$none" ] || has curve/compress.svg
that "the header of the curve" grep -qx 'byte,bits_per_byte,mean' curve/compress.csv
that "200 pieces" [ "$(wc -l <curve/compress.csv)" -eq 201 ]
that "the curve ends with the text" grep -q '^3000,' curve/compress.csv
: >nothing
expect 0 '' '' nothing nothing.k $tiny --curve --out curve
echo precious >text.k.part
rm text.k
expect 2 '' 'text.k.part exists' text text.k $tiny
that "a file of this name is kept" grep -q precious text.k.part
rm text.k.part

# ---- names on a terminal -----------------------------------------------------------------------------------------------

# The name of a file does not command a terminal, in both languages; into a pipe it goes as it is.
escape=$(printf '\033') bell=$(printf '\007')
name="x$escape]0;EVIL$bell.txt"
echo frog >"$name"
for language in en ja; do
    python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)' "$program" "$name" $tiny \
        --overwrite --curve --out "o$name" --language $language </dev/null >shown
    that "the name of a file on a terminal" grep -q 'x\\x1B\]0;EVIL\\x07.txt.k' shown
    that "the name of a folder on a terminal" grep -q 'ox\\x1B\]0;EVIL\\x07.txt/compress.csv' shown
    that "no command of a name reaches the terminal ($language)" [ "$(grep -c "$bell" shown)" -eq 0 ]
    expect 0 "$name.k" '' "$name" $tiny --overwrite --language $language
done

# ---- settings of the file --------------------------------------------------------------------------------------------

# A short file is one stream, which the model learns as a whole. One of more than 8192 bytes can be two.
head -c 9000 frogs | cat text - >long_text
for streams in 1 7; do
    expect 0 '' '' text short_$streams.k $tiny --streams $streams
    expect 0 '' '' long_text long_$streams.k $tiny --streams $streams
done
same short_1.k short_7.k
differ long_1.k long_7.k
# The same weights with a shorter context cannot see the windows of the file.
expect 0 '' '' text text.k --model llama3
cp -R llama3 nearer
sed 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 8/' llama3/config.json >nearer/config.json
differ llama3/config.json nearer/config.json
rm -f new
expect 1 '' 'text.k: was not made with nearer' -d text.k new --model nearer
lacks new

# The model's own files are no output, in neither direction.
cp -R llama3 used
head -c 300 text >few
expect 0 '' '' few few.k --overwrite --model used
ln -s used/model.safetensors leading
for name in used/model.safetensors used/config.json used/tokenizer.json leading; do
    refuses used "cannot write $name: --model needs this file; expected another name" few $name --overwrite --model used
    refuses used "cannot write $name: --model needs this file; expected another name" -d few.k $name --overwrite --model used
done
summary compress
