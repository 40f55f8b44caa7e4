/* module.c: modules as trees: construction, children, parameters, ties, lists. A module stores
 * each part, a child or a tensor, in a slot with a name: walk.h has the struct.
 *
 *     nn_child(net, fc1, nn_linear_new(2, 16));
 *
 * sets net->fc1 and fills a slot "fc1". Everything that works on whole models, such as files,
 * optimizers and copies, reads the slots (walk.c).
 *
 * A module owns its children and tensors (ag_set_part), so ag_free of the root frees the tree. The
 * module of the first slot of a tied tensor owns it. Each function checks its arguments before
 * it changes the tree, and an error leaves a valid tree. */
#include "program_calls.h"
#include "walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- construction and destruction ------------------------------------------------------------ */

enum { MODULE_ALIVE = 0x6d6f6475, MODULE_DEAD = 0x64656164 };

void nn_check(const char *what, const void *module, size_t size)
{
    const Module *m = module;
    ag_check_pointer(what, "the module", m);
    if (m->magic == MODULE_DEAD) {
        ag_usage_error(what, "this %s was freed", m->type);
    }
    if (m->magic != MODULE_ALIVE) {
        ag_usage_error(what, "this is not a module; nn_new makes one");
    }
    if (size > sizeof(Module) && m->size != size) {
        ag_usage_error(what, "this %s is a module of another type", m->type);
    }
}

/* Returns whether a module of that type is a ModuleList: a Sequential is one, too. */
static bool is_list(const char *type)
{
    return strcmp(type, "ModuleList") == 0 || strcmp(type, "Sequential") == 0;
}

void nn_check_type(const char *what, const void *module, size_t size, const char *type)
{
    nn_check(what, module, 0);
    ag_check_pointer(what, "the type", type);
    const Module *m = module;
    if (m->type != type && strcmp(m->type, type) != 0 && !(is_list(type) && is_list(m->type))) {
        ag_usage_error(what, "this %s is a module of another type, expected %s", m->type, type);
    }
    nn_check(what, module, size);
}

void module_destroy(void *module)
{
    Module *m = module;
    if (m->destroy) {
        m->destroy(m);
    }
    m->magic = MODULE_DEAD;
}

