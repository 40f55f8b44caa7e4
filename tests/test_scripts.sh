#!/bin/sh
# test_scripts.sh ROOT: the command lines of the scripts: help on stdout with status 0, wrong use on stderr with status
# 2; and that a command which failed can be copied from the message.

root=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
program=/bin/sh
# shellcheck source=tests/expect.sh
. "$root/tests/expect.sh"

# ends STATUS STREAM "FIRST WORDS" SCRIPT ARGUMENT...: with these words on stdout or stderr, and nothing on the other.
ends() {
    want=$1 stream=$2 words=$3
    shift 3
    case $stream in stdout) other=stderr ;; *) other=stdout ;; esac
    sh "$@" >stdout 2>stderr </dev/null
    status=$?
    that "status $status, expected $want: $*" [ $status -eq "$want" ]
    case $(head -n 1 "$stream") in "$words"*) ok ;; *) wrong "'$words' missing on $stream: $*" ;; esac
    that "words on $other: $*" [ ! -s "$other" ]
}

for script in examples/run.sh tests/run.sh tests/trust.sh tests/fresh.sh; do
    ends 0 stdout "usage: sh $script" "$root/$script" --help
    ends 0 stdout "usage: sh $script" "$root/$script" -h
    ends 2 stderr "$script: there is no " "$root/$script" --nonsense
    that "usage after the complaint: $script" grep -qF "usage: sh $script" stderr
done
ends 2 stderr 'usage: sh tests/trust.sh' "$root/tests/trust.sh"
for count in 0 08 x 9999999999; do
    ends 2 stderr "tests/trust.sh: '$count' is not a count" "$root/tests/trust.sh" kills $count
done
ends 2 stderr "tests/trust.sh: unexpected argument '6'" "$root/tests/trust.sh" graphs 5 6
ends 2 stderr 'tests/trust.sh: guard takes no count' "$root/tests/trust.sh" guard 3 4
ends 2 stderr 'There is no example nonsense.' "$root/examples/run.sh" nonsense
ends 0 stdout 'All pictures of the lessons' "$root/examples/run.sh" gallery --help
ends 2 stderr "gallery: unexpected argument '--nonsense'" "$root/examples/run.sh" gallery --nonsense
ends 2 stderr "tests/fresh.sh: unexpected argument 'b'" "$root/tests/fresh.sh" a b
# A user who is not root, by a program `id` of our own. What was not tried is a failure where CI=true only.
mkdir not_root
printf '#!/bin/sh\necho 1000\n' >not_root/id
chmod +x not_root/id
for status_and_ci in '77 false' '1 true'; do
    # shellcheck disable=SC2016
    ends "${status_and_ci% *}" stderr 'tests/fresh.sh: no bare machine was tried: it takes root to make one' \
        -c 'PATH=$PWD/not_root:$PATH CI=$2 exec sh "$1" --short' sh "$root/tests/fresh.sh" "${status_and_ci#* }"
done

# A command that failed is shown so that it can be copied: the words come out again as they were.
# shellcheck source=tests/setup.sh disable=SC2016
(. "$root/tests/setup.sh"; quietly false 'a folder' "it's" '' plain/path.c '*' '$x' 'a\b') >stdout 2>stderr
that "status of a command that failed" [ $? -eq 1 ]
sed -n 's/^This failed: false //p' stderr >typed
that "what needs no quotes has none" grep -qF ' plain/path.c ' typed
(eval "set -- $(cat typed)" && printf '<%s>' "$@") >words
# shellcheck disable=SC2016
printf '<%s>' 'a folder' "it's" '' plain/path.c '*' '$x' 'a\b' >wanted
same wanted words

summary scripts
