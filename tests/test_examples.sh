#!/bin/sh
# test_examples.sh PROGRAM PLOTS FIRST: the command line of the examples, tested with skip_connection: its messages, its files,
# and that the numbers are the same bits with any number of threads and each instruction set of the kernels; and that FIRST, the
# program of the first command, gives the same. With SHORT=yes in the environment, under sanitizers, the experiment has one seed
# instead of three.

# shellcheck disable=SC2016,SC2086,SC3045 # a script; lists of words; limits that POSIX does not have

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
first=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
KAERU_PLOTS=$(cd "$2" && pwd)
export KAERU_PLOTS
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

small='--rows 50 --deep-rows 50 --steps 12 --hidden 8 --depth 3 --seeds 2'
all="$small --controls"

# ---- messages --------------------------------------------------------------------------------------------------------

for option in --steps --rows --hidden --lr --init --optimizer --target --seeds --depth --deep-rows --controls \
    --seed --threads --out --language --help; do
    expect 0 "  $option " '' --help
done
expect 0 'usage: skip_connection' '' -h
lacks out

expect 2 '' "unknown option --step (--help" --step 5
expect 2 '' "unknown option --stepsize (--help" --stepsize=5
expect 2 '' "unexpected argument 'five'" five
expect 2 '' "unexpected argument '--'" --
expect 2 '' "--steps needs a value: a whole number from 1 to 1000000" --steps
expect 2 '' "--out needs a value: DIR" --out
expect 2 '' '--steps is "ten", expected a whole number' --steps ten
expect 2 '' '--steps is "", expected a whole number' --steps ''
expect 2 '' '--steps is "1.5", expected a whole number' --steps 1.5
expect 2 '' '--steps is " 5", expected a whole number' --steps ' 5'
expect 2 '' '--steps is "5x", expected a whole number' --steps=5x
expect 2 '' "--steps is 0, expected a whole number from 1" --steps 0
expect 2 '' "--rows is -5, expected" --rows -5
expect 2 '' "--rows is 99999999999999999999999, expected" --rows 99999999999999999999999
expect 2 '' "--seed is -1, expected" --seed -1
expect 2 '' "--seed is 9007199254740993, expected a whole number from 0 to 9007199254740992" \
    --seed 9007199254740993
expect 2 '' "--depth is 101, expected" --depth 101
expect 2 '' "skip_connection: --init hi: expected default, he, xavier or small-last" --init hi
expect 2 '' "skip_connection: --optimizer adamw: expected adam or sgd" --optimizer adamw
expect 2 '' "skip_connection: --target y: expected identity, minus or matrix" --target y
expect 2 '' '--lr is "nan", expected a number' --lr nan
expect 2 '' '--lr is "inf", expected a number' --lr=inf
expect 2 '' '--lr is "0x1p-3", expected a number' --lr 0x1p-3
expect 2 '' '--lr is "--seed", expected a number' --lr --seed
expect 2 '' "--lr is 1e999, expected" --lr 1e999
expect 2 '' "--lr is -0.1, expected" --lr -0.1
expect 2 '' "--out is empty, expected DIR" --out ''
expect 2 '' "skip_connection: --language fr: expected en or ja" --language fr
lacks out

# ---- data files ------------------------------------------------------------------------------------------------------

expect 0 'data:    first/skip_connection.csv' '' $all --out first
printf 'step,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,zero\n' >header
head -n 1 first/skip_connection.csv >got; same header got
head -n 1 first/skip_deep.csv >got; same header got
printf 'step,block,ffn,skip,ffn_signal,skip_signal\n' >header
head -n 1 first/skip_gradient.csv >got; same header got
for file in skip_connection skip_deep; do
    if awk -F, 'NR > 1 && ($1 != NR - 2 || NF != 8 || $4 <= 0 || $4 > $2 || $2 > $5 || $6 > $3 || $3 > $7) { bad = 1 }
                END { exit bad || NR != 13 }' \
        "first/$file.csv"; then ok; else wrong "rows of $file.csv"; fi
    lacks "first/$file.csv.part"
