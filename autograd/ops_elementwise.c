/* ops_elementwise.c: operations that treat every entry alone.
 *
 * Each section gives the rule, the forward call, the backward rule and sample calls for the gradient check. The loops
 * themselves are k_unary and k_binary (kernels/reference.c has them in plain form). */
#include "tensor.h"

#include <string.h>

/* ---- two operands ------------------------------------------------------------------------------------------------ */

static Tensor *binary(Site at, int op, KBinary f, Tensor *a, Tensor *b)
{
    const char *name = op_table[op].name;
    check_tensor(at, name, "a", a, AG_REAL);
    check_tensor(at, name, "b", b, AG_REAL);
    Shape shape = shape_equal(a->shape, b->shape) ? a->shape : broadcast_shape(at, name, a, b);
    Tensor *y = op_new(at, op, &shape, a, b, NULL);
    KWalk walk = walk_over(&shape, &a->shape, &b->shape);
    k_binary(f, &walk, reals(y), reals(a), reals(b));
    return op_done(y);
}

/* The values that a kernel reads, as kernels.h tells; others may have been given back. */
static const real *if_read(const Tensor *t, bool is_read)
{
    return is_read ? reals(t) : NULL;
}

/* What the derivative by operand i is made of. */
static int binary_reads(KBinary f, int i)
{
    switch (f) {
    case K_ADD: case K_SUB: return NEEDS_NONE;
    case K_MUL: return i == 0 ? NEEDS_X1 : NEEDS_X0;
    case K_DIV: return i == 0 ? NEEDS_X1 : NEEDS_X0 + NEEDS_X1;
    case K_POW: return NEEDS_X0 + NEEDS_X1 + NEEDS_Y;
    default: return NEEDS_X0 + NEEDS_X1;
    }
}

/* The gradient of operand i: straight into place if it was not repeated, else by way of the full shape and a sum. */
static void binary_backward(Tensor *y, KBinary f, int i)
{
    Tensor *a = y->in[0], *b = y->in[1], *x = y->in[i];
    if (!x->wants_grad) return;
    KWalk walk = walk_over(&y->shape, &a->shape, &b->shape);
    int reads = binary_reads(f, i);
    const real *va = if_read(a, reads & NEEDS_X0), *vb = if_read(b, reads & NEEDS_X1), *vy = if_read(y, reads & NEEDS_Y);
    if (x->numel == y->numel) {
        Grad g = grad_into(x);
        k_binary_backward(f, i == 1, &walk, g.data, grad_of(y), va, vb, vy, g.add);
        return;
    }
    real *full = scratch_new(y->site, y->op->name, y->numel, sizeof(real));
    k_binary_backward(f, i == 1, &walk, full, grad_of(y), va, vb, vy, false);
    grad_sum_to(x, full, &y->shape);
}

/* Where the gradient of an operand is dy itself. */
static void pass_or_sum(Tensor *x, Tensor *y)
{
    if (x->numel == y->numel) grad_pass(x, y);
    else grad_sum_to(x, grad_of(y), &y->shape);
}

/* Shapes that try every way of broadcasting, for a sample of two operands; NULL when there are no more. */
static Tensor *two_operands(Sample *s, Tensor *in(Sample *, int, Shape), Tensor *op(Site, Tensor *, Tensor *))
{
    switch (s->number) {
    case 0: return op(AG_HERE, in(s, 0, SCALAR), in(s, 1, SCALAR));
    case 1: return op(AG_HERE, in(s, 0, SHAPE(7)), in(s, 1, SHAPE(7)));
    case 2: return op(AG_HERE, in(s, 0, SHAPE(3, 4)), in(s, 1, SHAPE(4)));
    case 3: return op(AG_HERE, in(s, 0, SHAPE(5)), in(s, 1, SHAPE(3, 5)));
    case 4: return op(AG_HERE, in(s, 0, SHAPE(3, 1)), in(s, 1, SHAPE(1, 4)));
    case 5: return op(AG_HERE, in(s, 0, SHAPE(2, 3, 5)), in(s, 1, SHAPE(3, 1)));
    case 6: return op(AG_HERE, in(s, 0, SHAPE(2, 1, 3, 1)), in(s, 1, SHAPE(4, 1, 5)));
    case 7: return op(AG_HERE, in(s, 0, SHAPE(3, 4)), in(s, 1, SCALAR));
    case 8: return op(AG_HERE, in(s, 0, SHAPE(0, 4)), in(s, 1, SHAPE(4)));
    case 9: return op(AG_HERE, in(s, 0, SHAPE(1)), in(s, 1, SHAPE(2, 1, 2, 1, 2, 1, 2, 1)));
    default: return NULL;
    }
}

