#!/bin/sh
# test_skip_lab.sh PROGRAM SKIP_CONNECTION ROOT: skip_lab: its messages; its rows f(x) and x + f(x) are those of
# skip_connection; the same bytes with any number of threads, on each instruction set and after a kill; each row is short
# enough to copy.

# shellcheck disable=SC2016,SC2086 # programs of awk; lists of words

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
skip_connection=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
root=$(cd "$3" && pwd)
KAERU_PLOTS=$root/plots
export KAERU_PLOTS
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

small='--examples 40 --hidden 8 --width 8 --context 8 --batch 2 --depth 3 --steps 6 --seeds 2 --products 3'

# ---- messages --------------------------------------------------------------------------------------------------------

expect 2 '' "--rows skip,no: expected a list of all,plain,skip,scaled," --rows skip,no
expect 2 '' "--rows ,: expected a list of all," --rows ,
expect 2 '' "--rows no-norm: --network ffn has none of these rows" --network ffn --rows no-norm
expect 2 '' "--network rnn: expected ffn, gpt or both" --network rnn
expect 2 '' "--network ffn,gpt: expected ffn, gpt or both" --network ffn,gpt
expect 2 '' "--width is 6, expected a multiple of 4, the number of heads" --width 6
expect 2 '' "--init hi: expected default, he, xavier or small-last" --init hi
lacks out

# ---- the experiment of skip_connection ---------------------------------------------------------------------------------

# The least and the largest last loss of f(x) and of x + f(x), with one block and with four; and the gradient and the signal at
# each block, for which skip_connection writes more digits.
with=PATH=none                                  # nothing is drawn, which takes longer than these networks
identity='--network ffn --rows plain,skip --rate 0.001 --target identity --hidden 8 --steps 30'
for seeds in 1 3; do
    "$skip_connection" --rows 50 --deep-rows 60 --depth 4 --hidden 8 --steps 30 --seeds $seeds --out main >/dev/null 2>&1
    expect 0 '' '' $identity --examples 50 --depth 1 --seeds $seeds --out shallow
    expect 0 '' '' $identity --examples 60 --depth 4 --seeds $seeds --out deep
    awk -F, 'END { print $4 "," $5; print $6 "," $7 }' main/skip_connection.csv >want
    awk -F, 'NR > 1 { print $8 "," $9 }' shallow/skip_lab.csv >got; same want got
    awk -F, 'END { print $5 "," $6; print $7 "," $8 }' main/skip_depth.csv >want
    awk -F, 'NR > 1 { print $8 "," $9 }' deep/skip_lab.csv >got; same want got
    awk -F, 'NR > 1 { print ($1 > 0), $2, $3, $5; print ($1 > 0), $2, $4, $6 }' main/skip_gradient.csv >want
    for when in 0 1; do
        awk -F, -v when=$when 'NR > 1 && $3 == 0 && /plain/ { plain[$4] = $(5 + when) " " $(7 + when) }
            NR > 1 && $3 == 0 && /skip/ { print when, $4, plain[$4]; print when, $4, $(5 + when), $(7 + when) }' \
            deep/skip_lab_blocks.csv
    done >got
    that "the insides" [ "$(wc -l <want)" -eq 20 ]
    if paste -d ' ' want got | awk 'function near(a, b) { return a < b * 1.0000002 && b < a * 1.0000002 }
        { if ($1 != $5 || $2 != $6 || !near($3, $7) || !near($4, $8)) bad = 1 } END { exit bad }'
    then ok; else wrong "insides"; fi
done

# ---- the largest eigenvalue --------------------------------------------------------------------------------------------

# With a = 0 and the target x, the loss of x + a f(x) has one second derivative that is not 0: that of a, twice the mean of
# f(x)^2. The first loss of x + f(x) is that mean.
expect 0 '' '' --network ffn --rows skip,rezero --rate 0.001 --target identity --depth 1 --steps 1 --seeds 1 --out curvature
if awk -F, '/skip/ { f = $7 } /rezero/ { h = $28 } END { d = h / (2 * f) - 1; exit !(h > 0 && d < 1e-5 && d > -1e-5) }' \
    curvature/skip_lab.csv; then ok; else wrong "the eigenvalue of x + a f(x)"; fi

# ---- the same bytes ----------------------------------------------------------------------------------------------------

