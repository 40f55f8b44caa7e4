/* gradients.c: the memory of gradients: how rules write it, and how programs read it. */
#include "buffers.h"
#include "checks.h"
#include "errors.h"
#include "gradients.h"
#include "kaeru/gradients.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "left.h"
#include "observe.h"
#include "op.h"
#include "scope.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"
#include "thread.h"

#include <string.h>

typedef struct {
    const char *pass;           /* the function whose backward pass runs; NULL: none does */
    bool is_left;               /* a call of ag_end has ended the last pass, */
    Place left;                 /* at this line */
    bool keep_graph;            /* during ag_backward_keep */
    bool mark_unwritten;        /* during ag_gradcheck */
} Gradients;
static _Thread_local void *state;

/* An error during backward leaves partial gradients, which must not be added to those of a later
 * pass. */
static void drop_pending(void)
{
    *(Gradients *)state = (Gradients){ 0 };
    scopes_have_pass(0);
    for (Tensor *t = tape(); t; t = t->older) {
        if (t->op) {
            buffer_drop(&t->grad);
        }
    }
}

static void leave_pass(int depth, bool in_pass)
{
    (void)depth;
    if (!in_pass) return;
    drop_pending();
    check_reads_of(NULL);
    Gradients *g = state;
    g->is_left = true;
    g->left = call_place();
}

static Gradients *gradients(void)
{
    static const StateKind kind = { .size = sizeof(Gradients), .failed = drop_pending,
                                    .scope_ends = leave_pass };
    return state ? state : thread_state(&state, &kind);
}

bool graph_kept(void)
{
    return gradients()->keep_graph;
}

void pass_begins(const char *what, bool keep)
{
    Gradients *g = gradients();
    if (g->pass) {
        ag_usage_error(what, "a backward pass of this thread is running (%s): a backward rule and "
                       "a function of ag_watch_backward cannot begin another one; one that leaves "
                       "by longjmp or throw must leave the scope, too", g->pass);
    }
    *g = (Gradients){ .pass = what, .keep_graph = keep, .mark_unwritten = g->mark_unwritten };
    scopes_have_pass(innermost_scope().depth);
}

bool pass_runs(void)
{
    return gradients()->pass != NULL;
}

void check_pass(const char *what)
{
    const Gradients *g = gradients();
    if (g->pass) return;
    if (g->is_left) {
        ag_usage_error(what, "a rule or a function of ag_watch_backward has ended the scope of "
                       "this pass, at %s", place_text(g->left, (Place){ 0 }));
    }
    ag_usage_error(what, "an error in a rule or in a function of ag_watch_backward has ended this "
                   "pass");
}

void pass_ends(void)
{
    *gradients() = (Gradients){ .mark_unwritten = gradients()->mark_unwritten };
    scopes_have_pass(0);
}

bool mark_unwritten(bool on)
{
    bool former = gradients()->mark_unwritten;
    gradients()->mark_unwritten = on;
    return former;
}

/* ---- for rules ------------------------------------------------------------------------------- */

bool can_release(const Tensor *t)
{
    return t->op && !t->retained && t->release.readers == 0 && t->buffer &&
           !gradients()->keep_graph;
}

void release_value(Tensor *t)
{
    buffer_drop(&t->buffer);
    t->data = NULL;
}

/* Memory for x's first gradient: that of x's value if it is no longer needed and not shared, else
 * new memory. A second reference keeps the memory when the value gives it up. */
static Buffer *new_gradient(Tensor *x)
{
    if (can_release(x)) {
        Buffer *b = x->buffer->refs == 1 ? buffer_share(x->buffer) : NULL;
        release_value(x);
        if (b) return b;
    }
    return buffer_new("backward", (size_t)x->numel * sizeof(real), false);
}

Grad grad_into(Tensor *x)
{
    if (!x || !x->requires_grad) return (Grad){ NULL, false };
    if (!x->grad) {
        x->grad = new_gradient(x);
        if (gradients()->mark_unwritten) {
            k_fill(x->numel, buffer_data(x->grad), UNWRITTEN);
        }
        return (Grad){ buffer_data(x->grad), false };
    }
    if (x->grad->refs > 1) {                /* shared by grad_pass: copy it before adding */
        size_t bytes = (size_t)x->numel * sizeof(real);
        Buffer *own = buffer_new("backward", bytes, false);
        memcpy(buffer_data(own), buffer_data(x->grad), bytes);
        buffer_release(x->grad);
        x->grad = own;
    }
    return (Grad){ buffer_data(x->grad), true };
}

/* Makes y's gradient the first gradient of x. */
static void share_gradient(Tensor *x, Tensor *y)
{
    if (can_release(x)) {
        release_value(x);
    }
    x->grad = buffer_share(y->grad);
}

