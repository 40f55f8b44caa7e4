# try.sh: for tests that count commands. A test reads this file with `.`. It makes a temporary folder, $folder, and removes it
# at the end.
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

# with_one_file BUILD: a program of the tests that is compiled with -I $folder/include sees BUILD's packaging/kaeru.h, as a
# user's program does, in the place of the library's headers.
with_one_file() {
    mkdir -p "$folder/public" "$folder/include/kaeru"
    cp "$1/packaging/kaeru.h" "$folder/public/"
    for name in autograd lm parallel training; do
        echo '#include "../../public/kaeru.h"' >"$folder/include/kaeru/$name.h"
    done
}
