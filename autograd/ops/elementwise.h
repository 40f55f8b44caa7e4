/* elementwise.h: operations on one tensor and numbers, or on two tensors, item by item. */
#ifndef KAERU_OPS_ELEMENTWISE_H
#define KAERU_OPS_ELEMENTWISE_H

#include "op.h"

/* Return op(x) with the operation's numbers p and q, and op(a, b). Errors are those of function
 * `what`. */
Tensor *unary(const char *what, const Op *op, Tensor *x, double p, double q);
Tensor *binary(const char *what, const Op *op, Tensor *a, Tensor *b);
/* Returns the operation of an activation other than AG_IDENTITY. Its kernel is a KUnary. */
const Op *op_of_activation(AgActivation kind);

#endif
