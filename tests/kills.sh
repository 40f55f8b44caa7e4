# kills.sh: kills a program's trainings and resumes them. A script sets `work`, a folder, and reads this file with `.`.
# shellcheck shell=sh
: "${work:?is set by the script that reads this one}"

# same_as_straight PROGRAM COLUMNS: the killed run has the same models and adapters as the straight run, and the same CSV rows;
# only the first COLUMNS of a row are compared, since the others are times.
same_as_straight() {
    for run in straight killed; do
        cut -d, -f"1-$2" "$work/$run/$1.csv" >"$work/$run.csv" || return
        (cd "$work/$run" && find . -name '*.safetensors' -o -name '*config.json' | sort) >"$work/$run.files"
    done
    cmp "$work/straight.csv" "$work/killed.csv" && cmp "$work/straight.files" "$work/killed.files" || return
    while read -r file; do cmp "$work/straight/$file" "$work/killed/$file" || return; done <"$work/straight.files"
}

# seconds_of COMMAND...: runs it without its output and prints how many seconds it took.
seconds_of() {
    python3 -c 'import subprocess, sys, time
begin = time.monotonic()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(time.monotonic() - begin)
sys.exit(status)' "$@"
}

# kill_program WANTED PROGRAM COLUMNS COMMAND...: kills the command, which trains by that program, WANTED times, each time at a
# random moment, and resumes it. The moment is within half the time that a run without kills takes: a resumed run is shorter. A
# run that ends before its kill is compared, and a new run starts. Adds the kills to `all`.
kill_program() {
    wanted=$1 program=$2 columns=$3 killed=0 ended=0
    shift 3
    rm -rf "$work/straight" "$work/killed"
    length=$(seconds_of "$@" --out "$work/straight") || return
    while :; do
        how=--overwrite
        [ ! -e "$work/killed/${program}_last.safetensors" ] || how=--resume
        "$@" --out "$work/killed" $how >/dev/null 2>"$work/error" &
        if [ "$killed" -lt "$wanted" ]; then
            sleep "$(awk -v n="$((killed + ended))" -v most="$length" 'BEGIN { srand(n); printf "%.3f", rand() * most / 2 }')"
            kill -9 $! 2>/dev/null
        fi
        wait $! 2>/dev/null
        status=$?
        if [ "$status" -eq 137 ]; then
            killed=$((killed + 1))
            continue
        fi
        [ "$status" -eq 0 ] || { cat "$work/error"; return 1; }
        same_as_straight "$program" "$columns" || return
        ended=$((ended + 1))
        [ "$killed" -lt "$wanted" ] || break
        rm -rf "$work/killed"
    done
    echo "$program: $killed killed, $ended run to the end, each with the weights and rows of the run without kills"
    all=$((all + killed))
}
