/* ops_copies.c: operations that copy items: index_select, concat, expand, and what they compose; and index_add. */
#include <math.h>
#include <string.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "more_table.h"
#include "op.h"
#include "ops/index.h"
#include "ops/move.h"
#include "scope.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* ---- index_select: y[o,j,i] = x[o, ids[j], i]                dx[o, ids[j], i] += dy[o,j,i] ------------------------ */

Tensor *ag_index_select(Tensor *x, int dim, Tensor *ids)
{
    check_any(__func__, "x", x);
    check_tensor(__func__, "ids", ids, AG_INT);
    int d = check_dim(__func__, x, dim);
    if (ids->shape.ndim != 1) ag_usage_error(__func__, "ids %s, expected (n)", shape_text(ids->shape));
    Along a = shape_along(&x->shape, d, d);
    check_ids(__func__, ids, a.n);
    AgShape shape = x->shape;
    shape.dim[d] = ids->numel;
    Tensor *y = moved_new(&op_table[OP_index_select], &shape, (Tensor *[]){ x, ids }, 2);
    if (y->op) *(Along *)op_args(y, sizeof a) = a;
    size_t run = (size_t)a.inner * dtype_size(x->dtype);
    char *to = y->data;
    for (int64_t o = 0; y->numel > 0 && o < a.outer; o++)
        for (int64_t j = 0; j < ids->numel; j++, to += run)
            memcpy(to, (const char *)x->data + (size_t)(o * a.n + ints(ids)[j]) * run, run);
    return moved_done(y);
}

void index_select_backward(Tensor *y)
{
    const Along *a = y->args;
    const Tensor *ids = y->in[1];
    add_rows(y, *a, ids->numel, grad_to_add(y->in[0]), grad_of(y), ints(ids));
}

/* ---- index_add: y = x, y[o, ids[j], i] += src[o,j,i]         dx = dy, dsrc[o,j,i] = dy[o, ids[j], i] -------------- */

Tensor *ag_index_add(Tensor *x, int dim, Tensor *ids, Tensor *src)
{
    check_tensor(__func__, "x", x, AG_REAL);
    check_tensor(__func__, "ids", ids, AG_INT);
    check_tensor(__func__, "src", src, AG_REAL);
    int d = check_dim(__func__, x, dim);
    if (ids->shape.ndim != 1) ag_usage_error(__func__, "ids %s, expected (n)", shape_text(ids->shape));
    AgShape shape = x->shape;
    shape.dim[d] = ids->numel;
    if (!ag_shape_equal(src->shape, shape))
        ag_usage_error(__func__, "src is %s, expected %s: the sizes of x %s, and %lld ids along dimension %d",
                       shape_text(src->shape), shape_text(shape), shape_text(x->shape), (long long)ids->numel, dim);
    Along a = shape_along(&x->shape, d, d);
    check_ids(__func__, ids, a.n);
    Tensor *y = op_new(&op_table[OP_index_add], &x->shape, x, ids, src);
    if (y->op) *(Along *)op_args(y, sizeof a) = a;
    memcpy(reals(y), reals(x), (size_t)x->numel * sizeof(real));
    if (src->numel > 0) add_rows(y, a, ids->numel, reals(y), reals(src), ints(ids));
    return op_done(y);
}

void index_add_backward(Tensor *y)
{
    const Along *a = y->args;
    const int32_t *ids = ints(y->in[1]);
    const int64_t n = y->in[1]->numel, size = n * a->inner;
    Grad g = grad_into(y->in[2]);
    for (int64_t o = 0; g.data && size > 0 && o < a->outer; o++) {
        real *to = g.data + o * size;
        const real *dy = grad_of(y) + o * a->n * a->inner;
        if (!g.add) k_gather_rows(n, a->inner, to, dy, ids);
        for (int64_t i = 0; g.add && i < size; i++) to[i] += dy[ids[i / a->inner] * a->inner + i % a->inner];
    }
    grad_pass(y->in[0], y);
}

