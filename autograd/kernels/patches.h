/* patches.h: the patches of an image under the windows of a convolution, as a matrix. */
#ifndef KAERU_PATCHES_H
#define KAERU_PATCHES_H

#include <stdint.h>

#include "real.h"

/* An image x (c, h, w) with `padding` zeros on each side, and windows of kh x kw items, `stride` apart, ow in a row. Of the
 * window at row y and column v, item (channel, i, j) is x[channel, y stride + i - padding, v stride + j - padding]. The matrix
 * (c kh kw, rows ow) has a column for each window of the rows first..first + rows - 1. */
typedef struct { int64_t c, h, w, kh, kw, ow, stride, padding, first, rows; } KPatches;
void k_patches(const KPatches *p, real *matrix, const real *x);
/* x += the matrix's items, each at its place in x: the transposed function. */
void k_patches_add(const KPatches *p, real *x, const real *matrix);

#endif
