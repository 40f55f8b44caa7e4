/* higher.h: derivatives that are part of the graph, so that they have derivatives themselves.
 *
 * ag_jvp computes the derivative of a result along a direction. For a network u(x) of one number:
 *
 *     Tensor *one = tensor_ones(tensor_shape(x));
 *     Tensor *slope = ag_jvp(u, &x, &one, 1);                 du/dx
 *     Tensor *curvature = ag_jvp(slope, &x, &one, 1);         d2u/dx2
 *     ag_backward(ag_mean(ag_mul(curvature, curvature)));     gradients of the weights
 *
 * The Hessian of a loss times a direction v, without the Hessian:
 *
 *     Tensor *hv[2];
 *     ag_grad(ag_jvp(loss, p, v, 2), p, 2, hv);
 */
#ifndef KAERU_PUBLIC_HIGHER_H
#define KAERU_PUBLIC_HIGHER_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Returns the derivative of y along the directions v (the product of the Jacobian and v): the sum
 * over i of dy/din[i] times v[i], in y's shape. It is zeros where y does not depend on in[i].
 * in[i] is a leaf or a result that requires a gradient, and v[i] is a tensor of its shape. If v[i]
 * depends on a tensor, so does the derivative.
 *
 * The derivative is computed by operations of the innermost scope, which are recorded if the scope
 * records: it has gradients and derivatives, to any order. They read the values that the backward
 * rules of y's graph read. So call the function before ag_backward releases these values, or after
 * ag_backward_keep. The gradients of leaves do not change.
 *
 * Products compute in the precision of the operation whose derivative it is, and dropout keeps the
 * same items. Attention has all its weights in memory here. It is a usage error if an operation
 * between in[i] and y has no tangent rule (ag_custom without `tangent`). */
Tensor *ag_jvp(Tensor *y, Tensor *const *in, Tensor *const *v, int n);

#include "kaeru/calls/higher.h"

AG_PUBLIC_END

#endif
