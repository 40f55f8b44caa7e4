/* dot.c: the graph behind a tensor as a Graphviz drawing: `dot -Tsvg graph.dot > graph.svg`.
 *
 * Boxes are operations with the shape of their result, ellipses are leaves: named ones by name, scalars with value. */
#include "trace.h"

/* Names come from programs: a quote or backslash must not end the label. */
static void escaped(FILE *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', out);
        fputc(*s == '\n' ? ' ' : *s, out);
    }
}

static void graph_begin(FILE *out)
{
    fputs("digraph kaeru {\n  rankdir=BT;\n  node [fontname=\"Helvetica\", fontsize=11];\n", out);
}

static void node(FILE *out, const Tensor *t)
{
    char text[AG_SHAPE_TEXT];
    fprintf(out, "  n%u [label=\"", (unsigned)t->number);
    if (t->name) {
        escaped(out, t->name);
        fputs("\\n", out);
    }
    if (t->op) {
        escaped(out, t->op->name);
        fputs("\\n", out);
    }
    fputs(shape_text(t->shape, text), out);
    if (t->numel == 1 && t->data) {
        fputs("\\n", out);
        story_values(out, t, t->data, 1, "");
    }
    if (t->op) fputs("\", shape=box];\n", out);
    else fprintf(out, "\", shape=ellipse, style=filled, fillcolor=\"%s\"];\n", t->requires_grad ? "#cfe8ff" : "#eeeeee");
}

void ag_graph_dot_at(Site at, FILE *out, Tensor *y)
{
    check_tensor(at, "ag_graph_dot", "y", y, y ? y->dtype : AG_REAL);
    if (!out) ag_usage_error(at, "ag_graph_dot", "the file is NULL");
    Scope s = ag_begin_at(at, AG_NO_GRAD);
    uint32_t n;
    Tensor **nodes = nodes_behind(at, "ag_graph_dot", y, &n);
    graph_begin(out);
    for (uint32_t i = 0; i < n; i++) {
        const Tensor *t = nodes[i];
        node(out, t);
        for (int j = 0; t->op && j < t->n_in; j++)
            if (t->in[j]) fprintf(out, "  n%u -> n%u;\n", (unsigned)t->in[j]->number, (unsigned)i);
    }
    fputs("}\n", out);
    ag_end_at(at, s);
}

/* ---- frames: one picture a step ---------------------------------------------------------------------------------- */

enum { FEW = 6 };               /* a larger tensor is shown by shape, range and norm */
/* Colors that projectors and colorblind eyes keep apart. */
#define WANTS   "#cfe8ff"
#define GIVEN   "#eeeeee"
#define NOW     "#ffd28a"
#define FLOW    "#d55e00"
#define NOT_YET "#999999"

/* What a frame shows: values of the operations up to node `computed`, gradients if the way back has begun, and the
 * operation at work (n: none). */
typedef struct { uint32_t computed, now; bool back; } View;

/* Has an operation that will run its rule later still something to give to node i? */
static bool waits(const Story *s, uint32_t i)
{
    for (uint32_t k = i + 1; k < s->at_node; k++)
        for (int j = 0; s->node[k]->op && j < s->node[k]->n_in; j++)
            if (s->node[k]->in[j] == s->node[i]) return true;
    return false;
}

static void frame_node(FILE *out, const Story *s, View view, uint32_t i)
{
    const Tensor *t = s->node[i];
    Symbol text;
    const char *symbol = story_symbol(s, i, text);
    bool known = !t->op || i <= view.computed;
    fprintf(out, "  n%u [label=\"%s", (unsigned)i, symbol);
    if (t->op) {
        fputs(" = ", out);
        story_call(out, s, i);
    }
    fputs("\\n", out);                          /* lines are kept free, so that frames differ little in layout */
    if (known) story_values(out, t, t->data, FEW, "(given back)");
    fputs("\\n", out);
    if (view.back && s->twin[i]->grad) {
        fprintf(out, "d%s = ", symbol);
        story_values(out, t, grad_of(s->twin[i]), FEW, "");
        if (waits(s, i)) fputs(" so far", out);
    }
    fprintf(out, "\", width=1.7, shape=%s", t->op ? "box" : "ellipse");
    const char *fill = i == view.now ? NOW : t->op ? NULL : t->requires_grad ? WANTS : GIVEN;
    if (fill) fprintf(out, ", style=filled, fillcolor=\"%s\"", fill);
    if (!known) fputs(", style=dashed, color=\"" NOT_YET "\", fontcolor=\"" NOT_YET "\"", out);
    fputs("];\n", out);
}

