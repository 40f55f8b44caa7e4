/* wrong.c: Adam and the arithmetic coder with the usual mistakes, and the numbers on which they run. */
#include "wrong.h"

#include <math.h>

#include "kaeru/module.h"

double adam_gradient(int run, int step)
{
    static const double dw[STEPS] = { 0.5, 0.2, -0.1, 0.3 };
    return run == 0 ? dw[step] : 1e-7 * dw[step];
}

double adam_rate(int run)
{
    return run == 0 ? 0.1 : 0.25;
}

Tensor *library_adam(void)
{
    Tensor *t = tensor_zeros(SHAPE(RUNS * STEPS));
    for (int run = 0; run < RUNS; run++) {
        AgAdam o = nn_adam_options(adam_rate(run));
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

static const char divisors[] = "1 - 0.9^step divides m, 1 - 0.999^step divides v.";
static const char averages[] = "*m and *v keep the averages themselves: divide only what goes into w.";

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
    [NO_SHARE_M] = "The new gradient counts 0.1 in m.",
    [NO_SHARE_V] = "The square of the new gradient counts 0.001 in v.",
    [FORGETS] = "Store the new m and v in *m and *v for the next step.",
    [ONE_STEP_LATE] = "step counts from 1: use it as it is.",
    [STARTS_EXCHANGED] = divisors,
    [START_OF_M_TWICE] = divisors,
    [START_OF_V_TWICE] = divisors,
    [NO_POWER] = "The divisors are 1 - 0.9^step and 1 - 0.999^step, with the power.",
    [STORES_CORRECTED] = averages,
    [STORES_M] = averages,
    [STORES_V] = averages,
    [BEFORE_AVERAGES] = "Update m and v first, then take the step with the new ones.",
    [SQUARE_OF_M] = "v is the average of dw^2, not of m^2.",
    [EPS_TOO_EARLY] = "Divide v by 1 - 0.999^step before the root, and add 1e-8 after it.",
    [W_REPLACED] = "w moves on from where it was: subtract the step from w.",
    [DECAYS] = "w itself does not belong in the gradient: there is no weight decay here.",
    [SHORT_V] = "The factor of v is 0.999, not 0.99.",
};

/* One step with this mistake; ADAM_MISTAKES: with none. */
static void step_wrongly(AdamMistake how, double epsilon, double *w, double *m, double *v, double dw, int step, double lr)
{
    double beta1 = how == EXCHANGED ? 0.999 : 0.9, beta2 = how == EXCHANGED ? 0.9 : how == SHORT_V ? 0.99 : 0.999;
    int steps = how == NO_POWER ? 1 : step + (how == ONE_STEP_LATE);
    double start1 = 1 - pow(how == STARTS_EXCHANGED || how == START_OF_V_TWICE ? beta2 : beta1, steps);
    double start2 = 1 - pow(how == STARTS_EXCHANGED || how == START_OF_M_TWICE ? beta1 : beta2, steps);
    double old_m = *m, old_v = *v;
    if (how == UNCORRECTED || how == M_UNCORRECTED) start1 = 1;
    if (how == UNCORRECTED || how == V_UNCORRECTED) start2 = 1;
    if (how == FORGETS) *m = *v = 0;
    if (how == DECAYS) dw += 0.01 * *w;
    *m = beta1 * *m + (how == NO_SHARE || how == NO_SHARE_M ? 1 : 1 - beta1) * dw;
    double square = how == NOT_SQUARED ? dw : how == SQUARE_OF_M ? *m * *m : dw * dw;
    *v = beta2 * *v + (how == NO_SHARE || how == NO_SHARE_V ? 1 : 1 - beta2) * square;
    double average = (how == BEFORE_AVERAGES ? old_m : *m) / start1, squares = (how == BEFORE_AVERAGES ? old_v : *v) / start2;
    if (how == STORES_CORRECTED || how == STORES_M) *m = average;
    if (how == STORES_CORRECTED || how == STORES_V) *v = squares;
    double root = how == NO_ROOT ? squares + epsilon : how == EPS_IN_ROOT ? sqrt(squares + epsilon) :
                  how == EPS_TOO_EARLY ? (sqrt(*v) + epsilon) / sqrt(start2) : sqrt(squares) + epsilon;
    double change = lr * (how == NO_M ? dw : average) / root;
    if (how == NO_AVERAGES) change = lr * dw;
    *w = (how == W_REPLACED ? 0 : *w) - (how == UPHILL ? -change : change);
}

static Tensor *adam(AdamMistake how, double epsilon)
{
    Tensor *t = tensor_zeros(SHAPE(RUNS * STEPS));
    for (int run = 0; run < RUNS; run++) {
        double w = 1, m = 0, v = 0;
        for (int i = 0; i < STEPS; i++) {
            step_wrongly(how, epsilon, &w, &m, &v, adam_gradient(run, i), i + 1, adam_rate(run));
            tensor_mutable_data(t)[run * STEPS + i] = (ag_real)w;
        }
    }
    return t;
}

Tensor *wrong_adam(AdamMistake how)
{
    return adam(how, how == NO_EPS ? 0 : 1e-8);
}

Tensor *adam_with_eps(double eps)
{
    return adam(ADAM_MISTAKES, eps);
}

const double interval_low = 0.25, interval_length = 0.5;
const int interval_symbols[SYMBOLS] = { 1, 3, 2, 0, 1 };
const double interval_shares[KINDS] = { 0.3, 0.1, 0.2, 0.4 };

const char *const interval_mistake[INTERVAL_MISTAKES] = {
    [NOT_MOVED] = "Move low behind the parts of the symbols before this one.",
    [MOVED_BY_SHARES] = "p are shares of the interval: multiply their sum by length, too.",
    [LENGTH_FIRST] = "Move low by parts of the old interval, before length changes.",
    [LENGTH_OF_ONE] = "The part is p of the interval: multiply length by p.",
    [ONE_PART_TOO_MANY] = "low moved past the part of `symbol` itself: skip only the parts before it.",
    [LOW_REPLACED] = "low must move on from where it was: add (+=).",
    [LENGTH_KEPT] = "length must shrink: multiply it by p of `symbol`.",
    [FIRST_PART_LEFT_OUT] = "The parts begin with symbol 0: start the sum at i = 0.",
    [END_FOR_LENGTH] = "length is how long the interval is, not where it ends: do not add low to it.",
    [ONLY_ONE_PART] = "low moves past all symbols before `symbol`, not only past the last of them.",
    [FROM_THE_END] = "The parts stand in the order 0, 1, 2, ... from low: skip those before `symbol`, not those behind it.",
    [LOW_FOR_LENGTH] = "The parts are shares of length, not of low.",
    [LENGTH_DIVIDED] = "length must shrink: multiply it by p of `symbol`, do not divide.",
    [LENGTH_FOR_END] = "length is not the end of the interval: do not subtract low from it.",
    [EVEN_PARTS] = "The parts are not equal: the part of symbol i is p[i] of the interval.",
    [LENGTH_IN_LOOP] = "length changes only once, by p of `symbol`, not for each symbol before it.",
    [DOWNWARD] = "The parts lie above low: add them, do not subtract.",
};

/* One step of the coder with this mistake. */
static void narrow_wrongly(IntervalMistake how, double *low, double *length, const double *p, int symbol)
{
    double before = 0, old = *length;
    for (int i = how == FIRST_PART_LEFT_OUT; i < symbol + (how == ONE_PART_TOO_MANY); i++) {
        before += p[i];
        if (how == LENGTH_IN_LOOP) {
            *low += *length * p[i];
            *length -= *length * p[i];
        }
    }
    if (how == ONLY_ONE_PART && symbol > 0) before = p[symbol - 1];
    if (how == FROM_THE_END) before = 1 - before - p[symbol];
    if (how == EVEN_PARTS) before = (double)symbol / KINDS;
    if (how == DOWNWARD) before = -before;
    if (how == LOW_REPLACED) *low = 0;
    if (how != LENGTH_KEPT) *length = (how == LENGTH_OF_ONE ? 1 : *length) * (how == EVEN_PARTS ? 1.0 / KINDS : p[symbol]);
    if (how == LENGTH_DIVIDED) *length = old / p[symbol];
    double of = how == MOVED_BY_SHARES ? 1 : how == LENGTH_FIRST ? *length : how == LOW_FOR_LENGTH ? *low :
                how == LENGTH_FOR_END ? old - *low : old;
    *low += how == NOT_MOVED || how == LENGTH_IN_LOOP ? 0 : before * of;
    if (how == END_FOR_LENGTH) *length += *low;
}

Tensor *intervals(IntervalMistake how)
{
    Tensor *t = tensor_zeros(SHAPE(2 * SYMBOLS));
    double low = interval_low, length = interval_length;
    for (int i = 0; i < SYMBOLS; i++) {
        narrow_wrongly(how, &low, &length, interval_shares, interval_symbols[i]);
        tensor_mutable_data(t)[2 * i] = (ag_real)low;
        tensor_mutable_data(t)[2 * i + 1] = (ag_real)length;
    }
    return t;
}
