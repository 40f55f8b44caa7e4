/* lora.c: adapters of Linears (Hu et al. 2021). */
#include "adapter.h"
#include "kaeru/autograd.h"
#include "lora_parts.h"
#include "walk.h"

#include <math.h>
#include <string.h>

static bool is_linear(const Module *m)
{
    return m && strcmp(m->type, "Linear") == 0 && m->size == sizeof(Linear);
}

Linear *lora_linear_of(const NnNamedTensor *p)
{
    Linear *l = (Linear *)p->owner;
    return is_linear(p->owner) && l->weight == p->tensor ? l : NULL;
}

Linear *lora_adapted(const NnNamedTensor *p)
{
    Linear *l = lora_linear_of(p);
    return l && l->lora_dropout ? l : NULL;
}

bool lora_is_named(const NnNamedTensor *p, const char *target)
{
    size_t n = strlen(p->name), end = strlen(".weight"), size = strlen(target);
    if (!lora_linear_of(p) || n < end + size) return false;
    const char *name = p->name + n - end - size;
    return memcmp(name, target, size) == 0 && (name == p->name || name[-1] == '.');
}

/* Whether it is a matrix of an adapter. */
static bool is_of_adapter(const NnNamedTensor *p)
{
    return is_linear(p->owner->parent);                                 /* which has no other children */
}

/* alpha / rank */
static double scale_of(const Linear *l)
{
    if (!isfinite(l->lora_alpha)) ag_usage_error("nn_linear", "lora_alpha is %g, expected a finite number", l->lora_alpha);
    return l->lora_alpha / (double)tensor_dim(l->lora_A->weight, 0);
}

static Tensor *add_adapter(Linear *l, Tensor *x, Tensor *y)
{
    Tensor *more = nn_linear(l->lora_B, nn_linear(l->lora_A, nn_dropout(l->lora_dropout, x)));
    return ag_add(y, ag_scale(more, scale_of(l)));
}

__attribute__((constructor)) static void offer(void)
{
    static const LinearAdapter adapter = { add_adapter, is_of_adapter };
    linear_adapter = &adapter;
}

void lora_add(Linear *l, int64_t rank, double alpha, double dropout)
{
    Linear *a = nn_linear_new_no_bias(tensor_dim(l->weight, 1), rank);
    Linear *b = nn_linear_new_no_bias(rank, tensor_dim(l->weight, 0));
    Dropout *d = nn_dropout_new(dropout);               /* added last: without it, as after an error, there is no adapter */
    ag_fill(b->weight, 0);
    nn_child(l, lora_A, a);
    nn_child(l, lora_B, b);
    nn_child(l, lora_dropout, d);
    l->lora_alpha = alpha;
    if (!l->module.training) nn_eval(l);
}

static void lora_remove(Linear *l)
{
    enum { CHILDREN = 3 };                              /* the last slots */
    l->module.n_slots -= CHILDREN;
    for (int i = 0; i < CHILDREN; i++) {
        Module *child = l->module.slots[l->module.n_slots + i].child;
        child->parent = NULL;
        ag_set_part(child, NULL, NULL);
        ag_free(child);
    }
    l->lora_A = l->lora_B = NULL;
    l->lora_dropout = NULL;
}

/* Tells that no Linear has this name, or that one has, but the weight belongs to another module; returns false. */
static bool not_found(void *module, const char *target)
{
    const char *type = ((Module *)module)->type;
    NnParameters *p = saved_parameters(module, true, false);
    int tied = 0, first = 0;
    while (tied < p->n && !lora_is_named(&p->item[tied], target)) tied++;
    while (tied < p->n && p->item[first].tensor != p->item[tied].tensor) first++;
    if (tied < p->n)
        ag_set_error("the weight of \"%s\" of this %s is tied to \"%s\": an adapter needs a Linear with a weight of its own",
                     target, type, p->item[first].name);
    else ag_set_error("no Linear of this %s has the name \"%s\"", type, target);
    ag_free(p);
    return false;
}

bool nn_lora_add(void *module, NnLoraOptions o)
{
    NN_LAYER((Module *)module);
    ag_check_pointer(__func__, "targets", o.targets);
    if (!*o.targets) ag_usage_error(__func__, "targets has no names");
    if (o.rank < 1) ag_usage_error(__func__, "rank %lld, expected 1 or more", (long long)o.rank);
    if (!isfinite(o.alpha)) ag_usage_error(__func__, "alpha is %g, expected a finite number", o.alpha);
    if (!(o.dropout >= 0 && o.dropout < 1)) ag_usage_error(__func__, "dropout is %g, expected 0 to below 1", o.dropout);
    NnParameters *p = nn_parameters(module);
    bool *chosen = ag_alloc_in(p, (size_t)p->n, sizeof *chosen), good = true;
    for (const char *const *target = o.targets; *target; target++) {
        bool found = false;
        for (int i = 0; i < p->n; i++) {
            if (!lora_is_named(&p->item[i], *target)) continue;
            if (lora_adapted(&p->item[i])) ag_usage_error(__func__, "%s has an adapter", p->item[i].name);
            chosen[i] = found = true;
        }
        if (!found) good = not_found(module, *target);
    }
    if (good) freeze_all_but_adapters(p);
    for (int i = 0; good && i < p->n; i++)
        if (chosen[i]) lora_add(lora_linear_of(&p->item[i]), o.rank, o.alpha, o.dropout);
    ag_free(p);
    return good;
}

static void merge(Linear *l)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    ag_precision(AG_FLOAT32);                           /* also in a program that trains in bfloat16 */
    bool packed = tensor_dtype(l->weight) == AG_PACKED;
    Tensor *weight = packed ? ag_from_bf16(l->weight) : l->weight;
    Tensor *sum = ag_add(weight, ag_scale(ag_matmul(l->lora_B->weight, l->lora_A->weight), scale_of(l)));
    if (packed) ag_packed_write(l->weight, 0, tensor_dim(sum, 0), (const uint32_t *)tensor_int_data(ag_to_bf16(sum)));
    else tensor_copy(l->weight, sum);
    ag_end(s);
}

void lora_remove_all(void *module, bool merged)
{
    NnParameters *p = nn_parameters(module);
    for (int i = p->n - 1; i >= 0; i--) {               /* an adapter's own tensors are behind the weight of its Linear */
        Linear *l = lora_adapted(&p->item[i]);
        if (l && merged) merge(l);
        if (l) lora_remove(l);
    }
    ag_free(p);
}

void nn_lora_merge(void *module)
{
    NN_LAYER((Module *)module);
    lora_remove_all(module, true);
}
