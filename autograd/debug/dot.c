/* dot.c: writes the steps of a forward and backward pass as Graphviz drawings: `dot -Tsvg frame.dot > frame.svg`. */
#include "checks.h"
#include "kaeru/debug.h"
#include "kaeru/tensor.h"
#include "op.h"
#include "scope.h"
#include "shape.h"
#include "tensor_struct.h"
#include "trace.h"

#include <math.h>
#include <string.h>

enum { MAX_ITEMS = 6 };         /* larger tensors are drawn as shape, range and norm */
/* Colors that also differ on a projector and for colorblind readers. */
#define REQUIRES_GRAD "#cfe8ff"
#define CONSTANT      "#eeeeee"
#define ACTIVE        "#ffd28a"
#define ACTIVE_EDGE   "#d55e00"
#define PENDING       "#999999"

/* What a frame shows: the node of the operation that runs (n: none), in the forward or in the backward pass. passed[i][j]: what
 * the rule of node i has passed to its input j so far, if that is one number; else NaN. */
typedef struct { uint32_t active; bool backward; real **passed; } View;

/* The width of a node in inches, enough for its text in every frame, so that all frames have the same layout. */
static double node_width(const Trace *trace, uint32_t i)
{
    const Tensor *t = trace->node[i];
    size_t name = strlen(trace->symbol[i]), call = name;
    for (int j = 0; t->op && j < t->n_in; j++) call += t->in[j] ? strlen(symbol_of(trace, t->in[j])) + 2 : 6;
    call += t->op ? strlen(t->op->name) + 3 : 0;
    size_t values = t->numel <= MAX_ITEMS ? 9 * (size_t)t->numel : 40;          /* 9: "-0.46212, " with brackets */
    size_t sum = name + 4 + values * (trace->uses[i] > 1 ? 3 : 1), last = t->requires_grad ? sum : values;
    size_t longest = call > last ? call : last;
    double width = 0.35 + 0.112 * (double)longest;
    return width < 1.7 ? 1.7 : width;
}

static void frame_node(FILE *out, const Trace *trace, View view, uint32_t i)
{
    const Tensor *t = trace->node[i];
    const char *symbol = trace->symbol[i];
    bool computed = !t->op || view.backward || (view.active < trace->n && i <= view.active);
    fprintf(out, "  n%u [label=\"%s", (unsigned)i, symbol);
    if (t->op) {
        fputs(" = ", out);
        trace_call(out, trace, i);
    }
    fputs("\\n", out);
    if (computed) trace_values(out, t, t->data, MAX_ITEMS);
    fputs("\\n", out);
    if (view.backward && trace->copy[i]->grad) {
        fprintf(out, "d%s = ", symbol);
        trace_gradient(out, trace, t, " + ", " = ", MAX_ITEMS);
        if (trace->left[i] > 0) fputs(" so far", out);
    }
    fprintf(out, "\", width=%.2f", node_width(trace, i));
    const char *fill = i == view.active ? ACTIVE : t->op ? NULL : t->requires_grad ? REQUIRES_GRAD : CONSTANT;
    if (fill) fprintf(out, ", style=\"%s\", fillcolor=\"%s\"", t->op ? "filled" : "filled,rounded", fill);
    if (!computed) fputs(", style=dashed, color=\"" PENDING "\", fontcolor=\"" PENDING "\"", out);
    fputs("];\n", out);
}

/* Highlights the inputs of the operation that runs; in the backward pass those to which its rule adds. If x is one number that
 * is used several times, each of its edges says what this use has passed. All labels have one size, so frames look alike. */