with=LC_ALL=C
expect 0 'data:    one/skip_lab.csv' '' $small --threads 1 --out one
that "all rows" [ "$(cut -d, -f1,2 one/skip_lab.csv | sort -u | wc -l)" -eq 29 ]
that "numbers alone" [ "$(sed 1d one/skip_lab.csv | grep -cE 'nan|inf')" -le 28 ]
that "all blocks" [ "$(sed 1d one/skip_lab_blocks.csv | wc -l)" -eq $((14 * 2 * 4 + 14 * 2 * 7)) ]
agrees() {
    for file in skip_lab skip_lab_blocks skip_lab_runs; do
        same "one/$file.csv" "$1/$file.csv"
    done
}
for picture in skip_lab.png skip_lab.svg; do ! command -v gnuplot >/dev/null || has one/$picture; done
with=PATH=none
expect 0 '' '' $small --threads 2 --out two
agrees two
for isa in portable avx2 avx512f; do
    [ $isa = portable ] || grep -qw $isa /proc/cpuinfo || continue
    with=KAERU_ISA=${isa%f}
    expect 0 '' '' $small --network gpt --rows skip,stochastic,no-norm --out "$isa"
    grep -E '^"(skip|stochastic|no-norm)",1' one/skip_lab.csv >want
    sed 1d "$isa/skip_lab.csv" >got; same want got
    expect 0 '' '' $small --network ffn --rows plain,dense,post-norm --out "$isa"
    grep -E '^"(plain|dense|post-norm)",0' one/skip_lab.csv >want
    sed 1d "$isa/skip_lab.csv" >got; same want got
done

# Each option changes the numbers.
base="$small --rows skip --rate 0.01"
expect 0 '' '' $base --out base
for option in '--depth 2' '--steps 5' '--seeds 1' '--seed 1' '--rate 0.02' '--warmup 3' '--init he' '--optimizer sgd' \
    '--target minus' '--goal 9' '--examples 30' '--hidden 7' '--width 12' '--context 9' '--batch 3' '--products 2' \
    '--network gpt' '--rows plain'; do
    expect 0 '' '' $base $option --out other
    differ base/skip_lab.csv other/skip_lab.csv
done

# In Japanese.
numbers_of() { grep -oE '[0-9]+\.[0-9]+(e[-+][0-9]+)?' "$1"; }
with=LC_ALL=C.UTF-8
expect 0 '' '' $small --language en --out again
numbers_of stdout >want
expect 0 '' '' $small --language ja --out ja
numbers_of stdout >got; same want got
speaks_japanese stdout
! command -v gnuplot >/dev/null || japanese ja/skip_lab.svg 'FFN|[a-z]+-?[a-z]+'
expect 0 '' '' --help --language ja
speaks_japanese stdout
with=PATH=none

# After a kill the program goes on; a program that has ended begins again; --fresh forgets; other options have other runs.
killed killed/skip_lab_runs.csv.part '[0-9]*,0,5' '[0-9]*,1,9' $small --out killed
expect 0 'Goes on with the runs of a program that was stopped' '' $small --out killed
agrees killed
expect 0 '' '' $small --out killed
that "a new beginning" sh -c '! grep -q "Goes on" stdout'
killed killed/skip_lab_runs.csv.part '[0-9]*,0,5' '[0-9]*,1,9' $small --out killed
expect 0 '' '' $small --fresh --out killed
that "a fresh beginning" sh -c '! grep -q "Goes on" stdout'
agrees killed
killed killed/skip_lab_runs.csv.part '[0-9]*,0,5' '[0-9]*,1,9' $small --init he --out killed
expect 0 'Goes on with the runs' '' $small --out killed
same one/skip_lab.csv killed/skip_lab.csv

# ---- rows to copy ------------------------------------------------------------------------------------------------------

# Each row has a struct in one line and a forward function of at most 25 lines.
awk '/^static Tensor \*[a-z_]*\([A-Z][A-Za-z]* \*m, Tensor \*x\)$/ { name = $3; first = NR }
     /^}/ && name { print NR - first + 1, name; name = "" }' "$root/examples/skip_lab/rows.c" >forward
that "the forward functions" [ "$(wc -l <forward)" -eq "$(grep -c '^NN_FORWARD' "$root/examples/skip_lab/rows.c")" ]
that "at least thirteen" [ "$(wc -l <forward)" -ge 13 ]
that "at most 25 lines" awk '$1 > 25 { exit 1 }' forward
grep '^typedef struct { Module module; .*;$' "$root/examples/skip_lab/rows.c" >structs
that "structs of one line" [ "$(wc -l <structs)" -eq "$(wc -l <forward)" ]

summary skip_lab
