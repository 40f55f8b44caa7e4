/* buffers.c: buffers that a forward pass changes, such as BatchNorm's statistics. Each shard begins with those of before the
 * step. After it, all processes have those of the first shard. So nothing depends on the number of processes. */
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "parallel_parts.h"

void list_buffers(NnParallel *p)
{
    NnParameters *all = saved_parameters(p->optimizer->module, false, true);
    ag_set_owner(all, p);
    p->shared = ag_alloc_in(p, (size_t)all->n, sizeof *p->shared);
    for (int i = 0; i < all->n; i++)
        if (!all->item[i].trained) p->shared[p->n_shared++].tensor = all->item[i].tensor;
}

/* Copies t into *copy, which is made if it is NULL. */
static void copy_buffer(NnParallel *p, Tensor **copy, Tensor *t)
{
    if (*copy) tensor_copy(*copy, t);
    else ag_set_owner(*copy = ag_keep(t), p);
}

void begin_buffers(NnParallel *p)
{
    for (int i = 0; i < p->n_shared; i++) {
        Shared *s = &p->shared[i];
        if (!s->before || tensor_version(s->tensor) != s->version) copy_buffer(p, &s->before, s->tensor);
        s->version = tensor_version(s->tensor);
        p->changed[i] = 0;
    }
}

void end_buffers(NnParallel *p)
{
    for (int i = 0; i < p->n_shared; i++) {
        Shared *s = &p->shared[i];
        if (tensor_version(s->tensor) == s->version) continue;
        if (p->shard == 0) copy_buffer(p, &s->first, s->tensor);
        if (p->shard == 0) p->changed[i] = 1;
        tensor_copy(s->tensor, s->before);
        s->version = tensor_version(s->tensor);
    }
}

void share_buffers(NnParallel *p)
{
    int pending = 0;
    for (int i = 0; i < p->n_shared; i++) {
        Tensor *t = p->shared[i].tensor;
        if (!p->changed[i]) continue;
        if (p->rank == 0) tensor_copy(t, p->shared[i].first);
        AgDType type = tensor_dtype(t);
        size_t size = (size_t)tensor_numel(t) * (type == AG_REAL ? sizeof(ag_real) : type == AG_INT ? sizeof(int32_t) : 1);
        void *values = tensor_mutable_values(t);
        if (p->rank > 0) p->processes->receive(p->processes, 0, TAG_SMALL, values, size, &pending);
        for (int rank = 1; p->rank == 0 && rank < p->size; rank++)
            p->processes->send(p->processes, rank, TAG_SMALL, values, size, &pending);
    }
    wait_for(p, &pending, 0);
}
