/* higher.h: derivatives that are part of the graph, so that they have derivatives themselves.
 *
 * ag_grad_recorded computes gradients. A penalty on the gradient of a score:
 *
 *     Tensor *g, *norm, *penalty;
 *     ag_grad_recorded(ag_sum(score), &x, 1, &g);
 *     norm = ag_sqrt(ag_sum_dims(ag_mul(g, g), DIMS(-1), false));
 *     penalty = ag_mean(ag_pow_scalar(ag_add_scalar(norm, -1), 2));
 *     ag_backward(ag_add(loss, ag_scale(penalty, 10)));
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
 *
 * examples/curvature.c, differential_equation.c and gradient_penalty.c use them. */
#ifndef KAERU_PUBLIC_HIGHER_H
#define KAERU_PUBLIC_HIGHER_H

#include <stdio.h>

#include "kaeru/custom.h"

AG_PUBLIC_BEGIN

/* Returns the derivative of y along the directions v (the product of the Jacobian and v): the sum
 * over i of dy/din[i] times v[i], in y's shape. It is zeros where y does not depend on in[i].
 * in[i] is a leaf or a result that requires a gradient, and v[i] is a tensor of its shape; n is 1
 * or more. If v[i] depends on a tensor, so does the derivative. y must require a gradient. A
 * derivative of a linear function does not: it is constant (tensor_requires_grad tells).
 *
 * The derivative is computed by operations of the innermost scope, which are recorded if the scope
 * records: it has gradients and derivatives, to any order. They read the values that the backward
 * rules of y's graph read. So call the function before ag_backward releases these values, or after
 * ag_backward_keep. The gradients of leaves do not change.
 *
 * Products compute in the precision of the operation whose derivative it is, and dropout keeps the
 * same items. Attention has all its weights in memory here. It is a usage error if an operation
 * between in[i] and y has no tangent rule: one of ag_custom needs ag_custom_tangent. */
Tensor *ag_jvp(Tensor *y, Tensor *const *in, Tensor *const *v, int n);

/* Computes the gradients of y, which has one item, with respect to n tensors, as ag_grad does:
 * out[i] is NULL if y does not depend on in[i]. But out[i] is a result of operations of the
 * innermost scope, which are recorded if the scope records: it has gradients and derivatives, to
 * any order. What is said above of ag_jvp holds here, too. Only gradients on a way from in[i] to y
 * are computed. Where a tensor has several users, its gradient is their sum by ag_add, the newest
 * first. The loss of a shard of NnParallel (parallel.h) may contain such gradients, too. */
void ag_grad_recorded(Tensor *y, Tensor *const *in, int n, Tensor **out);

/* The tangent rule of an operation of the program: returns the derivative of c->y if dx[i] is that
 * of input i, NULL for zeros. It computes with operations of autograd.h, for y = x^3:
 *
 *     static Tensor *tangent(const AgCustomCall *c, Tensor *const *dx)
 *     {
 *         Tensor *x = c->in[0];
 *         return ag_mul(dx[0], ag_scale(ag_mul(x, x), 3));
 *     }
 *
 *     Tensor *y = ag_custom_tangent(ag_custom(&cube, ...), tangent);
 *
 * The result has y's shape, or is NULL for zeros. The rule reads the values that AgCustom.needs
 * names, and no others. */
typedef Tensor *AgTangent(const AgCustomCall *c, Tensor *const *dx);
/* Gives y, a result of ag_custom, a tangent rule. Returns y. */
Tensor *ag_custom_tangent(Tensor *y, AgTangent *tangent);

/* Checks that the tangent rules and the backward rules between in[i] and y agree: they are two ways
 * to the same derivative. It compares the derivative of y along random directions with the
 * gradients, for each input alone and for all at once, then does the same for this derivative, to
 * the given number of orders, 1 to 8. Errors of rounding are allowed, no others: it finds a factor
 * of 1.01 (of 1.001 in the double build, where more digits are compared).
 *
 * In a float build, a mistake in one of a hundred items or more may be overlooked: use the double
 * build. A mistake that both rules have is the task of ag_gradcheck. A tangent rule whose result is
 * right, but cut off from the graph (ag_detach, AG_NO_GRAD), has a wrong second derivative, which
 * the check does not find.
 *
 * Each difference is a line of `report`, which may be NULL. Returns whether there is none. It does
 * not change gradients, nor the state of the random numbers. */
bool ag_tangentcheck(Tensor *y, Tensor *const *in, int n, int orders, FILE *report);

#include "kaeru/calls/higher.h"

AG_PUBLIC_END

#endif
