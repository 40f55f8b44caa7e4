/* grad.h: gradients with respect to chosen tensors, without a change of any other. */
#ifndef KAERU_PUBLIC_GRAD_H
#define KAERU_PUBLIC_GRAD_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* The gradients of y, which has one element, with respect to in[0..n): out[i] is one of in[i]'s shape, a constant of this
 * scope, or NULL if y does not depend on in[i]. Nothing else changes: no gradient is added to those of leaves, nothing is
 * released, and ag_watch_backward is not told. in[i] is a leaf or a result. */
void ag_grad(Tensor *y, Tensor *const *in, int n, Tensor **out);

#include "kaeru/calls/grad.h"

AG_PUBLIC_END

#endif