/* Positive numbers, away from 0. */
static Tensor *positive(Sample *s, int i, Shape shape)
{
    return sample_range(s, i, shape, 0.3, 2.0);
}

/* add: y = a + b                                               da = dy                     db = dy                    */
Tensor *ag_add_at(Site at, Tensor *a, Tensor *b)
{
    return binary(at, OP_add, K_ADD, a, b);
}

void add_backward(Tensor *y)
{
    pass_or_sum(y->in[0], y);
    pass_or_sum(y->in[1], y);
}

Tensor *add_sample(Sample *s)
{
    return two_operands(s, sample_in, ag_add_at);
}

/* sub: y = a - b                                               da = dy                     db = -dy                   */
Tensor *ag_sub_at(Site at, Tensor *a, Tensor *b)
{
    return binary(at, OP_sub, K_SUB, a, b);
}

void sub_backward(Tensor *y)
{
    pass_or_sum(y->in[0], y);
    binary_backward(y, K_SUB, 1);
}

Tensor *sub_sample(Sample *s)
{
    return two_operands(s, sample_in, ag_sub_at);
}

/* mul: y = a b                                                 da = dy b                   db = dy a                  */
Tensor *ag_mul_at(Site at, Tensor *a, Tensor *b)
{
    return binary(at, OP_mul, K_MUL, a, b);
}

void mul_backward(Tensor *y)
{
    binary_backward(y, K_MUL, 0);
    binary_backward(y, K_MUL, 1);
}

Tensor *mul_sample(Sample *s)
{
    return two_operands(s, sample_in, ag_mul_at);
}

/* div: y = a / b                                               da = dy / b                 db = -dy a / b²            */
Tensor *ag_div_at(Site at, Tensor *a, Tensor *b)
{
    return binary(at, OP_div, K_DIV, a, b);
}

void div_backward(Tensor *y)
{
    binary_backward(y, K_DIV, 0);
    binary_backward(y, K_DIV, 1);
}

Tensor *div_sample(Sample *s)
{
    return two_operands(s, positive, ag_div_at);
}

/* pow: y = a^b                                                 da = dy b a^(b-1)           db = dy y ln a             */
Tensor *ag_pow_at(Site at, Tensor *a, Tensor *b)
{
    return binary(at, OP_pow, K_POW, a, b);
}

void pow_backward(Tensor *y)
{
    binary_backward(y, K_POW, 0);
    binary_backward(y, K_POW, 1);
}

Tensor *pow_sample(Sample *s)
{
    return two_operands(s, positive, ag_pow_at);
}

/* maximum: y = max(a, b)                                       dy goes to the larger, half to each at a tie           */
Tensor *ag_maximum_at(Site at, Tensor *a, Tensor *b)
{
    return binary(at, OP_maximum, K_MAX, a, b);
}

void maximum_backward(Tensor *y)
{
    binary_backward(y, K_MAX, 0);
    binary_backward(y, K_MAX, 1);
}

Tensor *maximum_sample(Sample *s)
{
    return two_operands(s, sample_apart, ag_maximum_at);
}

/* minimum: y = min(a, b)                                       dy goes to the smaller, half to each at a tie          */
Tensor *ag_minimum_at(Site at, Tensor *a, Tensor *b)
{
    return binary(at, OP_minimum, K_MIN, a, b);
}