done
# Norms at 4 blocks before and after training; without skip connections the gradient at the input is smaller.
if awk -F, 'NR > 1 && ($1 != (NR > 5 ? 12 : 0) || $2 != (NR - 2) % 4) { bad = 1 }
            NR == 2 { input = $3; skipped = $4 } NR == 5 { bad = bad || input > $3 / 10 || skipped < $4 / 10 }
            END { exit bad || NR != 9 }' first/skip_gradient.csv; then ok; else wrong "rows of skip_gradient.csv"; fi

expect 0 '' '' $small --depth 0 --out shallow
same first/skip_connection.csv shallow/skip_connection.csv
lacks shallow/skip_deep.csv
lacks shallow/skip_gradient.csv
lacks shallow/skip_controls.csv
# Without --depth, the controls are networks of one block.
expect 0 'Controls: networks of 1 blocks' '' $small --depth 0 --controls --out controls
lacks controls/skip_gradient.csv
that "blocks of the controls" awk -F, 'NR == 1 && $11 != "blocks" || NR > 1 && ($11 != 1 || NF != 11) { bad = 1 }
    NR == 2 { range = $5 "," $6 "," $7 "," $8 } END { print range; exit bad || NR != 8 }' controls/skip_controls.csv >range
awk -F, 'NR == 13 { print $4 "," $5 "," $6 "," $7 }' controls/skip_connection.csv >want; same want range
# Each network has its hash, which does not depend on what else is trained.
grep '^SHA-256 ' stdout >hashes
that "two hashes" grep -qxE 'SHA-256 of the weights of x \+ f\(x\), one block, first seed: [0-9a-f]{64}' hashes
that "a hash of each network" [ "$(sed 's/.* //' hashes | sort -u | wc -l)" -eq 2 ]
expect 0 '' '' $all --out first
grep '^SHA-256 ' stdout >got; same hashes got
# A row for each depth and for each control. Without W2 the gradient passes a skip connection as it is, and nothing else.
that "rows of skip_depth.csv" [ "$(cut -d, -f1 first/skip_depth.csv | tr '\n' ' ')" = 'depth 2 3 ' ]
that "rows of skip_controls.csv" awk -F, 'NR == 5 && ($9 != 0 || $10 < 0.9999 || $10 > 1.0001) { bad = 1 }
    END { exit bad || NR != 8 }' first/skip_controls.csv
# The options decide on what the networks learn.
cut -d, -f2,3 first/skip_connection.csv >default
for option in '--init he' '--init xavier' '--init small-last' '--optimizer sgd' '--target minus' '--target matrix'; do
    expect 0 '' '' $small --depth 0 $option --out option
    cut -d, -f2,3 option/skip_connection.csv >chosen
    differ default chosen
done

# The same seed gives the same bytes: in a folder that has them already, with any number of threads (with enough rows for
# several), and with each instruction set that this processor has.
expect 0 '' '' $all --out first
large='--controls --rows 3001 --deep-rows 3001 --steps 5 --hidden 37 --depth 2 --seeds 1'
expect 0 '' '' $large --threads 1 --out "with a blank/1"
grep '^SHA-256 ' stdout >hashes
that "two hashes" grep -qx 'SHA-256 of the weights of x + f(x), one block, first seed: [0-9a-f]\{64\}' hashes
agrees() {
    expect 0 '' '' $large "$@" --out again
    grep '^SHA-256 ' stdout >got
    same hashes got
    for file in skip_connection skip_deep skip_gradient skip_depth skip_controls; do
        same "with a blank/1/$file.csv" "again/$file.csv"
    done
}
for threads in 0 2 3 4 8; do
    agrees --threads $threads
done
for isa in portable avx2 avx512f; do
    [ $isa = portable ] || grep -qw $isa /proc/cpuinfo || continue
    with=KAERU_ISA=${isa%f}
    agrees
done
with=KAERU_ISA=mmx
expect 0 '' 'KAERU_ISA=mmx: not an instruction set that this processor has; using ' $small --out again
for locale in C C.UTF-8 de_DE.UTF-8; do
    with=LC_ALL=$locale
    expect 0 '' '' $small --depth 0 --out first
    same first/skip_connection.csv shallow/skip_connection.csv
