/* walk.c: the walk over the slots of a module tree, and their names. walk.h has the structs. */
#include "walk.h"

#include <string.h>

/* ---- the walk -------------------------------------------------------------------------------- */

Walk walk_below(const void *module)
{
    Module *root = (Module *)module;
    return (Walk){ .root = root, .holder = root };
}

NnModuleSlot *walk_slot(Walk *w)
{
    for (;;) {
        if (w->next < w->holder->n_slots) {
            w->slot = &w->holder->slots[w->next++];
            if (!w->slot->child) return w->slot;
            w->holder = w->slot->child;
            w->next = 0;
        } else if (w->holder == w->root) {
            w->slot = NULL;
            return NULL;
        } else {
            w->next = w->holder->index + 1;
            w->holder = w->holder->parent;
        }
    }
}

NnModuleSlot *walk_tensor(Walk *w)
{
    do {
        walk_slot(w);
    } while (w->slot && !is_first_slot(w->root, w->slot));
    return w->slot;
}

const NnModuleSlot *first_slot_of(Module *root, const NnModuleSlot *slot)
{
    return slot->tied ? first_slot(root, slot->tensor) : slot;
}

bool is_first_slot(Module *root, const NnModuleSlot *slot)
{
    return first_slot_of(root, slot) == slot;
}

NnModuleSlot *first_slot(Module *root, const Tensor *t)
{
    Walk walk = walk_below(root);
    do {
        walk_slot(&walk);
    } while (walk.slot && walk.slot->tensor != t);
    return walk.slot;
}

Module *module_root(Module *m)
{
    while (m->parent) {
        m = m->parent;
    }
    return m;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *module_name(const Module *m)
{
    return m->parent->slots[m->index].name;
}

/* Returns the length of what m puts before the names of its parts: its own name and a dot, or
 * nothing. */
static size_t prefix_length(const Module *m)
{
    const size_t length = strlen(module_name(m));
    return length ? length + 1 : 0;
}

char *slot_path(void *owner, const Module *root, const Module *holder, const char *name)
{
    size_t length = strlen(name);
    for (const Module *m = holder; m != root; m = m->parent) {
        length += prefix_length(m);
    }
    char *path = ag_alloc_in(owner, length + 1, 1);
    char *start = path + length - strlen(name);         /* the path is written from its end */
    memcpy(start, name, strlen(name));
    for (const Module *m = holder; m != root; m = m->parent) {
        const size_t n = prefix_length(m);
        if (n == 0) continue;
        start -= n;
        memcpy(start, module_name(m), n - 1);
        start[n - 1] = '.';
    }
    return path;
}

void name_tensors(Module *m)
{
    Module *root = module_root(m);
    for (Walk walk = walk_below(m); walk_tensor(&walk); ) {
        char *name = slot_path(NULL, root, walk.holder, walk.slot->name);
        tensor_name(walk.slot->tensor, name);
        ag_free(name);
    }
}
