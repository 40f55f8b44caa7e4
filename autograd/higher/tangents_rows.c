/* tangents_rows.c: tangent rules of operations over dimensions: sums, extremes, softmax, norms. */
#include <float.h>
#include <math.h>

#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "ops/reduce.h"
#include "tangents.h"

static Tensor *row_sum(Tensor *x)
{
    return ag_sum_dims(x, DIMS(-1), true);
}

static Tensor *row_mean(Tensor *x)
{
    return ag_mean_dims(x, DIMS(-1), true);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Returns the dimensions that y's operation has reduced. */
static AgDims reduced_dims(const Tensor *y)
{
    const AgShape *kept = &((const ReduceArgs *)y->args)->kept, *from = &y->in[0]->shape;
    AgDims dims = { 0, { 0 } };
    for (int i = 0; i < from->ndim; i++) {
        if (kept->dim[i] != from->dim[i]) {
            dims.dim[dims.n++] = i;
        }
    }
    return dims;
}

Tensor *sum_dims_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_reshape(ag_sum_dims(dx[0], reduced_dims(y), true), y->shape);
}

Tensor *mean_dims_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_reshape(ag_mean_dims(dx[0], reduced_dims(y), true), y->shape);
}

/* Returns the sum of 2 (x - mean) dx, divided as the variance. */
Tensor *var_dims_tangent(Tensor *y, Tensor *const *dx)
{
    const ReduceArgs *args = y->args;
    AgDims dims = reduced_dims(y);
    Tensor *x = y->in[0], *deviation = ag_sub(x, ag_mean_dims(x, dims, true));
    Tensor *sum = ag_sum_dims(ag_mul(deviation, dx[0]), dims, true);
    return ag_reshape(ag_scale(sum, 2 * args->scale), y->shape);
}

Tensor *cumsum_tangent(Tensor *y, Tensor *const *dx)
{
    const Along *a = y->args;
    Tensor *d = ag_reshape(dx[0], SHAPE(a->outer, a->n, a->inner));
    return ag_reshape(ag_cumsum(d, 1), y->shape);
}

/* ---- softmax: dy = y (dx - sum(y dx)) -------------------------------------------------------- */

Tensor *softmax_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_mul(y, ag_sub(dx[0], row_sum(ag_mul(y, dx[0]))));
}

Tensor *log_softmax_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_sub(dx[0], row_sum(ag_mul(ag_exp(y), dx[0])));
}

Tensor *masked_softmax_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *d = scaled(dx[0], *(const double *)y->args);
    return ag_mul(y, ag_sub(d, row_sum(ag_mul(y, d))));
}

/* ---- norms: y = n gamma + beta with n = (x - mean) / r --------------------------------------- */

/* Returns a power of two for each row (..,1), which brings its largest number, or `least` if that is
 * larger, to a size whose square is an ordinary number. Rows that are near 0 get 0: the operation
 * counts them as 0. Returns NULL if all rows are of such a size. */
static Tensor *row_scales(const Tensor *x, double least)
{
    const int near_zero = sizeof(real) == sizeof(float) ? FLT_MIN_EXP : DBL_MIN_EXP;
    AgShape shape = x->shape;
    const int64_t n = shape.dim[shape.ndim - 1];
    shape.dim[shape.ndim - 1] = 1;
    Tensor *scales = tensor_ones(shape);
    bool all_ordinary = true;
    for (int64_t row = 0; row < scales->numel; row++) {
        double most = least;
        int exponent;
        for (int64_t i = 0; i < n; i++) {
            most = fmax(most, fabs((double)reals(x)[row * n + i]));
        }
        frexp(most, &exponent);
        if (most == 0 || isinf(most) || (exponent > -30 && exponent < 40)) continue;
        reals(scales)[row] = exponent < near_zero ? 0 : (real)ldexp(1, -exponent);
        all_ordinary = false;
    }
    return all_ordinary ? NULL : scales;
}

/* Returns x scaled. Without scales (NULL), they are 1. */
static Tensor *times(Tensor *x, Tensor *scales)
{
    return scales ? ag_mul(x, scales) : x;
}

