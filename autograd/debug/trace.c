/* trace.c: lists the nodes of a graph, and runs backward rules on copies of them, one at a time. */
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "scope.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"
#include "trace.h"

/* ---- nodes of the graph ------------------------------------------------------------------------------------------ */

/* The tensors found so far, and how often each is used. A tensor is among them if the item at its `number` is this tensor. */
typedef struct { Tensor **item; int *uses; uint32_t n; } Found;

static bool is_found(const Found *found, const Tensor *t)
{
    return t->origin.number < found->n && found->item[t->origin.number] == t;
}

static void add_use(Found *found, Tensor *t)
{
    if (!is_found(found, t)) {
        t->origin.number = found->n++;
        found->item[t->origin.number] = t;
        found->uses[t->origin.number] = 0;
    }
    found->uses[t->origin.number]++;
}

/* The number of inputs of a recorded operation. With ag_find_nan, tensors that are not recorded have inputs, too. */
static int recorded_inputs(const Tensor *t)
{
    return t->op ? t->n_in : 0;
}

Tensor **graph_nodes(const char *what, Tensor *y, uint32_t *n)
{
    int64_t most = 1;
    for (const Tensor *t = y; t; t = t->older) most += recorded_inputs(t);
    Found found = { op_scratch(what, most, sizeof *found.item), op_scratch(what, most, sizeof *found.uses), 0 };
    add_use(&found, y);
    for (const Tensor *t = y; t; t = t->older)
        for (int j = 0; is_found(&found, t) && j < recorded_inputs(t); j++)
            if (t->in[j]) add_use(&found, t->in[j]);
    /* The tape has the newest operation first, so the list is filled from its end. The last use met is the first in time. */
    Tensor **node = scope_alloc(what, found.n * sizeof *node);
    uint32_t place = found.n;
    for (Tensor *t = y; t; t = t->older) {
        if (!is_found(&found, t) || (!t->op && t != y)) continue;
        node[--place] = t;
        for (int j = recorded_inputs(t) - 1; j >= 0; j--) {
            Tensor *x = t->in[j];
            if (x && !x->op && --found.uses[x->origin.number] == 0) node[--place] = x;
        }
    }
    *n = found.n;
    for (uint32_t i = 0; i < *n; i++) node[i]->origin.number = i;
    op_scratch_end();
    return node;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* A tensor with t's value that is not part of the graph. */
static Tensor *copy_of(const Tensor *t)
{
    Tensor *copy = tensor_alias(t->origin.made_by, &t->shape, (AgDType)t->dtype, t->buffer);
    copy->requires_grad = t->requires_grad;
    copy->precision = t->precision;
    copy->retained = true;
    copy->origin.number = t->origin.number;
    copy->origin.site = t->origin.site;
    copy->origin.user_site = t->origin.user_site;
    return copy;
}

/* Makes `copy` the result of t's operation. Its inputs are those of `copies` at the numbers of t's inputs; NULL: new copies. */
static void copy_op(const Trace *trace, Tensor *copy, const Tensor *t, Tensor **copies)
{
    copy->op = t->op;
    copy->in = scope_alloc(trace->what, (size_t)t->n_in * sizeof *copy->in);
    copy->n_in = t->n_in;
    for (int j = 0; j < t->n_in; j++)
        if (t->in[j]) copy->in[j] = copies ? copies[t->in[j]->origin.number] : copy_of(t->in[j]);
    copy->args = t->args;
    if (t->saved) copy->saved = buffer_share(t->saved);
    for (int i = 0; i < SAVED_GRADIENTS; i++)
        if (t->saved_gradient[i]) copy->saved_gradient[i] = buffer_share(t->saved_gradient[i]);
}

Trace trace_begin(const char *what, Tensor *loss)
{
    check_loss(what, loss, false);
    pass_begins(what, true);
    Trace trace = { .what = what, .scope = ag_begin(AG_NO_GRAD) };
    trace.node = graph_nodes(what, loss, &trace.n);
    trace.at_node = trace.n;
    trace.copy = scope_alloc(what, trace.n * sizeof *trace.copy);
    trace.symbol = scope_alloc(what, trace.n * sizeof *trace.symbol);
    trace.uses = scope_alloc(what, trace.n * sizeof *trace.uses);
    trace.left = scope_alloc(what, trace.n * sizeof *trace.left);
    for (uint32_t i = 0; i < trace.n; i++) {
        Tensor *t = trace.node[i];
        if (t->release.graph_released) error_graph_released(what, t);
        if (t->recompute.restore && !t->data) t->recompute.restore(t, what, false);
        trace.copy[i] = copy_of(t);
        if (!t->op) continue;
        check_inputs(what, t, true);
        trace.ops++;
        copy_op(&trace, trace.copy[i], t, trace.copy);
        for (int j = 0; j < t->n_in; j++)
            if (t->in[j]) trace.left[t->in[j]->origin.number] = ++trace.uses[t->in[j]->origin.number];
    }
    trace_set_symbols(&trace);
    *grad_into(trace.copy[trace.n - 1]).data = 1;
    return trace;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* A usage error if an error, which the rule has caught, has ended the step. */
static void check_rule(const Trace *trace, const Tensor *y)
{
    check_pass(trace->what);
    if (!y->grad) ag_usage_error(trace->what, "an error in the rule of %s has ended this", y->op->name);
}

/* Runs y's rule once more, on separate copies of its inputs. The gradients of these are the parts that the rule adds. */
static void find_parts(Trace *trace, const Tensor *y)
{
    Tensor *copy = copy_of(y);
    copy_op(trace, copy, y, NULL);
    copy->grad = buffer_share(y->grad);
    rule_run(copy);
    check_rule(trace, y);
    for (int j = 0; j < y->n_in; j++) {
        const Tensor *x = copy->in[j];
        if (x && x->grad) trace->part[j] = tensor_alias(trace->what, &x->shape, AG_REAL, x->grad);
    }
}

static void end_step(Trace *trace)
{
    if (trace->part) ag_end(trace->step_scope);
    trace->part = trace->before = NULL;
}

bool trace_step(Trace *trace)
{
    end_step(trace);
    Tensor *y = NULL;
    while (trace->at_node > 0 && !y) {
        Tensor *next = trace->copy[--trace->at_node];
        for (int j = 0; j < recorded_inputs(next); j++)
            if (next->in[j]) trace->left[next->in[j]->origin.number]--;
        if (next->op && next->grad) y = next;
    }
    if (!y) return false;
    trace->step_scope = ag_begin(AG_NO_GRAD);
    trace->part = scope_alloc(trace->what, (size_t)y->n_in * sizeof *trace->part);
    trace->before = scope_alloc(trace->what, (size_t)y->n_in * sizeof *trace->before);
    find_parts(trace, y);
    for (int j = 0; j < y->n_in; j++)
        if (y->in[j] && y->in[j]->grad) trace->before[j] = tensor_from(y->in[j]->shape, grad_of(y->in[j]));
    rule_run(y);
    check_rule(trace, y);
    return true;
}

void trace_end(Trace *trace)
{
    end_step(trace);
    ag_end(trace->scope);
    pass_ends();
}
