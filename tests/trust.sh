#!/bin/sh
# Checks what kaeru promises, one row of the table in docs/promises.md at a time: sh tests/trust.sh NAME [COUNT]
# shellcheck disable=SC2317 # functions are called by name

usage() {
    cat <<'END_OF_TEXT'
usage: sh tests/trust.sh NAME [COUNT]

  graphs [100000]      random graphs: gradients against numerical gradients, in double, and against gradients that are
                       computed without reuse of memory
  guard                every test with sentinels around each buffer and poison in released buffers (KAERU_GUARD=1)
  failures [1]         one in this number of requests for memory and of calls to files fails, in whole runs of a Transformer
                       and a GPT
  kills [500]          kills at random moments: 500 of the training of a Transformer, 500 of the training of a GPT, 500 of
                       saving, and 50 each of gpt train, translate train and llama finetune (LoRA), whose CSV files are
                       compared as well
  hashes               SHA-256 of trained weights, on 1, 2, 3, 4 and 8 threads, with every instruction set, compiled by cc
                       and by clang
  compress [200]       files of many kinds, which the program compress decompresses with every instruction set, on 1 and 2
                       threads, compiled by clang, for 32-bit x86, for AArch64 under qemu-user (every seventh file), and the
                       page in node and in Chromium
  mpi [300]            training by several processes, with Open MPI and with MPICH: SHA-256 of trained weights from 1, 2, 3,
                       4, 5 and 8 processes, and of 64 over Open MPI; and 300 kills of one of them, each resumed by another
                       number of processes
  fuzz [50000000]      random inputs for the readers of files and command lines, under address and undefined behavior
                       sanitizers; needs clang, and compares with Jansson where that is installed
  planted [150]        plants nine chosen mistakes in a copy of the sources: the checks of bad files, failures and kills must
                       fail with each and pass without it; needs clang (the tests plant mistakes for graphs and guard).
                       Then mutation testing: the tests must fail with each of 150 small mistakes that a program makes
                       (python3 tests/mutate.py --help)
  portable             builds and tests without optimization and, where Debian's packages are available, for 32-bit x86
                       and for AArch64 under qemu-user; compares the hashes
  all                  all of these; takes hours

COUNT, 1 or more, replaces the number in brackets. The last line is the result; the exit status is 0 if the promise holds,
1 if it does not, 2 if the command line is wrong. Other rows of the table: sh tests/run.sh --all (every test in the release
build, under valgrind, compiled by clang; in float under address, undefined behavior and thread sanitizers).
END_OF_TEXT
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
# shellcheck source=tests/round_trips.sh
. "$root/tests/round_trips.sh"

# Check's time limit for one test, in seconds: none for long runs.
export CK_DEFAULT_TIMEOUT=1000000

# build FOLDER TARGET...: builds the targets for release in FOLDER.
build() {
    _where=$root/$1
    shift
    configure "$_where"
    quietly meson compile -C "$_where" "$@"
}

sha256() { if have sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1; }

# show COMMAND...: runs it, shows its output and keeps the output in $work/log.
show() {
    { "$@" 2>&1; echo $? >"$work/status"; } | tee "$work/log"
    return "$(cat "$work/status")"
}

# sum_before WORD: the sum of the numbers that stand before that word in the log.
sum_before() {
    awk -v word="^$1" '{ for (i = 2; i <= NF; i++) if ($i ~ word) n += $(i - 1) } END { print n + 0 }' "$work/log"
}

# ---- the checks ----------------------------------------------------------------------------------------------------
#
# Each sets `result`, the text of the last line.

graphs() {
    build build run_tests_double run_tests_float
    double=${1:-100000} float=$(((${1:-100000} + 9) / 10))
    show env KAERU_GRAPHS="$double" "$root/build/tests/run_tests_double" property &&
        show env KAERU_GRAPHS="$float" "$root/build/tests/run_tests_float" property || return
    result="$double random graphs in double and $float in float, 0 wrong"
}

guard() {
    build build run_tests_double run_tests_float
    passed=0
    for precision in float double; do
        show env KAERU_GUARD=1 "$root/build/tests/run_tests_$precision" |
            awk -v p="$precision" '/^[a-z_0-9]+: [0-9]+ passed/ { print p ", " $0; fflush() }'
        [ "$(cat "$work/status")" -eq 0 ] || { cat "$work/log"; return 1; }
        passed=$((passed + $(sum_before passed,)))
    done
    result="$passed tests passed with sentinels and poison, 0 failed"
}

failures() {
    build build run_tests_float
    every=${1:-1}
    show env CK_RUN_CASE=failures KAERU_EVERY_CALL="$every" "$root/build/tests/run_tests_float" \
        runs load tensor_files bpe_json || return
    calls=$(sum_before calls,)
    result="one in $every of $calls requests and calls failed, alone or with all that followed; nothing lost or leaked"
}

# A small Llama, and pairs to learn, in $work.
make_llama() {
    mkdir -p "$work/llama"
    cp "$root/tests/fixtures/llama/writer/config.json" "$root/tests/fixtures/llama/writer/model.safetensors" "$work/llama" &&
        cp "$root/tests/fixtures/tokenizers/llama3.json" "$work/llama/tokenizer.json" &&
        awk 'BEGIN { for (i = 0; i < 40; i++) printf "{\"prompt\": \"%d?\", \"completion\": \" n%d\"}\n", i, i % 3 }' \
            >"$work/pairs.jsonl"
}

kills() {
    build build run_tests_float gpt translate llama
    export KAERU_KILLS="${1:-500}"
    all=0
    for suite in runs checkpoint; do
        show env CK_RUN_CASE=kills "$root/build/tests/run_tests_float" "$suite" || return
        all=$((all + $(sum_before killed,)))
    done
    times=$(((KAERU_KILLS + 9) / 10)) examples=$root/build/examples
    kill_program "$times" gpt 4 "$examples/gpt" train --layers 2 --heads 2 --width 16 --context 16 --steps 150 --every 10 \
        --held-out 200 --sample 0 &&
        kill_program "$times" translate 5 "$examples/translate" train --layers 1 --width 16 --heads 2 --hidden 32 --warmup 20 \
            --beam 2 --sentences 200 --held-out 20 --epochs 8 --average 2 &&
        make_llama && kill_program "$times" llama 4 "$examples/llama" finetune --model "$work/llama" \
            --data "$work/pairs.jsonl" --best --targets q_proj,down_proj --dropout 0.1 --lr 0.01 --window 16 --steps 500 \
            --every 10 || return
    result="$all kills; nothing lost, nothing changed"
}

models='transformer-float32 gpt-float32 transformer-bf16 gpt-bf16'

# hash_with LABEL ISA THREADS COMMAND...: trains the models, prints their hashes and adds them to $work/hashes.
hash_with() {
    _label=$1 _isa=$2 _threads=$3
    shift 3
    for model in $models; do
        KAERU_ISA=$_isa "$@" "${model%-*}" "${model#*-}" "$_threads" "$work/weights" || return
        printf '%-19s %-10s %-9s %d threads  %s\n' "$model" "$_label" "$_isa" "$_threads" "$(sha256 "$work/weights")" |
            tee -a "$work/hashes"
    done
}

# The instruction sets that this processor has, the widest first.
list_isas() {
    for isa in amx avx512_bf16 avx512 avx2; do
        ! grep -qw "$(echo "$isa" | sed 's/avx512$/avx512f/; s/amx/amx_bf16/')" /proc/cpuinfo 2>/dev/null || echo "$isa"
    done
    echo portable
}

# Prints the number of trainings and of hashes; there must be one hash for each model.
count_hashes() {
    for model in $models; do
        n=$(grep "^$model " "$work/hashes" | awk '{ print $NF }' | sort -u | wc -l)
        echo "$model: trainings $(grep -c "^$model " "$work/hashes"), hashes $((n))"
        [ "$n" -eq 1 ] || return
    done
}

# compiler_name COMMAND...: which compiler it is. A command named gcc can be Clang.
compiler_name() {
    echo "$(if echo __clang__ | "$@" -E - | tail -n 1 | grep -q 1; then echo clang; else echo gcc; fi) $("$@" -dumpversion)"
}

hashes() {
    need clang
    # shellcheck disable=SC2086 # a command and its first words
    compilers="$(compiler_name ${CC:-cc}) and $(compiler_name clang)"
    for compiler in cc clang; do
        folder=build
        if [ "$compiler" = clang ]; then
            folder=build-clang
            export CC=clang
        fi
        build "$folder" final_weights
        for isa in $(list_isas); do
            for threads in 1 2 3 4 8; do
                hash_with "$compiler" "$isa" "$threads" "$root/$folder/tests/final_weights" || return
            done
        done
    done
    unset CC
    count_hashes || return
    result="the same weights from $compilers, on 1, 2, 3, 4 and 8 threads, with $(list_isas | xargs)"
}

# foreign_compress NAME COMPILER...: makes $work/NAME, the program compress by that compiler.
foreign_compress() {
    _name=$1
    shift
    quietly "$@" -O1 -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -c "$root/build/packaging/kaeru.c" -o "$work/kaeru.o"
    quietly compress_by "$root/build" "$work/kaeru.o" "$work/$_name" "$@" -O1
}

compress() {
    need clang node chromium
    need_wasm
    build build compress page onefile
    files=$work/files program=$root/build/examples/compress
    KAERU_ISA=$(list_isas | head -n 1) pack "$program" "${1:-200}" "$files" || return
    for isa in $(list_isas); do
        for threads in 1 2; do
            unpack "$isa, threads: $threads" "$files" 1 env KAERU_ISA="$isa" KAERU_THREADS=$threads "$program" || return
        done
    done
    foreign_compress clang clang
    unpack clang "$files" 1 "$work/clang" || return
    # Without gcc's libraries for it: Zig's compiler, which has its own.
    thirty_two='gcc -m32 -msse2 -mfpmath=sse -idirafter /usr/include/x86_64-linux-gnu'
    # shellcheck disable=SC2086 # a list of words
    compiles 'int main(void) { return 0; }' $thirty_two || { need_zig; thirty_two='zig cc -target x86-linux-musl'; }
    # shellcheck disable=SC2086
    foreign_compress x86 $thirty_two
    unpack '32-bit x86' "$files" 1 "$work/x86" || return
    need aarch64-linux-gnu-gcc qemu-aarch64
    foreign_compress aarch64 aarch64-linux-gnu-gcc -static
    unpack AArch64 "$files" 7 qemu-aarch64 "$work/aarch64" || return
    python3 "$root/examples/page/make.py" "$root/build" "$work/page.html" &&
        node "$root/tests/page/unpack_test.js" "$work/page.html" "$(chromium_program)" "$files"/*.k || return
    result="${1:-200} files, everywhere the same bytes again"
}

# together LAUNCHER N COMMAND...: runs it in N processes; one needs no launcher.
together() {
    _launcher=$1 _n=$2
    shift 2
    if [ "$_n" -eq 1 ]; then "$@"; else (launch "$_launcher" "$_n" "$@"); fi
}

# is_running ID: the process is neither gone nor a zombie, which waits for its parent.
is_running() { ps -o stat= -p "$1" | grep -qv '^Z'; }

# kill_one FOLDER COUNT: kills a process of gpt train COUNT times and resumes by another number of processes. All others must
# end within ten seconds; their deadline is 5. Open MPI 4.1's mpirun itself may hang if a process is killed while it connects to
# mpirun ("PMIX ERROR: UNREACHABLE"): such a mpirun is killed, too, and counted.
kill_one() {
    program=$root/$1/examples/gpt wanted=$2 killed=0 ended=0 turn=0 hung=0
    options='--layers 2 --heads 2 --width 16 --context 16 --steps 600 --every 20 --held-out 200 --sample 0 --batch 6 --shards 6
        --dropout 0.1 --deadline 5'
    launcher=$(launcher_of "$program")
    rm -rf "$work/straight" "$work/killed"
    # shellcheck disable=SC2086 # a list of words
    length=$(seconds_of "$program" train $options --out "$work/straight") || return
    export FOLDER="$work"
    # shellcheck disable=SC2016 # for the shell in each process
    each='echo $$ >"$FOLDER/id.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"; exec "$@"'
    while :; do
        turn=$((turn + 1))
        n=$((turn % 4 + 2))
        rm -f "$work"/id.*
        how=--overwrite
        [ ! -e "$work/killed/gpt_last.safetensors" ] || how=--resume
        # shellcheck disable=SC2086 # a list of words
        (launch "$launcher" $n sh -c "$each" sh "$program" train $options --out "$work/killed" $how) \
            >/dev/null 2>"$work/error" </dev/null &
        child=$!
        hit=no
        if [ "$killed" -lt "$wanted" ]; then
            sleep "$(awk -v n=$turn -v most="$length" 'BEGIN { srand(n); printf "%.3f", 0.3 + rand() * (1 + most) }')"
            ! victim=$(cat "$work/id.$((turn % n))" 2>/dev/null) || ! kill -9 "$victim" 2>/dev/null || hit=yes
        fi
        since=$(date +%s)
        while [ $hit = yes ] && is_running $child && [ $(($(date +%s) - since)) -le 15 ]; do sleep 0.05; done
        if [ $hit = yes ] && is_running $child; then
            for id in $(cat "$work"/id.*); do
                ! is_running "$id" || { echo "process $id was left when one of $n was killed"; return 1; }
            done
            hung=$((hung + 1))
            since=$(date +%s)
            kill -9 $child
        fi
        wait $child
        status=$?
        if [ $status -eq 0 ]; then
            same_as_straight gpt 4 || return
            rm -rf "$work/killed"
            ended=$((ended + 1))
            [ "$killed" -lt "$wanted" ] || break
            continue
        fi
        [ $hit = yes ] || { cat "$work/error"; echo "$n processes ended with status $status, and none was killed"; return 1; }
        killed=$((killed + 1))
        for id in $(cat "$work"/id.* 2>/dev/null); do
            while is_running "$id" && [ $(($(date +%s) - since)) -le 10 ]; do sleep 0.05; done
        done
        [ $(($(date +%s) - since)) -le 10 ] || { echo "processes were left ten seconds after one of $n was killed"; return 1; }
    done
    echo "gpt train by 2 to 5 processes, $1: $killed killed, $ended run to the end, each with the weights and rows of one" \
        "process; mpirun hung $hung times"
    all=$((all + killed))
}

mpi() {
    need mpi mpich
    configure_with_mpi "$root/build"
    configure_with_mpi "$root/build-mpich" -Dmpich=true
    all=0
    for folder in build build-mpich; do
        build "$folder" final_weights examples/gpt
        launcher=$(launcher_of "$root/$folder/tests/final_weights")
        for model in $models; do
            for n in 1 2 3 4 5 8; do
                for threads in 1 2; do
                    together "$launcher" $n "$root/$folder/tests/final_weights" "${model%-*}" "${model#*-}" $threads \
                        "$work/weights" 300 8 || return
                    printf '%-19s %-11s %d processes  %d threads  %s\n' "$model" "$folder" $n $threads \
                        "$(sha256 "$work/weights")" | tee -a "$work/hashes"
                done
            done
        done
    done
    count_hashes || return
    program=$root/build/tests/final_weights
    launcher=$(launcher_of "$program")
    for model in $models; do
        for n in 1 64; do
            together "$launcher" $n "$program" "${model%-*}" "${model#*-}" 1 "$work/weights$n" 3 64 || return
        done
        cmp "$work/weights1" "$work/weights64" || return
    done
    for folder in build build-mpich; do kill_one "$folder" $(((${1:-300} + 1) / 2)) || return; done
    result="the same weights from 1 to 8 processes over Open MPI and MPICH, and from 64; $all kills, nothing lost, nothing left"
}

# Each reader's share of a thousand inputs; the fast readers get more. 50 million inputs take an hour of one processor.
fuzz_shares='options:380 safetensors:240 number:200 json:110 json_peer:30 config:12 tensors:10 text:8 pairs:6 adapter:2 bpe:2'

fuzz() {
    need_fuzzer
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
    result="$tried inputs, $failed findings"
    [ "$failed" -eq 0 ]
}

# ---- planted mistakes ----------------------------------------------------------------------------------------------

# check SECONDS COMMAND...: runs it in the copy of the sources. A fuzzer stops after SECONDS.
check() {
    export KAERU_FUZZ_SECONDS="$1"
    shift
    (cd "$copy" && "$@") >"$work/log" 2>&1
}

# plant NAME FILE SED_EXPRESSION COMMAND...: changes one line in the copy of the sources. The command must fail with the
# change and pass without it.
plant() {
    planted=$1 file=$2 change=$3
    shift 3
    sed "$change" "$root/$file" >"$copy/$file"
    if cmp -s "$root/$file" "$copy/$file"; then
        echo "planted $planted: $file has no line that the expression changes"
        lost=$((lost + 1))
    elif check 60 "$@"; then
        echo "planted $planted: NOT found"
        lost=$((lost + 1))
    elif line=$(grep -m 1 -E 'ERROR: |runtime error|check failed:|:[FE]:| differ: ' "$work/log"); then
        echo "planted $planted: found: $(echo "$line" | cut -c1-200)"
        found=$((found + 1))
    else
        echo "planted $planted: the check failed without a message:"
        tail -n 5 "$work/log"
        lost=$((lost + 1))
    fi
    cat "$root/$file" >"$copy/$file"                       # newer than the object files of the mistake
    if ! check 5 "$@"; then
        echo "planted $planted: the check fails without it, too:"
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

# sum_outcome OUTCOME: how many lines of the log begin with it.
sum_outcome() { grep -c "^$1: " "$work/log"; }

planted() {
    need_fuzzer
    copy=$work/kaeru found=0 lost=0
    mkdir "$copy"
    (cd "$root" && tar cf - --exclude='./build*' --exclude=./.git .) | (cd "$copy" && tar xf -)
    # shellcheck disable=SC2086 # a list of words
    CC=clang quietly meson setup "$copy/build-fuzz" "$copy" $fuzz_options
    quietly meson setup "$copy/build" "$copy"
    quietly meson compile -C "$copy/build-fuzz"
    export KAERU_KILLS=100
    plant 'a size not compared with the shape' nn/files/stored.c 's/if (t->size != bits \/ 8)$/if (0)/' \
        planted_fuzz safetensors
    plant 'a product that may overflow' nn/files/stored.c \
        's/__builtin_mul_overflow(numel, (uint64_t)size, &numel) ||/(numel *= (uint64_t)size) \&\& 0 ||/' \
        planted_fuzz safetensors
    plant 'a string one byte short' nn/files/json.c 's/ag_alloc_in(owner, size, 1)/ag_alloc_in(owner, size - 1, 1)/' \
        planted_fuzz json
    plant 'an escape of JSON misread' nn/files/json.c 's/\\b\\f\\n\\r\\t"/\\b\\f\\r\\n\\t"/' planted_fuzz json_peer
    plant 'a range unchecked in options' nn/fields.c 's/value <= f->high/true/' planted_fuzz options
    plant 'a file written in place' nn/files/file.c \
        's/"%s.%08" PRIx32 "%s", w->target, .*ending/"%s", w->target/; s/ | O_EXCL/ | O_TRUNC/' planted_test checkpoint kills
    plant 'a file left open' nn/files/file.c 's/if (w->folder_fd >= 0) close(w->folder_fd);//' planted_test runs failures
    plant 'a random state not saved' nn/files/checkpoint.c 's/ag_set_random_state(.*);//' planted_test runs kills
    plant 'rows that a kill loses' examples/common/csv.c 's/ = part_is_old ? &whole : &part;/ = \&whole;/' \
        planted_kills
    show python3 "$root/tests/mutate.py" "${1:-150}" || lost=$((lost + 1))
    result="$found chosen mistakes found, $lost checks failed; mutants: $(sum_outcome killed) killed, $(
        sum_outcome survived) survived, $(sum_outcome equivalent) equivalent"
    [ "$lost" -eq 0 ]
}

# ---- other machines ------------------------------------------------------------------------------------------------

# cross_file DEBIAN_ARCH TRIPLET FAMILY WRAPPER COMPILER...: downloads Check for that machine, without installing it, and
# writes the cross file build-foreign/ARCH.ini.
cross_file() {
    arch=$1 triplet=$2 family=$3 wrapper=$4
    shift 4
    place=$root/build-foreign/$arch
    if [ ! -e "$place/usr/lib/$triplet/pkgconfig/check.pc" ]; then
        mkdir -p "$place/lists/partial"
        (cd "$place" &&
            set -- -q -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State::Lists="$place/lists" &&
            { apt-get "$@" update >/dev/null 2>&1 || :; } &&   # without a source that matters, the next line fails
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

# test_machine FOLDER LABEL RUNNER OPTION...: builds in FOLDER, runs the tests and adds the hashes.
test_machine() {
    folder=$1 label=$2 runner=$3
    shift 3
    [ ! -f "$root/$folder/build.ninja" ] || set --         # meson takes a cross file only at the first setup
    configure "$root/$folder" "$@"
    quietly meson compile -C "$root/$folder"
    if KAERU_EMULATED=$runner meson test -C "$root/$folder" --no-rebuild --print-errorlogs \
        --suite float --suite double -t 20 >"$work/log" 2>&1
    then
        echo "$label: $(sed -n 's/^Ok: *\([0-9]*\).*/\1/p' "$work/log") suites passed"
        machines="$machines, $label"
    else
        cat "$work/log"
        return 1
    fi
    # shellcheck disable=SC2086 # a list of words, or nothing
    hash_with "$label" portable 2 $runner "$root/$folder/tests/final_weights"
}

portable() {
    differs=0 machines=''
    build build final_weights
    hash_with here "$(list_isas | head -n 1)" 2 "$root/build/tests/final_weights" || return
    test_machine build-O0 -O0 '' -Doptimization=0 -Db_ndebug=false || differs=1
    if [ "$(system_kind)" != debian ] || [ "$(uname -m)" != x86_64 ]; then
        say "32-bit x86 and AArch64 are tested only on Debian and Ubuntu on x86-64"
    else
        need_package libc6-dev-i386 "lib32gcc-$(gcc -dumpversion)-dev"      # gcc-multilib conflicts with the next line's
        need_package gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
        cross_file i386 i386-linux-gnu x86 '' gcc -m32 -idirafter /usr/include/x86_64-linux-gnu &&
            test_machine build-m32 32-bit '' --cross-file "$root/build-foreign/i386.ini" || differs=1
        cross_file arm64 aarch64-linux-gnu aarch64 "'qemu-aarch64', '-L', '/usr/aarch64-linux-gnu'" \
            aarch64-linux-gnu-gcc &&
            test_machine build-aarch64 AArch64 "qemu-aarch64 -L /usr/aarch64-linux-gnu" \
                --cross-file "$root/build-foreign/arm64.ini" || differs=1
    fi
    count_hashes || differs=1
    result="the same here and for ${machines#, }"
    return "$differs"
}

# need_package NAME...: installs these Debian packages unless all are installed.
need_package() {
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || { install_by_apt "$@"; return; }
    done
}

# --------------------------------------------------------------------------------------------------------------------

name=${1-}
[ $# -eq 0 ] || shift
case $name in
graphs | guard | failures | kills | hashes | compress | mpi | fuzz | planted | portable) names=$name ;;
all) names='graphs guard failures kills hashes compress mpi planted portable fuzz' ;;
--help | -h) usage; exit 0 ;;
'') usage >&2; exit 2 ;;
*) say "tests/trust.sh: there is no $name"; usage >&2; exit 2 ;;
esac
case $name:${1-} in
*:) ;;
graphs:* | failures:* | kills:* | compress:* | mpi:* | fuzz:* | planted:*)
    case $1 in
    0* | *[!0-9]* | ??????????*) say "tests/trust.sh: '$1' is not a count, expected 1 to 999999999"; exit 2 ;;
    esac ;;
*) say "tests/trust.sh: $name takes no count"; exit 2 ;;
esac
[ $# -le 1 ] || { say "tests/trust.sh: unexpected argument '$2'"; exit 2; }

need cc meson ninja pkg-config check
exit_status=0 result=''
work=$(mktemp -d) || die "cannot make a temporary folder in ${TMPDIR:-/tmp}"
# shellcheck source=tests/kills.sh
. "$root/tests/kills.sh"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for row in $names; do
    mkdir "$work/tmp"
    export TMPDIR="$work/tmp"                               # for files that a killed program leaves
    if $row "$@"; then
        echo "$row: $result"
    else
        say "$row: ${result:+$result; }the promise does not hold"
        exit_status=1
    fi
    result=''
    rm -rf "${work:?}"/*
done
exit $exit_status
