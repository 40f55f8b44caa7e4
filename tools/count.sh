#!/bin/sh
# Counts the lines of code of the library: sh tools/count.sh [TAG]

usage() {
    cat <<'END'
usage: sh tools/count.sh [TAG]

Counts the lines of code of the library, without comments and blank lines: of the book, which may have 10,000 at most, and of
each part. With a tag, or if the repository has one, also the change of each folder since then. Tables (.def) count as code;
headers that a script writes (calls/, ops.h, more_ops.h, op_entries.h, more_entries.h, unicode_table.h) do not count. The exit
status is 1 if the book has more lines than it may have, and 2 if the tag is unknown.
END
}

refuse() {
    echo "tools/count.sh: $1" >&2
    exit 2
}

set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
limit=10000
book='autograd autograd/ops autograd/plain nn models'

[ $# -le 1 ] || refuse "unexpected argument '$2'"
tag=${1-}
case $tag in
--help | -h) usage; exit 0 ;;
-*) echo "tools/count.sh: there is no option $tag" >&2; usage >&2; exit 2 ;;
esac
# In a copy inside another repository, git would find the tags of that one.
if inside=$(git -C "$root" rev-parse --show-prefix 2>/dev/null) && [ -z "$inside" ]; then
    : "${tag:=$(git -C "$root" describe --tags --abbrev=0 2>/dev/null || true)}"
    [ -z "$tag" ] || git -C "$root" rev-parse --quiet --verify "$tag^{commit}" >/dev/null || refuse "there is no tag $tag"
elif [ "$tag" ]; then
    refuse "there is no tag $tag: this folder is not the top of a git repository"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The number of lines of code in the files, which are its arguments.
code_lines() {
    awk '
        FNR == 1 { inside = 0 }
        {
            line = ""
            rest = $0
            while (rest != "") {
                if (inside) {
                    at = index(rest, "*/")
                    if (at == 0) { rest = ""; continue }
                    rest = substr(rest, at + 2)
                    inside = 0
                } else {
                    at = index(rest, "/*")
                    if (at == 0) { line = line rest; rest = ""; continue }
                    line = line substr(rest, 1, at - 1)
                    rest = substr(rest, at + 2)
                    inside = 1
                }
            }
            gsub(/[ \t]/, "", line)
            if (line != "" && line !~ /^\/\//) n++
        }
        END { print n + 0 }' /dev/null "$@"
}

# count ROOT: "FOLDER LINES" for each folder of the library. Public headers count where they lie.
count() {
    (
        cd "$1"
        find autograd nn models -name build -prune -o -name calls -prune -o \
            \( -name '*.c' -o -name '*.h' -o -name '*.def' \) ! -name op_entries.h ! -name more_entries.h \
            ! -path 'autograd/include/kaeru/*ops.h' ! -name unicode_table.h -print |
            sed 's|/[^/]*$||' | sort -u | while read -r folder; do
            set --
            for file in "$folder"/*.[ch] "$folder"/*.def; do
                case $file in
                *'*'* | */op_entries.h | */more_entries.h | autograd/include/kaeru/*ops.h | */unicode_table.h) ;;
                *) set -- "$@" "$file" ;;
                esac
            done
            echo "$folder $(code_lines "$@")"
        done
    )
}

count "$root" >"$work/now"
if [ "$tag" ]; then
    mkdir "$work/then"
    git -C "$root" archive "$tag" autograd nn models | tar -x -C "$work/then"
    count "$work/then" >"$work/before"
else
    : >"$work/before"
fi

awk -v book="$book" -v limit="$limit" -v tag="$tag" '
    BEGIN { n = split(book, names, " "); for (i = 1; i <= n; i++) is_book[names[i]] = 1 }
    function add(name) { if (!(name in known)) { known[name] = 1; folder[++folders] = name } }
    FILENAME ~ /before$/ { before[$1] = $2; next }
    { lines[$1] = $2; add($1) }
    function show(name, now, then, what) {
        printf "    %-28s %6d%s", name, now, what
        if (tag != "") printf "  %+6d", now - then
        printf "\n"
    }
    function show_all(in_book, what,    i, now, then) {
        for (i = 1; i <= folders; i++) {
            if ((folder[i] in is_book) == in_book) {
                show(folder[i], lines[folder[i]], before[folder[i]], "")
                now += lines[folder[i]]
                then += before[folder[i]]
            }
        }
        show("together", now, then, what)
        all += now
        all_before += then
        return now
    }
    END {
        for (name in before) add(name)          # folders that are gone
        printf "lines of code%s\nbook\n", tag == "" ? "" : ", and the change since " tag
        in_book = show_all(1, " of " limit)
        printf "parts and public headers\n"
        show_all(0, "")
        printf "library\n"
        show("together", all, all_before, "")
        exit in_book > limit
    }' "$work/before" "$work/now"
