/* explain.c: prints a forward and a backward pass, one operation after another. */
#include "gradients.h"
#include "kaeru/debug.h"
#include "kaeru/tensor.h"
#include "op.h"
#include "tensor_struct.h"
#include "trace.h"
#include "utf8.h"

#include <string.h>

enum {
    MAX_ITEMS = 9,              /* larger tensors are printed as shape, range and norm */
    LONG_FORMULA = 50           /* printed in lines of its own */
};
#define NEXT_LINE "\n               "

static void print_forward(FILE *out, const Trace *trace)
{
    fputs("Forward, in this order:\n", out);
    for (uint32_t i = 0; i < trace->n; i++) {
        const Tensor *t = trace->node[i];
        fprintf(out, "  %-6s = ", trace->symbol[i]);
        if (t->op) {
            trace_call(out, trace, i);
            fputs(" = ", out);
        }
        trace_values(out, t, t->data, MAX_ITEMS);
        if (t->op && t->op->forward_text) {
            size_t values = t->numel <= MAX_ITEMS ? 6 * (size_t)t->numel : 30;
            fputs(strcspn(t->op->forward_text, ":;") + values > LONG_FORMULA ? NEXT_LINE : "    ", out);
            trace_formula(out, trace, i, t->op->forward_text, ":;", NULL);
        } else if (!t->op) {
            fputs(t->requires_grad ? "    requires a gradient" : "    a constant", out);
        }
        if (t->origin.name && strcmp(t->origin.name, trace->symbol[i]) != 0) {
            fputs(", \"", out);
            utf8_print(out, t->origin.name);
            fputc('"', out);
        }
        fputc('\n', out);
    }
}

/* The line "with": y's gradient and the values that its rule reads. */
static void print_read(FILE *out, const Trace *trace, Tensor *y)
{
    fprintf(out, "       with    d%s = ", symbol_of(trace, y));
    trace_values(out, y, grad_of(trace->copy[y->origin.number]), MAX_ITEMS);
    bool scalars = y->numel == 1;                       /* in one line */
    for (int j = 0; j < y->n_in; j++) scalars = scalars && (!y->in[j] || y->in[j]->numel == 1);
    const char *between = scalars ? ", " : NEXT_LINE;
    int uses = trace->uses[y->origin.number];
    if (uses > 1) fprintf(out, " (complete: the sum over its %d uses)", uses);
    for (int j = 0; j <= y->n_in; j++) {
        const Tensor *x = read_by_rule(y, j);
        for (int k = 0; k < j && x; k++)
            if (read_by_rule(y, k) == x) x = NULL;      /* printed already: x is several inputs */
        if (!x) continue;
        fprintf(out, "%s%s = ", between, symbol_of(trace, x));
        trace_values(out, x, x->data, MAX_ITEMS);
    }
    fputc('\n', out);
}

/* The line "gives" or "adds": dx = before + part + part = after. x is input j; later inputs may be the same tensor. */
static void print_gradient(FILE *out, const Trace *trace, const Tensor *y, int j)
{
    const Tensor *x = y->in[j];
    const char *plus = x->numel == 1 ? " + " : NEXT_LINE "+ ", *equals = x->numel == 1 ? " = " : NEXT_LINE "= ";
    fprintf(out, "       %s d%s = ", trace->before[j] ? "adds   " : "gives  ", symbol_of(trace, x));
    trace_gradient(out, trace, x, plus, equals, MAX_ITEMS);
    fputc('\n', out);
}

static void print_step(FILE *out, const Trace *trace, int number)
{
    Tensor *y = trace->node[trace->at_node];
    fprintf(out, "  %2d.  %s = ", number, symbol_of(trace, y));
    trace_call(out, trace, y->origin.number);
    fprintf(out, "    at %s:%d\n", y->origin.site.file, y->origin.site.line);
    if (y->op->backward_text) {
        fputs("       rule    ", out);
        bool is_long = strlen(y->op->backward_text) > LONG_FORMULA;
        trace_formula(out, trace, y->origin.number, y->op->backward_text, "", is_long ? NEXT_LINE : NULL);
        fputc('\n', out);
    }
    print_read(out, trace, y);
    for (int j = 0; j < y->n_in; j++) {
        bool print = trace->part[j];                    /* once, if the tensor is several inputs */
        for (int k = 0; k < j && print; k++) print = y->in[k] != y->in[j] || !trace->part[k];
        if (print) print_gradient(out, trace, y, j);
    }
}

void ag_explain(FILE *out, Tensor *loss)
{
    ag_check_pointer(__func__, "the file", out);
    Trace trace = trace_begin(__func__, loss);
    print_forward(out, &trace);
    const char *symbol = symbol_of(&trace, loss);
    fprintf(out, "\nBackward, in reverse order. d<name> is the derivative of %s with respect to <name>, so d%s = 1.\n", symbol,
            symbol);
    for (int number = 1; trace_step(&trace); number++) print_step(out, &trace, number);
    fputs("\nGradients of the leaves:\n", out);
    for (uint32_t i = 0; i < trace.n; i++) {
        if (trace.node[i]->op || !trace.copy[i]->grad) continue;
        fprintf(out, "  d%-5s = ", trace.symbol[i]);
        trace_values(out, trace.node[i], grad_of(trace.copy[i]), MAX_ITEMS);
        fputc('\n', out);
    }
    trace_end(&trace);
}
