/* grad.h: gradients with respect to chosen tensors, which changes nothing else.
 *
 *     Tensor *dx[2];
 *     ag_grad(y, (Tensor *[]){ a, b }, 2, dx);           dx[0] is dy/da, dx[1] is dy/db
 */
#ifndef KAERU_PUBLIC_GRAD_H
#define KAERU_PUBLIC_GRAD_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Computes the gradients of y, which has one item, with respect to n tensors. in[i] is a leaf or a
 * result. out[i] receives its gradient, a constant of this scope in in[i]'s shape; it is NULL if y
 * does not depend on in[i]. The gradients of leaves do not change, nothing is released, and the
 * functions of ag_watch_backward are not called. */
void ag_grad(Tensor *y, Tensor *const *in, int n, Tensor **out);

#include "kaeru/calls/grad.h"

AG_PUBLIC_END

#endif
