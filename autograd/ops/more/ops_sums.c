/* ops_sums.c: the variance, running sums, and norms. */
#include <math.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "more_kernels.h"
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

enum { COLUMNS = 256 };             /* that are summed in one pass along the dimension */

/* The sums of `width` neighboring columns, at most COLUMNS, whose rows are a.inner apart. */
static void running_sums_of(Along a, int64_t width, Grad y, const real *x, bool back)
{
    double sum[COLUMNS];
    for (int64_t i = 0; i < width; i++) sum[i] = 0;
    for (int64_t j = 0; j < a.n; j++) {
        const int64_t row = (back ? a.n - 1 - j : j) * a.inner;
        for (int64_t i = 0; i < width; i++) sum[i] += (double)x[row + i];
        for (int64_t i = 0; i < width && y.add; i++) y.data[row + i] = (real)((double)y.data[row + i] + sum[i]);
        for (int64_t i = 0; i < width && !y.add; i++) y.data[row + i] = (real)sum[i];
    }
}

/* The sums of one row of n items, which are neighbors. */
static void running_sums_of_row(int64_t n, Grad y, const real *x, bool back)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        const int64_t i = back ? n - 1 - j : j;
        sum += (double)x[i];
        y.data[i] = (real)(y.add ? (double)y.data[i] + sum : sum);
    }
}

/* The sums from the first item on, or `back` from the last. */
static void running_sums(Along a, Grad y, const real *x, bool back)
{
    for (int64_t o = 0; a.n > 0 && a.inner == 1 && o < a.outer; o++)
        running_sums_of_row(a.n, (Grad){ y.data + o * a.n, y.add }, x + o * a.n, back);
    if (a.inner == 1) return;
    for (int64_t o = 0; a.n * a.inner > 0 && o < a.outer; o++) {
        for (int64_t first = 0; first < a.inner; first += COLUMNS) {
            const int64_t at = o * a.n * a.inner + first, width = a.inner - first < COLUMNS ? a.inner - first : COLUMNS;
            running_sums_of(a, width, (Grad){ y.data + at, y.add }, x + at, back);
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

/* ---- norms ------------------------------------------------------------------------------------------------------- */

/* The root of a sum of squares. At 0, whose root has an infinite slope, a constant takes its place. */
Tensor *ag_norm_dims(Tensor *x, AgDims dims, bool keep)
{
    check_tensor(__func__, "x", x, AG_REAL);
    reduction(__func__, x, dims);
    Tensor *squares = ag_sum_dims(ag_mul(x, x), dims, keep), *none = ag_compare_scalar(AG_EQ, squares, 0);
    return ag_masked_fill(ag_sqrt(ag_masked_fill(squares, none, 1)), none, 0);
}

Tensor *ag_normalize(Tensor *x, int dim, double eps)
{
    check_tensor(__func__, "x", x, AG_REAL);
    check_along(__func__, x, dim);
    if (!(eps > 0 && eps < INFINITY)) ag_usage_error(__func__, "eps is %g, expected a finite number above 0", eps);
    if (!((real)eps > 0)) ag_usage_error(__func__, "eps is %g, expected a number that is not 0 in x's type", eps);
    return ag_div(x, ag_clamp(ag_norm_dims(x, DIMS(dim), true), eps, INFINITY));
}
