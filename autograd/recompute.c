/* recompute.c: values that are released in the forward pass, and recomputed when a backward rule
 * reads them (Chen et al. 2016).
 *
 * The graph stays as it is, so the gradients have the same bits. A released value of a recorded
 * operation can be computed from the operation's inputs and numbers. Its inputs may be released as
 * well. Those that it needs count its operation among their readers, so that backward keeps them
 * until then. */
#include "buffers.h"
#include "checks.h"
#include "errors.h"
#include "gradients.h"
#include "kaeru/recompute.h"
#include "kaeru/tensor.h"
#include "left.h"
#include "op.h"
#include "recompute.h"
#include "scope.h"
#include "tensor_struct.h"

/* ---- computing ------------------------------------------------------------------------------- */

_Noreturn static void error_released(const char *what, const Tensor *t)
{
    for (Tensor *u = tape(); u; u = u->older) {
        u->recompute.listed = false;
    }
    ag_usage_error(what, "the value of %s (made at %s) cannot be computed again after backward: "
                   "call ag_retain on it first", t->origin.made_by,
                   place_text(t->origin.site, t->origin.user_site));
}

static void compute(Tensor *t, const char *what)
{
    check_inputs(what, t, false);
    ag_in(t->origin.site.file, t->origin.site.line);
    if (!t->op->shares) {
        t->buffer = buffer_items(function_of(t), t->numel, sizeof(real));
        t->buffer->version = t->version[t->n_in];
        t->data = buffer_data(t->buffer);
    }
    t->op->compute(t, &(OpCall){ t->op, t->in, t->n_in, t->args });
    ag_out();
}

/* t has been computed, so its inputs need not be kept for that. */
static void leave_inputs(Tensor *t)
{
    for (int i = 0; t->recompute.reads_inputs && i < t->n_in; i++) {
        Tensor *x = t->in[i];
        if (!x || !x->op || reads_input(t, i)) continue;
        x->release.readers--;
        if (x->recompute.restore && can_release(x)) {
            release_value(x);
        }
    }
    t->recompute.reads_inputs = false;
}

/* Inputs are older than results. So a walk down the tape finds all values that t needs, and lists
 * them, the oldest first. */
static Tensor *list_missing(Tensor *t, const char *what)
{
    Tensor *oldest = NULL;
    int missing = 1;
    t->recompute.listed = true;
    for (Tensor *u = t; missing > 0; u = u->older) {
        if (!u->recompute.listed) continue;
        missing--;
        u->recompute.listed = false;
        u->recompute.next_listed = oldest;
        oldest = u;
        for (int i = 0; i < u->n_in; i++) {
            Tensor *x = u->in[i];
            if (!x || !x->op || x->data || x->recompute.listed) continue;
            if (!x->recompute.restore || x->release.graph_released) {
                error_released(what, x);
            }
            x->recompute.listed = true;
            missing++;
        }
    }
    return oldest;
}

static void restore(Tensor *t, const char *what, bool for_rule)
{
    for (Tensor *u = list_missing(t, what); u; u = u->recompute.next_listed) {
        compute(u, what);
        if (for_rule) {
            leave_inputs(u);
        }
    }
}

/* ---- releasing ------------------------------------------------------------------------------- */

/* A rule or another value may need t's released value, which is then computed from its inputs:
 * these must be kept. */
static void hold_inputs(Tensor *t)
{
    if (t->data || t->recompute.reads_inputs || t->release.readers == 0) return;
    t->recompute.reads_inputs = true;
    for (int i = 0; i < t->n_in; i++) {
        if (t->in[i] && t->in[i]->op && !reads_input(t, i)) {
            t->in[i]->release.readers++;
        }
    }
}

/* Whether it takes little time to compute t's value. If linear and an activation were computed in
 * one pass, the input of the activation never had a value: to compute that takes a product. */
static bool is_cheap(const Tensor *t)
{
    bool cheap = !t->op->is_product && (size_t)t->numel * sizeof(real) >= recompute_least_bytes;
    for (int i = 0; i < t->n_in; i++) {
        const Tensor *x = t->in[i];
        cheap = cheap && (!x || x->data || x->recompute.restore);
    }
    return cheap;
}

/* t's value is not released. So what its rule reads (of_rule), and an input whose memory it shares,
 * are not, either. */
static void keep_inputs(const Tensor *t, bool of_rule)
{
    for (int i = 0; i < t->n_in; i++) {
        Tensor *x = t->in[i];
        if (x && ((of_rule && reads_input(t, i)) || (x->buffer && x->buffer == t->buffer))) {
            x->recompute.kept = true;
        }
    }
}

/* Below that, a value costs less memory than time. The tests set another number. */
size_t recompute_least_bytes = 1 << 21;

AgMark ag_mark(void)
{
    return (AgMark){ tape(), innermost_scope() };
}

Tensor *ag_recompute(AgMark since, Tensor *y, AgRecompute what)
{
    check_tensor(__func__, "y", y, AG_REAL);
    if (what != AG_CHEAP && what != AG_PRODUCTS) {
        ag_usage_error(__func__, "%d is not an AgRecompute; expected AG_CHEAP or AG_PRODUCTS",
                       (int)what);
    }
    if (since.scope.depth && !scope_is_open(since.scope)) {
        ag_usage_error(__func__, "the scope in which ag_mark was called has ended, or is of "
                       "another thread");
    }
    for (Tensor *t = tape(); ag_recording() && t != since.newest; t = t->older) {
        if (!t->op) continue;
        /* not written since */
        bool may_release = t->op->compute && t != y && !t->retained && !t->recompute.kept &&
                           !t->recompute.restore &&
                           (!t->buffer || t->buffer->version == t->version[t->n_in]);
        if (may_release && (what == AG_PRODUCTS || t->release.readers == 0 || is_cheap(t))) {
            t->recompute.restore = restore;
            release_value(t);
        }
        if (t->recompute.restore) {
            hold_inputs(t);
        } else {
            keep_inputs(t, !t->op->compute);
        }
    }
    return y;
}
