/* ops_shape.c: operations that only move values: reshape, permute, slice, and functions that are
 * composed of them.
 *
 * Each copies between two arrays with different strides (k_copy); the backward rule copies the
 * gradient the other way. Only reshape copies nothing: the result shares the memory of its input.
 * Values of any type can be moved, but only reals are recorded. */
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "op.h"
#include "ops/move.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"

#include <string.h>

KWalk walk_part(const AgShape *part, const AgShape *whole)
{
    KWalk walk;
    walk_over(part, part, part, &walk);
    broadcast_strides(whole, whole, walk.b);
    return walk;
}

KWalk reversed(const KWalk *walk)
{
    KWalk r = *walk;
    memcpy(r.a, walk->b, sizeof r.a);
    memcpy(r.b, walk->a, sizeof r.b);
    return r;
}

void copy_into(Grad g, int64_t offset, const KWalk *walk, const real *src)
{
    if (g.add) {
        k_copy_add(walk, g.data + offset, src);
    } else {
        k_copy(walk, g.data + offset, src, sizeof(real));
    }
}

Tensor *moved_new(const Op *op, const AgShape *shape, Tensor *const *in, int n)
{
    if (in[0]->dtype == AG_REAL) return op_new_n(op, shape, in, n);
    return tensor_new(op->name, shape, in[0]->dtype);
}

Tensor *moved_done(Tensor *y)
{
    return y->dtype == AG_REAL ? op_done(y) : y;
}

/* ---- reshape: the same values in another shape               dx = dy in x's shape ------------ */

Tensor *ag_reshape(Tensor *x, AgShape shape)
{
    check_any(__func__, "x", x);
    AgShape requested = shape;
    int inferred = -1;                  /* the dimension whose size is given as -1 */
    for (int i = 0; i < shape.ndim && i < AG_MAX_DIMS; i++) {
        if (shape.dim[i] != -1) continue;
        if (inferred >= 0) {
            ag_usage_error(__func__, "-1 twice in %s: only one size can be inferred",
                           shape_text(requested));
        }
        inferred = i;
    }
    if (inferred >= 0) {
        shape.dim[inferred] = 1;
        int64_t known = check_shape(__func__, &shape);
        if (known == 0) {
            ag_usage_error(__func__, "in %s every size fits for -1", shape_text(requested));
        }
        shape.dim[inferred] = x->numel / known;
    }
    if (check_shape(__func__, &shape) != x->numel) {
        ag_usage_error(__func__, "shape %s with %lld items does not fit %s", shape_text(x->shape),
                       (long long)x->numel, shape_text(requested));
    }
    if (x->dtype != AG_REAL) return tensor_alias(__func__, &shape, x->dtype, x->buffer);
    return op_done(op_new_alias(&op_table[OP_reshape], &shape, x));
}

void reshape_backward(Tensor *y)
{
    grad_pass(y->in[0], y);
}

void reshape_values(Tensor *y, const OpCall *c)
{
    y->buffer = buffer_share(c->in[0]->buffer);
    y->data = c->in[0]->data;
}

/* ---- permute: dimension i of y is dimension order[i] of x    dx = dy permuted back ----------- */

Tensor *ag_permute(Tensor *x, AgDims order)
{
    check_any(__func__, "x", x);
    int ndim = x->shape.ndim;
    bool seen[AG_MAX_DIMS] = { false };
    if (order.n != ndim) {
        ag_usage_error(__func__, "an order of %d dimensions for shape %s", order.n,
                       shape_text(x->shape));
    }
    int64_t stride[AG_MAX_DIMS];
    broadcast_strides(&x->shape, &x->shape, stride);
    AgShape shape = { ndim, { 0 } };
    KWalk walk = { .ndim = ndim };
    for (int i = 0; i < ndim; i++) {
        int d = check_dim(__func__, x, order.dim[i]);
        if (seen[d]) {
            ag_usage_error(__func__, "dimension %d is named twice", order.dim[i]);
        }
        seen[d] = true;
        shape.dim[i] = x->shape.dim[d];
        walk.dim[i] = x->shape.dim[d];
        walk.b[i] = stride[d];
    }
    broadcast_strides(&shape, &shape, walk.a);
    Tensor *y = moved_new(&op_table[OP_permute], &shape, &x, 1);
    if (y->op) {
        *(KWalk *)op_args(y, sizeof walk) = walk;
    }
    k_copy(&walk, y->data, x->data, dtype_size(x->dtype));
    return moved_done(y);
}

void permute_backward(Tensor *y)
{
    KWalk back = reversed(y->args);
    copy_into(grad_into(y->in[0]), 0, &back, grad_of(y));
}

