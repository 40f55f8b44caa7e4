/* ops_losses.c: losses that a Transformer does not need. */
#include <math.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "more_table.h"
#include "ops/loss.h"
#include "tape.h"
#include "tensor_struct.h"

/* ---- binary_cross_entropy: y = mean of ln(1 + e^x) - t x     dx = dy (sigmoid(x) - t) / n, dt = -dy x / n ---------- */

/* With t inside: max(x, 0) - t x is exact where the prediction is right, also if x is infinite. The logarithm gets what 1 + e
 * loses by rounding. */
static double binary_loss(double x, double t)
{
    double e = ag_math_exp(-fabs(x)), sum = 1 + e, miss = x > 0 ? 1 - t : t;
    return (miss == 0 ? 0 : miss * fabs(x)) + (ag_math_log(sum) + (e - (sum - 1)));
}

Tensor *ag_binary_cross_entropy(Tensor *logits, Tensor *target, AgReduce reduce)
{
    check_pair(__func__, "logits", logits, target);
    check_reduce(__func__, reduce);
    Tensor *y = op_new(&op_table[OP_binary_cross_entropy], &AG_SCALAR, logits, target, NULL);
    double divisor = reduce == AG_SUM ? 1 : (double)logits->numel, total = 0;
    if (y->op) *(double *)op_args(y, sizeof(double)) = divisor;
    for (int64_t i = 0; i < logits->numel; i++) {
        double t = (double)reals(target)[i];
        if (t < 0 || t > 1) ag_usage_error(__func__, "target %g at item %lld is not in 0..1", t, (long long)i);
        total += binary_loss((double)reals(logits)[i], t);
    }
    *reals(y) = (real)(total / divisor);
    return op_done(y);
}

void binary_cross_entropy_backward(Tensor *y)
{
    Tensor *logits = y->in[0], *target = y->in[1];
    real scale = *grad_of(y) / (real)*(double *)y->args;
    real *dx = grad_to_add(logits);
    if (dx) {
        real *sigmoid = op_scratch(y->op->function, logits->numel, sizeof(real));
        k_unary(K_SIGMOID, logits->numel, sigmoid, reals(logits), 0, 0);
        k_difference(logits->numel, dx, sigmoid, reals(target), scale, true);
    }
    dx = grad_to_add(target);
    if (dx) k_axpy(target->numel, dx, -scale, reals(logits));
}

/* ---- nll_loss: y = mean over rows of -log_p[target]          dlog_p = -dy / n at the target, else 0 -------------- */

Tensor *ag_nll_loss(Tensor *log_p, Tensor *target, AgReduce reduce, int ignore)
{
    ClassArgs c = check_classes(__func__, "log_p", log_p, target, ignore, reduce, 0);
    Tensor *y = op_new(&op_table[OP_nll_loss], &AG_SCALAR, log_p, target, NULL);
    if (y->op) *(ClassArgs *)op_args(y, sizeof c) = c;
    double total = 0;
    for (int64_t i = 0; i < c.rows; i++)
        if (ints(target)[i] != ignore) total -= (double)reals(log_p)[i * c.n + ints(target)[i]];
    *reals(y) = (real)(total / c.divisor);
    return op_done(y);
}

void nll_loss_backward(Tensor *y)
{
    const ClassArgs *c = y->args;
    const int32_t *target = ints(y->in[1]);
    real *dlog_p = grad_to_add(y->in[0]);
    for (int64_t i = 0; i < c->rows; i++)
        if (target[i] != c->ignore) dlog_p[i * c->n + target[i]] -= *grad_of(y) / (real)c->divisor;
}

/* ---- kl_div: y = mean of t (ln t - log_p), 0 ln 0 = 0        dlog_p = -dy t / n, dt = dy (ln t + 1 - log_p) / n ---- */

Tensor *ag_kl_div(Tensor *log_p, Tensor *target, AgReduce reduce)
{
    check_pair(__func__, "log_p", log_p, target);
    check_reduce(__func__, reduce);
    Tensor *y = op_new(&op_table[OP_kl_div], &AG_SCALAR, log_p, target, NULL);
    double divisor = reduce == AG_SUM ? 1 : (double)log_p->numel, total = 0;
    if (y->op) *(double *)op_args(y, sizeof(double)) = divisor;
    for (int64_t i = 0; i < log_p->numel; i++) {
        double t = (double)reals(target)[i];
        if (t < 0) ag_usage_error(__func__, "target %g at item %lld, expected a probability", t, (long long)i);
        if (t != 0) total += t * (ag_math_log(t) - (double)reals(log_p)[i]);
    }
    *reals(y) = (real)(total / divisor);
    return op_done(y);
}

void kl_div_backward(Tensor *y)
{
    Tensor *log_p = y->in[0], *target = y->in[1];
    real scale = *grad_of(y) / (real)*(double *)y->args;
    real *dx = grad_to_add(log_p);
    if (dx) k_axpy(log_p->numel, dx, -scale, reals(target));
    dx = grad_to_add(target);
    for (int64_t i = 0; dx && i < target->numel; i++)
        dx[i] += scale * (real)(ag_math_log((double)reals(target)[i]) + 1 - (double)reals(log_p)[i]);
}

/* ---- compositions ------------------------------------------------------------------------------------------------ */

Tensor *ag_huber_loss(Tensor *x, Tensor *target, double delta)
{
    check_pair(__func__, "x", x, target);
    if (!(delta > 0 && delta < INFINITY)) ag_usage_error(__func__, "delta is %g, expected a finite number above 0", delta);
    Tensor *d = ag_sub(x, target), *held = ag_clamp(d, -delta, delta);
    return ag_mean(ag_mul(held, ag_sub(d, ag_scale(held, 0.5))));
}
