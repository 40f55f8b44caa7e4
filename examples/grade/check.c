/* check.c: compares the answers with the library's results. */
#include "check.h"

#include <math.h>

#include "common/common.h"
#include "kaeru/module.h"

static const char *const file = "examples/grade/answers.c";

static bool agree(double got, double want)
{
    return got == want || fabs(got - want) <= 1e-5 * (1 + fabs(want));
}

/* Whether the answer has the result of a mistake. Some numbers may be infinite or NaN in both. */
static bool same_mistake(const double *got, Tensor *result)
{
    for (int i = 0; i < tensor_numel(result); i++) {
        double wrong = (double)tensor_data(result)[i];
        if (!agree(got[i], wrong) && (isfinite(got[i]) || isfinite(wrong))) {
            return false;
        }
    }
    return true;
}

/* Whether the numbers are `factor` times those of the tensor. */
static bool same(const double *got, Tensor *want, double factor)
{
    for (int i = 0; i < tensor_numel(want); i++) {
        if (!agree(got[i], factor * (double)tensor_data(want)[i])) {
            return false;
        }
    }
    return true;
}

/* The likely mistake: one of the list, `not_finite` if the first wrong number is not finite, or a constant factor. */
static void print_mistake(const double *got, Tensor *want, double wrong, const char *not_finite, const Mistake *mistake)
{
    int largest = 0;
    for (; mistake->why; mistake++) {
        if (same_mistake(got, mistake->result)) {
            say("             %s\n", mistake->why);
            return;
        }
    }
    if (!isfinite(wrong)) {
        say("             %s\n", not_finite);
        return;
    }
    for (int i = 0; i < tensor_numel(want); i++) {
        largest = fabs(tensor_data(want)[i]) > fabs(tensor_data(want)[largest]) ? i : largest;
    }
    double factor = got[largest] / (double)tensor_data(want)[largest];
    if (factor != 0 && same(got, want, factor)) {
        say("             Each number is %g times the expected one.\n", factor);
    }
}

static void print_grade(const char *name, const double *got, Tensor *want, const char *not_finite, const Mistake *mistake,
                        const char *first)
{
    int i = 0;
    printf("%-12s ", name);
    if (same(got, want, 1)) {
        say("right\n");
        return;
    }
    if (first) {
        say("not checked: %s must be right first\n", first);
    } else if (same(got, tensor_zeros(tensor_shape(want)), 1)) {
        say("not written yet\n");
    } else {
        while (agree(got[i], (double)tensor_data(want)[i])) {
            i++;
        }
        say("wrong: number %d of the result is %g, expected %g\n", i, got[i], (double)tensor_data(want)[i]);
        print_mistake(got, want, got[i], not_finite, mistake);
    }
    example_complain("%s in %s is not right yet", name, file);
}

void grade(const char *name, const double *got, Tensor *want, const char *not_finite, const Mistake *mistake)
{
    print_grade(name, got, want, not_finite, mistake, NULL);
}

/* Calls the answer with a y that is filled with `start`. */
static void call_from(double start, Answer *answer, double y[MOST_NUMBERS])
{
    for (int i = 0; i < MOST_NUMBERS; i++) {
        y[i] = start;
    }
    answer(y);
}

bool is_right(Answer *answer, Tensor *want)
{
    double from_zero[MOST_NUMBERS], from_nan[MOST_NUMBERS];
    call_from(0, answer, from_zero);
    call_from(NAN, answer, from_nan);
    return same(from_zero, want, 1) && same(from_nan, want, 1);
}

static bool leaves(double start, Answer *answer, Tensor *want)
{
    double y[MOST_NUMBERS];
    call_from(start, answer, y);
    return same(y, tensor_full(tensor_shape(want), start), 1);
}

/* If the result is right, NaN shows whether it depends on what y held before. */
void grade_answer(const char *name, Answer *answer, Tensor *want, const char *not_finite, const Mistake *mistake,
                  const char *first)
{
    double y[MOST_NUMBERS];
    call_from(0, answer, y);
    if (same(y, want, 1)) {
        call_from(NAN, answer, y);
        not_finite = "y is not 0 at first: set it before you add.";
    } else if (leaves(0, answer, want) && leaves(1, answer, want)) {
        first = NULL;                                           /* it is not written, whatever it will call */
    }
    print_grade(name, y, want, not_finite, mistake, first);
}

double adam_gradient(int run, int step)
{
    static const double dw[STEPS] = { 0.5, 0.2, -0.1, 0.3 };
    return run == 0 ? dw[step] : 1e-7 * dw[step];
}

