/* slots.h: what a module is inside, for the files of this floor.
 *
 * A slot is one registered part: a child module or a tensor. Everything that works on whole models (names, files, optimizers,
 * clone) is a walk over slots. The walk goes down by child and up by parent, so it needs neither recursion nor memory. */
#ifndef KAERU_SLOTS_H
#define KAERU_SLOTS_H

#include "kaeru/module.h"

#define SLOT_NAME 48

typedef struct ModuleSlot {
    char name[SLOT_NAME];
    size_t offset;              /* of the field in the module's struct; 0: an item of a list */
    Module *child;              /* this, */
    Tensor *tensor;             /* or that */
    bool tied;                  /* the tensor belongs to an earlier slot of the walk */
} ModuleSlot;

/* ---- module.c ---------------------------------------------------------------------------------------------------- */

/* A module of the same type, mode and plain members as the original, with room for as many slots, and none yet. */
Module *module_new_like(Site at, const Module *original);
/* The next slot of a module, named and empty; slot_fill makes it count. A usage error in the name of `what` if the name is
 * taken or not allowed. */
ModuleSlot *slot_reserve(Site at, const char *what, Module *m, const char *name, const void *field);
void slot_fill(Module *m, ModuleSlot *slot, Module *child, Tensor *tensor);
/* Puts another tensor into a filled slot and its field; the former one is not freed. */
void slot_set_tensor(Module *m, ModuleSlot *slot, Tensor *tensor, bool tied);

/* ---- parameters.c ------------------------------------------------------------------------------------------------ */

typedef struct {
    Module *root;               /* where it began */
    Module *holder;             /* the module of the slot that came last */
    int next;
} Walk;
Walk walk_below(const void *module);
/* The next slot that holds a tensor, in order of registration; NULL at the end. */
ModuleSlot *walk_slot(Walk *w);
/* The same, but each tensor once, where it comes first. */
ModuleSlot *walk_tensor(Walk *w);
/* The first slot below root that holds t; NULL: none. */
ModuleSlot *first_slot(Module *root, const Tensor *t);
/* The top of the tree that m is in. */
Module *module_root(Module *m);
/* As nn_parameters, but tied ones under each of their names. */
Parameters *every_name(Site at, Module *m);
/* Gives the tensors below m their full names, for messages and graphs. */
void name_tensors(Site at, Module *m);

#endif
