/* ops_choices.c: where, masked_fill, and operations without gradients on masks and choices: any, all, one-hot, random items. */
#include <math.h>

#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/gradients.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "more_table.h"
#include "ops/index.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* ---- where: y = a where mask, else b                         da = dy where mask, db = dy where not --------------- */

Tensor *ag_where(Tensor *mask, Tensor *a, Tensor *b)
{
    check_tensor(__func__, "mask", mask, AG_BOOL);
    check_tensor(__func__, "a", a, AG_REAL);
    check_tensor(__func__, "b", b, AG_REAL);
    AgShape operands = broadcast_shape(__func__, a, b), shape;
    if (!broadcast(&mask->shape, &operands, &shape))
        ag_usage_error(__func__, "mask %s does not broadcast with a and b, which are %s", shape_text(mask->shape),
                       shape_text(operands));
    Tensor *y = op_new(&op_table[OP_where], &shape, mask, a, b);
    KWalk walk_a, walk_b;
    walk_over(&shape, &mask->shape, &a->shape, &walk_a);
    walk_over(&shape, &mask->shape, &b->shape, &walk_b);
    k_select(&walk_a, reals(y), bools(mask), reals(a), false, 0, false);
    k_select(&walk_b, reals(y), bools(mask), reals(b), true, 0, true);
    return op_done(y);
}

void where_backward(Tensor *y)
{
    Tensor *mask = y->in[0];
    KWalk walk;
    walk_over(&y->shape, &mask->shape, &y->shape, &walk);
    for (int i = 1; i <= 2; i++) {
        Tensor *x = y->in[i];
        if (!x->requires_grad) continue;
        Grad g = grad_broadcast(x, y);
        k_select(&walk, g.data, bools(mask), grad_of(y), i == 2, 0, g.add);
        grad_broadcast_done(x, y, g);
    }
}

/* ---- masked_fill: y = value where mask, else x               dx = 0 where mask, else dy -------------------------- */

Tensor *ag_masked_fill(Tensor *x, Tensor *mask, double value)
{
    check_tensor(__func__, "x", x, AG_REAL);
    check_mask(__func__, mask, AG_BOOL, "x", &x->shape);
    Tensor *y = op_new(&op_table[OP_masked_fill], &x->shape, x, mask, NULL);
    KWalk walk;
    walk_over(&x->shape, &mask->shape, &x->shape, &walk);
    k_select(&walk, reals(y), bools(mask), reals(x), true, (real)value, false);
    y->infinite = isinf((real)value);
    return op_done(y);
}

void masked_fill_backward(Tensor *y)
{
    Tensor *x = y->in[0], *mask = y->in[1];
    KWalk walk;
    walk_over(&y->shape, &mask->shape, &y->shape, &walk);
    Grad g = grad_into(x);
    k_select(&walk, g.data, bools(mask), grad_of(y), true, 0, g.add);
}

/* ---- without gradients ------------------------------------------------------------------------------------------- */

/* The sum of ones and zeros is above 0 where there is a one. */
Tensor *ag_any(Tensor *mask, AgDims dims, bool keep)
{
    check_tensor(__func__, "mask", mask, AG_BOOL);
    return ag_compare_scalar(AG_GT, ag_sum_dims(ag_cast(mask, AG_REAL), dims, keep), 0);
}

Tensor *ag_all(Tensor *mask, AgDims dims, bool keep)
{
    check_tensor(__func__, "mask", mask, AG_BOOL);
    return ag_not(ag_any(ag_not(mask), dims, keep));
}

Tensor *ag_one_hot(Tensor *ids, int64_t classes)
{
    check_tensor(__func__, "ids", ids, AG_INT);
    if (classes < 0 || ids->shape.ndim == AG_MAX_DIMS)
        ag_usage_error(__func__, "%lld classes for ids %s", (long long)classes, shape_text(ids->shape));
    check_ids(__func__, ids, classes);
    AgShape shape = ids->shape;
    shape.dim[shape.ndim++] = classes;
    Tensor *y = tensor_new(__func__, &shape, AG_REAL);
    k_fill(y->numel, reals(y), 0);
    for (int64_t i = 0; i < ids->numel; i++) reals(y)[i * classes + ints(ids)[i]] = 1;
    return y;
}

/* The largest of ln p + g, with g = -ln(-ln u) for a uniform u, is item i with probability p_i (Gumbel). */
Tensor *ag_multinomial(Tensor *p, int64_t n)
{
    check_tensor(__func__, "p", p, AG_REAL);
    AgShape shape = p->shape;
    if (n < 0 || shape.ndim < 1 || shape.ndim == AG_MAX_DIMS || shape.dim[shape.ndim - 1] == 0)
        ag_usage_error(__func__, "%lld samples of p %s, expected 0 or more of (..,V) with a V above 0", (long long)n,
                       shape_text(shape));
    const int64_t width = shape.dim[shape.ndim - 1];
    bool possible = false;                  /* an item of this row is above 0 */
    for (int64_t i = 0; i < p->numel; i++) {
        if (!(reals(p)[i] >= 0) || isinf(reals(p)[i]))
            ag_usage_error(__func__, "p is %g at item %lld, expected a finite number of 0 or more", (double)reals(p)[i],
                           (long long)i);
        possible = (i % width != 0 && possible) || reals(p)[i] > 0;
        if (i % width == width - 1 && !possible) ag_usage_error(__func__, "row %lld of p is 0", (long long)(i / width));
    }
    shape.dim[shape.ndim] = shape.dim[shape.ndim - 1];
    shape.dim[shape.ndim++ - 1] = n;
    check_shape(__func__, &shape);
    Tensor *u = tensor_new(__func__, &shape, AG_REAL);
    ag_fill_uniform(u, 0, 1);
    u = ag_clamp(u, 0x1p-26, 1);     /* above 0, so that no logarithm is infinite */
    Tensor *row = ag_unsqueeze(ag_detach(p), -2), *impossible = ag_compare_scalar(AG_EQ, row, 0);
    const double least = sizeof(real) == sizeof(float) ? 0x1p-149 : 0x1p-1074;
    Tensor *noise = ag_log(ag_neg(ag_log(u)));
    Tensor *score = ag_sub(ag_log(ag_clamp(row, least, INFINITY)), noise);
    return ag_argmax(ag_masked_fill(score, impossible, -INFINITY), -1, false);
}