Tensor *ag_transpose(Tensor *x, int dim0, int dim1)
{
    check_any(__func__, "x", x);
    int a = check_dim(__func__, x, dim0), b = check_dim(__func__, x, dim1);
    AgDims order = { x->shape.ndim, { 0, 1, 2, 3, 4, 5, 6, 7 } };
    order.dim[a] = b;
    order.dim[b] = a;
    return ag_permute(x, order);
}

/* ---- slice: items start..stop-1 along dim                    dx = dy there, else 0 ----------- */

/* The slice begins at item `offset` of x, and the walk is over y and x. whole: y has all items of
 * x. */
typedef struct { int64_t offset; KWalk walk; bool whole; } SliceArgs;

void slice_values(Tensor *y, const OpCall *c)
{
    const SliceArgs *args = c->args;
    size_t size = dtype_size(y->dtype);
    const char *first = (const char *)c->in[0]->data + (size_t)args->offset * size;
    k_copy(&args->walk, y->data, first, size);
}

Tensor *ag_slice(Tensor *x, int dim, int64_t start, int64_t stop)
{
    check_any(__func__, "x", x);
    int d = check_dim(__func__, x, dim);
    int64_t n = x->shape.dim[d];
    int64_t from = start < 0 ? start + n : start;
    int64_t to = stop < 0 ? stop + n : stop;
    if (from < 0 || to < from || to > n) {
        ag_usage_error(__func__, "%lld..%lld is not within dimension %d of %s", (long long)start,
                       (long long)stop, dim, shape_text(x->shape));
    }
    AgShape shape = x->shape;
    shape.dim[d] = to - from;
    SliceArgs args = { .walk = walk_part(&shape, &x->shape), .whole = to - from == n };
    args.offset = from * args.walk.b[d];
    Tensor *y = moved_new(&op_table[OP_slice], &shape, &x, 1);
    if (y->op) {
        *(SliceArgs *)op_args(y, sizeof args) = args;
    }
    slice_values(y, &(OpCall){ &op_table[OP_slice], &x, 1, &args });
    return moved_done(y);
}

void slice_backward(Tensor *y)
{
    SliceArgs *args = y->args;
    Grad g = grad_into(y->in[0]);
    if (!g.add && !args->whole) {
        k_fill(y->in[0]->numel, g.data, 0);
    }
    KWalk back = reversed(&args->walk);
    copy_into(g, args->offset, &back, grad_of(y));
}

Tensor *ag_split(Tensor *x, int parts, int dim, Tensor **out)
{
    check_any(__func__, "x", x);
    int d = check_dim(__func__, x, dim);
    ag_check_pointer(__func__, "out", out);
    if (parts < 1 || x->shape.dim[d] % parts != 0) {
        ag_usage_error(__func__, "dimension %d of %s does not divide into %d equal parts", dim,
                       shape_text(x->shape), parts);
    }
    int64_t size = x->shape.dim[d] / parts;
    for (int i = 0; i < parts; i++) {
        out[i] = ag_slice(x, d, i * size, (i + 1) * size);
    }
    return out[0];
}

/* ---- compositions ---------------------------------------------------------------------------- */

Tensor *ag_squeeze(Tensor *x, int dim)
{
    check_any(__func__, "x", x);
    int d = check_dim(__func__, x, dim);
    if (x->shape.dim[d] != 1) {
        ag_usage_error(__func__, "dimension %d of %s does not have size 1", dim,
                       shape_text(x->shape));
    }
    AgShape shape = { 0, { 0 } };
    for (int i = 0; i < x->shape.ndim; i++) {
        if (i != d) {
            shape.dim[shape.ndim++] = x->shape.dim[i];
        }
    }
    return ag_reshape(x, shape);
}

AgShape inserted(const char *what, const Tensor *x, int dim, int64_t n)
{
    int ndim = x->shape.ndim + 1;
    int d = dim < 0 ? dim + ndim : dim;
    if (d < 0 || d >= ndim || ndim > AG_MAX_DIMS) {
        ag_usage_error(what, "dimension %d cannot be inserted into %s: expected %d to %d, and at "
                       "most %d dimensions", dim, shape_text(x->shape), -ndim, ndim - 1,
                       AG_MAX_DIMS);
    }
    AgShape shape = { ndim, { 0 } };
    int next = 0;
    for (int i = 0; i < ndim; i++) {
        shape.dim[i] = i == d ? n : x->shape.dim[next++];
    }
    return shape;
}

Tensor *ag_unsqueeze(Tensor *x, int dim)
{
    check_any(__func__, "x", x);
    return ag_reshape(x, inserted(__func__, x, dim, 1));
}
