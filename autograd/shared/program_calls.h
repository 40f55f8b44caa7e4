/* program_calls.h: what a function of the library does around a function of the program.
 *
 * Before the library calls a function that the program has given, it calls function_begins. After
 * that has returned, it calls function_ends, which also ends the calls that a longjmp has left:
 *
 *     const Calls before = function_begins();
 *     next(arg);
 *     function_ends(before);
 *
 * The function may also leave by longjmp or throw: then layer_owns says what is to be freed. It may
 * end a scope, or leave one open: check_scopes finds that. */
#ifndef KAERU_PROGRAM_CALLS_H
#define KAERU_PROGRAM_CALLS_H

#include "kaeru/tensor.h"

/* ---- calls (errors.c) ------------------------------------------------------------------------ */

/* The numbers of calls before the function, which function_ends restores (Running, errors.h). */
typedef struct { uint64_t n, lost, outer, functions; } Calls;
/* Begins a function that may be one of the program or of the library. */
Calls function_begins(void);
/* Begins a function that is one of the program. What it calls by a pointer has no known line: that
 * of the call around it would be wrong. */
Calls program_begins(void);
/* Ends the function and all calls in it, also those that the program has left by longjmp or throw
 * and then caught. The call around it has its line again. */
void function_ends(Calls before);

/* ---- objects of a layer (errors.c, alloc.c) -------------------------------------------------- */

/* Notes that the innermost layer (AG_LAYER) owns p, an object of ag_alloc. If a function of the
 * program leaves the layer, the end of the scope around it frees p. A function that ends that scope
 * and returns has freed p, too: the layer checks p after it (ag_check_object). */
void layer_owns(void *p);
/* Frees p, which the layer no longer needs. */
void layer_frees(void *p);

/* ---- scopes (scope.c) ------------------------------------------------------------------------ */

/* Returns this thread's innermost scope; zeros if none is open. */
AgScope innermost_scope(void);
/* Returns whether this thread has begun the scope, and it is open. */
bool scope_is_open(AgScope scope);
/* Checks that the innermost scope is still `before`, that from before the call of a function of the
 * program. The message is one of the function `what`, and calls the other one `whose`. */
void check_scopes(const char *what, const char *whose, AgScope before);

#endif
