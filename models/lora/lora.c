/* lora.c: adapters of Linears (Hu et al. 2021). */
#include "kaeru/autograd.h"
#include "kaeru/values.h"
#include "lora_parts.h"
#include "frozen.h"
#include "walk.h"

#include <math.h>
#include <string.h>

Linear *lora_linear_of(const NnNamedTensor *p)
{
    Linear *l = (Linear *)p->owner;
    return is_linear(p->owner) && l->weight == p->tensor ? l : NULL;
}

Lora *lora_of(const NnNamedTensor *p)
{
    Linear *l = lora_linear_of(p);
    return l && l->adapter && is_lora(l->adapter) ? (Lora *)l->adapter : NULL;
}

bool lora_is_named(const NnNamedTensor *p, const char *target)
{
    size_t n = strlen(p->name), end = strlen(".weight"), size = strlen(target);
    if (!lora_linear_of(p) || n < end + size) return false;
    const char *name = p->name + n - end - size;
    return memcmp(name, target, size) == 0 && (name == p->name || name[-1] == '.');
}

/* alpha / rank */
static double scale_of(const Lora *a)
{
    if (!isfinite(a->alpha)) ag_usage_error("nn_linear", "alpha of its adapter is %g, expected a finite number", a->alpha);
    return a->alpha / (double)tensor_dim(a->lora_A->weight, 0);
}

/* Returns what the adapter adds to the output of its Linear. */
static Tensor *lora_forward(void *self, Tensor *x)                          /* (..,in) -> (..,out) */
{
    Lora *a = self;
    nn_check_type("nn_linear", a, sizeof *a, "Lora");
    Tensor *y = nn_linear(a->lora_B, nn_linear(a->lora_A, nn_dropout(a->lora_dropout, x)));
    return ag_scale(y, scale_of(a));
}

/* By its function: a program may have a type of its own with the name Lora. */
bool is_lora(const Module *adapter)
{
    return adapter->forward == lora_forward && adapter->size == sizeof(Lora);
}

void lora_add(Linear *l, int64_t rank, double alpha, double dropout)
{
    Lora *a = nn_new(Lora);
    a->module.forward = lora_forward;
    a->alpha = alpha;
    nn_child(a, lora_A, nn_linear_new_no_bias(tensor_dim(l->weight, 1), rank));
    nn_child(a, lora_B, nn_linear_new_no_bias(rank, tensor_dim(l->weight, 0)));
    nn_child(a, lora_dropout, nn_dropout_new(dropout));
    ag_fill(a->lora_B->weight, 0);
    nn_child(l, adapter, &a->module);
    /* In files, as in peft, the matrices have names as if they were parts of the Linear. */
    l->module.slots[a->module.index].name[0] = '\0';
    name_tensors(&a->module);
    if (!l->module.training) nn_eval(l);
}

/* Gives the tensors of a removed module that others below `root` are tied to, which it owns as the first, to the next one. */
static void hand_over_ties(Module *removed, Module *root)
{
    for (Walk walk = walk_below(removed); walk_slot(&walk); ) {
        Walk other = walk_below(root);
        while (walk_slot(&other) && other.slot->tensor != walk.slot->tensor) {
        }
        if (!other.slot) continue;
        other.slot->tied = false;
        ag_set_part(other.slot->tensor, other.holder, other.holder->type);
        name_tensors(other.holder);
    }
}

/* Removes the adapter and its slot, which need not be the last one of the Linear. */
static void lora_remove(Lora *a)
{
    Linear *l = (Linear *)a->module.parent;
    Module *m = &l->module;
    m->n_slots--;
    for (int i = a->module.index; i < m->n_slots; i++) {
        m->slots[i] = m->slots[i + 1];
        if (m->slots[i].child) {
            m->slots[i].child->index = i;
        }
    }
    l->adapter = a->module.parent = NULL;
    hand_over_ties(&a->module, module_root(m));
    ag_set_part(a, NULL, NULL);
    ag_free(a);
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
            if (lora_linear_of(&p->item[i])->adapter) ag_usage_error(__func__, "%s has an adapter", p->item[i].name);
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

static void merge(const Lora *a)
{
    Linear *l = (Linear *)a->module.parent;
    AgScope s = ag_begin(AG_NO_GRAD);
    ag_precision(AG_FLOAT32);                           /* also in a program that trains in bfloat16 */
    bool packed = tensor_dtype(l->weight) == AG_PACKED;
    Tensor *weight = packed ? ag_from_bf16(l->weight) : l->weight;
    Tensor *sum = ag_add(weight, ag_scale(ag_matmul(a->lora_B->weight, a->lora_A->weight), scale_of(a)));
    if (packed) ag_packed_write(l->weight, 0, tensor_dim(sum, 0), (const uint32_t *)tensor_int_data(ag_to_bf16(sum)));
    else tensor_copy(l->weight, sum);
    ag_end(s);
}

void lora_remove_all(void *module, bool merged)
{
    NnParameters *p = saved_parameters(module, true, false);    /* a weight may be tied since nn_lora_add */
    for (int i = p->n - 1; i >= 0; i--) {               /* an adapter's own tensors are behind the weight of its Linear */
        Lora *a = lora_of(&p->item[i]);
        if (a && merged) merge(a);
        if (a) lora_remove(a);
    }
    ag_free(p);
}

void nn_lora_merge(void *module)
{
    NN_LAYER((Module *)module);
    lora_remove_all(module, true);
}
