/* gradcheck.c: compares the gradients of a function with finite differences (ag_gradcheck).
 *
 * The check reduces the result of the function to one number, with random weights. A plain sum would hide errors: the entries
 * of a softmax sum to 1, so the gradient of their sum is 0, and a rule that always gives 0 would pass.
 * - The function is called twice and both results are used, each with its own weights. This finds a rule that overwrites a
 *   gradient where it should add.
 * - The function's inputs and results are intermediate values of a graph, so backward releases them. This finds a rule that
 *   reads a value without declaring it.
 * - New memory for gradients is filled with UNWRITTEN. This finds a rule that adds to it, or does not write it. */
#include <math.h>

#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/debug.h"
#include "kaeru/more_ops.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "program_calls.h"
#include "op.h"
#include "philox.h"
#include "scope.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"
#include "utf8.h"

/* With AG_BF16 inputs, random weights and the step are multiples of GRID: products of two of them, and their sums, are exact.
 * Rounding then changes nothing, and the difference quotient of a product is exact, too. */
#define GRID (1.0 / 16)

#ifdef KAERU_DOUBLE
static const double float_step = 1e-6, absolute = 1e-5, relative = 1e-3;
#else
static const double float_step = 1e-2, absolute = 1e-3, relative = 1e-3;
#endif

enum { PLAIN = 2, SUMS };      /* sums of a result: with the weights of use 0, of use 1, and without weights */
/* What the check finds for one entry of an input. */
typedef struct {
    double gradient, numerical;
    double by_sum[SUMS];        /* the numerical gradient of each of the two uses, and of the plain sum of the result */
    bool wrong;
    /* Of a wrong entry, if there is a report: */
    int64_t reached;            /* how many entries of the result depend on it */
    double last[2];             /* the part of the numerical gradient that comes from the last of these, by use */
} Entry;

typedef struct {
    int number;
    const Tensor *x;
    Entry *entry;
    int64_t wrong;              /* the number of wrong entries */
    double largest;             /* the largest gradient or the largest numerical one, whichever is smaller */
} Input;

static bool in_bf16(void)
{
    return ag_precision_now() == AG_BF16;
}
static double step_size(void) { return in_bf16() ? GRID : float_step; }

/* The weight of entry i in a sum of the result: 0.5..1.5 with a random sign; 1 in the plain sum. */
static double weight(int use, int64_t i)
{
    uint32_t word[4];
    if (use == PLAIN) return 1;
    k_philox(20170612, (uint64_t)i * 2 + (uint64_t)use, word);
    double u = word[0] * 0x1p-32 + 0.5;
    if (in_bf16()) u = round(u / GRID) * GRID;
    return word[1] & 1 ? -u : u;
}

/* The function that is checked, which must end the scopes that it begins, and return a tensor of reals. */
typedef struct { AgFunction *f; void *arg; Tensor **in; int n; } Check;

static Tensor *call(const Check *c)
{
    int depth = innermost_scope().depth;
    const Calls before = program_begins();
    Tensor *result = c->f(c->in, c->arg);
    function_ends(before);
    if (innermost_scope().depth != depth)
        ag_usage_error("ag_gradcheck", "f must end the scopes that it begins: %d were open before its call, %d after it",
                       depth, innermost_scope().depth);
    check_tensor("ag_gradcheck", "the result of f", result, AG_REAL);
    return result;
}

/* The result of the function as numbers: the weighted sum of each use, and the plain sum. */
static void evaluate(const Check *c, double sum[SUMS])
{
    AgScope s = ag_begin(AG_NO_GRAD);
    const Tensor *y = call(c);
    for (int use = 0; use < SUMS; use++) {
        sum[use] = 0;
        for (int64_t i = 0; i < y->numel; i++) sum[use] += weight(use, i) * (double)reals(y)[i];
    }
    ag_end(s);
}

/* Runs backward from both results. The gradient of each entry is its weight. */
static void run_backward(Tensor *first, Tensor *second)
{
    Tensor *result[] = { ag_reshape(first, SHAPE(first->numel)),
                         ag_reshape(second, SHAPE(second->numel)) };
    Tensor *both = ag_concat(result, 2, 0);
    Tensor *dy = tensor_new("ag_gradcheck", &both->shape, AG_REAL);
    for (int64_t i = 0; i < both->numel; i++)
        reals(dy)[i] = (real)(i < first->numel ? weight(0, i) : weight(1, i - first->numel));
    if (both->requires_grad) ag_backward_from(both, dy);
}

