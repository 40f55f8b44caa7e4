/* check.c: compares the answers with the library's results. */
#include "check.h"

#include <math.h>

#include "common/common.h"
#include "kaeru/module.h"

static const char *const file = "examples/grade/answers.c";

bool same(const double *got, Tensor *t)
{
    for (int i = 0; i < tensor_numel(t); i++) {
        double want = (double)tensor_data(t)[i];
        if (!(fabs(got[i] - want) <= 1e-4 * (1 + fabs(want)))) {
            return false;
        }
    }
    return true;
}

void grade(const char *name, const double *got, Tensor *want, const Mistake *mistake)
{
    int i = 0;
    printf("%-12s ", name);
    if (same(got, want)) {
        printf("right\n");
        return;
    }
    if (same(got, tensor_zeros(tensor_shape(want)))) {
        printf("not written yet\n");
    } else {
        while (fabs(got[i] - (double)tensor_data(want)[i]) <= 1e-4) {
            i++;
        }
        printf("wrong: number %d of the result is %g, expected %g\n", i, got[i], (double)tensor_data(want)[i]);
        if (!isfinite(got[i])) {
            printf("             e^x of a large x is infinite. Subtract the largest x first.\n");
        }
        for (; mistake->why; mistake++) {
            if (same(got, mistake->result)) {
                printf("             %s\n", mistake->why);
            }
        }
    }
    example_complain("%s in %s is not right yet", name, file);
}

Tensor *library_adam(const double *dw, double lr)
{
    Tensor *t = tensor_zeros(SHAPE(STEPS)), *w = tensor_set_requires_grad(tensor_ones(AG_SCALAR), true);
    Tensor *m = tensor_zeros(AG_SCALAR), *v = tensor_zeros(AG_SCALAR);
    AgAdam o = nn_adam_options(lr);
    for (int i = 0; i < STEPS; i++) {
        AgScope scope = ag_begin(AG_RECORD);
        ag_backward(ag_scale(w, dw[i]));
        ag_adam_update_part(w, 0, 1, tensor_grad_data(w), tensor_mutable_data(m), tensor_mutable_data(v), &o, i + 1, 1);
        tensor_zero_grad(w);
        ag_end(scope);
        tensor_mutable_data(t)[i] = (ag_real)tensor_item(w);
    }
    return t;
}

Tensor *wrong_adam(AdamMistake how, const double *dw, double lr)
{
    Tensor *t = tensor_zeros(SHAPE(STEPS));
    double w = 1, m = 0, v = 0;
    for (int i = 1; i <= STEPS; i++) {
        double g = dw[i - 1], start_m = how == UNCORRECTED ? 1 : 1 - pow(0.9, i);
        double start_v = how == UNCORRECTED ? 1 : 1 - pow(0.999, i);
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * (how == NOT_SQUARED ? g : g * g);
        w -= how == NO_AVERAGES ? lr * g : (how == UPHILL ? -1 : 1) * lr * (m / start_m) / (sqrt(v / start_v) + 1e-8);
        tensor_mutable_data(t)[i - 1] = (ag_real)w;
    }
    return t;
}

Tensor *intervals(IntervalMistake how, const double *p, const int *symbol)
{
    Tensor *t = tensor_zeros(SHAPE(2 * SYMBOLS));
    double low = 0, length = 1;
    for (int i = 0; i < SYMBOLS; i++) {
        double before = 0, old = length;
        for (int j = 0; j < symbol[i]; j++) {
            before += p[j];
        }
        length = how == LENGTH_OF_ONE ? p[symbol[i]] : length * p[symbol[i]];
        low += how == NOT_MOVED ? 0 : before * (how == MOVED_BY_SHARES ? 1 : how == LENGTH_FIRST ? length : old);
        tensor_mutable_data(t)[2 * i] = (ag_real)low;
        tensor_mutable_data(t)[2 * i + 1] = (ag_real)length;
    }
    return t;
}
