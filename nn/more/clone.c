/* clone.c: copies of modules. */
#include "kaeru/clone.h"

#include <string.h>

#include "program_calls.h"
#include "walk.h"

/* Returns a copy of the structs of a tree. Its slots have the tensors of the original, which
 * nn_clone replaces. */
static Module *copy_tree(const Module *original)
{
    if (original->destroy) {
        ag_usage_error("nn_clone", "a %s has a function that destroys it, and what that releases "
                       "cannot be copied", original->type);
    }
    Module *copy = ag_alloc(1, original->size);
    ag_on_free(copy, module_destroy);
    memcpy(copy, original, original->size);
    copy->n_slots = 0;
    copy->parent = NULL;
    copy->capacity = original->n_slots;
    copy->slots = ag_alloc_in(copy, (size_t)original->n_slots, sizeof *copy->slots);
    ag_set_part(copy->slots, copy, copy->type);
    for (int i = 0; i < original->n_slots; i++) {
        const NnModuleSlot *from = &original->slots[i];
        NnModuleSlot *to = &copy->slots[i];
        *to = *from;
        to->tied = false;
        Module *child = from->child ? copy_tree(from->child) : NULL;
        slot_fill(copy, to, child, from->tensor);
    }
    return copy;
}

/* Returns a tensor with the same values, which requires a gradient if the original does. */
static Tensor *copy_tensor(Tensor *from)
{
    Tensor *t = tensor_new_owned(tensor_shape(from), tensor_dtype(from));
    tensor_copy(t, from);
    if (tensor_requires_grad(from)) {
        tensor_set_requires_grad(t, true);
    }
    return t;
}

/* Returns the slot of the copy that has the place of `slot` in the original. */
static const NnModuleSlot *same_slot(Module *original, const NnModuleSlot *slot, Module *copy)
{
    Walk from = walk_below(original);
    Walk to = walk_below(copy);
    do {
        walk_slot(&from);
        walk_slot(&to);
    } while (from.slot != slot);
    return to.slot;
}

void *nn_clone(const void *module)
{
    NN_LAYER((const Module *)module);
    check_fields(__func__, module);
    Module *copy = copy_tree(module);
    Walk to = walk_below(copy);
    for (Walk from = walk_below(module); walk_slot(&from); ) {
        NnModuleSlot *slot = walk_slot(&to);
        const NnModuleSlot *first = first_slot_of(from.root, from.slot);
        slot->tied = first != from.slot;
        if (slot->tied) {
            slot->tensor = same_slot(from.root, first, copy)->tensor;
        } else {
            slot->tensor = copy_tensor(from.slot->tensor);
            ag_set_part(slot->tensor, to.holder, to.holder->type);
        }
        set_field(to.holder, slot->offset, slot->tensor);
    }
    name_tensors(copy);
    return copy;
}
