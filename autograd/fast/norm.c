/* norm.c: layer norm and RMS norm over rows, and their backward; norms of channels with given statistics.
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

/* A function of its own: registers are not shared with the loops of its caller. */
#define APART static __attribute__((noinline))

/* Whether a row's values are those of row_in_double: the deviation is so large or so small, 0 or NaN. */
INLINE vm is_not_ordinary(vf rstd) { return vnot(vand(vlt(vset(0x1p-50f), rstd), vlt(rstd, vset(0x1p50f)))); }
/* Whether a row's gradients are those of backward_in_double: not for 0 and NaN. */
INLINE vm is_extreme(vf rstd)
{
    return vor(vle(vset(0x1p50f), rstd), vand(vlt(vset(0), rstd), vle(rstd, vset(0x1p-50f))));
}

/* The number of the first row of first..last - 1 that is one, or `last`. */
INLINE int64_t next_row(const float *rstd, int64_t first, int64_t last, vm (*is_one)(vf rstd))
{
    for (; first < last; first += W) {
        unsigned found = vmask_bits(is_one(vload_left(rstd + first, last - first))) & ((1u << W) - 1);
        if (found) {
            first += __builtin_ctz(found);
            break;
        }
    }
    return first < last ? first : last;
}

/* The first item is subtracted before the mean is computed, so that equal numbers have a deviation of exactly 0. One below
 * 2^-126 counts as 0: its reciprocal could be infinite. */
APART void row_in_double(const Job *j, int64_t row)
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

/* Computes those of the rows first..last - 1 again whose squares the loop over them could not sum. */
static void rows_in_double(const Job *j, int64_t first, int64_t last)
{
    while ((first = next_row(j->rstd, first, last, is_not_ordinary)) < last) row_in_double(j, first++);
}

/* Minus the derivative of rstd by an item, divided by the item's deviation from the mean: see norm_backward_rows. */
static double slope_of(const Job *j, double rstd)
{
    if (rstd == 0) return 0;
    if (j->eps_inside) return rstd * rstd * rstd / j->divisor;
    double sigma = 1 / rstd - j->eps;
    return sigma <= 0 ? 0 : rstd * rstd / (j->divisor * sigma);
}

APART void backward_in_double(const Job *j, int64_t row)
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

/* Rows first..last - 1: the ordinary ones by that function. */
INLINE void backward_rows(const Job *j, int64_t first, int64_t last,
                          void (*ordinary)(const Job *j, int64_t first, int64_t last))
{
    while (first < last) {
        int64_t stop = next_row(j->rstd, first, last, is_extreme);
        ordinary(j, first, stop);
        if (stop < last) backward_in_double(j, stop++);
        first = stop;
    }
}

/* See ISA(sum_normalized). */
APART void sum_in_double(int64_t rows, int64_t n, float *y, const float *dy, const float *x, const float *mean,
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

static void sum_dgamma(int64_t rows, int64_t n, float *y, const float *dy, const float *x, const float *mean,
                       const float *rest, const float *rstd, bool add)
{
    if (next_row(rstd, 0, rows, is_extreme) < rows) sum_in_double(rows, n, y, dy, x, mean, rest, rstd, add);
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
        SUMS_OF(deviations, squares, n, LOAD(x) - guess, (LOAD(x) - guess) * (LOAD(x) - guess))
        double off = deviations / (double)n, var = (squares - deviations * off) / j->divisor;
        var = var > 0 || var != var ? var : 0;
        double deviation = j->eps_inside ? sqrt(var + j->eps) : sqrt(var) + j->eps;
        const float rest = (float)off, r = (float)(1 / deviation);
        j->mean[row] = mean;
        j->rest[row] = rest;
        j->rstd[row] = r;
        const vf rstd = vset(r), shift = vset(-rest * r);
        if (gamma && beta) EACH(0, n, y, vfma(vfma(LOAD(x) - guess, rstd, shift), LOAD(gamma), LOAD(beta)));
        else if (gamma) EACH(0, n, y, vfma(LOAD(x) - guess, rstd, shift) * LOAD(gamma));
        else if (beta) EACH(0, n, y, vfma(LOAD(x) - guess, rstd, shift) + LOAD(beta));
        else EACH(0, n, y, vfma(LOAD(x) - guess, rstd, shift));
    }
    rows_in_double(j, first, last);
}

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
APART void ordinary_norm_backward_rows(const Job *j, int64_t first, int64_t last)
{
    const int64_t n = j->n;
    const float *gamma = j->gamma;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * n, *dy = j->dy + row * n;
        float *dx = j->y + row * n;
        const vf mean = vset(j->mean[row]);
        double r = j->rstd[row], rest = j->rest[row], sum = 0, dot = 0;
        SUMS_OF(sum, dot, n, G, G * (LOAD(x) - mean))
        double k_dot = slope_of(j, r) * (dot - rest * sum);
        const vf scale = vset((float)r), shift = vset((float)(k_dot * rest - r * sum / (double)n));
        const vf slope = vset((float)-k_dot);
        EACH_ADD(j->add, 0, n, dx, vfma(slope, LOAD(x) - mean, vfma(scale, G, shift)));
    }
}

