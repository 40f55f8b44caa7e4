/* ops_loss.c: losses: operations on predictions and targets whose result is a scalar. The sums over
 * items have a fixed order, so a loss has the same bits on any number of threads. */
#include <math.h>
#include <string.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "ops/linear.h"
#include "ops/loss.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

void check_pair(const char *what, const char *first, const Tensor *a, const Tensor *target)
{
    check_tensor(what, first, a, AG_REAL);
    check_tensor(what, "target", target, AG_REAL);
    if (!ag_shape_equal(a->shape, target->shape)) {
        ag_usage_error(what, "%s %s and target %s differ in shape", first, shape_text(a->shape),
                       shape_text(target->shape));
    }
}

void check_reduce(const char *what, AgReduce reduce)
{
    if (reduce != AG_MEAN && reduce != AG_SUM) {
        ag_usage_error(what, "%d is not an AgReduce; expected AG_MEAN or AG_SUM", (int)reduce);
    }
}

/* ---- mse_loss: y = mean (x - target)^2  dx = dy 2 (x - target) / n, dtarget = -dx ------------ */

Tensor *ag_mse_loss(Tensor *x, Tensor *target)
{
    check_pair(__func__, "x", x, target);
    Tensor *y = op_new(&op_table[OP_mse_loss], &AG_SCALAR, x, target, NULL);
    double sum = k_squared_distance(x->numel, reals(x), reals(target));
    *reals(y) = (real)(sum / (double)x->numel);
    return op_done(y);
}

void mse_loss_backward(Tensor *y)
{
    Tensor *x = y->in[0], *target = y->in[1];
    real factor = *grad_of(y) * (real)(2 / (double)x->numel);
    /* grad_into takes no memory of values that this rule still reads: it counts among their
     * readers until it has ended */
    Grad g = grad_into(x);
    if (g.data) {
        k_difference(x->numel, g.data, reals(x), reals(target), factor, g.add);
    }
    g = grad_into(target);
    if (g.data) {
        k_difference(x->numel, g.data, reals(target), reals(x), factor, g.add);
    }
}

/* ---- targets that are classes ---------------------------------------------------------------- */

void check_target(const char *what, const char *first, const char *last, const Tensor *x,
                  const Tensor *target)
{
    check_tensor(what, first, x, AG_REAL);
    check_tensor(what, "target", target, AG_INT);
    AgShape expected = x->shape;
    expected.ndim--;
    if (x->shape.ndim < 1 || !ag_shape_equal(expected, target->shape)) {
        ag_usage_error(what, "%s %s and target %s do not fit: expected (..,%s) and (..)", first,
                       shape_text(x->shape), shape_text(target->shape), last);
    }
}

ClassArgs class_args(const char *what, int64_t n, const Tensor *target, int ignore, AgReduce reduce,
                     double smoothing)
{
    check_reduce(what, reduce);
    if (!(smoothing >= 0 && smoothing <= 1)) {
        ag_usage_error(what, "smoothing %g is not in 0..1", smoothing);
    }
    ClassArgs c = { .ignore = ignore, .smoothing = smoothing, .rows = target->numel, .n = n };
    int64_t counted = 0;
    for (int64_t i = 0; i < c.rows; i++) {
        int32_t t = ints(target)[i];
        if (t == ignore) continue;
        if (t < 0 || t >= c.n) {
            ag_usage_error(what, "target %d at item %lld is out of range: expected %s, or %d to "
                           "ignore it", t, (long long)i, range_text(c.n), ignore);
        }
        counted++;
    }
    /* the mean over no targets is 0: with 0/0 = NaN, a batch of padding alone would make all
     * weights NaN */
    c.divisor = reduce == AG_SUM || counted == 0 ? 1 : (double)counted;
    return c;
}

ClassArgs check_classes(const char *what, const char *first, const Tensor *x, const Tensor *target,
                        int ignore, AgReduce reduce, double smoothing)
{
    check_target(what, first, "V", x, target);
    return class_args(what, x->shape.dim[x->shape.ndim - 1], target, ignore, reduce, smoothing);
}

/* ---- cross_entropy: y = mean over rows of -log softmax(logits)[target] --------------------------
 * dlogits = dy (p - t) / n, where p is softmax(logits) and t is 1 at the target, else 0. With
 * smoothing s, t is 1-s + s/V at the target and s/V elsewhere (Szegedy et al. 2016). For the rule,
 * the largest logit of each row and the logarithm of the sum behind it are saved. */

real mean_loss(const ClassArgs *c, const real *losses)
{
    double total = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        total += (double)losses[i];
    }
    return (real)(total / c->divisor);
}

