/* tangents.c: the table of tangent rules, and what the rules share. */
#include "kaeru/autograd.h"
#include "op.h"
#include "tangents.h"
#include "tape.h"
#include "tensor.h"

/* ---- the table ------------------------------------------------------------------------------- */

/* An operation without a rule does not link. */
static TangentRule *const rules[OP_COUNT] = {
#define OP(name, ...) [OP_##name] = name##_tangent,
#include "ops/ops.def"
#define OP(name, ...) [OP_##name] = name##_tangent,
#include "more.def"
};

TangentRule *tangent_rule(const Op *op)
{
    uintptr_t first = (uintptr_t)op_table, at = (uintptr_t)op;
    bool listed = at >= first && at < first + OP_COUNT * sizeof *op;
    return listed ? rules[op - op_table] : NULL;
}

Tensor *tangent_of(Tensor *y, Tensor *const *dx)
{
    check_reads_of(y);
    Tensor *tangent = tangent_rule(y->op)(y, dx);
    check_reads_of(NULL);
    return tangent;
}

/* ---- for rules ------------------------------------------------------------------------------- */

Tensor *sum_of(Tensor *a, Tensor *b)
{
    if (!a || !b) return a ? a : b;
    return ag_add(a, b);
}

Tensor *difference_of(Tensor *a, Tensor *b)
{
    if (!b) return a;
    return a ? ag_sub(a, b) : ag_neg(b);
}

Tensor *product_of(Tensor *a, Tensor *b)
{
    return a && b ? ag_mul(a, b) : NULL;
}

Tensor *scaled(Tensor *x, double factor)
{
    return x && factor != 1 ? ag_scale(x, factor) : x;
}

Tensor *spread_to(Tensor *x, const Tensor *y)
{
    return !x || ag_shape_equal(x->shape, y->shape) ? x : ag_expand(x, y->shape);
}

Tensor *or_zeros(Tensor *x, AgShape shape)
{
    return x ? x : tensor_zeros(shape);
}

Tensor *input_of(const Tensor *y, int i)
{
    return i < y->n_in ? y->in[i] : NULL;
}

Tensor *tangent_of_input(const Tensor *y, Tensor *const *dx, int i)
{
    return i < y->n_in ? dx[i] : NULL;
}

/* The arguments need no copy: y's scope, which owns them, is that of the result or one around
 * it. */
Tensor *same_operation(Tensor *y, Tensor *const *in)
{
    Tensor *result = op_new_n(y->op, &y->shape, in, y->n_in);
    result->args = y->args;
    y->op->compute(result, &(OpCall){ y->op, in, y->n_in, y->args });
    return op_done(result);
}

Tensor *ones_where(Tensor *mask)
{
    return ag_cast(mask, AG_REAL);
}
