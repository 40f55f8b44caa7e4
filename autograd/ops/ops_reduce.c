/* ops_reduce.c: operations that reduce dimensions: sum, mean, variance, largest and smallest. */
#include <float.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "op.h"
#include "ops/index.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* ---- the reduced dimensions -------------------------------------------------------------------------------------- */

/* Which dimensions are reduced, the result's shape with them as size 1 (kept) and without them (dropped), and how many items
 * of x are reduced to one. */
typedef struct { bool reduced[AG_MAX_DIMS]; AgShape kept, dropped; int64_t count; } Reduction;

static Reduction reduction(const char *what, const Tensor *x, AgDims dims)
{
    Reduction r = { .kept = x->shape, .count = 1 };
    if (dims.n < 0 || dims.n > (x->shape.ndim > 0 ? x->shape.ndim : 1))
        ag_usage_error(what, "%d dimensions named for shape %s", dims.n, shape_text(x->shape));
    for (int i = 0; i < dims.n; i++) {
        int d = check_along(what, x, dims.dim[i]);
        if (r.reduced[d]) ag_usage_error(what, "dimension %d is named twice", dims.dim[i]);
        r.reduced[d] = true;
        r.count *= shape_along(&x->shape, d, d).n;
        r.kept.dim[d] = 1;
    }
    for (int i = 0; i < x->shape.ndim; i++)
        if (!r.reduced[i]) r.dropped.dim[r.dropped.ndim++] = x->shape.dim[i];
    return r;
}

/* The values of x with its reduced dimensions as neighbors: its own, or a copy in scratch memory with them at the end. */
static const real *with_neighbors(const char *what, const Reduction *r, const Tensor *x, Along *a)
{
    int first = 0, last = x->shape.ndim - 1;
    while (first < x->shape.ndim && !r->reduced[first]) first++;
    while (last >= 0 && !r->reduced[last]) last--;
    bool neighbors = true;
    for (int i = first; i <= last; i++) neighbors = neighbors && r->reduced[i];
    *a = shape_along(&x->shape, first, last);
    if (neighbors) return reals(x);
    AgShape shape = { 0, { 0 } };
    KWalk walk = { .ndim = x->shape.ndim };
    int64_t stride[AG_MAX_DIMS];
    broadcast_strides(&x->shape, &x->shape, stride);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < x->shape.ndim; i++) {
            if (r->reduced[i] != (pass == 1)) continue;
            walk.b[shape.ndim] = stride[i];
            walk.dim[shape.ndim] = x->shape.dim[i];
            shape.dim[shape.ndim++] = x->shape.dim[i];
        }
    broadcast_strides(&shape, &shape, walk.a);
    real *moved = scratch_new(what, x->numel, sizeof(real));
    k_copy(&walk, moved, reals(x), sizeof(real));
    *a = (Along){ ag_shape_numel(r->dropped), r->count, 1 };
    return moved;
}

typedef struct { AgShape kept; double scale; } ReduceArgs;

/* ---- sum and mean: y = scale * sum of x                      dx = scale * dy, repeated --------------------------- */

static Tensor *sum_scaled(const char *what, const Op *op, Tensor *x, AgDims dims, bool keep, bool mean)
{
    check_tensor(what, "x", x, AG_REAL);
    Reduction r = reduction(what, x, dims);
    double scale = mean ? 1 / (double)r.count : 1;              /* the mean of 0 items is NaN, as in NumPy */
    Tensor *y = op_new(op, keep ? &r.kept : &r.dropped, x, NULL, NULL);
    if (y->op) *(ReduceArgs *)op_args(y, sizeof(ReduceArgs)) = (ReduceArgs){ .kept = r.kept, .scale = scale };
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
        dy = scratch_new(y->op->function, y->numel, sizeof(real));
        k_unary(K_SCALE, y->numel, dy, grad_of(y), args->scale, 0);
    }
    Grad g = grad_into(x);
    KWalk walk;
    walk_over(&x->shape, &x->shape, &args->kept, &walk);
    if (g.add) k_copy_add(&walk, g.data, dy);
    else k_copy(&walk, g.data, dy, sizeof(real));
}

Tensor *ag_sum_dims(Tensor *x, AgDims dims, bool keep)
{
    return sum_scaled(__func__, &op_table[OP_sum_dims], x, dims, keep, false);
}

Tensor *ag_mean_dims(Tensor *x, AgDims dims, bool keep)
{
    return sum_scaled(__func__, &op_table[OP_mean_dims], x, dims, keep, true);
}

/* ---- cumsum: y_j = x_0 + ... + x_j, summed in double         dx_j = dy_j + dy_j+1 + ... -------------------------- */

