/* ops_loss.c: losses: operations on predictions and targets whose result is a scalar. Sums are in a fixed order. */
#include <math.h>
#include <string.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "ops/linear.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

/* Values and targets of one shape. */
static void check_pair(const char *what, const char *first, const Tensor *a, const Tensor *target)
{
    check_tensor(what, first, a, AG_REAL);
    check_tensor(what, "target", target, AG_REAL);
    if (!ag_shape_equal(a->shape, target->shape))
        ag_usage_error(what, "%s %s and target %s differ in shape", first, shape_text(a->shape), shape_text(target->shape));
}

static void check_reduce(const char *what, AgReduce reduce)
{
    if (reduce != AG_MEAN && reduce != AG_SUM)
        ag_usage_error(what, "%d is not an AgReduce; expected AG_MEAN or AG_SUM", (int)reduce);
}

/* ---- mse_loss: y = mean (x - target)²                        dx = dy 2 (x - target) / n, dtarget = -dx ----------- */

Tensor *ag_mse_loss(Tensor *x, Tensor *target)
{
    check_pair(__func__, "x", x, target);
    Tensor *y = op_new(&op_table[OP_mse_loss], &AG_SCALAR, x, target, NULL);
    *reals(y) = (real)(k_squared_distance(x->numel, reals(x), reals(target)) / (double)x->numel);
    return op_done(y);
}

void mse_loss_backward(Tensor *y)
{
    Tensor *x = y->in[0], *target = y->in[1];
    real factor = *grad_of(y) * (real)(2 / (double)x->numel);
    Grad g = grad_into(x);
    if (g.data) k_difference(x->numel, g.data, reals(x), reals(target), factor, g.add);
    g = grad_into(target);
    if (g.data) k_difference(x->numel, g.data, reals(target), reals(x), factor, g.add);
}

Tensor *ag_huber_loss(Tensor *x, Tensor *target, double delta)
{
    check_pair(__func__, "x", x, target);
    if (!(delta > 0 && delta < INFINITY)) ag_usage_error(__func__, "delta is %g, expected a finite number above 0", delta);
    Tensor *d = ag_sub(x, target), *held = ag_clamp(d, -delta, delta);
    return ag_mean(ag_mul(held, ag_sub(d, ag_scale(held, 0.5))));
}

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
        real *sigmoid = scratch_new(y->op->function, logits->numel, sizeof(real));
        k_unary(K_SIGMOID, logits->numel, sigmoid, reals(logits), 0, 0);
        k_difference(logits->numel, dx, sigmoid, reals(target), scale, true);
    }
    dx = grad_to_add(target);
    if (dx) k_axpy(target->numel, dx, -scale, reals(logits));
}

/* ---- targets that are classes ------------------------------------------------------------------------------------ */

typedef struct { int ignore; double smoothing, divisor; int64_t rows, n; } ClassArgs;

/* Checks the shapes (..,last) and (..). */
static void check_target(const char *what, const char *first, const char *last, const Tensor *x, const Tensor *target)
{
    check_tensor(what, first, x, AG_REAL);
    check_tensor(what, "target", target, AG_INT);
    AgShape expected = x->shape;
    if (expected.ndim > 0) expected.ndim--;
    if (x->shape.ndim < 1 || !ag_shape_equal(expected, target->shape))
        ag_usage_error(what, "%s %s and target %s do not fit: expected (..,%s) and (..)", first, shape_text(x->shape),
                       shape_text(target->shape), last);
}

/* Checks every target: n classes. */
static ClassArgs class_args(const char *what, int64_t n, const Tensor *target, int ignore, AgReduce reduce, double smoothing)
{
    check_reduce(what, reduce);
    if (!(smoothing >= 0 && smoothing <= 1)) ag_usage_error(what, "smoothing %g is not in 0..1", smoothing);
    ClassArgs c = { .ignore = ignore, .smoothing = smoothing, .rows = target->numel, .n = n };
    int64_t counted = 0;
    for (int64_t i = 0; i < c.rows; i++) {
        int32_t t = ints(target)[i];
        if (t == ignore) continue;
        if (t < 0 || t >= c.n)
            ag_usage_error(what, "target %d at item %lld is out of range: expected %s, or %d to ignore it", t, (long long)i,
                           range_text(c.n), ignore);
        counted++;
    }
    /* the mean over no targets is 0, not 0/0 = NaN, which a batch of padding would bring into the weights */
    c.divisor = reduce == AG_SUM || counted == 0 ? 1 : (double)counted;
    return c;
}

