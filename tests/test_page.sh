#!/bin/sh
# test_page.sh ROOT BUILD: the page, made by make.py: one file without a network; its engine in node, with the hashes of the
# native programs; and the page in a headless Chromium. Both decompress what the native program has compressed. Skipped (status
# 77) without the tools for WebAssembly and node. With PAGE_PICTURES=FOLDER in the environment, the browser's pictures of each
# section go there.

root=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
build=$(CDPATH='' cd -- "$2" && pwd -P) || exit 1
program=$build/examples/spiral
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
if ! { have clang && have wasm && have node; }; then
    echo "no clang, lld, wasi-libc or node: skipped"
    exit 77
fi
# shellcheck source=tests/expect.sh
. "$root/tests/expect.sh"
# shellcheck source=tests/round_trips.sh
. "$root/tests/round_trips.sh"

# in_node FILE ARGUMENT...: runs that test, and adds its counts to those of this one.
in_node() {
    test=$1
    shift
    node "$root/tests/page/$test" "$@" >counts 2>&1
    sed '$d' counts
    counts=$(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' counts)
    if [ -n "$counts" ]; then
        passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
    else
        tail -n 5 counts
        wrong "$test did not end"
    fi
}

# A clone with nothing built: run.sh builds all that it runs.
mkdir -p clone/bin
ln -s "$root"/* clone && rm -f clone/build
cp "$root/tests/linking_meson.sh" clone/bin/meson
chmod +x clone/bin/meson
if (cd clone && BUILT=$build REAL_MESON=$(command -v meson) PATH=$PWD/bin:$PATH sh examples/run.sh page) >stdout 2>stderr
then ok; else wrong "run.sh page in a new clone"; cat stderr; fi
that "run.sh writes the page" [ -s clone/out/page.html ]
if python3 "$root/examples/page/make.py" "$build" made/page.html >stdout 2>stderr; then ok; else wrong "make.py"; cat stderr; fi
that "no warnings" [ ! -s stderr ]
same clone/out/page.html made/page.html
that "at most 640 KB" [ "$(wc -c <made/page.html)" -le 640000 ]
# A folder for a static web server, by one command, which the workflow uses.
if (cd clone && BUILT=$build REAL_MESON=$(command -v meson) PATH=$PWD/bin:$PATH \
    sh examples/run.sh page --publish 'a site/kaeru') >stdout 2>stderr
then ok; else wrong "run.sh page --publish"; cat stderr; fi
same 'clone/a site/kaeru/index.html' made/page.html
same 'clone/a site/kaeru/LICENSE.txt' "$root/LICENSE"
that "what is published" [ "$(ls -A 'clone/a site/kaeru' | tr '\n' ' ')" = '.nojekyll LICENSE.txt index.html ' ]
for wrong_use in --publish '--publish a b' '--publish a --seed 1'; do
    # shellcheck disable=SC2086 # words
    sh "$root/examples/run.sh" page $wrong_use >stdout 2>stderr
    that "page $wrong_use is refused" [ $? -eq 2 ]
    that "page $wrong_use is told" grep -qx 'examples/run.sh: page --publish: expected a FOLDER' stderr
done
workflow=$root/.github/workflows/page.yml
that "the workflow publishes by this command" grep -q 'run: sh examples/run.sh page --publish out/site$' "$workflow"
that "and uploads that folder" grep -q 'path: out/site$' "$workflow"
that "without secrets" [ "$(grep -c 'secrets\.' "$workflow")" -eq 0 ]

# The only address is the name of SVG's elements.
that "no network" [ "$(grep -oE '(https?:)?//[a-z0-9.-]+\.[a-z]+' made/page.html | sort -u)" = http://www.w3.org ]

expect 0 'loaded from spiral.safetensors' ''
hash=$(sha256sum spiral.safetensors | cut -d ' ' -f 1)
autograd=$root/autograd
if clang --target=wasm32-wasi -O2 -msimd128 -ffp-contract=off -fwrapv -mexec-model=reactor -DKERNEL_ISA=portable \
    -I "$autograd" -I "$autograd/fast" -I "$autograd/fast/simd" -I "$autograd/include" -I "$autograd/ops/more" \
    -o fma.wasm "$root/tests/page/fma.c"; then ok; else wrong "fma.c"; fi
in_node engine_test.js made/page.html "$hash" fma.wasm
that "files to decompress" pack "$build/examples/compress" 12 packed
if browser=$(chromium_program); then
    in_node browser_test.js "$browser" made/page.html packed/003_english.k ${PAGE_PICTURES:+"$PAGE_PICTURES"}
else
    browser=-
    echo "no chromium: the page is not tested in a browser"
fi
in_node unpack_test.js made/page.html "$browser" packed/*.k

summary page
