/* tangents.c: the table of tangent rules, and what the rules share. */
#include "checks.h"
#include "gradient_nodes.h"
#include "kaeru/autograd.h"
#include "kaeru/higher.h"
#include "kaeru/more_ops.h"
#include "more/custom_args.h"
#include "op.h"
#include "program_calls.h"
#include "scope.h"
#include "shape.h"
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

Tensor *ag_custom_tangent(Tensor *y, AgTangent *tangent)
{
    check_alive(__func__, "y", y);
    if (!tangent) {
        ag_usage_error(__func__, "tangent is NULL");
    }
    if (!y->op) return y;
    const CustomArgs *c = custom_args(y);
    if (!c) {
        ag_usage_error(__func__, "y was made by %s, expected a result of ag_custom",
                       y->origin.made_by);
    }
    ((CustomArgs *)y->args)->tangent = tangent;
    return y;
}

/* Calls the function of the program. */
static Tensor *custom_tangent(Tensor *y, Tensor *const *dx)
{
    const CustomArgs *c = custom_args(y);
    const AgScope scope = innermost_scope();
    const Calls before = program_begins();
    const AgCustomCall call = { .in = y->in, .n = y->n_in, .y = y, .args = c->args };
    Tensor *tangent = c->tangent(&call, dx);
    function_ends(before);
    check_scopes(y->op->name, "tangent", scope);
    set_running_rule(NULL);
    if (!tangent) return NULL;
    check_tensor(y->op->name, "the result of tangent", tangent, AG_REAL);
    if (!ag_shape_equal(tangent->shape, y->shape)) {
        ag_usage_error(y->op->name, "the result of tangent is %s, expected the shape %s of y",
                       shape_text(tangent->shape), shape_text(y->shape));
    }
    return tangent;
}

static Tensor *slot_tangent(Tensor *y, Tensor *const *dx)
{
    (void)y;
    return dx[0];
}

TangentRule *tangent_rule(const Tensor *y)
{
    if (is_gradient_node(y)) return gradient_tangent;
    if (is_slot(y)) return slot_tangent;
    uintptr_t first = (uintptr_t)op_table, at = (uintptr_t)y->op;
    if (at >= first && at < first + OP_COUNT * sizeof *op_table) return rules[y->op - op_table];
    const CustomArgs *custom = custom_args(y);
    return custom && custom->tangent ? custom_tangent : NULL;
}

Tensor *tangent_of(Tensor *y, Tensor *const *dx)
{
    if (y->numel == 0) return NULL;
    set_running_rule(y);
    Tensor *tangent = tangent_rule(y)(y, dx);
    set_running_rule(NULL);
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

/* Shares y's arguments: y's scope, which owns them, is that of the result or one around it. */
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
