/* gradcheck.c: compares gradients with finite differences, for a function (ag_gradcheck) or an operation (ag_check_op).
 *
 * The check reduces the result of the function to one number, with random weights. A plain sum would hide errors: the entries
 * of a softmax sum to 1, so the gradient of their sum is 0, and a rule that always gives 0 would pass.
 * - The function is called twice and both results are used, each with its own weights. This finds a rule that overwrites a
 *   gradient where it should add.
 * - The function's inputs and results are intermediate values of a graph, so backward releases them. This finds a rule that
 *   reads a value without declaring it.
 * - New memory for gradients is filled with UNWRITTEN. This finds a rule that adds to it, or does not write it. */
#include <math.h>
#include <string.h>

#include "gradcheck.h"
#include "philox.h"
#include "kaeru/autograd.h"

/* With AG_BF16 inputs, random weights and the step are multiples of GRID: products of two of them, and their sums, are exact.
 * Rounding then changes nothing, and the difference quotient of a product is exact, too. */
#define GRID (1.0 / 16)

#ifdef KAERU_DOUBLE
static const double float_step = 1e-6, absolute = 1e-5, relative = 1e-3;
#else
static const double float_step = 1e-2, absolute = 2e-2, relative = 2e-2;
#endif

static bool in_bf16(void) { return ag_precision_now() == AG_BF16; }
static double step_size(void) { return in_bf16() ? GRID : float_step; }

/* The weight of entry i in use 0 or 1 of the result: 0.5..1.5 with a random sign. */
static double weight(int use, int64_t i)
{
    uint32_t word[4];
    k_philox(20170612, (uint64_t)i * 2 + (uint64_t)use, word);
    double u = word[0] * 0x1p-32 + 0.5;
    if (in_bf16()) u = round(u / GRID) * GRID;
    return word[1] & 1 ? -u : u;
}

static double weighted_sum(const Tensor *y, int use)
{
    double total = 0;
    for (int64_t i = 0; i < y->numel; i++) total += weight(use, i) * (double)reals(y)[i];
    return total;
}

/* f(in, arg), which must end the scopes that it begins, and return a tensor of reals. */
static Tensor *call_function(AgSite at, const char *what, AgFunction *f, Tensor **in, void *arg)
{
    int depth = open_scopes();
    Tensor *result = f(in, arg);
    if (open_scopes() != depth)
        ag_usage_error(at, what, "f must end the scopes that it begins: %d were open before its call, %d after it", depth,
                       open_scopes());
    check_tensor(at, what, "the result of f", result, AG_REAL);
    return result;
}

/* The function that is checked. */
typedef struct { AgSite at; AgFunction *f; void *arg; Tensor **in; } Check;

/* Both results of the function, each as one number. */
typedef struct { double use[2]; } Sums;

static Tensor *call(const Check *c)
{
    return call_function(c->at, "ag_gradcheck", c->f, c->in, c->arg);
}

static Sums evaluate(const Check *c)
{
    AgScope s = ag_begin_at(c->at, AG_NO_GRAD);
    Sums sums;
    for (int use = 0; use < 2; use++) sums.use[use] = weighted_sum(call(c), use);
    ag_end_at(c->at, s);
    return sums;
}

/* Runs backward from both results. The gradient of each entry is its weight. */
static void run_backward(AgSite at, Tensor *first, Tensor *second)
{
    Tensor *result[] = { ag_reshape_at(at, first, SHAPE(first->numel)),
                         ag_reshape_at(at, second, SHAPE(second->numel)) };
    Tensor *both = ag_concat_at(at, result, 2, 0);
    Tensor *dy = tensor_new(at, "ag_gradcheck", &both->shape, AG_REAL);
    for (int64_t i = 0; i < both->numel; i++)
        reals(dy)[i] = (real)(i < first->numel ? weight(0, i) : weight(1, i - first->numel));
    if (both->requires_grad) ag_backward_from_at(at, both, dy);
}