/* Takes y's rule from the readers of its first input now, and not after the rule (release_node).
 * Does nothing if the rule may run again (the graph is kept, or another loss uses y) and for an
 * observer that needs the inputs of a rule. */
void rule_has_read(Tensor *y)
{
    if (y->release.input_was_read || graph_kept() || (observers_need & KEEP_INPUTS)) return;
    if (y->release.users > 0 || !y->in[0]->op || y->release.unread[0]) return;
    y->in[0]->release.readers--;
    y->release.input_was_read = true;
}

Grad grad_in_place(Tensor *x, Tensor *y)
{
    bool first = x && x->requires_grad && x->op && !x->grad && !gradients()->mark_unwritten;
    if (!first || y->grad->refs > 1 || y->retained) return grad_into(x);
    share_gradient(x, y);
    return (Grad){ buffer_data(x->grad), false };
}

void grad_add(Tensor *x, const real *dx)
{
    Grad g = grad_into(x);
    if (g.add) {
        k_axpy(x->numel, g.data, 1, dx);
    } else {
        memcpy(g.data, dx, (size_t)x->numel * sizeof *dx);
    }
}

/* A leaf gets a copy, because optimizers and callers may write to its gradient. */
void grad_pass(Tensor *x, Tensor *y)
{
    if (!x || !x->requires_grad) return;
    if (!x->grad && x->op) {
        share_gradient(x, y);
    } else {
        grad_add(x, grad_of(y));
    }
}

real *grad_to_add(Tensor *x)
{
    Grad g = grad_into(x);
    if (g.data && !g.add) {
        k_fill(x->numel, g.data, 0);
    }
    return g.data;
}

/* ---- for rules of inputs that were broadcast ------------------------------------------------- */

/* Sums `from` down to x's shape, which has fewer items: one run of repeated dimensions after
 * another, the last one first. */
void grad_sum_to(Tensor *x, const real *dy, const AgShape *from)
{
    Grad g = grad_into(x);
    if (!g.data) return;
    AgShape now = *from;                    /* dy's shape so far */
    for (int last = now.ndim - 1;;) {
        if (now.dim[last] == size_in(&x->shape, last, now.ndim)) {
            last--;
            continue;
        }
        int first = last;
        while (first > 0 && now.dim[first - 1] != size_in(&x->shape, first - 1, now.ndim)) {
            first--;
        }
        bool more = false;
        for (int i = 0; i < first; i++) {
            more = more || now.dim[i] != size_in(&x->shape, i, now.ndim);
        }
        Along a = shape_along(&now, first, last);
        real *sums = more ? op_scratch("backward", a.outer * a.inner, sizeof(real)) : g.data;
        k_sum(a.outer, a.n, a.inner, sums, dy, 1, more ? false : g.add);
        if (!more) return;
        dy = sums;
        for (int i = first; i <= last; i++) {
            now.dim[i] = 1;
        }
        last = first - 1;
    }
}

Grad grad_broadcast(Tensor *x, const Tensor *y)
{
    if (x->numel == y->numel) return grad_into(x);
    return (Grad){ op_scratch(y->op->function, y->numel, sizeof(real)), false };
}

void grad_broadcast_done(Tensor *x, const Tensor *y, Grad g)
{
    if (x->numel != y->numel) {
        grad_sum_to(x, g.data, &y->shape);
    }
}

void grad_pass_broadcast(Tensor *x, Tensor *y)
{
    if (x->numel == y->numel) {
        grad_pass(x, y);
    } else {
        grad_sum_to(x, grad_of(y), &y->shape);
    }
}

/* ---- for programs ---------------------------------------------------------------------------- */

void tensor_zero_grad(Tensor *t)
{
    check_alive(__func__, "t", t);
    buffer_drop(&t->grad);
    buffer_drop(&t->kept_grad);
}

real *tensor_grad_data(Tensor *t)
{
    check_alive(__func__, "t", t);
    Buffer *g = *gradient_of(t);
    return g ? buffer_data(g) : NULL;
}

Tensor *tensor_grad(Tensor *t)
{
    check_alive(__func__, "t", t);
    Buffer *g = *gradient_of(t);
    return g ? tensor_alias("tensor_grad", &t->shape, AG_REAL, g) : NULL;
}

Tensor *tensor_set_requires_grad(Tensor *t, bool requires_grad)
{
    check_tensor(__func__, "t", t, AG_REAL);
    if (t->op) {
        ag_usage_error(__func__, "t was made by %s; only a leaf can be set (see ag_detach)",
                       t->op->name);
    }
    t->requires_grad = requires_grad;
    return t;
}

bool tensor_requires_grad(const Tensor *t)
{
    check_alive(__func__, "t", t);
    return t->requires_grad;
}

Tensor *ag_retain(Tensor *t)
{
    check_tensor(__func__, "t", t, AG_REAL);
    t->retained = true;
    return t;
}
