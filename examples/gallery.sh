#!/bin/sh
# All pictures of the lessons on one page: sh examples/run.sh gallery [--language en|ja] [--out FOLDER] [--list FILE]
# Builds the examples, runs the commands in examples/gallery.txt (in Japanese: gallery.ja.txt) with their output in
# FOLDER/PROGRAM, and writes FOLDER/index.html with the commands, the pictures, their captions, and the printed text. Without
# --language, the locale decides. The exit status is 1 if a command or a picture failed, 2 for an error in the command line.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 1
# shellcheck source=tests/setup.sh disable=SC1091
. "$root/tests/setup.sh"

out=out/gallery
list=''
language=${LC_ALL:-${LC_MESSAGES:-${LANG-}}}
case $language in ja*) language=ja ;; *) language=en ;; esac
while [ $# -gt 0 ]; do
    case $1 in
    --out | --list | --language)
        [ -n "${2-}" ] || { say "gallery: $1 needs a value"; exit 2; }
        case $1 in --out) out=$2 ;; --list) list=$2 ;; *) language=$2 ;; esac
        shift 2 ;;
    --help | -h) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
    *) say "gallery: unexpected argument '$1' (--help lists the options)"; exit 2 ;;
    esac
done
case $language in
en) suffix=''
    title='kaeru: the lessons in pictures'
    intro='Each command makes the pictures and the text below it. examples/README.md explains the lessons, with code to read
and exercises. A click on a picture opens it as SVG, which stays sharp when enlarged.'
    contents='Contents'
    printed_text='Printed text'
    frame_text='Frame %d. %s'
    words="{ back: 'previous frame', next: 'next frame', at: 'frame {at} of {n}',
    keys: ' (or the arrow keys, after a click here)' }" ;;
ja) suffix=.ja
    title='kaeru：図で見るレッスン'
    intro='各コマンドが、その下の図とテキストを作ります。レッスンの説明、読むコード、練習問題はexamples/README.ja.mdにあります。'\
'図をクリックするとSVGで開き、拡大してもぼやけません。'
    contents='目次'
    printed_text='表示されたテキスト'
    frame_text='%dコマ目。%s'
    words="{ back: '前のコマ', next: '次のコマ', at: '{at} / {n} コマ目', keys: '（ここをクリックすると、矢印キーでも動かせます）' }" ;;
*)  say "gallery: --language $language: expected en or ja"; exit 2 ;;
esac
list=${list:-$root/examples/gallery$suffix.txt}
readme=$root/examples/README$suffix.md
for file in "$list" "$readme"; do [ -r "$file" ] || die "gallery: cannot read $file"; done

# KAERU_PROGRAMS: a folder of examples that are already built.
if [ -z "${KAERU_PROGRAMS-}" ]; then
    need cc meson ninja pkg-config gnuplot dot
    [ -d "$root/build" ] || say "Building kaeru ..."
    configure "$root/build"
    # shellcheck disable=SC2046 # a list of words
    quietly meson compile -C "$root/build" $(sed -n 's|^[$!] \([a-z0-9_]*\).*|examples/\1|p' "$list" | sort -u)
    KAERU_PROGRAMS=$root/build/examples
fi
mkdir -p "$out" || die "gallery: cannot make the folder $out"
page=$out/index.html
failed=''
begun=$(date +%s)

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

# flush: the printed text of the last command, folded, unless the list has shown it
flush() {
    [ -z "$printed" ] || { printf '<details><summary>%s</summary><pre>' "$printed_text"; escape <"$printed"
                           printf '</pre></details>\n'; } >>"$page"
    printed=''
}

