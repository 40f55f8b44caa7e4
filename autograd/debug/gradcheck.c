/* gradcheck.c: is a gradient right? Compares it with what small steps of each input do to the output.
 *
 * The output becomes one number by weights that are random, since a plain sum hides mistakes: the softmax of anything
 * sums to 1, so its gradient by a plain sum is 0, right rule or wrong. The function is called twice and both results
 * are used, each with weights of its own, so that a rule which writes where it should add is caught. Inputs and results
 * lie in the middle of a graph, so that a rule which reads a value that it did not declare finds it gone. Memory for
 * gradients holds a mark until it is written, so that a rule which adds to it, or leaves it, is told from others. */
#include <math.h>
#include <string.h>

#include "gradcheck.h"

#ifdef KAERU_DOUBLE
static const double step = 1e-6, absolute = 1e-5, relative = 1e-3;
#else
static const double step = 1e-2, absolute = 2e-2, relative = 2e-2;
#endif

/* The weights of use number `use` for an output of n entries: uniform in 0.5..1.5, with signs. */
static double weight(int use, int64_t i)
{
    uint32_t word[4];
    k_philox(20170612, (uint64_t)i * 2 + (uint64_t)use, word);
    double u = word[0] * 0x1p-32 + 0.5;
    return word[1] & 1 ? -u : u;
}

/* sum over both uses of weight * output, in double. */
static double weigh(const Tensor *y, int use)
{
    double total = 0;
    for (int64_t i = 0; i < y->numel; i++) total += weight(use, i) * (double)reals(y)[i];
    return total;
}

/* The function's two results, each as one number. */
typedef struct { double use[2]; } Outcome;

static Outcome outcome(Site at, AgFunction *f, void *arg, Tensor **in)
{
    Scope s = ag_begin_at(at, AG_NO_GRAD);
    Outcome o = { .use = { weigh(f(in, arg), 0) } };
    o.use[1] = weigh(f(in, arg), 1);
    ag_end_at(at, s);
    return o;
}

/* A value in the middle of a graph, which backward gives back as soon as no rule declares that it reads it. */
static Tensor *in_the_middle(Site at, Tensor *x)
{
    return ag_scale_at(at, x, 1, 0);
}

/* One pass back from both results, each entry with its weight. */
static void send_back(Site at, Tensor *first, Tensor *second)
{
    Tensor *result[] = { ag_reshape_at(at, first, SHAPE(first->numel)),
                         ag_reshape_at(at, second, SHAPE(second->numel)) };
    Tensor *both = ag_concat_at(at, result, 2, 0);
    Tensor *dy = tensor_new(at, "ag_gradcheck", &both->shape, AG_REAL);
    for (int64_t i = 0; i < both->numel; i++)
        reals(dy)[i] = (real)(i < first->numel ? weight(0, i) : weight(1, i - first->numel));
    if (both->requires_grad) ag_backward_from_at(at, both, dy);
}

/* What steps of entry j of an input to either side do to each result. */
static void step_entry(Site at, AgFunction *f, void *arg, Tensor **in, real *x, CheckedEntry *e)
{
    real before = *x;
    *x = (real)((double)before + step);
    double above = (double)*x;
    Outcome up = outcome(at, f, arg, in);
    *x = (real)((double)before - step);
    double below = (double)*x;
    Outcome down = outcome(at, f, arg, in);
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
    return isfinite(gradient) && fabs(gradient - numerical) <= allowed;       /* an infinite one would allow itself */
}

