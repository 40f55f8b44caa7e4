/* ops_dropout.c: dropout: each item is 0 with probability p, and divided by 1-p otherwise, so that
 * the expected value stays the same (Srivastava et al. 2014, in the inverted form, which needs no
 * scaling in evaluation). */
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "observe.h"
#include "op.h"
#include "ops/table.h"
#include "random.h"
#include "tape.h"
#include "tensor_struct.h"

/* ---- dropout: y = x / (1-p) with probability 1-p, else 0   dx = dy / (1-p) where kept, else 0 ---
 * Which items are kept is not stored: the random numbers are a function of a seed and a counter, so
 * the rule computes the same ones again. */

typedef struct { double p; AgRandom random; } DropoutArgs;

Tensor *ag_dropout(Tensor *x, double p)
{
    check_tensor(__func__, "x", x, AG_REAL);
    if (!(p >= 0 && p < 1)) {
        ag_usage_error(__func__, "p is %g, expected 0 <= p < 1", p);
    }
    /* a block has four random numbers */
    DropoutArgs args = { p, random_blocks(((uint64_t)x->numel + 3) / 4) };
    Tensor *y = op_run(&op_table[OP_dropout], &x->shape, &x, 1, &args, sizeof args);
    notify(DROPPED, y);
    return y;
}

void dropout_values(Tensor *y, const OpCall *c)
{
    const DropoutArgs *args = c->args;
    k_dropout(y->numel, reals(y), reals(c->in[0]), args->p, args->random.seed, args->random.counter,
              false);
}

void dropout_backward(Tensor *y)
{
    DropoutArgs *args = y->args;
    Grad g = grad_in_place(y->in[0], y);
    k_dropout(y->numel, g.data, grad_of(y), args->p, args->random.seed, args->random.counter,
              g.add);
}
