/* tape.c: records operations, and runs their backward rules.
 *
 * Backward is one loop down the tape, from the loss to the oldest tensor: run_rules. A node that
 * has a gradient runs its operation's rule, which adds to the gradients of its inputs. All users of
 * a node are newer than the node, so their rules have run before. The node's gradient is then
 * complete: it is the sum of the contributions of all users.
 *
 * Backward also releases memory: release_node. Each tensor counts its `readers`, the rules that
 * will still read its value, and its `users`, the recorded operations that have it as an input and
 * are not released yet. A node is released when its rule has run and no users are left. If another
 * loss still needs a part of the graph, that part has users and stays.
 *
 * Some rules are functions of the program (ag_custom), and ag_watch_backward calls functions of the
 * program between the rules. They may end a scope, or leave by longjmp: so check_own_pass stands
 * after each such call. A first reading can leave it out, and ag_recompute, too.
 *
 * Read tensor_struct.h and op.h before, and gradients.c after this file. */
#include "buffers.h"
#include "checks.h"
#include "errors.h"
#include "gradients.h"
#include "kaeru/gradients.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "program_calls.h"
#include "observe.h"
#include "op.h"
#include "scope.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"
#include "thread.h"

#include <string.h>

/* ---- recording ------------------------------------------------------------------------------- */

/* Checks that t, which may be NULL, is not a part of another thread's graph. */
static void check_thread(const char *what, const Tensor *t)
{
    if (!t || !t->op || t->origin.thread == thread_id()) return;
    ag_usage_error(what, "the result of %s made at %s is part of another thread's graph: expected "
                   "a result of this thread, or a copy without its graph (ag_detach)",
                   t->origin.made_by, place_text(t->origin.site, t->origin.user_site));
}

/* Returns whether one of the inputs requires a gradient. */
static bool any_requires_grad(Tensor *const *in, int n)
{
    for (int i = 0; i < n; i++) {
        if (in[i] && in[i]->requires_grad) return true;
    }
    return false;
}

/* Stores the inputs in y, and the versions of their values. One allocation holds both, because
 * every recorded operation needs it. */
static void store_inputs(const Op *op, Tensor *y, Tensor *const *in, int n)
{
    size_t inputs = (size_t)n * sizeof *in;
    size_t versions = (size_t)(n + 1) * sizeof *y->version;
    y->in = scope_alloc(op->function, inputs + versions);
    y->version = (uint32_t *)(void *)(y->in + n);
    y->n_in = n;
    for (int i = 0; i < n; i++) {
        y->in[i] = in[i];
        if (in[i] && in[i]->buffer) {
            y->version[i] = in[i]->buffer->version;
        }
    }
}

/* Records y = op(in) if the scope records and an input requires a gradient. If an observer needs
 * KEEP_INPUTS, y gets its inputs in any case. Returns y. */
static Tensor *record(const Op *op, Tensor *y, Tensor *const *in, int n)
{
    y->origin.made_by = op->name;
    bool requires_grad = ag_recording() && any_requires_grad(in, n);
    if (requires_grad || (observers_need & KEEP_INPUTS)) {
        store_inputs(op, y, in, n);
    }
    if (!requires_grad) return y;
    for (int i = 0; i < n; i++) {
        check_thread(op->function, in[i]);
    }
    y->op = op;
    y->requires_grad = true;
    if (observers_need & CHECK_MEMORY) {
        y->hash = scope_alloc(op->function, (size_t)(n + 1) * sizeof *y->hash);
    }
    if (op->bilinear && n > 1) {
        y->release.unread[0] = !in[1]->requires_grad;
        y->release.unread[1] = !in[0]->requires_grad;
    }
    return y;
}

Tensor *op_new_n(const Op *op, const AgShape *shape, Tensor *const *in, int n)
{
    return record(op, tensor_new(op->function, shape, AG_REAL), in, n);
}

Tensor *op_new(const Op *op, const AgShape *shape, Tensor *a, Tensor *b, Tensor *c)
{
    Tensor *in[] = { a, b, c };
    if (c) return op_new_n(op, shape, in, 3);
    return op_new_n(op, shape, in, b ? 2 : 1);
}

