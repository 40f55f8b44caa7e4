#!/bin/sh
# All pictures of the lessons on one page: sh examples/run.sh gallery [--out FOLDER] [--list FILE]
# Builds the examples, runs the commands in examples/gallery.txt with their output in FOLDER/PROGRAM, and writes
# FOLDER/index.html with the commands, the pictures, their captions, and the printed text. The exit status is 1 if a command
# or a picture failed, 2 for an error in the command line.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh disable=SC1091
. "$root/tests/setup.sh"

out=out/gallery
list=$root/examples/gallery.txt
while [ $# -gt 0 ]; do
    case $1 in
    --out | --list)
        [ -n "${2-}" ] || { say "gallery: $1 needs a value"; exit 2; }
        if [ "$1" = --out ]; then out=$2; else list=$2; fi
        shift 2 ;;
    --help | -h) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
    *) say "gallery: unexpected argument '$1' (--help lists the options)"; exit 2 ;;
    esac
done
[ -r "$list" ] || die "gallery: cannot read $list"

# KAERU_PROGRAMS: a folder of examples that are already built.
if [ -z "${KAERU_PROGRAMS-}" ]; then
    need cc meson ninja pkg-config gnuplot dot
    [ -d "$root/build" ] || say "Building kaeru ..."
    configure "$root/build"
    # shellcheck disable=SC2046 # a list of words
    quietly meson compile -C "$root/build" $(sed -n 's|^\$ \([a-z0-9_]*\).*|examples/\1|p' "$list" | sort -u)
    KAERU_PROGRAMS=$root/build/examples
fi
mkdir -p "$out" || die "gallery: cannot make the folder $out"
page=$out/index.html
failed=''
begun=$(date +%s)

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

# run COMMAND: runs it with its output in the folder of the program, and writes the command and the printed text.
run() {
    command=$1
    say "gallery: $command"
    # shellcheck disable=SC2086 # a command is a list of words
    set -- $command
    name=$1
    shift
    case ${1-} in
    '' | -*) set -- --out "$out/$name" "$@" ;;
    *)  _part=$1                                    # "train" of "gpt train"
        shift
        set -- "$_part" --out "$out/$name" "$@" ;;
    esac
    mkdir -p "$out/$name"
    rm -f "$out/$name"/*.png "$out/$name"/*.svg
    LC_ALL=C.UTF-8 "$KAERU_PROGRAMS/$name" "$@" >"$out/$name/output.txt" 2>&1 </dev/null || failed="$failed $name"
    {
        printf '<pre class="command">sh examples/run.sh %s</pre>\n' "$(printf '%s' "$command" | escape)"
        printf '<details><summary>Printed text</summary><pre>'
        escape <"$out/$name/output.txt"
        printf '</pre></details>\n'
    } >>"$page"
}

# image PICTURE: the PNG, or the SVG if gnuplot has no PNG, with a link to the SVG
image() {
    _shown=$name/$1.png
    [ -s "$out/$_shown" ] || _shown=$name/$1.svg
    if [ ! -s "$out/$_shown" ]; then
        say "gallery: no picture $1"
        failed="$failed $1"
    fi
    printf '<a href="%s/%s.svg"><img src="%s" alt="%s"></a>\n' "$name" "$1" "$_shown" "$1" >>"$page"
}

# show PICTURE CAPTION
show() {
    case $1 in
    *_\*)   printf '<figure><div class="film">\n' >>"$page"
            image "${1%\*}00"
            for _frame in "$out/$name/${1%\*}"[0-9][0-9].svg; do
                _frame=$(basename "$_frame" .svg)
                case $_frame in *_00 | *\]) ;; *) image "$_frame" ;; esac
            done
            printf '</div>\n' >>"$page" ;;
    *)      printf '<figure>\n' >>"$page"
            image "$1" ;;
    esac
    printf '<figcaption>%s</figcaption></figure>\n' "$(printf '%s' "$2" | escape)" >>"$page"
}

cat >"$page" <<'END'
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kaeru: the lessons in pictures</title>
<style>
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1.1rem/1.5 sans-serif; color: #222; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 4rem; border-bottom: 2px solid #0072B2; }
figure { margin: 1.5rem 0 2.5rem; }
img { max-width: 100%; height: auto; border: 1px solid #ddd; }
.film { display: flex; gap: .5rem; overflow-x: auto; }
.film img { max-width: none; height: 28rem; }
figcaption { margin-top: .5rem; }
pre { overflow-x: auto; padding: .6rem .8rem; background: #f4f4f4; font-size: .85rem; line-height: 1.25; }
pre.command { border-left: 4px solid #0072B2; font-size: 1rem; }
summary { cursor: pointer; color: #555; }
</style>
</head>
<body>
<h1>kaeru: the lessons in pictures</h1>
<p>Each command makes the pictures below it. examples/README.md explains the lessons, with code to read and exercises.
A click on a picture opens it as SVG.</p>
END

while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '## '*) printf '<h2>%s</h2>\n' "$(printf '%s' "${line#'## '}" | escape)" >>"$page" ;;
    '#'* | '') ;;
    '$ '*) run "${line#'$ '}" ;;
    *': '*) show "${line%%: *}" "${line#*: }" ;;
    *) die "gallery: $list: cannot read the line: $line" ;;
    esac
done <"$list"
printf '</body>\n</html>\n' >>"$page"

say "gallery: $page ($(($(date +%s) - begun)) s)"
[ -z "$failed" ] || die "gallery: these failed:$failed"
