/* rows.c: sums and other reductions, softmax, layer norm, the cross entropy and tables, as
 * plain loops. See plain.h.
 *
 * (outer, n, inner) is the shape of an array that is reduced to (outer, inner). The other kernels
 * have rows of n items that lie one after another. */
#include "rows.h"

#include <math.h>
#include <string.h>

#include "functions.h"
#include "plain.h"

/* ---- the order of a sum ---------------------------------------------------------------------- */

static void row_end_block(RowSum *s)
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) {
            s->lane[l] += s->lane[l + half];
        }
    }
    *s = (RowSum){ .total = s->total + s->lane[0] };
}

void row_add(RowSum *s, real term)
{
    s->lane[s->n++ % LANES] += term;
    if (s->n == ROW_BLOCK) {
        row_end_block(s);
    }
}

double row_total(RowSum *s)
{
    if (s->n > 0) {
        row_end_block(s);
    }
    return s->total;
}

/* A sum down a column: a chunk is some whole blocks of 64 rows, and there are at most 32 chunks.
 * Each block, each chunk and the total is one chain of additions from 0. In the fast kernels,
 * threads can take chunks. */
enum { COLUMN_BLOCK = 64, COLUMN_CHUNKS = 32 };
typedef struct { int64_t length, row; real block, chunk, total; } ColumnSum;

/* Returns the length of a chunk if n items become at most `most` chunks of whole blocks. */
static int64_t chunk_length(int64_t n, int64_t most, int64_t block)
{
    int64_t length = (n + most - 1) / most;
    return (length + block - 1) / block * block;
}

static ColumnSum column_start(int64_t rows)
{
    return (ColumnSum){ .length = chunk_length(rows, COLUMN_CHUNKS, COLUMN_BLOCK) };
}

static void column_end_block(ColumnSum *s)
{
    s->chunk += s->block;
    s->block = 0;
}

static void column_end_chunk(ColumnSum *s)
{
    s->total += s->chunk;
    s->chunk = 0;
}

/* Adds a b, which is not rounded before the sum. */
static void column_add(ColumnSum *s, real a, real b)
{
    s->block = REAL(fma)(a, b, s->block);
    s->row++;
    if (s->row % COLUMN_BLOCK == 0) {
        column_end_block(s);
    }
    if (s->row % s->length == 0) {
        column_end_chunk(s);
    }
}

static real column_total(ColumnSum *s)
{
    column_end_block(s);
    column_end_chunk(s);
    return s->total;
}

/* ---- sums ------------------------------------------------------------------------------------ */

Row row_of(const real *x, int64_t n, int64_t inner, int64_t at)
{
    return (Row){ x + at / inner * n * inner + at % inner, inner, n };
}

static real term_of(Term term, real x, real mean)
{
    const real deviation = x - mean;
    if (term == VALUE) return x;
    return term == DEVIATION ? deviation : deviation * deviation;
}

real row_sum(Row r, Term term, real mean)
{
    if (r.step == 1) {
        const int64_t length = chunk_length(r.n, 256, ROW_BLOCK);
        double total = 0;
        for (int64_t begin = 0; begin < r.n; begin += length) {
            RowSum sum = { .total = 0 };
            for (int64_t j = begin; j < r.n && j < begin + length; j++) {
                row_add(&sum, term_of(term, r.x[j], mean));
            }
            total += (real)row_total(&sum);
        }
        return (real)total;
    }
    ColumnSum sum = column_start(r.n);
    for (int64_t j = 0; j < r.n; j++) {
        column_add(&sum, 1, term_of(term, r.x[j * r.step], mean));
    }
    return column_total(&sum);
}

double row_sum_in_double(Row r)
{
    double sum = 0;
    for (int64_t j = 0; j < r.n; j++) {
        sum += r.x[j * r.step];
    }
    return sum;
}

