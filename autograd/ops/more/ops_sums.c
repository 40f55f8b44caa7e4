/* ops_sums.c: the variance, and running sums. */
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "more_table.h"
#include "op.h"
#include "ops/reduce.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

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
    real *factor = op_scratch(y->op->function, y->numel, sizeof(real));
    real *deviation = op_scratch(y->op->function, x->numel, sizeof(real));
    k_unary(K_SCALE, y->numel, factor, grad_of(y), 2 * args->scale, 0);
    KWalk walk;
    walk_over(&x->shape, &x->shape, &args->kept, &walk);
    k_binary(K_SUB, &walk, deviation, reals(x), mean);
    k_binary(K_SUB, &walk, deviation, deviation, mean + y->numel);
    Grad g = grad_into(x);
    k_binary_backward(K_MUL, false, &walk, g.data, deviation, NULL, factor, NULL, g.add);
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
