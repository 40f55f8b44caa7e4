/* tangents_items.c: tangent rules of operations that compute each item from one item or two: the
 * tangent of the input times the slope. */
#include <math.h>

#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "tangents.h"

static const double pi = 3.14159265358979323846;

/* Returns number i of the operation; without stored numbers, both are 0. */
static double own_number(const Tensor *y, int i)
{
    return y->args ? ((const double *)y->args)[i] : 0;
}

static Tensor *one_minus(Tensor *x)
{
    return ag_add_scalar(ag_neg(x), 1);
}

/* ---- two numbers ----------------------------------------------------------------------------- */

Tensor *add_tangent(Tensor *y, Tensor *const *dx)
{
    return spread_to(sum_of(dx[0], dx[1]), y);
}

Tensor *sub_tangent(Tensor *y, Tensor *const *dx)
{
    return spread_to(difference_of(dx[0], dx[1]), y);
}

Tensor *mul_tangent(Tensor *y, Tensor *const *dx)
{
    return sum_of(product_of(dx[0], y->in[1]), product_of(y->in[0], dx[1]));
}

/* Returns (da - a/b db) / b. */
Tensor *div_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *a = y->in[0], *b = y->in[1];
    Tensor *part = dx[1] ? ag_mul(ag_div(a, b), dx[1]) : NULL;
    return ag_div(difference_of(dx[0], part), b);
}

/* Returns b a^(b-1), of which the backward rule says that it is 0 where b is 0. So the power is a^0
 * there: a^-1 of a = 0 is infinite, and b times it NaN. If b varies, that holds where a is 0 alone,
 * because the slope by b is a^-1 elsewhere. */
static Tensor *power_slope(Tensor *a, Tensor *b)
{
    Tensor *size = b->requires_grad ? ag_add(ag_abs(a), ag_abs(b)) : b;
    Tensor *is_zero = ag_compare_scalar(AG_EQ, size, 0);
    return ag_mul(b, ag_pow(a, ag_where(is_zero, b, ag_add_scalar(b, -1))));
}

/* Returns b a^(b-1) da + y ln a db. Where a is 0 and b not negative, the slope by b is 0. */
Tensor *pow_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *a = y->in[0], *b = y->in[1], *from_a = NULL, *from_b = NULL;
    if (dx[0]) {
        from_a = ag_mul(dx[0], power_slope(a, b));
    }
    if (dx[1]) {
        Tensor *without_zeros = ag_masked_fill(a, ag_compare_scalar(AG_EQ, a, 0), 1);
        Tensor *base = ag_where(ag_compare_scalar(AG_GE, b, 0), without_zeros, a);
        from_b = ag_mul(dx[1], ag_mul(y, ag_log(base)));
    }
    return sum_of(from_a, from_b);
}

/* Returns da where a compares so with b, db where b does with a, and half of both where they are
 * equal. */
static Tensor *choice_tangent(Tensor *y, Tensor *const *dx, AgCompare comparison)
{
    Tensor *a = y->in[0], *b = y->in[1], *both = NULL;
    Tensor *half = ag_scale(ones_where(ag_compare(AG_EQ, a, b)), 0.5);
    for (int i = 0; i < 2; i++) {
        if (!dx[i]) continue;
        Tensor *chosen = ones_where(ag_compare(comparison, y->in[i], y->in[1 - i]));
        both = sum_of(both, ag_mul(ag_add(chosen, half), dx[i]));
    }
    return both;
}

Tensor *maximum_tangent(Tensor *y, Tensor *const *dx)
{
    return choice_tangent(y, dx, AG_GT);
}

Tensor *minimum_tangent(Tensor *y, Tensor *const *dx)
{
    return choice_tangent(y, dx, AG_LT);
}

/* ---- one number ------------------------------------------------------------------------------ */

Tensor *neg_tangent(Tensor *y, Tensor *const *dx)
{
    (void)y;
    return ag_neg(dx[0]);
}

Tensor *exp_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_mul(dx[0], y);
}

Tensor *log_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_div(dx[0], y->in[0]);
}

Tensor *sqrt_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_scale(ag_div(dx[0], y), 0.5);
}

Tensor *tanh_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_mul(dx[0], one_minus(ag_mul(y, y)));
}

Tensor *sigmoid_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_mul(dx[0], ag_mul(y, one_minus(y)));
}

Tensor *relu_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_masked_fill(dx[0], ag_not(ag_compare_scalar(AG_GT, y, 0)), 0);
}

Tensor *abs_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_mul(dx[0], ag_sign(y->in[0]));
}

/* Returns NULL: the slope is 0. */
Tensor *sign_tangent(Tensor *y, Tensor *const *dx)
{
    (void)y;
    (void)dx;
    return NULL;
}

Tensor *scale_tangent(Tensor *y, Tensor *const *dx)
{
    return scaled(dx[0], own_number(y, 0));
}

