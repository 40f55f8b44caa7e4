/* gradients.c: the memory of gradients: how rules write it, and how programs read and scale it.
 *
 * A gradient gets its memory when the first rule writes it, and it often needs none of its own.
 * grad_pass lets two tensors share a gradient: the inputs of a sum, for example. A gradient can
 * also take over the memory of a value that no rule will read again (new_gradient). Buffers count
 * their references, and whoever adds to a shared gradient copies it first (grad_into).
 *
 * The file begins with the state of the pass that runs. Read from "for rules" on first. The end of
 * the file has the functions by which a program reads and scales gradients. */
#include "buffers.h"
#include "checks.h"
#include "errors.h"
#include "gradients.h"
#include "kaeru/gradients.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "kernels.h"
#include "program_calls.h"
#include "observe.h"
#include "op.h"
#include "scope.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"
#include "thread.h"

#include <string.h>

typedef struct {
    const char *pass;           /* the function whose backward pass runs; NULL: none runs */
    bool is_left;               /* a call of ag_end has ended the last pass */
    Place left;                 /* the line of that call */
    bool keep_graph;            /* the pass is one of ag_backward_keep */
    bool mark_unwritten;        /* ag_gradcheck runs */
} Gradients;
static _Thread_local void *state;

/* ---- the pass that runs ---------------------------------------------------------------------- */

/* Removes the incomplete gradients that an error during backward leaves, so that a later pass does
 * not add to them. */
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

/* Ends the pass that a call of ag_end has left, if the scope that ends was open before the pass. */
static void leave_pass(int depth, bool in_pass)
{
    (void)depth;
    if (!in_pass) return;
    drop_pending();
    set_running_rule(NULL);
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
    scopes_have_pass(innermost_scope().depth);      /* the end of one of them ends the pass */
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

/* Returns memory for x's first gradient: that of x's value if nobody needs the value and no other
 * tensor shares it, else new memory. */
static Buffer *new_gradient(Tensor *x)
{
    if (can_release(x)) {
        /* Another reference keeps the memory when the value is released. */
        Buffer *own = x->buffer->refs == 1 ? buffer_share(x->buffer) : NULL;
        release_value(x);
        if (own) return own;
    }
    return buffer_new("backward", (size_t)x->numel * sizeof(real), false);
}

void grad_unshare(Buffer **gradient, int64_t n)
{
    if ((*gradient)->refs == 1) return;
    size_t bytes = (size_t)n * sizeof(real);
    Buffer *own = buffer_new("backward", bytes, false);
    memcpy(buffer_data(own), buffer_data(*gradient), bytes);
    buffer_release(*gradient);
    *gradient = own;
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
    grad_unshare(&x->grad, x->numel);
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

/* Takes y's rule off the readers of its first input while the rule runs. Without this call,
 * release_node does so after the rule. The call has no effect if the rule may run again, because
 * the graph is kept or another loss uses y. It has none either if an observer reads the inputs
 * after the rule. */
void rule_has_read(Tensor *y)
{
    bool runs_again = graph_kept() || y->release.users > 0;
    if (runs_again || y->release.input_was_read || (observers_need & KEEP_INPUTS)) return;
    if (!y->in[0]->op || y->release.unread[0]) return;
    y->in[0]->release.readers--;
    y->release.input_was_read = true;
}

Grad grad_in_place(Tensor *x, Tensor *y)
{
    bool is_first = x && x->requires_grad && x->op && !x->grad;
    bool can_overwrite = y->grad->refs == 1 && !y->retained;
    if (!is_first || !can_overwrite || gradients()->mark_unwritten) return grad_into(x);
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

/* Gives a leaf a copy, because optimizers and callers may write to its gradient. */
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

/* Returns the last dimension before `end` in which the shapes of dy and x differ or, if `differ` is
 * false, in which they are equal. Returns -1 if there is none. */
static int last_dim(const AgShape *dy, const AgShape *x, int end, bool differ)
{
    int i = end - 1;
    while (i >= 0 && (dy->dim[i] != size_in(x, i, dy->ndim)) != differ) {
        i--;
    }
    return i;
}

/* Sums over the dimensions in which the shapes differ; x has size 1 there. Each k_sum sums over one
 * run of neighboring dimensions, the last run first. The last call writes to x's gradient. */
void grad_sum_to(Tensor *x, const real *dy, const AgShape *from)
{
    Grad g = grad_into(x);
    if (!g.data) return;
    AgShape now = *from;                    /* dy's shape so far */
    int last = last_dim(&now, &x->shape, now.ndim, true);
    while (last >= 0) {
        int first = last_dim(&now, &x->shape, last, false) + 1;
        int next = last_dim(&now, &x->shape, first, true);
        Along a = shape_along(&now, first, last);
        if (next < 0) {
            k_sum(a.outer, a.n, a.inner, g.data, dy, 1, g.add);
            return;
        }
        real *sums = op_scratch("backward", a.outer * a.inner, sizeof(real));
        k_sum(a.outer, a.n, a.inner, sums, dy, 1, false);
        dy = sums;
        for (int i = first; i <= last; i++) {
            now.dim[i] = 1;
        }
        last = next;
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
    return g ? tensor_alias(__func__, &t->shape, AG_REAL, g) : NULL;
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

double ag_grad_sum_squares(Tensor *w)
{
    check_alive(__func__, "w", w);
    const real *grad = tensor_grad_data(w);
    return grad ? k_squared_distance(w->numel, grad, NULL) : 0;
}

void ag_grad_scale(Tensor *w, double factor)
{
    check_number(__func__, "factor", factor, true, "a finite number");
    check_tensor(__func__, "w", w, AG_REAL);
    check_leaf(__func__, "w", w);
    if (!w->grad) return;
    count_write(__func__, w->grad);
    k_unary(K_SCALE, w->numel, buffer_data(w->grad), buffer_data(w->grad), factor, 0);
}
