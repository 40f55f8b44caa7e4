/* norm.c: layer norm and RMS norm over rows, and their backward.
 *
 * A row is read for its mean, for the deviations and their squares (the sum of the deviations corrects the mean), and to
 * compute y; after the first pass it is in a near cache. reduce.c computes dgamma and dbeta: sums down columns.
 *
 * The mean is two floats, mean + rest: one is too coarse where the mean is large and the deviation small. With t = x - mean,
 * which is exact there, the normalized x is fma(t, rstd, -(rest rstd)). */
#include "simd.h"

enum { GRAIN = 8192 };

typedef struct {
    int64_t n;
    float *y, *mean, *rest, *rstd;              /* mean and rest: NULL for RMS norm */
    const float *dy, *x, *gamma, *beta;
    double eps, divisor;
    bool eps_inside, add;
} Job;

static double divisor_of(int64_t n, AgNorm kind) { return (double)(kind.unbiased && n > 1 ? n - 1 : n); }

/* ---- rows whose squares leave the range of floats: plain loops in double ------------------------------------------ */

/* Not in the loops over ordinary rows. */
#define RARE static __attribute__((noinline))

/* Whether the deviation is so large or so small; not for 0 and NaN. */
INLINE vm extreme(vf rstd)
{
    return vor(vle(vset(0x1p50f), rstd), vand(vlt(vset(0), rstd), vle(rstd, vset(0x1p-50f))));
}
INLINE bool is_extreme(float rstd) { return rstd >= 0x1p50f || (rstd <= 0x1p-50f && rstd > 0); }

/* The first item is subtracted before the mean is computed, so that equal numbers have a deviation of exactly 0. One below
 * 2^-126 counts as 0: its reciprocal could be infinite. */
RARE void row_in_double(const Job *j, int64_t row)
{
    const int64_t n = j->n;
    const float *x = j->x + row * n;
    float *y = j->y + row * n;
    const double first = j->mean && n > 0 ? (double)x[0] : 0;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] - first;
    const double off = j->mean ? sum / (double)n : 0;
    for (int64_t i = 0; i < n; i++) {
        double c = x[i] - first - off;
        squares += c * c;
    }
    double var = squares / j->divisor, deviation = j->eps_inside ? sqrt(var + j->eps) : sqrt(var) + j->eps;
    double rstd = deviation < 0x1p-126 ? 0 : 1 / deviation;
    for (int64_t i = 0; i < n; i++) {
        double normal = (x[i] - first - off) * rstd;
        y[i] = (float)(normal * (j->gamma ? j->gamma[i] : 1) + (j->beta ? j->beta[i] : 0));
    }
    j->rstd[row] = (float)rstd;
    if (!j->mean) return;
    j->mean[row] = (float)(first + off);
    j->rest[row] = (float)(first - j->mean[row] + off);
}

/* Minus the derivative of rstd by an item, divided by the item's deviation from the mean: see norm_backward_rows. */
static double slope_of(const Job *j, double rstd)
{
    if (rstd == 0) return 0;
    if (j->eps_inside) return rstd * rstd * rstd / j->divisor;
    double sigma = 1 / rstd - j->eps;
    return sigma <= 0 ? 0 : rstd * rstd / (j->divisor * sigma);
}

RARE void backward_in_double(const Job *j, int64_t row)
{
    const int64_t n = j->n;
    const float *x = j->x + row * n, *dy = j->dy + row * n;
    float *dx = j->y + row * n;
    const double mean = j->mean ? j->mean[row] : 0, rest = j->mean ? j->rest[row] : 0, r = j->rstd[row];
    double sum = 0, dot = 0;
    for (int64_t i = 0; i < n; i++) {
        double g = dy[i] * (j->gamma ? (double)j->gamma[i] : 1);
        sum += g;
        dot += g * (x[i] - mean - rest);
    }
    const double shift = j->mean ? -r * sum / (double)n : 0, slope = -slope_of(j, r) * dot;
    for (int64_t i = 0; i < n; i++) {
        double g = dy[i] * (j->gamma ? (double)j->gamma[i] : 1);
        float value = (float)(slope * (x[i] - mean - rest) + (r * g + shift));
        dx[i] = j->add ? dx[i] + value : value;
    }
}

