/* gradient_nodes.c: the gradients of one operation as a node of the graph.
 *
 * For an operation y = f(x) with the Jacobian J, the node is g = J^T dy, a function of dy and x.
 * Its value is computed by the backward rule of f, on a copy of y whose inputs are leaves.
 *
 * The backward rule of the node gets w, the gradient of g. The sum of w g is that of dy t, where
 * t = J w is the tangent of y along w. So dy gets the gradient t, and x gets that of the sum of
 * dy t. For this, the rule records t by the tangent rule of f, again on a copy whose inputs are
 * leaves, and runs the backward rules of what it has recorded. All of it is in a scope of its own.
 *
 * The tangent of the node, for the tangents ddy and dx of its inputs, is J^T ddy plus the gradient
 * of the sum of dy t for x, where t = J dx is the tangent of y along dx. Second derivatives are
 * symmetric, so this is the derivative of J^T dy along dx. */
#include "buffers.h"
#include "checks.h"
#include "gradient_nodes.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "op.h"
#include "scope.h"
#include "tape.h"
#include "tensor.h"

#include <string.h>

/* The inputs of a node: the gradient dy, y, and the inputs of y. A node of an operation whose rule
 * reads nothing has dy alone: it does not depend on the others. */
enum { OF_DY, OF_Y, OF_X };

/* The numbers of a node, in the arena. */
typedef struct {
    Op op;
    Tensor *of;                 /* y */
    bool *wanted;               /* of each input of y: the node has its gradient */
    int parts;                  /* how many it has: one in its shape, or several as a vector */
} NodeArgs;

/* The operation y that is copied, with other tensors in the place of y's value and inputs. */
typedef struct { const Tensor *of; Tensor *y, *const *x; } Source;

static const char *const input_names[] = { "dy", "y", "x0", "x1", "x2", "x3", NULL };
static const char *const slot_names[] = { "x", NULL };
static const char *const no_names[] = { NULL };

/* ---- copies ---------------------------------------------------------------------------------- */

/* Makes `copy`, a tensor with y's value, the result of y's operation on the inputs x. */
static void become_result(Tensor *copy, const Tensor *of, Tensor **x)
{
    copy->op = of->op;
    copy->in = x;
    copy->n_in = of->n_in;
    copy->args = of->args;
    copy->precision = of->precision;
    copy->origin.site = of->origin.site;
    memcpy(copy->release.unread, of->release.unread, sizeof copy->release.unread);
    if (of->saved) {
        copy->saved = buffer_share(of->saved);
    }
    for (int i = 0; i < SAVED_GRADIENTS; i++) {
        if (of->saved_gradient[i]) {
            copy->saved_gradient[i] = buffer_share(of->saved_gradient[i]);
        }
    }
    if (copy->op->needs & NEEDS_Y) {
        copy->release.readers++;
    }
}

/* Returns a copy of the operation whose inputs are leaves. Those that are wanted require a
 * gradient. */
static Tensor *copy_on_leaves(const char *what, const Source *s, const bool *wanted)
{
    int n = s->of->n_in;
    Tensor **leaf = scope_alloc(what, (size_t)n * sizeof *leaf);
    for (int i = 0; i < n; i++) {
        const Tensor *x = s->x[i];
        if (!x) continue;
        check_alive(what, "an input of an operation between in and y", x);
        leaf[i] = tensor_alias(x->origin.made_by, &x->shape, (AgDType)x->dtype, x->buffer);
        leaf[i]->requires_grad = wanted[i];
        leaf[i]->origin.site = x->origin.site;
    }
    Buffer *value = s->y ? s->y->buffer : NULL;
    Tensor *copy = tensor_alias(s->of->origin.made_by, &s->of->shape, AG_REAL, value);
    copy->requires_grad = true;
    become_result(copy, s->of, leaf);
    return copy;
}

/* ---- the node -------------------------------------------------------------------------------- */

static void gradient_backward(Tensor *g);

bool is_gradient_node(const Tensor *y)
{
    return y->op->backward == gradient_backward;
}

/* Returns whether the gradients of y's inputs depend on these inputs. */
static bool is_nonlinear(const Tensor *y)
{
    return y->op->needs != NEEDS_NONE || y->saved;
}

