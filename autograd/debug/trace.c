/* trace.c: lists the nodes of a graph, and runs backward rules on copies of them, one at a time. */
#include "trace.h"

#include <string.h>

/* ---- nodes of the graph ------------------------------------------------------------------------------------------ */

/* The tensors found so far. A tensor is among them if the item at its `number` is this tensor. */
typedef struct { Tensor **item; uint32_t n, room; } Found;

static bool is_found(const Found *found, const Tensor *t)
{
    return t->number < found->n && found->item[t->number] == t;
}

static void add_found(AgSite at, const char *what, Found *found, Tensor *t)
{
    if (is_found(found, t)) return;
    if (found->n == found->room) {
        uint32_t room = found->room ? 2 * found->room : 64;
        Tensor **larger = scratch_new(at, what, room, sizeof *larger);
        if (found->n) memcpy(larger, found->item, found->n * sizeof *larger);
        found->item = larger;
        found->room = room;
    }
    t->number = found->n;
    found->item[found->n++] = t;
}

/* The number of inputs of a recorded operation. With ag_find_nan, tensors that are not recorded have inputs, too. */
static int recorded_inputs(const Tensor *t)
{
    return t->op ? t->n_in : 0;
}

Tensor **graph_nodes(AgSite at, const char *what, Tensor *y, uint32_t *n)
{
    Found found = { NULL, 0, 0 };
    add_found(at, what, &found, y);
    for (uint32_t i = 0; i < found.n; i++) {
        const Tensor *t = found.item[i];
        for (int j = 0; j < recorded_inputs(t); j++)
            if (t->in[j]) add_found(at, what, &found, t->in[j]);
    }
    /* The tape has the operations in reverse order. */
    Tensor **newest_first = scratch_new(at, what, found.n, sizeof *newest_first);
    uint32_t ops = 0;
    for (Tensor *t = y; t; t = t->older)
        if (t->op && is_found(&found, t)) newest_first[ops++] = t;
    bool *is_listed = scratch_new(at, what, found.n, 1);
    memset(is_listed, 0, found.n);
    Tensor **node = scope_alloc(at, what, found.n * sizeof *node);
    *n = 0;
    while (ops > 0) {
        Tensor *t = newest_first[--ops];
        for (int j = 0; j < t->n_in; j++) {
            Tensor *x = t->in[j];
            if (!x || x->op || is_listed[x->number]) continue;
            is_listed[x->number] = true;
            node[(*n)++] = x;
        }
        node[(*n)++] = t;
    }
    if (*n == 0) node[(*n)++] = y;                      /* a leaf */
    for (uint32_t i = 0; i < *n; i++) node[i]->number = i;
    scratch_end();
    return node;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* A tensor with t's value that is not part of the graph. */
static Tensor *copy_of(const Tensor *t)
{
    Tensor *copy = tensor_alias(t->site, t->made_by, &t->shape, (AgDType)t->dtype, t->buffer);
    copy->requires_grad = t->requires_grad;
    copy->precision = t->precision;
    copy->retained = true;
    copy->number = t->number;
    return copy;
}

/* Makes `copy` the result of t's operation on these inputs. */
static void copy_op(Tensor *copy, const Tensor *t, Tensor **in)
{
    copy->op = t->op;
    copy->in = in;
    copy->n_in = t->n_in;
    copy->args = t->args;
    if (t->saved) copy->saved = buffer_share(t->saved);
}

Trace trace_begin(AgSite at, const char *what, Tensor *loss)
{
    check_loss(at, what, loss, false);
    Trace trace = { .at = at, .what = what, .scope = ag_begin_at(at, AG_NO_GRAD) };
    trace.node = graph_nodes(at, what, loss, &trace.n);
    trace.at_node = trace.n;
    trace.copy = scope_alloc(at, what, trace.n * sizeof *trace.copy);
    trace.uses = scope_alloc(at, what, trace.n * sizeof *trace.uses);
    for (uint32_t i = 0; i < trace.n; i++) {
        Tensor *t = trace.node[i];
        if (t->graph_released) error_graph_released(at, what, t);
        if (t->restore && !t->data) t->restore(t, false);
        trace.copy[i] = copy_of(t);
        if (!t->op) continue;
        trace.ops++;
        Tensor **in = scope_alloc(at, what, (size_t)t->n_in * sizeof *in);
        for (int j = 0; j < t->n_in; j++) {
            if (!t->in[j]) continue;
            in[j] = trace.copy[t->in[j]->number];
            trace.uses[t->in[j]->number]++;
        }
        copy_op(trace.copy[i], t, in);
    }
    *grad_into(trace.copy[trace.n - 1]).data = 1;
    return trace;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* A copy of x's gradient; NULL if it has none. */
static Tensor *copy_gradient(const Trace *trace, const Tensor *x)
{
    if (!x || !x->grad) return NULL;
    Tensor *copy = tensor_new(trace->at, trace->what, &x->shape, AG_REAL);
    memcpy(copy->data, grad_of(x), (size_t)x->numel * sizeof(real));
    return copy;
}

/* Runs y's rule once more, on separate copies of its inputs. The gradients of these are the parts that the rule adds. */
static void find_parts(Trace *trace, const Tensor *y)
{
    Tensor *copy = copy_of(y), **in = scope_alloc(trace->at, trace->what, (size_t)y->n_in * sizeof *in);
    for (int j = 0; j < y->n_in; j++)
        if (y->in[j]) in[j] = copy_of(y->in[j]);
    copy_op(copy, y, in);
    copy->grad = buffer_share(y->grad);
    rule_run(copy);
    for (int j = 0; j < y->n_in; j++) {
        if (!in[j] || !in[j]->grad) continue;
        trace->part[j] = tensor_alias(trace->at, trace->what, &in[j]->shape, AG_REAL, in[j]->grad);
    }
}

static void end_step(Trace *trace)
{
    if (trace->part) ag_end_at(trace->at, trace->step_scope);
    trace->part = trace->before = NULL;
}

bool trace_step(Trace *trace)
{
    end_step(trace);
    Tensor *y = NULL;
    while (trace->at_node > 0 && !y) {
        Tensor *next = trace->copy[--trace->at_node];
        if (next->op && next->grad) y = next;
    }
    if (!y) return false;
    trace->step_scope = ag_begin_at(trace->at, AG_NO_GRAD);
    trace->part = scope_alloc(trace->at, trace->what, (size_t)y->n_in * sizeof *trace->part);
    trace->before = scope_alloc(trace->at, trace->what, (size_t)y->n_in * sizeof *trace->before);
    find_parts(trace, y);
    for (int j = 0; j < y->n_in; j++) trace->before[j] = copy_gradient(trace, y->in[j]);
    rule_run(y);
    return true;
}

void trace_end(Trace *trace)
{
    end_step(trace);
    ag_end_at(trace->at, trace->scope);
}
