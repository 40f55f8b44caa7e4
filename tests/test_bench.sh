#!/bin/sh
# test_bench.sh ROOT BENCH PYTHON: the command lines of bench and compare.py; compare.py with peers that fail, on a busy
# machine and with Ctrl-C; the models of threads and of the cost, and the command line of processes; then the pictures. No
# result depends on a measured time.

root=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
program=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
# shellcheck source=tests/expect.sh
. "$root/tests/expect.sh"

expect 0 'usage: bench' '' --help
expect 2 '' 'there is no option --bogus' --bogus
expect 2 '' 'there is no workload bogus' bogus
expect 2 '' '--scaling measures GPTs of its own: expected no workload, not skip_small' --scaling skip_small
expect 2 '' '--scaling measures GPTs of its own: expected no workload, not gemm' gemm --scaling
expect 2 '' '--threads -1: expected a number from 0 to 256' --threads -1
expect 2 '' '--seconds : expected a number from 0 to 3600' --seconds
expect 0 'gemm_128 ' '' --threads 1 --seconds 0 gemm_128

# A short form of machine.sh. It trains with each instruction set.
expect 2 '' '--minutes x: expected a number from 0' --machine --minutes x
expect 1 '' 'bench: --csv /nonexistent/x.csv: cannot be written' --machine --csv /nonexistent/x.csv gemm_128
expect 0 ', is used by default' '' --machine --threads 3 --seconds 0 --minutes 60 gemm_128 overhead
that 'four models with one hash each' [ "$(grep -c 'trainings, the same$' stdout)" -eq 4 ]
that 'no file left' [ -z "$(find . -name 'kaeru-*')" ]
that 'header of machine.csv' [ "$(head -n 1 machine.csv)" = \
    workload,precision,threads,seconds,speedup,efficiency,gflops_per_core ]
that '12 rows: 1, 2 and 3 threads' [ "$(grep -c '^[a-z_0-9]*,\(float32\|bf16\),[123],' machine.csv)" -eq 12 ]
that 'speed-up, efficiency and GFLOPS follow from seconds' awk -F, '
    function same(x, y) { return x / y > 0.998 && x / y < 1.002 }
    NR > 1 { if ($3 == 1) one = $4; bad = bad || !same($5, one / $4) || !same($6, $5 / $3)
             bad = bad || ($1 == "gemm_128" ? !same($7, 2e-9 * 128 ^ 3 / $4 / $3) : $7 != "") }
    END { exit bad }' machine.csv
expect 0 '-: did not fit into 0 minutes' '' --machine --threads 1 --minutes 0 gemm_128
that 'no row' [ "$(wc -l <machine.csv)" -eq 1 ]

# The model of the cost, against its formula for GPT-2 124M on two processes with 10 Gbit/s.
bench=$program
program=$(dirname "$bench")/cost
expect 0 'usage: cost' '' --help
expect 2 '' 'cost: --gflops x: expected a number from 0' --gflops x
expect 1 '' 'cost: none: expected processes,processors,seconds' --check none
"$program" --gflops 1000 --overhead 10 >cost.csv
that "header of cost.csv" [ "$(head -n 1 cost.csv)" = model,gigabits,tokens,processes,computing,exchange,efficiency ]
that "88 rows, 1 for one process, less for more" awk -F, 'NR > 1 && ($4 == 1 ? $7 != 1 : $7 > last) { bad = 1 } { last = $7 }
    END { exit bad || NR != 89 }' cost.csv
that "efficiency of two processes" awk -F, '/^GPT-2 124M,10,1024,2,/ { n = 124439808
    t = 1024 * 6 * (n + 12 * 1024 * 768) / 1e12; e = n / 2 * (1e-5 / 65536 + 4 / 1.25e9); last = 50257 * 768 / n * e
    good = ($7 - t / (t + last + e)) ^ 2 < 1e-7 } END { exit !good }' cost.csv
printf 'processes,processors,seconds\n1,1,8\n2,2,5\n3,2,5\n' >check.csv
expect 0 '3,5,4.' '' --memory 5 --check check.csv
that "two processes take half of the time and the messages" awk -F, '$1 == 2 { n = 124439808
    e = n / 2 * (1e-5 / 65536 + 4 / 2.5e9); good = ($3 - 4 - e - 50257 * 768 / n * e) ^ 2 < 1e-5 } END { exit !good }' stdout

