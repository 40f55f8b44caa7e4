/* ops_loss.c: losses: operations on predictions and targets whose result is a scalar. Sums are in a fixed order. */
#include <math.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "kernels.h"
#include "ops/linear.h"
#include "ops/table.h"

static void check_same_shape(AgSite at, const char *what, const char *first, const Tensor *a, const Tensor *b)
{
    char ta[AG_SHAPE_TEXT], tb[AG_SHAPE_TEXT];
    if (!ag_shape_equal(a->shape, b->shape))
        ag_usage_error(at, what, "%s %s and target %s differ in shape", first, ag_shape_text(a->shape, ta),
                       ag_shape_text(b->shape, tb));
}

static void check_reduce(AgSite at, const char *what, AgReduce reduce)
{
    if (reduce != AG_MEAN && reduce != AG_SUM)
        ag_usage_error(at, what, "%d is not an AgReduce; expected AG_MEAN or AG_SUM", (int)reduce);
}

/* ---- mse_loss: y = mean (x - target)²                        dx = dy 2 (x - target) / n, dtarget = -dx ----------- */

Tensor *ag_mse_loss_at(AgSite at, Tensor *x, Tensor *target)
{
    check_tensor(at, "mse_loss", "x", x, AG_REAL);
    check_tensor(at, "mse_loss", "target", target, AG_REAL);
    check_same_shape(at, "mse_loss", "x", x, target);
    Tensor *y = op_new(at, OP_mse_loss, &AG_SCALAR, x, target, NULL);
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

/* Shapes for the samples of losses whose targets have the predictions' shape. */
static const AgShape same_shapes[] = { { 0, { 0 } }, { 1, { 1 } }, { 1, { 7 } }, { 2, { 3, 5 } }, { 2, { 1, 4 } },
                                     { 3, { 2, 3, 4 } }, { 1, { 67 } }, { 4, { 2, 1, 2, 3 } } };
enum { SAME_SHAPES = sizeof same_shapes / sizeof *same_shapes };

Tensor *mse_loss_sample(Sample *s)
{
    if (s->number >= SAME_SHAPES) return NULL;
    return ag_mse_loss(sample_in(s, 0, same_shapes[s->number]), sample_in(s, 1, same_shapes[s->number]));
}

Tensor *ag_huber_loss_at(AgSite at, Tensor *x, Tensor *target, double delta)
{
    check_tensor(at, "huber_loss", "x", x, AG_REAL);
    check_tensor(at, "huber_loss", "target", target, AG_REAL);
    check_same_shape(at, "huber_loss", "x", x, target);
    if (!(delta > 0 && delta < INFINITY)) ag_usage_error(at, "huber_loss", "delta is %g, expected more than 0", delta);
    Tensor *d = ag_sub_at(at, x, target), *held = ag_clamp_at(at, d, -delta, delta);
    return ag_mean_at(at, ag_mul_at(at, held, ag_sub_at(at, d, ag_scale_at(at, held, 0.5))));
}

/* ---- binary_cross_entropy: y = mean of ln(1 + e^x) - t x     dx = dy (sigmoid(x) - t) / n, dt = -dy x / n ---------- */

/* With t inside: max(x, 0) - t x is exact where the prediction is right. What the sum 1 + e loses by rounding is added to its
 * logarithm. */
static double binary_loss(double x, double t)
{
    double e = k_exp(-fabs(x)), sum = 1 + e;
    return (x > 0 ? (1 - t) * x : -t * x) + (k_log(sum) + (e - (sum - 1)));
}

Tensor *ag_binary_cross_entropy_at(AgSite at, Tensor *logits, Tensor *target, AgReduce reduce)
{
    static const char what[] = "binary_cross_entropy";
    check_tensor(at, what, "logits", logits, AG_REAL);
    check_tensor(at, what, "target", target, AG_REAL);
    check_same_shape(at, what, "logits", logits, target);
    check_reduce(at, what, reduce);
    Tensor *y = op_new(at, OP_binary_cross_entropy, &AG_SCALAR, logits, target, NULL);
    double divisor = reduce == AG_SUM ? 1 : (double)logits->numel, total = 0;
    if (y->op) *(double *)op_args(y, sizeof(double)) = divisor;
    for (int64_t i = 0; i < logits->numel; i++) {
        double t = (double)reals(target)[i];
        if (t < 0 || t > 1) ag_usage_error(at, what, "target %g at item %lld is not in 0..1", t, (long long)i);
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
        real *sigmoid = scratch_new(y->site, "binary_cross_entropy", logits->numel, sizeof(real));
        k_unary(K_SIGMOID, logits->numel, sigmoid, reals(logits), 0, 0);
        k_difference(logits->numel, dx, sigmoid, reals(target), scale, true);
    }
    dx = grad_to_add(target);
    if (dx) k_axpy(target->numel, dx, -scale, reals(logits));
}

Tensor *binary_cross_entropy_sample(Sample *s)
{
    if (s->number >= SAME_SHAPES) return NULL;
    Tensor *logits = sample_range(s, 0, same_shapes[s->number], 0.1, 0.9);
    Tensor *target = sample_range(s, 1, same_shapes[s->number], 0.1, 0.9);
    return ag_binary_cross_entropy(logits, target, s->number % 2 ? AG_SUM : AG_MEAN);
}

/* ---- targets that are classes ------------------------------------------------------------------------------------ */

typedef struct { int ignore; double smoothing, divisor; int64_t rows, n; } ClassArgs;

/* Checks the shapes (..,last) and (..). */
static void check_target(AgSite at, const char *what, const char *first, const char *last, const Tensor *x,
                         const Tensor *target)
{
    check_tensor(at, what, first, x, AG_REAL);
    check_tensor(at, what, "target", target, AG_INT);
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    AgShape expected = x->shape;
    if (expected.ndim > 0) expected.ndim--;
    if (x->shape.ndim < 1 || !ag_shape_equal(expected, target->shape))
        ag_usage_error(at, what, "%s %s and target %s do not fit: expected (..,%s) and (..)", first, ag_shape_text(x->shape, a),
                       ag_shape_text(target->shape, b), last);
}

/* Checks every target: n classes. */
static ClassArgs class_args(AgSite at, const char *what, int64_t n, const Tensor *target, int ignore, AgReduce reduce)
{
    check_reduce(at, what, reduce);
    ClassArgs c = { .ignore = ignore, .rows = target->numel, .n = n };
    int64_t counted = 0;
    for (int64_t i = 0; i < c.rows; i++) {
        int32_t t = ints(target)[i];
        if (t == ignore) continue;
        if (t < 0 || t >= c.n)
            ag_usage_error(at, what, "target %d at item %lld is out of range: expected 0..%lld, or %d to ignore it", t,
                           (long long)i, (long long)c.n - 1, ignore);
        counted++;
    }
    /* the mean over no targets is 0, not 0/0 = NaN, which a batch of padding would bring into the weights */
    c.divisor = reduce == AG_SUM || counted == 0 ? 1 : (double)counted;
    return c;
}

static ClassArgs check_classes(AgSite at, const char *what, const char *first, const Tensor *x, const Tensor *target,
                               int ignore, AgReduce reduce)
{
    check_target(at, what, first, "V", x, target);
    return class_args(at, what, x->shape.dim[x->shape.ndim - 1], target, ignore, reduce);
}

static void check_smoothing(AgSite at, const char *what, double smoothing)
{
    if (!(smoothing >= 0 && smoothing <= 1)) ag_usage_error(at, what, "smoothing %g is not in 0..1", smoothing);
}

/* ---- cross_entropy: y = mean over rows of -log softmax(logits)[target]         dlogits = dy (softmax - target) / n
 * With smoothing s the target is 1-s + s/V at the target and s/V elsewhere (Szegedy et al. 2016). */

static real mean_loss(const ClassArgs *c, const real *losses)
{
    double total = 0;
    for (int64_t i = 0; i < c->rows; i++) total += (double)losses[i];
    return (real)(total / c->divisor);
}

Tensor *ag_cross_entropy_at(AgSite at, Tensor *logits, Tensor *target, AgReduce reduce, int ignore, double smoothing)
{
    ClassArgs c = check_classes(at, "cross_entropy", "logits", logits, target, ignore, reduce);
    check_smoothing(at, "cross_entropy", smoothing);
    c.smoothing = smoothing;
    Tensor *y = op_new(at, OP_cross_entropy, &AG_SCALAR, logits, target, NULL);
    if (y->op) *(ClassArgs *)op_args(y, sizeof c) = c;
    real *losses = op_save(y, 3 * c.rows), *top = losses + c.rows, *log_sum = top + c.rows;
    k_cross_entropy(c.rows, c.n, losses, top, log_sum, reals(logits), ints(target), ignore, smoothing);
    *reals(y) = mean_loss(&c, losses);
    return op_done(y);
}

void cross_entropy_backward(Tensor *y)
{
    ClassArgs *c = y->args;
    Tensor *logits = y->in[0], *target = y->in[1];
    real *scale = buffer_data(y->saved);                        /* replaces the losses, which are not needed any more */
    const real *top = scale + c->rows, *log_sum = top + c->rows;
    k_fill(c->rows, scale, *grad_of(y) / (real)c->divisor);
    Grad g = grad_into(logits);
    k_cross_entropy_backward(c->rows, c->n, 0, c->n, g.data, reals(logits), top, log_sum, ints(target), c->ignore,
                             c->smoothing, scale, g.add);
}

Tensor *cross_entropy_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_cross_entropy(sample_in(s, 0, SHAPE(1, 1)), sample_ids(SHAPE(1), 1), AG_MEAN, -100, 0);
    case 1: return ag_cross_entropy(sample_in(s, 0, SHAPE(3, 5)), sample_ids(SHAPE(3), 5), AG_MEAN, -100, 0);
    case 2: return ag_cross_entropy(sample_in(s, 0, SHAPE(3, 5)), sample_ids(SHAPE(3), 5), AG_SUM, -100, 0);
    case 3: return ag_cross_entropy(sample_in(s, 0, SHAPE(6, 3)), sample_ids(SHAPE(6), 3), AG_MEAN, 1, 0);
    case 4: return ag_cross_entropy(sample_in(s, 0, SHAPE(2, 3, 4)), sample_ids(SHAPE(2, 3), 4), AG_MEAN, -100, 0.1);
    case 5: return ag_cross_entropy(sample_in(s, 0, SHAPE(4, 33)), sample_ids(SHAPE(4), 33), AG_SUM, 0, 0.3);
    case 6: return ag_cross_entropy(sample_in(s, 0, SHAPE(7)), sample_ids(AG_SCALAR, 7), AG_MEAN, -100, 0);
    case 7: return ag_cross_entropy(sample_in(s, 0, SHAPE(0, 4)), sample_ids(SHAPE(0), 4), AG_MEAN, -100, 0);
    case 8: return ag_cross_entropy(sample_in(s, 0, SHAPE(2, 1)), sample_ids(SHAPE(2), 1), AG_MEAN, 0, 0);
    default: return NULL;
    }
}