static ClassArgs check_classes(const char *what, const char *first, const Tensor *x, const Tensor *target, int ignore,
                               AgReduce reduce, double smoothing)
{
    check_target(what, first, "V", x, target);
    return class_args(what, x->shape.dim[x->shape.ndim - 1], target, ignore, reduce, smoothing);
}

/* ---- cross_entropy: y = mean over rows of -log softmax(logits)[target]         dlogits = dy (softmax - target) / n
 * With smoothing s the target is 1-s + s/V at the target and s/V elsewhere (Szegedy et al. 2016). */

static real mean_loss(const ClassArgs *c, const real *losses)
{
    double total = 0;
    for (int64_t i = 0; i < c->rows; i++) total += (double)losses[i];
    return (real)(total / c->divisor);
}

Tensor *ag_cross_entropy(Tensor *logits, Tensor *target, AgReduce reduce, int ignore, double smoothing)
{
    ClassArgs c = check_classes(__func__, "logits", logits, target, ignore, reduce, smoothing);
    Tensor *y = op_new(&op_table[OP_cross_entropy], &AG_SCALAR, logits, target, NULL);
    if (y->op) *(ClassArgs *)op_args(y, sizeof c) = c;
    real *top = op_save(y, 2 * c.rows), *log_sum = top + c.rows, *losses = scratch_new(__func__, c.rows, sizeof *losses);
    k_cross_entropy(c.rows, c.n, losses, top, log_sum, reals(logits), ints(target), ignore, smoothing);
    *reals(y) = mean_loss(&c, losses);
    return op_done(y);
}

void cross_entropy_backward(Tensor *y)
{
    ClassArgs *c = y->args;
    Tensor *logits = y->in[0], *target = y->in[1];
    const real *top = buffer_data(y->saved), *log_sum = top + c->rows;
    Grad g = grad_into(logits);
    k_cross_entropy_backward(c->rows, c->n, g.data, reals(logits), top, log_sum, ints(target), c->ignore, c->smoothing,
                             *grad_of(y) / (real)c->divisor, g.add);
}

/* ---- linear_cross_entropy: y = cross_entropy(x W^T + b, target) ----------------------------------------------------
 * Few logits are kept, and backward overwrites them by their gradient. Of more, only a part exists at a time: forward computes
 * the gradients of each part at once, for dy = 1, and backward multiplies them by dy (Liger Kernel, Hsu et al. 2024). A part is
 * some rows. If dW is computed, their number is a multiple of K_GEMM_BLOCK, so its terms are added in the same order as in one
 * product (kernels.h). */

typedef struct { ClassArgs classes; int64_t kept; } LinearLossArgs;       /* kept: the number of logits; 0: gradients at once */

/* A part has at most so many logits, but at least one row, or K_GEMM_BLOCK rows for dW. GPT-2 124M with 1024 tokens (51 million
 * logits) on an AMD EPYC: 4 to 16 million differ by 2 % at most. The tests set a smaller number. */
int64_t most_logits = 1 << 23;

/* x (rows, in), or a copy with 0 in ignored rows if one of them has NaN or infinity. Their gradient is 0, and 0 times that
 * would be NaN in dW. */
static const real *without_ignored(const Tensor *y, const real *x, int64_t in, const ClassArgs *c, const int32_t *target)
{
    bool all_finite = true;
    for (int64_t i = 0; i < c->rows && all_finite; i++)
        all_finite = target[i] != c->ignore || k_all_finite(in, x + i * in);
    if (all_finite) return x;
    real *copy = scratch_new(function_of(y), c->rows * in, sizeof *copy);
    memcpy(copy, x, (size_t)(c->rows * in) * sizeof *copy);
    for (int64_t i = 0; i < c->rows; i++)
        if (target[i] == c->ignore) k_fill(in, copy + i * in, 0);
    return copy;
}

