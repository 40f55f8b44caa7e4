# try.sh: for tests that count commands. A test reads this file with `.`. It makes a temporary folder, $folder, and removes it at
# the end.
# shellcheck shell=sh
passed=0
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# try "WHAT" COMMAND...: counts, and shows the output of what fails.
try() {
    what=$1
    shift
    if "$@" >"$folder/output" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what: $*"
        cat "$folder/output"
    fi
}