/* ---- linear_cross_entropy: y = cross_entropy(x W^T + b, target), with the same bits --------------------------------
 * Few logits are kept, and backward overwrites them by their gradient. Of more, only a part exists at a time, and forward
 * computes the gradients at once (Liger Kernel, Hsu et al. 2024), for the dy of the previous such loss: 1, or the factor of a
 * scaled loss. A part is some rows. Its number of rows is a multiple of K_GEMM_BLOCK, so the terms of dW are added in the same
 * order as in one product (kernels.h).
 *
 * If backward finds another dy, or a gradient to add to, it computes the logits again, for some columns at a time. Then every
 * entry of dW and db is one sum over all rows, as in linear, and dx is continued from part to part. */

typedef enum { KEEP_LOGITS, GRADIENTS_AT_ONCE, LOGITS_AGAIN } LossPlan;
typedef struct { ClassArgs classes; LossPlan plan; real dy; } LinearLossArgs;      /* dy: that of the gradients at once */

/* A part has about logits_of_part logits, but at least K_GEMM_BLOCK rows or columns. GPT-2 124M with 1024 tokens (51 million
 * logits) on an AMD EPYC: 4 to 16 million differ by 2 % at most; logits that are computed again take a tenth of a step. */
int64_t most_kept_logits = 1 << 26;
int64_t logits_of_part = 1 << 23;