/* How many rows of n logits a part has: `rows` are cut into parts of about the same size, whole multiples of `unit`. */
static int64_t rows_of_part(int64_t rows, int64_t n, int64_t unit)
{
    int64_t most = most_logits / n > 0 ? most_logits / n : 1, parts = (rows + most - 1) / most;
    int64_t size = ((rows + parts - 1) / parts + unit - 1) / unit * unit;
    return size < rows ? size : rows;
}

Tensor *ag_linear_cross_entropy(Tensor *x, Tensor *weight, Tensor *bias, Tensor *target, AgReduce reduce, int ignore,
                                double smoothing)
{
    check_linear(__func__, x, weight, bias);
    check_target(__func__, "x", "in", x, target);
    ClassArgs c = class_args(__func__, weight->shape.dim[0], target, ignore, reduce, smoothing);
    Tensor *in[] = { x, weight, bias, target };
    Tensor *y = op_new_n(&op_table[OP_linear_cross_entropy], &AG_SCALAR, in, 4);
    bool few = c.rows == 0 || c.n <= most_logits / c.rows, at_once = y->op && !few;
    int64_t kept = y->op && few ? c.rows * c.n : 0, unit = at_once && weight->requires_grad ? K_GEMM_BLOCK : 1;
    int64_t step = few ? c.rows : rows_of_part(c.rows, c.n, unit);
    if (y->op) *(LinearLossArgs *)op_args(y, sizeof(LinearLossArgs)) = (LinearLossArgs){ c, kept };
    real *logits = op_save(y, kept + 2 * c.rows), *top = logits + kept, *log_sum = top + c.rows;
    real *losses = scratch_new(__func__, c.rows, sizeof *losses);
    if (kept == 0) logits = scratch_new(__func__, step * c.n, sizeof *logits);
    Grad grad[3] = { { NULL, false } };                         /* of x, weight and bias */
    for (int i = 0; at_once && i < 3; i++) grad[i].data = op_save_gradient(y, i);
    LinearSize part = linear_size(y, x, weight);
    const real *all_x = y->op ? without_ignored(y, reals(x), part.in, &c, ints(target)) : reals(x);
    for (int64_t row = 0; row < c.rows; row += step) {
        const real *part_x = all_x + row * part.in;
        const int32_t *part_target = ints(target) + row;
        part.rows = c.rows - row < step ? c.rows - row : step;
        linear_product(&part, logits, NULL, part_x, weight_reals(weight), bias ? reals(bias) : NULL, AG_IDENTITY);
        k_cross_entropy(part.rows, c.n, losses + row, top + row, log_sum + row, logits, part_target, ignore, smoothing);
        if (!at_once) continue;
        k_cross_entropy_backward(part.rows, c.n, logits, logits, top + row, log_sum + row, part_target, ignore, smoothing,
                                 1 / (real)c.divisor, false);
        Grad part_dx = { grad[0].data ? grad[0].data + row * part.in : NULL, false };
        linear_gradients(&part, part_dx, grad[1], grad[2], logits, part_x, weight_reals(weight));
        grad[1].add = grad[2].add = true;
    }
    *reals(y) = mean_loss(&c, losses);
    return op_done(y);
}

/* Gives input i the gradient that forward computed, times dy. In the last run of the rule, the memory is passed on, too. */
static void use_gradient(Tensor *y, int i, bool is_last)
{
    Tensor *x = y->in[i];
    if (!x || !x->requires_grad) return;
    Buffer *saved = y->saved_gradient[i];
    real dy = *grad_of(y);
    if (!saved) usage_error_of(y, y->op->name, "input %d requires a gradient, but did not when the loss was computed", i);
    if (is_last && !x->grad) {
        if (dy != 1) k_unary(K_SCALE, x->numel, buffer_data(saved), buffer_data(saved), (double)dy, 0);
        x->grad = saved;
        y->saved_gradient[i] = NULL;
        return;
    }
    Grad g = grad_into(x);
    if (g.add) k_axpy(x->numel, g.data, dy, buffer_data(saved));
    else k_unary(K_SCALE, x->numel, g.data, buffer_data(saved), (double)dy, 0);
}