/* Returns x + eps, where x was scaled. */
static Tensor *plus_eps(Tensor *x, double eps, Tensor *scales)
{
    if (eps == 0) return x;
    return scales ? ag_add(x, ag_scale(scales, eps)) : ag_add_scalar(x, eps);
}

/* Returns the root of a mean of squares. Where that is 0, the root is infinite, so that what is
 * divided by it is 0. */
static Tensor *root_of(Tensor *mean, Tensor *is_zero)
{
    return ag_sqrt(ag_masked_fill(mean, is_zero, INFINITY));
}

/* Returns dn gamma + n dgamma + dbeta. */
static Tensor *scaled_and_moved(const Tensor *y, Tensor *n, Tensor *dn, Tensor *const *dx)
{
    Tensor *gamma = input_of(y, 1);
    Tensor *from_x = dn && gamma ? ag_mul(dn, gamma) : dn;
    Tensor *from_gamma = product_of(n, tangent_of_input(y, dx, 1));
    return spread_to(sum_of(sum_of(from_x, from_gamma), tangent_of_input(y, dx, 2)), y);
}

/* Uses dn = (dx - n mean(n dx)) / r. */
Tensor *rms_norm_tangent(Tensor *y, Tensor *const *dx)
{
    double eps = *(const double *)y->args;
    Tensor *n = ag_rms_norm(y->in[0], NULL, eps), *dn = NULL;
    if (dx[0]) {
        Tensor *scales = row_scales(y->in[0], sqrt(eps)), *x = times(y->in[0], scales);
        Tensor *mean = plus_eps(row_mean(ag_mul(x, x)), eps, scales ? ag_mul(scales, scales) : NULL);
        Tensor *r = root_of(mean, ag_compare_scalar(AG_EQ, mean, 0));
        dn = ag_div(ag_sub(dx[0], ag_mul(n, row_mean(ag_mul(n, dx[0])))), r);
        dn = times(dn, scales);
    }
    return scaled_and_moved(y, n, dn, dx);
}

/* Uses dn = (dx - mean dx) / r - n sum(n dx) / (count s), where the deviation r is s, or s + eps:
 * see AgNorm. The variance is that of var_dims, which is exact where the mean is large. Squares of
 * rows of large or small numbers are computed from scaled rows. */
static Tensor *normalized_tangent(Tensor *x, Tensor *n, Tensor *dx, AgNorm kind)
{
    double size = (double)x->shape.dim[x->shape.ndim - 1], count = kind.unbiased ? size - 1 : size;
    Tensor *scales = row_scales(x, kind.eps_inside ? sqrt(kind.eps) : kind.eps);
    Tensor *variance = ag_var_dims(times(x, scales), DIMS(-1), kind.unbiased, true);
    if (kind.eps_inside) {
        variance = plus_eps(variance, kind.eps, scales ? ag_mul(scales, scales) : NULL);
    }
    Tensor *is_zero = ag_compare_scalar(AG_EQ, variance, 0), *s = root_of(variance, is_zero);
    Tensor *r = s;
    if (!kind.eps_inside && kind.eps > 0) {
        r = plus_eps(ag_masked_fill(s, is_zero, 0), kind.eps, scales);
    }
    Tensor *moved = ag_div(ag_sub(dx, row_mean(dx)), r);
    Tensor *turned = ag_div(ag_mul(n, row_sum(ag_mul(n, dx))), ag_scale(s, count));
    return times(ag_sub(moved, turned), scales);
}

Tensor *layer_norm_tangent(Tensor *y, Tensor *const *dx)
{
    const AgNorm kind = *(const AgNorm *)y->args;
    Tensor *x = y->in[0], *n = NULL, *dn = NULL;
    if (dx[0] || dx[1]) {
        n = ag_layer_norm(x, NULL, NULL, kind);
    }
    if (dx[0]) {
        dn = normalized_tangent(x, n, dx[0], kind);
    }
    return scaled_and_moved(y, n, dn, dx);
}
