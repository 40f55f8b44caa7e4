/* distributions.h: arrays of random numbers, a pure function of (seed, counter), and dropout. philox.h has the generator. */
#ifndef KAERU_DISTRIBUTIONS_H
#define KAERU_DISTRIBUTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

/* Uniform in [low, high) with 24 random bits: element i is computed from word i%4 of block counter + i/4. */
void k_uniform(int64_t n, real *y, uint64_t seed, uint64_t counter, double low, double high);
/* Normal by Box and Muller from pairs of words of the same blocks: element i uses block counter + i/4. */
void k_normal(int64_t n, real *y, uint64_t seed, uint64_t counter, double mean, double deviation);
/* y = x / (1-p) where element i's uniform number (as above, in [0, 1)) is >= p, else 0; y may be x. p is in [0, 1). The
 * backward is the same call with dy and the same counter. */
void k_dropout(int64_t n, real *y, const real *x, double p, uint64_t seed, uint64_t counter, bool add);

#endif
