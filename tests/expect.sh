# expect.sh: functions for the tests of command lines. A test sets $program, reads this file with `.` and ends with
# `summary`. This file makes a temporary folder, removed at the end, and changes to it. The folder's name has spaces and
# letters beyond ASCII, which must not matter.
# shellcheck shell=sh disable=SC2034,SC2154

[ -x "$program" ] || { echo "no program $program"; exit 1; }
passed=0
failed=0
folder=$(mktemp -d "${TMPDIR:-/tmp}/kaeru tést 試験 XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

ok() { passed=$((passed + 1)); }
wrong() { failed=$((failed + 1)); echo "FAILED: $*"; }

# expect STATUS "TEXT IN STDOUT" "TEXT IN STDERR" ARGUMENT...: runs the program; its output is in the files stdout and
# stderr. With an empty third argument stderr must be empty; with an empty second argument stdout can be anything. $with is
# a setting of the program's environment, $input the file of its standard input.
with=LC_ALL=C
input=/dev/null
expect() {
    expected=$1 out=$2 err=$3
    shift 3
    env "$with" "$program" "$@" >stdout 2>stderr <"$input"
    status=$?
    if [ $status -ne "$expected" ]; then
        wrong "status $status, expected $expected: $*"
        cat stderr
    elif [ -n "$err" ] && [ "$(wc -l <stderr)" -ne 1 ]; then
        wrong "not one line on stderr: $*"
        cat stderr
    elif [ -n "$err" ] && ! grep -qF -- "$err" stderr; then
        wrong "'$err' missing on stderr: $*"
        cat stderr
    elif [ -z "$err" ] && [ -s stderr ]; then
        wrong "unexpected text on stderr: $*"
        cat stderr
    elif [ -n "$out" ] && ! grep -qF -- "$out" stdout; then
        wrong "'$out' missing on stdout: $*"
    else
        ok
    fi
}
# that "CLAIM" COMMAND...: the command must succeed.
that() {
    claim=$1
    shift
    if "$@"; then ok; else wrong "$claim"; fi
}
# same FILE FILE, differ FILE FILE: the contents must be the same, must differ.
same() { if cmp -s "$1" "$2"; then ok; else wrong "$1 and $2 differ"; fi; }
differ() { if cmp -s "$1" "$2"; then wrong "$1 and $2 are the same"; else ok; fi; }
# has FILE, lacks FILE: the file must exist and have content, must not exist.
has() { if [ -s "$1" ]; then ok; else wrong "no $1"; fi; }
lacks() { if [ ! -e "$1" ]; then ok; else wrong "$1 should not be there"; fi; }

# killed FILE FIRST LAST ARGUMENT...: starts a run and kills it when the row FIRST is in the CSV file. On a busy machine the
# run can reach the row LAST before the kill; then its folder is removed and it starts again.
killed() {
    file=$1 first=$2 last=$3
    shift 3
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf "$(dirname "$file")"
        (
            LC_ALL=C "$program" "$@" >/dev/null 2>&1 &
            child=$!
            while ! grep -q "^$first," "$file" && kill -0 $child; do sleep 0.01; done
            kill -9 $child
            wait $child
        ) 2>/dev/null
        if [ $? -eq 137 ] && [ -e "$file" ] && ! grep -q "^$last," "$file"; then ok; return; fi
    done
    wrong "each of $attempt runs ended before it was killed: $*"
}

# summary NAME: prints the counts; status 0 if nothing failed.
summary() {
    echo "$1: $passed passed, $failed failed"
    [ $failed -eq 0 ]
}
