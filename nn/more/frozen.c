/* frozen.c: weights that are kept or read in bfloat16, and what is not trained beside adapters. */
#include "frozen.h"

#include <string.h>

#include "kaeru/tensor.h"
#include "walk.h"

void nn_pack_weights(void *module, bool packed)
{
    NN_LAYER((Module *)module);
    for (Walk walk = walk_below(module); walk_tensor(&walk); ) {
        if (tensor_dtype(walk.slot->tensor) != AG_REAL || tensor_ndim(walk.slot->tensor) != 2) continue;
        if (packed) ag_pack_weight(walk.slot->tensor);
        else ag_unpack_weight(walk.slot->tensor);
    }
}

/* Whether this is a parameter of a Linear's adapter. */
static bool is_of_adapter(const NnNamedTensor *p)
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
