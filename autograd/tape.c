/* tape.c: records operations, and runs their backward rules.
 *
 * Backward is one loop down the tape, from the loss to the oldest tensor. A node that has a
 * gradient runs its operation's rule, which adds to the gradients of its inputs. All users of a
 * node are newer, so their rules have run before, and the node's gradient is complete: it is the
 * sum of the contributions of all users.
 *
 * Backward releases memory during the loop. Each tensor counts its `readers`, the rules that will
 * still read its value, and its `users`, the recorded operations that have it as an input and are
 * not released yet. A node is released when its rule has run and no users are left. If another loss
 * still needs a part of the graph, that part has users and stays. */
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
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"
#include "thread.h"

#include <string.h>

/* ---- recording ------------------------------------------------------------------------------- */

_Noreturn static void error_of_another_thread(const char *what, const Tensor *t)
{
    ag_usage_error(what, "the result of %s made at %s is part of another thread's graph: expected "
                   "a result of this thread, or a copy without its graph (ag_detach)",
                   t->origin.made_by, place_text(t->origin.site, t->origin.user_site));
}

/* Stores y's operation and inputs if an input requires a gradient. For an observer that needs
 * KEEP_INPUTS, the inputs are always stored. */
static Tensor *record(const Op *op, Tensor *y, Tensor *const *in, int n)
{
    y->origin.made_by = op->name;
    bool requires_grad = false, recording = ag_recording();
    for (int i = 0; recording && i < n; i++) {
        requires_grad = requires_grad || (in[i] && in[i]->requires_grad);
        if (in[i] && in[i]->op && in[i]->origin.thread != thread_id()) {
            error_of_another_thread(op->function, in[i]);
        }
    }
    if (!requires_grad && !(observers_need & KEEP_INPUTS)) return y;
    /* One allocation for inputs and versions, since this is part of every operation. */
    y->in = scope_alloc(op->function,
                        (size_t)n * sizeof *in + (size_t)(n + 1) * sizeof *y->version);
    y->version = (uint32_t *)(void *)(y->in + n);
    y->n_in = n;
    for (int i = 0; i < n; i++) {
        y->in[i] = in[i];
        if (in[i] && in[i]->buffer) {
            y->version[i] = in[i]->buffer->version;
        }
    }
    if (!requires_grad) return y;
    if (observers_need & CHECK_MEMORY) {
        y->hash = scope_alloc(op->function, (size_t)(n + 1) * sizeof *y->hash);
    }
    y->op = op;
    y->requires_grad = true;
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
    return op_new_n(op, shape, in, c ? 3 : b ? 2 : 1);
}

static Tensor *new_alias(const Op *op, const AgShape *shape, Tensor *const *in, int n)
{
    return record(op, tensor_alias(op->function, shape, AG_REAL, in[0]->buffer), in, n);
}

Tensor *op_new_alias(const Op *op, const AgShape *shape, Tensor *x)
{
    return new_alias(op, shape, &x, 1);
}

/* x gives its memory to y before anything is computed: op_done(x) finds none, so the version of x
 * is stored here. */
Tensor *op_new_in_place(const Op *op, Tensor *x, Tensor *b)
{
    Tensor *y = new_alias(op, &x->shape, (Tensor *[]){ x, b }, b ? 2 : 1);
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

/* The counts change here and not in record: an operation that ends with an error before this leaves
 * them correct. */
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

/* Releases what only y's rule needed. The rule has run, and y has no users left. */
static void release_node(Tensor *y)
{
    for (int i = 0; i < y->n_in; i++) {
        Tensor *x = y->in[i];
        if (!x || !x->op) continue;
        x->release.users--;
        bool reader = reads_input(y, i) || y->recompute.reads_inputs;
        if (reader && !(i == 0 && y->release.input_was_read)) {
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

/* If y is retained, adds its gradient to kept_grad. Releases the gradient, which only y's rule
 * reads. */
static void store_gradient(Tensor *y)
{
    if (y->kept_grad && y->kept_grad->refs == 1) {
        k_axpy(y->numel, buffer_data(y->kept_grad), 1, grad_of(y));
    } else if (y->retained || y->kept_grad) {
        /* a program may share the former */
        Buffer *sum = buffer_new("backward", (size_t)y->numel * sizeof(real), false);
        memcpy(buffer_data(sum), grad_of(y), (size_t)y->numel * sizeof(real));
        if (y->kept_grad) {
            k_axpy(y->numel, buffer_data(sum), 1, buffer_data(y->kept_grad));
        }
        buffer_drop(&y->kept_grad);
        y->kept_grad = sum;
    }
    buffer_drop(&y->grad);
}

/* An input can have required a gradient when y was recorded, and not do so now. */
static bool is_wanted(const Tensor *y)
{
    bool wanted = false;
    for (int i = 0; i < y->n_in; i++) {
        wanted = wanted || (y->in[i] && y->in[i]->requires_grad);
    }
    return wanted;
}

/* Whether the program has given the rule of y (ag_custom). */
static bool is_of_program(const Tensor *y)
{
    return !y->op->inputs;
}

/* The rule of a y without items, of any shape: its inputs get gradients of zeros. */
static void rule_of_nothing(Tensor *y)
{
    for (int i = 0; i < y->n_in; i++) {
        grad_to_add(y->in[i]);
    }
}

void rule_run(Tensor *y)
{
    check_reads_of(y);
    if (is_wanted(y)) {
        (y->numel > 0 || is_of_program(y) ? y->op->backward : rule_of_nothing)(y);
    }
    check_reads_of(NULL);
    op_scratch_end();
}

/* A usage error if a function of the program, which was called now, has ended the pass or left a
 * scope open. */
static void check_own_pass(void)
{
    check_pass("ag_backward");
    int open = innermost_scope().depth - scopes_of_pass();
    if (open > 0) {
        ag_usage_error("ag_backward", "scopes that a rule or a function of ag_watch_backward has "
                       "begun and not ended: %d", open);
    }
}

/* Runs the rule of y. y's gradient is complete, and no other rule reads it. */
static void node_run(Tensor *y)
{
    if (y->release.graph_released) {
        error_graph_released("ag_backward", y);
    }
    for (int i = 0; i <= y->n_in; i++) {
        Tensor *x = read_by_rule(y, i);
        if (x && !x->data && x->recompute.restore) {
            x->recompute.restore(x, "ag_backward", true);
        }
    }
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
                       "ag_keep, ag_detach; tensor_grad: there are no gradients of gradients)");
    }
    if (loss->op && loss->origin.thread != thread_id()) {
        error_of_another_thread(what, loss);
    }
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
    pass_begins("ag_backward", keep);
    loss->retained = true;                  /* it stays readable */
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
    check_loss("ag_backward", y, true);
    if (!ag_shape_equal(y->shape, dy->shape)) {
        ag_usage_error(__func__, "y %s and dy %s differ in shape", shape_text(y->shape),
                       shape_text(dy->shape));
    }
    backward_from(y, dy, false);
}