/* Sets the numerical gradient of the entry at x: the central difference. */
static void set_numerical(const Check *c, real *x, double step, Entry *e)
{
    real before = *x;
    double up[SUMS], down[SUMS];
    *x = (real)((double)before + step);
    double above = (double)*x;
    evaluate(c, up);
    *x = (real)((double)before - step);
    double below = (double)*x;
    evaluate(c, down);
    *x = before;
    for (int k = 0; k < SUMS; k++) e->by_sum[k] = (up[k] - down[k]) / (above - below);
    e->numerical = (up[0] + up[1] - (down[0] + down[1])) / (above - below);
}

/* Whether the difference is within `times` the tolerance. `largest`: as in Input. */
static bool agree_within(double times, double gradient, double numerical, double largest)
{
    bool is_float = sizeof(real) == sizeof(float);
    double allowed = times * (absolute * (is_float ? fmax(1, largest) : 1) + relative * fabs(numerical));
    return isfinite(gradient) && isfinite(numerical) && fabs(gradient - numerical) <= allowed;
}
static bool agree(double gradient, double numerical, double largest) { return agree_within(1, gradient, numerical, largest); }

/* Whether the entry at x is wrong. If the function is curved or has a kink near x, the difference quotient is inexact and
 * changes with the step. So the difference may also be as large as this change, up to 20 times the tolerance. */
static bool is_wrong(const Check *c, real *x, const Entry *e, double largest)
{
    if (agree(e->gradient, e->numerical, largest)) return false;
    Entry wide;
    set_numerical(c, x, 2 * step_size(), &wide);
    return !agree_within(20, e->gradient, e->numerical, largest) ||
           fabs(e->gradient - e->numerical) > fabs(wide.numerical - e->numerical);
}

/* Finds which entries of a result depend on the entry at x, and the part of its gradient that comes from the last of them. */
static void find_reached(const Check *c, real *x, Entry *e)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    real before = *x;
    *x = (real)((double)before + step_size());
    const Tensor *up = ag_scale(call(c), 1);          /* a copy: f may return the input */
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
    ag_end(s);
}

/* ---- the report --------------------------------------------------------------------------------------------------- */

enum { MAX_PRINTED = 8 };       /* entries that are printed one by one */

/* What may explain all wrong entries of an input. The first one that does is printed. */
enum { IS_ZERO, ADDS_TO_UNWRITTEN, LEAVES_UNWRITTEN, FIRST_USE, SECOND_USE, LAST_PART, IGNORES_DY, REASONS };
static const char one_use[] = "only one of two uses counts: a rule must add to the gradient (+=), not overwrite it";
static const char *const reason_text[REASONS] = {
    [IS_ZERO] = "the gradient is 0",
    [ADDS_TO_UNWRITTEN] =
        "a rule adds to memory that was not written: where grad_into returns add = false, it must write (=)",
    [LEAVES_UNWRITTEN] = "a rule leaves memory unwritten: where grad_into returns add = false, it must write every entry",
    [FIRST_USE] = one_use,
    [SECOND_USE] = one_use,
    [IGNORES_DY] = "they are right for the loss y[0] + y[1] + ...: a rule must multiply by dy, the gradient of its result",
    [LAST_PART] = "only the last of several entries of the result counts: a rule must add up (+=) the parts of all of them",
};

/* Clears the reasons that do not explain this entry. */
static void keep_reasons(bool reason[REASONS], const Entry *e, double largest)
{
    double gradient = e->gradient, added = gradient - UNWRITTEN;
    const double *use = e->by_sum, *last = e->last;
    reason[IS_ZERO] &= gradient == 0;
    reason[ADDS_TO_UNWRITTEN] &= agree(added, e->numerical, largest);
    /* What no rule wrote is UNWRITTEN, or UNWRITTEN plus the gradient of one use if the other use's rule added to it. */
    reason[LEAVES_UNWRITTEN] &= agree(added, 0, largest) || agree(added, use[0], largest) || agree(added, use[1], largest);
    reason[FIRST_USE] &= agree(gradient, use[0], largest);
    reason[SECOND_USE] &= agree(gradient, use[1], largest);
    /* In a loop over the result, each part overwrote the one before. */
    reason[LAST_PART] &= e->reached > 1 && (agree(gradient, last[0], largest) || agree(gradient, last[1], largest) ||
                                            agree(gradient, last[0] + last[1], largest));
    reason[IGNORES_DY] &= agree(gradient, 2 * e->by_sum[PLAIN], largest);               /* of two uses */
}

