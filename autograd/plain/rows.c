/* rows.c: sums and other reductions, softmax, norms, rotations, the cross entropy and tables, as
 * plain loops. See plain.h.
 *
 * (outer, n, inner) is the shape of an array that is reduced to (outer, inner). The other kernels
 * have rows of n items that lie one after another. */
#include "plain.h"

#include <math.h>
#include <string.h>

/* A row of n items: item j is x[j * step]. */
typedef struct { const real *x; int64_t step, n; } Row;

/* Returns the items of (outer, n, inner) that are reduced to item `at` of (outer, inner). */
static Row row_of(const real *x, int64_t n, int64_t inner, int64_t at)
{
    return (Row){ x + at / inner * n * inner + at % inner, inner, n };
}

static double row_sum(Row r)
{
    double sum = 0;
    for (int64_t j = 0; j < r.n; j++) {
        sum += r.x[j * r.step];
    }
    return sum;
}

/* Returns the mean and sets *squares to the sum of the squared differences from it. The first mean
 * has rounding errors. The sum of the differences corrects both results, so that a row of equal
 * numbers has a variance of exactly 0. */
static double row_mean(Row r, double *squares)
{
    double mean = row_sum(r) / (double)r.n;
    double differences = 0, their_squares = 0;
    for (int64_t j = 0; j < r.n; j++) {
        double d = r.x[j * r.step] - mean;
        differences += d;
        their_squares += d * d;
    }
    *squares = their_squares - differences * differences / (double)r.n;
    return isfinite(mean) ? mean + differences / (double)r.n : mean;
}

void ref_sum(int64_t outer, int64_t n, int64_t inner, real *y, const real *x, real scale, bool add)
{
    for (int64_t at = 0; at < outer * inner; at++) {
        double sum = scale * row_sum(row_of(x, n, inner, at));
        y[at] = (real)(add ? y[at] + sum : sum);
    }
}

void ref_max(int64_t outer, int64_t n, int64_t inner, real *y, int32_t *index, const real *x,
             bool least)
{
    for (int64_t at = 0; at < outer * inner; at++) {
        Row r = row_of(x, n, inner, at);
        int64_t best = 0;
        for (int64_t j = 1; j < n; j++) {
            real v = r.x[j * r.step], b = r.x[best * r.step];
            if (isnan(b)) break;
            if (isnan(v) || (least ? v < b : v > b)) {
                best = j;
            }
        }
        y[at] = r.x[best * r.step];
        if (index) {
            index[at] = (int32_t)best;
        }
    }
}

void ref_var(int64_t outer, int64_t n, int64_t inner, real *y, real *mean, real *rest,
             const real *x, real scale)
{
    for (int64_t at = 0; at < outer * inner; at++) {
        double squares, m = row_mean(row_of(x, n, inner, at), &squares);
        mean[at] = (real)m;
        rest[at] = isfinite(m) ? (real)(m - mean[at]) : 0;
        y[at] = (real)(squares * scale);
    }
}

double ref_squared_distance(int64_t n, const real *a, const real *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)a[i] - (b ? (double)b[i] : 0);
        sum += d * d;
    }
    return sum;
}

bool ref_all_finite(int64_t n, const real *x)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) return false;
    }
    return true;
}

/* ---- softmax --------------------------------------------------------------------------------- */

static double row_max(int64_t n, const real *x)
{
    double best = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        if (x[j] > best || isnan(x[j])) {
            best = x[j];
        }
    }
    return best;
}

/* Returns the sum of e^(x - best), where best is the largest item, so that nothing overflows. */
static double exp_sum(int64_t n, const real *x, double best)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        sum += exp(x[j] - best);
    }
    return sum;
}

/* Sets *best to the largest item and returns the logarithm of exp_sum. ln of the sum of e^x is
 * *best plus that: two numbers, since their sum would lose digits of the smaller one. Both are
 * -infinity for a row of -infinity. */
static double log_exp_sum(int64_t n, const real *x, double *best)
{
    *best = row_max(n, x);
    return *best == -INFINITY ? -INFINITY : log(exp_sum(n, x, *best));
}

/* Returns the sum of the products of two rows. */
static double row_dot(int64_t n, const real *a, const real *b)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        sum += (double)a[j] * b[j];
    }
    return sum;
}

void ref_softmax(int64_t rows, int64_t n, real *y, const real *x)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        double best = row_max(n, x), sum = exp_sum(n, x, best);
        for (int64_t j = 0; j < n; j++) {
            y[j] = best == -INFINITY ? 0 : (real)(exp(x[j] - best) / sum);
        }
    }
}

/* Computes dx = y (dy - sum(dy y)). */
void ref_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y,
                          bool add)
{
    for (int64_t r = 0; r < rows; r++, dx += n, dy += n, y += n) {
        double dot = row_dot(n, dy, y);
        for (int64_t j = 0; j < n; j++) {
            dx[j] = (real)((add ? dx[j] : 0) + y[j] * (dy[j] - dot));
        }
    }
}

