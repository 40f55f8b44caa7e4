/* explain.c: a backward pass told as a story. */
#include "trace.h"

#include <string.h>

enum { FEW = 12 };              /* a tensor of more values is told by its shape, range and norm */

static void tell(FILE *out, const Tensor *t, const void *values)
{
    story_values(out, t, values, FEW, "(given back)");
}

static void tell_forward(FILE *out, const Story *s)
{
    Symbol text;
    fputs("Forward, in this order:\n", out);
    for (uint32_t i = 0; i < s->n; i++) {
        const Tensor *t = s->node[i];
        const char *symbol = story_symbol(s, i, text);
        fprintf(out, "  %-6s = ", symbol);
        if (t->op) {
            story_call(out, s, i);
            fputs(" = ", out);
        }
        tell(out, t, t->data);
        if (t->op && t->op->forward_text) {
            fputs("    ", out);
            story_formula(out, s, i, t->op->forward_text, ':');
        } else if (!t->op) {
            fputs(t->requires_grad ? "    wants a gradient" : "    a constant", out);
        }
        if (t->name && strcmp(t->name, symbol) != 0) fprintf(out, ", \"%s\"", t->name);
        fputc('\n', out);
    }
}

/* What the rule puts in: the gradient that arrived, and the values that it reads. */
static void tell_with(FILE *out, const Story *s, const Tensor *y, const Tensor *twin)
{
    Symbol text;
    fprintf(out, "       with    d%s = ", story_symbol(s, y->number, text));
    tell(out, y, grad_of(twin));
    if (s->uses[y->number] > 1) fprintf(out, " (complete: the sum over its %d uses)", s->uses[y->number]);
    for (int j = 0; j < y->n_in; j++) {
        const Tensor *x = y->in[j];
        bool told = !x || !reads_input(y->op, j);
        for (int k = 0; k < j && !told; k++) told = y->in[k] == x && reads_input(y->op, k);
        if (told) continue;
        fprintf(out, ", %s = ", story_symbol(s, x->number, text));
        tell(out, x, x->data);
    }
    if (y->op->needs & NEEDS_Y) {
        fprintf(out, ", %s = ", story_symbol(s, y->number, text));
        tell(out, y, y->data);
    }
    fputc('\n', out);
}

/* What input j gets, together with the same tensor as a later input: dx = before + part + part = after. */
static void tell_given(FILE *out, const Story *s, const Tensor *y, int j)
{
    const Tensor *x = y->in[j];
    Symbol text;
    int terms = 0;
    fprintf(out, "       %s d%s = ", s->before[j] ? "adds   " : "gives  ", story_symbol(s, x->number, text));
    if (s->before[j]) {
        tell(out, x, s->before[j]->data);
        terms++;
    }
    for (int k = j; k < y->n_in; k++) {
        if (y->in[k] != x || !s->part[k]) continue;
        if (terms++ > 0) fputs(" + ", out);
        tell(out, x, s->part[k]->data);
    }
    if (terms > 1) {
        fputs(" = ", out);
        tell(out, x, grad_of(s->twin[x->number]));
    }
    fputc('\n', out);
}

static void tell_step(FILE *out, const Story *s, int number)
{
    const Tensor *y = s->node[s->at_node];
    Symbol text;
    fprintf(out, "  %2d.  %s = ", number, story_symbol(s, y->number, text));
    story_call(out, s, y->number);
    fprintf(out, "    at %s:%d\n", y->site.file, y->site.line);
    if (y->op->backward_text) {
        fputs("       rule    ", out);
        story_formula(out, s, y->number, y->op->backward_text, '\0');
        fputc('\n', out);
    }
    tell_with(out, s, y, s->twin[s->at_node]);
    for (int j = 0; j < y->n_in; j++) {
        bool told = !s->part[j];
        for (int k = 0; k < j && !told; k++) told = y->in[k] == y->in[j] && s->part[k];
        if (!told) tell_given(out, s, y, j);
    }
}

void ag_explain_at(Site at, FILE *out, Tensor *loss)
{
    if (!out) ag_usage_error(at, "ag_explain", "the file is NULL");
    Story s = story_begin(at, "ag_explain", loss);
    tell_forward(out, &s);
    Symbol text;
    const char *symbol = story_symbol(&s, s.n - 1, text);
    fprintf(out, "\nBackward, in the reverse order. d<name> is the derivative of %s by <name>, so d%s = 1.\n", symbol,
            symbol);
    for (int number = 1; story_step(&s); number++) tell_step(out, &s, number);
    fputs("\nGradients of the leaves:\n", out);
    for (uint32_t i = 0; i < s.n; i++) {
        if (s.node[i]->op || !s.twin[i]->grad) continue;
        fprintf(out, "  d%-5s = ", story_symbol(&s, i, text));
        tell(out, s.node[i], grad_of(s.twin[i]));
        fputc('\n', out);
    }
    story_end(&s);
}
