/* tape.h: operations: how their results are recorded, and how backward runs their rules. */
#ifndef KAERU_TAPE_H
#define KAERU_TAPE_H

#include "op.h"
#include "tensor_struct.h"

/* Creates the result of operation `op` (&op_table[OP_add], ...) on up to three inputs (NULL:
 * absent): a tensor of that shape, values undefined, recorded if this scope records and an input
 * requires a gradient. Fill it, then return op_done(y). */
Tensor *op_new(const Op *op, const AgShape *shape, Tensor *a, Tensor *b, Tensor *c);
Tensor *op_new_n(const Op *op, const AgShape *shape, Tensor *const *in, int n);
/* The same for a result that is its input's values in another shape. */
Tensor *op_new_alias(const Op *op, const AgShape *shape, Tensor *x);
/* A result in the memory of x, which then has no value: for operations computed in one pass. b: the
 * second input, or NULL. */
Tensor *op_new_in_place(const Op *op, Tensor *x, Tensor *b);
Tensor *op_done(Tensor *y);
/* All of this for an operation with `compute`, and y->args. size: bytes of *args. */
Tensor *op_run(const Op *op, const AgShape *shape, Tensor *const *in, int n, const void *args,
               size_t size);
/* Sets y->args to memory for the numbers that backward needs. Only worth filling if y is
 * recorded. */
void *op_args(Tensor *y, size_t size);
/* Sets y->saved to n reals. Without recording they are released at the end of the scope. */
real *op_save(Tensor *y, int64_t n);
/* Memory for the gradient of input i < SAVED_GRADIENTS; NULL if it requires none. */
real *op_save_gradient(Tensor *y, int i);

/* Runs y's backward rule, which adds to the gradients of its inputs. */
void rule_run(Tensor *y);
/* After pass_begins: runs the rules of all that the loss depends on, and ends the pass. dy: the
 * gradient of the loss; NULL: 1. notifies: observers are told of NODE_PASSED. */
void run_rules(Tensor *loss, const Tensor *dy, bool notifies);
/* A usage error unless the loss has one item (or `any_shape`), requires a gradient and is of this
 * thread. */
void check_loss(const char *what, const Tensor *loss, bool any_shape);

#endif
