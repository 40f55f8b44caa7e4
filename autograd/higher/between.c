/* between.c: lists the tensors between some tensors and a result. Inputs are older than their
 * results, so one walk down the tape meets each operation after all of its users. */
#include "between.h"
#include "checks.h"
#include "kaeru/autograd.h"
#include "op.h"
#include "scope.h"
#include "tangents.h"

#include <string.h>

BetweenItem *between_item(const Between *w, const Tensor *t)
{
    uint32_t i = t ? t->origin.number : 0;
    return t && i < w->n && w->item[i].tensor == t ? &w->item[i] : NULL;
}

static void make_room(Between *w)
{
    w->most = w->most > 0 ? 2 * w->most : 64;
    BetweenItem *item = scope_alloc(w->what, w->most * sizeof *item);
    if (w->n > 0) {
        memcpy(item, w->item, w->n * sizeof *item);
    }
    w->item = item;
}

/* Returns the item of t, which is new if t was not listed. */
static BetweenItem *list(Between *w, Tensor *t)
{
    BetweenItem *listed = between_item(w, t);
    if (listed) return listed;
    if (w->n == w->most) {
        make_room(w);
    }
    BetweenItem *item = &w->item[w->n];
    item->tensor = t;
    item->former = t->origin.number;
    t->origin.number = w->n++;
    return item;
}

/* Finds out which items depend on the starts, from the oldest operation on. */
static void mark_dependent(Between *w)
{
    for (uint32_t k = w->count; k > 0; k--) {
        BetweenItem *item = between_operation(w, k - 1);
        const Tensor *t = item->tensor;
        for (int i = 0; i < t->n_in; i++) {
            const BetweenItem *x = between_item(w, t->in[i]);
            item->depends = item->depends || (x && x->depends);
        }
    }
}

Between between_begin(const char *what, Tensor *y, Tensor *const *in, int n)
{
    Between w = { .what = what };
    bool has_leaf = false;
    uint32_t starts = 0, missing = 0;       /* operations that are listed and not passed yet */
    for (int i = 0; i < n; i++) {
        BetweenItem *start = list(&w, in[i]);
        has_leaf = has_leaf || !in[i]->op;
        if (in[i]->op && !start->is_start) {
            starts++;
            missing++;
        }
        start->is_start = true;
        start->depends = true;
    }
    if (y->op && !between_item(&w, y)) {
        missing++;
    }
    list(&w, y);
    for (Tensor *t = y; t && missing > 0 && (has_leaf || starts > 0); t = t->older) {
        BetweenItem *item = t->op ? between_item(&w, t) : NULL;
        if (!item) continue;
        missing--;
        starts -= item->is_start;
        w.item[w.count++].order = t->origin.number;
        for (int i = 0; i < t->n_in; i++) {
            Tensor *x = t->in[i];
            if (!tensor_lives(x) || !x->op || between_item(&w, x)) continue;
            list(&w, x);
            missing++;
        }
    }
    mark_dependent(&w);
    return w;
}

void between_end(Between *w)
{
    while (w->n > 0) {
        w->n--;
        w->item[w->n].tensor->origin.number = w->item[w->n].former;
    }
}

/* Checks an operation as backward does before its rule. */
static void check_operation(const char *what, Tensor *t)
{
    if (!tangent_rule(t)) {
        ag_usage_error(what, "%s (made at %s) has no tangent rule, so its gradients have no "
                       "derivatives", t->op->function,
                       place_text(t->origin.site, t->origin.user_site));
    }
    if (t->release.graph_released) {
        error_graph_released(what, t);
    }
    for (int i = 0; i <= t->n_in; i++) {
        Tensor *x = read_by_rule(t, i);
        if (x && !x->data && x->recompute.restore) {
            x->recompute.restore(x, what, true);
        }
    }
    check_inputs(what, t, true);
}

void between_check(const Between *w)
{
    for (uint32_t k = w->count; k > 0; k--) {
        const BetweenItem *item = between_operation(w, k - 1);
        bool is_passed = false;
        for (int i = 0; i < item->tensor->n_in; i++) {
            const BetweenItem *x = between_item(w, item->tensor->in[i]);
            is_passed = is_passed || (x && x->depends);
        }
        if (is_passed) {
            check_operation(w->what, item->tensor);
        }
    }
}