/* The size of the parts if n items are cut into parts of about the same size, whole multiples of `unit`. A part has at most
 * logits_of_part / width items, but never less than one unit, or all n. */
static int64_t part_size(int64_t n, int64_t width, int64_t unit)
{
    int64_t most = logits_of_part / (width > 0 ? width : 1), parts = most > 0 ? (n + most - 1) / most : n;
    int64_t size = parts > 0 ? (n + parts - 1) / parts : 1;
    size = (size + unit - 1) / unit * unit;
    return size > n && n > 0 ? n : size;
}

/* Whether that many rows of n logits can exist at a time. */
static bool may_exist(int64_t rows, int64_t n)
{
    return rows > 0 && n <= most_kept_logits / rows;
}

static LossPlan plan_of(const ClassArgs *c, const Tensor *x, const Tensor *weight, const Tensor *bias)
{
    bool all = may_exist(c->rows, c->n), first = x != weight && !weight->grad && !(bias && bias->requires_grad);
    if (all && c->rows * c->n <= logits_of_part) return KEEP_LOGITS;
    if (c->rows > 0 && first && may_exist(part_size(c->rows, c->n, K_GEMM_BLOCK), c->n)) return GRADIENTS_AT_ONCE;
    return all ? KEEP_LOGITS : LOGITS_AGAIN;
}

