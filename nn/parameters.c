/* parameters.c: functions on all tensors of a module tree, by a walk over its slots (walk.h): lists
 * of parameters, gradients, counts. nn_set_training is here, too, which visits the modules. */
#include "walk.h"

#include <string.h>

/* ---- lists ----------------------------------------------------------------------------------- */

/* Which tensors are in a list, besides the trained parameters. */
enum { TIES = 1, UNSAVED = 2, FROZEN = 4 };

/* Returns the tensors below m. A tied tensor is in the list under its first name, with TIES once
 * for each name. Buffers that are not in files are in it with UNSAVED, frozen parameters with
 * FROZEN. */
static NnParameters *parameters_below(Module *m, int with)
{
    NnParameters *p = ag_alloc(1, sizeof *p);
    size_t slots = 0;
    for (Walk walk = walk_below(m); walk_slot(&walk); ) {
        slots++;
    }
    p->item = ag_alloc_in(p, slots, sizeof *p->item);
    for (Walk walk = walk_below(m); walk_slot(&walk); ) {
        const NnModuleSlot *slot = walk.slot;
        const NnModuleSlot *first = first_slot_of(m, slot);
        bool trained = tensor_requires_grad(slot->tensor);
        bool frozen = !trained && !first->is_buffer;
        if (slot != first && !(with & TIES)) continue;
        if (first->not_saved && !(with & UNSAVED)) continue;
        if (frozen && !(with & FROZEN)) continue;
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
    return parameters_below(module, UNSAVED | FROZEN);
}

NnParameters *saved_parameters(Module *m, bool with_ties, bool without_frozen)
{
    return parameters_below(m, (with_ties ? TIES : 0) | (without_frozen ? 0 : FROZEN));
}

Tensor *nn_find(void *module, const char *name)
{
    AG_LAYER;
    nn_check(__func__, module, 0);
    ag_check_pointer(__func__, "the name", name);
    NnParameters *p = parameters_below(module, TIES | UNSAVED | FROZEN);
    Tensor *found = NULL;
    for (int i = 0; i < p->n && !found; i++) {
        if (strcmp(p->item[i].name, name) == 0) {
            found = p->item[i].tensor;
        }
    }
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

/* ---- modes and sums -------------------------------------------------------------------------- */

void nn_set_training(void *module, bool training)
{
    nn_check(__func__, module, 0);
    Module *m = module;
    m->training = training;
    for (int i = 0; i < m->n_slots; i++) {
        if (m->slots[i].child) {
            nn_set_training(m->slots[i].child, training);
        }
    }
}

void nn_zero_grad(void *module)
{
    NN_LAYER((Module *)module);
    for (Walk walk = walk_below(module); walk_slot(&walk); ) {
        tensor_zero_grad(walk.slot->tensor);
    }
}

int64_t count_below(Module *root, Module *m, bool trained)
{
    int64_t count = 0;
    for (Walk walk = walk_below(m); walk_slot(&walk); ) {
        if (tensor_requires_grad(walk.slot->tensor) == trained && is_first_slot(root, walk.slot)) {
            count += tensor_numel(walk.slot->tensor);
        }
    }
    return count;
}

int64_t nn_count(void *module)
{
    NN_LAYER((Module *)module);
    return count_below(module, module, true);
}