/* The input whose values are missing as a factor of the wrong entries, or else (`often`) are there once too often; NULL if
 * there is none. It has the shape of x, or of x's last dimensions. */
static const Tensor *wrong_factor(const Check *check, const Input *c, bool often)
{
    for (int k = 0; k < check->n; k++) {
        const Tensor *v = check->in[k];
        bool explains = v->numel > 0 && c->x->numel % v->numel == 0;
        for (int64_t j = 0; explains && j < c->x->numel; j++) {
            const Entry *e = &c->entry[j];
            double factor = (double)reals(v)[j % v->numel];
            if (e->wrong) explains = often ? agree(e->gradient, e->numerical * factor, c->largest)
                                           : agree(e->gradient * factor, e->numerical, c->largest);
        }
        if (explains) return v;
    }
    return NULL;
}

static const char *name_of(const Tensor *input) { return input->origin.name ? input->origin.name : "of an input"; }

static void print_reason(FILE *out, const Check *check, const Input *c)
{
    bool one = c->wrong == 1, finite = true, has_factor = true, reason[REASONS];
    double low = INFINITY, high = -INFINITY;                    /* of gradient / numerical */
    const Tensor *missing, *extra;
    for (int k = 0; k < REASONS; k++) reason[k] = true;
    for (int64_t j = 0; j < c->x->numel; j++) {
        const Entry *e = &c->entry[j];
        if (!e->wrong) continue;
        finite &= isfinite(e->gradient) && isfinite(e->numerical);
        has_factor &= e->numerical != 0;
        low = fmin(low, e->gradient / e->numerical);
        high = fmax(high, e->gradient / e->numerical);
        keep_reasons(reason, e, c->largest);
    }
    int k = 0;
    while (k < REASONS && !reason[k]) k++;
    if (!finite) fputs(one ? "it is not finite" : "some are not finite", out);
    else if (k < REASONS) fputs(reason_text[k], out);
    else if (!has_factor) fputs(one ? "it should be 0" : "some should be 0", out);
    else if ((missing = wrong_factor(check, c, false))) fprintf(out, "the factor %s is missing", name_of(missing));
    else if ((extra = wrong_factor(check, c, true))) fprintf(out, "the factor %s is there once too often", name_of(extra));
    else if (high - low <= 0.05 * fabs(high)) {
        double factor = (low + high) / 2;
        int digits = fabs(factor - 1) < 0.005 ? 5 : 3;          /* with three it would read as 1 */
        fprintf(out, "%s %.*g times the correct value", one ? "it is" : "each is", digits, factor);
    } else fprintf(out, "they are %.3g to %.3g times the correct values", low, high);
}

/* Prints how many entries are wrong, in which way, and the first few of them. */
static void print_wrong_entries(FILE *out, const Check *check, const Input *c)
{
    const Tensor *x = c->x;
    fprintf(out, "input %d%s", c->number, x->origin.name ? ", " : "");
    utf8_print(out, x->origin.name ? x->origin.name : "");
    fprintf(out, " %s: ", shape_text(x->shape));
    if (x->numel == 1) fputs("its only entry is wrong: ", out);
    else fprintf(out, "%lld of %lld entries %s wrong: ", (long long)c->wrong, (long long)x->numel,
                 c->wrong == 1 ? "is" : "are");
    print_reason(out, check, c);
    fputc('\n', out);
    int64_t printed = 0;
    for (int64_t j = 0; j < x->numel && printed < MAX_PRINTED; j++) {
        const Entry *e = &c->entry[j];
        if (!e->wrong) continue;
        fputs("  ", out);
        int64_t inner = x->numel;
        for (int d = 0; d < x->shape.ndim; d++) {               /* "[1][2]" for an entry of a matrix; nothing for a scalar */
            inner /= x->shape.dim[d];
            fprintf(out, "[%lld]", (long long)(j / inner % x->shape.dim[d]));
        }
        fprintf(out, " gradient %.6g, numerical %.6g, ratio %.4g\n", e->gradient, e->numerical,
                e->gradient / e->numerical + 0.0);      /* 0 rather than -0 */
        printed++;
    }
    if (c->wrong > printed) fprintf(out, "  ... and %lld more\n", (long long)(c->wrong - printed));
}

