#!/bin/sh
# test_lessons.sh PROGRAMS PLOTS: each lesson in PROGRAMS, in a short form: what it says, that its data is there and shows
# what the lesson claims, the same bytes on any number of threads, and that its pictures are drawn.

# shellcheck disable=SC2016 # what is in single quotes is for awk
programs=$(cd "$1" && pwd) || exit 1
KAERU_PLOTS=$(cd "$2" && pwd) || exit 1
export KAERU_PLOTS
passed=0
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
command -v gnuplot >/dev/null || echo "gnuplot is not here: pictures not tried"

ok() { passed=$((passed + 1)); }
wrong() { failed=$((failed + 1)); echo "FAILED: $name: $*"; }

# lesson NAME [ARGUMENT...]: runs it into the folder NAME, with two numbers of threads.
lesson() {
    name=$1
    shift
    "$programs/$name" --help >help || wrong "--help"
    for threads in 1 3; do
        if LC_ALL=C.UTF-8 "$programs/$name" "$@" --threads $threads --out "$name.$threads" >stdout 2>stderr </dev/null; then
            ok
        else
            wrong "status $? with $*"
            cat stderr
        fi
        if [ -s stderr ]; then wrong "words on stderr"; cat stderr; else ok; fi
    done
    data=
}

# says TEXT: in what it prints
says() { if grep -qF -- "$1" stdout; then ok; else wrong "'$1' missing on stdout"; fi; }

# has FILE.csv HEADER: the data is there under this header, which --help tells, and is the same for all threads
has() {
    data=$name.1/$1
    if [ "$(head -n 1 "$data")" = "$2" ]; then ok; else wrong "header of $1"; fi
    if tr '\n' ' ' <help | grep -qF "$1 ($2"; then ok; else wrong "--help does not tell $1 ($2"; fi
    if cmp -s "$data" "$name.3/$1"; then ok; else wrong "$1 depends on the number of threads"; fi
}

# shows "CLAIM" AWK: a program that reads the data (without its header) and ends with `exit` 0 if the claim holds
shows() {
    if tail -n +2 "$data" | awk -F, "function abs(x) { return x < 0 ? -x : x } $2"; then ok; else wrong "not so: $1"; fi
}

# draws NAME...: pictures
draws() {
    command -v gnuplot >/dev/null || return
    for picture in "$@"; do
        for format in png svg; do
            if [ -s "$name.1/$picture.$format" ]; then ok; else wrong "no $picture.$format"; fi
        done
    done
}

lesson positions --width 16 --length 30
says 'repeats after 6.2832 positions'
has positions.csv position,dimension,value
shows 'row 0 is 0, 1, 0, 1' '$1 == 0 && $3 != $2 % 2 { bad = 1 } END { exit bad || NR != 480 }'
has positions_products.csv i,j,product
shows 'products are symmetric and 8 on the diagonal' \
    '{ p[$1, $2] = $3 } $1 == $2 && abs($3 - 8) > 1e-5 { bad = 1 }
     END { for (i = 0; i < 30; i++) for (j = 0; j < i; j++) if (abs(p[i, j] - p[j, i]) > 1e-5) bad = 1; exit bad || NR != 900 }'
has positions_theory.csv distance,theory,measured
shows 'theory and measurement agree' 'abs($2 - $3) > 1e-4 { bad = 1 } END { exit bad || NR != 30 }'
draws positions positions_products

echo "lessons: $passed passed, $failed failed"
[ $failed -eq 0 ]