void linear_cross_entropy_backward(Tensor *y)
{
    const LinearLossArgs *args = y->args;
    const ClassArgs *c = &args->classes;
    Tensor *x = y->in[0], *weight = y->in[1];
    /* the rule runs again if the graph is kept, if another loss uses y, or if a trace shares what is saved */
    bool is_last = !graph_kept() && y->release.users == 0 && y->saved->refs == 1;
    if (args->kept == 0 && c->rows * c->n > 0) {
        for (int i = 0; i < 3; i++) use_gradient(y, i, is_last);
        return;
    }
    real *logits = buffer_data(y->saved), *dlogits = logits;
    const real *top = logits + args->kept, *log_sum = top + c->rows;
    if (!is_last) dlogits = scratch_new(y->op->function, args->kept, sizeof *dlogits);
    LinearSize size = linear_size(y, x, weight);
    const real *used_x = without_ignored(y, reals(x), size.in, c, ints(y->in[3]));
    Grad dbias = grad_into(y->in[2]), dweight = grad_into(weight), dx = grad_into(x);   /* may fail: nothing has changed yet */
    k_cross_entropy_backward(c->rows, c->n, dlogits, logits, top, log_sum, ints(y->in[3]), c->ignore, c->smoothing,
                             *grad_of(y) / (real)c->divisor, false);
    linear_gradients(&size, dx, dweight, dbias, dlogits, used_x, weight_reals(weight));
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

/* ---- label_smoothing: y = sum over rows of t (ln t - log_p), 0 ln 0 = 0        dlog_p = -dy t -----------------------
 * t is 1-s at the target, 0 at the padding id and s/(V-2) elsewhere. If the target is the padding id, t is 0 in the whole row
 * (LabelSmoothing of the Annotated Transformer; Szegedy et al. 2016). t is not stored. */

/* The sum of a row without the target and the padding, which may be infinite or most of the sum (a padding that is masked). */
static double sum_others(int64_t n, const real *row, int32_t target, int padding)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += j == target || j == padding ? 0 : (double)row[j];
    return sum;
}

Tensor *ag_label_smoothing(Tensor *log_p, Tensor *target, int padding, double smoothing)
{
    ClassArgs c = check_classes(__func__, "log_p", log_p, target, padding, AG_SUM, smoothing);
    if (padding < 0 || padding >= c.n || c.n < 3)
        ag_usage_error(__func__, "padding id %d and %lld classes: expected 3 classes or more, and an id of them", padding,
                       (long long)c.n);
    Tensor *y = op_new(&op_table[OP_label_smoothing], &AG_SCALAR, log_p, target, NULL);
    if (y->op) *(ClassArgs *)op_args(y, sizeof c) = c;
    real *row_sum = scratch_new(__func__, c.rows, sizeof *row_sum);
    k_sum(c.rows, c.n, 1, row_sum, reals(log_p), 1, false);
    double peak = 1 - smoothing, rest = smoothing / (double)(c.n - 2), total = 0;
    double entropy = (peak > 0 ? peak * ag_math_log(peak) : 0) + (rest > 0 ? smoothing * ag_math_log(rest) : 0);
    for (int64_t i = 0; i < c.rows; i++) {
        int32_t t = ints(target)[i];
        if (t == padding) continue;
        const real *row = reals(log_p) + i * c.n;
        double others = (double)row_sum[i] - (double)row[t] - (double)row[padding];
        bool is_most = 2 * fabs((double)row[padding]) > fabs((double)row_sum[i]);
        if (!isfinite(row_sum[i]) || is_most) others = sum_others(c.n, row, t, padding);
        total += entropy - (peak > 0 ? peak * (double)row[t] : 0) - (rest > 0 ? rest * others : 0);
    }
    *reals(y) = (real)total;
    return op_done(y);
}

void label_smoothing_backward(Tensor *y)
{
    const ClassArgs *c = y->args;
    Grad g = grad_into(y->in[0]);
    double dy = (double)*grad_of(y), peak = 1 - c->smoothing, rest = c->smoothing / (double)(c->n - 2);
    for (int64_t i = 0; i < c->rows; i++) {
        int32_t t = ints(y->in[1])[i];
        real *row = g.data + i * c->n;
        bool is_padding = t == c->ignore;
        real low = !is_padding ? (real)(-dy * rest) : 0;
        if (!g.add) k_fill(c->n, row, low);
        else for (int64_t j = 0; low != 0 && j < c->n; j++) row[j] += low;
        if (is_padding) continue;
        row[t] += (real)(-dy * peak) - low;
        row[c->ignore] -= low;
    }
}
