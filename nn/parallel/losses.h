/* losses.h: the losses of an evaluation, whose batches several processes may divide. */
#ifndef KAERU_LOSSES_H
#define KAERU_LOSSES_H

#include "kaeru/parallel.h"
#include "kaeru/tensor.h"

typedef struct {
    NnParallel *parallel;               /* NULL: this process computes all */
    double *value;
    int64_t n;
    size_t capacity;
} Losses;

/* Whether this process computes the next loss. If not, add 0. */
bool losses_next_is_mine(const Losses *l);
void losses_add(Losses *l, double loss);
/* The sum in the order of the batches, so that it does not depend on the processes. Frees the values. */
double losses_sum(Losses *l);

/* Returns how many of the ids have a loss: all but those that are `ignored`. */
int64_t losses_count(const Tensor *ids, int32_t ignored);

#endif