static void frame_edge(FILE *out, const Trace *trace, View view, uint32_t i, int j)
{
    const Tensor *x = trace->node[i]->in[j];
    fprintf(out, "  n%u -> n%u", (unsigned)x->origin.number, (unsigned)i);
    if (i == view.active && (!view.backward || trace->part[j]))
        fprintf(out, " [color=\"" ACTIVE_EDGE "\", penwidth=2%s]", view.backward ? ", dir=back" : "");
    if (trace->uses[x->origin.number] > 1 && x->numel == 1) {
        fputs(" [label=<<table border=\"0\" fixedsize=\"true\" width=\"90\" height=\"28\"><tr><td>", out);
        if (!isnan(view.passed[i][j])) trace_values(out, x, &view.passed[i][j], 1);
        fputs("</td></tr></table>>]", out);
    }
    fputs(";\n", out);
}

static void frame_title(FILE *out, const Trace *trace, View view, int step)
{
    fputs("  labelloc=t;\n  fontname=\"Helvetica\";\n  fontsize=18;\n  label=\"", out);
    int lines = 1;
    for (uint32_t i = 0; i < trace->n; i++) {
        int clauses = trace->node[i]->op ? trace_clauses(trace, i, trace->node[i]->op->backward_text) : 0;
        lines = clauses > lines ? clauses : lines;
    }
    fprintf(out, "%s %d of %u", view.backward ? "backward" : "forward", step, (unsigned)trace->ops);
    if (view.active < trace->n) {
        const Op *op = trace->node[view.active]->op;
        const char *formula = view.backward ? op->backward_text : op->forward_text;
        fputs("\\n", out);
        if (formula && !view.backward) fprintf(out, "%s = ", trace->symbol[view.active]);
        trace_formula(out, trace, view.active, formula, view.backward ? "" : ":;", "\\n");
        lines -= view.backward ? trace_clauses(trace, view.active, formula) : 1;
    }
    while (lines-- > 0) fputs("\\n ", out);                         /* all titles have the same height */
    fputs("\";\n", out);
}

static void write_frame(FILE *out, const Trace *trace, View view, int step)
{
    fputs("digraph kaeru {\n  rankdir=BT;\n  node [fontname=\"Helvetica\", fontsize=14, shape=box, height=0.85];\n"
          "  edge [fontname=\"Helvetica\", fontsize=14, fontcolor=\"" ACTIVE_EDGE "\"];\n  ranksep=0.4;\n", out);
    frame_title(out, trace, view, step);
    for (uint32_t i = 0; i < trace->n; i++) {
        frame_node(out, trace, view, i);
        for (int j = 0; trace->node[i]->op && j < trace->node[i]->n_in; j++)
            if (trace->node[i]->in[j]) frame_edge(out, trace, view, i, j);
    }
    fputs("}\n", out);
}

static real **passed_new(const Trace *trace)
{
    real **passed = scope_alloc(trace->what, trace->n * sizeof *passed);
    for (uint32_t i = 0; i < trace->n; i++) {
        const Tensor *t = trace->node[i];
        if (!t->op) continue;
        passed[i] = scope_alloc(trace->what, (size_t)t->n_in * sizeof **passed);
        for (int j = 0; j < t->n_in; j++) passed[i][j] = NAN;
    }
    return passed;
}

int ag_graph_frame(FILE *out, Tensor *loss, int frame)
{
    ag_check_pointer(__func__, "the file", out);
    Trace trace = trace_begin(__func__, loss);
    int half = (int)trace.ops + 1, step = frame % half;
    if (frame < 0 || frame >= 2 * half) ag_usage_error(__func__, "there is no frame %d; this graph has %d", frame, 2 * half);
    View view = { .active = trace.n, .backward = frame >= half, .passed = passed_new(&trace) };
    for (int k = 0; view.backward && k < step; k++) {
        if (!trace_step(&trace)) continue;
        view.active = trace.at_node;
        for (int j = 0; j < trace.node[view.active]->n_in; j++)
            if (trace.part[j] && trace.part[j]->numel == 1) view.passed[view.active][j] = *(real *)trace.part[j]->data;
    }
    int ops = 0;
    for (uint32_t i = 0; !view.backward && ops < step; i++) {
        if (!trace.node[i]->op) continue;
        ops++;
        view.active = i;
    }
    write_frame(out, &trace, view, step);
    trace_end(&trace);
    return 2 * half;
}
