/* rows.c: reductions and kernels of rows as plain loops. See plain.h. */
#include "plain.h"

#include <math.h>
#include <string.h>

/* A row of n items: item j is x[j * step]. */
typedef struct { const real *x; int64_t step, n; } Row;

/* The items of (outer, n, inner) whose sum is item `at` of (outer, inner). */
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

/* Mean and sum of squared differences from it. The first mean has rounding errors; the sum of the
 * differences corrects both, so that a row of equal numbers has a variance of exactly 0. */
static double row_mean(Row r, double *squares)
{
    double mean = row_sum(r) / (double)r.n, d1 = 0, d2 = 0;
    for (int64_t j = 0; j < r.n; j++) {
        double d = r.x[j * r.step] - mean;
        d1 += d;
        d2 += d * d;
    }
    *squares = d2 - d1 * d1 / (double)r.n;
    return isfinite(mean) ? mean + d1 / (double)r.n : mean;
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
        for (int64_t j = 1; j < n && !isnan(r.x[best * r.step]); j++) {
            real v = r.x[j * r.step], b = r.x[best * r.step];
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

/* ln of the sum of e^(x - *best), where *best is the largest item; both are -infinity for a row of
 * -infinity. Their sum would lose the digits of the smaller one. */
static double log_sum_above(int64_t n, const real *x, double *best)
{
    double sum = 0;
    *best = row_max(n, x);
    if (*best == -INFINITY) return *best;
    for (int64_t j = 0; j < n; j++) {
        sum += exp(x[j] - *best);
    }
    return log(sum);
}

void ref_softmax(int64_t rows, int64_t n, real *y, const real *x)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        double best = row_max(n, x), sum = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += exp(x[j] - best);
        }
        for (int64_t j = 0; j < n; j++) {
            y[j] = best == -INFINITY ? 0 : (real)(exp(x[j] - best) / sum);
        }
    }
}

void ref_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y,
                          bool add)
{
    for (int64_t r = 0; r < rows; r++, dx += n, dy += n, y += n) {
        double dot = 0;
        for (int64_t j = 0; j < n; j++) {
            dot += (double)dy[j] * y[j];
        }
        for (int64_t j = 0; j < n; j++) {
            dx[j] = (real)((add ? dx[j] : 0) + y[j] * (dy[j] - dot));
        }
    }
}

void ref_log_softmax(int64_t rows, int64_t n, real *y, const real *x)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        double best, log_sum = log_sum_above(n, x, &best);
        for (int64_t j = 0; j < n; j++) {
            y[j] = (real)(log_sum == -INFINITY ? -INFINITY : x[j] - best - log_sum);
        }
    }
}

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

void ref_layer_norm(int64_t rows, int64_t n, real *y, real *mean, real *rest, real *rstd,
                    const real *x, const real *gamma, const real *beta, AgNorm kind)
{
    double divisor = (double)(kind.unbiased && n > 1 ? n - 1 : n);
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        double squares, m = row_mean((Row){ x, 1, n }, &squares), var = squares / divisor;
        double deviation = kind.eps_inside ? sqrt(var + kind.eps) : sqrt(var) + kind.eps;
        double scale = deviation == 0 ? 0 : 1 / deviation;
        mean[r] = (real)m;
        rest[r] = (real)(m - mean[r]);
        rstd[r] = (real)scale;
        for (int64_t j = 0; j < n; j++) {
            y[j] = (real)((x[j] - m) * scale * (gamma ? gamma[j] : 1) + (beta ? beta[j] : 0));
        }
    }
}

void ref_sum_normalized(int64_t rows, int64_t n, real *y, const real *dy, const real *x,
                        const real *mean, const real *rest, const real *rstd, bool add)
{
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++) {
            sum += dy[r * n + j] * ((double)x[r * n + j] - (mean ? (double)mean[r] + rest[r] : 0)) *
                   rstd[r];
        }
        y[j] = (real)((add ? y[j] : 0) + sum);
    }
}

/* y = g c r with c = x - mean, r = 1 / deviation:
 *     dx_j = r (g_j - mean g) - r' c_j sum(g c)
 * where r' c_j = -dr/dx_j: r^3 / N with eps inside the root, r^2 / (N sigma) outside, N the divisor
 * of the variance. */
