/* losses.c: the losses of an evaluation by several processes. */
#include "array.h"
#include "losses.h"

bool losses_next_is_mine(const Losses *l)
{
    return !l->parallel || nn_parallel_is_mine(l->parallel, l->n);
}

void losses_add(Losses *l, double loss)
{
    l->value = array_for(NULL, l->value, (size_t)l->n + 1, &l->capacity, sizeof *l->value);
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