Tensor *library_adam(double lr)
{
    Tensor *t = tensor_zeros(SHAPE(RUNS * STEPS));
    AgAdam o = nn_adam_options(lr);
    for (int run = 0; run < RUNS; run++) {
        Tensor *w = tensor_set_requires_grad(tensor_ones(AG_SCALAR), true);
        Tensor *m = tensor_zeros(AG_SCALAR), *v = tensor_zeros(AG_SCALAR);
        for (int i = 0; i < STEPS; i++) {
            AgScope scope = ag_begin(AG_RECORD);
            ag_backward(ag_scale(w, adam_gradient(run, i)));
            ag_adam_update_part(w, 0, 1, tensor_grad_data(w), tensor_mutable_data(m), tensor_mutable_data(v), &o, i + 1, 1);
            tensor_zero_grad(w);
            ag_end(scope);
            tensor_mutable_data(t)[run * STEPS + i] = (ag_real)tensor_item(w);
        }
    }
    return t;
}

const char *const adam_mistake[ADAM_MISTAKES] = {
    [UNCORRECTED] = "Divide m by 1 - 0.9^step and v by 1 - 0.999^step.",
    [M_UNCORRECTED] = "Divide m by 1 - 0.9^step, too.",
    [V_UNCORRECTED] = "Divide v by 1 - 0.999^step, too.",
    [NOT_SQUARED] = "v is the average of the squares, dw * dw.",
    [NO_AVERAGES] = "This is gradient descent: use m and v.",
    [NO_M] = "The numerator is m, not dw.",
    [UPHILL] = "Subtract the step: w must go down, against the gradient.",
    [NO_ROOT] = "Divide by the square root of v.",
    [NO_EPS] = "1e-8 is missing: add it to the square root of v.",
    [EPS_IN_ROOT] = "Add 1e-8 to the square root of v, not to v.",
    [EXCHANGED] = "0.9 belongs to m, 0.999 to v.",
    [NO_SHARE] = "The new gradient counts 0.1 in m, and its square 0.001 in v.",
    [FORGETS] = "Store the new m and v in *m and *v for the next step.",
    [ONE_STEP_LATE] = "step counts from 1: use it as it is.",
};

/* One step with this mistake. */
static void step_wrongly(AdamMistake how, double *w, double *m, double *v, double dw, int step, double lr)
{
    double beta1 = how == EXCHANGED ? 0.999 : 0.9, beta2 = how == EXCHANGED ? 0.9 : 0.999;
    int steps = step + (how == ONE_STEP_LATE);
    double start_m = how == UNCORRECTED || how == M_UNCORRECTED ? 1 : 1 - pow(beta1, steps);
    double start_v = how == UNCORRECTED || how == V_UNCORRECTED ? 1 : 1 - pow(beta2, steps);
    if (how == FORGETS) {
        *m = *v = 0;
    }
    *m = beta1 * *m + (how == NO_SHARE ? 1 : 1 - beta1) * dw;
    *v = beta2 * *v + (how == NO_SHARE ? 1 : 1 - beta2) * (how == NOT_SQUARED ? dw : dw * dw);
    double average = how == NO_M ? dw : *m / start_m, squares = *v / start_v, eps = how == NO_EPS ? 0 : 1e-8;
    double root = how == NO_ROOT ? squares + eps : how == EPS_IN_ROOT ? sqrt(squares + eps) : sqrt(squares) + eps;
    *w -= how == NO_AVERAGES ? lr * dw : (how == UPHILL ? -1 : 1) * lr * average / root;
}

Tensor *wrong_adam(AdamMistake how, double lr)
{
    Tensor *t = tensor_zeros(SHAPE(RUNS * STEPS));
    for (int run = 0; run < RUNS; run++) {
        double w = 1, m = 0, v = 0;
        for (int i = 0; i < STEPS; i++) {
            step_wrongly(how, &w, &m, &v, adam_gradient(run, i), i + 1, lr);
            tensor_mutable_data(t)[run * STEPS + i] = (ag_real)w;
        }
    }
    return t;
}

Tensor *intervals(IntervalMistake how, const double *p, const int *symbol)
{
    Tensor *t = tensor_zeros(SHAPE(2 * SYMBOLS));
    double low = 0, length = 1;
    for (int i = 0; i < SYMBOLS; i++) {
        double before = 0, old = length;
        for (int j = how == FIRST_PART_LEFT_OUT; j < symbol[i] + (how == ONE_PART_TOO_MANY); j++) {
            before += p[j];
        }
        length = how == LENGTH_KEPT ? length : how == LENGTH_OF_ONE ? p[symbol[i]] : length * p[symbol[i]];
        low = how == LOW_REPLACED ? 0 : low;
        low += how == NOT_MOVED ? 0 : before * (how == MOVED_BY_SHARES ? 1 : how == LENGTH_FIRST ? length : old);
        tensor_mutable_data(t)[2 * i] = (ag_real)low;
        tensor_mutable_data(t)[2 * i + 1] = (ag_real)length;
    }
    return t;
}