void ref_log_softmax(int64_t rows, int64_t n, real *y, const real *x)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        double best, log_sum = log_exp_sum(n, x, &best);
        for (int64_t j = 0; j < n; j++) {
            y[j] = (real)(log_sum == -INFINITY ? -INFINITY : x[j] - best - log_sum);
        }
    }
}

/* Computes dx = dy - e^y sum(dy). */
void ref_log_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y,
                              bool add)
{
    for (int64_t r = 0; r < rows; r++, dx += n, dy += n, y += n) {
        double sum = row_sum((Row){ dy, 1, n });
        for (int64_t j = 0; j < n; j++) {
            dx[j] = (real)((add ? dx[j] : 0) + dy[j] - exp(y[j]) * sum);
        }
    }
}

/* ---- layer norm ------------------------------------------------------------------------------ */

/* Returns weight j of a norm; without weights (NULL) it is 1. */
static double weight(const real *gamma, int64_t j) { return gamma ? gamma[j] : 1; }

/* Returns what the sum of squared differences is divided by for the variance. */
static double variance_divisor(int64_t n, AgNorm kind)
{
    return (double)(kind.unbiased && n > 1 ? n - 1 : n);
}

/* Computes y = (x - mean) / deviation gamma + beta. The mean is stored as the sum of two numbers,
 * mean + rest: a single real would lose digits of a large mean. */
void ref_layer_norm(int64_t rows, int64_t n, real *y, real *mean, real *rest, real *rstd,
                    const real *x, const real *gamma, const real *beta, AgNorm kind)
{
    const double divisor = variance_divisor(n, kind);
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        double squares, m = row_mean((Row){ x, 1, n }, &squares), var = squares / divisor;
        double deviation = kind.eps_inside ? sqrt(var + kind.eps) : sqrt(var) + kind.eps;
        double scale = deviation == 0 ? 0 : 1 / deviation;
        mean[r] = (real)m;
        rest[r] = (real)(m - mean[r]);
        rstd[r] = (real)scale;
        for (int64_t j = 0; j < n; j++) {
            y[j] = (real)((x[j] - m) * scale * weight(gamma, j) + (beta ? beta[j] : 0));
        }
    }
}

/* Computes y, the sum of dy (x - mean) rstd over the rows. Without `mean` (NULL) that is 0. */
void ref_sum_normalized(int64_t rows, int64_t n, real *y, const real *dy, const real *x,
                        const real *mean, const real *rest, const real *rstd, bool add)
{
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++) {
            double m = mean ? (double)mean[r] + rest[r] : 0;
            sum += dy[r * n + j] * ((double)x[r * n + j] - m) * rstd[r];
        }
        y[j] = (real)((add ? y[j] : 0) + sum);
    }
}

/* Returns the slope in dr/dx_j = -slope (x_j - mean), where r = 1 / deviation. */
static double rstd_slope(double r, double divisor, AgNorm kind)
{
    if (r == 0) return 0;
    if (kind.eps_inside) return r * r * r / divisor;
    double sigma = 1 / r - kind.eps;
    return sigma <= 0 ? 0 : r * r / (divisor * sigma);
}

/* Computes dx_j = r (g_j - mean(g)) - slope c_j sum(g c), where g = dy gamma, c = x - mean and
 * r = rstd. */
void ref_layer_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                             bool add_gamma, real *dbeta, bool add_beta, const real *dy,
                             const real *x, const real *mean, const real *rest, const real *rstd,
                             const real *gamma, AgNorm kind)
{
    for (int64_t row = 0; row < rows && dx; row++) {
        const real *dy_row = dy + row * n, *x_row = x + row * n;
        double m = (double)mean[row] + rest[row], r = rstd[row], sum = 0, dot = 0;
        for (int64_t j = 0; j < n; j++) {
            double g = dy_row[j] * weight(gamma, j);
            sum += g;
            dot += g * (x_row[j] - m);
        }
        double slope = rstd_slope(r, variance_divisor(n, kind), kind);
        for (int64_t j = 0; j < n; j++) {
            double g = dy_row[j] * weight(gamma, j);
            double d = r * (g - sum / (double)n) - slope * dot * (x_row[j] - m);
            dx[row * n + j] = (real)((add_x ? dx[row * n + j] : 0) + d);
        }
    }
    if (dgamma) {
        ref_sum_normalized(rows, n, dgamma, dy, x, mean, rest, rstd, add_gamma);
    }
    if (dbeta) {
        ref_sum(1, rows, n, dbeta, dy, 1, add_beta);
    }
}

/* ---- normalization by given numbers, RMS norm, rotations ------------------------------------- */

void ref_normalize(int64_t outer, int64_t channels, int64_t inner, real *y, real *deviation,
                   const real *x, const real *mean, const real *factor, const real *beta)
{
    for (int64_t i = 0; i < outer * channels * inner; i++) {
        const int64_t c = i / inner % channels;
        const real off = x[i] - mean[c];
        if (deviation) {
            deviation[i] = off;
        }
        y[i] = off * factor[c] + beta[c];
    }
}

