/* ops_copies.c: operations that copy items: index_select, concat, expand, and what they compose. */
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