Tensor *op_new_alias(const Op *op, const AgShape *shape, Tensor *x)
{
    return record(op, tensor_alias(op->function, shape, AG_REAL, x->buffer), &x, 1);
}

/* Stores the version of x's values here, because op_done(x) comes later and then finds no memory of
 * x. */
Tensor *op_new_in_place(const Op *op, Tensor *x, Tensor *b)
{
    Tensor *in[] = { x, b };
    Tensor *y = tensor_alias(op->function, &x->shape, AG_REAL, x->buffer);
    record(op, y, in, b ? 2 : 1);
    if (x->op) {
        x->version[x->n_in] = x->buffer->version;
    }
    release_value(x);
    return y;
}

void *op_args(Tensor *y, size_t size)
{
    return y->args = scope_alloc(y->op->function, size);
}

real *op_save(Tensor *y, int64_t n)
{
    y->saved = buffer_items(function_of(y), n, sizeof(real));
    return buffer_data(y->saved);
}

real *op_save_gradient(Tensor *y, int i)
{
    if (!y->in[i] || !y->in[i]->requires_grad) return NULL;
    y->saved_gradient[i] = buffer_items(y->op->function, y->in[i]->numel, sizeof(real));
    return buffer_data(y->saved_gradient[i]);
}

/* Counts y among the users and readers of its inputs. */
static void count_inputs(Tensor *y)
{
    for (int i = 0; i < y->n_in; i++) {
        Tensor *x = y->in[i];
        if (!x || !x->op) continue;                     /* leaves are never released */
        x->release.users++;
        if (reads_input(y, i)) {
            x->release.readers++;
        }
    }
    if (y->op->needs & NEEDS_Y) {
        y->release.readers++;
    }
}

/* Counts here and not in record, because an operation can end with an error between the two. The
 * counts of its inputs are then still correct. */
Tensor *op_done(Tensor *y)
{
    if (y->op) {
        count_inputs(y);
    }
    notify(COMPUTED, y);
    op_scratch_end();
    if (y->op && y->buffer) {
        y->version[y->n_in] = y->buffer->version;
    }
    return y;
}

