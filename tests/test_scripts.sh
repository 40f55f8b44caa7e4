#!/bin/sh
# test_scripts.sh ROOT: the command lines of the scripts: --help prints to stdout with status 0, wrong options to stderr
# with status 2. The message of a failed command has the quotes that a shell needs. The C sources have one brace style. No line
# of a source is longer than 128 characters.

root=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
program=/bin/sh
# shellcheck source=tests/expect.sh
. "$root/tests/expect.sh"

# ends STATUS STREAM "FIRST WORDS" SCRIPT ARGUMENT...: the script must end with this status and print these words first to
# stdout or stderr (STREAM), and nothing to the other.
ends() {
    expected=$1 stream=$2 words=$3
    shift 3
    case $stream in stdout) other=stderr ;; *) other=stdout ;; esac
    sh "$@" >stdout 2>stderr </dev/null
    status=$?
    that "status $status, expected $expected: $*" [ $status -eq "$expected" ]
    case $(head -n 1 "$stream") in "$words"*) ok ;; *) wrong "'$words' missing on $stream: $*" ;; esac
    that "text on $other: $*" [ ! -s "$other" ]
}

for script in examples/run.sh tests/run.sh tests/trust.sh tests/fresh.sh tests/adopt.sh \
    tests/machine.sh tests/windows.sh tools/count.sh packaging/release.sh; do
    ends 0 stdout "usage: sh $script" "$root/$script" --help
    ends 0 stdout "usage: sh $script" "$root/$script" -h
    ends 2 stderr "$script: there is no " "$root/$script" --nonsense
    that "usage after the message: $script" grep -qF "usage: sh $script" stderr
done
ends 2 stderr 'usage: sh tests/trust.sh' "$root/tests/trust.sh"
for count in 0 08 x 9999999999; do
    ends 2 stderr "tests/trust.sh: '$count' is not a count" "$root/tests/trust.sh" kills $count
done
ends 2 stderr "tests/trust.sh: unexpected argument '6'" "$root/tests/trust.sh" graphs 5 6
ends 2 stderr 'tests/trust.sh: guard takes no count' "$root/tests/trust.sh" guard 3 4
ends 2 stderr "tests/trust.sh: '0' is not a count" "$root/tests/trust.sh" planted 0
ends 2 stderr 'tools/count.sh: there is no option --output=written' "$root/tools/count.sh" --output=written
that "a tag that begins with - reaches no command" [ ! -e written ]
ends 2 stderr "tools/count.sh: unexpected argument 'b'" "$root/tools/count.sh" a b
ends 2 stderr 'tools/count.sh: there is no tag nonsense' "$root/tools/count.sh" nonsense
that "one line for an unknown tag" [ "$(wc -l <stderr)" -eq 1 ]
# A copy inside another repository, with a tag of that one.
mkdir -p other/copy/tools other/copy/autograd other/copy/nn other/copy/models
cp "$root/tools/count.sh" other/copy/tools
for folder in autograd nn models; do echo 'int x;' >other/copy/$folder/x.c; done
git -C other init -q
git -C other -c user.name=a -c user.email=a@b commit -q --allow-empty -m a
git -C other tag theirs
ends 0 stdout 'lines of code' other/copy/tools/count.sh
that "the tag of another repository counts" [ "$(head -n 1 stdout)" = 'lines of code' ]
# shellcheck disable=SC2016
ends 0 stdout 'usage: mutate.py' -c 'exec python3 "$1" --help' sh "$root/tests/mutate.py"
# Each entry of mutations.txt fits the sources.
# shellcheck disable=SC2016
ends 0 stdout autograd/ -c 'exec python3 "$1" --list 2' sh "$root/tests/mutate.py"
ends 2 stderr 'There is no example nonsense (--list lists them).' "$root/examples/run.sh" nonsense
for n in '' 0 x 10000; do
    ends 2 stderr "examples/run.sh: --processes '$n': expected 1 to 9999" "$root/examples/run.sh" --processes "$n" gpt
done
ends 2 stderr 'There is no example nonsense (--list lists them).' "$root/examples/run.sh" --processes 2 nonsense
ends 0 stderr 'spiral has no options' "$root/examples/run.sh" spiral --help
ends 2 stderr 'spiral has no options' "$root/examples/run.sh" spiral --out elsewhere
ends 0 stdout 'All pictures of the lessons' "$root/examples/run.sh" gallery --help
ends 2 stderr "gallery: unexpected argument '--nonsense'" "$root/examples/run.sh" gallery --nonsense
ends 2 stderr "tests/fresh.sh: unexpected argument 'b'" "$root/tests/fresh.sh" a b
# A user who is not root: the PATH has another program `id`. Only with CI=true this is a failure.
mkdir not_root
printf '#!/bin/sh\necho 1000\n' >not_root/id
chmod +x not_root/id
for status_and_ci in '77 false' '1 true'; do
    # shellcheck disable=SC2016
    ends "${status_and_ci% *}" stderr 'tests/fresh.sh: not tried: only root can make a bare system' \
        -c 'PATH=$PWD/not_root:$PATH CI=$2 exec sh "$1" --short' sh "$root/tests/fresh.sh" "${status_and_ci#* }"
done

# A shell that reads the message of a failed command gets the same words.
# shellcheck source=tests/setup.sh disable=SC2016
(. "$root/tests/setup.sh"; quietly false 'a folder' "it's" '' plain/path.c '*' '$x' 'a\b') >stdout 2>stderr
that "status of a command that failed" [ $? -eq 1 ]
sed -n 's/^This failed: false //p' stderr >typed
that "no quotes without need" grep -qF ' plain/path.c ' typed
(eval "set -- $(cat typed)" && printf '<%s>' "$@") >words
# shellcheck disable=SC2016
printf '<%s>' 'a folder' "it's" '' plain/path.c '*' '$x' 'a\b' >expected
same expected words

# none MESSAGE AWK_CONDITION: no line of the C sources fulfills it; `last` is the line before.
none() {
    find "$root/autograd" "$root/nn" "$root/models" "$root/examples" "$root/tests" -name '*.[ch]' \
        -exec awk "$2"' { print FILENAME ":" FNR } { last = $0 }' {} + >stdout
    that "$1: $(head -n 1 stdout)" [ ! -s stdout ]
}
none "the brace of a function belongs on its own line" '/^[A-Za-z_][A-Za-z0-9_ *]*\([^;{]*\) {$/'
none "a brace belongs at the end of the line before" '/^ +{$/'
none "else belongs on the line of the closing brace" 'last ~ /^ *}$/ && /^ *else/'
none "a tab" '/\t/'
none "spaces at the end of a line" '/ $/'

# In UTF-8 every character has one byte that is not in 80..bf.
(cd "$root" && find autograd docs examples models nn packaging plots tests \
    \( -name '*.[ch]' -o -name '*.def' -o -name '*.py' -o -name '*.sh' -o -name '*.js' -o -name '*.gp' -o -name meson.build \) \
    -exec env LC_ALL=C awk '{ gsub(/[\200-\277]/, "") } length > 128 { print FILENAME ":" FNR }' {} +) >stdout
that "a line of more than 128 characters: $(head -n 1 stdout)" [ ! -s stdout ]

summary scripts