/* What flows now: values into the operation at work, or gradients out of it, with what each input gets. */
static void frame_edge(FILE *out, const Story *s, View view, uint32_t i, int j)
{
    const Tensor *x = s->node[i]->in[j];
    fprintf(out, "  n%u -> n%u", (unsigned)x->number, (unsigned)i);
    if (i == view.now && !view.back) fputs(" [color=\"" FLOW "\", penwidth=2]", out);
    if (i == view.now && view.back && s->part[j]) {
        fputs(" [color=\"" FLOW "\", fontcolor=\"" FLOW "\", penwidth=2, dir=back, xlabel=\"  ", out);
        if (x->numel == 1) story_values(out, x, s->part[j]->data, 1, "");       /* more would lie across other edges */
        fputs("\"]", out);
    }
    fputs(";\n", out);
}

static void frame_title(FILE *out, const Story *s, View view, int step)
{
    fputs("  labelloc=t;\n  fontname=\"Helvetica\";\n  edge [fontname=\"Helvetica\", fontsize=11];\n  label=\"", out);
    Symbol text;
    fprintf(out, "%s %d of %u", view.back ? "backward" : "forward", step, (unsigned)s->ops);
    if (view.now < s->n) {
        const Op *op = s->node[view.now]->op;
        const char *formula = view.back ? op->backward_text : op->forward_text;
        fputs(formula ? ": " : "", out);
        if (formula && !view.back) fprintf(out, "%s = ", story_symbol(s, view.now, text));
        story_formula(out, s, view.now, formula, view.back ? '\0' : ':');
    }
    fputs("\";\n", out);
}

static void draw_frame(FILE *out, const Story *s, View view, int step)
{
    graph_begin(out);
    frame_title(out, s, view, step);
    for (uint32_t i = 0; i < s->n; i++) {
        frame_node(out, s, view, i);
        for (int j = 0; s->node[i]->op && j < s->node[i]->n_in; j++)
            if (s->node[i]->in[j]) frame_edge(out, s, view, i, j);
    }
    fputs("}\n", out);
}

/* The node of operation number k, from 1; of 0: before all. */
static uint32_t node_of_op(const Story *s, int k)
{
    uint32_t i = 0;
    while (k > 0 && i < s->n)
        if (s->node[i++]->op) k--;
    return i > 0 ? i - 1 : 0;
}

int ag_graph_frames_at(Site at, Tensor *loss)
{
    Story s = story_begin(at, "ag_graph_frames", loss);
    int frames = 2 * ((int)s.ops + 1);
    story_end(&s);
    return frames;
}

void ag_graph_frame_at(Site at, FILE *out, Tensor *loss, int frame)
{
    if (!out) ag_usage_error(at, "ag_graph_frame", "the file is NULL");
    Story s = story_begin(at, "ag_graph_frame", loss);
    int forward = (int)s.ops + 1, step = frame % forward;
    if (frame < 0 || frame >= 2 * forward)
        ag_usage_error(at, "ag_graph_frame", "there is no frame %d; this graph has %d", frame, 2 * forward);
    View view = { .computed = s.n, .now = s.n, .back = frame >= forward };
    if (!view.back) view.computed = node_of_op(&s, step);
    if (!view.back && step > 0) view.now = view.computed;
    for (int k = 0; view.back && k < step; k++)
        if (story_step(&s)) view.now = s.at_node;
    draw_frame(out, &s, view, step);
    story_end(&s);
}
