/* update.c: random numbers and updates of optimizers as plain loops. See plain.h. */
#include "plain.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

/* Returns 24 random bits for item i. */
static uint32_t bits24(int64_t i, uint64_t seed, uint64_t counter)
{
    uint32_t word[4];
    k_philox(seed, counter + (uint64_t)i / 4, word);
    return word[i % 4] >> 8;
}

/* Returns a random number of [0, 1) for item i. */
static double unit(int64_t i, uint64_t seed, uint64_t counter)
{
    return bits24(i, seed, counter) / 16777216.0;
}

/* Returns the largest number below `high`, for low < high, or else `high`. */
static real just_below(double low, double high)
{
    real end = (real)high;
#ifdef KAERU_DOUBLE
    return low < high ? nextafter(end, low) : end;
#else
    return low < high && end >= high ? nextafterf(end, (real)low) : end;
#endif
}

void ref_uniform(int64_t n, real *y, uint64_t seed, uint64_t counter, double low, double high)
{
    const real most = just_below(low, high);    /* v can be rounded up to `high` */
    for (int64_t i = 0; i < n; i++) {
        real v = (real)fma((real)(high - low), unit(i, seed, counter), (real)low);
        y[i] = v > most ? most : v;
    }
}

/* Makes two normal numbers of two uniform ones (Box and Muller): the coordinates of a point with a
 * random radius and angle. */
void ref_normal(int64_t n, real *y, uint64_t seed, uint64_t counter, double mean, double deviation)
{
    for (int64_t i = 0; i < n; i++) {
        const bool odd = i % 2;
        const int64_t even_i = i - odd;
        double u = (bits24(even_i, seed, counter) + 1) / 16777216.0;    /* of (0, 1], for log */
        double radius = sqrt(-2 * log(u)), angle = 2 * PI * unit(even_i + 1, seed, counter);
        y[i] = (real)(mean + deviation * radius * (odd ? sin(angle) : cos(angle)));
    }
}

void ref_dropout(int64_t n, real *y, const real *x, double p, uint64_t seed, uint64_t counter,
                 bool add)
{
    real scale = (real)(1 / (1 - p));
    for (int64_t i = 0; i < n; i++) {
        real v = unit(i, seed, counter) >= p ? scale * x[i] : 0;
        y[i] = add ? y[i] + v : v;
    }
}

void ref_adam(int64_t n, real *w, real *exp_avg, real *exp_avg_sq, const real *grad,
              const AgAdam *o, int64_t step, double grad_scale)
{
    double c1 = adam_correction(o->beta1, step), c2 = adam_correction(o->beta2, step);
    for (int64_t i = 0; i < n; i++) {
        double g = grad_scale * grad[i], wi = w[i];
        if (o->decoupled) {
            wi -= o->lr * o->weight_decay * wi;
        } else {
            g += o->weight_decay * wi;
        }
        exp_avg[i] = (real)(o->beta1 * exp_avg[i] + (1 - o->beta1) * g);
        exp_avg_sq[i] = (real)(o->beta2 * exp_avg_sq[i] + (1 - o->beta2) * g * g);
        w[i] = (real)(wi - o->lr * (exp_avg[i] / c1) / (sqrt(exp_avg_sq[i] / c2) + o->eps));
    }
}

void ref_sgd(int64_t n, real *w, real *buf, const real *grad, const AgSgd *o, bool first,
             double grad_scale)
{
    for (int64_t i = 0; i < n; i++) {
        double g = grad_scale * grad[i] + o->weight_decay * w[i];
        if (buf) {
            buf[i] = (real)(first ? g : o->momentum * buf[i] + g);
            g = o->nesterov ? g + o->momentum * buf[i] : buf[i];
        }
        w[i] = (real)(w[i] - o->lr * g);
    }
}