/* Which entries of one result does this entry of an input reach, and what comes back from the last of them? */
static void follow_entry(Site at, AgFunction *f, void *arg, Tensor **in, real *x, CheckedEntry *e)
{
    Scope s = ag_begin_at(at, AG_NO_GRAD);
    real before = *x;
    *x = (real)((double)before + step);
    const Tensor *up = ag_scale_at(at, f(in, arg), 1, 0);             /* a copy: it may be x itself */
    *x = (real)((double)before - step);
    const Tensor *down = f(in, arg);
    double largest = 0, width = 2 * step;
    for (int64_t k = 0; k < up->numel; k++) largest = fmax(largest, fabs((double)(reals(up)[k] - reals(down)[k])));
    for (int64_t k = 0; k < up->numel; k++) {
        double change = (double)reals(up)[k] - (double)reals(down)[k];
        if (fabs(change) <= 1e-3 * largest) continue;
        e->reaches++;
        for (int use = 0; use < 2; use++) e->last[use] = weight(use, k) * change / width;
    }
    *x = before;
    ag_end_at(at, s);
}

/* Every entry of input i; reports if one is wrong. */
static bool check_input(Site at, AgFunction *f, void *arg, Tensor **in, int i, FILE *report)
{
    Scope s = ag_begin_at(at, AG_NO_GRAD);
    Tensor *x = in[i];
    const real *grad = tensor_grad_data(x);
    Checked c = { .input = i, .x = x, .entry = ag_scratch_at(at, (size_t)x->numel, sizeof *c.entry) };
    double largest = 0, largest_numerical = 0;
    for (int64_t j = 0; j < x->numel; j++) {
        CheckedEntry *e = &c.entry[j];
        step_entry(at, f, arg, in, reals(x) + j, e);
        e->gradient = grad ? (double)grad[j] : 0;
        largest = fmax(largest, fabs(e->gradient));
        largest_numerical = fmax(largest_numerical, fabs(e->numerical));
    }
    c.largest = fmin(largest, largest_numerical);
    for (int64_t j = 0; j < x->numel; j++) {
        CheckedEntry *e = &c.entry[j];
        e->wrong = !gradients_agree(e->gradient, e->numerical, c.largest);
        c.wrong += e->wrong;
        if (report && e->wrong) follow_entry(at, f, arg, in, reals(x) + j, e);
    }
    if (report && c.wrong > 0) check_report(report, &c);
    ag_end_at(at, s);
    return c.wrong == 0;
}

bool ag_gradcheck_at(Site at, AgFunction *f, void *arg, Tensor **in, int n, FILE *report)
{
    Scope s = ag_begin_at(at, AG_RECORD);
    AgRandom random = ag_random_state();
    for (int i = 0; i < n; i++) {
        check_tensor(at, "ag_gradcheck", "an input", in[i], AG_REAL);
        if (in[i]->op) ag_usage_error(at, "ag_gradcheck", "input %d was made by %s, expected a leaf", i, in[i]->op->name);
        tensor_zero_grad(in[i]);
    }
    Tensor **middle = scope_alloc(at, "ag_gradcheck", (size_t)n * sizeof *middle);
    for (int i = 0; i < n; i++) middle[i] = in_the_middle(at, in[i]);
    Tensor *first = f(middle, arg), *second = f(middle, arg);
    check_tensor(at, "ag_gradcheck", "the function's result", first, AG_REAL);
    check_tensor(at, "ag_gradcheck", "the function's result", second, AG_REAL);
    context()->mark_unwritten = true;
    send_back(at, first, second);
    context()->mark_unwritten = false;
    ag_set_random_state(random);
    bool right = true;
    for (int i = 0; i < n; i++)
        if (in[i]->requires_grad && !check_input(at, f, arg, in, i, report)) right = false;
    ag_set_random_state(random);
    ag_end_at(at, s);
    return right;
}

/* ---- samples of registered operations ---------------------------------------------------------------------------- */

#define MAX_INPUTS 4

/* Which inputs a case asks for is found by running it once; the runs that follow are handed the same ones (or, with
 * `alias`, the first one for every later one of its shape, so that it is used twice). */