/* The sums from the first item on, or `back` from the last. */
static void running_sums(Along a, Grad y, const real *x, bool back)
{
    for (int64_t line = 0; a.n > 0 && line < a.outer * a.inner; line++) {
        int64_t first = line / a.inner * a.n * a.inner + line % a.inner;
        double sum = 0;
        for (int64_t j = 0; j < a.n; j++) {
            int64_t i = first + (back ? a.n - 1 - j : j) * a.inner;
            sum += (double)x[i];
            y.data[i] = (real)(y.add ? (double)y.data[i] + sum : sum);
        }
    }
}

Tensor *ag_cumsum(Tensor *x, int dim)
{
    check_tensor(__func__, "x", x, AG_REAL);
    int d = check_along(__func__, x, dim);
    Along a = shape_along(&x->shape, d, d);
    Tensor *y = op_new(&op_table[OP_cumsum], &x->shape, x, NULL, NULL);
    if (y->op) *(Along *)op_args(y, sizeof a) = a;
    running_sums(a, (Grad){ reals(y), false }, reals(x), false);
    return op_done(y);
}

void cumsum_backward(Tensor *y)
{
    running_sums(*(Along *)y->args, grad_into(y->in[0]), grad_of(y), true);
}

/* ---- variance: y = sum (x - m)² / n, n-1 if unbiased         dx = dy 2 (x - m) / n ------------------------------- */

Tensor *ag_var_dims(Tensor *x, AgDims dims, bool unbiased, bool keep)
{
    check_tensor(__func__, "x", x, AG_REAL);
    Reduction r = reduction(__func__, x, dims);
    int64_t degrees = unbiased && r.count > 0 ? r.count - 1 : r.count;
    double scale = 1 / (double)degrees;                         /* of too few items: NaN, as in NumPy */
    Tensor *y = op_new(&op_table[OP_var_dims], keep ? &r.kept : &r.dropped, x, NULL, NULL);
    if (y->op) *(ReduceArgs *)op_args(y, sizeof(ReduceArgs)) = (ReduceArgs){ .kept = r.kept, .scale = scale };
    real *mean = op_save(y, 2 * y->numel);
    Along a;
    const real *values = with_neighbors(__func__, &r, x, &a);
    k_var(a.outer, a.n, a.inner, reals(y), mean, mean + y->numel, values, (real)scale);
    return op_done(y);
}

void var_dims_backward(Tensor *y)
{
    Tensor *x = y->in[0];
    ReduceArgs *args = y->args;
    const real *mean = buffer_data(y->saved);
    real *factor = scratch_new(y->op->function, y->numel, sizeof(real));
    real *deviation = scratch_new(y->op->function, x->numel, sizeof(real));
    k_unary(K_SCALE, y->numel, factor, grad_of(y), 2 * args->scale, 0);
    KWalk walk;
    walk_over(&x->shape, &x->shape, &args->kept, &walk);
    k_binary(K_SUB, &walk, deviation, reals(x), mean);
    k_binary(K_SUB, &walk, deviation, deviation, mean + y->numel);
    Grad g = grad_into(x);
    k_binary_backward(K_MUL, false, &walk, g.data, deviation, NULL, factor, NULL, g.add);
}

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
    real *largest = scratch_new(__func__, y->numel, sizeof(real));
    k_max(a.outer, a.n, a.inner, largest, ints(y), reals(x), false);
    scratch_end();
    return y;
}

/* ---- over everything --------------------------------------------------------------------------------------------- */

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

Tensor *ag_max(Tensor *x)
{
    check_tensor(__func__, "x", x, AG_REAL);
    return ag_max_dim(ag_reshape(x, SHAPE(-1)), 0, false);
}

/* ---- logsumexp: m + ln sum of e^(x - m), m the largest x; held where it is infinite, because infinity - infinity is NaN -- */

Tensor *ag_logsumexp(Tensor *x, int dim, bool keep)
{
    check_tensor(__func__, "x", x, AG_REAL);
    if (reduction(__func__, x, DIMS(dim)).count == 0) {         /* ln 0, without a largest x */
        return ag_log(ag_sum_dims(x, DIMS(dim), keep));
    }
    Along a;
    Reduction r = choice(__func__, x, dim, &a);
    double most = sizeof(real) == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
    Tensor *largest = ag_clamp(ag_detach(ag_max_dim(x, dim, true)), -most, most);
    Tensor *sum = ag_sum_dims(ag_exp(ag_sub(x, largest)), DIMS(dim), true);
    Tensor *y = ag_add(ag_log(sum), largest);
    return keep ? y : ag_reshape(y, r.dropped);
}