Module *nn_new_sized(size_t size, const char *type)
{
    ag_check_pointer(__func__, "the type", type);
    if (size < sizeof(Module)) {
        ag_usage_error(__func__, "%s is smaller than a Module, its first member", type);
    }
    Module *m = ag_alloc(1, size);
    ag_on_free(m, module_destroy);
    m->magic = MODULE_ALIVE;
    m->type = type;
    m->size = size;
    m->training = true;
    return m;
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Returns a new slot with that name and field. It is no part of the module before slot_fill. Checks
 * that the name can be used; the first `others` slots are known to have other names. */
static NnModuleSlot *slot_reserve(const char *what, Module *m, const char *name, const void *field,
                                  int others)
{
    nn_check(what, m, 0);
    size_t length = strlen(name);
    if (length == 0 || length >= SLOT_NAME || strchr(name, '.')) {
        ag_usage_error(what, "\"%s\" cannot be a name in %s: 1 to %d characters, no dot", name,
                       m->type, SLOT_NAME - 1);
    }
    if (strpbrk(name, "[]")) {
        ag_usage_error(what, "\"%s\" in %s is of an array: expected nn_child_named(..., \"l%%d\", "
                       "i)", name, m->type);
    }
    size_t offset = field ? (size_t)((const char *)field - (const char *)m) : 0;
    for (int i = others; i < m->n_slots; i++) {
        if (strcmp(m->slots[i].name, name) == 0) {
            ag_usage_error(what, "%s already has a \"%s\"", m->type, name);
        }
    }
    for (int i = others; i < m->n_slots; i++) {
        if (field && m->slots[i].offset == offset) {
            ag_usage_error(what, "%s already has a part in the field for \"%s\"", m->type, name);
        }
    }
    if (field && (offset < sizeof(Module) || offset > m->size - sizeof(void *))) {
        ag_usage_error(what, "the field for \"%s\" is not in the struct %s", name, m->type);
    }
    if (m->n_slots == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 4;
        m->slots = ag_resize_in(m, m->slots, (size_t)m->n_slots, (size_t)capacity,
                                sizeof *m->slots);
        ag_set_part(m->slots, m, m->type);
        m->capacity = capacity;
    }
    NnModuleSlot *slot = &m->slots[m->n_slots];
    *slot = (NnModuleSlot){ .offset = offset };
    memcpy(slot->name, name, length + 1);
    return slot;
}

void set_field(Module *m, size_t offset, const void *value)
{
    if (offset) {
        memcpy((char *)m + offset, &value, sizeof value);
    }
}

void slot_fill(Module *m, NnModuleSlot *slot, Module *child, Tensor *tensor)
{
    slot->child = child;
    slot->tensor = tensor;
    if (child) {
        ag_set_part(child, m, m->type);
        child->parent = m;
        child->index = m->n_slots;
    }
    set_field(m, slot->offset, child ? (const void *)child : (const void *)tensor);
    m->n_slots++;
}

void check_fields(const char *what, const Module *m)
{
    for (int i = 0; i < m->n_slots; i++) {
        const NnModuleSlot *slot = &m->slots[i];
        const Module *child = slot->child;
        const void *registered = child ? (const void *)child : slot->tensor;
        const void *field = registered;
        if (slot->offset) {
            memcpy(&field, (const char *)m + slot->offset, sizeof field);
        }
        if (field != registered) {
            const char *advice = child ? "nn_child registers a module, once"
                                       : "to set values, use tensor_copy";
            ag_usage_error(what, "the field of %s in its %s no longer points to the registered %s; "
                           "%s", slot->name, m->type, child ? child->type : "tensor", advice);
        }
        if (child) {
            check_fields(what, child);
        }
    }
}

/* The largest number of levels of a tree: recursive functions need stack for each level. */
enum { MOST_LEVELS = 1000 };

/* Returns the number of levels of the tree below m, with m itself. */
static int levels_below(const Module *m)
{
    int most = 0;
    for (int i = 0; i < m->n_slots; i++) {
        int below = m->slots[i].child ? levels_below(m->slots[i].child) : 0;
        if (below > most) {
            most = below;
        }
    }
    return most + 1;
}

/* Checks that the tree has at most MOST_LEVELS if the child becomes a part of the parent. */
static void check_levels(const char *what, const Module *parent, const Module *child)
{
    int levels = levels_below(child);
    for (const Module *m = parent; m; m = m->parent) {
        levels++;
    }
    if (levels > MOST_LEVELS) {
        ag_usage_error(what, "this %s in its %s would make %d levels of modules, expected at most "
                       "%d", child->type, parent->type, levels, MOST_LEVELS);
    }
}

static void add_child(const char *what, Module *parent, const char *name, void **field,
                      Module *child, int others)
{
    nn_check(what, parent, 0);
    if (!child) {
        char part[2 * SLOT_NAME];
        snprintf(part, sizeof part, "the module for \"%s\" of %s", name, parent->type);
        ag_check_pointer(what, part, child);
    }
    nn_check(what, child, 0);
    if (child->parent) {
        ag_usage_error(what, "this %s is already in a %s; to share weights, use nn_tie",
                       child->type, child->parent->type);
    }
    if (module_root(parent) == child) {
        ag_usage_error(what, "a %s cannot hold the %s that contains it", parent->type, child->type);
    }
    check_levels(what, parent, child);
    NnModuleSlot *slot = slot_reserve(what, parent, name, field, others);
    slot_fill(parent, slot, child, NULL);
    name_tensors(child);
}

/* Writes a name as printf does, with the arguments after `format`. If the name is too long, it is
 * cut to a length that slot_reserve refuses. */
#define WRITE_NAME(name, format) do { \
        va_list list; \
        va_start(list, format); \
        vsnprintf(name, sizeof name, format, list); \
        va_end(list); \
    } while (0)

void nn_add_child(Module *parent, void **field, void *child, const char *format, ...)
{
    ag_check_pointer(__func__, "the name", format);
    char name[SLOT_NAME + 1];
    WRITE_NAME(name, format);
    add_child(__func__, parent, name, field, child, 0);
}

/* Checks the shape of a new tensor. tensor_new_owned does, too, but does not know its name. */
static void check_tensor_shape(const char *what, const Module *m, const char *name, AgShape shape)
{
    if (shape.ndim < 0 || shape.ndim > AG_MAX_DIMS) {
        ag_usage_error(what, "\"%s\" of %s with %d dimensions; a tensor has 0 to %d", name, m->type,
                       shape.ndim, AG_MAX_DIMS);
    }
    for (int i = 0; i < shape.ndim; i++) {
        if (shape.dim[i] < 0) {
            ag_usage_error(what, "\"%s\" of %s: negative size in shape %s", name, m->type,
                           ag_shape_string(shape));
        }
    }
    if (ag_shape_numel(shape) < 0) {
        ag_usage_error(what, "\"%s\" of %s: shape %s has more items than can be counted", name,
                       m->type, ag_shape_string(shape));
    }
}