static int64_t kept_logits(const LinearLossArgs *args)
{
    return args->plan == KEEP_LOGITS ? args->classes.rows * args->classes.n : 0;
}

/* The part of a gradient from item `first` on. */
static Grad grad_from(Grad g, int64_t first)
{
    return (Grad){ g.data ? g.data + first : NULL, g.add };
}

Tensor *ag_linear_cross_entropy_at(AgSite at, Tensor *x, Tensor *weight, Tensor *bias, Tensor *target, AgReduce reduce,
                                   int ignore, double smoothing)
{
    static const char what[] = "linear_cross_entropy";
    check_linear(at, what, x, weight, bias);
    check_target(at, what, "x", "in", x, target);
    check_smoothing(at, what, smoothing);
    LinearLossArgs args = { class_args(at, what, weight->shape.dim[0], target, ignore, reduce), LOGITS_AGAIN,
                            context()->previous_dy };
    ClassArgs *c = &args.classes;
    c->smoothing = smoothing;
    Tensor *in[] = { x, weight, bias, target };
    Tensor *y = op_new_n(at, &op_table[OP_linear_cross_entropy], &AG_SCALAR, in, 4);
    if (y->op) args.plan = plan_of(c, x, weight, bias);
    if (y->op) *(LinearLossArgs *)op_args(y, sizeof args) = args;
    bool at_once = args.plan == GRADIENTS_AT_ONCE;
    int64_t kept = kept_logits(&args), step = kept > 0 ? c->rows : part_size(c->rows, c->n, at_once ? K_GEMM_BLOCK : 1);
    real *logits = op_save(y, kept + 3 * c->rows), *losses = logits + kept, *top = losses + c->rows;
    real *log_sum = top + c->rows, *scale = NULL;
    if (kept == 0) logits = scratch_new(at, what, step * c->n, sizeof *logits);
    Grad dx = { NULL, false }, dweight = dx;
    if (at_once) {
        scale = scratch_new(at, what, step, sizeof *scale);
        k_fill(step, scale, args.dy / (real)c->divisor);
        dx.data = op_save_gradient(y, 0);
        dweight.data = op_save_gradient(y, 1);
    }
    LinearSize part = linear_size(y, x, weight);
    for (int64_t row = 0; row < c->rows; row += step) {
        const real *part_x = reals(x) + row * part.in;
        const int32_t *part_target = ints(target) + row;
        part.rows = c->rows - row < step ? c->rows - row : step;
        linear_product(&part, logits, NULL, part_x, reals(weight), bias ? reals(bias) : NULL, AG_IDENTITY);
        k_cross_entropy(part.rows, c->n, losses + row, top + row, log_sum + row, logits, part_target, ignore, smoothing);
        if (!at_once) continue;
        k_cross_entropy_backward(part.rows, c->n, 0, c->n, logits, logits, top + row, log_sum + row, part_target, ignore,
                                 smoothing, scale, false);
        linear_gradients(&part, grad_from(dx, row * part.in), dweight, (Grad){ NULL, false }, logits, part_x, reals(weight));
        dweight.add = true;
    }
    *reals(y) = mean_loss(c, losses);
    return op_done(y);
}

