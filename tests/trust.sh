#!/bin/sh
# Shows what kaeru promises, one row of README's table at a time: sh tests/trust.sh NAME [COUNT]
# shellcheck disable=SC2317 # functions are called by name

usage() {
    cat <<'END_OF_TEXT'
usage: sh tests/trust.sh NAME [COUNT]

  graphs [100000]      random graphs: gradients against numerical ones, in double, and without any memory used twice
  guard                every test with sentinels around each buffer and poison in what was given back (KAERU_GUARD=1)
  failures             each request for memory and each call to a file fails, in whole runs of a Transformer and a GPT
  kills [500]          as many kills of a Transformer's and of a GPT's training at random moments, and of saving; a tenth
                       as many of the programs gpt and of translate, their rows compared, too
  hashes               SHA-256 of what is trained on 1, 2, 3, 4, 8 threads, every processor path, by cc and clang
  fuzz [50000000]      as many inputs for the readers of files and command lines, under address and undefined behavior
                       sanitizers; needs clang, and compares with Jansson where that is installed
  planted              the hunts for bad files, failures and kills on sources with a mistake planted, which they must
                       find, and without it, which they must pass; needs clang (graphs and guard have theirs among the
                       tests)
  portable             builds and passes without optimization and, where Debian's packages can be had, as 32-bit x86 and
                       on AArch64 under qemu-user; the hashes are the same there
  all                  all of these; hours

COUNT, 1 or more, replaces the number in brackets. The last line says what was reached; the exit status is 0 if the promise
holds, 1 if not, 2 if the command line is to blame. More rows: sh tests/run.sh --all (every test as released, under address,
undefined behavior and thread sanitizers, under valgrind, by clang).
END_OF_TEXT
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

# Long runs have no limit in time.
export CK_DEFAULT_TIMEOUT=1000000

# build FOLDER TARGET...: as released, in that folder.
build() {
    _where=$root/$1
    shift
    configure "$_where"
    quietly meson compile -C "$_where" "$@"
}

sha256() { if have sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1; }

# shown COMMAND...: runs it; what it says is shown, and is in $work/log afterwards.
shown() {
    { "$@" 2>&1; echo $? >"$work/status"; } | tee "$work/log"
    return "$(cat "$work/status")"
}

# sum_before WORD: of the numbers before that word in the log.
sum_before() {
    awk -v word="^$1" '{ for (i = 2; i <= NF; i++) if ($i ~ word) n += $(i - 1) } END { print n + 0 }' "$work/log"
}

# ---- the hunts -----------------------------------------------------------------------------------------------------
#
# Each sets `reached`, the figure.

graphs() {
    build build run_tests_double run_tests_float
    double=${1:-100000} float=$(((${1:-100000} + 9) / 10))
    shown env KAERU_GRAPHS="$double" "$root/build/tests/run_tests_double" property &&
        shown env KAERU_GRAPHS="$float" "$root/build/tests/run_tests_float" property || return
    reached="$double random graphs in double and $float in float, 0 wrong"
}

guard() {
    build build run_tests_double run_tests_float
    passed=0
    for precision in float double; do
        shown env KAERU_GUARD=1 "$root/build/tests/run_tests_$precision" |
            awk -v p="$precision" '/^[a-z_0-9]+: [0-9]+ passed/ { print p ", " $0; fflush() }'
        [ "$(cat "$work/status")" -eq 0 ] || { cat "$work/log"; return 1; }
        passed=$((passed + $(sum_before passed,)))
    done
    reached="$passed tests passed with sentinels and poison, 0 failed"
}

failures() {
    build build run_tests_double run_tests_float
    calls=0
    for precision in float double; do
        shown env CK_RUN_CASE=failures KAERU_EVERY_CALL=1 "$root/build/tests/run_tests_$precision" runs || return
        calls=$((calls + $(sum_before calls,)))
    done
    reached="$calls times one request or call failed, alone or with all that followed; nothing lost or leaked"
}

# same_as_straight PROGRAM COLUMNS: the killed run has the same files, and the same rows, their first columns at least.
same_as_straight() {
    for file in "$work/straight/"*.safetensors; do cmp "$file" "$work/killed/${file##*/}" || return; done
    for run in straight killed; do cut -d, -f"1-$2" "$work/$run/$1.csv" >"$work/$run.csv" || return; done
    cmp "$work/straight.csv" "$work/killed.csv"
}

# kill_program PROGRAM COLUMNS OPTION...: a tenth as many kills of the program, each at a random moment.
kill_program() {
    program=$1 columns=$2 wanted=$(((KAERU_KILLS + 9) / 10)) died=0 ends=0
    shift 2
    rm -rf "$work/straight" "$work/killed"
    "$root/build/examples/$program" train "$@" --out "$work/straight" >/dev/null || return
    while :; do
        going=''
        [ ! -e "$work/killed/${program}_last.safetensors" ] || going=--resume
        # shellcheck disable=SC2086 # nothing, or one word
        "$root/build/examples/$program" train "$@" --out "$work/killed" --overwrite $going >/dev/null 2>"$work/error" &
        if [ "$died" -lt "$wanted" ]; then
            sleep "$(awk -v n="$((died + ends))" 'BEGIN { srand(n); print rand() * 0.9 }')"
            kill -9 $! 2>/dev/null
        fi
        wait $! 2>/dev/null
        status=$?
        if [ "$status" -eq 137 ]; then
            died=$((died + 1))
            continue
        fi
        [ "$status" -eq 0 ] || { cat "$work/error"; return 1; }
        same_as_straight "$program" "$columns" || return
        ends=$((ends + 1))
        [ "$died" -lt "$wanted" ] || break
        rm -rf "$work/killed"
    done
    echo "program $program: $died killed, $ends run to the end, each with the weights and rows of the run without kills"
    all=$((all + died))
}

kills() {
    build build run_tests_float gpt translate
    export KAERU_KILLS="${1:-500}"
    all=0
    for suite in runs checkpoint; do
        shown env CK_RUN_CASE=kills "$root/build/tests/run_tests_float" "$suite" || return
        all=$((all + $(sum_before killed,)))
    done
    kill_program gpt 4 --layers 2 --heads 2 --width 16 --context 16 --steps 150 --every 10 --held-out 200 --sample 0 &&
        kill_program translate 5 --layers 1 --width 16 --heads 2 --hidden 32 --warmup 20 --beam 2 --sentences 200 \
            --held-out 20 --epochs 8 --average 2 || return
    reached="$all kills; nothing lost, nothing changed"
}

# hash_with LABEL PATH THREADS COMMAND...: trains both models and notes their hashes.
hash_with() {
    _label=$1 _path=$2 _threads=$3
    shift 3
    for model in transformer gpt; do
        KAERU_ISA=$_path "$@" "$model" "$_threads" "$work/weights" || return
        printf '%-12s %-10s %-9s %d threads  %s\n' "$model" "$_label" "$_path" "$_threads" "$(sha256 "$work/weights")" |
            tee -a "$work/hashes"
    done
}

paths_here() {
    for path in avx512 avx2; do
        ! grep -qw "$(echo "$path" | sed 's/avx512/avx512f/')" /proc/cpuinfo 2>/dev/null || echo "$path"
    done
    echo portable
}

# The figure: as many hashes as models.
count_hashes() {
    for model in transformer gpt; do
        n=$(grep "^$model " "$work/hashes" | awk '{ print $NF }' | sort -u | wc -l)
        echo "$model: trainings $(grep -c "^$model " "$work/hashes"), hashes $((n))"
        [ "$n" -eq 1 ] || return
    done
}

# Which compiler is COMMAND? Clang answers to gcc's names, too.
compiler_is() {
    echo "$(if echo __clang__ | "$@" -E - | tail -n 1 | grep -q 1; then echo clang; else echo gcc; fi) $("$@" -dumpversion)"
}

hashes() {
    need clang
    # shellcheck disable=SC2086 # a command and its first words
    compilers="$(compiler_is ${CC:-cc}) and $(compiler_is clang)"
    for compiler in cc clang; do
        folder=build
        if [ "$compiler" = clang ]; then
            folder=build-clang
            export CC=clang
        fi
        build "$folder" final_weights
        for path in $(paths_here); do
            for threads in 1 2 3 4 8; do
                hash_with "$compiler" "$path" "$threads" "$root/$folder/tests/final_weights" || return
            done
        done
    done
    unset CC
    count_hashes || return
    reached="the same weights from $compilers, on 1, 2, 3, 4 and 8 threads, by $(paths_here | xargs)"
}

# In a thousand inputs, as many for each reader; the fast ones get more. 50 million take an hour of one processor.
fuzz_shares='options:400 safetensors:250 number:200 json:110 json_peer:30 text:8 bpe:2'

fuzz() {
    need clang
    total=${1:-50000000} tried=0 failed=0
    # shellcheck disable=SC2086 # a list of words
    CC=clang configure "$root/build-fuzz" $fuzz_options
    quietly meson compile -C "$root/build-fuzz"
    for share in $fuzz_shares; do
        name=${share%:*}
        target=$root/build-fuzz/tests/fuzz/fuzz_$name
        [ -x "$target" ] || { say "no $name here (it needs Jansson)"; continue; }
        KAERU_FUZZ_RUNS=$((total * ${share#*:} / 1000)) sh "$root/tests/fuzz/fuzz.sh" "$target" \
            "$root/build-fuzz/tests/fuzz/seeds/$name" "$root/build-fuzz/tests/fuzz/found/$name" >"$work/log" ||
            { cat "$work/log"; failed=$((failed + 1)); }
        sed -n 's/ inputs$/& tried/p' "$work/log"
        tried=$((tried + $(sed -n 's/^.*: \([0-9]*\) inputs$/\1/p' "$work/log")))
    done
    reached="$tried inputs, $failed findings"
    [ "$failed" -eq 0 ]
}

# ---- are they able to find something? ------------------------------------------------------------------------------

# hunt SECONDS COMMAND...: there, for so long if it is a search without an end.
hunt() {
    export KAERU_FUZZ_SECONDS="$1"
    shift
    (cd "$copy" && "$@") >"$work/log" 2>&1
}

# plant NAME FILE SED_EXPRESSION COMMAND...: changes one place in a copy of the sources. The command must fail there, and
# pass once the place is as it was.
plant() {
    planted=$1 file=$2 change=$3
    shift 3
    sed "$change" "$root/$file" >"$copy/$file"
    if cmp -s "$root/$file" "$copy/$file"; then
        echo "planted $planted: its place in $file is no longer there"
        lost=$((lost + 1))
    elif hunt 60 "$@"; then
        echo "planted $planted: NOT found"
        lost=$((lost + 1))
    elif word=$(grep -m 1 -E 'ERROR: |runtime error|not so:|:[FE]:| differ: ' "$work/log"); then
        echo "planted $planted: found: $(echo "$word" | cut -c1-200)"
        found=$((found + 1))
    else
        echo "planted $planted: the hunt failed, but did not say why:"
        tail -n 5 "$work/log"
        lost=$((lost + 1))
    fi
    cat "$root/$file" >"$copy/$file"                       # newer than what was built from the mistake
    if ! hunt 5 "$@"; then
        echo "planted $planted: the hunt fails without it, too:"
        tail -n 5 "$work/log"
        lost=$((lost + 1))
    fi
}

planted_fuzz() {
    meson compile -C build-fuzz "fuzz_$1" >/dev/null 2>&1 || { echo "build failed"; return 1; }
    sh tests/fuzz/fuzz.sh "build-fuzz/tests/fuzz/fuzz_$1" build-fuzz/tests/fuzz/seeds/"$1" "$work/found"
}

planted_test() {
    meson compile -C build run_tests_float >/dev/null 2>&1 || { echo "build failed"; return 1; }
    CK_RUN_CASE=$2 build/tests/run_tests_float "$1"
}

planted_kills() {
    meson compile -C build run_tests_float gpt translate >/dev/null 2>&1 || { echo "build failed"; return 1; }
    sh tests/trust.sh kills "$KAERU_KILLS"
}

planted() {
    need clang
    copy=$work/kaeru found=0 lost=0
    mkdir "$copy"
    (cd "$root" && tar cf - --exclude='./build*' --exclude=./.git .) | (cd "$copy" && tar xf -)
    # shellcheck disable=SC2086 # a list of words
    CC=clang quietly meson setup "$copy/build-fuzz" "$copy" $fuzz_options
    quietly meson setup "$copy/build" "$copy"
    quietly meson compile -C "$copy/build-fuzz"
    export KAERU_KILLS=100
    plant 'a size not held against the shape' nn/files/safetensors.c 's/if (t->size == bits \/ 8) return true;/return true;/' \
        planted_fuzz safetensors
    plant 'a product that may overflow' nn/files/safetensors.c 's/if (b && a > UINT64_MAX \/ b) return false;//' \
        planted_fuzz safetensors
    plant 'a string one byte short' nn/files/json.c 's/end - p->at + 1, 1)/end - p->at, 1)/' planted_fuzz json
    plant 'an escape of JSON misread' nn/files/json.c 's/\\b\\f\\n\\r\\t"/\\b\\f\\r\\n\\t"/' planted_fuzz json_peer
    plant 'a range unchecked in options' examples/common/options.c 's/ || value > o->high//' planted_fuzz options
    plant 'a file written in place' nn/files/file.c 's/"%s\.tmp", w->target/"%s", w->target/' planted_test checkpoint kills
    plant 'a file left open' nn/files/file.c 's/if (w->folder >= 0) close(w->folder);//' planted_test runs failures
    plant 'a random state not saved' nn/files/checkpoint.c 's/ag_set_random_state(.*);//' planted_test runs kills
    plant 'rows that a kill loses' examples/common/csv.c 's/ = part_is_old ? &whole : &part;/ = \&whole;/' \
        planted_kills
    reached="$found found, $lost not"
    [ "$lost" -eq 0 ]
}

# ---- elsewhere -----------------------------------------------------------------------------------------------------

# foreign DEBIAN_ARCH TRIPLET FAMILY WRAPPER COMPILER...: fetches Check for that machine, without installing it, and
# writes the cross file build-foreign/ARCH.ini.
foreign() {
    arch=$1 triplet=$2 family=$3 wrapper=$4
    shift 4
    place=$root/build-foreign/$arch
    if [ ! -e "$place/usr/lib/$triplet/pkgconfig/check.pc" ]; then
        mkdir -p "$place/lists/partial"
        (cd "$place" &&
            set -- -q -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State::Lists="$place/lists" &&
            { apt-get "$@" update >/dev/null 2>&1 || :; } &&   # if a source that matters fails, the next one will
            quietly apt-get "$@" download check libsubunit0 libsubunit-dev &&
            for package in *.deb; do dpkg -x "$package" . || exit; done) || return
    fi
    list=$(printf ", '%s'" "$@")
    cat >"$root/build-foreign/$arch.ini" <<END_OF_FILE
[binaries]
c = [${list#, }]
ar = '$(command -v "${1%gcc}gcc-ar" || echo ar)'
strip = 'strip'
pkg-config = 'pkg-config'
${wrapper:+exe_wrapper = [$wrapper]}
[properties]
pkg_config_libdir = '$place/usr/lib/$triplet/pkgconfig'
sys_root = '$place'
[host_machine]
system = 'linux'
cpu_family = '$family'
cpu = '$family'
endian = 'little'
END_OF_FILE
}

# elsewhere FOLDER LABEL RUNNER OPTION...: builds, tests and hashes there.
elsewhere() {
    folder=$1 label=$2 runner=$3
    shift 3
    [ ! -f "$root/$folder/build.ninja" ] || set --         # a cross file is for the first time alone
    configure "$root/$folder" "$@"
    quietly meson compile -C "$root/$folder"
    if KAERU_EMULATED=$runner meson test -C "$root/$folder" --no-rebuild --print-errorlogs \
        --suite float --suite double -t 20 >"$work/log" 2>&1
    then
        echo "$label: $(sed -n 's/^Ok: *\([0-9]*\).*/\1/p' "$work/log") suites passed"
        places="$places, $label"
    else
        cat "$work/log"
        return 1
    fi
    # shellcheck disable=SC2086 # a list of words, or nothing
    hash_with "$label" portable 2 $runner "$root/$folder/tests/final_weights"
}

portable() {
    differs=0 places=''
    build build final_weights
    hash_with here "$(paths_here | head -n 1)" 2 "$root/build/tests/final_weights" || return
    elsewhere build-O0 -O0 '' -Doptimization=0 -Db_ndebug=false || differs=1
    if [ "$(system_kind)" != debian ] || [ "$(uname -m)" != x86_64 ]; then
        say "32-bit x86 and AArch64 are tried on Debian and Ubuntu on x86-64 only"
    else
        have_package gcc-multilib
        have_package gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
        foreign i386 i386-linux-gnu x86 '' gcc -m32 -idirafter /usr/include/x86_64-linux-gnu &&
            elsewhere build-m32 32-bit '' --cross-file "$root/build-foreign/i386.ini" || differs=1
        foreign arm64 aarch64-linux-gnu aarch64 "'qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'" \
            aarch64-linux-gnu-gcc &&
            elsewhere build-aarch64 AArch64 "qemu-aarch64 -L /usr/aarch64-linux-gnu" \
                --cross-file "$root/build-foreign/arm64.ini" || differs=1
    fi
    count_hashes || differs=1
    reached="the same here and as ${places#, }"
    return "$differs"
}

# have_package NAME...: installs those Debian packages that are not there.
have_package() {
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || { install_by_apt "$@"; return; }
    done
}

# --------------------------------------------------------------------------------------------------------------------

name=${1-}
[ $# -eq 0 ] || shift
case $name in
graphs | guard | failures | kills | hashes | fuzz | planted | portable) names=$name ;;
all) names='graphs guard failures kills hashes planted portable fuzz' ;;
--help | -h) usage; exit 0 ;;
'') usage >&2; exit 2 ;;
*) say "tests/trust.sh: there is no $name"; usage >&2; exit 2 ;;
esac
case $name:${1-} in
*:) ;;
graphs:* | kills:* | fuzz:*)
    case $1 in
    0* | *[!0-9]* | ??????????*) say "tests/trust.sh: '$1' is not a count, expected 1 to 999999999"; exit 2 ;;
    esac ;;
*) say "tests/trust.sh: $name takes no count"; exit 2 ;;
esac
[ $# -le 1 ] || { say "tests/trust.sh: unexpected argument '$2'"; exit 2; }

need cc meson ninja pkg-config check
result=0
work=$(mktemp -d) || die "no room for a temporary folder in ${TMPDIR:-/tmp}"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for row in $names; do
    mkdir "$work/tmp"
    export TMPDIR="$work/tmp"                               # for what a killed program leaves behind
    if $row "$@"; then
        echo "$row: $reached"
    else
        say "$row: ${reached:+$reached; }the promise does not hold"
        result=1
    fi
    reached=''
    rm -rf "${work:?}"/*
done
exit $result