/* ---- compositions ------------------------------------------------------------------------------------------------ */

Tensor *ag_select(Tensor *x, int dim, int64_t i)
{
    check_any(__func__, "x", x);
    int d = check_dim(__func__, x, dim);
    int64_t n = x->shape.dim[d], at = i < 0 ? i + n : i;
    if (at < 0 || at >= n)
        ag_usage_error(__func__, "there is no item %lld along dimension %d of %s", (long long)i, dim, shape_text(x->shape));
    return ag_squeeze(ag_slice(x, d, at, at + 1), d);
}

Tensor *ag_unbind(Tensor *x, int n, int dim, Tensor **out)
{
    check_any(__func__, "x", x);
    int d = check_dim(__func__, x, dim);
    ag_check_pointer(__func__, "out", out);
    if (n < 1) ag_usage_error(__func__, "%d items, expected 1 or more", n);
    if (x->shape.dim[d] != n)
        ag_usage_error(__func__, "dimension %d of %s does not have %d items", dim, shape_text(x->shape), n);
    for (int i = 0; i < n; i++) out[i] = ag_select(x, d, i);
    return out[0];
}

Tensor *ag_flip(Tensor *x, int dim)
{
    check_any(__func__, "x", x);
    int64_t n = x->shape.dim[check_dim(__func__, x, dim)];
    if (n > INT32_MAX) ag_usage_error(__func__, "x %s, expected fewer than 2^31 items along dim", shape_text(x->shape));
    Tensor *ids = tensor_new(__func__, &SHAPE(n), AG_INT);
    for (int64_t i = 0; i < n; i++) ints(ids)[i] = (int32_t)(n - 1 - i);
    return ag_index_select(x, dim, ids);
}

/* ---- concat: n tensors joined along dim                      each gets its part of dy ---------------------------- */

Tensor *ag_concat(Tensor **x, int n, int dim)
{
    if (n < 1) ag_usage_error(__func__, "no tensors to join");
    ag_check_pointer(__func__, "x", x);
    check_any(__func__, "x", x[0]);
    int d = check_dim(__func__, x[0], dim);
    AgShape shape = x[0]->shape;
    for (int i = 1; i < n; i++) {
        check_tensor(__func__, "an item of x", x[i], x[0]->dtype);
        AgShape other = x[i]->shape;
        if (other.ndim == shape.ndim) other.dim[d] = shape.dim[d];
        if (!ag_shape_equal(other, shape))
            ag_usage_error(__func__, "shapes %s and %s differ in another dimension than %d", shape_text(x[0]->shape),
                           shape_text(x[i]->shape), dim);
        if (__builtin_add_overflow(shape.dim[d], x[i]->shape.dim[d], &shape.dim[d]))
            ag_usage_error(__func__, "the size of dimension %d overflows", dim);
    }
    Tensor *y = moved_new(&op_table[OP_concat], &shape, x, n);
    if (y->op) *(int *)op_args(y, sizeof(int)) = d;
    int64_t offset = 0;
    size_t size = dtype_size(y->dtype);
    for (int i = 0; i < n; i++) {
        KWalk part = walk_part(&x[i]->shape, &shape), walk = reversed(&part);
        k_copy(&walk, (char *)y->data + (size_t)offset * size, x[i]->data, size);
        offset += x[i]->shape.dim[d] * walk.a[d];
    }
    return moved_done(y);
}

void concat_backward(Tensor *y)
{
    int d = *(int *)y->args;
    int64_t offset = 0;
    for (int i = 0; i < y->n_in; i++) {
        Tensor *x = y->in[i];
        KWalk walk = walk_part(&x->shape, &y->shape);
        if (x->requires_grad) copy_into(grad_into(x), 0, &walk, grad_of(y) + offset);
        offset += x->shape.dim[d] * walk.b[d];
    }
}