void ref_sum(int64_t outer, int64_t n, int64_t inner, real *y, const real *x, real scale, bool add)
{
    for (int64_t at = 0; at < outer * inner; at++) {
        const Row r = row_of(x, n, inner, at);
        const real sum = scale * row_sum(r, VALUE, 0);
        y[at] = add ? y[at] + sum : sum;
        if (scale < 1 && !add && !isfinite(y[at])) {
            y[at] = (real)(scale * row_sum_in_double(r));
        }
    }
}

/* Adds up along a row with 16 lanes of doubles, in at most 256 pieces of whole blocks. */
double ref_squared_distance(int64_t n, const real *a, const real *b)
{
    enum { SQUARE_LANES = 16 };
    const int64_t length = chunk_length(n, 256, ROW_BLOCK);
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += length) {
        double lane[SQUARE_LANES] = { 0 };
        for (int64_t i = begin; i < n && i < begin + length; i++) {
            double d = (double)a[i] - (b ? (double)b[i] : 0);
            lane[i % SQUARE_LANES] += d * d;
        }
        for (int half = SQUARE_LANES / 2; half > 0; half /= 2) {
            for (int l = 0; l < half; l++) {
                lane[l] += lane[l + half];
            }
        }
        total += lane[0];
    }
    return total;
}

bool ref_all_finite(int64_t n, const real *x)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) return false;
    }
    return true;
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* Returns the largest item that is not NaN. */
static real row_max(int64_t n, const real *x)
{
    real best = (real)-INFINITY;
    for (int64_t j = 0; j < n; j++) {
        best = x[j] > best ? x[j] : best;
    }
    return best;
}

/* Returns `value`, but NaN if an item of the row is NaN: for a row without an item above
 * -infinity. */
static real masked_value(int64_t n, const real *x, real value)
{
    for (int64_t j = 0; j < n; j++) {
        if (isnan(x[j])) return (real)NAN;
    }
    return value;
}

/* Sets *best to the largest item and returns the logarithm of the sum of e^(x - *best). ln of the
 * sum of e^x is *best plus that: two numbers, since their sum would lose digits of the smaller one.
 * Both are -infinity for a row of -infinity. */
static double log_sum_above(int64_t n, const real *x, real *best)
{
    RowSum sum = { .total = 0 };
    *best = row_max(n, x);
    if (*best == (real)-INFINITY) return masked_value(n, x, *best);
    for (int64_t j = 0; j < n; j++) {
        row_add(&sum, real_exp_negative(x[j] - *best));
    }
    return ag_math_log(row_total(&sum));
}

void ref_softmax(int64_t rows, int64_t n, real *y, const real *x)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        const real best = row_max(n, x);
        RowSum sum = { .total = 0 };
        if (best == (real)-INFINITY) {
            const real value = masked_value(n, x, 0);
            for (int64_t j = 0; j < n; j++) {
                y[j] = value;
            }
            continue;
        }
        for (int64_t j = 0; j < n; j++) {
            y[j] = real_exp_negative(x[j] - best);
            row_add(&sum, y[j]);
        }
        const real scale = (real)(1 / row_total(&sum));
        for (int64_t j = 0; j < n; j++) {
            y[j] *= scale;
        }
    }
}

void ref_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y,
                          bool add)
{
    for (int64_t r = 0; r < rows; r++, dx += n, dy += n, y += n) {
        RowSum sum = { .total = 0 };
        for (int64_t j = 0; j < n; j++) {
            row_add(&sum, dy[j] * y[j]);
        }
        const real dot = (real)row_total(&sum);
        for (int64_t j = 0; j < n; j++) {
            dx[j] = add ? REAL(fma)(y[j], dy[j] - dot, dx[j]) : y[j] * (dy[j] - dot);
        }
    }
}

void ref_log_softmax(int64_t rows, int64_t n, real *y, const real *x)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        real best;
        const real log_sum = (real)log_sum_above(n, x, &best);
        for (int64_t j = 0; j < n; j++) {
            y[j] = best == (real)-INFINITY ? log_sum : x[j] - best - log_sum;
        }
    }
}

