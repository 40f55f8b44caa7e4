/* tangents_losses.c: tangent rules of losses. The sums over items divide as the loss does. */
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "ops/loss.h"
#include "tangents.h"
#include "tensor.h"

/* Returns the sum of x, divided. */
static Tensor *divided_sum(Tensor *x, double divisor)
{
    return scaled(ag_sum(x), 1 / divisor);
}

/* ---- targets that are reals ------------------------------------------------------------------ */

/* Returns 2 mean((x - target) (dx - dtarget)). */
Tensor *mse_loss_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *difference = ag_sub(y->in[0], y->in[1]);
    return ag_scale(ag_mean(ag_mul(difference, difference_of(dx[0], dx[1]))), 2);
}

/* Returns the sum of (sigmoid(x) - t) dx - x dt. */
Tensor *binary_cross_entropy_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *x = y->in[0], *t = y->in[1];
    Tensor *from_x = dx[0] ? ag_mul(ag_sub(ag_sigmoid(x), t), dx[0]) : NULL;
    return divided_sum(difference_of(from_x, product_of(x, dx[1])), *(const double *)y->args);
}

/* Returns the sum of (ln t + 1 - log_p) dt - t dlog_p. */
Tensor *kl_div_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *log_p = y->in[0], *t = y->in[1], *from_t = NULL;
    if (dx[1]) {
        from_t = ag_mul(ag_sub(ag_add_scalar(ag_log(t), 1), log_p), dx[1]);
    }
    return divided_sum(difference_of(from_t, product_of(t, dx[0])), *(const double *)y->args);
}

/* ---- targets that are classes ---------------------------------------------------------------- */

/* Returns an array (rows, n) with `peak` at the targets and `rest` elsewhere. */
static Tensor *peaks(const ClassArgs *c, const Tensor *target, double peak, double rest)
{
    Tensor *t = tensor_new("peaks", &SHAPE(c->rows, c->n), AG_REAL);
    k_fill(t->numel, reals(t), (real)rest);
    for (int64_t i = 0; i < c->rows; i++) {
        if (ints(target)[i] != c->ignore) {
            reals(t)[i * c->n + ints(target)[i]] = (real)peak;
        }
    }
    return t;
}

/* Returns x (rows, n) with 0 in the rows whose target is ignored. */
static Tensor *without_ignored_rows(const ClassArgs *c, Tensor *x, Tensor *target)
{
    Tensor *ignored = ag_compare_scalar(AG_EQ, ag_reshape(target, SHAPE(c->rows, 1)), c->ignore);
    return ag_masked_fill(x, ignored, 0);
}

/* Returns the sum of (softmax(x) - t) dx over the rows that count. The others, which may have NaN,
 * become 0 before all else, so that nothing of them gets into a derivative. */
static Tensor *cross_entropy_along(const ClassArgs *c, Tensor *x, Tensor *dx, Tensor *target)
{
    double rest = c->smoothing / (double)c->n;
    x = without_ignored_rows(c, ag_reshape(x, SHAPE(c->rows, c->n)), target);
    dx = without_ignored_rows(c, ag_reshape(dx, SHAPE(c->rows, c->n)), target);
    Tensor *t = peaks(c, target, 1 - c->smoothing + rest, rest);
    return divided_sum(ag_mul(ag_sub(ag_softmax(x, -1), t), dx), c->divisor);
}

Tensor *cross_entropy_tangent(Tensor *y, Tensor *const *dx)
{
    return cross_entropy_along(y->args, y->in[0], dx[0], y->in[1]);
}

/* Computes all logits at a time, and their tangent, which is that of linear. */
Tensor *linear_cross_entropy_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *x = y->in[0], *weight = y->in[1], *bias = y->in[2];
    Tensor *logits = ag_linear(x, weight, bias);
    Tensor *from_x = dx[0] ? ag_linear(dx[0], weight, NULL) : NULL;
    Tensor *from_weight = dx[1] ? ag_linear(x, dx[1], NULL) : NULL;
    Tensor *d = spread_to(sum_of(sum_of(from_x, from_weight), dx[2]), logits);
    return cross_entropy_along(y->args, logits, d, y->in[3]);
}

Tensor *nll_loss_tangent(Tensor *y, Tensor *const *dx)
{
    const ClassArgs *c = y->args;
    Tensor *t = peaks(c, y->in[1], 1, 0);
    return ag_neg(divided_sum(ag_mul(t, ag_reshape(dx[0], SHAPE(c->rows, c->n))), c->divisor));
}

/* Returns the sum of -t dlog_p, where t is 0 at the padding: see ops_loss.c. */
Tensor *label_smoothing_tangent(Tensor *y, Tensor *const *dx)
{
    const ClassArgs *c = y->args;
    Tensor *t = peaks(c, y->in[1], 1 - c->smoothing, c->smoothing / (double)(c->n - 2));
    for (int64_t i = 0; i < c->rows; i++) {
        reals(t)[i * c->n + c->ignore] = 0;
    }
    Tensor *part = ag_mul(t, ag_reshape(dx[0], SHAPE(c->rows, c->n)));
    return ag_neg(ag_sum(without_ignored_rows(c, part, y->in[1])));
}
