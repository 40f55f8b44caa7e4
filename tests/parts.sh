#!/bin/sh
# parts.sh [FOLDER [PART...]]: builds the book alone in FOLDER (build-parts), on one processor, and runs its suites in float
# and in double, as `meson test` does; then each part alone on top of the book, with the parts that it needs, and their suites
# in float. With PART: these parts; '' is the book alone, and a,b are two parts in one build. A program is compiled with what
# each build installs. The last line is the number of builds that passed and failed.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
folder=${1:-$root/build-parts}
[ $# -eq 0 ] || shift
passed=0
failed=0

# quietly COMMAND...: prints its output only if it fails.
quietly() {
    "$@" >"$folder/log" 2>&1 || {
        tail -n 40 "$folder/log"
        return 1
    }
}

# The headers and the library that are installed: each header is compiled, the library has what they declare and nothing else,
# and with the book a program is linked.
check_installed() {
    for header in "$folder/installed/include/kaeru"/*.h; do
        echo "#include \"kaeru/${header##*/}\"" |
            cc -std=c11 -Wall -Werror -I "$folder/installed/include" -fsyntax-only -x c - || return 1
    done
    cat >"$folder/uses.c" <<'END'
#include <kaeru/kaeru.h>

int main(void)
{
    AgScope s = ag_begin(AG_RECORD);
    Linear *l = nn_linear_new(2, 1);
    ag_backward(ag_sum(nn_linear(l, tensor_ones(SHAPE(3, 2)))));
    ag_end(s);
    ag_free(l);
    return 0;
}
END
    cc -std=c11 -Wall -Werror -I "$folder/installed/include" -o "$folder/uses" "$folder/uses.c" \
        "$folder/installed/lib/libkaeru.a" -lm -pthread && "$folder/uses" || return 1
    quietly python3 "$root/tests/exports.py" "$folder/installed/lib/libkaeru.so" "$folder/installed/include/kaeru"
}

# A program that uses the build folder sees the headers that are installed, and the system's own <threads.h>.
check_uninstalled() {
    printf '#include <threads.h>\n#include <kaeru/kaeru.h>\nthrd_t thread;\n' >"$folder/sees.c"
    flags=$(PKG_CONFIG_PATH="$folder/build/meson-uninstalled" pkg-config --cflags kaeru) || return 1
    # shellcheck disable=SC2086 # flags are words
    cc -std=c11 -fsyntax-only $flags "$folder/sees.c" &&
        cc -DKAERU_NO_LINES -E -P $flags "$folder/sees.c" >"$folder/uninstalled" || return 1
    cc -DKAERU_NO_LINES -E -P -I "$folder/installed/include" "$folder/sees.c" >"$folder/expected" || return 1
    quietly diff "$folder/expected" "$folder/uninstalled"
}

# What needs parts that the book alone does not have must not configure.
check_refused() {
    for option in mpi=enabled fuzz=true; do
        rm -rf "$folder/refused"
        if meson setup "$folder/refused" "$root" -Dparts= "-D$option" >"$folder/log" 2>&1 ||
            ! grep -q "ERROR: .*-D$option needs " "$folder/log"; then
            echo "-D$option with the book alone is not refused"
            return 1
        fi
    done
}

# What `meson test` runs. With the book alone it builds and runs all, as for a user. The suites of the book run in float on the
# parts that compute and store in another way, and on options, which has no suite; with each other part run those that the book
# alone cannot run.
suites_of() {
    case $1 in
    '') ;;
    fast | memory | more | options) echo --no-rebuild --suite float ;;
    *) echo --no-rebuild --suite parts --no-suite double ;;
    esac
}

# build_of PARTS: configures, builds, installs, tests.
build_of() {
    rm -rf "$folder/build" "$folder/installed"
    mkdir -p "$folder"
    quietly meson setup "$folder/build" "$root" --prefix "$folder/installed" --libdir lib -Dmpi=disabled "-Dparts=$1" ||
        return 1
    if [ -z "$1" ]; then
        check_refused || return 1
        export CCACHE_DISABLE=1
        used=$(sh -c 'ninja -C "$1" -j 1 libkaeru.a >"$2" 2>&1 || cat "$2" >&2; times' sh "$folder/build" "$folder/log" |
            tail -n 1)
        unset CCACHE_DISABLE
        echo "processor time to build the book alone, of the user and of the system: $used"
    fi
    quietly ninja -C "$folder/build" && quietly meson install -C "$folder/build" --no-rebuild && check_installed &&
        check_uninstalled || return 1
    quietly ninja -C "$folder/build" tests/run_tests_float tests/book_alone || return 1
    # shellcheck disable=SC2046 # a list of words
    quietly "$folder/build/tests/book_alone" &&
        quietly meson test -C "$folder/build" --print-errorlogs $(suites_of "$1") || return 1
    awk '/ are left out$/ { n += $2 } END { if (n) printf "left out: %d tests that call functions of other parts\n", n }' \
        "$folder/build/meson-logs/testlog.txt"
    awk '/^Ok:/ { print "suites: " $2 " passed" }' "$folder/log"
}

# The parts in meson.build's table.
[ $# -gt 0 ] || set -- '' $(sed -n "/^foreach part : \[\$/,/^    \]/s/^        \['\([a-z0-9_]*\)', .*/\1/p" "$root/meson.build")
for part; do
    echo "== ${part:-the book alone}"
    if build_of "$part"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: ${part:-the book alone}"
    fi
done
echo "parts: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