void ref_log_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y,
                              bool add)
{
    for (int64_t r = 0; r < rows; r++, dx += n, dy += n, y += n) {
        RowSum total = { .total = 0 };
        for (int64_t j = 0; j < n; j++) {
            row_add(&total, dy[j]);
        }
        const real sum = (real)row_total(&total);
        for (int64_t j = 0; j < n; j++) {
            real d = REAL(fma)(-real_exp_negative(y[j]), sum, dy[j]);
            dx[j] = add ? dx[j] + d : d;
        }
    }
}

/* ---- layer norm ------------------------------------------------------------------------------ */

static Norm layer_norm_of(int64_t n, AgNorm kind, const real *gamma, const real *beta)
{
    const double divisor = (double)(kind.unbiased && n > 1 ? n - 1 : n);
    return (Norm){ n, true, kind.eps_inside, kind.eps, divisor, gamma, beta };
}

double deviation_of(const Norm *k, double var)
{
    return k->eps_inside ? sqrt(var + k->eps) : sqrt(var) + k->eps;
}

bool is_ordinary(real rstd)
{
    return 0x1p-50 < rstd && rstd < 0x1p50;
}

bool is_extreme(real rstd)
{
    return rstd >= 0x1p50 || (0 < rstd && rstd <= 0x1p-50);
}

Statistics row_in_double(const Norm *k, real *y, const real *x)
{
    const double first = k->centered && k->n > 0 ? (double)x[0] : 0;
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < k->n; j++) {
        sum += x[j] - first;
    }
    const double off = k->centered ? sum / (double)k->n : 0;
    for (int64_t j = 0; j < k->n; j++) {
        double c = x[j] - first - off;
        squares += c * c;
    }
    const double deviation = deviation_of(k, squares / k->divisor);
    const double rstd = deviation < 0x1p-126 ? 0 : 1 / deviation;
    for (int64_t j = 0; j < k->n; j++) {
        double normal = (x[j] - first - off) * rstd;
        y[j] = (real)(normal * (k->gamma ? k->gamma[j] : 1) + (k->beta ? k->beta[j] : 0));
    }
    const real mean = (real)(first + off);
    return (Statistics){ mean, (real)(first - mean + off), (real)rstd };
}

/* Returns minus the derivative of rstd by an item, divided by the item's deviation from the mean:
 * r^3 / N with eps inside the root, r^2 / (N sigma) outside, N the divisor of the variance. */
static double slope_of(const Norm *k, double rstd)
{
    if (rstd == 0) return 0;
    if (k->eps_inside) return rstd * rstd * rstd / k->divisor;
    const double sigma = 1 / rstd - k->eps;
    return sigma <= 0 ? 0 : rstd * rstd / (k->divisor * sigma);
}

void backward_in_double(const Norm *k, Statistics s, real *dx, const real *dy, const real *x,
                        bool add)
{
    const double mean = s.mean, rest = s.rest, r = s.rstd;
    double sum = 0, dot = 0;
    for (int64_t j = 0; j < k->n; j++) {
        double g = dy[j] * (k->gamma ? (double)k->gamma[j] : 1);
        sum += g;
        dot += g * (x[j] - mean - rest);
    }
    const double shift = k->centered ? -r * sum / (double)k->n : 0, slope = -slope_of(k, r) * dot;
    for (int64_t j = 0; j < k->n; j++) {
        double g = dy[j] * (k->gamma ? (double)k->gamma[j] : 1);
        real value = (real)(slope * (x[j] - mean - rest) + (r * g + shift));
        dx[j] = add ? dx[j] + value : value;
    }
}

real gradient_of(const Norm *k, const real *dy, int64_t j)
{
    return k->gamma ? dy[j] * k->gamma[j] : dy[j];
}

/* Computes a row of y from (t - rest) rstd with t = x - mean, which is exact where the mean is
 * large and the deviation small. */
