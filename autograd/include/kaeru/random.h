/* random.h: random numbers.
 *
 * Philox4x32-10: a pure function of (seed, counter), the same on every machine and any number of threads. Each thread has
 * one generator. Every random operation advances its counter. The two integers are the whole state. */
#ifndef KAERU_PUBLIC_RANDOM_H
#define KAERU_PUBLIC_RANDOM_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

typedef struct { uint64_t seed, counter; } AgRandom;
void     ag_seed(uint64_t seed);                                        /* sets the counter to 0; the first seed is 0 */
AgRandom ag_random_state(void);
void     ag_set_random_state(AgRandom state);

uint32_t ag_random_u32(void);                                           /* uses one block of the generator */
double   ag_random_uniform(void);                                       /* [0, 1); uses one block */
int64_t  ag_random_below(int64_t n);                      /* 0..n-1 without bias, n >= 1 */

/* Writes a random order of 0..n-1. */
void     ag_random_permutation(int64_t n, int32_t *out);

/* The items of mini-batch number `step`, from 0 on, of a set of n: AG_INT (size), for ag_index_select of each tensor of the
 * set. n / size batches in turn are an epoch and have different items, in an order that is random and new in each epoch. A
 * rest of less than `size` items is left out of an epoch. The ids depend on the four arguments alone, not on this thread's
 * generator, so that a run resumes from its step. */
Tensor *ag_batch_ids(int64_t n, int64_t size, int64_t step, uint64_t seed);

#include "kaeru/calls/random.h"

AG_PUBLIC_END

#endif
