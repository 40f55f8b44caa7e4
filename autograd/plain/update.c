/* update.c: random numbers and updates of optimizers as plain loops. See plain.h. */
#include "plain.h"

#include <math.h>

#include "functions.h"

/* Returns the 24 random bits of item i. */
static uint32_t bits24(int64_t i, uint64_t seed, uint64_t counter)
{
    uint32_t word[4];
    k_philox(seed, counter + (uint64_t)i / 4, word);
    return word[i % 4] >> 8;
}

static real unit(uint32_t bits)
{
    return (real)(bits / 16777216.0);
}

/* Returns the largest number below `high`, for low < high: no number may be rounded up to it. */
static real just_below(double low, double high)
{
    real end = (real)high;
    return low < high && end >= high ? REAL(nextafter)(end, (real)-INFINITY) : end;
}

void ref_uniform(int64_t n, real *y, uint64_t seed, uint64_t counter, double low, double high)
{
    real most = just_below(low, high);
    for (int64_t i = 0; i < n; i++) {
        real v = REAL(fma)((real)(high - low), unit(bits24(i, seed, counter)), (real)low);
        y[i] = v > most ? most : v;
    }
}

/* Makes two normal numbers of two uniform ones, u and t: the square root of -2 ln u times the
 * cosine and the sine of t turns (Box and Muller 1958). */
void ref_normal(int64_t n, real *y, uint64_t seed, uint64_t counter, double mean, double deviation)
{
    for (int64_t i = 0; i < n; i++) {
        /* (0, 1]: its logarithm exists */
        real u = unit(bits24(i & ~(int64_t)1, seed, counter) + 1), sine, cosine;
        real_turns(unit(bits24(i | 1, seed, counter)), &sine, &cosine);
        real radius = REAL(sqrt)(-2 * real_log(u)) * (real)deviation;
        y[i] = REAL(fma)(radius, i & 1 ? sine : cosine, (real)mean);
    }
}

void ref_dropout(int64_t n, real *y, const real *x, double p, uint64_t seed, uint64_t counter,
                 bool add)
{
    real scale = (real)(1 / (1 - p));
    for (int64_t i = 0; i < n; i++) {
        real v = unit(bits24(i, seed, counter)) >= p ? scale * x[i] : 0;
        y[i] = add ? y[i] + v : v;
    }
}

/* Computes the step as (lr/c1) exp_avg / (sqrt(exp_avg_sq) / sqrt(c2) + eps). */
void ref_adam(int64_t n, real *w, real *exp_avg, real *exp_avg_sq, const real *grad,
              const AgAdam *o, int64_t step, double grad_scale)
{
    const double c1 = adam_correction(o->beta1, step), c2 = adam_correction(o->beta2, step);
    const real coupled_decay = o->decoupled ? 0 : (real)o->weight_decay;
    const real shrink = o->decoupled ? (real)(1 - o->lr * o->weight_decay) : 1;
    for (int64_t i = 0; i < n; i++) {
        real g = REAL(fma)(coupled_decay, w[i], (real)grad_scale * grad[i]);
        exp_avg[i] = REAL(fma)((real)o->beta1, exp_avg[i], (real)(1 - o->beta1) * g);
        exp_avg_sq[i] = REAL(fma)((real)o->beta2, exp_avg_sq[i], (real)(1 - o->beta2) * g * g);
        real root = REAL(sqrt)(exp_avg_sq[i]);
        real divisor = REAL(fma)(root, (real)(1 / sqrt(c2)), (real)o->eps);
        w[i] = REAL(fma)((real)(-o->lr / c1), exp_avg[i] / divisor, w[i] * shrink);
    }
}

void ref_sgd(int64_t n, real *w, real *buf, const real *grad, const AgSgd *o, bool first,
             double grad_scale)
{
    const real momentum = (real)o->momentum;
    for (int64_t i = 0; i < n; i++) {
        real g = REAL(fma)((real)o->weight_decay, w[i], (real)grad_scale * grad[i]);
        if (buf) {
            buf[i] = first ? g : REAL(fma)(momentum, buf[i], g);
            g = o->nesterov ? REAL(fma)(momentum, buf[i], g) : buf[i];
        }
        w[i] = REAL(fma)((real)-o->lr, g, w[i]);
    }
}
