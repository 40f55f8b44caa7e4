/* ops_unary.c: operations that treat every entry alone.
 *
 * Each section gives the rule, the forward call, the backward rule and sample calls for the gradient check. The loops
 * themselves are k_unary (kernels/reference/reference.c has them in plain form). */
#include "internal.h"

typedef struct { double p, q; } UnaryArgs;

static Tensor *unary(Site at, int op, KUnary f, Tensor *x, double p, double q)
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

/* Shapes for a sample of one operand. */
static const Shape unary_shapes[] = {
    { 0, { 0 } }, { 1, { 1 } }, { 1, { 7 } }, { 2, { 3, 5 } }, { 2, { 1, 17 } },
    { 3, { 2, 3, 4 } }, { 2, { 0, 3 } }, { 8, { 1, 2, 1, 2, 1, 2, 1, 3 } }, { 1, { 67 } },
};

static Tensor *one_operand(Sample *s, Tensor *in(Sample *, int, Shape), Tensor *op(Site, Tensor *))
{
    if (s->number >= (int)(sizeof unary_shapes / sizeof *unary_shapes)) return NULL;
    return op(AG_HERE, in(s, 0, unary_shapes[s->number]));
}

/* neg: y = -x                                                  dx = -dy                                              */
Tensor *ag_neg_at(Site at, Tensor *x)
{
    return unary(at, OP_neg, K_NEG, x, 0, 0);
}

void neg_backward(Tensor *y)
{
    unary_backward(y, K_NEG);
}

Tensor *neg_sample(Sample *s)
{
    return one_operand(s, sample_in, ag_neg_at);
}

/* scale: y = factor x + offset                                 dx = factor dy                                        */
Tensor *ag_scale_at(Site at, Tensor *x, double factor, double offset)
{
    return unary(at, OP_scale, K_SCALE, x, factor, offset);
}

void scale_backward(Tensor *y)
{
    unary_backward(y, K_SCALE);
}

static Tensor *scale_some(Site at, Tensor *x)
{
    return ag_scale_at(at, x, -1.5, 0.25);
}

Tensor *scale_sample(Sample *s)
{
    return one_operand(s, sample_in, scale_some);
}

/* power: y = x^p                                               dx = dy p x^(p-1)                                     */
Tensor *ag_pow_scalar_at(Site at, Tensor *x, double exponent)
{
    return unary(at, OP_pow_scalar, K_POW_SCALAR, x, exponent, 0);
}

void pow_scalar_backward(Tensor *y)
{
    unary_backward(y, K_POW_SCALAR);
}

Tensor *pow_scalar_sample(Sample *s)
{
    static const double exponents[] = { 2, 3, 0.5, -1, -0.5, 1, 1.7, -2 };
    if (s->number >= 8) return NULL;
    Shape shape = unary_shapes[s->number];
    return ag_pow_scalar(s->number < 2 ? sample_in(s, 0, shape) : sample_positive(s, 0, shape), exponents[s->number]);
}

/* exp: y = e^x                                                 dx = dy y                                             */
Tensor *ag_exp_at(Site at, Tensor *x)
{
    return unary(at, OP_exp, K_EXP, x, 0, 0);
}

void exp_backward(Tensor *y)
{
    unary_backward(y, K_EXP);
}

Tensor *exp_sample(Sample *s)
{
    return one_operand(s, sample_in, ag_exp_at);
}

/* log: y = ln x                                                dx = dy / x                                           */
Tensor *ag_log_at(Site at, Tensor *x)
{
    return unary(at, OP_log, K_LOG, x, 0, 0);
}

void log_backward(Tensor *y)
{
    unary_backward(y, K_LOG);
}

Tensor *log_sample(Sample *s)
{
    return one_operand(s, sample_positive, ag_log_at);
}

/* sqrt: y = square root of x                                   dx = dy / (2 y)                                       */
Tensor *ag_sqrt_at(Site at, Tensor *x)
{
    return unary(at, OP_sqrt, K_SQRT, x, 0, 0);
}

