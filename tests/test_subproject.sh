#!/bin/sh
# test_subproject.sh SOURCE: kaeru as a subproject of meson.

source=$1
# shellcheck source=tests/try.sh
. "$source/tests/try.sh"

mkdir -p "$folder/user/subprojects"
ln -s "$source" "$folder/user/subprojects/kaeru"
cp "$source/examples/spiral.c" "$folder/user/"
cat >"$folder/user/meson.build" <<'END'
project('user', 'c')
executable('spiral', 'spiral.c', dependencies: dependency('kaeru', fallback: 'kaeru'))
END
# Without optimization: it compiles in a third of the time. An optimization that the user asks for reaches a subproject
# in some versions of meson only; c_args does in all.
try "set up with a subproject" meson setup "$folder/user/build" "$folder/user" --wrap-mode=forcefallback \
    -Dc_args=-O0 -Ddebug=false
try "compile with a subproject" meson compile -C "$folder/user/build" spiral
run_there() { (cd "$folder" && "$folder/user/build/spiral"); }
try "run with a subproject" run_there

echo "subproject: $passed passed, $failed failed"
[ $failed -eq 0 ]