# The model of threads.
program=$(dirname "$bench")/threads
if [ -x "$program" ]; then
    expect 0 'usage: threads' '' --help
    expect 2 '' 'threads: there is no workload bogus' bogus
    expect 2 '' 'threads: --line x: expected a number from 0' --line x
    # One region, given to the threads in a second.
    expect 0 'parallel regions: 1; ' '' --cpu --seconds 0 --threads 16 --dispatch 1e6 --memory 1e6 gemm_128
    that 'the header and five rows' [ "$(head -n 1 threads.csv)$(wc -l <threads.csv)" = \
        workload,precision,threads,model,efficiency,measured6 ]
    that 'a second for the region' awk -F, 'NR == 2 { one = $4 } NR > 2 { bad = bad || $4 < 1 || $4 > 1.01 + one }
        END { exit bad }' threads.csv
    # 3 x 2 MiB of float32 at a MB a second on more than one thread, and what is computed meanwhile. Within the cache: nothing.
    expect 0 'bytes moved: 12.58 MB' '' --cpu --seconds 0 --threads 16 --dispatch 0 --cache 0 --memory 0.001 gemm
    that 'the bytes take 12.58 seconds' awk -F, 'NR == 2 { one = $4 } NR > 2 && ($4 < 12.58 || $4 > 12.58 + one) {
        bad = 1 } END { exit bad }' threads.csv
    expect 0 'bytes moved: 12.58 MB' '' --cpu --seconds 0 --threads 16 --dispatch 0 --memory 0.001 gemm
    that 'bytes in the cache cost nothing' awk -F, 'NR == 2 { one = $4 } NR > 2 && $4 > one { bad = 1 }
        END { exit bad }' threads.csv
    expect 0 'parallel regions: 0; ' '' --cpu --seconds 0.2 --threads 16 --bf16 skip_small
    that 'efficiencies are those of the times' awk -F, 'NR == 2 { one = $4 }
        NR > 1 && ($2 != "bf16" || (off = $5 - one / $4 / $3) > 1e-4 || off < -1e-4) { bad = 1 } END { exit bad || NR != 6 }' \
        threads.csv
    expect 0 'parallel regions: ' '' --cpu --seconds 0 shakespeare
fi

# The command line of processes, which takes no step here.
program=$(dirname "$bench")/processes
if [ -x "$program" ]; then
    expect 0 'usage: [mpirun -n P] processes' '' --help
    expect 2 '' 'processes: expected a workload'
    expect 2 '' 'processes: there is no workload bogus' bogus
    expect 2 '' 'processes: a batch of 12 in 5 shards: expected a multiple' --shards 5 shakespeare
    expect 0 'shakespeare.shards 2 shards' '' --threads 1 --steps 1 --batch 2 --shards 2 shakespeare
    that 'weights, gradients and 2 times the weights' grep -qx 'shakespeare.model 12 MiB' stdout
fi

