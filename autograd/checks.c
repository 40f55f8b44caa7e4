/* checks.c: checks of arguments that are tensors, and of what a backward rule reads.
 *
 * A buffer counts the writes in place (`version`), and a node of the graph has the counts that its
 * operation saw. If they differ when the rule runs, the gradient would be wrong: an error says who
 * has written. A value that no rule reads is released early, so a rule that reads more than it has
 * declared is an error, too. */
#include "buffers.h"
#include "checks.h"
#include "errors.h"
#include "op.h"
#include "shape.h"
#include "tensor_struct.h"
#include "thread.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- what a rule reads ----------------------------------------------------------------------- */

/* Returns whether the rule of y may read the value of t: the rule declares it, or t is neither an
 * input of y nor y itself. */
static bool may_read(const Tensor *y, const Tensor *t)
{
    bool related = t == y;
    if (related && (y->op->needs & NEEDS_Y)) return true;
    for (int i = 0; i < y->n_in; i++) {
        if (y->in[i] != t) continue;
        if (reads_input(y, i)) return true;
        related = true;
    }
    return !related;
}

_Noreturn void usage_error_of(const Tensor *made, const char *what, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    usage_error_at(made->origin.site, what, format, list);
}

_Noreturn void error_undeclared_read(const Tensor *t)
{
    const Tensor *y = running_rule.y;
    if (!y) {
        usage_error_of(t, t->origin.made_by, "its value was released by backward");
    }
    char which[32] = "its result";
    for (int i = y->n_in - 1; i >= 0; i--) {
        if (y->in[i] == t) {
            snprintf(which, sizeof which, "input %d", i);
        }
    }
    const bool of_program = !y->op->inputs;
    usage_error_of(y, y->op->name, "its backward rule reads the value of %s, made by %s at %s, and "
                   "does not declare that: backward may have released it%s", which,
                   t->origin.made_by, place_text(t->origin.site, t->origin.user_site),
                   of_program ? ". If this rule was left by longjmp or throw, leave its scope, too"
                              : "");
}

_Noreturn void error_graph_released(const char *what, const Tensor *y)
{
    ag_usage_error(what, "an earlier backward has run through %s (made at %s) and released its "
                   "values; use ag_backward_keep for the earlier one", y->op->name,
                   place_text(y->origin.site, y->origin.user_site));
}

_Noreturn void error_written(const char *what, const Tensor *y, int i)
{
    const Tensor *x = i < y->n_in ? y->in[i] : y;
    const char *op = y->op->name;
    const char *name = x->origin.name;
    char which[32] = "its result";
    if (x != y) {
        snprintf(which, sizeof which, "input %d", i);
    }
    const Buffer *b = x->buffer;
    char by[PLACE_TEXT] = "a pointer to its values was used to change them";
    if (b->version != y->version[i] && b->writer) {
        const Place at = { b->file, b->line }, user_at = { b->user_file, b->user_line };
        snprintf(by, sizeof by, "%s wrote it at %s%s", b->writer, place_text(at, user_at),
                 b->by_thread == thread_number() ? "" : ", in another thread");
    }
    const bool recomputed = !y->data && y->recompute.restore;
    ag_usage_error(what, "%s %s (made at %s)%s reads %s%s%s, but %s after %s had read it; write it "
                   "after backward, or give %s a copy (ag_keep)",
                   recomputed ? "the recomputation of" : "the rule of", op,
                   place_text(y->origin.site, y->origin.user_site),
                   recomputed ? ", whose value ag_recompute has released," : "", which,
                   name ? ", " : "", name ? name : "", by, op, op);
}

