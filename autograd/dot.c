/* dot.c: the graph behind a tensor as a Graphviz drawing: `dot -Tsvg graph.dot > graph.svg`.
 *
 * Boxes are operations with the shape of their result, ellipses are leaves: named ones by name, scalars with value. */
#include "tensor.h"

#include <string.h>

/* Names come from programs: a quote or backslash must not end the label. */
static void escaped(FILE *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', out);
        fputc(*s == '\n' ? ' ' : *s, out);
    }
}

static void node(FILE *out, const Tensor *t)
{
    char text[AG_SHAPE_TEXT];
    fprintf(out, "  n%p [label=\"", (const void *)t);
    if (t->name) {
        escaped(out, t->name);
        fputs("\\n", out);
    }
    if (t->op) fprintf(out, "%s\\n", t->op->name);
    fputs(shape_text(t->shape, text), out);
    if (t->numel == 1 && t->data)
        fprintf(out, "\\n%.6g", t->dtype == AG_REAL ? (double)*reals(t) : t->dtype == AG_INT ? (double)*ints(t) : (double)*bools(t));
    if (t->op) fputs("\", shape=box];\n", out);
    else fprintf(out, "\", shape=ellipse, style=filled, fillcolor=\"%s\"];\n", t->wants_grad ? "#cfe8ff" : "#eeeeee");
}

/* Marks are kept beside the tensors: a list of those already written. */
typedef struct { const Tensor **item; size_t n, room; } Seen;

static bool add_seen(Seen *seen, const Tensor *t)
{
    for (size_t i = 0; i < seen->n; i++)
        if (seen->item[i] == t) return false;
    if (seen->n == seen->room) {
        size_t room = seen->room ? 2 * seen->room : 64;
        seen->item = ag_resize(seen->item, seen->room, room, sizeof *seen->item);
        seen->room = room;
    }
    seen->item[seen->n++] = t;
    return true;
}

void ag_graph_dot_at(Site at, FILE *out, const Tensor *y)
{
    check_tensor(at, "ag_graph_dot", "y", y, y ? y->dtype : AG_REAL);
    Seen seen = { 0 };
    fputs("digraph kaeru {\n  rankdir=BT;\n  node [fontname=\"Helvetica\", fontsize=11];\n", out);
    add_seen(&seen, y);
    for (size_t i = 0; i < seen.n; i++) {               /* each node once, with the edges from its inputs */
        const Tensor *t = seen.item[i];
        node(out, t);
        for (int j = 0; j < t->n_in; j++) {
            if (!t->in[j]) continue;
            add_seen(&seen, t->in[j]);
            fprintf(out, "  n%p -> n%p;\n", (const void *)t->in[j], (const void *)t);
        }
    }
    fputs("}\n", out);
    ag_free(seen.item);
}