void ref_layer_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                             bool add_gamma, real *dbeta, bool add_beta, const real *dy,
                             const real *x, const real *mean, const real *rest, const real *rstd,
                             const real *gamma, AgNorm kind)
{
    double divisor = (double)(kind.unbiased && n > 1 ? n - 1 : n);
    for (int64_t r = 0; r < rows && dx; r++) {
        const real *g = dy + r * n, *xr = x + r * n;
        double m = (double)mean[r] + rest[r], s = rstd[r], sum = 0, dot = 0;
        for (int64_t j = 0; j < n; j++) {
            double gj = g[j] * (double)(gamma ? gamma[j] : 1);
            sum += gj;
            dot += gj * (xr[j] - m);
        }
        double sigma = 1 / s - kind.eps;                        /* only for eps outside the root */
        double slope = s == 0            ? 0
                       : kind.eps_inside ? s * s * s / divisor
                       : sigma <= 0      ? 0
                                         : s * s / (divisor * sigma);
        for (int64_t j = 0; j < n; j++) {
            double gj = g[j] * (double)(gamma ? gamma[j] : 1);
            double d = s * (gj - sum / (double)n) - slope * dot * (xr[j] - m);
            dx[r * n + j] = (real)((add_x ? dx[r * n + j] : 0) + d);
        }
    }
    if (dgamma) {
        ref_sum_normalized(rows, n, dgamma, dy, x, mean, rest, rstd, add_gamma);
    }
    if (dbeta) {
        ref_sum(1, rows, n, dbeta, dy, 1, add_beta);
    }
}

/* ---- RMS norm, rotations --------------------------------------------------------------------- */

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

void ref_rms_norm(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma,
                  double eps)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        double squares = 0;
        for (int64_t j = 0; j < n; j++) {
            squares += (double)x[j] * x[j];
        }
        double deviation = sqrt(squares / (double)n + eps),
               scale = deviation == 0 ? 0 : 1 / deviation;
        rstd[r] = (real)scale;
        for (int64_t j = 0; j < n; j++) {
            y[j] = (real)(x[j] * scale * (gamma ? gamma[j] : 1));
        }
    }
}

void ref_rms_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                           bool add_gamma, const real *dy, const real *x, const real *rstd,
                           const real *gamma)
{
    for (int64_t r = 0; r < rows && dx; r++) {
        const real *g = dy + r * n, *xr = x + r * n;
        double s = rstd[r], dot = 0;
        for (int64_t j = 0; j < n; j++) {
            dot += g[j] * (double)(gamma ? gamma[j] : 1) * xr[j];
        }
        for (int64_t j = 0; j < n; j++) {
            double d = s * g[j] * (gamma ? gamma[j] : 1) - s * s * s / (double)n * dot * xr[j];
            dx[r * n + j] = (real)((add_x ? dx[r * n + j] : 0) + d);
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
        int64_t a = head * 2 * p->n + (p->adjacent ? 2 * pair : pair),
                b = a + (p->adjacent ? 1 : p->n);
        double c = table[row * 2 * p->n + pair],
               s = (p->back ? -1 : 1) * (double)table[row * 2 * p->n + p->n + pair];
        double ya = x[a] * c - x[b] * s, yb = x[b] * c + x[a] * s;
        y[a] = (real)((p->add ? y[a] : 0) + ya);
        y[b] = (real)((p->add ? y[b] : 0) + yb);
    }
}

/* ---- cross entropy --------------------------------------------------------------------------- */

void ref_cross_entropy(int64_t rows, int64_t n, real *loss, real *top, real *log_sum,
                       const real *logits, const int32_t *target, int32_t ignore, double smoothing)
{
    for (int64_t r = 0; r < rows; r++, logits += n) {
        double best, ls = log_sum_above(n, logits, &best), mean = 0;
        top[r] = (real)best;
        log_sum[r] = (real)ls;
        if (target[r] == ignore) {
            loss[r] = 0;
        } else if (ls == -INFINITY) {
            loss[r] = (real)INFINITY;
        } else {
            for (int64_t j = 0; j < n && smoothing != 0; j++) {
                mean += (logits[j] - best) / (double)n;
            }
            loss[r] = (real)((1 - smoothing) * (ls - (logits[target[r]] - best)) +
                             smoothing * (ls - mean));
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
