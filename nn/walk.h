/* walk.h: the slots of modules and the walk over them, for the files of nn and models.
 *
 * A slot is one registered part of a module: a child module or a tensor. Names, files, optimizers
 * and clone work on whole models by a walk over slots. It goes down by `child` and up by `parent`,
 * so it needs neither recursion nor memory:
 *
 *     for (Walk walk = walk_below(model); walk_tensor(&walk); ) {
 *         tensor_zero_grad(walk.slot->tensor);
 *     } */
#ifndef KAERU_WALK_H
#define KAERU_WALK_H

#include "kaeru/module.h"

#define SLOT_NAME 48

typedef struct NnModuleSlot {
    char name[SLOT_NAME];       /* if it is empty, the child's parts have the names of parts of this
                                   module */
    size_t offset;              /* the place of the field in the module's struct; 0 for an item of a
                                   list, which has no field */
    Module *child;              /* NULL if the part is a tensor */
    Tensor *tensor;             /* NULL if the part is a child */
    bool tied;                  /* whether an earlier slot of the walk had the tensor, too; then
                                   first_slot tells whether it still has */
    bool is_buffer;             /* whether the tensor never had a gradient */
    bool not_saved;             /* whether it is a buffer that is not in files */
} NnModuleSlot;

/* ---- module.c -------------------------------------------------------------------------------- */

/* Checks that each field below m points to what was registered for it. */
void check_fields(const char *what, const Module *m);
/* Checks that this is a layer with one input: that module.forward is set. */
void check_forward(const char *what, const Module *layer);
/* Returns layer(x), after check_forward. The layer's function may be one of the program. */
Tensor *call_forward(const char *what, Module *layer, Tensor *x);

/* ---- walk.c ---------------------------------------------------------------------------------- */

typedef struct {
    Module *root;               /* where the walk began */
    Module *holder;             /* the module of the last slot */
    int next;                   /* the number of the next slot in holder */
    NnModuleSlot *slot;         /* the last slot; NULL at the start and at the end */
} Walk;
/* Returns a walk over the tree below the module, before its first slot. */
Walk walk_below(const void *module);
/* Moves to the next slot that holds a tensor, in order of registration. Returns it, or NULL at the
 * end. */
NnModuleSlot *walk_slot(Walk *w);
/* Moves to the next slot that is the first one of its tensor, so that a tied tensor is met once.
 * Returns it, or NULL at the end. */
NnModuleSlot *walk_tensor(Walk *w);
/* Returns the first slot below root that holds t, or NULL. */
NnModuleSlot *first_slot(Module *root, const Tensor *t);
/* Returns the first slot below root that holds the tensor of `slot`. */
const NnModuleSlot *first_slot_of(Module *root, const NnModuleSlot *slot);
/* Returns whether `slot` is the first one of its tensor below root. */
bool is_first_slot(Module *root, const NnModuleSlot *slot);
/* Returns the root of the tree that contains m. */
Module *module_root(Module *m);
/* Returns the dotted name of a slot of `holder`, relative to root, in memory that `owner` owns. */
char *slot_path(void *owner, const Module *root, const Module *holder, const char *name);
/* Sets the names of the tensors below m, for messages and drawings, to the full names in the
 * tree. */
void name_tensors(Module *m);

/* ---- layers.c -------------------------------------------------------------------------------- */

/* Returns whether m is a Linear of nn.h. */
bool is_linear(const Module *m);
/* Moves to the weight of the next Linear that has an adapter, of whatever kind. Returns the Linear,
 * or NULL at the end. */
struct Linear *walk_adapted(Walk *w);

/* ---- init.c ---------------------------------------------------------------------------------- */

/* Fills the weights of a linear layer or a convolution as PyTorch does: uniform in
 * +-1/sqrt(fan_in). bias may be NULL. */
void fill_by_fan_in(double fan_in, Tensor *weight, Tensor *bias);

/* ---- parameters.c ---------------------------------------------------------------------------- */

/* Returns the number of items below m of all tensors that are trained, or of those that are not. A
 * tied tensor counts where its first slot below root is. */
int64_t count_below(Module *root, Module *m, bool trained);

/* Returns the list that nn_parameters returns, without the buffers that are not in files. with_ties
 * tells whether a tied parameter is in it once for each of its names, without_frozen whether
 * parameters that are not trained are left out. */
NnParameters *saved_parameters(Module *m, bool with_ties, bool without_frozen);

/* Returns the values of a tensor of any type, to write them. */
void *tensor_mutable_values(Tensor *t);

#endif