/* Sets the numerical gradient of the entry at x: the central difference. */
static void set_numerical(const Check *c, real *x, CheckedEntry *e)
{
    real before = *x;
    *x = (real)((double)before + step_size());
    double above = (double)*x;
    Sums up = evaluate(c);
    *x = (real)((double)before - step_size());
    double below = (double)*x;
    Sums down = evaluate(c);
    *x = before;
    for (int k = 0; k < 2; k++) e->by_use[k] = (up.use[k] - down.use[k]) / (above - below);
    e->numerical = (up.use[0] + up.use[1] - (down.use[0] + down.use[1])) / (above - below);
}

bool gradients_agree(double gradient, double numerical, double largest)
{
#ifdef KAERU_DOUBLE
    (void)largest;
    double allowed = absolute + relative * fabs(numerical);
#else
    double allowed = absolute * fmax(1, largest) + relative * fabs(numerical);
#endif
    return isfinite(gradient) && fabs(gradient - numerical) <= allowed;       /* then `allowed` may be infinite, too */
}

/* Finds which entries of a result depend on the entry at x, and the part of its gradient that comes from the last of them. */
static void find_reached(const Check *c, real *x, CheckedEntry *e)
{
    AgScope s = ag_begin_at(c->at, AG_NO_GRAD);
    real before = *x;
    *x = (real)((double)before + step_size());
    const Tensor *up = ag_scale_at(c->at, call(c), 1);          /* a copy: f may return the input */
    *x = (real)((double)before - step_size());
    const Tensor *down = call(c);
    double largest = 0, width = 2 * step_size();
    for (int64_t k = 0; k < up->numel; k++) largest = fmax(largest, fabs((double)(reals(up)[k] - reals(down)[k])));
    for (int64_t k = 0; k < up->numel; k++) {
        double change = (double)reals(up)[k] - (double)reals(down)[k];
        if (fabs(change) <= 1e-3 * largest) continue;
        e->reached++;
        for (int use = 0; use < 2; use++) e->last[use] = weight(use, k) * change / width;
    }
    *x = before;
    ag_end_at(c->at, s);
}

/* Checks every entry of input i; prints the wrong ones. */
static bool check_input(const Check *c, int i, FILE *report)
{
    AgScope s = ag_begin_at(c->at, AG_NO_GRAD);
    Tensor *x = c->in[i];
    const real *grad = tensor_grad_data(x);
    CheckedInput checked = { .input = i, .x = x };
    checked.entry = ag_scratch_at(c->at, (size_t)x->numel, sizeof *checked.entry);
    double largest = 0, largest_numerical = 0;
    for (int64_t j = 0; j < x->numel; j++) {
        CheckedEntry *e = &checked.entry[j];
        set_numerical(c, reals(x) + j, e);
        e->gradient = grad ? (double)grad[j] : 0;
        largest = fmax(largest, fabs(e->gradient));
        largest_numerical = fmax(largest_numerical, fabs(e->numerical));
    }
    checked.largest = fmin(largest, largest_numerical);
    for (int64_t j = 0; j < x->numel; j++) {
        CheckedEntry *e = &checked.entry[j];
        e->wrong = !gradients_agree(e->gradient, e->numerical, checked.largest);
        checked.wrong += e->wrong;
        if (report && e->wrong) find_reached(c, reals(x) + j, e);
    }
    if (report && checked.wrong > 0) print_wrong_entries(report, &checked);
    ag_end_at(c->at, s);
    return checked.wrong == 0;
}

static bool same_values(const Tensor *a, const Tensor *b)
{
    bool same = ag_shape_equal(a->shape, b->shape);
    for (int64_t i = 0; same && i < a->numel; i++) {
        real x = reals(a)[i], y = reals(b)[i];
        same = x == y || (x != x && y != y);
    }
    return same;
}

