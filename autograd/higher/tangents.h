/* tangents.h: the tangent rule of each operation.
 *
 * The tangent of a tensor is its derivative along a direction. For y = a b, the tangent is
 * da b + a db, where da and db are the tangents of the inputs. The rule of mul computes this by
 * ordinary operations, so the tangent is recorded and has derivatives, too:
 *
 *     Tensor *mul_tangent(Tensor *y, Tensor *const *dx)
 *     {
 *         Tensor *a = y->in[0], *b = y->in[1];
 *         return sum_of(product_of(dx[0], b), product_of(a, dx[1]));
 *     }
 *
 * A rule reads the values that the backward rule of its operation reads (NEEDS, op.h), y->args and
 * y->saved. Each operation of ops.def and more.def has a rule, whose name is made of the
 * operation's. */
#ifndef KAERU_HIGHER_TANGENTS_H
#define KAERU_HIGHER_TANGENTS_H

#include "more_table.h"
#include "tensor_struct.h"

/* Returns the tangent of y, in y's shape. dx[i] is the tangent of input i, NULL for zeros; one of
 * them at least is not NULL. The result is NULL for zeros, and can be one of the dx. */
typedef Tensor *TangentRule(Tensor *y, Tensor *const *dx);

#define OP(name, ...) Tensor *name##_tangent(Tensor *y, Tensor *const *dx);
#include "ops/ops.def"
#define OP(name, ...) Tensor *name##_tangent(Tensor *y, Tensor *const *dx);
#include "more.def"

/* Returns the rule of y's operation, or NULL if it has none. */
TangentRule *tangent_rule(const Tensor *y);
/* Runs the rule of y, a node whose values are there. dx: as for a rule. A rule that reads what its
 * operation does not declare is a usage error. */
Tensor *tangent_of(Tensor *y, Tensor *const *dx);

/* ---- for rules: NULL stands for zeros -------------------------------------------------------- */

Tensor *sum_of(Tensor *a, Tensor *b);
Tensor *difference_of(Tensor *a, Tensor *b);
Tensor *product_of(Tensor *a, Tensor *b);
Tensor *scaled(Tensor *x, double factor);
/* Returns x repeated to y's shape. */
Tensor *spread_to(Tensor *x, const Tensor *y);
/* Returns x, or zeros of that shape for NULL. */
Tensor *or_zeros(Tensor *x, AgShape shape);
/* Returns input i of y, or NULL if it is absent. */
Tensor *input_of(const Tensor *y, int i);
/* Returns the tangent of input i of y. */
Tensor *tangent_of_input(const Tensor *y, Tensor *const *dx, int i);
/* Returns y's operation of the inputs `in`, with y's numbers, for an operation with `compute`. */
Tensor *same_operation(Tensor *y, Tensor *const *in);
/* Returns 1 where the mask (AG_BOOL) is true, else 0. */
Tensor *ones_where(Tensor *mask);

#endif