Tensor *add_scalar_tangent(Tensor *y, Tensor *const *dx)
{
    (void)y;
    return dx[0];
}

Tensor *sin_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_mul(dx[0], ag_cos(y->in[0]));
}

Tensor *cos_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_neg(ag_mul(dx[0], ag_sin(y->in[0])));
}

Tensor *erf_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *x = y->in[0];
    return ag_scale(ag_mul(dx[0], ag_exp(ag_neg(ag_mul(x, x)))), 2 / sqrt(pi));
}

Tensor *softplus_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_mul(dx[0], ag_sigmoid(y->in[0]));
}

Tensor *log_sigmoid_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_mul(dx[0], ag_sigmoid(ag_neg(y->in[0])));
}

/* Returns dx p x^(p-1). */
Tensor *pow_scalar_tangent(Tensor *y, Tensor *const *dx)
{
    double p = own_number(y, 0);
    if (p == 0) return NULL;
    if (p == 1) return dx[0];
    Tensor *x = y->in[0], *power = p == 2 ? x : ag_pow_scalar(x, p - 1);
    return ag_mul(dx[0], ag_scale(power, p));
}

Tensor *clamp_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *x = y->in[0];
    Tensor *above = ag_compare_scalar(AG_GE, x, own_number(y, 0));
    Tensor *below = ag_compare_scalar(AG_LE, x, own_number(y, 1));
    return ag_masked_fill(dx[0], ag_not(ag_and(above, below)), 0);
}

Tensor *leaky_relu_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *above = ag_compare_scalar(AG_GT, y->in[0], 0);
    return ag_where(above, dx[0], ag_scale(dx[0], own_number(y, 0)));
}

/* Returns dx where x > 0, else dx alpha e^x. The power is that of 0 where it is not used: it would
 * be infinite for a large x. */
Tensor *elu_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *x = y->in[0], *above = ag_compare_scalar(AG_GT, x, 0);
    Tensor *slope = ag_scale(ag_exp(ag_clamp(x, -INFINITY, 0)), own_number(y, 0));
    return ag_where(above, dx[0], ag_mul(dx[0], slope));
}

/* ---- smooth activations: the slope is 0 or 1 outside of -most..most, also at infinity -------- */

/* Returns (1 + t) / 2 + x/2 (1 - t^2) u', where u = sqrt(2/pi) (x + c x^3) and t = tanh u. */
Tensor *gelu_tangent(Tensor *y, Tensor *const *dx)
{
    const double s = sqrt(2 / pi), c = 0.044715, most = 40;
    Tensor *x = ag_clamp(y->in[0], -most, most), *square = ag_mul(x, x);
    Tensor *u = ag_mul(x, ag_add_scalar(ag_scale(square, s * c), s));
    Tensor *half_slope = ag_add_scalar(ag_scale(square, 3 * s * c / 2), s / 2);
    Tensor *t = ag_tanh(u);
    Tensor *slope = ag_mul(ag_mul(x, half_slope), one_minus(ag_mul(t, t)));
    return ag_mul(dx[0], ag_add(slope, ag_add_scalar(ag_scale(t, 0.5), 0.5)));
}

/* Returns Phi(x) + x phi(x). */
Tensor *gelu_erf_tangent(Tensor *y, Tensor *const *dx)
{
    const double most = 40;
    Tensor *x = ag_clamp(y->in[0], -most, most);
    Tensor *density = ag_exp(ag_scale(ag_mul(x, x), -0.5));
    Tensor *part = ag_scale(ag_mul(x, density), 1 / sqrt(2 * pi));
    Tensor *below = ag_add_scalar(ag_scale(ag_erf(ag_scale(x, sqrt(0.5))), 0.5), 0.5);
    return ag_mul(dx[0], ag_add(below, part));
}

/* Returns s (1 + x (1 - s)), where s is the sigmoid of x. */
Tensor *silu_tangent(Tensor *y, Tensor *const *dx)
{
    const double most = 800;
    Tensor *x = ag_clamp(y->in[0], -most, most), *s = ag_sigmoid(x);
    Tensor *slope = ag_mul(s, ag_add_scalar(ag_mul(x, one_minus(s)), 1));
    return ag_mul(dx[0], slope);
}

/* ---- masks, dropout -------------------------------------------------------------------------- */

/* Keeps the same items: the random numbers are those of y's seed and counter. */
Tensor *dropout_tangent(Tensor *y, Tensor *const *dx)
{
    return same_operation(y, dx);
}

Tensor *where_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *a = or_zeros(dx[1], AG_SCALAR), *b = or_zeros(dx[2], AG_SCALAR);
    return spread_to(ag_where(y->in[0], a, b), y);
}

Tensor *masked_fill_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_masked_fill(dx[0], y->in[1], 0);
}
