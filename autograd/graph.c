/* graph.c: records operations, and runs their backward rules.
 *
 * Backward is one loop down the tape, from the loss to the oldest tensor. A node that has a gradient runs its operation's
 * rule, which adds to the gradients of its inputs. All users of a node are newer, so their rules have run before, and the
 * node's gradient is complete: it is the sum of the contributions of all users.
 *
 * Backward releases memory during the loop. Each tensor counts its `readers`, the rules that will still read its value, and
 * its `users`, the recorded operations that have it as an input and are not released yet. A node is released when its rule has
 * run and no users are left. If another loss still needs a part of the graph, that part has users and stays. */
#include "internal.h"
#include "kernels.h"

#include <string.h>

/* ---- recording --------------------------------------------------------------------------------------------------- */

bool reads_input(const Op *op, int i)
{
    return (op->needs & NEEDS_ALL_X) || (i < AG_CUSTOM_INPUTS && (op->needs & AG_NEEDS_X(i)));
}

/* Input i of y, or y itself for i = n_in, if y's rule reads its values and they are there; else NULL. */
static const Tensor *rule_reads(const Tensor *y, int i)
{
    const Tensor *x = i < y->n_in ? y->in[i] : y;
    bool reads = i < y->n_in ? reads_input(y->op, i) : y->op->needs & NEEDS_Y;
    return reads && x && x->data ? x : NULL;
}

bool declares(const Tensor *y, const Tensor *t)
{
    bool related = t == y;
    if (related && (y->op->needs & NEEDS_Y)) return true;
    for (int i = 0; i < y->n_in; i++) {
        if (y->in[i] != t) continue;
        if (reads_input(y->op, i)) return true;
        related = true;
    }
    return !related;
}

_Noreturn void error_undeclared_read(const Tensor *t)
{
    const Tensor *y = context()->rule;
    if (!y) ag_usage_error(t->site, t->made_by, "its value was released by backward");
    char what[64] = "its result";
    for (int i = y->n_in - 1; i >= 0; i--)
        if (y->in[i] == t) snprintf(what, sizeof what, "input %d", i);
    char place[PLACE_TEXT];
    ag_usage_error(y->site, y->op->name,
                   "its backward rule reads the value of %s, made by %s at %s, and does not declare that: backward may have "
                   "released it", what, t->made_by, place_text(t->site, t->user_site, place));
}

_Noreturn static void error_of_another_thread(AgSite at, const char *what, const Tensor *t)
{
    char place[PLACE_TEXT];
    ag_usage_error(at, what, "the result of %s made at %s is part of another thread's graph: expected a result of this thread, "
                   "or a copy without its graph (ag_detach)", t->made_by, place_text(t->site, t->user_site, place));
}

/* Stores y's operation and inputs if an input requires a gradient. ag_find_nan reports the inputs, so while it is on, they are
 * always stored. Memory is allocated before the counts change, so an error leaves the counts correct. */
static Tensor *record(AgSite at, const Op *op, Tensor *y, Tensor *const *in, int n)
{
    Context *c = context();
    bool requires_grad = false;
    for (int i = 0; c->recording && i < n; i++) requires_grad = requires_grad || (in[i] && in[i]->requires_grad);
    if (!requires_grad && !c->find_nan) return y;
    y->in = scope_alloc(at, op->name, (size_t)n * sizeof *in);
    memcpy(y->in, in, (size_t)n * sizeof *in);
    y->n_in = n;
    if (!requires_grad) return y;
    y->version = scope_alloc(at, op->name, (size_t)(n + 1) * sizeof *y->version);
    for (int i = 0; i < n; i++)
        if (in[i] && in[i]->buffer) y->version[i] = in[i]->buffer->version;
    if (c->guard) y->hash = scope_alloc(at, op->name, (size_t)(n + 1) * sizeof *y->hash);
    y->op = op;
    y->requires_grad = true;
    for (int i = 0; i < n; i++) {
        if (!in[i] || !in[i]->op) continue;             /* leaves are never released */
        if (in[i]->thread != c) error_of_another_thread(at, op->name, in[i]);
        in[i]->users++;
        if (reads_input(op, i)) in[i]->readers++;
    }
    if (op->needs & NEEDS_Y) y->readers++;
    return y;
}

Tensor *op_new_n(AgSite at, const Op *op, const AgShape *shape, Tensor *const *in, int n)
{
    return record(at, op, tensor_new(at, op->name, shape, AG_REAL), in, n);
}

