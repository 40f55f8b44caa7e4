/* scope.h: scopes, which own tensors, and tensors that the program owns.
 *
 *     AgScope s = ag_begin(AG_NO_GRAD);
 *     Tensor *y = ag_exp(x);                  the scope owns y
 *     Tensor *kept = ag_keep(y);              the program owns this copy
 *     ag_end(s);                              frees y
 *     tensor_free(kept);
 */
#ifndef KAERU_PUBLIC_SCOPE_H
#define KAERU_PUBLIC_SCOPE_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Whether a scope records operations for backward. */
typedef enum {
    AG_RECORD,      /* operations are recorded if an input requires a gradient */
    AG_NO_GRAD      /* nothing is recorded. Results are leaves: they can be written, and can be set
                       to require a gradient */
} AgMode;
/* An open scope. */
typedef struct { int depth; uint64_t serial; } AgScope;

/* Opens a scope on this thread. Scopes nest. The innermost scope owns every tensor that is created,
 * and the memory of ag_scratch. It owns nothing else: modules with their parameters, optimizers,
 * caches, settings and memory of ag_alloc live until the program frees them. Only after an error
 * may the end of a scope free them (see ag_on_usage_error). */
AgScope ag_begin(AgMode mode);

/* Ends the scope and frees what it owns. An error handler, or a function that the library calls,
 * can leave by longjmp or throw. Then scopes inside this one are still open: they end, too, and so
 * does a backward pass in it. */
void  ag_end(AgScope scope);
/* Ends the scope, but keeps the value of t. Returns a tensor of the outer scope with that value,
 * without its graph. */
Tensor *ag_end_return(AgScope scope, Tensor *t);
/* Does the same for the n tensors t[0], t[1], ...: replaces each by its tensor of the outer
 * scope. */
void ag_end_return_list(AgScope scope, Tensor **t, int n);

/* Returns whether operations of the innermost scope are recorded. */
bool ag_recording(void);

/* Returns a copy of t's value that no scope owns. Free it with tensor_free. It is a leaf that does
 * not require a gradient. If an error ends a scope that was open at this call, the copy is
 * freed. */
Tensor *ag_keep(const Tensor *t);

/* Returns a copy of t's value that the innermost scope owns: a leaf that does not require a
 * gradient. */
Tensor *tensor_clone(const Tensor *t);

/* Returns a leaf of zeros that no scope owns, like a copy of ag_keep. */
Tensor *tensor_new_owned(AgShape shape, AgDType dtype);

/* Frees a tensor of ag_keep or tensor_new_owned. t may be NULL. It is a usage error if another
 * object, such as a module, owns it. */
void tensor_free(Tensor *t);

#include "kaeru/calls/scope.h"

AG_PUBLIC_END

#endif