static Tensor *input(Sample *s, int i, Shape shape, SampleRange range, bool *fresh)
{
    *fresh = false;
    if (s->give) return s->give(s, i, shape, range);
    if (i >= MAX_INPUTS) ag_usage_error(AG_HERE, "sample", "input %d; a sample has at most %d", i, MAX_INPUTS);
    if (s->alias && i > 0 && s->in[0] && shape_equal(s->in[0]->shape, shape)) return s->in[0];
    if (!s->in[i]) {
        s->in[i] = tensor_set_requires_grad(ag_keep(tensor_zeros(shape)), true);
        *fresh = true;
    }
    return s->in[i];
}

Tensor *sample_in(Sample *s, int i, Shape shape)
{
    bool fresh;
    Tensor *x = input(s, i, shape, (SampleRange){ false, -INFINITY, INFINITY }, &fresh);
    if (fresh) ag_fill_normal(x, 0, 1);
    return x;
}

Tensor *sample_range(Sample *s, int i, Shape shape, double low, double high)
{
    bool fresh;
    Tensor *x = input(s, i, shape, (SampleRange){ false, low, high }, &fresh);
    if (fresh) ag_fill_uniform(x, low, high);
    return x;
}

Tensor *sample_positive(Sample *s, int i, Shape shape)
{
    return sample_range(s, i, shape, 0.3, 2.0);
}

/* 0.15 0.35 ..., in scattered order, with signs. */
double sample_apart_value(int i, int64_t j, int64_t n)
{
    int64_t place = n % 7 ? j * 7 % n : j;
    return (0.15 + 0.05 * i + 0.2 * (double)place) * (j % 2 ? -1 : 1);
}

Tensor *sample_apart(Sample *s, int i, Shape shape)
{
    bool fresh;
    Tensor *x = input(s, i, shape, (SampleRange){ true, -INFINITY, INFINITY }, &fresh);
    for (int64_t j = 0; fresh && j < x->numel; j++) reals(x)[j] = (real)sample_apart_value(i, j, x->numel);
    return x;
}

Tensor *sample_ids(Shape shape, int32_t below)
{
    Tensor *ids = tensor_ints(shape, NULL);
    for (int64_t i = 0; i < ids->numel; i++) ints(ids)[i] = (int32_t)((i * 5 + 2) % below);
    return ids;
}

Tensor *sample_mask(Shape shape)
{
    Tensor *mask = tensor_bools(shape, NULL);
    for (int64_t i = 0; i < mask->numel; i++) bools(mask)[i] = i % 3 != 1;
    return mask;
}

typedef struct { const Op *op; Sample sample; } SampleCall;

/* The inputs that the check hands over, in the places of those that the first run made. */
static Tensor *call_sample(Tensor **in, void *arg)
{
    const SampleCall *call = arg;
    Tensor *given[MAX_INPUTS] = { NULL };
    for (int i = 0, n = 0; i < MAX_INPUTS; i++)
        if (call->sample.in[i]) given[i] = in[n++];
    Sample sample = call->sample;
    sample.in = given;
    return call->op->sample(&sample);
}

/* One case of one operation: as it is, and with one tensor for all inputs of a shape. -1: there is no such case. */
static int check_case(const Op *op, int number, FILE *report)
{
    int result = 1;
    for (int alias = 0; alias < 2 && result == 1; alias++) {
        Scope s = ag_begin(AG_NO_GRAD);
        Tensor *made[MAX_INPUTS] = { NULL }, *given[MAX_INPUTS];
        SampleCall call = { op, { .number = number, .in = made, .alias = alias } };
        Tensor *y = op->sample(&call.sample);
        int n = 0;
        for (int i = 0; i < MAX_INPUTS; i++)
            if (made[i]) given[n++] = made[i];
        if (!y) result = -1;
        else if (!ag_gradcheck(call_sample, &call, given, n, report)) result = 0;
        for (int i = 0; i < n; i++) tensor_free(given[i]);
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
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(op_table[i].name, name) == 0) return op_check(&op_table[i], report);
    return 0;
}
