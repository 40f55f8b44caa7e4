#!/bin/sh
# fuzz.sh TARGET SEEDS FOUND: runs a fuzz target with KAERU_FUZZ_RUNS inputs or, without this variable, for
# KAERU_FUZZ_SECONDS (8) seconds, and prints the number of inputs. The folder FOUND keeps inputs that reach new code, and an
# input that fails as NAME-crash-...
target=$1
name=$(basename "$target")
mkdir -p "$3" || exit 1
limit=-max_total_time=${KAERU_FUZZ_SECONDS:-8}
[ -z "${KAERU_FUZZ_RUNS-}" ] || limit=-runs=$KAERU_FUZZ_RUNS
# Few callers in the report of an allocation, which makes all faster. A failing input can be run again without this.
export ASAN_OPTIONS="${ASAN_OPTIONS-malloc_context_size=3}"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
"$target" "$limit" -max_len=4096 -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$3/$name-" "$3" "$2" >"$log" 2>&1
status=$?
[ $status -eq 0 ] || cat "$log"
tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
echo "$name: ${tried:-0} inputs"
echo "$name: $((status == 0)) passed, $((status != 0)) failed"
exit $status
