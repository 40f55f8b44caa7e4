# expect.sh: functions for the tests of command lines. A test sets $program, reads this file with `.`, and ends with
# `summary`. This file makes a temporary folder, changes to it and removes it at the end. Its name contains spaces and letters
# beyond ASCII, since the programs must work with them.
# shellcheck shell=sh disable=SC2034,SC2154

KAERU_WARN=1                    # none of the programs gets a warning: it would be text on stderr
export KAERU_WARN
[ -x "$program" ] || { echo "no program $program"; exit 1; }
passed=0
failed=0
folder=$(mktemp -d "${TMPDIR:-/tmp}/kaeru tést 試験 XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

ok() { passed=$((passed + 1)); }
wrong() { failed=$((failed + 1)); echo "FAILED: $*"; }

# expect STATUS "TEXT IN STDOUT" "TEXT IN STDERR" ARGUMENT...: runs the program and leaves the files stdout and stderr. An empty
# text means that stderr must be empty, or that stdout does not matter. Standard input is the file $input; $with is a setting
# of the environment.
input=/dev/null
with=LC_ALL=C
expect() {
    want=$1 out=$2 err=$3
    shift 3
    env "$with" "$program" "$@" >stdout 2>stderr <"$input"
    status=$?
    if [ $status -ne "$want" ]; then
        wrong "status $status, expected $want: $*"
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
# that "WHAT" COMMAND...: the command succeeds.
that() {
    what=$1
    shift
    if "$@"; then ok; else wrong "$what"; fi
}
# refuses FOLDER "TEXT IN STDERR" ARGUMENT...: the program ends with status 1 and leaves the names and the files of the folder
# as they were.
refuses() {
    untouched=$1 err=$2
    shift 2
    find "$untouched" -type f -exec cksum {} + | sort >files_before
    find "$untouched" | sort >names_before
    expect 1 '' "$err" "$@"
    find "$untouched" -type f -exec cksum {} + | sort >files_after
    find "$untouched" | sort >names_after
    same files_before files_after
    same names_before names_after
}
# same FILE FILE, differ FILE FILE
same() { if cmp -s "$1" "$2"; then ok; else wrong "$1 and $2 differ"; fi; }
differ() { if cmp -s "$1" "$2"; then wrong "$1 and $2 are the same"; else ok; fi; }
# has FILE: it is there and not empty
has() { if [ -s "$1" ]; then ok; else wrong "no $1"; fi; }
lacks() { if [ ! -e "$1" ]; then ok; else wrong "$1 should not be there"; fi; }

# japanese FILE.svg [WORDS]: the picture has Japanese captions. The only words in the Latin alphabet are names, terms that stay
# and those that the regular expression WORDS names: the words of the data. Without a Japanese font a line in English says so.
no_font='\(no font has Japanese letters\|日本語のフォントがない\)'
stays='Adam|BERT|BLEU|GELU|GPT|GRU|ID|KL|PE|PyTorch|ReLU|Seq|Transformer|One|Hot|annotated|base|eps|nat|norm|post|pre|std'
stays="$stays|[a-z][0-9]|cos|dw|ex|ln|log|lr|sin|softmax|sqrt"
japanese() {
    sed -n '/Boxes stand for letters/d; /<text/{s/<[^>]*>//g; s/&[a-z]*;/ /g; p;}' "$1" |
        grep -oE '[A-Za-z_][A-Za-z0-9_]+(\(\))?' | grep -vxE "$stays|${2:-$stays}" >english_words
    that "English in $1: $(tr '\n' ' ' <english_words)" [ ! -s english_words ]
    that "no Japanese in $1" grep -q 'の\|を\|が\|は\|に\|逆\|順' "$1"
}

# speaks_japanese FILE: a printed text is Japanese: without three English words in a row, beside quotations and the names
# of commands.
speaks_japanese() {
    sed "s/「[^」]*」//g; s/'[^']*'//g; s/translate [a-z]*//g; s/\(sudo [a-z]*\|brew\|winget\) install [A-Za-z.-]*//g" "$1" |
        grep -E '(^|[^/A-Za-z_.-])[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}([^/A-Za-z_.]|$)' >english_lines
    that "English in $1: $(head -n 1 english_lines)" [ ! -s english_lines ]
    that "no Japanese in $1" grep -q 'の\|を\|が\|は\|に\|ま' "$1"
}

# killed FILE FIRST LAST ARGUMENT...: starts a run and kills it when the file has the row FIRST. If the file then already has
# the row LAST (on a busy machine), the test removes the folder and starts again.
killed() { ended_by KILL 137 "$@"; }
# stopped FILE FIRST ARGUMENT...: the same by SIGTERM, after which the run saves a checkpoint and ends with status 75.
stopped() {
    _file=$1 _first=$2
    shift 2
    ended_by TERM 75 "$_file" "$_first" none "$@"
}
ended_by() {
    signal=$1 want=$2 file=$3 first=$4 last=$5
    shift 5
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf "$(dirname "$file")"
        (
            LC_ALL=C "$program" "$@" >/dev/null 2>&1 &
            child=$!
            while ! grep -q "^$first," "$file" && kill -0 $child; do sleep 0.01; done
            kill "-$signal" $child
            wait $child
        ) 2>/dev/null
        [ $? -eq "$want" ] || continue
        if [ "$signal" = TERM ] || { [ -e "$file" ] && ! grep -q "^$last," "$file"; }; then ok; return; fi
    done
    wrong "each of $attempt runs ended before SIG$signal: $*"
}

# links FOLDER: makes each file of the folder, but no picture, private and a symbolic link to a file of FOLDER_behind.
links() {
    (
        mkdir "$1_behind"
        cd "$1" && find . -type f ! -name '*.png' ! -name '*.svg' | while read -r file; do
            behind=$(echo "$file" | sed 's|^\./||; s|/|_|g')
            chmod 600 "$file"
            mv "$file" "$folder/$1_behind/$behind"
            ln -s "$folder/$1_behind/$behind" "$file"
        done
    )
}
# still_links FOLDER: after a program has written all of these files again, they are links, and no other user can read them.
still_links() {
    that "links of $1 stay" [ -z "$(find "$1" -type f ! -name '*.png' ! -name '*.svg')" ]
    that "there are links in $1" [ -n "$(find "$1" -type l)" ]
    that "files of $1 stay private" [ -z "$(find "$1_behind" -type f ! -perm 600)" ]
    that "no link of $1 dangles" [ -z "$(find -L "$1" -type l)" ]
    that "nothing else is behind the links of $1" [ "$(find "$1" -type l | wc -l)" -eq "$(find "$1_behind" -type f | wc -l)" ]
}
# edited FILE TO [OLD NEW]: copies a checkpoint without its hash, as another program or an earlier version writes it; a text of
# its header, which matches the regular expression OLD, is replaced.
edited() {
    python3 - "$@" <<'END'
import json
import re
import sys
with open(sys.argv[1], "rb") as file:
    data = file.read()
size = int.from_bytes(data[:8], "little")
header = json.loads(data[8:8 + size])
del header["__metadata__"]["kaeru.hash"]
text = json.dumps(header, separators=(",", ":"))
if len(sys.argv) > 3:
    text, n = re.subn(sys.argv[3], sys.argv[4], text)
    assert n > 0
with open(sys.argv[2], "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text.encode() + data[8 + size:])
END
}

# summary NAME: prints the numbers; the status is 0 if nothing failed.
summary() {
    echo "$1: $passed passed, $failed failed"
    [ $failed -eq 0 ]
}