bool ag_gradcheck_at(AgSite at, AgFunction *f, void *arg, Tensor **in, int n, FILE *report)
{
    AgScope s = ag_begin_at(at, AG_RECORD);
    AgRandom random = ag_random_state();
    bool requires_grad = false;
    if (!f || !in) ag_usage_error(at, "ag_gradcheck", "%s is NULL", f ? "in" : "f");
    for (int i = 0; i < n; i++) {
        check_tensor(at, "ag_gradcheck", "an input", in[i], AG_REAL);
        requires_grad = requires_grad || in[i]->requires_grad;
        if (in[i]->op) ag_usage_error(at, "ag_gradcheck", "input %d was made by %s, expected a leaf", i, in[i]->op->name);
        tensor_zero_grad(in[i]);
    }
    for (int i = 0; in_bf16() && i < n; i++)
        for (int64_t j = 0; j < in[i]->numel; j++)
            if (fabs((double)reals(in[i])[j]) > 7 || fmod((double)reals(in[i])[j], GRID) != 0)
                ag_usage_error(at, "ag_gradcheck", "item %lld of input %d is %g; with AG_BF16 expected multiples of 1/16 from "
                               "-7 to 7", (long long)j, i, (double)reals(in[i])[j]);
    if (!requires_grad)
        ag_usage_error(at, "ag_gradcheck", "none of the %d inputs requires a gradient, so there is nothing to check: call "
                       "tensor_set_requires_grad on them", n);
    Tensor **scaled = scope_alloc(at, "ag_gradcheck", (size_t)n * sizeof *scaled);
    for (int i = 0; i < n; i++) scaled[i] = ag_scale_at(at, in[i], 1);          /* no leaves: backward releases them */
    Tensor *first = call_function(at, "ag_gradcheck", f, scaled, arg);
    Tensor *second = call_function(at, "ag_gradcheck", f, scaled, arg);
    for (int i = 0; i < n; i++)
        if (!same_values(scaled[i], in[i]))
            ag_usage_error(at, "ag_gradcheck", "the function changes the values of its input %d", i);
    if (!same_values(first, second))
        ag_usage_error(at, "ag_gradcheck", "two calls of the function with the same inputs give different results, expected a "
                       "function of its inputs alone (dropout: set the random state in it)");
    mark_unwritten(true);
    run_backward(at, first, second);
    mark_unwritten(false);
    ag_set_random_state(random);
    const Check check = { at, f, arg, in };
    bool right = true;
    for (int i = 0; i < n; i++)
        if (in[i]->requires_grad && !check_input(&check, i, report)) right = false;
    ag_set_random_state(random);
    ag_end_at(at, s);
    return right;
}

/* ---- samples of registered operations ---------------------------------------------------------------------------- */

enum { MAX_INPUTS = 4 };

/* Input i of a sample call. The first call of a case creates the inputs; later calls get the same ones. With `alias`, input 0
 * also serves as each later input of its shape. *is_new: the caller must fill it. */
static Tensor *sample_input(Sample *s, int i, AgShape shape, SampleRange range, bool *is_new)
{
    *is_new = false;
    if (s->make_input) return s->make_input(s, i, shape, range);
    if (i >= MAX_INPUTS) ag_usage_error(AG_HERE, "sample", "input %d; a sample has at most %d", i, MAX_INPUTS);
    if (s->alias && i > 0 && s->in[0] && ag_shape_equal(s->in[0]->shape, shape)) return s->in[0];
    if (!s->in[i]) {
        s->in[i] = tensor_set_requires_grad(ag_keep(tensor_zeros(shape)), true);
        *is_new = true;
    }
    return s->in[i];
}

Tensor *sample_in(Sample *s, int i, AgShape shape)
{
    bool is_new;
    Tensor *x = sample_input(s, i, shape, (SampleRange){ false, -INFINITY, INFINITY }, &is_new);
    if (is_new) ag_fill_normal(x, 0, 1);
    return x;
}