/* Overwrites the kept logits if `last`. */
static void add_gradients(Tensor *y, bool last, Grad dx, Grad dweight, Grad dbias)
{
    const LinearLossArgs *args = y->args;
    const ClassArgs *c = &args->classes;
    const Tensor *x = y->in[0], *weight = y->in[1], *bias = y->in[2], *target = y->in[3];
    int64_t kept = kept_logits(args), step = c->n;
    real *logits = buffer_data(y->saved), *scale = logits + kept;       /* replaces the losses, as in cross_entropy */
    const real *top = scale + c->rows, *log_sum = top + c->rows;
    k_fill(c->rows, scale, *grad_of(y) / (real)c->divisor);
    bool compute = kept == 0 || !last;
    if (compute) {
        step = part_size(c->n, c->rows, K_GEMM_BLOCK);
        logits = scratch_new(y->site, y->op->name, c->rows * (step < c->n ? step + 1 : step), sizeof *logits);
    }
    LinearSize part = linear_size(y, x, weight);
    int64_t first = 0;
    do {                                        /* if there is no class, too: dx must be set to 0 */
        /* A part is never one column of several: ag_linear would add that column's db in another order. */
        part.out = c->n - first <= step + 1 ? c->n - first : step;
        const real *part_weight = reals(weight) + first * part.in;
        if (compute)
            linear_product(&part, logits, NULL, reals(x), part_weight, bias ? reals(bias) + first : NULL, AG_IDENTITY);
        k_cross_entropy_backward(c->rows, c->n, first, part.out, logits, logits, top, log_sum, ints(target), c->ignore,
                                 c->smoothing, scale, false);
        linear_gradients(&part, dx, grad_from(dweight, first * part.in), grad_from(dbias, first), logits, reals(x),
                         part_weight);
        dx.add = true;
        first += part.out;
    } while (first < c->n);
}

/* Uses the gradients that forward computed, if they are those that are needed now. */
static bool use_gradients(Tensor *y)
{
    const LinearLossArgs *args = y->args;
    Tensor *bias = y->in[2];
    if (memcmp(grad_of(y), &args->dy, sizeof args->dy) != 0 || (bias && bias->requires_grad)) return false;
    for (int i = 0; i < 2; i++)
        if (y->in[i]->requires_grad && (!y->saved_gradient[i] || y->in[i]->grad)) return false;
    for (int i = 0; i < 2; i++) {
        if (!y->in[i]->requires_grad) continue;
        grad_take(y->in[i], y->saved_gradient[i]);
        y->saved_gradient[i] = NULL;
    }
    return true;
}

