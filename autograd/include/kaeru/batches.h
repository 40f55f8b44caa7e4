/* batches.h: mini-batches of a data set, in a random order.
 *
 *     Tensor *ids = ag_batch_ids(tensor_dim(x, 0), 32, step, seed);
 *     Tensor *x_batch = ag_index_select(x, 0, ids), *y_batch = ag_index_select(y, 0, ids);
 */
#ifndef KAERU_PUBLIC_BATCHES_H
#define KAERU_PUBLIC_BATCHES_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Returns the numbers of the items of a mini-batch of a set of n items: AG_INT (size), for
 * ag_index_select of each tensor of the set. `step` is the number of the batch, from 0 on. n / size
 * batches in turn are an epoch. Its batches have different items, in a random order that is new in
 * each epoch. If n is not a multiple of size, the rest is left out of the epoch. The result depends
 * on the four arguments alone, not on this thread's generator, so a run can continue from its
 * step. */
Tensor *ag_batch_ids(int64_t n, int64_t size, int64_t step, uint64_t seed);

#include "kaeru/calls/batches.h"

AG_PUBLIC_END

#endif
