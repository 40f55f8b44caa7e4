#!/bin/sh
# count.sh [TAG]: counts the lines of code of the library, without comments and blank lines: of the book, which may have 10,000
# at most, and of each part. With a tag, or if the repository has one, also how many each folder had there. Tables (.def) count as
# code; headers that a script writes (calls/, ops.h, op_entries.h, more_entries.h, unicode_table.h) do not count.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
limit=10000
book='autograd autograd/ops autograd/plain nn models'

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
            \( -name '*.c' -o -name '*.h' -o -name '*.def' \) ! -name op_entries.h ! -name more_entries.h ! -path autograd/include/kaeru/ops.h \
            ! -name unicode_table.h -print | sed 's|/[^/]*$||' | sort -u | while read -r folder; do
            set --
            for file in "$folder"/*.[ch] "$folder"/*.def; do
                case $file in
                *'*'* | */op_entries.h | */more_entries.h | autograd/include/kaeru/ops.h | */unicode_table.h) ;;
                *) set -- "$@" "$file" ;;
                esac
            done
            echo "$folder $(code_lines "$@")"
        done
    )
}

count "$root" >"$work/now"
tag=${1:-$(git -C "$root" describe --tags --abbrev=0 2>/dev/null || true)}
if [ "$tag" ]; then
    mkdir "$work/then"
    git -C "$root" archive "$tag" autograd nn models | tar -x -C "$work/then"
    count "$work/then" >"$work/before"
else
    : >"$work/before"
fi

awk -v book="$book" -v limit="$limit" -v tag="$tag" '
    BEGIN { n = split(book, names, " "); for (i = 1; i <= n; i++) is_book[names[i]] = 1 }
    FILENAME ~ /before$/ { before[$1] = $2; all_before += $2; next }
    { folder[++folders] = $1; lines[$1] = $2 }
    function show(name) {
        printf "    %-28s %6d", name, lines[name]
        if (tag != "") printf "  %+6d", lines[name] - before[name]
        printf "\n"
    }
    END {
        printf "lines of code%s\nbook\n", tag == "" ? "" : ", and the change since " tag
        for (i = 1; i <= folders; i++) if (folder[i] in is_book) { show(folder[i]); in_book += lines[folder[i]] }
        printf "    %-28s %6d of %d\nparts and public headers\n", "together", in_book, limit
        for (i = 1; i <= folders; i++) if (!(folder[i] in is_book)) { show(folder[i]); in_parts += lines[folder[i]] }
        printf "    %-28s %6d\n", "together", in_parts
        printf "library                          %6d", in_book + in_parts
        if (tag != "") printf "  %+6d", in_book + in_parts - all_before
        printf "\n"
        exit in_book > limit
    }' "$work/before" "$work/now"