void linear_cross_entropy_backward(Tensor *y)
{
    Tensor *x = y->in[0], *weight = y->in[1], *bias = y->in[2];
    if (((LinearLossArgs *)y->args)->plan == GRADIENTS_AT_ONCE) {
        context()->previous_dy = *grad_of(y);
        if (use_gradients(y)) return;
        release_saved_gradients(y);
    }
    /* the rule runs again if the graph is kept, if another loss uses y, or if a trace shares what is saved */
    bool last = !context()->keep_graph && y->users == 0 && y->saved->refs == 1;
    if (x != weight) {
        Grad dbias = grad_into(bias), dweight = grad_into(weight), dx = grad_into(x);
        add_gradients(y, last, dx, dweight, dbias);
        return;
    }
    for (int i = 2; i >= 0; i--) {              /* one tensor is both: the gradients must be added one after the other */
        Grad g[3] = { { NULL, false } };
        g[i] = grad_into(y->in[i]);
        if (g[i].data) add_gradients(y, false, g[0], g[1], g[2]);
    }
}

Tensor *linear_cross_entropy_sample(Sample *s)
{
    static const struct { AgShape x; int classes; bool bias; AgReduce reduce; int ignore; double smoothing; } cases[] = {
        { { 2, { 1, 1 } }, 1, true, AG_MEAN, -100, 0 },     { { 2, { 3, 4 } }, 5, true, AG_MEAN, -100, 0 },
        { { 2, { 3, 4 } }, 5, false, AG_SUM, -100, 0 },     { { 2, { 6, 2 } }, 3, true, AG_MEAN, 1, 0 },
        { { 3, { 2, 3, 4 } }, 4, false, AG_MEAN, -100, 0.1 }, { { 2, { 4, 3 } }, 33, true, AG_SUM, 0, 0.3 },
        { { 1, { 5 } }, 7, true, AG_MEAN, -100, 0 },        { { 2, { 0, 4 } }, 4, true, AG_MEAN, -100, 0 },
        { { 2, { 2, 0 } }, 3, true, AG_MEAN, -100, 0 },     { { 2, { 2, 3 } }, 1, false, AG_MEAN, 0, 0 },
        { { 2, { 4, 4 } }, 4, true, AG_MEAN, -100, 0 },     { { 1, { 4 } }, 4, true, AG_MEAN, -100, 0 },
    };
    if (s->number >= (int)(sizeof cases / sizeof *cases)) return NULL;
    AgShape x = cases[s->number].x, rows = x;
    int classes = cases[s->number].classes;
    rows.ndim--;
    Tensor *input = sample_in(s, 0, x), *weight = sample_in(s, 1, SHAPE(classes, x.dim[rows.ndim]));
    return ag_linear_cross_entropy(input, weight, cases[s->number].bias ? sample_in(s, 2, SHAPE(classes)) : NULL,
                                   sample_ids(rows, classes), cases[s->number].reduce, cases[s->number].ignore,
                                   cases[s->number].smoothing);
}

/* ---- nll_loss: y = mean over rows of -log_p[target]          dlog_p = -dy / n at the target, else 0 -------------- */

Tensor *ag_nll_loss_at(AgSite at, Tensor *log_p, Tensor *target, AgReduce reduce, int ignore)
{
    ClassArgs c = check_classes(at, "nll_loss", "log_p", log_p, target, ignore, reduce);
    Tensor *y = op_new(at, OP_nll_loss, &AG_SCALAR, log_p, target, NULL);
    if (y->op) *(ClassArgs *)op_args(y, sizeof c) = c;
    double total = 0;
    for (int64_t i = 0; i < c.rows; i++)
        if (ints(target)[i] != ignore) total -= (double)reals(log_p)[i * c.n + ints(target)[i]];
    *reals(y) = (real)(total / c.divisor);
    return op_done(y);
}

