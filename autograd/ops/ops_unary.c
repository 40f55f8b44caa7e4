/* ops_unary.c: operations that compute each item of the result from one item of x: exp, tanh, ...
 * All of them have the same forward function, `unary`, and the same rule, unary_backward. They
 * differ in the kernel's number: exp is K_EXP in its entry in ops.def, and unary_functions.def has
 * the formulas of K_EXP. The loops are k_unary and k_unary_backward (plain/elementwise.c). */
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "op.h"
#include "ops/elementwise.h"
#include "ops/table.h"
#include "tape.h"
#include "tensor_struct.h"

/* ---- forward and backward -------------------------------------------------------------------- */

/* The numbers of an operation, for example the factor of scale. They are stored unless both are
 * 0. */
typedef struct { double p, q; } UnaryArgs;

static UnaryArgs args_of(const void *args)
{
    return args ? *(const UnaryArgs *)args : (UnaryArgs){ 0, 0 };
}

Tensor *unary(const char *what, const Op *op, Tensor *x, double p, double q)
{
    check_tensor(what, "x", x, AG_REAL);
    UnaryArgs args = { p, q };
    size_t size = p != 0 || q != 0 ? sizeof args : 0;
    return op_run(op, &x->shape, &x, 1, &args, size);
}

void unary_values(Tensor *y, const OpCall *c)
{
    UnaryArgs args = args_of(c->args);
    k_unary(c->op->kernel, y->numel, reals(y), reals(c->in[0]), args.p, args.q);
}

void unary_backward(Tensor *y)
{
    Tensor *x = y->in[0];
    UnaryArgs args = args_of(y->args);
    const real *vx = reals_if(x, y->op->needs & NEEDS_X0);
    const real *vy = reals_if(y, y->op->needs & NEEDS_Y);
    Grad g = grad_in_place(x, y);
    k_unary_backward(y->op->kernel, y->numel, g.data, grad_of(y), vx, vy, args.p, args.q, g.add);
}

/* ---- functions without numbers --------------------------------------------------------------- */

Tensor *ag_neg(Tensor *x) { return unary(__func__, &op_table[OP_neg], x, 0, 0); }
Tensor *ag_exp(Tensor *x) { return unary(__func__, &op_table[OP_exp], x, 0, 0); }
Tensor *ag_log(Tensor *x) { return unary(__func__, &op_table[OP_log], x, 0, 0); }
Tensor *ag_sqrt(Tensor *x) { return unary(__func__, &op_table[OP_sqrt], x, 0, 0); }
Tensor *ag_tanh(Tensor *x) { return unary(__func__, &op_table[OP_tanh], x, 0, 0); }
Tensor *ag_sigmoid(Tensor *x) { return unary(__func__, &op_table[OP_sigmoid], x, 0, 0); }
Tensor *ag_relu(Tensor *x) { return unary(__func__, &op_table[OP_relu], x, 0, 0); }
Tensor *ag_gelu(Tensor *x) { return unary(__func__, &op_table[OP_gelu], x, 0, 0); }
Tensor *ag_gelu_erf(Tensor *x) { return unary(__func__, &op_table[OP_gelu_erf], x, 0, 0); }
Tensor *ag_silu(Tensor *x) { return unary(__func__, &op_table[OP_silu], x, 0, 0); }

/* ---- functions with numbers ------------------------------------------------------------------ */

Tensor *ag_scale(Tensor *x, double factor)
{
    return unary(__func__, &op_table[OP_scale], x, factor, 0);
}

Tensor *ag_add_scalar(Tensor *x, double number)
{
    return unary(__func__, &op_table[OP_add_scalar], x, 1, number);
}

/* ---- a function chosen by number ------------------------------------------------------------- */

const Op *op_of_activation(AgActivation kind)
{
    static const int index[] = {
        [AG_RELU] = OP_relu, [AG_GELU] = OP_gelu, [AG_GELU_ERF] = OP_gelu_erf, [AG_TANH] = OP_tanh,
        [AG_SIGMOID] = OP_sigmoid, [AG_SILU] = OP_silu
    };
    return &op_table[index[kind]];
}

Tensor *ag_activate(AgActivation kind, Tensor *x)
{
    check_any(__func__, "x", x);
    if (kind == AG_IDENTITY) return x;
    if ((int)kind < AG_IDENTITY || kind > AG_SILU) {
        ag_usage_error(__func__, "%d is not an AgActivation", (int)kind);
    }
    const Op *op = op_of_activation(kind);
    return unary(op->function, op, x, 0, 0);
}
