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
    fprintf(out, "  n%u [label=\"", (unsigned)t->number);
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

/* The tensors drawn, each at its number. A tensor whose number is not that of its place has not been seen. */
typedef struct { Tensor **item; uint32_t n, room; } Seen;

static void see(Site at, Seen *seen, Tensor *t)
{
    if (t->number < seen->n && seen->item[t->number] == t) return;
    if (seen->n == seen->room) {
        uint32_t room = seen->room ? 2 * seen->room : 64;
        Tensor **larger = scratch_new(at, "ag_graph_dot", room, sizeof *larger);
        if (seen->n) memcpy(larger, seen->item, seen->n * sizeof *larger);
        seen->item = larger;
        seen->room = room;
    }
    t->number = seen->n;
    seen->item[seen->n++] = t;
}

void ag_graph_dot_at(Site at, FILE *out, Tensor *y)
{
    check_tensor(at, "ag_graph_dot", "y", y, y ? y->dtype : AG_REAL);
    if (!out) ag_misuse(at, "ag_graph_dot", "the file is NULL");
    Seen seen = { NULL, 0, 0 };
    fputs("digraph kaeru {\n  rankdir=BT;\n  node [fontname=\"Helvetica\", fontsize=11];\n", out);
    see(at, &seen, y);
    for (uint32_t i = 0; i < seen.n; i++) {             /* each node once, with the edges from its inputs */
        const Tensor *t = seen.item[i];
        node(out, t);
        for (int j = 0; t->op && j < t->n_in; j++) {
            if (!t->in[j]) continue;
            see(at, &seen, t->in[j]);
            fprintf(out, "  n%u -> n%u;\n", (unsigned)t->in[j]->number, (unsigned)t->number);
        }
    }
    fputs("}\n", out);
    scratch_end();
}