done
with=LC_ALL=C
expect 0 '' '' $small --depth 0 --seed 1 --out other
if cmp -s first/skip_connection.csv other/skip_connection.csv; then wrong "another seed gives the same numbers"; else ok; fi

# Infinite losses are written as well.
expect 0 '' '' --rows 50 --steps 40 --lr 1000 --depth 0 --out wild
if [ "$(wc -l <wild/skip_connection.csv)" -eq 41 ]; then ok; else wrong "rows with a wild learning rate"; fi
expect 0 '' '' --rows 1 --deep-rows 1 --steps 1 --hidden 1 --depth 1 --out tiny

# ---- files that cannot be written ------------------------------------------------------------------------------------

: >file
expect 1 '' '--out file: cannot make the folder file: a file of that name exists' $small --out file
expect 1 '' '--out file/deep: cannot make the folder file' $small --out file/deep
expect 1 '' '--out /dev/null/deep: cannot make the folder /dev/null' $small --out /dev/null/deep
if [ -c /dev/full ]; then
    "$program" --help >/dev/full 2>stderr
    if [ $? -eq 1 ] && grep -qF 'cannot write the output' stderr; then ok; else wrong "--help on a full disk"; fi
    "$program" $small --depth 0 --out other >/dev/full 2>stderr
    that "status of a run on a full disk" [ $? -eq 1 ]
    echo 'skip_connection: cannot write the output: No space left on device' >want
    same want stderr
fi
# Closed standard streams: no data file takes their place. Output that is lost is an error.
"$program" $small --out closed >&- 2>stderr
that "status without stdout" [ $? -eq 1 ]
that "one line on stderr without stdout" [ "$(wc -l <stderr)" -eq 1 ]
that "the reason without stdout" grep -qF 'skip_connection: cannot write the output: Bad file descriptor' stderr
same first/skip_connection.csv closed/skip_connection.csv
rm -r closed
"$program" $small --out closed <&- >stdout 2>&-
that "status without stdin and stderr" [ $? -eq 0 ]
same first/skip_connection.csv closed/skip_connection.csv
rm -r closed
"$program" $small --out closed <&- >&- 2>&-
that "status without standard streams" [ $? -eq 1 ]
same first/skip_connection.csv closed/skip_connection.csv
# limited "LIMIT" STATUS "TEXT IN STDOUT" "TEXT IN STDERR" ARGUMENT...: expect under a limit of ulimit.
printf '#!/bin/sh\nulimit $LIMIT\nexec "$PROGRAM" "$@"\n' >limited.sh
chmod +x limited.sh
export PROGRAM="$program"
limited() {
    with="LIMIT=$1" program=$folder/limited.sh
    shift
    expect "$@"
    with=LC_ALL=C program=$PROGRAM
}
# A file that cannot be written to its end leaves the old one.
cp first/skip_connection.csv before
limited '-f 16' 1 '' 'cannot write first/skip_connection.csv.part: File too large' \
    --rows 5 --steps 1000 --seeds 1 --depth 0 --out first
same before first/skip_connection.csv
# What is not a regular file is refused at once.
mkdir pipe
mkfifo pipe/skip_connection.csv.part
if command -v timeout >/dev/null; then
    timeout 60 "$program" $small --out pipe >stdout 2>stderr
    that "status with a FIFO" [ $? -eq 1 ]
    that "the reason with a FIFO" grep -qF 'cannot write pipe/skip_connection.csv.part: expected a regular file there' stderr
fi
# No memory, at the start and after the data file was opened. (A sanitizer needs more memory than this before main.)
if (ulimit -v 300000 && "$program" --help) >stdout 2>&1; then
    limited '-v 300000' 1 '' 'skip_connection: tensor_normal: no memory for ' --rows 10000000 --out none
    lacks none
    limited '-v 300000' 1 'rows of 10 numbers' ': no memory for ' --rows 1000000 --hidden 100000 --out other
fi
mkdir -p taken/skip_connection.csv
expect 1 '' 'cannot write taken/skip_connection.csv: expected a regular file there' $small --out taken

# ---- pictures --------------------------------------------------------------------------------------------------------

