/* losses.c: the losses of an evaluation by several processes. */
#include "losses.h"

bool losses_next_is_mine(const Losses *l)
{
    return !l->parallel || nn_parallel_is_mine(l->parallel, l->n);
}

void losses_add(Losses *l, double loss)
{
    if ((size_t)l->n == l->capacity) {
        size_t capacity = 2 * l->capacity + 16;
        l->value = ag_resize(l->value, l->capacity, capacity, sizeof *l->value);
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

int64_t losses_count(const Tensor *ids, int32_t ignored)
{
    const int32_t *id = tensor_int_data(ids);
    int64_t n = 0;
    for (int64_t i = 0; i < tensor_numel(ids); i++) n += id[i] != ignored;
    return n;
}