Tensor *sample_range(Sample *s, int i, AgShape shape, double low, double high)
{
    bool is_new;
    Tensor *x = sample_input(s, i, shape, (SampleRange){ false, low, high }, &is_new);
    if (is_new) ag_fill_uniform(x, low, high);
    return x;
}

Tensor *sample_positive(Sample *s, int i, AgShape shape)
{
    return sample_range(s, i, shape, 0.3, 2.0);
}

/* 0.15, 0.35, ... with alternating signs, not in sorted order. */
double sample_apart_value(int i, int64_t j, int64_t n)
{
    int64_t rank = n % 7 ? j * 7 % n : j;
    return (0.15 + 0.05 * i + 0.2 * (double)rank) * (j % 2 ? -1 : 1);
}

Tensor *sample_apart(Sample *s, int i, AgShape shape)
{
    bool is_new;
    Tensor *x = sample_input(s, i, shape, (SampleRange){ true, -INFINITY, INFINITY }, &is_new);
    for (int64_t j = 0; is_new && j < x->numel; j++) reals(x)[j] = (real)sample_apart_value(i, j, x->numel);
    return x;
}

Tensor *sample_ids(AgShape shape, int32_t below)
{
    Tensor *ids = tensor_ints(shape, NULL);
    for (int64_t i = 0; i < ids->numel; i++) ints(ids)[i] = (int32_t)((i * 5 + 2) % below);
    return ids;
}

Tensor *sample_mask(AgShape shape)
{
    Tensor *mask = tensor_bools(shape, NULL);
    for (int64_t i = 0; i < mask->numel; i++) bools(mask)[i] = i % 3 != 1;
    return mask;
}

typedef struct { const Op *op; Sample sample; } SampleCall;

/* Calls the sample with these inputs in place of those that the first call created. */
static Tensor *call_sample(Tensor **in, void *arg)
{
    const SampleCall *call = arg;
    Tensor *inputs[MAX_INPUTS] = { NULL };
    for (int i = 0, n = 0; i < MAX_INPUTS; i++)
        if (call->sample.in[i]) inputs[i] = in[n++];
    Sample sample = call->sample;
    sample.in = inputs;
    return call->op->sample(&sample);
}

/* Checks one case of an operation, without and with `alias`. 1: passed, 0: failed, -1: there is no such case. */
static int check_case(const Op *op, int number, FILE *report)
{
    int result = 1;
    for (int alias = 0; alias < 2 && result == 1; alias++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *created[MAX_INPUTS] = { NULL }, *in[MAX_INPUTS];
        SampleCall call = { op, { .number = number, .in = created, .alias = alias } };
        Tensor *y = op->sample(&call.sample);
        int n = 0;
        for (int i = 0; i < MAX_INPUTS; i++)
            if (created[i]) in[n++] = created[i];
        for (int i = 0; in_bf16() && i < n; i++)
            for (int64_t j = 0; j < in[i]->numel; j++) reals(in[i])[j] = (real)(round((double)reals(in[i])[j] / GRID) * GRID);
        if (!y) result = -1;
        else if (!ag_gradcheck(call_sample, &call, in, n, report)) result = 0;
        for (int i = 0; i < n; i++) tensor_free(in[i]);
        ag_end(s);
    }
    return result;
}

int op_check(const Op *op, FILE *report)
{
    AgRandom random = ag_random_state();
    ag_seed(1);
    int cases = 0, result;
    while ((result = check_case(op, cases, report)) == 1) cases++;
    ag_set_random_state(random);
    return result == 0 ? -1 - cases : cases;
}

int ag_check_op(const char *name, FILE *report)
{
    ag_check_pointer_at(AG_HERE, "ag_check_op", "name", name);
    for (int i = 0; i < ag_op_count(); i++)
        if (strcmp(op_table[i].name, name) == 0) return op_check(&op_table[i], report);
    return 0;
}
