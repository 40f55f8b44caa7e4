/* norm.c: layer norm and RMS norm over rows, and their backward.
 *
 * A row is read for its mean, for the deviations and their squares (the sum of the deviations corrects the mean), and to
 * compute y; after the first pass it is in a near cache. reduce.c computes dgamma and dbeta: sums down columns. */
#include "simd.h"

enum { GRAIN = 8192 };

typedef struct {
    int64_t n;
    float *y, *mean, *rstd;
    const float *dy, *x, *gamma, *beta;
    double eps, divisor;
    bool eps_inside, add;
} Job;

static double divisor_of(int64_t n, AgNorm kind) { return (double)(kind.unbiased && n > 1 ? n - 1 : n); }

static void norm_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    const int64_t n = j->n;
    const float *gamma = j->gamma, *beta = j->beta;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * n;
        float *y = j->y + row * n;
        double sum = 0, deviations = 0, squares = 0;
        SUM_OF(sum, n, LOAD(x))
        const vf guess = vset((float)(sum / (double)n));
        SUM_OF(deviations, n, LOAD(x) - guess)
        SUM_OF(squares, n, (LOAD(x) - guess) * (LOAD(x) - guess))
        double off = deviations / (double)n, var = (squares - deviations * off) / j->divisor;
        var = var > 0 || var != var ? var : 0;
        double deviation = j->eps_inside ? sqrt(var + j->eps) : sqrt(var) + j->eps;
        j->mean[row] = (float)((float)(sum / (double)n) + off);
        j->rstd[row] = deviation == 0 ? 0 : (float)(1 / deviation);
        const vf mean = vset(j->mean[row]), rstd = vset(j->rstd[row]);
        if (gamma && beta) EACH(0, n, y, vfma((LOAD(x) - mean) * rstd, LOAD(gamma), LOAD(beta)));
        else if (gamma) EACH(0, n, y, (LOAD(x) - mean) * rstd * LOAD(gamma));
        else if (beta) EACH(0, n, y, vfma(LOAD(x) - mean, rstd, LOAD(beta)));
        else EACH(0, n, y, (LOAD(x) - mean) * rstd);
    }
}

/* y = gamma (x - mean) rstd + beta. gamma, beta: (n) or NULL. mean, rstd (rows) are written for backward.
 * rstd = 1 / sqrt(var + eps) with eps_inside, else 1 / (sqrt(var) + eps), and 0 if that divides by 0: y is beta there. var
 * divides by n, or by n-1 if unbiased. */
void ISA(layer_norm)(int64_t rows, int64_t n, real *y, real *mean, real *rstd, const real *x, const real *gamma,
                      const real *beta, AgNorm kind)
{
    k_parallel(rows, 1 + GRAIN / (n + 1), norm_rows,
               &(Job){ .n = n, .y = y, .mean = mean, .rstd = rstd, .x = x, .gamma = gamma, .beta = beta, .eps = kind.eps,
                       .divisor = divisor_of(n, kind), .eps_inside = kind.eps_inside });
}

/* g: dy gamma. */
#define G (gamma ? LOAD(dy) * LOAD(gamma) : LOAD(dy))

/* With c = x - mean, r = rstd, g = dy gamma: dx = r (g - mean g) - k c sum(g c), where k c_i = -dr/dx_i: k = r^3 / N with eps
 * inside the root and r^2 / (N sigma) outside. N is the divisor of the variance. */
static void norm_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    const int64_t n = j->n;
    const float *gamma = j->gamma;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * n, *dy = j->dy + row * n;
        float *dx = j->y + row * n;
        const vf mean = vset(j->mean[row]);
        double r = j->rstd[row], sum = 0, dot = 0;
        SUM_OF(sum, n, G)
        SUM_OF(dot, n, G * (LOAD(x) - mean))
        double sigma = 1 / r - j->eps;                          /* only for eps outside the root */
        double k = r == 0 ? 0 : j->eps_inside ? r * r * r / j->divisor : sigma <= 0 ? 0 : r * r / (j->divisor * sigma);
        const vf scale = vset((float)r), shift = vset((float)(-r * sum / (double)n)), slope = vset((float)(-k * dot));
        EACH_ADD(j->add, 0, n, dx, vfma(slope, LOAD(x) - mean, vfma(scale, G, shift)));
    }
}

/* dx, dgamma and dbeta may each be NULL. In a row of variance 0 no gradient passes through the deviation. */
void ISA(layer_norm_backward)(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, real *dbeta,
                               bool add_beta, const real *dy, const real *x, const real *mean, const real *rstd,
                               const real *gamma, AgNorm kind)
{
    if (dx)
        k_parallel(rows, 1 + GRAIN / (n + 1), norm_backward_rows,
                   &(Job){ .n = n, .y = dx, .mean = (float *)mean, .rstd = (float *)rstd, .dy = dy, .x = x, .gamma = gamma,
                           .eps = kind.eps, .divisor = divisor_of(n, kind), .eps_inside = kind.eps_inside, .add = add_x });
    if (dgamma) ISA(sum_normalized)(rows, n, dgamma, dy, x, mean, rstd, add_gamma);
    if (dbeta) ISA(sum)(1, rows, n, dbeta, dy, 1, add_beta);
}

/* ---- without the mean -------------------------------------------------------------------------------------------- */

static void rms_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    const int64_t n = j->n;
    const float *gamma = j->gamma;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * n;
        float *y = j->y + row * n;
        double squares = 0;
        SUM_OF(squares, n, LOAD(x) * LOAD(x))
        double deviation = sqrt(squares / (double)n + j->eps);
        j->rstd[row] = deviation == 0 ? 0 : (float)(1 / deviation);
        const vf rstd = vset(j->rstd[row]);
        if (gamma) EACH(0, n, y, LOAD(x) * rstd * LOAD(gamma));
        else EACH(0, n, y, LOAD(x) * rstd);
    }
}

/* y = gamma x rstd with rstd = 1 / sqrt(mean of x^2 + eps), 0 if that divides by 0. gamma: (n) or NULL. Writes rstd (rows). */
void ISA(rms_norm)(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma, double eps)
{
    k_parallel(rows, 1 + GRAIN / (n + 1), rms_rows, &(Job){ .n = n, .y = y, .rstd = rstd, .x = x, .gamma = gamma, .eps = eps });
}

/* With r = rstd, g = dy gamma: dx = r g - r^3 / n x sum(g x). */
static void rms_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    const int64_t n = j->n;
    const float *gamma = j->gamma;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * n, *dy = j->dy + row * n;
        float *dx = j->y + row * n;
        double r = j->rstd[row], dot = 0;
        SUM_OF(dot, n, G * LOAD(x))
        const vf scale = vset((float)r), slope = vset((float)(-r * r * r / (double)n * dot));
        EACH_ADD(j->add, 0, n, dx, vfma(slope, LOAD(x), scale * G));
    }
}

/* dx and dgamma may each be NULL. */
void ISA(rms_norm_backward)(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, const real *dy,
                             const real *x, const real *rstd, const real *gamma)
{
    if (dx)
        k_parallel(rows, 1 + GRAIN / (n + 1), rms_backward_rows,
                   &(Job){ .n = n, .y = dx, .rstd = (float *)rstd, .dy = dy, .x = x, .gamma = gamma, .add = add_x });
    if (dgamma) ISA(sum_normalized)(rows, n, dgamma, dy, x, NULL, rstd, add_gamma);
}