mkdir empty
with=PATH=$folder/empty
expect 0 'picture: needs gnuplot: sudo apt install gnuplot-nox' '' $all --out "it's here"
lacks "it's here/skip_connection.png"
sed -n 's/.*\(Then: \|その後：\)//p' stdout >later
with=LC_ALL=C
if command -v gnuplot >/dev/null; then
    if sh later && [ "$(wc -l <later)" -eq 4 ]; then ok; else wrong "the commands to draw later"; fi
    for file in skip_connection skip_gradient skip_depth skip_controls; do
        has "it's here/$file.png"
        has "it's here/$file.svg"
        rm "it's here/$file.png" "it's here/$file.svg"
    done
    expect 0 "picture: it's here/skip_gradient.png, it's here/skip_gradient.svg" '' $all --out "it's here"
    # Also of losses that are infinite.
    expect 0 'picture: diverged/skip_controls.png' '' $all --lr 1000 --out diverged
    for file in skip_connection skip_gradient skip_depth skip_controls; do
        has "it's here/$file.png"
        has "it's here/$file.svg"
        that "English captions in $file.svg" grep -q 'training' "it's here/$file.svg"
    done
else
    echo "no gnuplot: pictures not tested"
fi

# The option decides on the language of the captions, else the first of these variables that is not empty. The command to draw
# later tells which it is.
captions() {
    language=$1
    shift
    env -u LC_ALL -u LC_MESSAGES -u LANG PATH="$folder/empty" "$@" --out captions >stdout 2>stderr
    sed -n 's/.*\(Then: \|その後：\)//p' stdout >later
    case $language:$(grep -c "gnuplot -e \"language = 'ja'\" " later) in
    en:0 | ja:4) ok ;;
    *) wrong "captions in $language: $*" ;;
    esac
}
captions ja "$program" $all --language ja
captions ja LC_ALL=ja_JP.UTF-8 LANG=C "$program" $all
captions ja LC_ALL= LC_MESSAGES=ja_JP LANG=C "$program" $all
captions ja LANG=ja "$program" $all
captions en LANG=ja "$program" $all --language=en
captions en LC_ALL=C LC_MESSAGES=ja_JP LANG=ja_JP "$program" $all
captions en LC_MESSAGES=de_DE LANG=ja_JP "$program" $all
captions en "$program" $all
captions ja LANG=ja_JP.UTF-8 "$program" $all
if command -v gnuplot >/dev/null; then
    that "the commands to draw in Japanese later" sh later
    japanese captions/skip_connection.svg
    japanese captions/skip_gradient.svg
    japanese captions/skip_depth.svg
    japanese captions/skip_controls.svg 'He|Xavier'
fi
with=KAERU_PLOTS=$folder/empty
expect 1 'data:    first' 'skip_connection.gp: No such file or directory' $small --depth 0 --out first
printf '#!/bin/sh\nexit 3\n' >empty/gnuplot
chmod +x empty/gnuplot
with=PATH=$folder/empty
expect 1 'data:    first' 'gnuplot could not draw' $small --depth 0 --out first
printf '#!/bin/sh\nexit 127\n' >empty/gnuplot
expect 1 'data:    first' 'skip_connection.gp (status 127)' $small --depth 0 --out first
printf '#!/no/such/interpreter\n' >empty/gnuplot
expect 1 'data:    first' 'gnuplot could not be started: No such file or directory' $small --depth 0 --out first
printf '#!/bin/sh\necho "<svg>" >skip_connection.svg\n' >empty/gnuplot
expect 1 'data:    cut' 'gnuplot could not write all of the pictures skip_connection.png and skip_connection.svg: expected' \
    $small --depth 0 --out cut
with=LC_ALL=C
if [ -c /dev/full ] && command -v gnuplot >/dev/null; then
    for format in png svg; do
        mkdir full.$format
        ln -s /dev/full full.$format/skip_connection.$format
        expect 1 'data:    full' 'gnuplot could not write all of the pictures' $small --depth 0 --out full.$format
    done
fi

# ---- the first command -----------------------------------------------------------------------------------------------