/* See ISA(sum_normalized). */
RARE void sum_in_double(int64_t rows, int64_t n, float *y, const float *dy, const float *x, const float *mean,
                        const float *rest, const float *rstd, bool add)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = add ? y[i] : 0;
        for (int64_t row = 0; row < rows; row++) {
            double c = x[row * n + i] - (mean ? (double)mean[row] : 0) - (mean ? rest[row] : 0);
            sum += dy[row * n + i] * (c * rstd[row]);
        }
        y[i] = (float)sum;
    }
}

static void sum_to_gamma(int64_t rows, int64_t n, float *y, const float *dy, const float *x, const float *mean,
                         const float *rest, const float *rstd, bool add)
{
    bool any = false;
    for (int64_t row = 0; row < rows && !any; row += W)
        any = vany(extreme(vload_left(rstd + row, rows - row)));
    if (any) sum_in_double(rows, n, y, dy, x, mean, rest, rstd, add);
    else ISA(sum_normalized)(rows, n, y, dy, x, mean, rest, rstd, add);
}

/* ---- with the mean ------------------------------------------------------------------------------------------------ */

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
        const float mean = (float)(sum / (double)n);
        const vf guess = vset(mean);
        SUM_OF(deviations, n, LOAD(x) - guess)
        SUM_OF(squares, n, (LOAD(x) - guess) * (LOAD(x) - guess))
        double off = deviations / (double)n, var = (squares - deviations * off) / j->divisor;
        var = var > 0 || var != var ? var : 0;
        double deviation = j->eps_inside ? sqrt(var + j->eps) : sqrt(var) + j->eps;
        if (!(deviation > 0x1p-50 && deviation < 0x1p50)) {
            row_in_double(j, row);
            continue;
        }
        const float rest = (float)off, r = (float)(1 / deviation);
        j->mean[row] = mean;
        j->rest[row] = rest;
        j->rstd[row] = r;
        const vf rstd = vset(r), shift = vset(-(rest * r));
        if (gamma && beta) EACH(0, n, y, vfma(vfma(LOAD(x) - guess, rstd, shift), LOAD(gamma), LOAD(beta)));
        else if (gamma) EACH(0, n, y, vfma(LOAD(x) - guess, rstd, shift) * LOAD(gamma));
        else if (beta) EACH(0, n, y, vfma(LOAD(x) - guess, rstd, shift) + LOAD(beta));
        else EACH(0, n, y, vfma(LOAD(x) - guess, rstd, shift));
    }
}

/* y = gamma (x - mean) rstd + beta. gamma, beta: (n) or NULL. mean, rest, rstd (rows) are written for backward; the row's mean
 * is mean + rest. rstd = 1 / sqrt(var + eps) with eps_inside, else 1 / (sqrt(var) + eps), and 0 if that divides by 0: y is beta
 * there. var divides by n, or by n-1 if unbiased. */
void ISA(layer_norm)(int64_t rows, int64_t n, real *y, real *mean, real *rest, real *rstd, const real *x, const real *gamma,
                      const real *beta, AgNorm kind)
{
    k_parallel(rows, 1 + GRAIN / (n + 1), norm_rows,
               &(Job){ .n = n, .y = y, .mean = mean, .rest = rest, .rstd = rstd, .x = x, .gamma = gamma, .beta = beta,
                       .eps = kind.eps,
                       .divisor = divisor_of(n, kind), .eps_inside = kind.eps_inside });
}

/* g: dy gamma. */
#define G (gamma ? LOAD(dy) * LOAD(gamma) : LOAD(dy))

