/* clone.c: copies a module: first the tree of structs, then the tensors.
 *
 * Both trees have the same structure, so two walks visit a slot of the original and its copy at the same time. Slots that share
 * a tensor in the original share one in the copy. */
#include "slots.h"

#include <string.h>

static Module *copy_tree(AgSite at, const Module *original)
{
    if (original->destroy) {
        ag_usage_error(at, "nn_clone", "a %s has a function that destroys it, and what that releases cannot be copied",
                       original->type);
    }
    Module *copy = module_new_like(at, original);
    for (int i = 0; i < original->n_slots; i++) {
        const NnModuleSlot *from = &original->slots[i];
        NnModuleSlot *to = &copy->slots[i];
        memcpy(to->name, from->name, sizeof to->name);
        to->offset = from->offset;
        to->not_saved = from->not_saved;
        slot_fill(copy, to, from->child ? copy_tree(at, from->child) : NULL, NULL);
    }
    return copy;
}

/* The copy of the original's first slot that holds t; NULL if that slot is not before `limit`. */
static NnModuleSlot *copy_of_first(const Module *original, Module *copy, const Tensor *t, const NnModuleSlot *limit)
{
    Walk from = walk_below(original), to = walk_below(copy);
    for (NnModuleSlot *slot; (slot = walk_slot(&from)) != limit; ) {
        NnModuleSlot *other = walk_slot(&to);
        if (slot->tensor == t) return other;
    }
    return NULL;
}

void *nn_clone_at(AgSite at, const void *module)
{
    AG_LAYER(at);
    nn_check_at(at, "nn_clone", module, 0);
    check_fields(at, "nn_clone", module);
    Module *copy = copy_tree(at, module);
    Walk from = walk_below(module), to = walk_below(copy);
    for (NnModuleSlot *slot, *other; (slot = walk_slot(&from)) != NULL && (other = walk_slot(&to)) != NULL; ) {
        NnModuleSlot *shared = slot->tied ? copy_of_first(module, copy, slot->tensor, slot) : NULL;
        if (shared) {
            slot_set_tensor(to.holder, other, shared->tensor, true);
            continue;
        }
        Tensor *t = tensor_new_owned_at(at, tensor_shape(slot->tensor), tensor_dtype(slot->tensor));
        slot_set_tensor(to.holder, other, t, false);
        tensor_copy_at(at, t, slot->tensor);
        if (tensor_requires_grad(slot->tensor)) tensor_set_requires_grad_at(at, t, true);
    }
    name_tensors(at, copy);
    return copy;
}
