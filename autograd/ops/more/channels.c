/* channels.c: what batch norm computes in one pass. */
#include "channels.h"
#include "checks.h"
#include "kaeru/autograd.h"
#include "more_kernels.h"
#include "more_table.h"
#include "observe.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

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
