/* recompute.c: ag_recompute, which releases values in the forward pass. They are computed again
 * when a backward rule reads them: less memory, more time (Chen et al. 2016).
 *
 * The graph keeps each operation with its inputs and numbers, so a released value can be computed
 * from them, with the same bits. An input may be released as well; then it is computed first. An
 * input that is not released must stay until then: the operation counts among its readers, and
 * backward releases no value that has readers (tape.c). */
#include "buffers.h"
#include "checks.h"
#include "errors.h"
#include "gradients.h"
#include "kaeru/recompute.h"
#include "kaeru/tensor.h"
#include "program_calls.h"
#include "op.h"
#include "recompute.h"
#include "scope.h"
#include "tensor_struct.h"

/* ---- computing a value again ----------------------------------------------------------------- */

_Noreturn static void error_released(const char *what, const Tensor *t)
{
    for (Tensor *u = tape(); u; u = u->older) {
        u->recompute.listed = false;
    }
    ag_usage_error(what, "the value of %s (made at %s) cannot be computed again after backward: "
                   "call ag_retain on it first", t->origin.made_by,
                   place_text(t->origin.site, t->origin.user_site));
}

/* Computes t's value. A message of an error in it has the line where t was made. */
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

/* Removes the computation of t, which is done, from the readers of t's inputs. */
static void leave_inputs(Tensor *t)
{
    if (!t->recompute.reads_inputs) return;
    for (int i = 0; i < t->n_in; i++) {
        Tensor *x = t->in[i];
        if (!x || !x->op || reads_input(t, i)) continue;
        x->release.readers--;
        if (x->recompute.restore && can_release(x)) {
            release_value(x);
        }
    }
    t->recompute.reads_inputs = false;
}

/* Returns a list of t and of all released values that t is computed from, the oldest first. It
 * walks down the tape from t: inputs are older than their results, so the walk meets a value after
 * all values that are computed from it. `listed` marks the values that it has still to meet, and
 * `missing` is their number. */
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

/* Computes t's value and what it takes: see TensorRecompute. */
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

/* Counts the computation of t, whose value is released, among the readers of t's inputs, if a rule
 * or another value needs t's value. */
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

/* Returns whether t's value takes little time and much memory. If one loop has computed linear and
 * its activation, the input of the activation has never had a value, and takes a product. */
static bool is_cheap(const Tensor *t)
{
    bool cheap = !t->op->is_product && (size_t)t->numel * sizeof(real) >= recompute_least_bytes;
    for (int i = 0; i < t->n_in; i++) {
        const Tensor *x = t->in[i];
        cheap = cheap && (!x || x->data || x->recompute.restore);
    }
    return cheap;
}

/* Marks the inputs of t that keep their values because t, such as an attention, keeps its own. If t
 * shares the memory of an input, to release the input would free nothing. If t cannot be computed
 * again, the inputs that its rule reads are kept with it: they are results of products, and those
 * would be computed again for the rule alone. */
static void keep_inputs(const Tensor *t)
{
    for (int i = 0; i < t->n_in; i++) {
        Tensor *x = t->in[i];
        if (!x) continue;
        bool shares = x->buffer && x->buffer == t->buffer;
        if (shares || (!t->op->compute && reads_input(t, i))) {
            x->recompute.kept = true;
        }
    }
}

/* Returns whether ag_recompute may release t's value: it can be computed, and the program has not
 * written it since the operation, nor asked to keep it. */
static bool may_release(const Tensor *t)
{
    if (!t->op->compute || t->retained || t->recompute.kept || t->recompute.restore) return false;
    return !t->buffer || t->buffer->version == t->version[t->n_in];
}

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
    if (!ag_recording()) return y;
    for (Tensor *t = tape(); t != since.newest; t = t->older) {
        if (!t->op) continue;
        bool is_chosen = what == AG_PRODUCTS || t->release.readers == 0 || is_cheap(t);
        if (is_chosen && t != y && may_release(t)) {
            t->recompute.restore = restore;
            release_value(t);
        }
        if (t->recompute.restore) {
            hold_inputs(t);
        } else {
            keep_inputs(t);
        }
    }
    return y;
}