Tensor *ag_stack(Tensor **x, int n, int dim)
{
    if (n < 1) ag_usage_error(__func__, "no tensors to stack");
    ag_check_pointer(__func__, "x", x);
    Tensor **part = scope_alloc(__func__, (size_t)n * sizeof *part);
    for (int i = 0; i < n; i++) {
        check_any(__func__, "an item of x", x[i]);
        check_tensor(__func__, "an item of x", x[i], x[0]->dtype);
        if (!ag_shape_equal(x[i]->shape, x[0]->shape))
            ag_usage_error(__func__, "shapes %s and %s differ", shape_text(x[0]->shape), shape_text(x[i]->shape));
        if (i == 0) {
            AgShape whole = inserted(__func__, x[0], dim, n);
            check_shape(__func__, &whole);
        }
        part[i] = ag_unsqueeze(x[i], dim);
    }
    return ag_concat(part, n, dim);
}

/* Checks that x's type holds the value. */
static Tensor *filled(const char *what, const AgShape *shape, const Tensor *x, double value)
{
    Tensor *t = tensor_new(what, shape, (AgDType)x->dtype);
    if (x->dtype == AG_REAL && isfinite(value) && !isfinite((real)value))
        ag_usage_error(what, "value is %g, which is infinite in x's type", value);
    if (x->dtype == AG_REAL) k_fill(t->numel, reals(t), (real)value);
    if (x->dtype == AG_INT && !(value >= INT32_MIN && value <= INT32_MAX && value == (double)(int32_t)value))
        ag_usage_error(what, "value is %.17g, expected an int32, since x is AG_INT", value);
    for (int64_t i = 0; x->dtype == AG_INT && i < t->numel; i++) ints(t)[i] = (int32_t)value;
    if (x->dtype == AG_BOOL && value != 0 && value != 1)
        ag_usage_error(what, "value is %g, expected 0 or 1, since x is AG_BOOL", value);
    if (x->dtype == AG_BOOL) memset(bools(t), (int)value, (size_t)t->numel);
    return t;
}

static Tensor *padded(const char *what, Tensor *x, int dim, int64_t before, int64_t after, double value)
{
    check_any(what, "x", x);
    int d = check_dim(what, x, dim);
    if (before < 0 || after < 0)
        ag_usage_error(what, "%lld and %lld items, expected 0 or more", (long long)before, (long long)after);
    AgShape left = x->shape, right = x->shape, whole = x->shape;
    left.dim[d] = before;
    right.dim[d] = after;
    if (__builtin_add_overflow(before, after, &whole.dim[d]) ||
        __builtin_add_overflow(whole.dim[d], x->shape.dim[d], &whole.dim[d]))
        ag_usage_error(what, "the size of dimension %d overflows", dim);
    check_shape(what, &whole);
    return ag_concat(((Tensor *[]){ filled(what, &left, x, value), x, filled(what, &right, x, value) }), 3, d);
}

Tensor *ag_pad(Tensor *x, int dim, int64_t before, int64_t after)
{
    return padded(__func__, x, dim, before, after, 0);
}

Tensor *ag_pad_with(Tensor *x, int dim, int64_t before, int64_t after, double value)
{
    return padded(__func__, x, dim, before, after, value);
}

/* ---- expand: x repeated to a shape it broadcasts to          dx = sum of dy over the repeats --------------------- */

Tensor *ag_expand(Tensor *x, AgShape shape)
{
    check_any(__func__, "x", x);
    check_shape(__func__, &shape);
    if (!broadcasts_to(&x->shape, &shape))
        ag_usage_error(__func__, "%s does not broadcast to %s", shape_text(x->shape), shape_text(shape));
    Tensor *y = moved_new(&op_table[OP_expand], &shape, &x, 1);
    KWalk walk;
    walk_over(&shape, &shape, &x->shape, &walk);
    k_copy(&walk, y->data, x->data, dtype_size(x->dtype));
    return moved_done(y);
}

void expand_backward(Tensor *y)
{
    grad_pass_broadcast(y->in[0], y);
}
