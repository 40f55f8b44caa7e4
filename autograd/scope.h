/* scope.h: scopes, and the tape of tensors that they own. */
#ifndef KAERU_SCOPE_H
#define KAERU_SCOPE_H

#include "left.h"
#include "tensor_struct.h"

enum { MAX_SCOPES = 256 };
/* A usage error unless the scope is the innermost and there is one around it. */
void check_inner(const char *what, AgScope scope);
/* A backward pass runs in the scopes up to this depth; 0: none runs. */
void scopes_have_pass(int depth);
int  scopes_of_pass(void);
/* This thread's newest tensor; NULL: none. */
Tensor *tape(void);
/* A new entry of the tape, which the innermost scope owns: a tensor without a shape and values. */
Tensor *scope_tensor(const char *what);
/* Zeroed memory that lives as long as the innermost scope. */
void *scope_alloc(const char *what, size_t bytes);
/* Releases what a tensor owns; it is dead then. */
void tensor_release(void *tensor);

#endif
