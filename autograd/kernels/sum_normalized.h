/* sum_normalized.h: a sum that reduce.c computes for norm.c, in the same instruction set. */
#ifndef KAERU_SUM_NORMALIZED_H
#define KAERU_SUM_NORMALIZED_H

#include "simd.h"

/* y[j] = (or +=) the sum over rows of dy (x - mean) rstd: the dgamma of layer norm, and with mean NULL, which
 * counts as 0, that of RMS norm. dy, x: (rows, n); mean, rstd: (rows). */
void ISA(sum_normalized)(int64_t rows, int64_t n, float *y, const float *dy, const float *x, const float *mean,
                          const float *rstd, bool add);

#endif
