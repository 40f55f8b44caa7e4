/* elementwise.h: operations that compute each item of the result from one item of each input. */
#ifndef KAERU_OPS_ELEMENTWISE_H
#define KAERU_OPS_ELEMENTWISE_H

#include "op.h"

/* Returns op(x). p and q are the numbers that its kernel takes besides x; 0 if it takes none. A
 * usage error names the function `what`. */
Tensor *unary(const char *what, const Op *op, Tensor *x, double p, double q);
/* Returns op(a, b). a and b are broadcast. */
Tensor *binary(const char *what, const Op *op, Tensor *a, Tensor *b);
/* Returns the operation of an activation other than AG_IDENTITY. Its kernel is a KUnary. */
const Op *op_of_activation(AgActivation kind);

#endif