/* Returns what the rule of the node reads: dy, and what the rule of y reads. */
static int needs_of(const char *what, const Tensor *of)
{
    int needs = NEEDS_X0 << OF_DY;
    if (of->op->needs & NEEDS_Y) {
        needs |= NEEDS_X0 << OF_Y;
    }
    for (int i = 0; i < of->n_in; i++) {
        if (!reads_input(of, i)) continue;
        if (i + OF_X >= NEEDS_INPUTS) {
            ag_usage_error(what, "the rule of %s reads input %d: expected one of the first %d for "
                           "derivatives of its gradients", of->op->name, i, NEEDS_INPUTS - OF_X);
        }
        needs |= NEEDS_X0 << (i + OF_X);
    }
    return needs;
}

/* Returns a node without a value. */
static Tensor *new_node(const char *what, const Source *s, Tensor *dy, const bool *wanted)
{
    const Tensor *of = s->of;
    NodeArgs *args = scope_alloc(what, sizeof *args);
    args->op = (Op){ .name = "gradient", .function = of->op->function,
                     .forward_text = "gradients of one operation", .backward_text = "by J dx",
                     .inputs = input_names, .numbers = no_names, .backward = gradient_backward,
                     .needs = NEEDS_NONE };
    args->of = (Tensor *)of;
    args->wanted = scope_alloc(what, (size_t)of->n_in * sizeof *args->wanted);
    memcpy(args->wanted, wanted, (size_t)of->n_in * sizeof *wanted);
    Tensor **in = scope_alloc(what, (size_t)(of->n_in + OF_X) * sizeof *in);
    in[OF_DY] = dy;
    int n = 1;
    if (is_nonlinear(of)) {
        args->op.needs = needs_of(what, of);
        in[OF_Y] = s->y;
        memcpy(in + OF_X, s->x, (size_t)of->n_in * sizeof *in);
        n = of->n_in + OF_X;
    }
    Tensor *g = op_new_n(&args->op, &SHAPE(0), in, n);
    release_value(g);
    g->precision = of->precision;
    g->args = args;
    return g;
}

/* Returns the operation whose gradients g has, on the inputs of g. */
static Source source_of(const Tensor *g)
{
    const NodeArgs *args = g->args;
    Source s = { args->of, args->of, args->of->in };
    if (g->n_in > 1) {
        s.y = g->in[OF_Y];
        s.x = g->in + OF_X;
    }
    return s;
}

/* Gives g its value, the gradients of these leaves. */
static void set_value(Tensor *g, Tensor *const *leaf, int n)
{
    NodeArgs *args = g->args;
    const Tensor *only = NULL;
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        if (!args->wanted[i]) continue;
        args->parts++;
        total += leaf[i]->numel;
        only = leaf[i];
    }
    g->numel = total;
    if (args->parts == 1) {
        g->shape = only->shape;
        g->buffer = buffer_share(only->grad);
    } else {
        g->shape = SHAPE(total);
        g->buffer = buffer_items(g->origin.made_by, total, sizeof(real));
    }
    g->data = buffer_data(g->buffer);
    real *next = args->parts > 1 ? reals(g) : NULL;
    for (int i = 0; next && i < n; i++) {
        if (!args->wanted[i]) continue;
        memcpy(next, grad_of(leaf[i]), (size_t)leaf[i]->numel * sizeof *next);
        next += leaf[i]->numel;
    }
}

/* Runs the backward rule of the operation on a copy, whose leaves then have the gradients. */
static Tensor *run_rule(const char *what, const Source *s, const Tensor *dy, const bool *wanted)
{
    Tensor *copy = copy_on_leaves(what, s, wanted);
    copy->grad = buffer_share(dy->buffer);
    bool begins = !pass_runs();
    if (begins) {
        pass_begins(what, true);
    }
    rule_run(copy);
    check_pass(what);
    for (int i = 0; i < copy->n_in; i++) {
        if (wanted[i]) {
            grad_to_add(copy->in[i]);       /* zeros, if the rule has written none */
        }
    }
    if (begins) {
        pass_ends();
    }
    return copy;
}

