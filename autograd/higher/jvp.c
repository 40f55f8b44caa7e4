/* jvp.c: ag_jvp, the derivative along a direction (forward mode). A walk from the oldest operation
 * to the newest one records the tangent of each: tangents.h. */
#include "between.h"
#include "checks.h"
#include "gradient_nodes.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/higher.h"
#include "scope.h"
#include "shape.h"
#include "tangents.h"
#include "tape.h"

/* Returns the tangent of an operation's result from those of its inputs, or NULL for zeros. What
 * the rule has computed on the way is released if it is large and quickly computed again. */
static Tensor *operation_tangent(const Between *w, Tensor *t)
{
    Tensor **dx = scope_alloc(w->what, (size_t)t->n_in * sizeof *dx);
    bool any = false;
    for (int i = 0; i < t->n_in; i++) {
        const BetweenItem *x = between_item(w, t->in[i]);
        dx[i] = x ? x->value : NULL;
        any = any || dx[i];
    }
    if (!any) return NULL;
    AgPrecision former = ag_precision((AgPrecision)t->precision);
    AgMark mark = ag_mark();
    Tensor *tangent = tangent_of(t, dx);
    if (tangent && tangent->requires_grad) {
        ag_recompute(mark, tangent, AG_CHEAP);
    }
    ag_precision(former);
    return tangent;
}

void check_derivative(const char *what, const Tensor *y, Tensor *const *in, int n)
{
    check_alive(what, "y", y);
    if (pass_runs()) {
        ag_usage_error(what, "a backward pass of this thread is running, expected a call outside "
                       "of backward rules and of functions of ag_watch_backward");
    }
    if (!y->requires_grad) {
        ag_usage_error(what, "y does not require a gradient: it was computed from constants or in "
                       "a scope of AG_NO_GRAD, or a value was cut from the graph (ag_end_return, "
                       "ag_keep, ag_detach, ag_grad)");
    }
    if (n < 1) {
        ag_usage_error(what, "n is %d, expected 1 or more", n);
    }
    ag_check_pointer(what, "in", in);
    for (int i = 0; i < n; i++) {
        check_alive(what, "an item of in", in[i]);
        if (!in[i]->requires_grad) {
            ag_usage_error(what, "item %d of in does not require a gradient", i);
        }
    }
    if (y->release.graph_released) {
        error_graph_released(what, y);
    }
    check_loss(what, y, true);
}

Tensor *ag_jvp(Tensor *y, Tensor *const *in, Tensor *const *v, int n)
{
    AG_LAYER;
    check_derivative(__func__, y, in, n);
    ag_check_pointer(__func__, "v", v);
    for (int i = 0; i < n; i++) {
        check_tensor(__func__, "an item of v", v[i], AG_REAL);
        if (!ag_shape_equal(in[i]->shape, v[i]->shape)) {
            ag_usage_error(__func__, "item %d of in %s and of v %s differ in shape", i,
                           shape_text(in[i]->shape), shape_text(v[i]->shape));
        }
    }
    Between w = between_begin(__func__, y, in, n);
    between_check(&w);
    for (int i = 0; i < n; i++) {
        BetweenItem *start = between_item(&w, in[i]);
        start->value = sum_of(start->value, slot_of(v[i]));     /* v[i] may be an input */
    }
    for (uint32_t k = w.count; k > 0; k--) {
        BetweenItem *item = between_operation(&w, k - 1);
        item->value = sum_of(item->value, operation_tangent(&w, item->tensor));
    }
    Tensor *tangent = between_item(&w, y)->value;
    between_end(&w);
    return or_zeros(tangent, y->shape);
}
