/* ops_unary.c: operations that compute each item from one item and from numbers. The loops are k_unary and k_unary_backward
 * (kernels/unary.c). */
#include "kaeru/autograd.h"
#include "ops/table.h"

/* An operation's numbers, for its backward rule. */
typedef struct { double p, q; } UnaryArgs;
static UnaryArgs args_of(const void *args) { return args ? *(const UnaryArgs *)args : (UnaryArgs){ 0, 0 }; }

static Tensor *unary(const char *what, int op, Tensor *x, double p, double q)
{
    check_tensor(what, "x", x, AG_REAL);
    return op_run(op, &x->shape, &x, 1, &(UnaryArgs){ p, q }, p != 0 || q != 0 ? sizeof(UnaryArgs) : 0);
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
    const real *vx = reals_if(x, y->op->needs & NEEDS_X0), *vy = reals_if(y, y->op->needs & NEEDS_Y);
    Grad g = grad_in_place(x, y);
    k_unary_backward(y->op->kernel, y->numel, g.data, grad_of(y), vx, vy, args.p, args.q, g.add);
}

/* The functions without numbers. */
#define OP(...)
#define BINARY_OP(...)
#define UNARY_OP(name, ...)                                 \
    Tensor *ag_##name(Tensor *x)            \
    {                                                       \
        return unary(__func__, OP_##name, x, 0, 0);     \
    }
#include "ops/ops.def"

/* Those with one number. */
#define WITH_NUMBER(name, p, q)                                 \
    Tensor *ag_##name(Tensor *x, double number) \
    {                                                           \
        return unary(__func__, OP_##name, x, p, q);         \
    }
WITH_NUMBER(scale, number, 0)
WITH_NUMBER(add_scalar, 1, number)
WITH_NUMBER(pow_scalar, number, 0)
WITH_NUMBER(leaky_relu, number, 0)
WITH_NUMBER(elu, number, 0)

Tensor *ag_clamp(Tensor *x, double low, double high)
{
    if (!(low <= high)) ag_usage_error(__func__, "low %g is above high %g", low, high);
    return unary(__func__, OP_clamp, x, low, high);
}