Tensor *ag_cross_entropy(Tensor *logits, Tensor *target, AgReduce reduce, int ignore,
                         double smoothing)
{
    ClassArgs c = check_classes(__func__, "logits", logits, target, ignore, reduce, smoothing);
    Tensor *y = op_new(&op_table[OP_cross_entropy], &AG_SCALAR, logits, target, NULL);
    if (y->op) {
        *(ClassArgs *)op_args(y, sizeof c) = c;
    }
    real *top = op_save(y, 2 * c.rows), *log_sum = top + c.rows;
    real *losses = op_scratch(__func__, c.rows, sizeof *losses);
    k_cross_entropy(c.rows, c.n, losses, top, log_sum, reals(logits), ints(target), ignore,
                    smoothing);
    *reals(y) = mean_loss(&c, losses);
    return op_done(y);
}

void cross_entropy_backward(Tensor *y)
{
    ClassArgs *c = y->args;
    Tensor *logits = y->in[0], *target = y->in[1];
    const real *top = buffer_data(y->saved), *log_sum = top + c->rows;
    real scale = *grad_of(y) / (real)c->divisor;
    Grad g = grad_into(logits);
    k_cross_entropy_backward(c->rows, c->n, g.data, reals(logits), top, log_sum, ints(target),
                             c->ignore, c->smoothing, scale, g.add);
}

Tensor *ag_linear_cross_entropy(Tensor *x, Tensor *weight, Tensor *bias, Tensor *target,
                                AgReduce reduce, int ignore, double smoothing)
{
    check_linear(__func__, x, weight, bias);
    check_target(__func__, "x", "in", x, target);
    return linear_loss(__func__, x, weight, bias, target, reduce, ignore, smoothing);
}

/* ---- label_smoothing: y = sum over rows of t (ln t - log_p), 0 ln 0 = 0        dlog_p = -dy t ---
 * t is 1-s at the target, 0 at the padding id and s/(V-2) elsewhere. If the target is the padding
 * id, t is 0 in the whole row (LabelSmoothing of the Annotated Transformer; Szegedy et al. 2016). t
 * is not stored: `peak` is its value at the target, `rest` that of the other classes. */

/* Returns the sum of a row without the target and the padding. */
static double sum_others(int64_t n, const real *row, int32_t target, int padding)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        if (j != target && j != padding) {
            sum += (double)row[j];
        }
    }
    return sum;
}

Tensor *ag_label_smoothing(Tensor *log_p, Tensor *target, int padding, double smoothing)
{
    ClassArgs c = check_classes(__func__, "log_p", log_p, target, padding, AG_SUM, smoothing);
    if (padding < 0 || padding >= c.n || c.n < 3) {
        ag_usage_error(__func__, "padding id %d and %lld classes: expected 3 classes or more, and "
                       "an id of them", padding, (long long)c.n);
    }
    Tensor *y = op_new(&op_table[OP_label_smoothing], &AG_SCALAR, log_p, target, NULL);
    if (y->op) {
        *(ClassArgs *)op_args(y, sizeof c) = c;
    }
    real *row_sum = op_scratch(__func__, c.rows, sizeof *row_sum);
    k_sum(c.rows, c.n, 1, row_sum, reals(log_p), 1, false);
    double peak = 1 - smoothing, rest = smoothing / (double)(c.n - 2), total = 0;
    double at_peak = peak > 0 ? peak * ag_math_log(peak) : 0;
    double elsewhere = rest > 0 ? smoothing * ag_math_log(rest) : 0;
    double entropy = at_peak + elsewhere;       /* the sum of t ln t in a row */
    for (int64_t i = 0; i < c.rows; i++) {
        int32_t t = ints(target)[i];
        if (t == padding) continue;
        const real *row = reals(log_p) + i * c.n;
        double others = (double)row_sum[i] - (double)row[t] - (double)row[padding];
        /* If the program has masked the padding, its log_p is infinite or most of the row's sum.
         * Then the difference has lost the digits of the others, and they are summed again. */
        bool is_most = 2 * fabs((double)row[padding]) > fabs((double)row_sum[i]);
        if (!isfinite(row_sum[i]) || is_most) {
            others = sum_others(c.n, row, t, padding);
        }
        double of_peak = peak > 0 ? peak * (double)row[t] : 0;
        double of_rest = rest > 0 ? rest * others : 0;
        total += entropy - of_peak - of_rest;
    }
    *reals(y) = (real)total;
    return op_done(y);
}

void label_smoothing_backward(Tensor *y)
{
    const ClassArgs *c = y->args;
    Grad g = grad_into(y->in[0]);
    double dy = (double)*grad_of(y);
    double peak = 1 - c->smoothing, rest = c->smoothing / (double)(c->n - 2);
    for (int64_t i = 0; i < c->rows; i++) {
        int32_t t = ints(y->in[1])[i];
        real *row = g.data + i * c->n;
        bool is_padding = t == c->ignore;
        real low = is_padding ? 0 : (real)(-dy * rest);
        if (!g.add) {
            k_fill(c->n, row, low);
        } else if (low != 0) {
            for (int64_t j = 0; j < c->n; j++) {
                row[j] += low;
            }
        }
        if (is_padding) continue;
        row[t] += (real)(-dy * peak) - low;
        row[c->ignore] -= low;
    }
}
