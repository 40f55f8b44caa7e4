/* find_nan.c: searches every result and every gradient for NaN and infinity, while ag_find_nan is on. */
#include "checks.h"
#include "gradients.h"
#include "kaeru/debug.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "observe.h"
#include "observers.h"
#include "shape.h"
#include "tensor_struct.h"

#include <math.h>
#include <string.h>

enum { FIND_NANS = 1, FIND_INFINITIES = 2 };
static _Thread_local int searched;          /* a sum of these */
static _Thread_local bool had_infinity;     /* the rule that runs reads one, or adds to one */

/* Returns the first item of these kinds, or n if there is none. */
static int64_t first_bad(int64_t n, const real *x, int kinds)
{
    if (k_all_finite(n, x)) return n;
    int64_t i = 0;
    while (i < n && !(isnan(x[i]) && (kinds & FIND_NANS)) && !(isinf(x[i]) && (kinds & FIND_INFINITIES))) i++;
    return i;
}

/* Returns the first input of y that has such an item, and sets *item, or -1. */
static int bad_input(const Tensor *y, int kinds, int64_t *item)
{
    for (int j = 0; j < y->n_in; j++) {
        const Tensor *x = y->in[j];
        if (!x || x->dtype != AG_REAL || !x->data) continue;
        *item = first_bad(x->numel, x->data, kinds);
        if (*item < x->numel) return j;
    }
    return -1;
}

/* Writes which input, if any, already had a NaN or, if none had, an infinity. */
static void describe_bad_input(const Tensor *y, char *text, size_t size)
{
    int64_t item;
    int j = bad_input(y, FIND_NANS, &item);
    const char *kind = j >= 0 ? "NaN" : "infinity";
    if (j < 0) j = bad_input(y, FIND_INFINITIES, &item);
    if (j >= 0) snprintf(text, size, "; input %d already has %s, at item %lld", j, kind, (long long)item);
}

/* `what`: the result of the operation, or a gradient that its rule computed. */
static void check_numbers(const Tensor *made_by, const char *what, int64_t n, const real *x, int kinds)
{
    int64_t i = first_bad(n, x, kinds);
    if (i == n) return;
    char inputs[4 * AG_SHAPE_TEXT] = "", bad[96] = "";
    describe_bad_input(made_by, bad, sizeof bad);
    for (int j = 0; j < made_by->n_in && j < 4; j++) {
        if (!made_by->in[j]) continue;
        strcat(strcat(inputs, *inputs ? ", " : " of inputs "), shape_text(made_by->in[j]->shape));
    }
    usage_error_of(made_by, made_by->origin.made_by, "first %s found in %s, item %lld; shape %s%s%s",
                   isnan(x[i]) ? "NaN" : "infinity", what, (long long)i, shape_text(made_by->shape), inputs, bad);
}

static bool has_infinity(int64_t n, Buffer *gradient)
{
    return gradient && first_bad(n, buffer_data(gradient), FIND_INFINITIES) < n;
}

static void search_result(const Tensor *y)
{
    int64_t item;
    bool meant = y->infinite || (!k_all_finite(y->numel, reals(y)) && bad_input(y, FIND_INFINITIES, &item) >= 0);
    check_numbers(y, "its result", y->numel, reals(y), meant ? FIND_NANS : searched);
}

/* dy is looked at before the rule, which may write the gradient of an input to its memory. */
static void note_infinities(const Tensor *y)
{
    int64_t item;
    had_infinity = has_infinity(y->numel, y->grad) || bad_input(y, FIND_INFINITIES, &item) >= 0;
    for (int i = 0; i < y->n_in && !had_infinity; i++)
        had_infinity = y->in[i] && has_infinity(y->in[i]->numel, y->in[i]->grad);
}

static void search(Event event, Tensor *t)
{
    if (event == COMPUTED) search_result(t);
    if (event == RULE_BEGINS) note_infinities(t);
    for (int i = 0; event == RULE_ENDS && i < t->n_in; i++)
        if (t->in[i] && t->in[i]->grad)
            check_numbers(t, "the gradient that it computed", t->in[i]->numel, grad_of(t->in[i]),
                          had_infinity ? FIND_NANS : searched);
}

static void set_search(bool on, int kinds)
{
    searched = kinds;
    observe(FIND_NAN, on ? search : NULL, KEEP_INPUTS | NO_FUSION);
}

void ag_find_nan(bool on)
{
    set_search(on, FIND_NANS + FIND_INFINITIES);
}

void ag_find_nan_alone(bool on)
{
    set_search(on, FIND_NANS);
}