Tensor *nn_add_tensor(Module *parent, Tensor **field, AgShape shape, AgDType dtype, bool trained,
                      bool saved, const char *format, ...)
{
    AG_LAYER;
    ag_check_pointer(__func__, "the field", field);
    ag_check_pointer(__func__, "the name", format);
    char name[SLOT_NAME + 1];
    WRITE_NAME(name, format);
    NnModuleSlot *slot = slot_reserve(__func__, parent, name, field, 0);
    check_tensor_shape(__func__, parent, name, shape);
    slot->not_saved = !saved;
    slot->is_buffer = !trained && dtype != AG_PACKED;
    Tensor *t = tensor_new_owned(shape, dtype);
    slot_fill(parent, slot, NULL, t);
    ag_set_part(t, parent, parent->type);
    if (trained) {
        tensor_set_requires_grad(t, true);
    }
    if (parent->parent) {
        name_tensors(parent);
    } else {
        tensor_name(t, slot->name);
    }
    return t;
}

/* ---- ties ------------------------------------------------------------------------------------ */

/* Returns the slot of the field, or NULL if the field has none. */
static NnModuleSlot *field_slot(Module *m, Tensor **field)
{
    for (int i = 0; i < m->n_slots; i++) {
        if ((char *)m + m->slots[i].offset == (char *)field) return &m->slots[i];
    }
    return NULL;
}

/* Replaces `old` by t in every slot of the tree, and in the field of the slot. The module of the
 * first of these slots owns t. Does not free `old`. */
static void tie_all(Module *root, const Tensor *old, Tensor *t)
{
    bool first = true;
    for (Walk walk = walk_below(root); walk_slot(&walk); ) {
        if (walk.slot->tensor != old && walk.slot->tensor != t) continue;
        if (first) {
            ag_set_part(t, walk.holder, walk.holder->type);
        }
        walk.slot->tensor = t;
        walk.slot->tied = !first;
        set_field(walk.holder, walk.slot->offset, t);
        first = false;
    }
}

void nn_tie_named(Module *parent, const char *name, Tensor **field, Tensor *tensor)
{
    nn_check(__func__, parent, 0);
    ag_check_pointer(__func__, "the name", name);
    ag_check_pointer(__func__, "the field", field);
    if (!tensor) {
        ag_usage_error(__func__, "the tensor for \"%s\" of %s is NULL", name, parent->type);
    }
    Module *root = module_root(parent);
    nn_check(__func__, root, 0);
    if (!first_slot(root, tensor)) {
        ag_usage_error(__func__, "\"%s\" of %s can only be tied to a parameter of the same tree; "
                       "make both parts children of one module first", name, parent->type);
    }
    NnModuleSlot *slot = field_slot(parent, field);
    if (!slot) {
        slot = slot_reserve(__func__, parent, name, field, 0);
        slot_fill(parent, slot, NULL, tensor);
        tie_all(root, tensor, tensor);
        return;
    }
    if (slot->tensor == tensor) return;
    Tensor *old = slot->tensor;
    AgShape old_shape = tensor_shape(old), shape = tensor_shape(tensor);
    if (!ag_shape_equal(old_shape, shape)) {
        ag_usage_error(__func__, "\"%s\" of %s is %s, the tensor to tie it to %s", name,
                       parent->type, ag_shape_string(old_shape), ag_shape_string(shape));
    }
    tie_all(root, old, tensor);
    ag_set_part(old, NULL, NULL);
    ag_free(old);
}

/* ---- lists ----------------------------------------------------------------------------------- */

ModuleList *nn_list_new(void)
{
    return (ModuleList *)nn_new_sized(sizeof(ModuleList), "ModuleList");
}

void nn_list_add(ModuleList *list, void *child)
{
    nn_check_type(__func__, list, sizeof *list, "ModuleList");
    char name[SLOT_NAME];
    snprintf(name, sizeof name, "%d", list->n);
    /* If all slots are items, their names are the numbers below list->n, and need no comparison. */
    const bool items_alone = list->module.n_slots == list->n;
    add_child(__func__, &list->module, name, NULL, child, items_alone ? list->n : 0);
    list->n++;
}

void *nn_list_item(const ModuleList *list, int i)
{
    nn_check_type(__func__, list, sizeof *list, "ModuleList");
    if (i < 0 || i >= list->n) {
        ag_usage_error(__func__, "item %d of a list of %d", i, list->n);
    }
    return list->module.slots[i].child;
}

/* ---- layers with one input ------------------------------------------------------------------- */

void check_forward(const char *what, const Module *layer)
{
    nn_check(what, layer, 0);
    if (!layer->forward) {
        ag_usage_error(what, "a %s has no forward with one input (module.forward is not set)",
                       layer->type);
    }
}

Tensor *call_forward(const char *what, Module *layer, Tensor *x)
{
    check_forward(what, layer);
    const Calls before = function_begins();
    Tensor *y = layer->forward(layer, x);
    function_ends(before);
    return y;
}
