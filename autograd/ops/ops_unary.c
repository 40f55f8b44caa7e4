/* ops_unary.c: operations that compute each item from one item and from numbers.
 *
 * Each section has the formulas, the forward call, the backward rule and sample calls for the gradient check. The loops are
 * k_unary and k_unary_backward (kernels/unary.c); kernels/unary_functions.def has the same formulas in C. */
#include "kaeru/autograd.h"
#include "kernels.h"
#include "ops/table.h"

/* An operation's numbers, for its backward rule. */
typedef struct { double p, q; } UnaryArgs;

static Tensor *unary(AgSite at, int op, KUnary f, Tensor *x, double p, double q)
{
    check_tensor(at, op_table[op].name, "x", x, AG_REAL);
    Tensor *y = op_new(at, op, &x->shape, x, NULL, NULL);
    if (y->op && (p != 0 || q != 0)) *(UnaryArgs *)op_args(y, sizeof(UnaryArgs)) = (UnaryArgs){ p, q };
    k_unary(f, x->numel, reals(y), reals(x), p, q);
    return op_done(y);
}

static void unary_backward(Tensor *y, KUnary f)
{
    Tensor *x = y->in[0];
    UnaryArgs args = y->args ? *(UnaryArgs *)y->args : (UnaryArgs){ 0, 0 };
    const real *vx = reals_if(x, k_unary_reads(f) == K_READS_X), *vy = reals_if(y, k_unary_reads(f) == K_READS_Y);
    Grad g = grad_in_place(x, y);
    k_unary_backward(f, y->numel, g.data, grad_of(y), vx, vy, args.p, args.q, g.add);
}

static void unary_again(Tensor *y, KUnary f)
{
    UnaryArgs args = y->args ? *(UnaryArgs *)y->args : (UnaryArgs){ 0, 0 };
    k_unary(f, y->numel, reals(y), reals(y->in[0]), args.p, args.q);
}

static const AgShape sample_shapes[] = {
    { 0, { 0 } }, { 1, { 1 } }, { 1, { 7 } }, { 2, { 3, 5 } }, { 2, { 1, 17 } },
    { 3, { 2, 3, 4 } }, { 2, { 0, 3 } }, { 8, { 1, 2, 1, 2, 1, 2, 1, 3 } }, { 1, { 67 } },
};

static Tensor *unary_sample(Sample *s, Tensor *in(Sample *, int, AgShape), Tensor *op(AgSite, Tensor *))
{
    if (s->number >= (int)(sizeof sample_shapes / sizeof *sample_shapes)) return NULL;
    return op(AG_HERE, in(s, 0, sample_shapes[s->number]));
}

/* ---- functions without numbers ----------------------------------------------------------------------------------- */

/* `in` makes the input of a sample call: sample_positive for functions defined there only, sample_apart for those whose
 * derivative jumps. */