Tensor *op_new(AgSite at, int op, const AgShape *shape, Tensor *a, Tensor *b, Tensor *c)
{
    Tensor *in[] = { a, b, c };
    return op_new_n(at, &op_table[op], shape, in, c ? 3 : b ? 2 : 1);
}

Tensor *op_new_sharing(AgSite at, const Op *op, const AgShape *shape, Buffer *value, Tensor *const *in, int n)
{
    return record(at, op, tensor_alias(at, op->name, shape, AG_REAL, value), in, n);
}

Tensor *op_new_alias(AgSite at, int op, const AgShape *shape, Tensor *x)
{
    return op_new_sharing(at, &op_table[op], shape, x->buffer, &x, 1);
}

void release_value(Tensor *t)
{
    buffer_release(t->buffer);
    t->buffer = NULL;
    t->data = NULL;
}

Tensor *op_new_over(AgSite at, int op, Tensor *x)
{
    Tensor *y = op_new_alias(at, op, &x->shape, x);
    if (x->op) x->version[x->n_in] = x->buffer->version;
    release_value(x);
    return y;
}

void *op_args(Tensor *y, size_t size)
{
    return y->args = scope_alloc(y->site, "graph", size);
}

real *op_save(Tensor *y, int64_t n)
{
    y->saved = buffer_items(y->site, "graph", n, sizeof(real));
    return buffer_data(y->saved);
}

real *op_save_gradient(Tensor *y, int i)
{
    if (!y->in[i]->requires_grad) return NULL;
    y->saved_gradient[i] = buffer_items(y->site, "graph", y->in[i]->numel, sizeof(real));
    return buffer_data(y->saved_gradient[i]);
}

void release_saved_gradients(Tensor *y)
{
    for (int i = 0; i < 2; i++) {
        buffer_release(y->saved_gradient[i]);
        y->saved_gradient[i] = NULL;
    }
}

static int64_t first_not_finite(const real *x)
{
    int64_t i = 0;
    while (k_all_finite(1, x + i)) i++;
    return i;
}

static const char *kind_of(real x) { return x != x ? "NaN" : "infinity"; }

/* Writes which input, if any, already had a NaN or an infinity. */
static void describe_bad_input(const Tensor *y, char *text, size_t size)
{
    for (int j = 0; j < y->n_in; j++) {
        const Tensor *x = y->in[j];
        if (!x || x->dtype != AG_REAL || !x->data || k_all_finite(x->numel, x->data)) continue;
        int64_t i = first_not_finite(x->data);
        snprintf(text, size, "; input %d already has %s, at item %lld", j, kind_of(((const real *)x->data)[i]),
                 (long long)i);
        return;
    }
}

/* For ag_find_nan: checks the result of an operation, or a gradient that its rule computed. `what` says which. */
static void check_finite(const Tensor *made_by, const char *what, int64_t n, const real *x)
{
    if (k_all_finite(n, x)) return;
    int64_t i = first_not_finite(x);
    char text[AG_SHAPE_TEXT], inputs[4 * AG_SHAPE_TEXT] = "", bad[96] = "";
    describe_bad_input(made_by, bad, sizeof bad);
    for (int j = 0; j < made_by->n_in && j < 4; j++) {
        if (!made_by->in[j]) continue;
        strcat(strcat(inputs, *inputs ? ", " : " of inputs "), ag_shape_text(made_by->in[j]->shape, text));
    }
    ag_usage_error(made_by->site, made_by->made_by, "first %s found in %s, item %lld; shape %s%s%s", kind_of(x[i]), what,
                   (long long)i, ag_shape_text(made_by->shape, text), inputs, bad);
}

Tensor *op_done_unchecked(Tensor *y)
{
    if (context()->guard) guard_check(y->site, y->made_by);
    scratch_end();
    if (y->op && y->buffer) y->version[y->n_in] = y->buffer->version;
    for (int i = 0; y->hash && i <= y->n_in; i++) {
        const Tensor *x = rule_reads(y, i);
        if (x) y->hash[i] = guard_hash(x);
    }
    return y;
}

Tensor *op_done(Tensor *y)
{
    op_done_unchecked(y);
    if (context()->find_nan) check_finite(y, "its result", y->numel, reals(y));
    return y;
}

