/* buffers.c: buffers that a forward pass changes, such as BatchNorm's statistics. After a step they are, in all processes, as
 * the first shard has left them. So they do not depend on the number of processes, and neither does an evaluation or a file. */
#include "kaeru/graph.h"
#include "parallel_parts.h"

void list_buffers(NnParallel *p)
{
    NnParameters *all = saved_parameters(AG_HERE, p->optimizer->module, false, true);
    ag_set_owner(all, p);
    p->shared = ag_alloc_in(p, (size_t)all->n, sizeof *p->shared);
    for (int i = 0; i < all->n; i++)
        if (!all->item[i].trained) p->shared[p->n_shared++].tensor = all->item[i].tensor;
}

static bool has_changed(const Shared *s)
{
    return tensor_version(s->tensor) != s->version;
}

void begin_buffers(NnParallel *p)
{
    for (int i = 0; i < p->n_shared; i++) {
        Shared *s = &p->shared[i];
        if (p->rank == 0 && !s->kept) ag_set_owner(s->kept = ag_keep(s->tensor), p);
        else if (p->rank == 0 && has_changed(s)) tensor_copy(s->kept, s->tensor);
        s->version = tensor_version(s->tensor);
    }
}

void keep_buffers(NnParallel *p)
{
    for (int i = 0; i < p->n_shared; i++)
        if (has_changed(&p->shared[i])) tensor_copy(p->shared[i].kept, p->shared[i].tensor);
}

void report_buffers(NnParallel *p)
{
    for (int i = 0; i < p->n_shared; i++) p->changed[i] = has_changed(&p->shared[i]);
}

void share_buffers(NnParallel *p)
{
    int pending = 0;
    for (int i = 0; i < p->n_shared; i++) {
        Tensor *t = p->shared[i].tensor;
        if (!p->changed[i]) continue;
        if (p->rank == 0) tensor_copy(t, p->shared[i].kept);
        AgDType type = tensor_dtype(t);
        size_t size = (size_t)tensor_numel(t) * (type == AG_REAL ? sizeof(ag_real) : type == AG_INT ? sizeof(int32_t) : 1);
        void *values = tensor_mutable_values(AG_HERE, t);
        if (p->rank > 0) p->processes->receive(p->processes, 0, TAG_SMALL, values, size, &pending);
        for (int rank = 1; p->rank == 0 && rank < p->size; rank++)
            p->processes->send(p->processes, rank, TAG_SMALL, values, size, &pending);
    }
    wait_for(p, &pending, 0);
}
