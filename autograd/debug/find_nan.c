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

#include <string.h>

static int64_t first_not_finite(const real *x)
{
    int64_t i = 0;
    while (k_all_finite(1, x + i)) i++;
    return i;
}

static const char *kind_of(real x) { return x != x ? "NaN" : "infinity"; }

/* Writes which input, if any, already had a NaN or an infinity. */
static void describe_bad_input(const Tensor *y, char *text, size_t size)
{
    for (int j = 0; j < y->n_in; j++) {
        const Tensor *x = y->in[j];
        if (!x || x->dtype != AG_REAL || !x->data || k_all_finite(x->numel, x->data)) continue;
        int64_t i = first_not_finite(x->data);
        snprintf(text, size, "; input %d already has %s, at item %lld", j, kind_of(((const real *)x->data)[i]),
                 (long long)i);
        return;
    }
}

/* `what`: the result of the operation, or a gradient that its rule computed. */
static void check_finite(const Tensor *made_by, const char *what, int64_t n, const real *x)
{
    if (k_all_finite(n, x)) return;
    int64_t i = first_not_finite(x);
    char inputs[4 * AG_SHAPE_TEXT] = "", bad[96] = "";
    describe_bad_input(made_by, bad, sizeof bad);
    for (int j = 0; j < made_by->n_in && j < 4; j++) {
        if (!made_by->in[j]) continue;
        strcat(strcat(inputs, *inputs ? ", " : " of inputs "), shape_text(made_by->in[j]->shape));
    }
    usage_error_of(made_by, made_by->origin.made_by, "first %s found in %s, item %lld; shape %s%s%s", kind_of(x[i]), what,
                  (long long)i, shape_text(made_by->shape), inputs, bad);
}

static void search(Event event, Tensor *t)
{
    if (event == COMPUTED && !t->infinite) check_finite(t, "its result", t->numel, reals(t));
    for (int i = 0; event == RULE_ENDS && i < t->n_in; i++)
        if (t->in[i] && t->in[i]->grad)
            check_finite(t, "the gradient that it computed", t->in[i]->numel, grad_of(t->in[i]));
}

void ag_find_nan(bool on)
{
    observe(FIND_NAN, on ? search : NULL, KEEP_INPUTS | NO_FUSION);
}