void ag_find_nan(bool on)
{
    context()->find_nan = on;
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

bool can_release(const Tensor *t)
{
    return t->op && !t->retained && t->readers == 0 && t->buffer && !context()->keep_graph;
}

/* Memory for x's first gradient: that of x's value if it is no longer needed and not shared, else new memory. */
static Buffer *new_gradient(Tensor *x)
{
    size_t bytes = (size_t)x->numel * sizeof(real);
    if (can_release(x)) {
        Buffer *b = x->buffer;
        bool shared = b->refs > 1;
        x->buffer = NULL;
        x->data = NULL;
        if (!shared) return b;
        buffer_release(b);
    }
    return buffer_new(x->site, "backward", bytes);
}

Grad grad_into(Tensor *x)
{
    if (!x || !x->requires_grad) return (Grad){ NULL, false };
    if (!x->op && context()->guard) guard_gradient(x);
    if (!x->grad) {
        x->grad = new_gradient(x);
        if (context()->mark_unwritten) k_fill(x->numel, buffer_data(x->grad), UNWRITTEN);
        return (Grad){ buffer_data(x->grad), false };
    }
    if (x->grad->refs > 1) {                /* shared by grad_pass: copy it before adding */
        size_t bytes = (size_t)x->numel * sizeof(real);
        Buffer *own = buffer_new(x->site, "backward", bytes);
        memcpy(buffer_data(own), buffer_data(x->grad), bytes);
        buffer_release(x->grad);
        x->grad = own;
    }
    return (Grad){ buffer_data(x->grad), true };
}

/* Makes y's gradient the first gradient of x. */
static void share_gradient(Tensor *x, Tensor *y)
{
    if (can_release(x)) release_value(x);
    x->grad = buffer_share(y->grad);
}

/* The rule may run again if the graph is kept or if another loss uses y. */
void rule_has_read(Tensor *y)
{
    const Context *c = context();
    if (y->has_read || c->keep_graph || c->find_nan || y->users > 0 || !y->in[0]->op) return;
    y->in[0]->readers--;
    y->has_read = true;
}

void grad_take(Tensor *x, Buffer *gradient)
{
    if (!x->op && context()->guard) guard_gradient(x);
    x->grad = gradient;
}

Grad grad_in_place(Tensor *x, Tensor *y)
{
    bool first = x && x->requires_grad && x->op && !x->grad && !context()->mark_unwritten;
    if (!first || y->grad->refs > 1 || y->retained) return grad_into(x);
    share_gradient(x, y);
    return (Grad){ buffer_data(x->grad), false };
}

/* A leaf gets a copy, because optimizers and callers may write to its gradient. */
void grad_pass(Tensor *x, Tensor *y)
{
    if (!x || !x->requires_grad) return;
    if (!x->grad && x->op) {
        share_gradient(x, y);
        return;
    }
    Grad g = grad_into(x);
    if (g.add) k_axpy(x->numel, g.data, 1, grad_of(y));
    else memcpy(g.data, grad_of(y), (size_t)x->numel * sizeof(real));
}

real *grad_to_add(Tensor *x)
{
    Grad g = grad_into(x);
    if (g.data && !g.add) k_fill(x->numel, g.data, 0);
    return g.data;
}

void tensor_zero_grad_at(AgSite at, Tensor *t)
{
    check_alive(at, "tensor_zero_grad", "t", t);
    buffer_release(t->grad);
    buffer_release(t->kept_grad);
    t->grad = t->kept_grad = NULL;
}

/* The gradient that a caller may read, of a leaf or a retained tensor; NULL if none. */
static Buffer *readable_gradient(const Tensor *t)
{
    return t->kept_grad ? t->kept_grad : t->op ? NULL : t->grad;
}

real *tensor_grad_data_at(AgSite at, Tensor *t)
{
    check_alive(at, "tensor_grad_data", "t", t);
    Buffer *g = readable_gradient(t);
    return g ? buffer_data(g) : NULL;
}

Tensor *tensor_grad_at(AgSite at, Tensor *t)
{
    check_alive(at, "tensor_grad", "t", t);
    Buffer *g = readable_gradient(t);
    return g ? tensor_alias(at, "tensor_grad", &t->shape, AG_REAL, g) : NULL;
}

Tensor *tensor_set_requires_grad_at(AgSite at, Tensor *t, bool requires_grad)
{
    check_tensor(at, "tensor_set_requires_grad", "t", t, AG_REAL);
    if (t->op)
        ag_usage_error(at, "tensor_set_requires_grad", "t was made by %s; only a leaf can be set (see ag_detach)", t->op->name);
    t->requires_grad = requires_grad;
    return t;
}

bool tensor_requires_grad_at(AgSite at, const Tensor *t)
{
    check_alive(at, "tensor_requires_grad", "t", t);
    return t->requires_grad;
}

Tensor *ag_retain_at(AgSite at, Tensor *t)
{
    check_tensor(at, "ag_retain", "t", t, AG_REAL);
    t->retained = true;
    return t;
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Releases what only y's rule needed. The rule has run, and y has no users left. */
static void release_node(Tensor *y)
{
    for (int i = 0; i < y->n_in; i++) {
        Tensor *x = y->in[i];
        if (!x || !x->op) continue;
        x->users--;
        bool reader = reads_input(y->op, i) || y->needs_inputs;
        if (reader && !(i == 0 && y->has_read)) x->readers--;
        if (x->grad && can_release(x)) release_value(x);
    }
    if (y->op->needs & NEEDS_Y) y->readers--;
    if (can_release(y)) release_value(y);
    buffer_release(y->saved);
    y->saved = NULL;
    release_saved_gradients(y);
    y->graph_released = true;
}

/* If y is retained, adds its gradient to kept_grad. Releases the gradient, which only y's rule reads. */
static void store_gradient(Tensor *y)
{
    if (y->retained && y->kept_grad) k_axpy(y->numel, buffer_data(y->kept_grad), 1, grad_of(y));
    if (y->retained && !y->kept_grad) {
        y->kept_grad = buffer_new(y->site, "backward", (size_t)y->numel * sizeof(real));
        memcpy(buffer_data(y->kept_grad), grad_of(y), (size_t)y->numel * sizeof(real));
    }
    buffer_release(y->grad);
    y->grad = NULL;
}

void rule_run(Tensor *y)
{
    Context *c = context();
    c->rule = y;
    y->op->backward(y);
    c->rule = NULL;
    if (c->guard) guard_check(y->site, y->made_by);
    scratch_end();
}

_Noreturn void error_graph_released(AgSite at, const char *what, const Tensor *y)
{
    char place[PLACE_TEXT];
    ag_usage_error(at, what, "an earlier backward has run through %s (made at %s) and released its values; use "
                   "ag_backward_keep for the earlier one", y->op->name, place_text(y->site, y->user_site, place));
}

/* The values of input i of y, or its own for i = n_in, are not those that the operation read. */
_Noreturn static void error_written(AgSite at, const Tensor *y, int i)
{
    const Tensor *x = i < y->n_in ? y->in[i] : y;
    const char *op = y->op->name;
    char made[PLACE_TEXT], which[32] = "its result", by[PLACE_TEXT] = "a pointer to its values was used to change them";
    if (x != y) snprintf(which, sizeof which, "input %d", i);
    const Buffer *b = x->buffer;
    if (b->version != y->version[i])
        snprintf(by, sizeof by, "%.*s wrote it at %s:%d", name_length(b->writer), b->writer, b->written.file, b->written.line);
    ag_usage_error(at, "ag_backward", "the rule of %s (made at %s) reads %s%s%s, but %s after %s had read it; write it after "
                   "backward, or give %s a copy (ag_keep)", op, place_text(y->site, y->user_site, made), which,
                   x->name ? ", " : "", x->name ? x->name : "", by, op, op);
}

void check_inputs(AgSite at, const Tensor *y, bool of_rule)
{
    char made[PLACE_TEXT];
    for (int i = 0; i <= y->n_in; i++) {
        const Tensor *x = i < y->n_in ? y->in[i] : y;
        if (x && x->magic != TENSOR_ALIVE)
            ag_usage_error(at, "ag_backward", "input %d of %s (made at %s) was freed before backward", i, y->op->name,
                           place_text(y->site, y->user_site, made));
        if (of_rule ? !rule_reads(y, i) : x == y || !x) continue;
        if (x->buffer->version != y->version[i] || (of_rule && y->hash && y->hash[i] != guard_hash(x))) error_written(at, y, i);
    }
}

/* Computes again what the rule of y reads. */
static void compute_values(Tensor *y)
{
    for (int i = 0; i <= y->n_in; i++) {
        Tensor *x = i < y->n_in ? y->in[i] : y;
        bool reads = i < y->n_in ? reads_input(y->op, i) : y->op->needs & NEEDS_Y;
        if (reads && x && x->dropped && !x->data) value_again(x, true);
    }
}

static void node_run(AgSite at, Tensor *y)
{
    Context *c = context();
    if (y->graph_released) error_graph_released(at, "ag_backward", y);
    compute_values(y);
    check_inputs(at, y, true);
    rule_run(y);
    for (int i = 0; c->find_nan && i < y->n_in; i++)
        if (y->in[i] && y->in[i]->grad)
            check_finite(y, "the gradient that it computed", y->in[i]->numel, grad_of(y->in[i]));
    store_gradient(y);
    if (!c->keep_graph && y->users == 0) release_node(y);
}

/* ---- a watched pass ---------------------------------------------------------------------------------------------- */

void ag_watch_backward(AgWatch watch)
{
    context()->watch = watch;
}

/* Sets the `users` of each leaf to the number of recorded operations on it, from y down. An error in an earlier pass may have
 * left other numbers. */
static void count_leaf_users(Tensor *from)
{
    for (int count = 0; count < 2; count++) {
        for (Tensor *y = from; y; y = y->older) {
            for (int i = 0; y->op && i < y->n_in; i++) {
                Tensor *x = y->in[i];
                if (x && !x->op) x->users = count ? x->users + 1 : 0;
            }
        }
    }
}

static void tell_complete_leaves(const Tensor *y)
{
    AgWatch watch = context()->watch;
    for (int i = 0; i < y->n_in; i++) {
        Tensor *x = y->in[i];
        if (x && !x->op && --x->users == 0 && x->grad) watch.complete(watch.arg, x);
    }
}

void check_loss(AgSite at, const char *what, const Tensor *loss, bool any_shape)
{
    char text[AG_SHAPE_TEXT];
    check_tensor(at, what, "the loss", loss, AG_REAL);
    if (!any_shape && loss->numel != 1)
        ag_usage_error(at, what, "the loss has shape %s, expected one item (ag_mean or ag_sum it, or use ag_backward_from)",
                       ag_shape_text(loss->shape, text));
    if (!loss->requires_grad)
        ag_usage_error(at, what, "the loss does not require a gradient: no parameter was used, the scope is "
                       "AG_NO_GRAD, or a value was cut from the graph (ag_end_return, ag_keep, ag_detach)");
}

static void backward_from(AgSite at, Tensor *y, const Tensor *dy, bool keep)
{
    Context *c = context();
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    check_loss(at, "ag_backward", y, dy != NULL);
    if (y->op && y->thread != c) error_of_another_thread(at, "ag_backward", y);
    if (dy) {
        check_tensor(at, "ag_backward_from", "dy", dy, AG_REAL);
        if (!ag_shape_equal(y->shape, dy->shape))
            ag_usage_error(at, "ag_backward_from", "y %s and dy %s differ in shape", ag_shape_text(y->shape, a),
                           ag_shape_text(dy->shape, b));
    }
    y->retained = true;                     /* the loss stays readable */
    if (c->watch.begun) c->watch.begun(c->watch.arg, y);
    if (c->watch.complete) count_leaf_users(y);
    Grad g = grad_into(y);
    if (!dy) *g.data = g.add ? *g.data + 1 : 1;
    else if (g.add) k_axpy(y->numel, g.data, 1, reals(dy));
    else memcpy(g.data, dy->data, (size_t)y->numel * sizeof(real));
    c->keep_graph = keep;
    if (c->guard) guard_backward_begins(at);
    for (Tensor *node = y; node; node = node->older) {
        if (!node->op) continue;
        if (node->grad) node_run(at, node);
        if (c->watch.complete) tell_complete_leaves(node);
    }
    if (c->pass) guard_backward_ends();
    c->keep_graph = false;
}

void ag_backward_at(AgSite at, Tensor *loss)
{
    backward_from(at, loss, NULL, false);
}

void ag_backward_keep_at(AgSite at, Tensor *loss)
{
    backward_from(at, loss, NULL, true);
}

void ag_backward_from_at(AgSite at, Tensor *y, const Tensor *dy)
{
    check_tensor(at, "ag_backward_from", "dy", dy, AG_REAL);
    backward_from(at, y, dy, false);
}
