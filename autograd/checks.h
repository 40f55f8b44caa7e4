/* checks.h: checks of arguments that are tensors, and of what a backward rule reads. `argument` is
 * the parameter's name in messages. */
#ifndef KAERU_CHECKS_H
#define KAERU_CHECKS_H

#include "arguments.h"
#include "tensor_struct.h"

/* A usage error of the call that made this tensor, in the name of function `what`. */
_Noreturn void usage_error_of(const Tensor *made, const char *what, const char *format, ...)
    AG_PRINTF(3, 4);
_Noreturn void error_graph_released(const char *what, const Tensor *y);
/* The values of input i of y, or its own for i = n_in, are not those that the operation read. */
_Noreturn void error_written(const char *what, const Tensor *y, int i);
/* A usage error if an input of y was freed, or if values that y's rule reads (otherwise: any input)
 * were written in place after its operation had read them. */
void check_inputs(const char *what, Tensor *y, bool of_rule);

/* Alive and not part of a graph, so that it may be written. */
void check_leaf(const char *what, const char *argument, const Tensor *t);
/* The values of t, to be written in place: t must be a leaf of that type. Counts the write, so that
 * backward finds values that changed after an operation had read them. */
void *values_to_write(const char *what, const char *argument, Tensor *t, AgDType dtype);
void count_write(const char *what, Buffer *b);
/* As check_tensor, for any type but AG_PACKED. */
static inline void check_any(const char *what, const char *argument, const Tensor *t)
{
    check_tensor(what, argument, t, t && t->dtype != AG_PACKED ? (AgDType)t->dtype : AG_REAL);
}
/* The same for reals or a packed matrix. */
static inline void check_weight(const char *what, const char *argument, const Tensor *t)
{
    check_tensor(what, argument, t, tensor_lives(t) && t->dtype == AG_PACKED ? AG_PACKED : AG_REAL);
}

/* A usage error unless the mask is of that type and broadcasts to `shape`, which `target` names in
 * the message. */
void check_mask(const char *what, const Tensor *mask, AgDType dtype, const char *target,
                const AgShape *shape);

/* A usage error unless v is a vector of n reals. `expected` and `other` are for the message: what
 * else must fit to n. */
void check_vector(const char *what, const char *argument, const Tensor *v, int64_t n,
                  const char *expected, const char *other_argument, const Tensor *other);

#endif
