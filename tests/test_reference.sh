#!/bin/sh
# test_reference.sh SOURCE BUILD EXAMPLES CC...: the reference in BUILD/reference: its examples print what stands beside them,
# it has each name that the headers declare, its links lead somewhere, its man pages are read without warnings, and its search
# finds names in a browser, where there is one.

root=$(CDPATH='' cd -- "$1" && pwd -P) || exit 1
build=$(CDPATH='' cd -- "$2" && pwd -P) || exit 1
examples=$(CDPATH='' cd -- "$3" && pwd -P) || exit 1
shift 3
cc=$*
pages=$build/reference
program=/bin/sh
# shellcheck source=tests/setup.sh
. "$root/tests/setup.sh"
# shellcheck source=tests/expect.sh
. "$root/tests/expect.sh"

# ---- the examples ----------------------------------------------------------------------------------------------------

for printed in "$root"/tools/reference/examples/*.txt; do
    name=$(basename "$printed" .txt)
    for threads in 1 3; do
        KAERU_THREADS=$threads "$examples/reference_$name" >stdout 2>stderr
        that "status of tools/reference/examples/$name.c" [ $? -eq 0 ]
        that "$(cat stderr)" [ ! -s stderr ]
        if diff "$printed" stdout >difference; then ok; else
            wrong "tools/reference/examples/$name.txt is not what the program prints with $threads threads"
            cat difference
        fi
    done
done

# ---- formulas --------------------------------------------------------------------------------------------------------

# Each formula as MathML without what only moves it: {above / below}, x^(exponent), x_(index), [root].
cat >formulas <<'END'
-dy a / b^2: <−{dya / b^(2)}>
x/2 (1 + x): <x/2(1+x)>
2 / sqrt(pi) e^(-x^2): <{2 / [π]}e^(−x^(2))>
d^2/2: <d^(2)/2>
step^-1/2, step warmup^-3/2: <step^(−1/2)>, <stepwarmup^(−3/2)>
y[o,j] = x[o, ids[o,j]]: <y_(o,j)=x_(o,ids_(o,j))>
mean of (x - mean)^2: mean of <(x−mean)^(2)>
x / sum of y: <x> / sum of <y>
(x - y) / a: <{x−y / a}>
|d| (|d| - delta/2): <|d|(|d|−δ/2)>
END
cat >formulas.py <<'END'
import sys
import xml.etree.ElementTree as tree
sys.path.insert(0, sys.argv[1] + "/tools/reference")
from formula import typeset

def plain(e):
    """The text of an element of MathML."""
    form = {"mfrac": "{%s / %s}", "msup": "%s^(%s)", "msub": "%s_(%s)", "msqrt": "[%s]", "math": "<%s>"}.get(e.tag)
    parts = [plain(child) + (child.tail or "") for child in e]
    text = (e.text or "") + "".join(parts)
    return form % tuple(parts) if form and len(parts) == form.count("%s") else form % text if form else text

names = {"x", "y", "a", "b", "step", "warmup", "ids", "delta"}
for line in open("formulas", encoding="utf-8"):
    source, expected = line.rstrip("\n").split(": ")
    text = typeset(source, names, True).replace("&#x2061;", "").replace("&#8288;", "")
    found = plain(tree.fromstring(f"<p>{text}</p>"))
    if found != expected:
        print(f"{source}: {found}, expected {expected}")
for text in "x (B,T,D/heads)", "a usage error", "2 and 3", "x and y", "w = w - lr g":
    if "<math>" in typeset(text, {"x", "y", "heads"}):
        print(f"a formula in: {text}")
END
python3 -B formulas.py "$root" >stdout 2>&1
that "formulas: $(cat stdout)" [ ! -s stdout ]

# ---- the names -------------------------------------------------------------------------------------------------------

# What the compiler sees of kaeru's headers: each macro, and each name before a parenthesis that is outside of braces and
# parentheses, except what a name of the C library or of the compiler is.
printf '#include <kaeru/kaeru.h>\n#include <kaeru/mpi.h>\n' >all.c
# shellcheck disable=SC2086 # a list of words
$cc -E -dD -I "$root/autograd/include" -I "$root/nn/include" -I "$root/models/include" \
    -I "$root/nn/mpi/include" -I "$build/autograd/include" -I "$build/nn/include" -I "$build/models/include" all.c >all.i
that "the headers" [ -s all.i ]
awk '
    /^# [0-9]+ "/ { ours = /include\/kaeru\// && !/kaeru\/calls\//; next }
    !ours { next }
    /^#define/ {
        name = $2
        sub(/\(.*/, "", name)
        if (name !~ /^KAERU_[A-Z0-9_]*H$/ && NF > 2) print name
        next
    }
    /^#/ { next }
    {
        line = $0
        while (line != "") {
            if (match(line, /^[A-Za-z_][A-Za-z_0-9]*/)) {
                word = substr(line, 1, RLENGTH)
                line = substr(line, RLENGTH + 1)
                if (line ~ /^\(/ && depth == 0 && word !~ /^__/) print word
            } else {
                if (line ~ /^[({]/) depth++
                if (line ~ /^[)}]/) depth--
                line = substr(line, 2)
            }
        }
    }' all.i | sort -u >names
that "more than 450 names, found $(wc -l <names)" [ "$(wc -l <names)" -gt 450 ]
grep -ho 'id="[A-Za-z0-9_]*"' "$pages"/*.html | sed 's/id="\(.*\)"/\1/' | sort >ids
while read -r name; do
    case $name in
    # What only the header itself uses.
    AG_PRINTF | AG_MUST_CHECK | AG_NAME_CALL | AG_NAME_CALL_VOID | AG_PLACE) continue ;;
    esac
    that "no entry, or more than one, for $name" [ "$(grep -cx "$name" ids)" -eq 1 ]
    that "the search has no $name" grep -qF "[\"$name\"," "$pages/index.js"
    case $name in
    [a-z]*) that "no man page $name" [ -s "$pages/man3/$name.3" ] ;;
    esac
done <names

# ---- the pages -------------------------------------------------------------------------------------------------------

# Each page#anchor of a link, and each anchor of a page.
for page in "$pages"/*.html; do
    name=$(basename "$page")
    grep -o 'href="[^"]*"' "$page" | sed 's/href="\(.*\)"/\1/; s/^#/'"$name"'#/'
done | grep -vE '^https://github\.com/[^/]+/[^/]+(/(issues|pull)/[0-9]+)?$' | sort -u >links      # questions asked elsewhere
for page in "$pages"/*.html "$pages/style.css"; do
    name=$(basename "$page")
    echo "$name"
    grep -o 'id="[^"]*"' "$page" | sed 's/id="\(.*\)"/'"$name"'#\1/'
done | sort -u >places
comm -23 links places >broken
that "links that lead nowhere: $(head -n 3 broken | tr '\n' ' ')" [ ! -s broken ]
for file in "$pages"/*.html; do
    that "no document of HTML: $file" python3 - "$file" <<'END'
import html.parser, sys

class Balance(html.parser.HTMLParser):
    """Each element that is opened is closed, in order."""
    def __init__(self):
        super().__init__()
        self.open = []
    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "link", "input", "img"):
            self.open.append(tag)
    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            sys.exit(f"{sys.argv[1]}: line {self.getpos()[0]}: </{tag}>")

page = Balance()
page.feed(open(sys.argv[1], encoding="utf-8").read())
sys.exit(bool(page.open))
END
done

# The date of a man page is missing on purpose: the same sources give the same bytes.
for page in "$pages"/man3/*.3; do
    if grep -q '^\.so ' "$page"; then
        that "the page of $page" [ -s "$pages/$(sed 's/^\.so //' "$page")" ]
    elif command -v mandoc >/dev/null; then
        mandoc -Tlint -Wwarning "$page" | grep -v 'missing date' >warnings
        that "$(cat warnings)" [ ! -s warnings ]
    elif command -v groff >/dev/null; then
        groff -ww -man -Tutf8 "$page" >/dev/null 2>warnings
        that "$(cat warnings)" [ ! -s warnings ]
    fi
done

# shown NAME FOLDER: man with this folder shows the page of NAME, with its prototype. The file of a function that shares a
# page with others names that page, and man looks for it from the folder.
shown() {
    LC_ALL=C.UTF-8 MANWIDTH=80 man -M "$2" "$1" 2>&1 | col -b >page
    that "man $1: $(head -n 3 page)" grep -q "^ .*$1.* - " page
    that "a prototype in man $1" grep -q "$1(" page
}

# As `meson install` does with -Dreference=enabled.
MESON_INSTALL_DESTDIR_PREFIX=$folder/prefix python3 -B "$root/tools/reference/reference.py" --install "$pages" \
    share/doc/kaeru/reference share/man/man3
has prefix/share/doc/kaeru/reference/index.html
has prefix/share/doc/kaeru/reference/search.js
if command -v man >/dev/null; then
    for name in ag_softmax nn_linear nn_linear_new nn_adamw_new; do
        shown "$name" "$pages"
        shown "$name" "$folder/prefix/share/man"
    done
    shown ag_custom "$pages"
    that "a constant and what it is" grep -q '^ *AG_NEEDS_Y$' page
    shown ag_batch_ids "$pages"
    that "a link of the page of PyTorch's names" grep -q 'see the page Data' page
fi

# ---- the search ------------------------------------------------------------------------------------------------------

# finds WORDS NAME: a browser that opens a page from disk with this search shows this name first.
finds() {
    "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/browser" --dump-dom \
        "file://$pages/nn.html?find=$1" 2>/dev/null | grep -o '<ol id="found".*</ol>' >found
    that "a search for '$1' does not show $2 first: $(head -c 300 found)" \
        grep -q "^<ol id=\"found\"><li class=\"chosen\"><a href=\"[^\"]*\"><b>$2</b>" found
}
browser=$(chromium_program)
if [ -n "$browser" ]; then
    finds attention ag_attention
    finds torch.nn.LayerNorm torch.nn.LayerNorm
    finds 'mutable+data' tensor_mutable_data
    finds gelu ag_gelu
    finds slogdet torch.slogdet             # a name without one here
    finds muon nn_muon_new
else
    echo "no browser: the search is not tested"
fi

summary reference
