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

# Without its parts, a program sees the headers of the book alone, and the system's <threads.h>.
cat >"$folder/user/book.c" <<'END'
#include <threads.h>
#include <kaeru/kaeru.h>
#if !defined nn_linear || defined nn_save || defined ag_where || defined tensor_print
#error "expected the functions of the book alone"
#endif

int main(void)
{
    mtx_t lock;
    return mtx_init(&lock, mtx_plain) != thrd_success || !ag_error();
}
END
cat >"$folder/user/meson.build" <<'END'
project('user', 'c')
executable('book', 'book.c', dependencies: dependency('kaeru', fallback: 'kaeru'))
END
try "set up with the book as a subproject" meson setup "$folder/user/book" "$folder/user" --wrap-mode=forcefallback \
    -Dkaeru:parts= -Dc_args=-O0 -Ddebug=false
try "compile with the book as a subproject" meson compile -C "$folder/user/book" book
try "run with the book as a subproject" "$folder/user/book/book"

echo "subproject: $passed passed, $failed failed"
[ $failed -eq 0 ]