# peer NAME COMMANDS: makes a program with the options of bench. It sets $workload and $threads and runs the commands.
peer() {
    cat >"$1" <<EOF
#!/bin/sh
[ "\$2" != --version ] || { echo 'PyTorch 0.0 eager'; exit; }
while [ \$# -gt 0 ]; do
    [ "\$1" != --threads ] || threads=\$2
    workload=\$1
    shift
done
$2
EOF
    chmod +x "$1"
}

# compare STATUS "TEXT IN STDOUT" "TEXT IN STDERR" ARGUMENT...: runs compare.py with a false kaeru and a false PyTorch, and
# without waiting for a quiet machine.
compare() {
    expected=$1 out=$2 err=$3
    shift 3
    expect "$expected" "$out" "$err" "$root/tests/bench/compare.py" --bench ./kaeru --python ./torch --seconds 1 --rounds 2 \
        --patience 0 --tries 1 "$@"
}
refused() {
    text=$1
    shift
    compare 2 '' "compare.py: argument $text" "$@"
}

program=$3
# shellcheck disable=SC2016
figures='printf "%s\n" "$workload 2 ms/step" "$workload.peak 3 MiB" "$workload.threads $threads threads"'
peer kaeru "$figures"
peer torch "$(echo "$figures" | sed 's/ 2 ms/ 3 ms/')"

refused '--bench: /nonexistent: not built: meson setup build && meson compile -C build' --bench /nonexistent
refused '--python: /nonexistent: there is no such program' --python /nonexistent
refused '--rounds: 0: expected a whole number from 1' --rounds 0
refused '--rounds: -1: expected a whole number from 1' --rounds -1
refused '--seconds: 0: expected a number from 0.001 to 3600' --seconds 0
refused '--seconds: nan: expected a number from 0.001 to 3600' --seconds nan
refused '--threads: -1: expected a whole number from 0 to 256' --threads -1
refused '--threads: 1.5: expected a whole number from 0 to 256' --threads 1.5
refused '--tries: 0: expected a whole number from 1' --tries 0
refused '--patience: -1: expected a number from 0' --patience -1
refused '--others: -1: expected a number from 0' --others -1
refused '--peer: foo: expected NAME=COMMAND' --peer foo
refused "--peer: foo='x: No closing quotation" --peer "foo='x"
refused '--peer: /nonexistent: there is no such program' --peer foo=/nonexistent
refused '--out: /nonexistent/x.csv: cannot be written' --out /nonexistent/x.csv
refused 'workload: dispatch: expected one of gemm_128, gemm_512,' skip dispatch
compare 2 '' 'compare.py: unrecognized arguments: --bogus' --bogus
lacks bench.csv

compare 0 'with 3 threads; times faster' '' --threads 3 skip copy
that 'two rows' [ "$(grep -c 'PyTorch 0.0 eager,ms/step,2.0,3.0,1.5,1.5,1.5,3.0,3.0' bench.csv)" -eq 2 ]
cp bench.csv before.csv
compare 0 'threads' '' --threads 0 --out other.csv skip
processors=$("$program" -c 'import os; print(len(os.sched_getaffinity(0)))' 2>/dev/null || getconf _NPROCESSORS_ONLN)
that 'as many threads as processors' grep -q "with $processors thread" stdout

peer bad 'exit 3'
compare 1 '' 'skip ended with status 3' --peer bad=./bad skip
peer bad 'kill -9 $$'
compare 1 '' 'skip was ended by signal 9' --peer bad=./bad skip
peer bad 'echo Loading'
compare 1 '' "skip printed 'Loading': expected NAME VALUE UNIT" --peer bad=./bad skip
# shellcheck disable=SC2016
peer bad 'echo "$workload 2 ms/step"'
compare 1 '' 'printed no skip.peak' --peer bad=./bad skip
peer bad "$(echo "$figures" | sed 's/ 2 ms/ 0 ms/')"
compare 1 '' 'printed skip 0: expected more than 0' --peer bad=./bad skip
peer bad "$(echo "$figures" | sed 's/ms/us/')"
compare 1 '' 'skip is in ms/step in kaeru and in us/step in bad' --peer bad=./bad skip
peer bad "$figures; echo \"\$workload.parameters 7 parameters\""
compare 1 '' 'skip.parameters is missing in kaeru and 7 in bad' --peer bad=./bad skip
peer bad :
compare 1 '' 'no peer knows any of these workloads' --python ./bad skip
"$program" "$root/tests/bench/compare.py" --bench ./kaeru --python false skip >stdout 2>stderr
that 'status without a peer' [ $? -eq 1 ]
that 'without PyTorch' grep -qxF 'compare.py: false has no PyTorch: left out' stderr
that 'message without a peer' grep -qxF 'compare.py: no peer to compare with' stderr
same bench.csv before.csv

# processes.py, with a false mpirun.
mkdir bin
# shellcheck disable=SC2016
peer pair 'v=8; [ -z "$KAERU_TWO" ] || v=4; printf "%s\n" "$workload $v ms/step" "$workload.peak 30 MiB" \
    "$workload.model 20 MiB" "$workload.threads $threads threads"'
printf '#!/bin/sh\nshift 2\nKAERU_TWO=1 exec "$@"\n' >bin/mpirun
chmod +x bin/mpirun
processes() {
    PATH=$PWD/bin:$PATH expect "$@"
}
two=$root/tests/bench/processes.py
processes 0 'gpt2         one process, two threads                   8 ms/step    2.00   2.00   2.00' '' "$two" \
    --bench ./pair --python ./torch --rounds 2 gpt2
that "PyTorch's ratio" grep -qF 'PyTorch 0.0 eager, two processes           3 ms/step    0.75   0.75   0.75' stdout
processes 0 '        4        30                                 20        10' '' "$two" --bench ./pair --memory
processes 0 'processes,processors,seconds' '' "$two" --bench ./pair --check
that 'eight rows' [ "$(wc -l <stdout)" -eq 9 ]
processes 2 '' 'processes.py: argument --bench: /nonexistent: not built' "$two" --bench /nonexistent

# A busy machine: one message, with the programs that use the processors and their shares.
if [ -r /proc/stat ]; then
    (while :; do :; done) &
    busy=$!
    compare 0 '' 'compare.py: waits for a quiet machine, up to 0.6 s each time: others take ' --patience 0.6 skip copy
    kill $busy
    that 'the programs and their shares' grep -qF 'of a processor: ' stderr
    that 'the options that change it' grep -qF '; --others (now 0.1) and --patience change that' stderr
fi

# Ctrl-C or kill during the second workload: the peer's own processes end as well, and the first workload's row is kept.
peer slow "$figures; [ \$workload = skip ] || { sleep 100 & echo \$! >sleeper; wait; }"
cat >interrupt.py <<'EOF'
import pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
with subprocess.Popen([sys.executable] + sys.argv[2:]) as process:
    while process.poll() is None and not (pathlib.Path("sleeper").exists() and pathlib.Path("sleeper").read_text()):
        time.sleep(0.02)
    process.send_signal(signal.Signals[sys.argv[1]])
sys.exit(process.returncode)
EOF
for name in SIGINT SIGTERM; do
    rm -f sleeper kept.csv
    expect 130 '' 'compare.py: interrupted: what was measured before is in kept.csv' interrupt.py $name \
        "$root/tests/bench/compare.py" --bench ./kaeru --python ./slow --patience 0 --tries 1 --out kept.csv skip copy
    that 'the row of the first workload' grep -q '^skip,PyTorch' kept.csv
    tries=0
    while kill -0 "$(cat sleeper)" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    that 'the end of the process that the peer started' [ $tries -lt 100 ]
done

# draws STATUS "TEXT ON STDERR" NAME: runs the gnuplot script NAME.
draws() {
    gnuplot "$root/plots/$3.gp" >stdout 2>stderr
    status=$?
    that "status $status, expected $1: $3.gp" [ $status -eq "$1" ]
    if [ -n "$2" ]; then
        that "'$2' missing on stderr: $3.gp" grep -qF "$2" stderr
        that "not one line on stderr: $3.gp" [ "$(wc -l <stderr)" -eq 1 ]
        lacks "$3.svg"
    else
        that "text on stderr: $3.gp" [ ! -s stderr ]
        has "$3.svg"
    fi
}

if command -v gnuplot >/dev/null; then
    rm -f bench.csv
    nothing='bench.gp: no results in bench.csv: expected lines below workload,peer,unit,'
    draws 1 "$nothing" bench
    : >bench.csv
    draws 1 "$nothing" bench
    printf 'workload,peer,unit,kaeru,other,ratio,low,high,kaeru_mib,other_mib,others,machine\r\n' >bench.csv
    draws 1 "$nothing" bench
    printf 'dimension,factor\nbatch,1\n' >bench.csv
    draws 1 "$nothing" bench
    printf 'workload,peer,unit,kaeru,other,ratio,low,high,kaeru_mib,other_mib,others,machine\r\n' >bench.csv
    for workload in gemm skip copy; do
        for peer in eager compiled other; do
            [ $workload = skip ] && [ $peer = eager ] || printf '%s,%s,ms,1,2,2,1,3,4,5,0,Abacus\r\n' $workload $peer
        done >>bench.csv
    done
    draws 0 '' bench
    for workload in gemm skip copy; do
        that "$workload once in bench.svg" [ "$(grep -c ">$workload<" bench.svg)" -eq 1 ]
    done

    nothing='scaling.gp: no results in scaling.csv: expected lines below dimension,factor,operations,seconds'
    draws 1 "$nothing" scaling
    echo 'dimension,factor,operations,seconds' >scaling.csv
    draws 1 "$nothing" scaling
    for dimension in batch length width layers; do
        printf '%s,1,1e6,0.1\n%s,2,2e6,0.6\n' $dimension $dimension
    done >>scaling.csv
    draws 0 '' scaling

    if [ -f threads.csv ]; then
        mv threads.csv kept.csv
        draws 1 'threads.gp: no results in threads.csv: expected lines below workload,precision,threads,model,' threads
        mv kept.csv threads.csv
        draws 0 '' threads
    fi

    mv cost.csv kept.csv
    nothing='cost.gp: no results in cost.csv: expected lines below model,gigabits,tokens,'
    draws 1 "$nothing" cost
    mv kept.csv cost.csv
    draws 0 '' cost
else
    echo "no gnuplot: pictures not tested"
fi
summary bench
