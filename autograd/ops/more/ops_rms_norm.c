/* ops_rms_norm.c: the norm of rows by the root of the mean of squares. */
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "more_kernels.h"
#include "more_table.h"
#include "op.h"
#include "ops/rows.h"
#include "tape.h"
#include "tensor_struct.h"

/* ---- rms_norm: y = gamma x / r, r = sqrt(mean x^2 + eps); 1 / r is saved for the rule -------- */

void rms_norm_values(Tensor *y, const OpCall *c)
{
    const Tensor *x = c->in[0], *gamma = c->n > 1 ? c->in[1] : NULL;
    real *rstd = y->saved ? buffer_data(y->saved) : op_save(y, filled_rows(x));
    k_rms_norm(filled_rows(x), row_size(x), reals(y), rstd, reals(x),
               reals_if(gamma, gamma != NULL), *(const double *)c->args);
}

Tensor *ag_rms_norm(Tensor *x, Tensor *gamma, double eps)
{
    check_norm(__func__, x, gamma, NULL, eps);
    return op_run(&op_table[OP_rms_norm], &x->shape, (Tensor *[]){ x, gamma }, gamma ? 2 : 1, &eps,
                  sizeof eps);
}

void rms_norm_backward(Tensor *y)
{
    Tensor *x = y->in[0], *gamma = y->n_in > 1 ? y->in[1] : NULL;
    const real *rstd = buffer_data(y->saved);
    Grad gx = grad_into(x), ggamma = grad_into(gamma);
    k_rms_norm_backward(filled_rows(x), row_size(x), gx.data, gx.add, ggamma.data, ggamma.add,
                        grad_of(y), reals(x), rstd, reals_if(gamma, gamma != NULL));
}
