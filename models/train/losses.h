/* losses.h: the losses of the batches of an evaluation, which several processes may divide. */
#ifndef KAERU_LOSSES_H
#define KAERU_LOSSES_H

#include "kaeru/parallel.h"

typedef struct {
    NnParallel *parallel;               /* NULL: this process computes all */
    double *value;
    int64_t n, room;
} Losses;

/* Whether this process computes the next loss. If not, add 0. */
bool losses_next_is_mine(const Losses *l);
void losses_add(Losses *l, double loss);
/* The sum in the order of the batches, so that it does not depend on the processes. Frees the values. */
double losses_sum(Losses *l);

#endif
