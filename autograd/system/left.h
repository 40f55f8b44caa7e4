/* left.h: what a function of the library does around a function of the program that it calls, which may leave it by longjmp or
 * throw, and which scopes are open. */
#ifndef KAERU_LEFT_H
#define KAERU_LEFT_H

#include "kaeru/tensor.h"

/* A function begins that the program has given: what it calls is counted from here on. */
typedef struct { uint64_t n, lost, outer, functions; } Calls;
Calls function_begins(void);
/* The same; it is not one of the library, so what it calls by a pointer is not at the line of the call around it. */
Calls program_begins(void);
/* It has returned: what was called in it is over, also if it has caught an error. The line of the call around it is known
 * again. */
void function_ends(Calls before);

/* p is an object of ag_alloc. If a function of the program leaves the layer that is being called now
 * (AG_LAYER), the end of the scope around the layer frees p. A function that ends that scope and returns has freed p, too:
 * the layer checks p after it (ag_check_object). */
void layer_owns(void *p);
/* Frees p when the layer no longer needs it. */
void layer_frees(void *p);

/* This thread's innermost scope; zeros: none is open. */
AgScope innermost_scope(void);
/* Whether this thread has begun the scope, and it is open. */
bool scope_is_open(AgScope scope);
/* A usage error, in the name of function `what`, if the innermost scope is not the one from before the call of a function of
 * the program, which the message calls `whose`. */
void check_scopes(const char *what, const char *whose, AgScope before);

#endif