/* Sets part[i] to the gradients that g has. Several parts are copies, and no rule reads the values
 * of g. */
static void take_parts(Tensor *g, Tensor *const *x, int n, Tensor **part)
{
    const NodeArgs *args = g->args;
    int64_t begin = 0;
    for (int i = 0; i < n; i++) {
        part[i] = NULL;
        if (!args->wanted[i]) continue;
        part[i] = g;
        if (args->parts > 1) {
            part[i] = ag_reshape(ag_slice(g, 0, begin, begin + x[i]->numel), x[i]->shape);
            begin += x[i]->numel;
        }
    }
    if (args->parts > 1) {
        release_value(g);
    }
}

static void source_parts(const char *what, const Source *s, Tensor *dy, const bool *wanted,
                         Tensor **part)
{
    Tensor *g = new_node(what, s, dy, wanted);
    AgScope scope = ag_begin(AG_NO_GRAD);
    const Tensor *copy = run_rule(what, s, dy, wanted);
    set_value(g, copy->in, copy->n_in);
    ag_end(scope);
    op_done(g);
    take_parts(g, s->x, s->of->n_in, part);
}

void gradient_parts(const char *what, Tensor *y, Tensor *dy, const bool *wanted, Tensor **part)
{
    source_parts(what, &(Source){ y, y, y->in }, dy, wanted, part);
}

/* ---- its backward rule ----------------------------------------------------------------------- */

/* Returns the parts of w, which has g's shape, as constants; NULL for inputs without one. */
static Tensor **parts_of(const Tensor *g, const real *w, Tensor *const *x, int n)
{
    const NodeArgs *args = g->args;
    Tensor **part = scope_alloc(g->op->name, (size_t)n * sizeof *part);
    for (int i = 0; i < n; i++) {
        if (!args->wanted[i]) continue;
        part[i] = tensor_new(g->op->name, &x[i]->shape, AG_REAL);
        memcpy(reals(part[i]), w, (size_t)x[i]->numel * sizeof *w);
        w += x[i]->numel;
    }
    return part;
}

/* Runs the rules of what is newer than `mark`. */
static void run_rules_since(const Tensor *mark)
{
    for (Tensor *t = tape(); t != mark; t = t->older) {
        if (t->op && t->grad) {
            rule_run(t);
            buffer_drop(&t->grad);
        }
    }
}

/* Returns which inputs of the operation get a gradient from g's rule. */
static bool *inputs_with_gradient(const Tensor *g, const Source *s)
{
    bool *wanted = scope_alloc(g->op->name, (size_t)s->of->n_in * sizeof *wanted);
    for (int i = 0; g->n_in > 1 && i < s->of->n_in; i++) {
        wanted[i] = s->x[i] && s->x[i]->requires_grad;
    }
    return wanted;
}

static void gradient_backward(Tensor *g)
{
    const Source s = source_of(g);
    Tensor *dy = g->in[OF_DY];
    set_running_rule(NULL);
    AgScope scope = ag_begin(AG_RECORD);
    ag_precision((AgPrecision)g->precision);
    const Tensor *mark = tape();
    Tensor *copy = copy_on_leaves(g->op->name, &s, inputs_with_gradient(g, &s));
    Tensor *t = tangent_of(copy, parts_of(g, grad_of(g), s.x, copy->n_in));
    if (t && dy->requires_grad) {
        grad_add(dy, reals(t));
    }
    if (t && t->requires_grad) {
        t->grad = buffer_share(dy->buffer);
        run_rules_since(mark);
    }
    for (int i = 0; i < copy->n_in; i++) {
        if (copy->in[i] && copy->in[i]->grad) {
            grad_pass(s.x[i], copy->in[i]);
        }
    }
    ag_end(scope);
}

/* ---- its tangent ------------------------------------------------------------------------------
 * A slot is a tensor with the value of another one, and a node of its own. The inputs of y become
 * slots, so that the gradient for an input is separate from that for its tangent or another input,
 * which may be the same tensor. */

static void slot_backward(Tensor *y)
{
    grad_pass(y->in[0], y);
}

