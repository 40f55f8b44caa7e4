/* ops_binary.c: elementwise operations on two tensors, with broadcasting.
 *
 * All have the same code, so each is one line: the formulas, and a macro that defines the forward function, the backward rule
 * and the sample calls. The arithmetic is k_binary and k_binary_backward; kernels/reference/reference.c has them as plain
 * loops. */
#include "kaeru/autograd.h"
#include "kernels.h"
#include "ops/table.h"

static void binary_values(KBinary f, Tensor *y, const Tensor *a, const Tensor *b)
{
    KWalk walk = walk_over(&y->shape, &a->shape, &b->shape);
    k_binary(f, &walk, reals(y), reals(a), reals(b));
}

static Tensor *binary(AgSite at, int op, KBinary f, Tensor *a, Tensor *b)
{
    const char *name = op_table[op].name;
    check_tensor(at, name, "a", a, AG_REAL);
    check_tensor(at, name, "b", b, AG_REAL);
    AgShape shape = broadcast_shape(at, name, a, b);
    Tensor *y = op_new(at, op, &shape, a, b, NULL);
    binary_values(f, y, a, b);
    return op_done(y);
}

/* Which values the gradient of input i depends on. */
static int values_read(KBinary f, int i)
{
    switch (f) {
    case K_ADD: case K_SUB: return NEEDS_NONE;
    case K_MUL: return i == 0 ? NEEDS_X1 : NEEDS_X0;
    case K_DIV: return i == 0 ? NEEDS_X1 : NEEDS_X0 + NEEDS_X1;
    case K_POW: return NEEDS_X0 + NEEDS_X1 + NEEDS_Y;
    default: return NEEDS_X0 + NEEDS_X1;
    }
}

static void binary_backward(Tensor *y, KBinary f)
{
    Tensor *a = y->in[0], *b = y->in[1];
    KWalk walk = walk_over(&y->shape, &a->shape, &b->shape);
    for (int i = 0; i < 2; i++) {
        Tensor *x = y->in[i];
        if (f == K_ADD || (f == K_SUB && i == 0)) {                 /* dx = dy */
            grad_pass_broadcast(x, y);
            continue;
        }
        if (!x->requires_grad) continue;
        int reads = values_read(f, i);
        const real *va = reals_if(a, reads & NEEDS_X0), *vb = reals_if(b, reads & NEEDS_X1);
        const real *vy = reals_if(y, reads & NEEDS_Y);
        Grad g = grad_broadcast(x, y);
        k_binary_backward(f, i == 1, &walk, g.data, grad_of(y), va, vb, vy, g.add);
        grad_broadcast_done(x, y, g);
    }
}

/* Sample calls with shapes that broadcast in different ways. */
static Tensor *two_inputs(Sample *s, Tensor *in(Sample *, int, AgShape), Tensor *op(AgSite, Tensor *, Tensor *))
{
    switch (s->number) {
    case 0: return op(AG_HERE, in(s, 0, AG_SCALAR), in(s, 1, AG_SCALAR));
    case 1: return op(AG_HERE, in(s, 0, SHAPE(7)), in(s, 1, SHAPE(7)));
    case 2: return op(AG_HERE, in(s, 0, SHAPE(3, 4)), in(s, 1, SHAPE(4)));
    case 3: return op(AG_HERE, in(s, 0, SHAPE(5)), in(s, 1, SHAPE(3, 5)));
    case 4: return op(AG_HERE, in(s, 0, SHAPE(3, 1)), in(s, 1, SHAPE(1, 4)));
    case 5: return op(AG_HERE, in(s, 0, SHAPE(2, 3, 5)), in(s, 1, SHAPE(3, 1)));
    case 6: return op(AG_HERE, in(s, 0, SHAPE(2, 1, 3, 1)), in(s, 1, SHAPE(4, 1, 5)));
    case 7: return op(AG_HERE, in(s, 0, SHAPE(3, 4)), in(s, 1, AG_SCALAR));
    case 8: return op(AG_HERE, in(s, 0, SHAPE(0, 4)), in(s, 1, SHAPE(4)));
    case 9: return op(AG_HERE, in(s, 0, SHAPE(1)), in(s, 1, SHAPE(2, 1, 2, 1, 2, 1, 2, 1)));
    default: return NULL;
    }
}

#define BINARY(name, f, sample_inputs)                             \
    Tensor *ag_##name##_at(AgSite at, Tensor *a, Tensor *b)          \
    {                                                              \
        return binary(at, OP_##name, f, a, b);                     \
    }                                                              \
    void name##_backward(Tensor *y)                                \
    {                                                              \
        binary_backward(y, f);                                     \
    }                                                              \
    void name##_again(Tensor *y)                                   \
    {                                                              \
        binary_values(f, y, y->in[0], y->in[1]);                   \
    }                                                              \
    Tensor *name##_sample(Sample *s)                               \
    {                                                              \
        return two_inputs(s, sample_inputs, ag_##name##_at);       \
    }

BINARY(add,     K_ADD, sample_in)               /* y = a + b        da = dy             db = dy */
BINARY(sub,     K_SUB, sample_in)               /* y = a - b        da = dy             db = -dy */
BINARY(mul,     K_MUL, sample_in)               /* y = a b          da = dy b           db = dy a */
BINARY(div,     K_DIV, sample_positive)         /* y = a / b        da = dy / b         db = -dy a / b² */
BINARY(pow,     K_POW, sample_positive)         /* y = a^b          da = dy b a^(b-1)   db = dy y ln a */
BINARY(maximum, K_MAX, sample_apart)            /* y = max(a, b)    dy goes to the larger, half to each at a tie */
BINARY(minimum, K_MIN, sample_apart)            /* y = min(a, b)    dy goes to the smaller, half to each at a tie */
