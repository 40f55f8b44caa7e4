/* summary.c: prints the modules, parameters and counts of a model as a table, and a mask as a picture. */
#include "kaeru/summary.h"

#include "arguments.h"
#include "kaeru/autograd.h"
#include "utf8.h"
#include "walk.h"

#include <string.h>

typedef struct {
    FILE *out;                  /* NULL: only set the widths */
    Module *root;
    int name_width, what_width, count_width;
} Table;

static void widen(int *width, int other)
{
    if (*width < other) *width = other;
}

static void row(Table *t, int depth, const char *name, const char *what, const char *count)
{
    int indent = 2 * depth;
    char printed[4 * SLOT_NAME + 8];
    utf8_printable(name, strlen(name), printed, sizeof printed);
    name = printed;
    if (!t->out) {
        widen(&t->name_width, indent + (int)strlen(name));
        widen(&t->what_width, (int)strlen(what));
        widen(&t->count_width, (int)strlen(count));
        return;
    }
    fprintf(t->out, "%*s%-*s  %-*s  %*s\n", indent, "", t->name_width - indent, name, t->what_width, what,
            t->count_width, count);
}

/* 124439808 as "124,439,808". */
#define GROUPED_TEXT 32
static const char *grouped(int64_t n, char text[GROUPED_TEXT])
{
    char digits[GROUPED_TEXT];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

static void tensor_row(Table *t, int depth, const NnModuleSlot *slot)
{
    char shape[AG_SHAPE_TEXT], count[GROUPED_TEXT];
    const char *text = grouped(tensor_numel(slot->tensor), count);
    if (!is_first_slot(t->root, slot)) text = "tied";
    else if (!tensor_requires_grad(slot->tensor)) text = "not trained";
    row(t, depth, slot->name, ag_shape_text(tensor_shape(slot->tensor), shape), text);
}

static void module_rows(Table *t, int depth, const char *name, const char *type, Module *m)
{
    char count[GROUPED_TEXT];
    if (*name) row(t, depth++, name, type, grouped(count_below(t->root, m, true), count));
    for (int i = 0; i < m->n_slots; i++) {
        const NnModuleSlot *slot = &m->slots[i];
        if (slot->child) module_rows(t, depth, slot->name, slot->child->type, slot->child);
        else tensor_row(t, depth, slot);
    }
}

static void write_table(Table *t)
{
    row(t, 0, "module", "type or shape", "parameters");
    module_rows(t, 0, t->root->type, "", t->root);
}

void nn_summary(void *module, FILE *out)
{
    NN_LAYER((Module *)module);
    ag_check_pointer(__func__, "the file", out);
    Table t = { .root = module };
    write_table(&t);
    t.out = out;
    write_table(&t);
    static const int size[] = { [AG_REAL] = sizeof(ag_real), [AG_INT] = 4, [AG_BOOL] = 1, [AG_PACKED] = 2 };
    int64_t trained = count_below(module, module, true), fixed = count_below(module, module, false), bytes = 0;
    for (Walk walk = walk_below(module); walk_tensor(&walk); )
        bytes += tensor_numel(walk.slot->tensor) * size[tensor_dtype(walk.slot->tensor)];
    char text[GROUPED_TEXT];
    fprintf(out, "%s parameters", grouped(trained, text));
    if (fixed) fprintf(out, ", %s numbers that are not trained", grouped(fixed, text));
    fprintf(out, ", %s bytes\n", grouped(bytes, text));
}

void nn_mask_print(FILE *out, Tensor *mask)
{
    AG_LAYER;
    ag_check_pointer(__func__, "out", out);
    check_tensor(__func__, "mask", mask, AG_BOOL);
    const uint8_t *visible = tensor_bool_data(mask);
    AgShape shape = tensor_shape(mask);
    int64_t columns = shape.ndim > 0 ? shape.dim[shape.ndim - 1] : 1;
    int64_t rows = shape.ndim > 1 ? shape.dim[shape.ndim - 2] : 1;
    for (int64_t i = 0; i < tensor_numel(mask); i++) {
        if (i > 0 && i % (rows * columns) == 0) {
            fputc('\n', out);
        }
        fputs(visible[i] ? "#" : ".", out);
        fputs((i + 1) % columns == 0 ? "\n" : " ", out);
    }
}
