/* ops_binary.c: elementwise operations on two tensors, with broadcasting. The arithmetic is k_binary and k_binary_backward;
 * plain/elementwise.c has them as plain loops. */
#include "channels.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "observe.h"
#include "op.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

void binary_values(Tensor *y, const OpCall *c)
{
    KWalk walk;
    walk_over(&y->shape, &c->in[0]->shape, &c->in[1]->shape, &walk);
    k_binary((KBinary)c->op->kernel, &walk, reals(y), reals(c->in[0]), reals(c->in[1]));
}

static Tensor *binary(const char *what, const Op *op, Tensor *a, Tensor *b)
{
    check_tensor(what, "a", a, AG_REAL);
    check_tensor(what, "b", b, AG_REAL);
    AgShape shape = broadcast_shape(what, a, b);
    return op_run(op, &shape, (Tensor *[]){ a, b }, 2, NULL, 0);
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

Tensor *ag_add(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_add], a, b); }
Tensor *ag_sub(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_sub], a, b); }
Tensor *ag_mul(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_mul], a, b); }
Tensor *ag_div(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_div], a, b); }
Tensor *ag_pow(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_pow], a, b); }
Tensor *ag_maximum(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_maximum], a, b); }
Tensor *ag_minimum(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_minimum], a, b); }

/* ---- (x - mean) factor + beta: three nodes, one pass ------------------------------------------------------------- */

Tensor *channels_normalized(Tensor *x, Tensor *mean, Tensor *factor, Tensor *beta)
{
    const int64_t channels = x->shape.dim[1];
    bool fit = mean->numel == channels && factor->numel == channels && beta->numel == channels;
    if (!fit || (observers_need & NO_FUSION))           /* which needs x - mean and the product */
        return ag_add(ag_mul(ag_sub(x, mean), factor), beta);
    check_tensor("ag_sub", "a", x, AG_REAL);
    check_tensor("ag_sub", "b", mean, AG_REAL);
    check_tensor("ag_mul", "b", factor, AG_REAL);
    check_tensor("ag_add", "b", beta, AG_REAL);
    Tensor *deviation = op_new(&op_table[OP_sub], &x->shape, x, mean, NULL);
    bool store = ag_recording() && (deviation->op || factor->requires_grad);        /* the rule of mul reads it */
    Tensor *product = store ? op_new(&op_table[OP_mul], &x->shape, deviation, factor, NULL)
                            : op_new_in_place(&op_table[OP_mul], deviation, factor);
    Tensor *y = op_new_in_place(&op_table[OP_add], product, beta);
    Along a = shape_along(&x->shape, 1, 1);
    k_normalize(a.outer, a.n, a.inner, reals(y), store ? reals(deviation) : NULL, reals(x), reals(mean), reals(factor),
                reals(beta));
    op_done(deviation);
    op_done(product);
    return op_done(y);
}