#define UNARY_OP(name, f, in)                               \
    Tensor *ag_##name##_at(AgSite at, Tensor *x)              \
    {                                                       \
        return unary(at, OP_##name, f, x, 0, 0);            \
    }                                                       \
    void name##_backward(Tensor *y)                         \
    {                                                       \
        unary_backward(y, f);                               \
    }                                                       \
    void name##_again(Tensor *y)                            \
    {                                                       \
        unary_again(y, f);                                  \
    }                                                       \
    Tensor *name##_sample(Sample *s)                        \
    {                                                       \
        return unary_sample(s, in, ag_##name##_at);         \
    }

/* In the formulas of GELU: u = sqrt(2/pi) (x + 0.044715 x³), u' = sqrt(2/pi) (1 + 3 0.044715 x²); Phi is the normal
 * distribution and phi its density. */
/*                                                 y                     dx                                          */
UNARY_OP(neg,      K_NEG,      sample_in)       /* -x                    -dy                                         */
UNARY_OP(exp,      K_EXP,      sample_in)       /* e^x                   dy y                                        */
UNARY_OP(log,      K_LOG,      sample_positive) /* ln x                  dy / x                                      */
UNARY_OP(sqrt,     K_SQRT,     sample_positive) /* square root of x      dy / (2 y)                                  */
UNARY_OP(abs,      K_ABS,      sample_apart)    /* |x|                   dy sign(x), 0 at 0                          */
UNARY_OP(tanh,     K_TANH,     sample_in)       /* tanh x                dy (1 - y²)                                 */
UNARY_OP(sigmoid,  K_SIGMOID,  sample_in)       /* 1 / (1 + e^-x)        dy y (1 - y)                                */
UNARY_OP(relu,     K_RELU,     sample_apart)    /* max(0, x)             dy where x > 0, else 0                      */
UNARY_OP(gelu,     K_GELU,     sample_in)       /* x/2 (1 + tanh u)      dy ((1 + tanh u)/2 + x/2 (1 - tanh² u) u')  */
UNARY_OP(gelu_erf, K_GELU_ERF, sample_in)       /* x Phi(x)              dy (Phi(x) + x phi(x))                      */
UNARY_OP(silu,     K_SILU,     sample_in)       /* x s, s = sigmoid x    dy s (1 + x (1 - s))                        */
UNARY_OP(softplus, K_SOFTPLUS, sample_in)       /* ln(1 + e^x)           dy sigmoid x                                */
UNARY_OP(erf,      K_ERF,      sample_in)       /* erf x                 dy 2 / sqrt(pi) e^(-x²)                     */
UNARY_OP(sin,      K_SIN,      sample_in)       /* sin x                 dy cos x                                    */
UNARY_OP(cos,      K_COS,      sample_in)       /* cos x                 -dy sin x                                   */
UNARY_OP(sign,     K_SIGN,     sample_apart)    /* -1, 0 or 1            0                                           */

/* ---- scale: y = factor x                                     dx = factor dy -------------------------------------- */

Tensor *ag_scale_at(AgSite at, Tensor *x, double factor)
{
    return unary(at, OP_scale, K_SCALE, x, factor, 0);
}

void scale_backward(Tensor *y)
{
    unary_backward(y, K_SCALE);
}

void scale_again(Tensor *y)
{
    unary_again(y, K_SCALE);
}

static Tensor *scale_some(AgSite at, Tensor *x)
{
    return ag_scale_at(at, x, -1.5);
}

Tensor *scale_sample(Sample *s)
{
    return unary_sample(s, sample_in, scale_some);
}

/* ---- pow_scalar: y = x^exponent                              dx = dy exponent x^(exponent - 1) ------------------- */

Tensor *ag_pow_scalar_at(AgSite at, Tensor *x, double exponent)
{
    return unary(at, OP_pow_scalar, K_POW_SCALAR, x, exponent, 0);
}

void pow_scalar_backward(Tensor *y)
{
    unary_backward(y, K_POW_SCALAR);
}

void pow_scalar_again(Tensor *y)
{
    unary_again(y, K_POW_SCALAR);
}

Tensor *pow_scalar_sample(Sample *s)
{
    static const double exponents[] = { 2, 3, 0.5, -1, -0.5, 1, 1.7, -2 };
    if (s->number >= 8) return NULL;
    AgShape shape = sample_shapes[s->number];
    return ag_pow_scalar(s->number < 2 ? sample_in(s, 0, shape) : sample_positive(s, 0, shape), exponents[s->number]);
}

/* ---- clamp: y = x limited to low..high                       dx = dy where low <= x <= high, else 0 -------------- */

Tensor *ag_clamp_at(AgSite at, Tensor *x, double low, double high)
{
    if (!(low <= high)) ag_usage_error(at, "clamp", "low %g is above high %g", low, high);
    return unary(at, OP_clamp, K_CLAMP, x, low, high);
}

void clamp_backward(Tensor *y)
{
    unary_backward(y, K_CLAMP);
}

void clamp_again(Tensor *y)
{
    unary_again(y, K_CLAMP);
}

static Tensor *clamp_some(AgSite at, Tensor *x)
{
    return ag_clamp_at(at, x, -0.42, 0.73);
}

Tensor *clamp_sample(Sample *s)
{
    return unary_sample(s, sample_apart, clamp_some);
}
