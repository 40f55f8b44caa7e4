/* ops_reduce.c: operations that reduce dimensions to one item: sum and mean. Both are a sum times a
 * factor. Their rule repeats dy over the reduced dimensions. */
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "op.h"
#include "ops/reduce.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* ---- the reduced dimensions ------------------------------------------------------------------ */

Reduction reduction(const char *what, const Tensor *x, AgDims dims)
{
    Reduction r = { .kept = x->shape, .count = 1 };
    int most = x->shape.ndim > 0 ? x->shape.ndim : 1;
    if (dims.n < 0 || dims.n > most) {
        ag_usage_error(what, "%d dimensions named for shape %s", dims.n, shape_text(x->shape));
    }
    for (int i = 0; i < dims.n; i++) {
        int d = check_along(what, x, dims.dim[i]);
        if (r.reduced[d]) {
            ag_usage_error(what, "dimension %d is named twice", dims.dim[i]);
        }
        r.reduced[d] = true;
        r.count *= shape_along(&x->shape, d, d).n;
        r.kept.dim[d] = 1;
    }
    for (int i = 0; i < x->shape.ndim; i++) {
        if (!r.reduced[i]) {
            r.dropped.dim[r.dropped.ndim++] = x->shape.dim[i];
        }
    }
    return r;
}

/* Returns a copy of x with the reduced dimensions behind the others. */
static const real *reduced_at_end(const char *what, const Reduction *r, const Tensor *x)
{
    AgShape shape = { 0, { 0 } };
    KWalk walk = { .ndim = x->shape.ndim };
    int64_t stride[AG_MAX_DIMS];
    broadcast_strides(&x->shape, &x->shape, stride);
    for (int reduced = 0; reduced < 2; reduced++) {
        for (int i = 0; i < x->shape.ndim; i++) {
            if (r->reduced[i] != reduced) continue;
            walk.b[shape.ndim] = stride[i];
            walk.dim[shape.ndim] = x->shape.dim[i];
            shape.dim[shape.ndim++] = x->shape.dim[i];
        }
    }
    broadcast_strides(&shape, &shape, walk.a);
    real *copy = op_scratch(what, x->numel, sizeof *copy);
    k_copy(&walk, copy, reals(x), sizeof *copy);
    return copy;
}

const real *with_neighbors(const char *what, const Reduction *r, const Tensor *x, Along *a)
{
    int first = 0, last = x->shape.ndim - 1;
    while (first < x->shape.ndim && !r->reduced[first]) {
        first++;
    }
    while (last >= 0 && !r->reduced[last]) {
        last--;
    }
    bool neighbors = true;
    for (int i = first; i <= last; i++) {
        neighbors = neighbors && r->reduced[i];
    }
    if (neighbors) {
        *a = shape_along(&x->shape, first, last);
        return reals(x);
    }
    *a = (Along){ .outer = ag_shape_numel(r->dropped), .n = r->count, .inner = 1 };
    return reduced_at_end(what, r, x);
}

/* ---- sum and mean: y = scale * sum of x                      dx = scale * dy, repeated ------- */

static Tensor *sum_scaled(const char *what, const Op *op, Tensor *x, AgDims dims, bool keep,
                          bool mean)
{
    check_tensor(what, "x", x, AG_REAL);
    Reduction r = reduction(what, x, dims);
    /* the mean of no items is 0 * infinity = NaN, as in NumPy */
    double scale = mean ? 1 / (double)r.count : 1;
    Tensor *y = op_new(op, keep ? &r.kept : &r.dropped, x, NULL, NULL);
    if (y->op) {
        ReduceArgs *args = op_args(y, sizeof *args);
        *args = (ReduceArgs){ r.kept, scale };
    }
    Along a;
    const real *values = with_neighbors(what, &r, x, &a);
    k_sum(a.outer, a.n, a.inner, reals(y), values, (real)scale, false);
    return op_done(y);
}

void sum_scaled_backward(Tensor *y)
{
    const ReduceArgs *args = y->args;
    Tensor *x = y->in[0];
    real *dy = grad_of(y);
    if (args->scale != 1) {
        dy = op_scratch(y->op->function, y->numel, sizeof(real));
        k_unary(K_SCALE, y->numel, dy, grad_of(y), args->scale, 0);
    }
    Grad g = grad_into(x);
    KWalk walk;
    walk_over(&x->shape, &x->shape, &args->kept, &walk);
    if (g.add) {
        k_copy_add(&walk, g.data, dy);
    } else {
        k_copy(&walk, g.data, dy, sizeof(real));
    }
}

Tensor *ag_sum_dims(Tensor *x, AgDims dims, bool keep)
{
    return sum_scaled(__func__, &op_table[OP_sum_dims], x, dims, keep, false);
}

Tensor *ag_mean_dims(Tensor *x, AgDims dims, bool keep)
{
    return sum_scaled(__func__, &op_table[OP_mean_dims], x, dims, keep, true);
}

/* ---- over all dimensions --------------------------------------------------------------------- */

static AgDims all_dims(const char *what, const Tensor *x)
{
    check_tensor(what, "x", x, AG_REAL);
    return (AgDims){ x->shape.ndim, { 0, 1, 2, 3, 4, 5, 6, 7 } };
}

Tensor *ag_sum(Tensor *x)
{
    return ag_sum_dims(x, all_dims(__func__, x), false);
}

Tensor *ag_mean(Tensor *x)
{
    return ag_mean_dims(x, all_dims(__func__, x), false);
}