static void norm_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    if (j->n == 1) {                            /* g - mean g is exactly 0 there */
        for (; first < last; first++) backward_in_double(j, first);
    } else {
        backward_rows(j, first, last, ordinary_norm_backward_rows);
    }
}

void ISA(layer_norm_backward)(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, real *dbeta,
                               bool add_beta, const real *dy, const real *x, const real *mean, const real *rest,
                               const real *rstd, const real *gamma, AgNorm kind)
{
    if (dx)
        k_parallel(rows, 1 + GRAIN / (n + 1), norm_backward_rows,
                   &(Job){ .n = n, .y = dx, .mean = (float *)mean, .rest = (float *)rest, .rstd = (float *)rstd, .dy = dy,
                           .x = x, .gamma = gamma, .eps = kind.eps, .divisor = divisor_of(n, kind),
                           .eps_inside = kind.eps_inside, .add = add_x });
    if (dgamma) sum_dgamma(rows, n, dgamma, dy, x, mean, rest, rstd, add_gamma);
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
        j->rstd[row] = (float)(1 / deviation);
        const vf rstd = vset(j->rstd[row]);
        if (gamma) EACH(0, n, y, LOAD(x) * rstd * LOAD(gamma));
        else EACH(0, n, y, LOAD(x) * rstd);
    }
    rows_in_double(j, first, last);
}

void ISA(rms_norm)(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma, double eps)
{
    k_parallel(rows, 1 + GRAIN / (n + 1), rms_rows,
               &(Job){ .n = n, .y = y, .rstd = rstd, .x = x, .gamma = gamma, .eps = eps, .divisor = (double)n,
                       .eps_inside = true });
}

/* With r = rstd, g = dy gamma: dx = r g - r^3 / n x sum(g x). */
APART void ordinary_rms_backward_rows(const Job *j, int64_t first, int64_t last)
{
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

static void rms_backward_rows(void *arg, int64_t first, int64_t last)
{
    backward_rows(arg, first, last, ordinary_rms_backward_rows);
}

void ISA(rms_norm_backward)(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, const real *dy,
                             const real *x, const real *rstd, const real *gamma)
{
    if (dx)
        k_parallel(rows, 1 + GRAIN / (n + 1), rms_backward_rows,
                   &(Job){ .n = n, .y = dx, .rstd = (float *)rstd, .dy = dy, .x = x, .gamma = gamma, .divisor = (double)n,
                           .eps_inside = true, .add = add_x });
    if (dgamma) sum_dgamma(rows, n, dgamma, dy, x, NULL, NULL, rstd, add_gamma);
}

/* ---- with given statistics ---------------------------------------------------------------------------------------- */

typedef struct {
    int64_t channels, inner;
    float *y, *deviation;
    const float *x, *mean, *factor, *beta;
} Channels;

/* n items of y. deviation may be NULL. */
#define NORMALIZE(mean, factor, beta)                                                               \
    do {                                                                                            \
        if (deviation) EACH(0, n, y, KEEP(deviation, LOAD(x) - (mean)) * (factor) + (beta));        \
        else EACH(0, n, y, (LOAD(x) - (mean)) * (factor) + (beta));                                 \
    } while (0)

/* Items begin..end - 1, in rows: of one channel, or with `inner` 1 of one item of each channel. */
static void normalize_range(void *arg, int64_t begin, int64_t end)
{
    const Channels *c = arg;
    const int64_t length = c->inner == 1 ? c->channels : c->inner;
    int64_t column = begin % length, channel = begin / length % c->channels;
    for (int64_t n; begin < end; begin += n) {
        n = length - column < end - begin ? length - column : end - begin;
        const float *x = c->x + begin;
        float *y = c->y + begin, *deviation = c->deviation ? c->deviation + begin : NULL;
        if (c->inner == 1) {
            const float *mean = c->mean + column, *factor = c->factor + column, *beta = c->beta + column;
            NORMALIZE(LOAD(mean), LOAD(factor), LOAD(beta));
        } else {
            const vf mean = vset(c->mean[channel]), factor = vset(c->factor[channel]), beta = vset(c->beta[channel]);
            NORMALIZE(mean, factor, beta);
            channel = channel + 1 < c->channels ? channel + 1 : 0;
        }
        column = 0;
    }
}

void ISA(normalize)(int64_t outer, int64_t channels, int64_t inner, real *y, real *deviation, const real *x, const real *mean,
                    const real *factor, const real *beta)
{
    if (channels == 1) {
        inner *= outer;
        outer = 1;
    }
    k_parallel(outer * channels * inner, GRAIN, normalize_range,
               &(Channels){ .channels = channels, .inner = inner, .y = y, .deviation = deviation, .x = x, .mean = mean,
                            .factor = factor, .beta = beta });
}
