/* recompute.c: values that are released in the forward pass, and computed again when a backward rule reads them (Chen et al.
 * 2016).
 *
 * The graph stays as it is, so the gradients have the same bits. A released value of a recorded operation can be computed from
 * the operation's inputs and numbers. Its inputs may be released as well. Those that it needs count its operation among their
 * readers, so that backward keeps them until then. */
#include "internal.h"

/* ---- computing again --------------------------------------------------------------------------------------------- */

_Noreturn static void error_released(const Tensor *t)
{
    char place[PLACE_TEXT];
    for (Tensor *u = context()->tape; u; u = u->older) u->wanted = false;
    ag_usage_error(t->site, t->made_by, "its value (made at %s) cannot be computed again after backward: call ag_retain on it "
                   "first", place_text(t->site, t->user_site, place));
}

static void compute_again(Tensor *t)
{
    check_inputs(t->site, t, false);
    if (!t->op->shares) {
        t->buffer = buffer_items(t->site, t->made_by, t->numel, sizeof(real));
        t->buffer->version = t->version[t->n_in];
        t->data = buffer_data(t->buffer);
    }
    t->op->recompute(t);
}

/* t has been computed again, so its inputs need not stay for that. */
static void leave_inputs(Tensor *t)
{
    for (int i = 0; t->needs_inputs && i < t->n_in; i++) {
        Tensor *x = t->in[i];
        if (!x || !x->op || reads_input(t->op, i)) continue;
        x->readers--;
        if (x->dropped && can_release(x)) release_value(x);
    }
    t->needs_inputs = false;
}

void value_again(Tensor *t, bool of_rule)
{
    /* inputs are older than results, so a walk down the tape finds all that is needed, and the way back computes it */
    Tensor *oldest = NULL;
    int wanted = 1;
    t->wanted = true;
    for (Tensor *u = t; wanted > 0; u = u->older) {
        if (!u->wanted) continue;
        wanted--;
        u->wanted = false;
        u->newer_wanted = oldest;
        oldest = u;
        for (int i = 0; i < u->n_in; i++) {
            Tensor *x = u->in[i];
            if (!x || !x->op || x->data || x->wanted) continue;
            if (!x->dropped || x->graph_released) error_released(x);
            x->wanted = true;
            wanted++;
        }
    }
    for (; oldest; oldest = oldest->newer_wanted) {
        compute_again(oldest);
        if (of_rule) leave_inputs(oldest);
    }
}

/* ---- releasing --------------------------------------------------------------------------------------------------- */

/* If a rule or another released value needs t's released value, it will be computed again from its inputs, so these must stay
 * until then. */
static void hold_inputs(Tensor *t)
{
    if (t->data || t->needs_inputs || t->readers == 0) return;
    t->needs_inputs = true;
    for (int i = 0; i < t->n_in; i++)
        if (t->in[i] && t->in[i]->op && !reads_input(t->op, i)) t->in[i]->readers++;
}

static void drop(Tensor *t)
{
    t->dropped = true;
    release_value(t);
}

/* Whether it takes little time to compute it again. A result that linear and an activation computed in one pass has an input
 * without a value: it takes a product. */
static bool is_cheap(const Tensor *t)
{
    bool cheap = !t->op->is_product && (size_t)t->numel * sizeof(real) >= recompute_least_bytes;
    for (int i = 0; i < t->n_in; i++) {
        const Tensor *x = t->in[i];
        cheap = cheap && (!x || x->data || x->dropped);
    }
    return cheap;
}

/* An operation that is not computed again keeps what its rule reads, and the memory that it shares. */
static void keep_inputs(const Tensor *t, bool of_rule)
{
    for (int i = 0; i < t->n_in; i++) {
        Tensor *x = t->in[i];
        if (x && ((of_rule && reads_input(t->op, i)) || (x->buffer && x->buffer == t->buffer))) x->stays = true;
    }
}

/* Below that, a value costs less memory than time. The tests set another number. */
size_t recompute_least_bytes = 1 << 21;

AgMark ag_mark(void)
{
    return (AgMark){ context()->tape };
}

Tensor *ag_recompute_at(AgSite at, AgMark since, Tensor *y, AgRecompute what)
{
    check_tensor(at, "ag_recompute", "y", y, AG_REAL);
    if (what != AG_CHEAP && what != AG_PRODUCTS)
        ag_usage_error(at, "ag_recompute", "%d is not an AgRecompute; expected AG_CHEAP or AG_PRODUCTS", (int)what);
    Context *c = context();
    Tensor *end = c->tape;
    while (end && end != since.newest) end = end->older;
    if (!end && since.newest) ag_usage_error(at, "ag_recompute", "the scope in which ag_mark was called has ended");
    for (Tensor *t = c->tape; c->recording && t != end; t = t->older) {
        if (!t->op) continue;
        bool may_drop = t->op->recompute && t != y && !t->retained && !t->stays && !t->dropped;
        if (may_drop && (what == AG_PRODUCTS || t->readers == 0 || is_cheap(t))) drop(t);
        if (t->dropped) hold_inputs(t);
        else keep_inputs(t, !t->op->recompute);
    }
    return y;
}
