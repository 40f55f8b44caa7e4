/* ops_rope.c: rotary positions. */
#include <math.h>

#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "op.h"
#include "more_table.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* ---- rope: pairs turned by position times frequency          dx = dy turned back --------------------------------- */

/* Frequencies and angles are rounded to float, in the double build too, as in the library `transformers`: models were trained
 * with these angles. Exact ones differ by up to 1e-3 at position 8191, and logits by 2e-3. */
Tensor *ag_rope_frequencies(int64_t width, double base)
{
    if (width < 2 || width % 2 != 0 || !(base > 0 && base < INFINITY))
        ag_usage_error(__func__, "width %lld and base %g, expected an even width and a base above 0", (long long)width, base);
    Tensor *y = tensor_new(__func__, &SHAPE(width / 2), AG_REAL);
    for (int64_t i = 0; i < width / 2; i++)
        reals(y)[i] = (real)(1 / (float)ag_math_pow(base, (double)((float)(2 * i) / (float)width)));
    return y;
}

Tensor *ag_rope_table(Tensor *frequencies, int64_t start, int64_t count)
{
    check_tensor(__func__, "frequencies", frequencies, AG_REAL);
    if (frequencies->shape.ndim != 1 || start < 0 || count < 0 || start > INT64_MAX - count)
        ag_usage_error(__func__, "frequencies %s, %lld positions from %lld on: expected (K/2), and 0 or more of both",
                       shape_text(frequencies->shape), (long long)count, (long long)start);
    int64_t n = frequencies->numel;
    Tensor *y = tensor_new(__func__, &SHAPE(count, 2 * n), AG_REAL);
    for (int64_t p = 0; n > 0 && p < count; p++)
        for (int64_t i = 0; i < n; i++) {
            double angle = (double)((float)(start + p) * (float)reals(frequencies)[i]);
            reals(y)[p * 2 * n + i] = (real)ag_math_cos(angle);
            reals(y)[p * 2 * n + n + i] = (real)ag_math_sin(angle);
        }
    return y;
}

typedef struct { int heads; bool adjacent; } RopeArgs;

static KRope rope_shape(const Tensor *x, const Tensor *table, RopeArgs args, bool back, bool add)
{
    return (KRope){ row_count(x), args.heads, table->shape.dim[1] / 2, x->shape.dim[1], args.adjacent, back, add };
}

Tensor *ag_rope(Tensor *x, Tensor *table, int heads, bool adjacent)
{
    check_tensor(__func__, "x", x, AG_REAL);
    check_tensor(__func__, "table", table, AG_REAL);
    if (x->shape.ndim != 3 || table->shape.ndim != 2 || heads < 1 || table->shape.dim[1] % 2 != 0 ||
        x->shape.dim[1] != table->shape.dim[0] || x->shape.dim[2] != heads * table->shape.dim[1])
        ag_usage_error(__func__, "x %s, table %s and %d heads do not fit: expected (B,T,D) and (T,D/heads)",
                       shape_text(x->shape), shape_text(table->shape), heads);
    if (table->requires_grad) ag_usage_error(__func__, "the table requires a gradient, and rope computes none for it");
    return op_run(&op_table[OP_rope], &x->shape, (Tensor *[]){ x, table }, 2, &(RopeArgs){ heads, adjacent }, sizeof(RopeArgs));
}

void rope_values(Tensor *y, const OpCall *c)
{
    KRope shape = rope_shape(y, c->in[1], *(const RopeArgs *)c->args, false, false);
    k_rope(&shape, reals(y), reals(c->in[0]), reals(c->in[1]));
}

void rope_backward(Tensor *y)
{
    Tensor *x = y->in[0], *table = y->in[1];
    Grad g = grad_into(x);
    KRope shape = rope_shape(y, table, *(RopeArgs *)y->args, true, g.add);
    k_rope(&shape, g.data, grad_of(y), reals(table));
}
