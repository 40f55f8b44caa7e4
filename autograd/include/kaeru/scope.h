/* scope.h: how long tensors live: scopes own them, and the program owns those that outlive a scope. */
#ifndef KAERU_PUBLIC_SCOPE_H
#define KAERU_PUBLIC_SCOPE_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

typedef enum {
    AG_RECORD,      /* operations are recorded if an input requires a gradient */
    AG_NO_GRAD      /* nothing is recorded: results are leaves, as data are: they can be written and can require a gradient */
} AgMode;
typedef struct { int depth; uint64_t serial; } AgScope;

/* Opens a scope on this thread. Scopes nest. The innermost scope owns every tensor that is created, and the memory of
 * ag_scratch. It owns nothing else: modules with their parameters, optimizers, caches, settings and memory of ag_alloc live
 * until the program frees them, unless an error unwinds (see ag_on_usage_error). ag_keep keeps a value longer than a scope. */
AgScope ag_begin(AgMode mode);

/* Ends the scope and frees what it owns. If an error handler has left scopes inside it by longjmp, they end, too; so do a
 * backward pass in it, and scopes of a library function, which a function of the program has left by longjmp or throw. */
void  ag_end(AgScope scope);
/* Ends the scope, but keeps the value of t: returns a tensor of the outer scope with that value and without its graph. */
Tensor *ag_end_return(AgScope scope, Tensor *t);
/* The same for n tensors t[0], t[1], ...: replaces each by its tensor of the outer scope. */
void ag_end_return_list(AgScope scope, Tensor **t, int n);

/* Whether operations of the innermost scope are recorded. */
bool ag_recording(void);

/* A copy of t's value that no scope owns; free it with tensor_free. It is a leaf that does not require a gradient. If an error
 * unwinds a scope that was open at this call, the copy is freed. */
Tensor *ag_keep(const Tensor *t);

/* A copy of t's value that the innermost scope owns: a leaf that does not require a gradient. */
Tensor *tensor_clone(const Tensor *t);

/* A zeroed leaf that no scope owns, as ag_keep's copies. */
Tensor *tensor_new_owned(AgShape shape, AgDType dtype);

/* Frees a tensor of ag_keep or tensor_new_owned; t may be NULL. A usage error if another object, such as a module, owns it. */
void tensor_free(Tensor *t);

#include "kaeru/calls/scope.h"

AG_PUBLIC_END

#endif