static Statistics layer_norm_row(const Norm *k, real *y, const real *x)
{
    const double n = (double)k->n;
    RowSum sum = { .total = 0 }, deviations = { .total = 0 }, squares = { .total = 0 };
    for (int64_t j = 0; j < k->n; j++) {
        row_add(&sum, x[j]);
    }
    const real mean = (real)(row_total(&sum) / n);
    for (int64_t j = 0; j < k->n; j++) {
        real t = x[j] - mean;
        row_add(&deviations, t);
        row_add(&squares, t * t);
    }
    const double off = row_total(&deviations) / n;
    const double var = (row_total(&squares) - row_total(&deviations) * off) / k->divisor;
    const real rest = (real)off, rstd = (real)(1 / deviation_of(k, var < 0 ? 0 : var));
    if (!is_ordinary(rstd)) return row_in_double(k, y, x);
    for (int64_t j = 0; j < k->n; j++) {
        y[j] = REAL(fma)(x[j] - mean, rstd, -rest * rstd);
        if (k->gamma && k->beta) {
            y[j] = REAL(fma)(y[j], k->gamma[j], k->beta[j]);
        } else if (k->gamma) {
            y[j] *= k->gamma[j];
        } else if (k->beta) {
            y[j] += k->beta[j];
        }
    }
    return (Statistics){ mean, rest, rstd };
}

void ref_layer_norm(int64_t rows, int64_t n, real *y, real *mean, real *rest, real *rstd,
                    const real *x, const real *gamma, const real *beta, AgNorm kind)
{
    const Norm k = layer_norm_of(n, kind, gamma, beta);
    for (int64_t r = 0; r < rows; r++) {
        const Statistics s = layer_norm_row(&k, y + r * n, x + r * n);
        mean[r] = s.mean;
        rest[r] = s.rest;
        rstd[r] = s.rstd;
    }
}

/* Computes an item of ref_sum_normalized in double, where a row's numbers are extreme. */
static real column_in_double(int64_t rows, int64_t n, int64_t j, real start, const real *dy,
                             const real *x, const real *mean, const real *rest, const real *rstd)
{
    double sum = start;
    for (int64_t r = 0; r < rows; r++) {
        double c = x[r * n + j] - (mean ? (double)mean[r] : 0) - (mean ? (double)rest[r] : 0);
        sum += dy[r * n + j] * (c * rstd[r]);
    }
    return (real)sum;
}

void ref_sum_normalized(int64_t rows, int64_t n, real *y, const real *dy, const real *x,
                        const real *mean, const real *rest, const real *rstd, bool add)
{
    for (int64_t j = 0; j < n; j++) {
        ColumnSum sum = column_start(rows);
        for (int64_t r = 0; r < rows; r++) {
            const real item = x[r * n + j];
            column_add(&sum, dy[r * n + j],
                       mean ? REAL(fma)(item - mean[r], rstd[r], -(rest[r] * rstd[r]))
                            : item * rstd[r]);
        }
        y[j] = add ? y[j] + column_total(&sum) : column_total(&sum);
    }
}

void sum_dgamma(int64_t rows, int64_t n, real *y, const real *dy, const real *x, const real *mean,
                const real *rest, const real *rstd, bool add)
{
    bool extreme = false;
    for (int64_t r = 0; r < rows; r++) {
        extreme = extreme || is_extreme(rstd[r]);
    }
    if (!extreme) {
        ref_sum_normalized(rows, n, y, dy, x, mean, rest, rstd, add);
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        y[j] = column_in_double(rows, n, j, add ? y[j] : 0, dy, x, mean, rest, rstd);
    }
}

/* Computes, with c = t - rest, t = x - mean, and g = dy gamma: dx = r (g - mean g) - k c sum(g c),
 * where sum(g c) = sum(g t) - rest sum(g). All that is the same for each item is in `shift`. */
