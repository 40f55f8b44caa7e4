/* ops_extreme.c: the largest and smallest items along a dimension, and what is composed of them. */
#include <float.h>
#include <math.h>

#include "buffers.h"
#include "checks.h"
#include "gather.h"
#include "kaeru/autograd.h"
#include "kaeru/gradients.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "more_kernels.h"
#include "more_table.h"
#include "op.h"
#include "ops/reduce.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* ---- largest and smallest along a dimension                  dy goes to the chosen entry ------------------------- */

/* The reduction of a dimension to one of its items, whose place is an AG_INT. */
static Reduction choice(const char *what, const Tensor *x, int dim, Along *a)
{
    check_tensor(what, "x", x, AG_REAL);
    int d = check_along(what, x, dim);
    Reduction r = reduction(what, x, DIMS(d));
    if (r.count == 0) ag_usage_error(what, "there is nothing to choose from in shape %s", shape_text(x->shape));
    if (r.count > INT32_MAX)
        ag_usage_error(what, "dimension %d of %s is too long for an AG_INT index", dim, shape_text(x->shape));
    *a = shape_along(&x->shape, d, d);
    return r;
}

static Tensor *extreme(const char *what, const Op *op, Tensor *x, int dim, bool keep, bool least)
{
    Along a;
    Reduction r = choice(what, x, dim, &a);
    Tensor *y = op_new(op, keep ? &r.kept : &r.dropped, x, NULL, NULL);
    if (y->op) *(Along *)op_args(y, sizeof a) = a;
    int32_t *index = y->op ? (int32_t *)(void *)op_save(y, y->numel) : NULL;
    k_max(a.outer, a.n, a.inner, reals(y), index, reals(x), least);
    return op_done(y);
}

void extreme_backward(Tensor *y)
{
    grad_scatter(y, *(Along *)y->args, 1, buffer_data(y->saved));
}

Tensor *ag_max_dim(Tensor *x, int dim, bool keep)
{
    return extreme(__func__, &op_table[OP_max_dim], x, dim, keep, false);
}

Tensor *ag_min_dim(Tensor *x, int dim, bool keep)
{
    return extreme(__func__, &op_table[OP_min_dim], x, dim, keep, true);
}

Tensor *ag_argmax(Tensor *x, int dim, bool keep)
{
    Along a;
    Reduction r = choice(__func__, x, dim, &a);
    Tensor *y = tensor_new(__func__, keep ? &r.kept : &r.dropped, AG_INT);
    real *largest = op_scratch(__func__, y->numel, sizeof(real));
    k_max(a.outer, a.n, a.inner, largest, ints(y), reals(x), false);
    op_scratch_end();
    return y;
}

Tensor *ag_max(Tensor *x)
{
    check_tensor(__func__, "x", x, AG_REAL);
    return ag_max_dim(ag_reshape(x, SHAPE(-1)), 0, false);
}

/* ---- logsumexp: m + ln sum of e^(x - m), m the largest x; held where it is infinite, because infinity - infinity is NaN -- */

/* Returns x, held within the range of AG_REAL, so that a difference of two such numbers is not NaN. */
static Tensor *held(Tensor *x)
{
    double most = sizeof(real) == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
    return ag_clamp(x, -most, most);
}

/* Where every x is -infinity, the sum is 0. It is replaced by 1, since the gradient of ln 0 is infinite, and 0 times that
 * NaN. */
Tensor *ag_logsumexp(Tensor *x, int dim, bool keep)
{
    check_tensor(__func__, "x", x, AG_REAL);
    if (reduction(__func__, x, DIMS(dim)).count == 0) {         /* ln 0, without a largest x */
        Tensor *none = ag_sum_dims(x, DIMS(dim), keep);
        return ag_masked_fill(none, ag_compare_scalar(AG_EQ, none, 0), -INFINITY);
    }
    Along a;
    Reduction r = choice(__func__, x, dim, &a);
    Tensor *largest = ag_detach(ag_max_dim(x, dim, true));
    Tensor *sum = ag_sum_dims(ag_exp(ag_sub(x, held(largest))), DIMS(dim), true);
    Tensor *y = ag_add(ag_log(ag_masked_fill(sum, ag_compare_scalar(AG_EQ, sum, 0), 1)), largest);
    return keep ? y : ag_reshape(y, r.dropped);
}

/* ---- logaddexp: h + ln(1 + e^(l - h)), h the larger one, l the other. A smaller item is not lost beside an h of 0 -- */

/* Where both are the same infinity, l - h is replaced by 0. There h is -infinity without a gradient, or the mean of two
 * infinities, which has half of it for each. */
Tensor *ag_logaddexp(Tensor *a, Tensor *b)
{
    check_tensor(__func__, "a", a, AG_REAL);
    check_tensor(__func__, "b", b, AG_REAL);
    broadcast_shape(__func__, a, b);
    Tensor *first = ag_compare(AG_GE, a, b), *h = ag_where(first, a, b), *l = ag_where(first, b, a);
    Tensor *none = ag_compare_scalar(AG_EQ, ag_maximum(a, b), -INFINITY);       /* false for NaN, as the next one */
    Tensor *both = ag_compare_scalar(AG_EQ, ag_minimum(a, b), INFINITY);
    Tensor *apart = ag_masked_fill(ag_masked_fill(ag_sub(l, h), none, 0), both, 0);
    h = ag_where(both, ag_scale(ag_add(a, b), 0.5), ag_masked_fill(h, none, -INFINITY));
    return ag_add(h, ag_softplus(apart));
}
