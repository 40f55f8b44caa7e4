/* losses.c: the losses of an evaluation, see train.h. */
#include "train.h"

bool losses_next_is_mine(const Losses *l)
{
    return !l->parallel || nn_parallel_is_mine(l->parallel, l->n);
}

void losses_add(Losses *l, double loss)
{
    if (l->n == l->capacity) {
        int64_t capacity = l->capacity ? 2 * l->capacity : 64;
        l->value = ag_resize(l->value, (size_t)l->capacity, (size_t)capacity, sizeof *l->value);
        l->capacity = capacity;
    }
    l->value[l->n++] = loss;
}

double losses_sum(Losses *l)
{
    double sum = 0;
    if (l->parallel) nn_parallel_collect(l->parallel, l->value, l->n);
    for (int64_t i = 0; i < l->n; i++) sum += l->value[i];
    ag_free(l->value);
    l->value = NULL;
    return sum;
}
