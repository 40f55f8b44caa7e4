/* tape.h: how the results of operations are recorded, and how backward runs their rules.
 *
 * The function of an operation makes the result y, computes its values, and ends with op_done:
 *
 *     Tensor *y = op_new(&op_table[OP_mse_loss], &AG_SCALAR, x, target, NULL);
 *     double sum = k_squared_distance(x->numel, reals(x), reals(target));
 *     *reals(y) = (real)(sum / (double)x->numel);
 *     return op_done(y);
 *
 * If the values can be computed again (ag_recompute), they have a function of their own, `compute`
 * of the Op, and op_run does all of this. */
#ifndef KAERU_TAPE_H
#define KAERU_TAPE_H

#include "op.h"
#include "tensor_struct.h"

/* Returns the result of `op` on up to three inputs (NULL: absent), a tensor of that shape with
 * undefined values. It is recorded if this scope records and an input requires a gradient. */
Tensor *op_new(const Op *op, const AgShape *shape, Tensor *a, Tensor *b, Tensor *c);
Tensor *op_new_n(const Op *op, const AgShape *shape, Tensor *const *in, int n);
/* Returns a result that shares the memory of x: the values of x in another shape. */
Tensor *op_new_alias(const Op *op, const AgShape *shape, Tensor *x);
/* Returns a result that takes over the memory of x, so that x has no value. It is for two
 * operations that one loop computes, such as linear and relu. b: the second input, or NULL. */
Tensor *op_new_in_place(const Op *op, Tensor *x, Tensor *b);
/* Ends an operation whose values are computed. Returns y. */
Tensor *op_done(Tensor *y);
/* Makes y, computes its values by op->compute and ends the operation. The `size` bytes at args are
 * copied to y->args. */
Tensor *op_run(const Op *op, const AgShape *shape, Tensor *const *in, int n, const void *args,
               size_t size);
/* Sets y->args to memory for the numbers that the rule of a recorded y needs, and returns it. */
void *op_args(Tensor *y, size_t size);
/* Sets y->saved to memory for n reals, and returns it. Backward releases it when the rule has run,
 * and the end of the scope if there is no backward. */
real *op_save(Tensor *y, int64_t n);
/* Returns memory for a gradient of input i < SAVED_GRADIENTS that forward computes already. NULL if
 * the input requires none. */
real *op_save_gradient(Tensor *y, int i);

/* Runs y's backward rule, which adds to the gradients of its inputs. */
void rule_run(Tensor *y);
/* Runs the rules of all that the loss depends on, and ends the pass that pass_begins has begun. dy
 * is the gradient of the loss, NULL for 1. If `notifies`, observers get NODE_PASSED. */
void run_rules(Tensor *loss, const Tensor *dy, bool notifies);
/* Checks that the loss has one item (or `any_shape`), requires a gradient and is of this thread. */
void check_loss(const char *what, const Tensor *loss, bool any_shape);

#endif