static void layer_norm_backward_row(const Norm *k, Statistics s, real *dx, const real *dy,
                                    const real *x, bool add)
{
    const double r = s.rstd, rest = s.rest;
    RowSum sum_g = { .total = 0 }, sum_gt = { .total = 0 };
    for (int64_t j = 0; j < k->n; j++) {
        const real g = gradient_of(k, dy, j);
        row_add(&sum_g, g);
        row_add(&sum_gt, g * (x[j] - s.mean));
    }
    const double sum = row_total(&sum_g), dot = row_total(&sum_gt) - rest * sum;
    const double slope = slope_of(k, r) * dot;
    const real shift = (real)(slope * rest - r * sum / (double)k->n);
    for (int64_t j = 0; j < k->n; j++) {
        const real g = gradient_of(k, dy, j);
        const real d = REAL(fma)((real)-slope, x[j] - s.mean, REAL(fma)(s.rstd, g, shift));
        dx[j] = add ? dx[j] + d : d;
    }
}

/* Computes a row of one item in double, where g - mean g is exactly 0. */
void ref_layer_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                             bool add_gamma, real *dbeta, bool add_beta, const real *dy,
                             const real *x, const real *mean, const real *rest, const real *rstd,
                             const real *gamma, AgNorm kind)
{
    const Norm k = layer_norm_of(n, kind, gamma, NULL);
    for (int64_t r = 0; r < rows && dx; r++) {
        const Statistics s = { mean[r], rest[r], rstd[r] };
        if (n == 1 || is_extreme(s.rstd)) {
            backward_in_double(&k, s, dx + r * n, dy + r * n, x + r * n, add_x);
        } else {
            layer_norm_backward_row(&k, s, dx + r * n, dy + r * n, x + r * n, add_x);
        }
    }
    if (dgamma) {
        sum_dgamma(rows, n, dgamma, dy, x, mean, rest, rstd, add_gamma);
    }
    if (dbeta) {
        ref_sum(1, rows, n, dbeta, dy, 1, add_beta);
    }
}

/* ---- cross entropy --------------------------------------------------------------------------- */

void ref_cross_entropy(int64_t rows, int64_t n, real *loss, real *top, real *log_sum,
                       const real *logits, const int32_t *target, int32_t ignore, double smoothing)
{
    for (int64_t r = 0; r < rows; r++, logits += n) {
        const double ls = log_sum_above(n, logits, &top[r]);
        log_sum[r] = (real)ls;
        if (target[r] == ignore) {
            loss[r] = 0;
        } else if (ls == -INFINITY) {
            loss[r] = (real)INFINITY;
        } else {
            double value = ls - ((double)logits[target[r]] - top[r]);
            if (smoothing != 0) {
                RowSum sum = { .total = 0 };
                for (int64_t j = 0; j < n; j++) {
                    row_add(&sum, logits[j] - top[r]);
                }
                const double mean = row_total(&sum) / (double)n;
                value = (1 - smoothing) * value + smoothing * (ls - mean);
            }
            loss[r] = (real)value;
        }
    }
}

/* Takes each probability in a row of -infinity as 0. */
void ref_cross_entropy_backward(int64_t rows, int64_t n, real *dlogits, const real *logits,
                                const real *top, const real *log_sum, const int32_t *target,
                                int32_t ignore, double smoothing, real scale, bool add)
{
    const real smoothed = (real)(-scale * smoothing / (double)n);
    for (int64_t r = 0; r < rows; r++, logits += n, dlogits += n) {
        const bool masked = log_sum[r] == (real)-INFINITY, ignored = target[r] == ignore;
        for (int64_t j = 0; j < n; j++) {
            real p = masked ? 0 : real_exp_negative(logits[j] - top[r] - log_sum[r]);
            real d = ignored ? 0 : REAL(fma)(p, scale, smoothed);
            dlogits[j] = add ? dlogits[j] + d : d;
        }
        if (!ignored) {
            dlogits[target[r]] -= (real)(scale * (1 - smoothing));
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
