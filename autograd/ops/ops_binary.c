/* ops_binary.c: elementwise operations on two tensors, with broadcasting. The arithmetic is k_binary and k_binary_backward;
 * kernels/reference/reference.c has them as plain loops. */
#include "kaeru/autograd.h"
#include "ops/table.h"

void binary_values(Tensor *y, const OpCall *c)
{
    KWalk walk;
    walk_over(&y->shape, &c->in[0]->shape, &c->in[1]->shape, &walk);
    k_binary((KBinary)c->op->kernel, &walk, reals(y), reals(c->in[0]), reals(c->in[1]));
}

static Tensor *binary(AgSite at, const char *what, int op, Tensor *a, Tensor *b)
{
    check_tensor(at, what, "a", a, AG_REAL);
    check_tensor(at, what, "b", b, AG_REAL);
    AgShape shape = broadcast_shape(at, what, a, b);
    return op_run(at, op, &shape, (Tensor *[]){ a, b }, 2, NULL, 0);
}

void binary_backward(Tensor *y)
{
    KBinary f = (KBinary)y->op->kernel;
    Tensor *a = y->in[0], *b = y->in[1];
    const int needs = y->op->needs;
    KWalk walk;
    if (f != K_ADD) walk_over(&y->shape, &a->shape, &b->shape, &walk);
    for (int i = 0; i < 2; i++) {
        Tensor *x = y->in[i];
        if (f == K_ADD || (f == K_SUB && i == 0)) {                 /* dx = dy */
            grad_pass_broadcast(x, y);
            continue;
        }
        if (!x->requires_grad) continue;
        const real *va = reals_if(a, needs & NEEDS_X0), *vb = reals_if(b, needs & NEEDS_X1);
        const real *vy = reals_if(y, needs & NEEDS_Y);
        Grad g = grad_broadcast(x, y);
        k_binary_backward(f, i == 1, &walk, g.data, grad_of(y), va, vb, vy, g.add);
        grad_broadcast_done(x, y, g);
    }
}

#define OP(...)
#define UNARY_OP(...)
#define BINARY_OP(name, ...)                                    \
    Tensor *ag_##name##_at(AgSite at, Tensor *a, Tensor *b)     \
    {                                                           \
        return binary(at, __func__, OP_##name, a, b);           \
    }
#include "ops/ops.def"