/* Computes y = x / sqrt(mean(x^2) + eps) gamma. */
void ref_rms_norm(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma,
                  double eps)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        double deviation = sqrt(row_dot(n, x, x) / (double)n + eps);
        double scale = deviation == 0 ? 0 : 1 / deviation;
        rstd[r] = (real)scale;
        for (int64_t j = 0; j < n; j++) {
            y[j] = (real)(x[j] * scale * weight(gamma, j));
        }
    }
}

/* Computes dx_j = r g_j - r^3 / n x_j sum(g x), where g = dy gamma and r = rstd. */
void ref_rms_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                           bool add_gamma, const real *dy, const real *x, const real *rstd,
                           const real *gamma)
{
    for (int64_t row = 0; row < rows && dx; row++) {
        const real *dy_row = dy + row * n, *x_row = x + row * n;
        double r = rstd[row], dot = 0;
        for (int64_t j = 0; j < n; j++) {
            dot += dy_row[j] * weight(gamma, j) * x_row[j];
        }
        double slope = r * r * r / (double)n;
        for (int64_t j = 0; j < n; j++) {
            double d = r * dy_row[j] * weight(gamma, j) - slope * dot * x_row[j];
            dx[row * n + j] = (real)((add_x ? dx[row * n + j] : 0) + d);
        }
    }
    if (dgamma) {
        ref_sum_normalized(rows, n, dgamma, dy, x, NULL, NULL, rstd, add_gamma);
    }
}

void ref_rope(const KRope *p, real *y, const real *x, const real *table)
{
    for (int64_t i = 0; i < p->rows * p->heads * p->n; i++) {
        int64_t head = i / p->n, pair = i % p->n, row = head / p->heads % p->period;
        int64_t a = head * 2 * p->n + (p->adjacent ? 2 * pair : pair);
        int64_t b = a + (p->adjacent ? 1 : p->n);
        const real *cosine = table + row * 2 * p->n, *sine = cosine + p->n;
        double c = cosine[pair], s = p->back ? -(double)sine[pair] : sine[pair];
        double ya = x[a] * c - x[b] * s, yb = x[b] * c + x[a] * s;
        y[a] = (real)((p->add ? y[a] : 0) + ya);
        y[b] = (real)((p->add ? y[b] : 0) + yb);
    }
}

/* ---- cross entropy --------------------------------------------------------------------------- */

/* Returns the mean of x - best. */
static double mean_above(int64_t n, const real *x, double best)
{
    double mean = 0;
    for (int64_t j = 0; j < n; j++) {
        mean += (x[j] - best) / (double)n;
    }
    return mean;
}

/* Compares each row with its target: 1 - smoothing for the right class, and smoothing / n more for
 * each class. `top` and `log_sum` are the results of log_exp_sum. */
void ref_cross_entropy(int64_t rows, int64_t n, real *loss, real *top, real *log_sum,
                       const real *logits, const int32_t *target, int32_t ignore, double smoothing)
{
    for (int64_t r = 0; r < rows; r++, logits += n) {
        double best, ls = log_exp_sum(n, logits, &best);
        top[r] = (real)best;
        log_sum[r] = (real)ls;
        if (target[r] == ignore) {
            loss[r] = 0;
        } else if (ls == -INFINITY) {
            loss[r] = (real)INFINITY;
        } else {
            double of_target = ls - (logits[target[r]] - best);     /* -log of its probability */
            double mean = smoothing != 0 ? mean_above(n, logits, best) : 0;
            loss[r] = (real)((1 - smoothing) * of_target + smoothing * (ls - mean));
        }
    }
}

void ref_cross_entropy_backward(int64_t rows, int64_t n, real *dlogits, const real *logits,
                                const real *top, const real *log_sum, const int32_t *target,
                                int32_t ignore, double smoothing, real scale, bool add)
{
    for (int64_t r = 0; r < rows; r++, logits += n, dlogits += n) {
        for (int64_t j = 0; j < n; j++) {
            double p = log_sum[r] == -INFINITY ? 0 : exp((double)logits[j] - top[r] - log_sum[r]);
            double t = smoothing / (double)n + (j == target[r] ? 1 - smoothing : 0);
            double d = target[r] == ignore ? 0 : scale * (p - t);
            dlogits[j] = (real)((add ? dlogits[j] : 0) + d);
        }
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

void ref_gather_rows(int64_t rows, int64_t width, real *y, const real *table, const int32_t *ids)
{
    for (int64_t r = 0; r < rows; r++) {
        memcpy(y + r * width, table + ids[r] * width, (size_t)width * sizeof(real));
    }
}

void ref_scatter_add_rows(int64_t rows, int64_t width, real *table_grad, const real *dy,
                          const int32_t *ids, const int32_t *place, double *sums)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t j = 0; j < width; j++) {
            if (place && place[ids[r]] >= 0) {
                sums[place[ids[r]] * width + j] += dy[r * width + j];
            } else {
                table_grad[ids[r] * width + j] += dy[r * width + j];
            }
        }
    }
}
