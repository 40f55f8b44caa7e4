/* checks.h: checks of arguments that are tensors, and of what a backward rule reads.
 *
 * Each function reports a usage error if its check fails. The error is that of the function `what`,
 * and the message calls the tensor `argument`, which is the name of the parameter. arguments.h has
 * the checks that nn and models use, too: check_alive and check_tensor. */
#ifndef KAERU_CHECKS_H
#define KAERU_CHECKS_H

#include "arguments.h"
#include "tensor_struct.h"

/* ---- what a rule reads ----------------------------------------------------------------------- */

/* Reports a usage error at the line that made this tensor. */
_Noreturn void usage_error_of(const Tensor *made, const char *what, const char *format, ...)
    AG_PRINTF(3, 4);
/* Reports that a backward pass has run through y already. */
_Noreturn void error_graph_released(const char *what, const Tensor *y);
/* Reports that input i of y, or y itself for i = n_in, was written after the operation had read
 * it. */
_Noreturn void error_written(const char *what, const Tensor *y, int i);
/* Checks that no input of y was freed, and that no value was written in place after its operation
 * had read it: of the values that y's rule reads or, without `of_rule`, of all inputs. */
void check_inputs(const char *what, Tensor *y, bool of_rule);

/* ---- writing in place ------------------------------------------------------------------------ */

/* Checks that t is alive and not the result of a recorded operation, so that it may be written. */
void check_leaf(const char *what, const char *argument, const Tensor *t);
/* Returns the values of t for a write in place. Checks that t is a leaf of that type, and counts
 * the write (count_write). */
void *values_to_write(const char *what, const char *argument, Tensor *t, AgDType dtype);
/* Counts a write, so that backward finds values that changed after an operation had read them. */
void count_write(const char *what, Buffer *b);

/* ---- arguments ------------------------------------------------------------------------------- */

/* Checks t as check_tensor does, for any type but AG_PACKED. */
static inline void check_any(const char *what, const char *argument, const Tensor *t)
{
    check_tensor(what, argument, t, t && t->dtype != AG_PACKED ? (AgDType)t->dtype : AG_REAL);
}
/* Checks t in the same way, for reals or a packed matrix. */
static inline void check_weight(const char *what, const char *argument, const Tensor *t)
{
    check_tensor(what, argument, t, tensor_lives(t) && t->dtype == AG_PACKED ? AG_PACKED : AG_REAL);
}

/* Checks that the mask has that type and broadcasts to `shape`. The message calls that
 * `target`. */
void check_mask(const char *what, const Tensor *mask, AgDType dtype, const char *target,
                const AgShape *shape);

/* Checks that v is a vector of n reals. The message says that it does not fit `other`, and what was
 * `expected`. */
void check_vector(const char *what, const char *argument, const Tensor *v, int64_t n,
                  const char *expected, const char *other_argument, const Tensor *other);

#endif
