/* rows.h: functions of the rows of x (rows, n): softmax, layer norm, cross entropy, and tables of rows. */
#ifndef KAERU_ROWS_H
#define KAERU_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

/* y may be x. A row of -infinity gives zeros (log_softmax: -infinity). */
void k_softmax(int64_t rows, int64_t n, real *y, const real *x);
void k_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add);
void k_log_softmax(int64_t rows, int64_t n, real *y, const real *x);
void k_log_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add);

/* y = gamma (x - mean) rstd + beta. gamma, beta: (n) or NULL. mean, rstd (rows) are written for backward.
 * rstd = 1 / sqrt(var + eps) with eps_inside, else 1 / (sqrt(var) + eps), and 0 if that divides by 0: y is beta there. var
 * divides by n, or by n-1 if unbiased. */
void k_layer_norm(int64_t rows, int64_t n, real *y, real *mean, real *rstd, const real *x, const real *gamma,
                  const real *beta, AgNorm kind);
/* dx, dgamma and dbeta may each be NULL. In a row of variance 0 no gradient passes through the deviation. */
void k_layer_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, real *dbeta,
                           bool add_beta, const real *dy, const real *x, const real *mean, const real *rstd,
                           const real *gamma, AgNorm kind);

/* y = gamma x rstd with rstd = 1 / sqrt(mean of x^2 + eps), 0 if that divides by 0. gamma: (n) or NULL. rstd (rows) is written
 * for backward. */
void k_rms_norm(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma, double eps);
/* dx and dgamma may each be NULL. */
void k_rms_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, const real *dy,
                         const real *x, const real *rstd, const real *gamma);

/* Turns the pairs of entries of x (rows, heads, 2 n): (a, b) becomes (a c - b s, b c + a s). For row r, row r % period of the
 * table (period, 2 n) has the n cosines c, then the n sines s. Pair i is entries i and i + n, or 2 i and 2 i + 1 if `adjacent`.
 * With `back`, by the negative angles: the backward rule. */
typedef struct { int64_t rows, heads, n, period; bool adjacent, back, add; } KRope;
void k_rope(const KRope *shape, real *y, const real *x, const real *table);

/* loss[i] = -log softmax(row i)[target[i]], with label smoothing s: (1-s) times that + s times the mean over classes of
 * -log softmax. loss[i] = 0 where target[i] == ignore. For backward, top[i] = max(row i) and log_sum[i] = log sum
 * exp(row i - top[i]): two numbers, because their sum would lose the digits of the smaller one. Targets are in range. A row of
 * -infinity has a loss of infinity, and its softmax counts as 0. */
void k_cross_entropy(int64_t rows, int64_t n, real *loss, real *top, real *log_sum, const real *logits,
                     const int32_t *target, int32_t ignore, double smoothing);
/* dlogits = scale[i] (softmax - smoothed one-hot), 0 for ignored rows. dlogits may be logits if !add. */
void k_cross_entropy_backward(int64_t rows, int64_t n, real *dlogits, const real *logits, const real *top,
                              const real *log_sum, const int32_t *target, int32_t ignore, double smoothing,
                              const real *scale, bool add);

/* y[i] = table[ids[i]], rows of `width` items. Its backward: table_grad[ids[i]] += dy[i], in the order of i. */
void k_gather_rows(int64_t rows, int64_t width, real *y, const real *table, const int32_t *ids);
void k_scatter_add_rows(int64_t rows, int64_t width, real *table_grad, const real *dy, const int32_t *ids);

#endif
