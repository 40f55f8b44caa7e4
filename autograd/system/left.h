/* left.h: for functions of the library that call functions of the program: what they have to free if the program leaves them by
 * longjmp or throw, and which scopes are open. */
#ifndef KAERU_LEFT_H
#define KAERU_LEFT_H

#include "kaeru/tensor.h"

/* p is an object of ag_alloc. If a function of the program leaves the layer that is being called now
 * (AG_LAYER), the end of the scope around the layer frees p. A function that ends that scope and returns has freed p, too:
 * the layer checks p after it (ag_check_object). Returns the place of the outermost layer call, which such an error names. */
AgSite layer_owns(void *p);
/* Frees p when the layer no longer needs it. */
void layer_frees(void *p);

/* This thread's innermost scope; zeros: none is open. */
AgScope innermost_scope(void);
/* Whether this thread has begun the scope, and it is open. */
bool scope_is_open(AgScope scope);
/* A usage error, in the name of function `what`, if the innermost scope is not the one from before the call of a function of
 * the program, which the message calls `whose`. */
void check_scopes(AgSite at, const char *what, const char *whose, AgScope before);

#endif