# sh examples/run.sh without arguments runs the program `first`. Its output fits on a screen: the chart, a table of four rows,
# the result, the path of the one picture, what to run next. The same experiment by the other program has the same bytes.
lines_of_first() {
    that "at most 40 lines: $(wc -l <stdout)" [ "$(wc -l <stdout)" -le 40 ]
    that "a table of four rows" [ "$(grep -cE '^ +[0-9]+ +[0-9.e-]+ +[0-9.e-]+$' stdout)" -eq 4 ]
    for words in "$@"; do that "'$words' in the first output" grep -qF -- "$words" stdout; done
}
# compares_with_committed NAME: README's picture is what the program draws: its size on every system, and all of it where
# gnuplot and the fonts are those that have drawn README's English picture.
drawn_alike=unknown
png_size() { od -An -tx1 -j16 -N8 "$1"; }
compares_with_committed() {
    that "size of plots/$1" [ "$(png_size out/skip_connection.png)" = "$(png_size "$KAERU_PLOTS/$1")" ]
    case $drawn_alike in
    unknown) if cmp -s out/skip_connection.png "$KAERU_PLOTS/$1"; then drawn_alike=yes; else drawn_alike=no; fi ;;
    yes) same out/skip_connection.png "$KAERU_PLOTS/$1" ;;
    esac
}
if [ "${SHORT-}" != yes ]; then
    other=$program program=$first
    expect 0 '' '' --language en
    lines_of_first 'without f(x)' 'with x + f(x)' 'with a skip connection' 'smaller with it for 3 of 3 seeds' \
        'skip_connection --depth 16' 'skip_connection --controls' 'run.sh page'
    if command -v gnuplot >/dev/null; then
        grep '^picture: ' stdout >pictures
        echo 'picture: out/skip_connection.png, out/skip_connection.svg' >want; same want pictures
        that "title" grep -q '>Loss with and without a skip connection<' out/skip_connection.svg
        that "legend" [ "$(grep -cE '<text>with(out f\(x\)| x \+ f\(x\))</text>' out/skip_connection.svg)" -eq 2 ]
        compares_with_committed skip_connection.png
    fi
    mv stdout first_output
    cp out/skip_connection.csv first.csv
    program=$other
    expect 0 '' '' --language en
    same first_output stdout
    same first.csv out/skip_connection.csv
    program=$first
    expect 0 '' '' --language ja
    lines_of_first 'なし f(x)' 'あり x + f(x)' 'スキップ接続がある場合が' 'skip_connection --depth 16' 'run.sh page'
    if command -v gnuplot >/dev/null; then
        that "Japanese title" grep -q '>スキップ接続がある場合とない場合の損失の比較<' out/skip_connection.svg
        compares_with_committed ja/skip_connection.png
    fi
    # It is built of what it needs.
    build=$(dirname "$first")/..
    if command -v ninja >/dev/null && [ -f "$build/build.ninja" ]; then
        ninja -C "$build" -t commands examples/first >commands 2>/dev/null
        that "at most 110 commands build it: $(wc -l <commands)" [ "$(wc -l <commands)" -le 110 ]
        that "commands" grep -q skip_connection commands
    fi
    program=$other
fi

# ---- the experiment --------------------------------------------------------------------------------------------------

# The ranges of 200 runs of the same experiment in PyTorch, widened by half their distance from the mean.
bands() {
    awk -F, '
        function within(x, low, high) { if (!(x >= low && x <= high)) { print "step " $1 ": " x; bad = 1 } }
        $1 == "0"  { within($2, 0.92, 1.24);   within($3, 0.029, 0.145);   seen++ }
        $1 == "10" { within($2, 0.69, 0.95);   within($3, 0.009, 0.037);   seen++ }
        $1 == "50" { within($2, 0.12, 0.26);   within($3, 0.0017, 0.0057); seen++ }
        $1 == "99" { within($2, 0.0157, 0.035); within($3, 0.0006, 0.0028); seen++ }
        END { exit bad || seen != 4 }' "$1"
}
if [ "${SHORT-}" = yes ]; then seeds=0; else seeds='0 1 2'; fi
for seed in $seeds; do
    expect 0 '' '' --depth 0 --seeds 1 --seed $seed --out bands
    if bands bands/skip_connection.csv; then ok; else wrong "losses with seed $seed"; fi
done

summary examples
