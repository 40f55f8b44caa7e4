/* scope.h: scopes, and the tape of tensors that they own. program_calls.h has the functions for
 * scopes that nn and models use, too. */
#ifndef KAERU_SCOPE_H
#define KAERU_SCOPE_H

#include "program_calls.h"
#include "tensor_struct.h"

enum { MAX_SCOPES = 256 };
/* Checks that the scope is the innermost and that there is one around it. */
void check_inner(const char *what, AgScope scope);
/* Notes that a backward pass runs in the scopes up to this depth. 0: no pass runs. */
void scopes_have_pass(int depth);
/* Returns that depth. */
int  scopes_of_pass(void);
/* Returns the newest tensor of this thread, or NULL. The older ones follow by `older`. */
Tensor *tape(void);
/* Returns a new tensor without a shape and values, which the innermost scope owns: the newest entry
 * of the tape. */
Tensor *scope_tensor(const char *what);
/* Returns zeroed memory that lives as long as the innermost scope. */
void *scope_alloc(const char *what, size_t bytes);
/* Releases all that a tensor owns. The tensor is dead then. */
void tensor_release(void *tensor);

#endif
