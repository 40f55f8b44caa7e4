/* more_kernels.h: the kernels that only the operations of this folder use. All that kernels.h says
 * holds for them, too: they are defined in fast/, and as plain loops in plain_kernels.c. headers.py
 * writes the list more_kernels.def from the declarations. */
#ifndef KAERU_MORE_KERNELS_H
#define KAERU_MORE_KERNELS_H

#include "kernels.h"

/* ---- rotations ------------------------------------------------------------------------------- */

/* Rotates pairs of items of x (rows, heads, 2 n): (a, b) becomes (a c - b s, b c + a s). Pair i is
 * items i and i + n or, if `adjacent`, items 2 i and 2 i + 1. The cosines c and the sines s come
 * from a table (period, 2 n): for row r of x, row r % period of the table has n cosines, then n
 * sines. `back` rotates by the negative angles, as the backward rule does. */
typedef struct { int64_t rows, heads, n, period; bool adjacent, back, add; } KRope;

/* ---- convolutions ---------------------------------------------------------------------------- */

/* The parts of an image under the windows of a convolution, as a matrix: a convolution is then a
 * product of matrices. The image x (c, h, w) has `padding` zeros on each side. A window has kh x kw
 * items, which are `dilation` apart. The windows are `stride` apart, and ow of them are in a row.
 * These three are pairs, for height and width. Item (channel, i, j) of window v in row y is
 *
 *     x[channel][y stride[0] + i dilation[0] - padding[0]]
 *               [v stride[1] + j dilation[1] - padding[1]]
 *
 * The matrix (c kh kw, rows ow) has a column for each window of the rows first..first + rows -
 * 1. */
typedef struct {
    int64_t c, h, w, kh, kw, ow, stride[2], padding[2], dilation[2], first, rows;
} KPatches;

/* ---- the kernels ----------------------------------------------------------------------------- */

/* max.c: x is (outer, n, inner), y and index are (outer, inner). */

/* Sets y to the largest items along n >= 1 or, if `least` is set, to the smallest ones. NaN counts
 * as the largest and as the smallest. If `index` is not NULL, it gets the first place of each. */
void k_max(int64_t outer, int64_t n, int64_t inner, real *y, int32_t *index, const real *x,
           bool least);

/* norm.c: x, y, dx and dy are (rows, n), gamma (n) or NULL, which counts as 1, and rstd (rows). dx
 * and dgamma may be NULL if they are not wanted, and each has an `add` of its own. */

/* Computes y = gamma x rstd for each row, and writes rstd = 1 / sqrt(mean(x^2) + eps); 0 if that
 * divides by 0. */
void k_rms_norm(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma,
                double eps);
void k_rms_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                         bool add_gamma, const real *dy, const real *x, const real *rstd,
                         const real *gamma);
/* Computes y = (x - mean) factor + beta, and rounds after each step. x and y are (outer, channels,
 * inner), mean, factor and beta (channels). If `deviation` is not NULL, an array like x, it gets
 * x - mean. */
void k_normalize(int64_t outer, int64_t channels, int64_t inner, real *y, real *deviation,
                 const real *x, const real *mean, const real *factor, const real *beta);

/* patches.c */

/* Writes the matrix of the image x that KPatches describes. */
void k_patches(const KPatches *p, real *matrix, const real *x);
/* Adds each item of the matrix to the item of x that k_patches takes it from. */
void k_patches_add(const KPatches *p, real *x, const real *matrix);

/* reduce.c: x is (outer, n, inner), and y, mean and rest are (outer, inner). */

/* Computes y = scale times the sum of (x - m)^2 along n, where m is the mean. It writes m as
 * mean + rest, both (outer, inner): `rest` is what the mean loses when it is rounded. */
void k_var(int64_t outer, int64_t n, int64_t inner, real *y, real *mean, real *rest, const real *x,
           real scale);

/* rope.c */

/* Rotates the pairs of x, as KRope describes: y (+)= the result. */
void k_rope(const KRope *shape, real *y, const real *x, const real *table);

#endif
