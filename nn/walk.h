/* walk.h: the slots of modules and the walk over them, for the files of nn, and for decoding.
 *
 * A slot is one registered part of a module: a child module or a tensor. Names, files, optimizers
 * and clone work on whole models by a walk over slots. It goes down by `child` and up by `parent`,
 * so it needs neither recursion nor memory. */
#ifndef KAERU_SLOTS_H
#define KAERU_SLOTS_H

#include "kaeru/module.h"

#define SLOT_NAME 48

typedef struct NnModuleSlot {
    char name[SLOT_NAME];       /* empty: the parts of the child have names as if they were parts of
                                   this module */
    size_t offset;              /* of the field in the module's struct; 0: an item of a list */
    Module *child;              /* a child, */
    Tensor *tensor;             /* or a tensor */
    bool tied;                  /* the tensor belongs to an earlier slot of the walk */
    bool is_buffer;             /* it never had a gradient */
    bool not_saved;             /* a buffer that is not in files */
} NnModuleSlot;

/* ---- module.c -------------------------------------------------------------------------------- */

/* A usage error if a field below m no longer points to what was registered for it. */
void check_fields(const char *what, const Module *m);
/* A usage error unless this is a layer with one input. */
void check_forward(const char *what, const Module *layer);
/* Returns layer(x). The layer may be the program's. */
Tensor *call_forward(Module *layer, Tensor *x);

/* ---- walk.c ---------------------------------------------------------------------------------- */

typedef struct {
    Module *root;               /* where the walk began */
    Module *holder;             /* the module of the last slot returned */
    int next;                   /* the number of the next slot in it */
    NnModuleSlot *slot;         /* the last one returned; NULL: none, or the end */
} Walk;
Walk walk_below(const void *module);
/* The next slot that holds a tensor, in order of registration; NULL at the end. */
NnModuleSlot *walk_slot(Walk *w);
/* The next slot that is the first one of its tensor; NULL at the end. */
NnModuleSlot *walk_tensor(Walk *w);
/* The first slot below root that holds t; NULL: none. */
NnModuleSlot *first_slot(Module *root, const Tensor *t);
bool is_first_slot(Module *root, const NnModuleSlot *slot);
/* The root of the tree that contains m. */
Module *module_root(Module *m);
/* The dotted name of a slot of `holder`, relative to root, in memory that `owner` owns. */
char *slot_path(void *owner, const Module *root, const Module *holder, const char *name);
/* Sets the names of the tensors below m, for messages and drawings, to the full names in the
 * tree. */
void name_tensors(Module *m);

/* ---- init.c ---------------------------------------------------------------------------------- */

/* The start of linear layers and convolutions, as in PyTorch: uniform in +-1/sqrt(fan_in). bias may
 * be NULL. */
void fill_by_fan_in(double fan_in, Tensor *weight, Tensor *bias);

/* ---- parameters.c ---------------------------------------------------------------------------- */

/* The number of entries below m of tensors that are trained, or are not. A tied tensor counts at
 * its first slot below root. */
int64_t count_below(Module *root, Module *m, bool trained);

/* As nn_parameters, but only what files have, and not `without_frozen` parameters; with_ties: tied
 * parameters once for each of their names. */
NnParameters *saved_parameters(Module *m, bool with_ties, bool without_frozen);

/* The values of a tensor of any type, to write. */
void *tensor_mutable_values(Tensor *t);

#endif
