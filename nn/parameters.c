/* parameters.c: what uses the walk over the tensors of a module tree: parameter lists, modes, counts. */
#include "kaeru/nn.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "walk.h"

#include <string.h>

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* The tensors below m. with_ties: a tied tensor once for each of its names, else under the first. with_unsaved: also those that
 * files do not have. without_frozen: not the frozen parameters. */
static NnParameters *parameters_below(Module *m, bool with_ties, bool with_unsaved, bool without_frozen)
{
    NnParameters *p = ag_alloc(1, sizeof *p);
    size_t slots = 0;
    for (Walk walk = walk_below(m); walk_slot(&walk); ) slots++;
    p->item = ag_alloc_in(p, slots, sizeof *p->item);
    for (Walk walk = walk_below(m); walk_slot(&walk); ) {
        const NnModuleSlot *slot = walk.slot, *first = slot->tied ? first_slot(m, slot->tensor) : slot;
        bool trained = tensor_requires_grad(slot->tensor), is_frozen = !trained && !first->is_buffer;
        if ((slot != first && !with_ties) || (first->not_saved && !with_unsaved) || (is_frozen && without_frozen)) continue;
        p->item[p->n++] = (NnNamedTensor){
            .name = slot_path(p, m, walk.holder, slot->name),
            .tensor = slot->tensor,
            .trained = trained,
            .owner = walk.holder,
        };
    }
    return p;
}

NnParameters *nn_parameters(void *module)
{
    NN_LAYER((Module *)module);
    return parameters_below(module, false, true, false);
}

NnParameters *saved_parameters(Module *m, bool with_ties, bool without_frozen)
{
    return parameters_below(m, with_ties, false, without_frozen);
}

Tensor *nn_find(void *module, const char *name)
{
    AG_LAYER;
    nn_check(__func__, module, 0);
    ag_check_pointer(__func__, "the name", name);
    NnParameters *p = parameters_below(module, true, true, false);
    Tensor *found = NULL;
    for (int i = 0; i < p->n && !found; i++)
        if (strcmp(p->item[i].name, name) == 0) found = p->item[i].tensor;
    ag_free(p);
    return found;
}

void *tensor_mutable_values(Tensor *t)
{
    switch (tensor_dtype(t)) {
    case AG_REAL: return tensor_mutable_data(t);
    case AG_INT: return tensor_mutable_int_data(t);
    default: return tensor_mutable_bool_data(t);
    }
}

/* ---- modes and sums ---------------------------------------------------------------------------------------------- */

void nn_set_training(void *module, bool training)
{
    nn_check(__func__, module, 0);
    Module *m = module;
    m->training = training;
    for (int i = 0; i < m->n_slots; i++)
        if (m->slots[i].child) nn_set_training(m->slots[i].child, training);
}

/* The modes of a module's tree. The module owns it, since it may be freed before they are restored: then *holder is NULL. */
typedef struct Modes { Module *module; int64_t n; bool *mode; struct Modes **holder; } Modes;

/* Goes through the modes of m and of the modules below it and returns their number. mode: they are copied to it, or (restore)
 * from it; NULL: only counted. */
static int64_t each_mode(Module *m, bool *mode, bool restore)
{
    int64_t n = 1;
    if (mode && restore) m->training = *mode;
    else if (mode) *mode = m->training;
    for (int i = 0; i < m->n_slots; i++)
        if (m->slots[i].child) n += each_mode(m->slots[i].child, mode ? mode + n : NULL, restore);
    return n;
}

static void forget_modes(void *modes)
{
    *((Modes *)modes)->holder = NULL;
}

static void restore_modes(void *holder)
{
    Modes *modes = *(Modes **)holder;
    if (!modes) return;
    if (each_mode(modes->module, NULL, false) == modes->n) each_mode(modes->module, modes->mode, true);
    ag_free(modes);
}

void *evaluation_begin(Module *m)
{
    Modes **holder = ag_alloc(1, sizeof *holder), *modes = ag_alloc_in(m, 1, sizeof *modes);
    int64_t n = each_mode(m, NULL, false);
    *modes = (Modes){ m, n, ag_alloc_in(modes, (size_t)n, sizeof *modes->mode), holder };
    *holder = modes;
    each_mode(m, modes->mode, false);
    ag_on_free(modes, forget_modes);
    ag_on_free(holder, restore_modes);
    nn_set_training(m, false);
    return holder;
}

void nn_zero_grad(void *module)
{
    NN_LAYER((Module *)module);
    for (Walk walk = walk_below(module); walk_slot(&walk); ) tensor_zero_grad(walk.slot->tensor);
}

void nn_pack_weights(void *module, bool packed)
{
    NN_LAYER((Module *)module);
    for (Walk walk = walk_below(module); walk_tensor(&walk); ) {
        if (tensor_dtype(walk.slot->tensor) != AG_REAL || tensor_ndim(walk.slot->tensor) != 2) continue;
        if (packed) ag_pack_weight(walk.slot->tensor);
        else ag_unpack_weight(walk.slot->tensor);
    }
}

bool is_linear(const Module *m)
{
    return strcmp(m->type, "Linear") == 0 && m->size == sizeof(Linear);
}

bool is_of_adapter(const NnNamedTensor *p)
{
    for (const Module *m = p->owner; m->parent; m = m->parent) {
        if (is_linear(m->parent) && ((const Linear *)m->parent)->adapter == m) return true;
    }
    return false;
}

void freeze_all_but_adapters(const NnParameters *p)
{
    for (int i = 0; i < p->n; i++) {
        if (!is_of_adapter(&p->item[i]) && tensor_dtype(p->item[i].tensor) == AG_REAL) {
            tensor_set_requires_grad(p->item[i].tensor, false);
        }
    }
}

void nn_freeze_bf16(void *module)
{
    NN_LAYER((Module *)module);
    NnParameters *p = nn_parameters(module);
    freeze_all_but_adapters(p);
    for (int i = 0; i < p->n; i++) {
        const Module *owner = p->item[i].owner;
        Tensor *t = p->item[i].tensor;
        bool is_weight = (is_linear(owner) && !is_of_adapter(&p->item[i])) || strcmp(owner->type, "Embedding") == 0;
        if (is_weight && tensor_dtype(t) == AG_REAL && tensor_ndim(t) == 2 && tensor_dim(t, 1) % 2 == 0 &&
            !tensor_requires_grad(t))
            ag_freeze_bf16(t);
    }
    ag_free(p);
}

int64_t count_below(Module *root, Module *m, bool trained)
{
    int64_t count = 0;
    for (Walk walk = walk_below(m); walk_slot(&walk); )
        if (tensor_requires_grad(walk.slot->tensor) == trained && is_first_slot(root, walk.slot))
            count += tensor_numel(walk.slot->tensor);
    return count;
}

int64_t nn_count(void *module)
{
    NN_LAYER((Module *)module);
    return count_below(module, module, true);
}
