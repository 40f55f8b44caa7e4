/* random.h: random numbers.
 *
 *     ag_seed(1);
 *     double x = ag_random_uniform();
 *     int64_t die = 1 + ag_random_below(6);
 *
 * The generator is Philox4x32-10: a function of a seed and a counter, the same on every machine and
 * on any number of threads. Each thread has one generator. Every random operation advances its
 * counter. The two integers are the whole state. */
#ifndef KAERU_PUBLIC_RANDOM_H
#define KAERU_PUBLIC_RANDOM_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

typedef struct { uint64_t seed, counter; } AgRandom;
/* Sets the seed, and the counter to 0. A thread begins with seed 0. */
void     ag_seed(uint64_t seed);
/* Return and set the state of this thread's generator. */
AgRandom ag_random_state(void);
void     ag_set_random_state(AgRandom state);

/* Returns 32 random bits, and uses one block of the generator. */
uint32_t ag_random_u32(void);
/* Returns a number in [0, 1), and uses one block of the generator. */
double   ag_random_uniform(void);
/* Returns an integer in 0..n-1, each with the same probability; n >= 1. */
int64_t  ag_random_below(int64_t n);

/* Writes 0..n-1 in a random order to `out`. */
void     ag_random_permutation(int64_t n, int32_t *out);

#include "kaeru/calls/random.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/batches.h"
#endif

#endif