void nll_loss_backward(Tensor *y)
{
    ClassArgs *c = y->args;
    Tensor *log_p = y->in[0], *target = y->in[1];
    real *dlog_p = grad_to_add(log_p);
    for (int64_t i = 0; i < c->rows; i++)
        if (ints(target)[i] != c->ignore) dlog_p[i * c->n + ints(target)[i]] -= *grad_of(y) / (real)c->divisor;
}

Tensor *nll_loss_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_nll_loss(sample_in(s, 0, SHAPE(1, 1)), sample_ids(SHAPE(1), 1), AG_MEAN, -100);
    case 1: return ag_nll_loss(sample_in(s, 0, SHAPE(3, 5)), sample_ids(SHAPE(3), 5), AG_MEAN, -100);
    case 2: return ag_nll_loss(sample_in(s, 0, SHAPE(3, 5)), sample_ids(SHAPE(3), 5), AG_SUM, -100);
    case 3: return ag_nll_loss(sample_in(s, 0, SHAPE(6, 3)), sample_ids(SHAPE(6), 3), AG_MEAN, 1);
    case 4: return ag_nll_loss(sample_in(s, 0, SHAPE(2, 3, 4)), sample_ids(SHAPE(2, 3), 4), AG_MEAN, -100);
    case 5: return ag_nll_loss(ag_log_softmax(sample_in(s, 0, SHAPE(4, 6)), -1), sample_ids(SHAPE(4), 6), AG_MEAN, -100);
    case 6: return ag_nll_loss(sample_in(s, 0, SHAPE(7)), sample_ids(AG_SCALAR, 7), AG_MEAN, -100);
    case 7: return ag_nll_loss(sample_in(s, 0, SHAPE(0, 4)), sample_ids(SHAPE(0), 4), AG_SUM, -100);
    default: return NULL;
    }
}

/* ---- kl_div: y = mean of t (ln t - log_p), 0 ln 0 = 0        dlog_p = -dy t / n, dt = dy (ln t + 1 - log_p) / n ---- */

Tensor *ag_kl_div_at(AgSite at, Tensor *log_p, Tensor *target, AgReduce reduce)
{
    check_tensor(at, "kl_div", "log_p", log_p, AG_REAL);
    check_tensor(at, "kl_div", "target", target, AG_REAL);
    check_same_shape(at, "kl_div", "log_p", log_p, target);
    check_reduce(at, "kl_div", reduce);
    Tensor *y = op_new(at, OP_kl_div, &AG_SCALAR, log_p, target, NULL);
    double divisor = reduce == AG_SUM ? 1 : (double)log_p->numel, total = 0;
    if (y->op) *(double *)op_args(y, sizeof(double)) = divisor;
    for (int64_t i = 0; i < log_p->numel; i++) {
        double t = (double)reals(target)[i];
        if (t < 0) ag_usage_error(at, "kl_div", "target %g at item %lld, expected a probability", t, (long long)i);
        if (t != 0) total += t * (k_log(t) - (double)reals(log_p)[i]);
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
        dx[i] += scale * (real)(k_log((double)reals(target)[i]) + 1 - (double)reals(log_p)[i]);
}

Tensor *kl_div_sample(Sample *s)
{
    if (s->number >= SAME_SHAPES) return NULL;
    Tensor *log_p = sample_range(s, 0, same_shapes[s->number], 0.1, 1);
    Tensor *target = sample_range(s, 1, same_shapes[s->number], 0.1, 1);
    return ag_kl_div(log_p, target, s->number % 2 ? AG_SUM : AG_MEAN);
}

/* ---- label_smoothing: y = sum over rows of t (ln t - log_p), 0 ln 0 = 0        dlog_p = -dy t -----------------------
 * t is 1-s at the target, 0 at the padding id and s/(V-2) elsewhere. If the target is the padding id, t is 0 in the whole row
 * (LabelSmoothing of the Annotated Transformer; Szegedy et al. 2016). t is not stored. */

typedef struct { int padding; double smoothing; int64_t rows, n; } SmoothingArgs;

/* The sum of a row without the target and the padding, which may be infinite (a padding of probability 0). */
static double sum_others(int64_t n, const real *row, int32_t target, int padding)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += j == target || j == padding ? 0 : (double)row[j];
    return sum;
}

