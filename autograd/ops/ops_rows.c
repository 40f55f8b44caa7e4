/* ops_rows.c: operations on rows, which are the items along the last dimension: softmax,
 * log-softmax, masked softmax, layer norm. The kernels see an array (rows, row size); plain/rows.c
 * has them as plain loops. */
#include "ops/rows.h"

#include <math.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "op.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

int64_t row_size(const Tensor *x)
{
    return x->shape.ndim ? x->shape.dim[x->shape.ndim - 1] : 1;
}

int64_t filled_rows(const Tensor *x)
{
    return x->numel > 0 ? row_count(x) : 0;
}

/* ---- softmax: y_i = e^x_i / sum_j e^x_j                      dx_i = y_i (dy_i - sum_j dy_j y_j)
 * log_softmax: y_i = x_i - ln sum_j e^x_j   dx_i = dy_i - e^y_i sum_j dy_j --------------------- */

/* Returns the softmax of x along dim, or its logarithm. If dim is not the last dimension, x is
 * transposed before, and the result after. */
static Tensor *softmax_along(const char *what, const Op *op, Tensor *x, int dim)
{
    check_tensor(what, "x", x, AG_REAL);
    int last = x->shape.ndim - 1;
    if (check_along(what, x, dim) < last) {
        Tensor *rows = ag_transpose(x, dim, last);
        return ag_transpose(softmax_along(what, op, rows, last), dim, last);
    }
    Tensor *y = op_new(op, &x->shape, x, NULL, NULL);
    if (op == &op_table[OP_softmax]) {
        k_softmax(filled_rows(x), row_size(x), reals(y), reals(x));
    } else {
        k_log_softmax(filled_rows(x), row_size(x), reals(y), reals(x));
    }
    return op_done(y);
}

void softmax_backward(Tensor *y)
{
    int64_t rows = filled_rows(y), n = row_size(y);
    Grad g = grad_into(y->in[0]);
    if (y->op == &op_table[OP_softmax]) {
        k_softmax_backward(rows, n, g.data, grad_of(y), reals(y), g.add);
    } else {
        k_log_softmax_backward(rows, n, g.data, grad_of(y), reals(y), g.add);
    }
}

Tensor *ag_softmax(Tensor *x, int dim)
{
    return softmax_along(__func__, &op_table[OP_softmax], x, dim);
}

Tensor *ag_log_softmax(Tensor *x, int dim)
{
    return softmax_along(__func__, &op_table[OP_log_softmax], x, dim);
}

/* ---- masked_softmax: y_i = e^(scale x_i) / sum of e^(scale x_j) over visible j; 0 for hidden i --
 * dx_i = scale y_i (dy_i - sum_j dy_j y_j), which is 0 for hidden i because y_i is 0 there (Vaswani
 * et al. 2017, 3.2). A hidden x is replaced by what becomes -infinity when it is scaled. */

Tensor *ag_masked_softmax(Tensor *x, Tensor *mask, double scale)
{
    check_tensor(__func__, "x", x, AG_REAL);
    bool is_valid = fabs((real)scale) > 0 && !isinf((real)scale);
    if (!is_valid) {
        ag_usage_error(__func__, "scale is %g, expected a finite number other than 0", scale);
    }
    if (mask) {
        check_mask(__func__, mask, AG_BOOL, "x", &x->shape);
    }
    Tensor *y = op_new(&op_table[OP_masked_softmax], &x->shape, x, mask, NULL);
    if (y->op) {
        *(double *)op_args(y, sizeof scale) = scale;
    }
    const real *masked = reals(x);
    if (mask) {
        KWalk walk;
        walk_over(&x->shape, &mask->shape, &x->shape, &walk);
        real hidden = (real)(scale > 0 ? -INFINITY : INFINITY);
        k_select(&walk, reals(y), bools(mask), masked, false, hidden, false);
        masked = reals(y);
    }
    k_unary(K_SCALE, x->numel, reals(y), masked, scale, 0);
    k_softmax(filled_rows(x), row_size(x), reals(y), reals(y));
    return op_done(y);
}

void masked_softmax_backward(Tensor *y)
{
    double scale = *(double *)y->args;
    real *unscaled = op_scratch(y->op->function, y->numel, sizeof(real));
    k_softmax_backward(filled_rows(y), row_size(y), unscaled, grad_of(y), reals(y), false);
    k_axpy(y->numel, grad_to_add(y->in[0]), (real)scale, unscaled);
}

/* ---- layer_norm: y = gamma (x - mean) / deviation + beta ----------------------------------------
 * The deviation is sqrt(var + eps) or sqrt(var) + eps, and the variance a sum divided by D or D-1:
 * see AgNorm. Three numbers of each row are saved for the rule: the mean, as the sum of a number of
 * type real and a rest, and 1 / deviation. */

void check_norm(const char *what, const Tensor *x, const Tensor *gamma, const Tensor *beta,
                double eps)
{
    check_tensor(what, "x", x, AG_REAL);
    if (x->shape.ndim < 1) {
        ag_usage_error(what, "x is a scalar, expected (..,D)");
    }
    if (!(eps >= 0 && eps < INFINITY)) {
        ag_usage_error(what, "eps is %g, expected a finite number of 0 or more", eps);
    }
    if (gamma) {
        check_vector(what, "gamma", gamma, row_size(x), "(D) and (..,D)", "x", x);
    }
    if (beta) {
        check_vector(what, "beta", beta, row_size(x), "(D) and (..,D)", "x", x);
    }
}

void layer_norm_values(Tensor *y, const OpCall *c)
{
    const Tensor *x = c->in[0], *gamma = c->in[1], *beta = c->in[2];
    const AgNorm *kind = c->args;
    int64_t rows = filled_rows(x);
    real *mean = y->saved ? buffer_data(y->saved) : op_save(y, 3 * rows);
    real *rest = mean + rows, *rstd = mean + 2 * rows;
    k_layer_norm(rows, row_size(x), reals(y), mean, rest, rstd, reals(x),
                 reals_if(gamma, gamma != NULL), reals_if(beta, beta != NULL), *kind);
}

Tensor *ag_layer_norm(Tensor *x, Tensor *gamma, Tensor *beta, AgNorm kind)
{
    check_norm(__func__, x, gamma, beta, kind.eps);
    if (kind.unbiased && row_size(x) < 2) {
        ag_usage_error(__func__, "the unbiased variance of rows of one item (x %s) is 0/0",
                       shape_text(x->shape));
    }
    return op_run(&op_table[OP_layer_norm], &x->shape, (Tensor *[]){ x, gamma, beta }, 3, &kind,
                  sizeof kind);
}

void layer_norm_backward(Tensor *y)
{
    Tensor *x = y->in[0], *gamma = y->in[1], *beta = y->in[2];
    AgNorm *kind = y->args;
    int64_t rows = filled_rows(x);
    const real *mean = buffer_data(y->saved), *rest = mean + rows, *rstd = mean + 2 * rows;
    Grad gx = grad_into(x), ggamma = grad_into(gamma), gbeta = grad_into(beta);
    k_layer_norm_backward(rows, row_size(x), gx.data, gx.add, ggamma.data, ggamma.add, gbeta.data,
                          gbeta.add, grad_of(y), reals(x), mean, rest, rstd,
                          reals_if(gamma, gamma != NULL), *kind);
}
