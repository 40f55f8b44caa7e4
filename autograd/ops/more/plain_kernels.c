/* plain_kernels.c: the kernels of more_kernels.h as plain loops. */
#include "plain_kernels.h"

#include <math.h>

#include "functions.h"
#include "plain/rows.h"

/* ---- extremes and variances ------------------------------------------------------------------ */

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

static double squares_in_double(Row r, double mean)
{
    double sum = 0;
    for (int64_t j = 0; j < r.n; j++) {
        double c = r.x[j * r.step] - mean;
        sum += c * c;
    }
    return sum;
}

/* Computes the mean as two numbers. The first one has rounding errors; the mean of the deviations
 * from it corrects it, and what the corrected one loses by rounding is `rest`. */
void ref_var(int64_t outer, int64_t n, int64_t inner, real *y, real *mean, real *rest,
             const real *x, real scale)
{
    const real share = (real)(1 / (double)n);
    for (int64_t at = 0; at < outer * inner; at++) {
        const Row r = row_of(x, n, inner, at);
        const real first = share * row_sum(r, VALUE, 0), off = share * row_sum(r, DEVIATION, first);
        mean[at] = first + off;
        rest[at] = off - (mean[at] - first);
        if (!isfinite(mean[at])) {
            const double exact = row_sum_in_double(r) / (double)n;
            mean[at] = (real)exact;
            rest[at] = isfinite(mean[at]) ? (real)(exact - mean[at]) : 0;
        }
        y[at] = row_sum(r, SQUARE, mean[at]);
        if (y[at] == (real)INFINITY) {
            y[at] = (real)(scale * squares_in_double(r, (double)mean[at] + rest[at]));
            continue;
        }
        const real squares = (real)(y[at] - (double)n * rest[at] * rest[at]);
        y[at] = scale * (squares < 0 ? 0 : squares);
    }
}

/* ---- RMS norm -------------------------------------------------------------------------------- */

static Norm rms_norm_of(int64_t n, double eps, const real *gamma)
{
    return (Norm){ n, false, true, eps, (double)n, gamma, NULL };
}

static Statistics rms_norm_row(const Norm *k, real *y, const real *x)
{
    RowSum squares = { .total = 0 };
    for (int64_t j = 0; j < k->n; j++) {
        row_add(&squares, x[j] * x[j]);
    }
    const real rstd = (real)(1 / deviation_of(k, row_total(&squares) / k->divisor));
    if (!is_ordinary(rstd)) return row_in_double(k, y, x);
    for (int64_t j = 0; j < k->n; j++) {
        y[j] = k->gamma ? x[j] * rstd * k->gamma[j] : x[j] * rstd;
    }
    return (Statistics){ .rstd = rstd };
}

void ref_rms_norm(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma,
                  double eps)
{
    const Norm k = rms_norm_of(n, eps, gamma);
    for (int64_t r = 0; r < rows; r++) {
        rstd[r] = rms_norm_row(&k, y + r * n, x + r * n).rstd;
    }
}

/* Computes, with g = dy gamma, dx = r g - r^3 / n x sum(g x). */
static void rms_norm_backward_row(const Norm *k, Statistics s, real *dx, const real *dy,
                                  const real *x, bool add)
{
    const double r = s.rstd;
    RowSum sum = { .total = 0 };
    for (int64_t j = 0; j < k->n; j++) {
        row_add(&sum, gradient_of(k, dy, j) * x[j]);
    }
    const real slope = (real)(-r * r * r / (double)k->n * row_total(&sum));
    for (int64_t j = 0; j < k->n; j++) {
        const real d = REAL(fma)(slope, x[j], s.rstd * gradient_of(k, dy, j));
        dx[j] = add ? dx[j] + d : d;
    }
}

void ref_rms_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                           bool add_gamma, const real *dy, const real *x, const real *rstd,
                           const real *gamma)
{
    const Norm k = rms_norm_of(n, 0, gamma);
    for (int64_t r = 0; r < rows && dx; r++) {
        const Statistics s = { .rstd = rstd[r] };
        if (is_extreme(s.rstd)) {
            backward_in_double(&k, s, dx + r * n, dy + r * n, x + r * n, add_x);
        } else {
            rms_norm_backward_row(&k, s, dx + r * n, dy + r * n, x + r * n, add_x);
        }
    }
    if (dgamma) {
        sum_dgamma(rows, n, dgamma, dy, x, NULL, NULL, rstd, add_gamma);
    }
}

/* ---- images ---------------------------------------------------------------------------------- */

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

/* Returns the place in x of item `item` of the window at row p->first + `row` and column `v`, or -1
 * in the padding. */
static int64_t place_of(const KPatches *p, int64_t item, int64_t row, int64_t v)
{
    int64_t channel = item / (p->kh * p->kw), i = item / p->kw % p->kh, j = item % p->kw;
    int64_t line = (p->first + row) * p->stride[0] + i * p->dilation[0] - p->padding[0];
    int64_t column = v * p->stride[1] + j * p->dilation[1] - p->padding[1];
    bool inside = line >= 0 && line < p->h && column >= 0 && column < p->w;
    return inside ? (channel * p->h + line) * p->w + column : -1;
}

void ref_patches(const KPatches *p, real *matrix, const real *x)
{
    for (int64_t item = 0; item < p->c * p->kh * p->kw; item++) {
        for (int64_t row = 0; row < p->rows; row++) {
            for (int64_t v = 0; v < p->ow; v++) {
                int64_t place = place_of(p, item, row, v);
                *matrix++ = place < 0 ? 0 : x[place];
            }
        }
    }
}

void ref_patches_add(const KPatches *p, real *x, const real *matrix)
{
    for (int64_t item = 0; item < p->c * p->kh * p->kw; item++) {
        for (int64_t row = 0; row < p->rows; row++) {
            for (int64_t v = 0; v < p->ow; v++) {
                int64_t place = place_of(p, item, row, v);
                real d = *matrix++;
                if (place >= 0) {
                    x[place] += d;
                }
            }
        }
    }
}

/* ---- rotations ------------------------------------------------------------------------------- */

void ref_rope(const KRope *p, real *y, const real *x, const real *table)
{
    for (int64_t i = 0; i < p->rows * p->heads * p->n; i++) {
        int64_t head = i / p->n, pair = i % p->n, row = head / p->heads % p->period;
        int64_t a = head * 2 * p->n + (p->adjacent ? 2 * pair : pair),
                b = a + (p->adjacent ? 1 : p->n);
        real c = table[row * 2 * p->n + pair],
             s = (p->back ? -1 : 1) * table[row * 2 * p->n + p->n + pair];
        real ya = REAL(fma)(-x[b], s, x[a] * c), yb = REAL(fma)(x[a], s, x[b] * c);
        y[a] = p->add ? y[a] + ya : ya;
        y[b] = p->add ? y[b] + yb : yb;
    }
}
