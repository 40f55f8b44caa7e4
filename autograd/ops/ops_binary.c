/* ops_binary.c: operations on two tensors, item by item, with broadcasting: add, sub, mul, div.
 * As in ops_unary.c, they share a forward function and a rule, and differ in the kernel's number.
 * An input that was broadcast gets the sum of its gradients: grad_broadcast (gradients.h) does this
 * part. The loops are k_binary and k_binary_backward (plain/elementwise.c). */
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "op.h"
#include "ops/elementwise.h"
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

Tensor *binary(const char *what, const Op *op, Tensor *a, Tensor *b)
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
    /* add has no use for the walk, which takes time for small tensors */
    if (f != K_ADD) {
        walk_over(&y->shape, &a->shape, &b->shape, &walk);
    }
    for (int i = 0; i < 2; i++) {
        Tensor *x = y->in[i];
        bool is_dy = f == K_ADD || (f == K_SUB && i == 0);
        if (is_dy) {
            grad_pass_broadcast(x, y);
            continue;
        }
        if (!x->requires_grad) continue;
        const real *va = reals_if(a, needs & NEEDS_X0);
        const real *vb = reals_if(b, needs & NEEDS_X1);
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
