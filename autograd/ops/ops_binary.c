/* ops_binary.c: operations that treat two numbers alone, entry by entry, with broadcasting.
 *
 * Each section gives the rule, the forward call, the backward rule and sample calls for the gradient check. The loops
 * themselves are k_binary (kernels/reference/reference.c has them in plain form). */
#include "internal.h"

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
    if (!x->requires_grad) return;
    KWalk walk = walk_over(&y->shape, &a->shape, &b->shape);
    int reads = binary_reads(f, i);
    const real *va = reals_if(a, reads & NEEDS_X0), *vb = reals_if(b, reads & NEEDS_X1);
    const real *vy = reals_if(y, reads & NEEDS_Y);
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

/* add: y = a + b                                               da = dy                     db = dy                   */
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

/* sub: y = a - b                                               da = dy                     db = -dy                  */
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

/* mul: y = a b                                                 da = dy b                   db = dy a                 */
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

/* div: y = a / b                                               da = dy / b                 db = -dy a / b²           */
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
    return two_operands(s, sample_positive, ag_div_at);
}

/* pow: y = a^b                                                 da = dy b a^(b-1)           db = dy y ln a            */
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
    return two_operands(s, sample_positive, ag_pow_at);
}

/* maximum: y = max(a, b)                                       dy goes to the larger, half to each at a tie          */
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

/* minimum: y = min(a, b)                                       dy goes to the smaller, half to each at a tie         */
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