void sqrt_backward(Tensor *y)
{
    unary_backward(y, K_SQRT);
}

Tensor *sqrt_sample(Sample *s)
{
    return one_operand(s, sample_positive, ag_sqrt_at);
}

/* abs: y = |x|                                                 dx = dy sign(x), 0 at 0                               */
Tensor *ag_abs_at(Site at, Tensor *x)
{
    return unary(at, OP_abs, K_ABS, x, 0, 0);
}

void abs_backward(Tensor *y)
{
    unary_backward(y, K_ABS);
}

Tensor *abs_sample(Sample *s)
{
    return one_operand(s, sample_apart, ag_abs_at);
}

/* clamp: y = x held within low..high                           dx = dy where low <= x <= high, else 0                */
Tensor *ag_clamp_at(Site at, Tensor *x, double low, double high)
{
    if (!(low <= high)) ag_usage_error(at, "clamp", "low %g is above high %g", low, high);
    return unary(at, OP_clamp, K_CLAMP, x, low, high);
}

void clamp_backward(Tensor *y)
{
    unary_backward(y, K_CLAMP);
}

static Tensor *clamp_some(Site at, Tensor *x)
{
    return ag_clamp_at(at, x, -0.42, 0.73);
}

Tensor *clamp_sample(Sample *s)
{
    return one_operand(s, sample_apart, clamp_some);
}

/* tanh: y = tanh x                                             dx = dy (1 - y²)                                      */
Tensor *ag_tanh_at(Site at, Tensor *x)
{
    return unary(at, OP_tanh, K_TANH, x, 0, 0);
}

void tanh_backward(Tensor *y)
{
    unary_backward(y, K_TANH);
}

Tensor *tanh_sample(Sample *s)
{
    return one_operand(s, sample_in, ag_tanh_at);
}

/* sigmoid: y = 1 / (1 + e^-x)                                  dx = dy y (1 - y)                                     */
Tensor *ag_sigmoid_at(Site at, Tensor *x)
{
    return unary(at, OP_sigmoid, K_SIGMOID, x, 0, 0);
}

void sigmoid_backward(Tensor *y)
{
    unary_backward(y, K_SIGMOID);
}

Tensor *sigmoid_sample(Sample *s)
{
    return one_operand(s, sample_in, ag_sigmoid_at);
}

/* relu: y = max(0, x)                                          dx = dy where x > 0, else 0                           */
Tensor *ag_relu_at(Site at, Tensor *x)
{
    return unary(at, OP_relu, K_RELU, x, 0, 0);
}

void relu_backward(Tensor *y)
{
    unary_backward(y, K_RELU);
}

Tensor *relu_sample(Sample *s)
{
    return one_operand(s, sample_apart, ag_relu_at);
}

/* gelu: y = x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x³)
 *       dx = dy ((1 + tanh u)/2 + x/2 (1 - tanh² u) u'), u' = sqrt(2/pi) (1 + 3 0.044715 x²)                         */
Tensor *ag_gelu_at(Site at, Tensor *x)
{
    return unary(at, OP_gelu, K_GELU, x, 0, 0);
}

void gelu_backward(Tensor *y)
{
    unary_backward(y, K_GELU);
}

Tensor *gelu_sample(Sample *s)
{
    return one_operand(s, sample_in, ag_gelu_at);
}

/* gelu_erf: y = x Phi(x), Phi(x) = (1 + erf(x / sqrt 2))/2     dx = dy (Phi(x) + x e^(-x²/2) / sqrt(2 pi))           */
Tensor *ag_gelu_erf_at(Site at, Tensor *x)
{
    return unary(at, OP_gelu_erf, K_GELU_ERF, x, 0, 0);
}

void gelu_erf_backward(Tensor *y)
{
    unary_backward(y, K_GELU_ERF);
}

Tensor *gelu_erf_sample(Sample *s)
{
    return one_operand(s, sample_in, ag_gelu_erf_at);
}