static const Op slot_op = { .name = "same", .function = "same", .forward_text = "x",
                            .backward_text = "dx = dy", .inputs = slot_names,
                            .numbers = no_names, .backward = slot_backward, .needs = NEEDS_NONE };

bool is_slot(const Tensor *y)
{
    return y->op == &slot_op;
}

Tensor *slot_of(Tensor *x)
{
    return op_done(op_new_alias(&slot_op, &x->shape, x));
}

/* Returns y's operation on slots for the inputs that require a gradient, as a node of this
 * scope. */
static Tensor *copy_on_slots(const char *what, const Source *s)
{
    int n = s->of->n_in;
    Tensor **slot = scope_alloc(what, (size_t)n * sizeof *slot);
    for (int i = 0; i < n; i++) {
        slot[i] = s->x[i];
        if (slot[i] && slot[i]->requires_grad) {
            slot[i] = slot_of(s->x[i]);
        }
    }
    Tensor *copy = op_new_n(s->of->op, &SHAPE(0), slot, n);
    release_value(copy);
    copy->shape = s->of->shape;
    copy->numel = s->of->numel;
    if (s->y && s->y->buffer) {
        copy->buffer = buffer_share(s->y->buffer);
        copy->data = buffer_data(copy->buffer);
    }
    become_result(copy, s->of, copy->in);
    copy->release.readers = 0;              /* op_done counts */
    return op_done(copy);
}

/* Adds the gradients of the sum of dy t for the wanted inputs to part[i], where t is the tangent of
 * y along dx. */
static void add_second_parts(const char *what, const Tensor *g, Tensor *const *dx, Tensor **part)
{
    const NodeArgs *args = g->args;
    const Source s = source_of(g);
    Tensor *copy = copy_on_slots(what, &s);
    Tensor *t = tangent_of(copy, dx);
    if (!t || !t->requires_grad) return;
    int n = copy->n_in, wanted = 0;
    Tensor **in = scope_alloc(what, (size_t)n * sizeof *in);
    Tensor **out = scope_alloc(what, (size_t)n * sizeof *out);
    for (int i = 0; i < n; i++) {
        if (args->wanted[i]) {
            in[wanted++] = copy->in[i];
        }
    }
    record_gradients(what, t, g->in[OF_DY], in, wanted, out);
    for (int i = n; i > 0; i--) {
        if (args->wanted[i - 1]) {
            part[i - 1] = sum_of(part[i - 1], out[--wanted]);
        }
    }
}

/* Returns the parts as a tensor like g. */
static Tensor *joined(const char *what, const Tensor *g, Tensor *const *x, Tensor *const *part)
{
    const NodeArgs *args = g->args;
    Tensor **flat = scope_alloc(what, (size_t)args->parts * sizeof *flat);
    int n = 0;
    for (int i = 0; i < args->of->n_in; i++) {
        if (!args->wanted[i]) continue;
        if (args->parts == 1) return part[i];
        flat[n++] = ag_reshape(or_zeros(part[i], x[i]->shape), SHAPE(x[i]->numel));
    }
    return ag_concat(flat, n, 0);
}

static Tensor *recorded_tangent(Tensor *g, Tensor *const *dx)
{
    const char *what = g->op->function;
    const NodeArgs *args = g->args;
    const Source s = source_of(g);
    Tensor **part = scope_alloc(what, (size_t)s.of->n_in * sizeof *part);
    bool any = false;
    set_running_rule(NULL);
    if (dx[OF_DY]) {
        source_parts(what, &s, dx[OF_DY], args->wanted, part);
    }
    for (int i = OF_X; i < g->n_in; i++) {
        any = any || dx[i];
    }
    if (any) {
        add_second_parts(what, g, dx + OF_X, part);
    }
    return joined(what, g, s.x, part);
}

/* Opens a scope that records if this one does not: the gradients for x need a graph. */
Tensor *gradient_tangent(Tensor *g, Tensor *const *dx)
{
    if (ag_recording()) return recorded_tangent(g, dx);
    AgScope scope = ag_begin(AG_RECORD);
    ag_precision((AgPrecision)g->precision);
    Tensor *tangent = recorded_tangent(g, dx);
    if (tangent) return ag_end_return(scope, tangent);
    ag_end(scope);
    return NULL;
}
