#!/bin/sh
# Tells how kaeru runs on this machine: sh tests/machine.sh [--build FOLDER] [--make] [OPTION...] [WORKLOAD...]

usage() {
    cat <<'END'
usage: sh tests/machine.sh [--build FOLDER] [--make] [OPTION...] [WORKLOAD...]

Tells how kaeru runs on this machine. Needs a C compiler and Python 3, nothing else. Prints the processor, the instruction sets
that work here, SHA-256 of weights that each of them trains, and the times of workloads on 1, 2, 4 ... threads in float32 and
in bfloat16: seconds of a step, speed-up, efficiency. Ends after eight minutes; what does not fit is left out.

  --build FOLDER  compiles there; default build-machine in the project's folder
  --make          only compiles. FOLDER/bench is linked statically where the system can, and needs nothing on another machine:
                  ./bench --machine [OPTION...] [WORKLOAD...]
  --threads N     the most threads; default: one per processor
  --seconds S     how long to measure each workload with each number of threads, default 0.5; at least three steps
  --minutes M     how long in all, after compiling
  --csv FILE      writes the times there; default machine.csv
  --help          this text

FOLDER/bench --help lists the workloads. CC and CFLAGS replace cc and -O3.
END
}

begin=$(date +%s)
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"

build=$root/build-machine make=no
while :; do
    case ${1-} in
    --help | -h) usage; exit 0 ;;
    --build) [ $# -ge 2 ] || { say "tests/machine.sh: --build: expected a folder"; exit 2; }
        build=$2; shift 2 ;;
    --make) make=yes; shift ;;
    --threads | --seconds | --minutes | --csv) break ;;
    -*) say "tests/machine.sh: there is no option $1"; usage >&2; exit 2 ;;
    *) break ;;
    esac
done

need cc python3

# compile OPTION...: makes the program. inside.c has what sees the library's private headers.
compile() {
    # shellcheck disable=SC2086 # lists of words
    quietly ${CC:-cc} ${CFLAGS:--O3} -ffp-contract=off -D_GNU_SOURCE "$@" -I "$build" -I "$root/tests/bench" \
        -I "$root/examples" -I "$root/autograd" -I "$root/autograd/fast" -I "$root/autograd/shared" \
        -I "$root/autograd/system" -I "$root/autograd/include" -I "$build/autograd/include" -I "$root/nn/include" \
        -I "$build/nn/include" -I "$root/models/include" -I "$build/models/include"
}

links_statically() {
    # shellcheck disable=SC2086 # a command and its first words
    compiles '#include <pthread.h>
        int main(void) { return pthread_self() == 0; }' ${CC:-cc} -static -pthread
}

program=$build/bench
if [ ! -x "$program" ] || [ -n "$(cd "$root" && find autograd nn models tests/bench tests/runs.c packaging/one_file.py \
    -type f -newer "$program" | head -n 1)" ]
then
    say "Compiling kaeru in $build (a minute or two) ..."
    mkdir -p "$build" || exit 1
    # shellcheck disable=SC2086 # a command and its first words
    quietly python3 "$root/packaging/without_meson.py" "$build" ${CC:-cc}
    printf '#include "%s"\n' kaeru.c kernels.c machine.c >"$build/inside.c"
    compile -c "$build/inside.c" -o "$build/inside.o"
    static=-static
    links_statically || static=''
    bench=$root/tests/bench
    # shellcheck disable=SC2086 # nothing, or one word
    compile $static "$bench/bench.c" "$bench/gpt.c" "$bench/models.c" "$bench/scaling.c" "$bench/timing.c" \
        "$bench/workloads.c" "$root/tests/runs.c" "$root/examples/page/sha256.c" "$build/inside.o" -lm -pthread -o "$program"
fi
[ $make = no ] || exit 0
left=$((470 - $(date +%s) + begin))
exec "$program" --machine --minutes "$(awk -v left=$left 'BEGIN { print left > 60 ? left / 60 : 1 }')" "$@"