# run LARGEST COMMAND: runs it with its output in the folder of the program, and writes the command. Its exit status must be at
# most LARGEST. A program that runs twice keeps the pictures of the first run.
run() {
    flush
    largest=$1
    command=$2
    say "gallery: $command"
    eval "set -- $command"                              # words as in a shell: --sentence 'A b .'
    name=$1
    shift
    case ${1-} in
    '' | -*) set -- --out "$out/$name" --language "$language" "$@" ;;
    *)  _part=$1                                    # "train" of "gpt train"
        shift
        set -- "$_part" --out "$out/$name" --language "$language" "$@" ;;
    esac
    mkdir -p "$out/$name"
    case $ran in *" $name "*) ;; *) rm -f "$out/$name"/*.png "$out/$name"/*.svg ;; esac
    ran="$ran $name "
    printed=$out/$name/output.txt
    # In the locale C, charts are of letters, which browsers align; Braille has another width in many fonts.
    LC_ALL=C "$KAERU_PROGRAMS/$name" "$@" >"$printed" 2>&1 </dev/null
    [ $? -le "$largest" ] || failed="$failed $name"
    printf '<pre class="command">sh examples/run.sh %s</pre>\n' "$(printf '%s' "$command" | escape)" >>"$page"
}

# image PICTURE SEEN: the PNG, or the SVG if gnuplot has no PNG, with a link to the SVG
image() {
    _shown=$name/$1.png
    [ -s "$out/$_shown" ] || _shown=$name/$1.svg
    if [ ! -s "$out/$_shown" ]; then
        say "gallery: no picture $1"
        failed="$failed $1"
    fi
    printf '<a href="%s/%s.svg"><img src="%s" alt="%s"></a>\n' "$name" "$1" "$_shown" "$2" >>"$page"
}

# show PICTURE CAPTION: the picture, the frames PICTURE_* or the printed text, with the caption and what $seen says
show() {
    _seen=$(printf '%s' "${seen:-$2}" | escape | sed 's/"/\&quot;/g')
    seen=''
    case $1 in
    text)   { printf '<figure><pre>'; escape <"$printed"; printf '</pre>\n'; } >>"$page"
            printed='' ;;
    *_\*)   printf '<figure><div class="film">\n' >>"$page"
            _number=0
            for _frame in "$out/$name/${1%\*}"[0-9][0-9].svg; do
                _number=$((_number + 1))
                # shellcheck disable=SC2059 # a format of the language
                image "$(basename "$_frame" .svg)" "$(printf "$frame_text" $_number "$_seen")"
            done
            printf '</div>\n' >>"$page" ;;
    *)      printf '<figure><div class="wide">\n' >>"$page"
            image "$1" "$_seen"
            printf '</div>\n' >>"$page" ;;
    esac
    printf '<figcaption>%s</figcaption></figure>\n' "$(printf '%s' "$2" | escape)" >>"$page"
}

# begin TITLE: a lesson, with the first paragraph of its text, which is found by the number of the lesson
begin() {
    flush
    lesson=$((lesson + 1))
    case $1 in [0-9]*.*) _heading="## ${1%%.*}." ;; *) _heading="## $1" ;; esac
    _first=$(awk -v heading="$_heading" -v japanese="$suffix" '
        index($0, heading) == 1 { here = 1; next }
        here && NF { printf "%s%s", $0, japanese ? "" : "\n"; some = 1; next }
        some { exit }' "$readme" | sed 's/`//g' | escape)
    {
        printf '<h2 id="lesson%d">%s</h2>\n' $lesson "$(printf '%s' "$1" | escape)"
        [ -z "$_first" ] || printf '<p>%s</p>\n' "$_first"
    } >>"$page"
}

{
    cat <<END
<!DOCTYPE html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
END
    cat <<'END'
<style>
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1.1rem/1.5 sans-serif; color: #222; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 4rem; border-bottom: 2px solid #0072B2; }
nav ul { list-style: none; padding: 0; columns: 20rem; }
nav a { display: block; padding: .3rem 0; }
figure { margin: 1.5rem 0 2.5rem; }
img { max-width: 100%; height: auto; border: 1px solid #ddd; box-sizing: border-box; }
.wide { overflow-x: auto; }
.film { display: flex; gap: .5rem; overflow-x: auto; }
.film img { max-width: none; height: 34rem; }
.film.playing img { max-width: 100%; max-height: 34rem; height: auto; }
.player button { font: inherit; padding: .4rem 1rem; margin-right: .5rem; }
figcaption { margin-top: .5rem; }
pre { overflow-x: auto; padding: .6rem .8rem; background: #f4f4f4; font-size: .85rem; line-height: 1.25; }
pre.command { border-left: 4px solid #0072B2; font-size: 1rem; white-space: pre-wrap; }
summary { cursor: pointer; color: #555; padding: .3rem 0; }
@media (max-width: 50rem) {                     /* a phone: letters of a readable size; the picture scrolls to the side */
    .wide img { max-width: none; width: var(--legible, 42rem); }
    .film.playing img { max-width: none; height: 26rem; }
    .keys { display: none; }
}
</style>
</head>
<body>
END
    cat <<END
<h1>$title</h1>
<p>$intro</p>
<nav aria-label="$contents"><ul>
END
    sed -n 's/^## //p' "$list" | escape |
        awk '{ printf "<li><a href=\"#lesson%d\">%s</a></li>\n", NR, $0 } END { print "</ul></nav>" }'
} >"$page"
ran='' printed='' seen='' lesson=0
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '## '*) begin "${line#'## '}" ;;
    '#'* | '') ;;
    '$ '*) run 0 "${line#'$ '}" ;;
    '! '*) run 1 "${line#'! '}" ;;
    'seen: '*) seen=${line#'seen: '} ;;
    *': '*) show "${line%%: *}" "${line#*: }" ;;
    *) die "gallery: $list: cannot read the line: $line" ;;
    esac
done <"$list"
flush
{
    printf '<script>\nvar words = %s;\n' "$words"
    cat <<'END'
// On a phone, pictures with many parts are wider than others.
window.addEventListener('load', function () {
    document.querySelectorAll('.wide img').forEach(function (picture) {
        picture.style.setProperty('--legible', 0.42 * picture.naturalWidth + 'px');
    });
});
// Frames become a player: one frame at a time, with buttons and arrow keys. Without JavaScript they are a strip.
document.querySelectorAll('.film').forEach(function (film) {
    var frames = film.querySelectorAll('a'), at = 0, bar = document.createElement('p');
    function button(text, label, step) {
        var b = document.createElement('button');
        b.textContent = text;
        b.setAttribute('aria-label', label);
        b.onclick = function () { show(at + step); };
        bar.appendChild(b);
        return b;
    }
    var back = button('\u25c0', words.back, -1), next = button('\u25b6', words.next, 1);
    var count = bar.appendChild(document.createElement('span'));
    count.setAttribute('aria-live', 'polite');
    function show(i) {
        at = Math.max(0, Math.min(frames.length - 1, i));
        frames.forEach(function (frame, k) { frame.hidden = k !== at; });
        back.disabled = at === 0;
        next.disabled = at === frames.length - 1;
        count.textContent = words.at.replace('{at}', at + 1).replace('{n}', frames.length);
    }
    bar.className = 'player';
    film.className = 'film playing';
    bar.insertAdjacentHTML('beforeend', '<span class="keys">' + words.keys + '</span>');
    film.parentNode.insertBefore(bar, film);
    film.parentNode.tabIndex = 0;
    film.parentNode.addEventListener('keydown', function (event) {
        var step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
        if (step) {
            event.preventDefault();
            show(at + step);
        }
    });
    show(0);
});
</script>
</body>
</html>
END
} >>"$page"

say "gallery: $page ($(($(date +%s) - begun)) s)"
[ -z "$failed" ] || die "gallery: these failed:$failed"