Tensor *ag_label_smoothing_at(AgSite at, Tensor *log_p, Tensor *target, int padding, double smoothing)
{
    ClassArgs c = check_classes(at, "label_smoothing", "log_p", log_p, target, padding, AG_SUM);
    check_smoothing(at, "label_smoothing", smoothing);
    if (padding < 0 || padding >= c.n || c.n < 3)
        ag_usage_error(at, "label_smoothing", "padding id %d and %lld classes: expected 3 classes or more, and an id of them",
                       padding, (long long)c.n);
    Tensor *y = op_new(at, OP_label_smoothing, &AG_SCALAR, log_p, target, NULL);
    if (y->op) *(SmoothingArgs *)op_args(y, sizeof(SmoothingArgs)) = (SmoothingArgs){ padding, smoothing, c.rows, c.n };
    real *row_sum = op_save(y, c.rows);
    k_sum(c.rows, c.n, 1, row_sum, reals(log_p), 1, false);
    double peak = 1 - smoothing, rest = smoothing / (double)(c.n - 2), total = 0;
    double entropy = (peak > 0 ? peak * k_log(peak) : 0) + (rest > 0 ? smoothing * k_log(rest) : 0);
    for (int64_t i = 0; i < c.rows; i++) {
        int32_t t = ints(target)[i];
        if (t == padding) continue;
        const real *row = reals(log_p) + i * c.n;
        double others = (double)row_sum[i] - (double)row[t] - (double)row[padding];
        if (!isfinite(row_sum[i])) others = sum_others(c.n, row, t, padding);
        total += entropy - peak * (double)row[t] - (rest > 0 ? rest * others : 0);
    }
    *reals(y) = (real)total;
    return op_done(y);
}

void label_smoothing_backward(Tensor *y)
{
    SmoothingArgs *args = y->args;
    Tensor *log_p = y->in[0], *target = y->in[1];
    Grad g = grad_into(log_p);
    double dy = (double)*grad_of(y), peak = 1 - args->smoothing, rest = args->smoothing / (double)(args->n - 2);
    for (int64_t i = 0; i < args->rows; i++) {
        int32_t t = ints(target)[i];
        real *row = g.data + i * args->n;
        bool is_padding = t == args->padding;
        real low = !is_padding ? (real)(-dy * rest) : 0;
        if (!g.add) k_fill(args->n, row, low);
        else for (int64_t j = 0; low != 0 && j < args->n; j++) row[j] += low;
        if (is_padding) continue;
        row[t] += (real)(-dy * peak) - low;
        row[args->padding] -= low;
    }
}

Tensor *label_smoothing_sample(Sample *s)
{
    static const double smoothing[] = { 0, 0.1, 0.4, 0.3, 1, 0.1, 0.2, 0.5 };
    static const AgShape shapes[] = { { 2, { 3, 5 } }, { 2, { 4, 5 } }, { 3, { 2, 3, 4 } }, { 2, { 6, 33 } }, { 2, { 3, 5 } },
                                    { 2, { 0, 5 } }, { 2, { 1, 3 } }, { 1, { 7 } } };
    if (s->number >= 8) return NULL;
    AgShape x = shapes[s->number], rows = x;
    rows.ndim--;
    int32_t n = (int32_t)x.dim[x.ndim - 1];
    return ag_label_smoothing(sample_in(s, 0, x), sample_ids(rows, n), s->number % 3, smoothing[s->number]);
}
