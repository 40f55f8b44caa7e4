/* losses.c: see losses.h. */
#include "losses.h"

bool losses_next_is_mine(const Losses *l)
{
    return !l->parallel || nn_parallel_is_mine(l->parallel, l->n);
}

void losses_add(Losses *l, double loss)
{
    if (l->n == l->room) {
        int64_t room = l->room ? 2 * l->room : 64;
        l->value = ag_resize(l->value, (size_t)l->room, (size_t)room, sizeof *l->value);
        l->room = room;
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
