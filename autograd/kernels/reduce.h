/* reduce.h: sums and extremes along one dimension or over a whole array. */
#ifndef KAERU_REDUCE_H
#define KAERU_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

/* ---- along one dimension: x is (outer, n, inner), y is (outer, inner) -------------------------------------------- */

/* y = scale * sum of x */
void k_sum(int64_t outer, int64_t n, int64_t inner, real *y, const real *x, real scale, bool add);
/* The largest item (with `least` the smallest) and, if index is given, its first place. NaN counts as the largest and as
 * the smallest. n >= 1. */
void k_max(int64_t outer, int64_t n, int64_t inner, real *y, int32_t *index, const real *x, bool least);
/* y = scale * sum of (x - m)^2, where m is the mean of the x. m is written as mean + rest (outer, inner): where it is large,
 * one float is too coarse. */
void k_var(int64_t outer, int64_t n, int64_t inner, real *y, real *mean, real *rest, const real *x, real scale);

/* ---- over a whole array ------------------------------------------------------------------------------------------ */

double k_sum_squares(int64_t n, const real *x);
/* sum of (a - b)^2 */
double k_squared_distance(int64_t n, const real *a, const real *b);
bool k_all_finite(int64_t n, const real *x);

#endif