Tensor *op_run(const Op *op, const AgShape *shape, Tensor *const *in, int n, const void *args,
               size_t size)
{
    Tensor *y = op_new_n(op, shape, in, n);
    if (y->op && size > 0) {
        memcpy(op_args(y, size), args, size);
    }
    op->compute(y, &(OpCall){ op, in, n, args });
    return op_done(y);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Releases what only y's rule needed. The rule has run, and y has no users left. The value of an
 * input is released if this was its last reader and the input has its gradient already. If not,
 * new_gradient will release the value, and may give its memory to the gradient. */
static void release_node(Tensor *y)
{
    for (int i = 0; i < y->n_in; i++) {
        Tensor *x = y->in[i];
        if (!x || !x->op) continue;
        x->release.users--;
        bool has_read = i == 0 && y->release.input_was_read;
        if (!has_read && (reads_input(y, i) || y->recompute.reads_inputs)) {
            x->release.readers--;
        }
        if (x->grad && can_release(x)) {
            release_value(x);
        }
    }
    if (y->op->needs & NEEDS_Y) {
        y->release.readers--;
    }
    if (can_release(y)) {
        release_value(y);
    }
    buffer_drop(&y->saved);
    for (int i = 0; i < SAVED_GRADIENTS; i++) {
        buffer_drop(&y->saved_gradient[i]);
    }
    y->release.graph_released = true;
}

/* Releases y's gradient, because only y's rule reads it. If y is retained, the program can read it,
 * too: it becomes kept_grad, or is added to the kept_grad of an earlier pass. */
static void store_gradient(Tensor *y)
{
    if (y->kept_grad) {
        grad_unshare(&y->kept_grad, y->numel);
        k_axpy(y->numel, buffer_data(y->kept_grad), 1, grad_of(y));
    } else if (y->retained) {
        y->kept_grad = y->grad;
        y->grad = NULL;
        grad_unshare(&y->kept_grad, y->numel);
    }
    buffer_drop(&y->grad);
}

/* Returns whether the rule of y is a function of the program (ag_custom). */
static bool is_of_program(const Tensor *y)
{
    return !y->op->inputs;
}

/* Asks the inputs again whether they require a gradient: the program can have changed that since y
 * was recorded. If y has no items, the gradients of its inputs are zeros, and the rules of the
 * library need not know this case. */
void rule_run(Tensor *y)
{
    set_running_rule(y);
    bool is_wanted = any_requires_grad(y->in, y->n_in);
    if (is_wanted && y->numel == 0 && !is_of_program(y)) {
        for (int i = 0; i < y->n_in; i++) {
            grad_to_add(y->in[i]);
        }
    } else if (is_wanted) {
        y->op->backward(y);     /* such as linear_backward (ops/ops_product.c) */
    }
    set_running_rule(NULL);
    op_scratch_end();
}

/* Checks, after a call of a function of the program, that the pass still runs and that the function
 * has left no scope open. */
static void check_own_pass(void)
{
    check_pass("ag_backward");
    int open = innermost_scope().depth - scopes_of_pass();
    if (open > 0) {
        ag_usage_error("ag_backward", "scopes that a rule or a function of ag_watch_backward has "
                       "begun and not ended: %d", open);
    }
}

/* Computes the values that y's rule reads again, if ag_recompute has released them. */
static void restore_values(Tensor *y)
{
    for (int i = 0; i <= y->n_in; i++) {
        Tensor *x = read_by_rule(y, i);
        if (x && !x->data && x->recompute.restore) {
            x->recompute.restore(x, "ag_backward", true);
        }
    }
}

/* Runs the rule of y, whose gradient is complete. */
static void node_run(Tensor *y)
{
    if (y->release.graph_released) {
        error_graph_released("ag_backward", y);
    }
    restore_values(y);
    check_inputs("ag_backward", y, true);
    notify(RULE_BEGINS, y);
    rule_run(y);
    if (observed || is_of_program(y)) {
        check_own_pass();
    }
    notify(RULE_ENDS, y);
    store_gradient(y);
    if (!graph_kept() && y->release.users == 0) {
        release_node(y);
    }
}

void check_loss(const char *what, const Tensor *loss, bool any_shape)
{
    check_tensor(what, "the loss", loss, AG_REAL);
    if (!any_shape && loss->numel != 1) {
        ag_usage_error(what, "the loss has shape %s, expected one item (ag_mean or ag_sum it, or "
                       "use ag_backward_from)", shape_text(loss->shape));
    }
    if (!loss->requires_grad) {
        ag_usage_error(what, "the loss does not require a gradient: no parameter was used, the "
                       "scope is AG_NO_GRAD, or a value was cut from the graph (ag_end_return, "
                       "ag_keep, ag_detach, tensor_grad, ag_grad)");
    }
    check_thread(what, loss);
}

void run_rules(Tensor *loss, const Tensor *dy, bool notifies)
{
    const real one = 1;
    grad_add(loss, dy ? reals(dy) : &one);
    for (Tensor *y = loss; y; y = y->older) {
        if (!y->op) continue;
        if (y->grad) {
            node_run(y);
        }
        if (!notifies) continue;
        notify(NODE_PASSED, y);
        check_own_pass();
    }
    pass_ends();
}

static void backward_from(Tensor *loss, const Tensor *dy, bool keep)
{
    check_loss("ag_backward", loss, dy != NULL);
    if (dy && !ag_shape_equal(loss->shape, dy->shape)) {
        ag_usage_error("ag_backward_from", "y %s and dy %s differ in shape",
                       shape_text(loss->shape), shape_text(dy->shape));
    }
    pass_begins("ag_backward", keep);
    loss->retained = true;                  /* the program can read its value after the pass */
    notify(PASS_BEGINS, loss);
    check_own_pass();
    run_rules(loss, dy, true);
}

void ag_backward(Tensor *loss)
{
    AG_LAYER;
    backward_from(loss, NULL, false);
}

void ag_backward_keep(Tensor *loss)
{
    AG_LAYER;
    backward_from(loss, NULL, true);
}

void ag_backward_from(Tensor *y, const Tensor *dy)
{
    AG_LAYER;
    check_tensor(__func__, "dy", dy, AG_REAL);
    backward_from(y, dy, false);
}