void minimum_backward(Tensor *y)
{
    binary_backward(y, K_MIN, 0);
    binary_backward(y, K_MIN, 1);
}

Tensor *minimum_sample(Sample *s)
{
    return two_operands(s, sample_apart, ag_minimum_at);
}

/* ---- one operand ------------------------------------------------------------------------------------------------- */

typedef struct { double p, q; } UnaryArgs;

static Tensor *unary(Site at, int op, KUnary f, Tensor *x, double p, double q)
{
    check_tensor(at, op_table[op].name, "x", x, AG_REAL);
    Tensor *y = op_new(at, op, &x->shape, x, NULL, NULL);
    if (y->op && (p != 0 || q != 0)) *(UnaryArgs *)op_args(y, sizeof(UnaryArgs)) = (UnaryArgs){ p, q };
    k_unary(f, x->numel, reals(y), reals(x), p, q);
    return op_done(y);
}

static int unary_reads(KUnary f)
{
    switch (f) {
    case K_NEG: case K_SCALE: return NEEDS_NONE;
    case K_EXP: case K_SQRT: case K_TANH: case K_SIGMOID: case K_RELU: return NEEDS_Y;
    default: return NEEDS_X0;
    }
}

static void unary_backward(Tensor *y, KUnary f)
{
    Tensor *x = y->in[0];
    UnaryArgs args = y->args ? *(UnaryArgs *)y->args : (UnaryArgs){ 0, 0 };
    int reads = unary_reads(f);
    const real *vx = if_read(x, reads & NEEDS_X0), *vy = if_read(y, reads & NEEDS_Y);
    Grad g = grad_into(x);
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

/* neg: y = -x                                                  dx = -dy                                               */
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

/* scale: y = factor x + offset                                 dx = factor dy                                         */
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

/* power: y = x^p                                               dx = dy p x^(p-1)                                      */
Tensor *ag_power_at(Site at, Tensor *x, double exponent)
{
    return unary(at, OP_power, K_POWER, x, exponent, 0);
}

void power_backward(Tensor *y)
{
    unary_backward(y, K_POWER);
}

Tensor *power_sample(Sample *s)
{
    static const double exponents[] = { 2, 3, 0.5, -1, -0.5, 1, 1.7, -2 };
    if (s->number >= 8) return NULL;
    Shape shape = unary_shapes[s->number];
    return ag_power(s->number < 2 ? sample_in(s, 0, shape) : positive(s, 0, shape), exponents[s->number]);
}

/* exp: y = e^x                                                 dx = dy y                                              */
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

/* log: y = ln x                                                dx = dy / x                                            */
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
    return one_operand(s, positive, ag_log_at);
}

/* sqrt: y = square root of x                                   dx = dy / (2 y)                                        */
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
    return one_operand(s, positive, ag_sqrt_at);
}

/* abs: y = |x|                                                 dx = dy sign(x), 0 at 0                                */
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

/* clamp: y = x held within low..high                           dx = dy where low <= x <= high, else 0                 */
Tensor *ag_clamp_at(Site at, Tensor *x, double low, double high)
{
    if (!(low <= high)) ag_misuse(at, "clamp", "low %g is above high %g", low, high);
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

/* tanh: y = tanh x                                             dx = dy (1 - y²)                                       */
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

/* sigmoid: y = 1 / (1 + e^-x)                                  dx = dy y (1 - y)                                      */
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

/* relu: y = max(0, x)                                          dx = dy where x > 0, else 0                            */
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
 *       dx = dy ((1 + tanh u)/2 + x/2 (1 - tanh² u) u'), u' = sqrt(2/pi) (1 + 3 0.044715 x²)                          */
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

/* gelu_erf: y = x Phi(x), Phi(x) = (1 + erf(x / sqrt 2))/2     dx = dy (Phi(x) + x e^(-x²/2) / sqrt(2 pi))            */
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