/* ---- the check --------------------------------------------------------------------------------------------------- */

/* Checks every entry of input i; prints the wrong ones. */
static bool check_input(const Check *c, int i, FILE *report)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = c->in[i];
    const real *grad = tensor_grad_data(x);
    Input checked = { .number = i, .x = x };
    checked.entry = ag_scratch((size_t)x->numel, sizeof *checked.entry);
    double largest = 0, largest_numerical = 0;
    for (int64_t j = 0; j < x->numel; j++) {
        Entry *e = &checked.entry[j];
        set_numerical(c, reals(x) + j, step_size(), e);
        e->gradient = grad ? (double)grad[j] : 0;
        largest = fmax(largest, fabs(e->gradient));
        largest_numerical = fmax(largest_numerical, fabs(e->numerical));
    }
    checked.largest = fmin(largest, largest_numerical);
    for (int64_t j = 0; j < x->numel; j++) {
        Entry *e = &checked.entry[j];
        e->wrong = is_wrong(c, reals(x) + j, e, checked.largest);
        checked.wrong += e->wrong;
        if (report && e->wrong) find_reached(c, reals(x) + j, e);
    }
    if (report && checked.wrong > 0) print_wrong_entries(report, c, &checked);
    ag_end(s);
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

bool ag_gradcheck(AgFunction *f, void *arg, Tensor **in, int n, FILE *report)
{
    AG_LAYER;
    AgScope s = ag_begin(AG_RECORD);
    AgRandom random = ag_random_state();
    bool requires_grad = false;
    if (!f || !in) ag_usage_error(__func__, "%s is NULL", f ? "in" : "f");
    for (int i = 0; i < n; i++) {
        check_tensor(__func__, "an input", in[i], AG_REAL);
        requires_grad = requires_grad || in[i]->requires_grad;
        if (in[i]->op) ag_usage_error(__func__, "input %d was made by %s, expected a leaf", i, in[i]->op->name);
        tensor_zero_grad(in[i]);
    }
    for (int i = 0; in_bf16() && i < n; i++)
        for (int64_t j = 0; j < in[i]->numel; j++)
            if (fabs((double)reals(in[i])[j]) > 7 || fmod((double)reals(in[i])[j], GRID) != 0)
                ag_usage_error(__func__, "item %lld of input %d is %g; with AG_BF16 expected multiples of 1/16 from "
                               "-7 to 7", (long long)j, i, (double)reals(in[i])[j]);
    if (!requires_grad)
        ag_usage_error(__func__, "none of the %d inputs requires a gradient, so there is nothing to check: call "
                       "tensor_set_requires_grad on them", n);
    Tensor **scaled = scope_alloc(__func__, (size_t)n * sizeof *scaled);
    for (int i = 0; i < n; i++) scaled[i] = ag_scale(in[i], 1);          /* no leaves: backward releases them */
    Tensor *first = call(&(Check){ f, arg, scaled, n });
    Tensor *second = call(&(Check){ f, arg, scaled, n });
    for (int i = 0; i < n; i++)
        if (!same_values(scaled[i], in[i])) ag_usage_error(__func__, "the function changes the values of its input %d", i);
    if (!same_values(first, second))
        ag_usage_error(__func__, "two calls of the function with the same inputs give different results, expected a "
                       "function of its inputs alone (dropout: set the random state in it)");
    mark_unwritten(true);
    run_backward(first, second);
    mark_unwritten(false);
    ag_set_random_state(random);
    const Check check = { f, arg, in, n };
    bool right = true;
    for (int i = 0; i < n; i++)
        if (in[i]->requires_grad && !check_input(&check, i, report)) right = false;
    for (int i = 0; i < n; i++) tensor_zero_grad(in[i]);
    ag_set_random_state(random);
    ag_end(s);
    return right;
}