void check_inputs(const char *what, Tensor *y, bool of_rule)
{
    for (int i = 0; i <= y->n_in; i++) {
        const Tensor *x = i < y->n_in ? y->in[i] : y;
        if (x && !tensor_lives(x)) {
            ag_usage_error(what, "input %d of %s (made at %s) was freed before backward", i,
                           y->op->name, place_text(y->origin.site, y->origin.user_site));
        }
        bool is_read = of_rule ? read_by_rule(y, i) && x->data : x && x != y;
        if (is_read && x->buffer->version != y->version[i]) {
            error_written(what, y, i);
        }
    }
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Reports that t is NULL, was freed, or was of a scope that has ended. */
static _Noreturn void error_not_alive(const char *what, const char *argument, const Tensor *t)
{
    ag_check_pointer(what, argument, t);
    if (t->magic == TENSOR_DEAD) {
        ag_usage_error(what, "%s is not a live tensor: it was made by %s at %s, and %s", argument,
                       t->origin.made_by, place_text(t->origin.site, t->origin.user_site),
                       t->owned ? "freed" : "its scope has ended");
    }
    ag_usage_error(what, "%s is not a live tensor: its scope has ended, or it was freed", argument);
}

void check_alive(const char *what, const char *argument, const Tensor *t)
{
    if (!tensor_lives(t)) {
        error_not_alive(what, argument, t);
    }
}

void check_number(const char *what, const char *argument, double x, bool valid,
                  const char *expected)
{
    if (!valid || !isfinite(x)) {
        ag_usage_error(what, "%s is %g, expected %s", argument, x, expected);
    }
}

void check_tensor(const char *what, const char *argument, const Tensor *t, AgDType dtype)
{
    check_alive(what, argument, t);
    if (t->dtype == AG_PACKED && dtype != AG_PACKED) {
        ag_usage_error(what, "%s is kept in bfloat16 (AG_PACKED), expected %s: ag_from_bf16 gives "
                       "its values as reals", argument, dtype_name(dtype));
    }
    if (t->dtype != dtype) {
        ag_usage_error(what, "%s is %s, expected %s", argument, dtype_name(t->dtype),
                       dtype_name(dtype));
    }
    if (running_rule.y && !may_read(running_rule.y, t)) {
        error_undeclared_read(t);
    }
    if (!t->data && t->recompute.restore && !t->release.graph_released) {
        t->recompute.restore((Tensor *)t, what, false);
    }
    if (!t->data) {
        ag_usage_error(what, "the value of %s (%s made at %s) was released by backward; call "
                       "ag_retain on it first", argument, t->origin.made_by,
                       place_text(t->origin.site, t->origin.user_site));
    }
}

void check_leaf(const char *what, const char *argument, const Tensor *t)
{
    check_alive(what, argument, t);
    if (t->op) {
        ag_usage_error(what, "%s was made by %s and is part of a graph; only leaves are written",
                       argument, t->op->name);
    }
}

void count_write(const char *what, Buffer *b)
{
    const LayerCall *call = outermost_layer();
    b->version++;
    b->by_thread = thread_number();
    const Place at = call_place();
    const bool by_layer = call->function && same_place(at, call->site);
    b->writer = by_layer ? call->function : what;       /* what the program has called */
    b->file = at.file;
    b->line = at.line;
    b->user_file = call->site.file;
    b->user_line = call->site.line;
}

void *values_to_write(const char *what, const char *argument, Tensor *t, AgDType dtype)
{
    check_tensor(what, argument, t, dtype);
    check_leaf(what, argument, t);
    count_write(what, t->buffer);
    return t->data;
}

void check_vector(const char *what, const char *argument, const Tensor *v, int64_t n,
                  const char *expected, const char *other_argument, const Tensor *other)
{
    check_tensor(what, argument, v, AG_REAL);
    if (v->shape.ndim != 1 || v->shape.dim[0] != n) {
        ag_usage_error(what, "%s %s does not fit %s %s: expected %s", argument,
                       shape_text(v->shape), other_argument, shape_text(other->shape), expected);
    }
}

void check_mask(const char *what, const Tensor *mask, AgDType dtype, const char *target,
                const AgShape *shape)
{
    check_tensor(what, "mask", mask, dtype);
    if (!broadcasts_to(&mask->shape, shape)) {
        ag_usage_error(what, "mask %s does not broadcast to %s %s", shape_text(mask->shape), target,
                       shape_text(*shape));
    }
}