/* With c = x - mean - rest, r = rstd, g = dy gamma: dx = r (g - mean g) - k c sum(g c), where k c_i = -dr/dx_i: k = r^3 / N
 * with eps inside the root and r^2 / (N sigma) outside. N is the divisor of the variance. With t = x - mean for c, `rest` is
 * part of the row's own numbers: sum(g c) = sum(g t) - rest sum(g), and k rest sum(g c) is added to all of dx. */
static void norm_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    const int64_t n = j->n;
    const float *gamma = j->gamma;
    for (int64_t row = first; row < last; row++) {
        if (is_extreme(j->rstd[row])) {
            backward_in_double(j, row);
            continue;
        }
        const float *x = j->x + row * n, *dy = j->dy + row * n;
        float *dx = j->y + row * n;
        const vf mean = vset(j->mean[row]);
        double r = j->rstd[row], rest = j->rest[row], sum = 0, dot = 0;
        SUM_OF(sum, n, G)
        SUM_OF(dot, n, G * (LOAD(x) - mean))
        double k_dot = slope_of(j, r) * (dot - rest * sum);
        const vf scale = vset((float)r), shift = vset((float)(k_dot * rest - r * sum / (double)n));
        const vf slope = vset((float)-k_dot);
        EACH_ADD(j->add, 0, n, dx, vfma(slope, LOAD(x) - mean, vfma(scale, G, shift)));
    }
}

/* dx, dgamma and dbeta may each be NULL. In a row of variance 0 no gradient passes through the deviation. */
void ISA(layer_norm_backward)(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, real *dbeta,
                               bool add_beta, const real *dy, const real *x, const real *mean, const real *rest,
                               const real *rstd, const real *gamma, AgNorm kind)
{
    if (dx)
        k_parallel(rows, 1 + GRAIN / (n + 1), norm_backward_rows,
                   &(Job){ .n = n, .y = dx, .mean = (float *)mean, .rest = (float *)rest, .rstd = (float *)rstd, .dy = dy,
                           .x = x, .gamma = gamma, .eps = kind.eps, .divisor = divisor_of(n, kind),
                           .eps_inside = kind.eps_inside, .add = add_x });
    if (dgamma) sum_to_gamma(rows, n, dgamma, dy, x, mean, rest, rstd, add_gamma);
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
        if (!(deviation > 0x1p-50 && deviation < 0x1p50)) {
            row_in_double(j, row);
            continue;
        }
        j->rstd[row] = (float)(1 / deviation);
        const vf rstd = vset(j->rstd[row]);
        if (gamma) EACH(0, n, y, LOAD(x) * rstd * LOAD(gamma));
        else EACH(0, n, y, LOAD(x) * rstd);
    }
}

/* y = gamma x rstd with rstd = 1 / sqrt(mean of x^2 + eps), 0 if that divides by 0. gamma: (n) or NULL. Writes rstd (rows). */
void ISA(rms_norm)(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma, double eps)
{
    k_parallel(rows, 1 + GRAIN / (n + 1), rms_rows,
               &(Job){ .n = n, .y = y, .rstd = rstd, .x = x, .gamma = gamma, .eps = eps, .divisor = (double)n,
                       .eps_inside = true });
}

/* With r = rstd, g = dy gamma: dx = r g - r^3 / n x sum(g x). */
static void rms_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    const int64_t n = j->n;
    const float *gamma = j->gamma;
    for (int64_t row = first; row < last; row++) {
        if (is_extreme(j->rstd[row])) {
            backward_in_double(j, row);
            continue;
        }
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
                   &(Job){ .n = n, .y = dx, .rstd = (float *)rstd, .dy = dy, .x = x, .gamma = gamma, .divisor = (double)n,
                           .eps_inside = true, .add = add_x });
    if (dgamma) sum_to_gamma(rows, n, dgamma, dy, x, NULL, NULL, rstd, add_gamma);
}
