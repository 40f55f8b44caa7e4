/* trace.c: the nodes behind a tensor, and a backward pass on twins of them, one step at a time. */
#include "trace.h"

#include <string.h>

/* ---- which nodes ------------------------------------------------------------------------------------------------- */

/* The tensors found, each at its number. A tensor whose number is not that of its place has not been found. */
typedef struct { Tensor **item; uint32_t n, room; } Found;

static bool is_found(const Found *found, const Tensor *t)
{
    return t->number < found->n && found->item[t->number] == t;
}

static void find(Site at, const char *what, Found *found, Tensor *t)
{
    if (is_found(found, t)) return;
    if (found->n == found->room) {
        uint32_t room = found->room ? 2 * found->room : 64;
        Tensor **larger = scratch_new(at, what, room, sizeof *larger);
        if (found->n) memcpy(larger, found->item, found->n * sizeof *larger);
        found->item = larger;
        found->room = room;
    }
    t->number = found->n;
    found->item[found->n++] = t;
}

/* Inputs of a recorded operation alone: the search for NaN notes others, too. */
static int inputs(const Tensor *t)
{
    return t->op ? t->n_in : 0;
}

Tensor **nodes_behind(Site at, const char *what, Tensor *y, uint32_t *n)
{
    Found found = { NULL, 0, 0 };
    find(at, what, &found, y);
    for (uint32_t i = 0; i < found.n; i++) {
        const Tensor *t = found.item[i];
        for (int j = 0; j < inputs(t); j++)
            if (t->in[j]) find(at, what, &found, t->in[j]);
    }
    /* The tape gives the order of the operations, the newest first. */
    Tensor **newest_first = scratch_new(at, what, found.n, sizeof *newest_first);
    uint32_t ops = 0;
    for (Tensor *t = y; t; t = t->older)
        if (t->op && is_found(&found, t)) newest_first[ops++] = t;
    bool *placed = scratch_new(at, what, found.n, 1);
    memset(placed, 0, found.n);
    Tensor **node = scope_alloc(at, what, found.n * sizeof *node);
    *n = 0;
    while (ops > 0) {
        Tensor *t = newest_first[--ops];
        for (int j = 0; j < t->n_in; j++) {
            Tensor *x = t->in[j];
            if (!x || x->op || placed[x->number]) continue;
            placed[x->number] = true;
            node[(*n)++] = x;
        }
        node[(*n)++] = t;
    }
    if (*n == 0) node[(*n)++] = y;                      /* a leaf */
    for (uint32_t i = 0; i < *n; i++) node[i]->number = i;
    scratch_end();
    return node;
}

/* ---- twins ------------------------------------------------------------------------------------------------------- */

/* A tensor with t's value, outside its graph. */
static Tensor *twin_of(const Tensor *t)
{
    Tensor *twin = tensor_alias(t->site, t->made_by, &t->shape, (DType)t->dtype, t->buffer);
    twin->requires_grad = t->requires_grad;
    twin->retained = true;
    twin->number = t->number;
    return twin;
}

/* Makes it a result of t's operation on these inputs. */
static void twin_of_op(Tensor *twin, const Tensor *t, Tensor **in)
{
    twin->op = t->op;
    twin->in = in;
    twin->n_in = t->n_in;
    twin->args = t->args;
    if (t->saved) twin->saved = buffer_share(t->saved);
}

Story story_begin(Site at, const char *what, Tensor *loss)
{
    check_loss(at, what, loss, false);
    Story s = { .at = at, .what = what, .scope = ag_begin_at(at, AG_NO_GRAD) };
    s.node = nodes_behind(at, what, loss, &s.n);
    s.at_node = s.n;
    s.twin = scope_alloc(at, what, s.n * sizeof *s.twin);
    s.uses = scope_alloc(at, what, s.n * sizeof *s.uses);
    for (uint32_t i = 0; i < s.n; i++) {
        const Tensor *t = s.node[i];
        if (t->graph_released) error_graph_released(at, what, t);
        s.twin[i] = twin_of(t);
        if (!t->op) continue;
        s.ops++;
        Tensor **in = scope_alloc(at, what, (size_t)t->n_in * sizeof *in);
        for (int j = 0; j < t->n_in; j++) {
            if (!t->in[j]) continue;
            in[j] = s.twin[t->in[j]->number];
            s.uses[t->in[j]->number]++;
        }
        twin_of_op(s.twin[i], t, in);
    }
    *grad_into(s.twin[s.n - 1]).data = 1;
    return s;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* A copy of its gradient as it stands; NULL: none has arrived. */
static Tensor *gradient_now(const Story *s, const Tensor *x)
{
    if (!x || !x->grad) return NULL;
    Tensor *copy = tensor_new(s->at, s->what, &x->shape, AG_REAL);
    memcpy(copy->data, grad_of(x), (size_t)x->numel * sizeof(real));
    return copy;
}

/* Runs y's rule on inputs of its own, so that what each gets lies apart. */
static void run_apart(Story *s, const Tensor *y)
{
    Tensor *alone = twin_of(y), **in = scope_alloc(s->at, s->what, (size_t)y->n_in * sizeof *in);
    for (int j = 0; j < y->n_in; j++)
        if (y->in[j]) in[j] = twin_of(y->in[j]);
    twin_of_op(alone, y, in);
    alone->grad = buffer_share(y->grad);
    rule_run(alone);
    for (int j = 0; j < y->n_in; j++)
        if (in[j] && in[j]->grad) s->part[j] = tensor_alias(s->at, s->what, &in[j]->shape, AG_REAL, in[j]->grad);
}

static void end_step(Story *s)
{
    if (s->part) ag_end_at(s->at, s->step_scope);
    s->part = s->before = NULL;
}

bool story_step(Story *s)
{
    end_step(s);
    Tensor *y = NULL;
    while (s->at_node > 0 && !y) {
        const Tensor *next = s->twin[--s->at_node];
        if (next->op && next->grad) y = s->twin[s->at_node];
    }
    if (!y) return false;
    s->step_scope = ag_begin_at(s->at, AG_NO_GRAD);
    s->part = scope_alloc(s->at, s->what, (size_t)y->n_in * sizeof *s->part);
    s->before = scope_alloc(s->at, s->what, (size_t)y->n_in * sizeof *s->before);
    run_apart(s, y);
    for (int j = 0; j < y->n_in; j++) s->before[j] = gradient_now(s, y->in[j]);
    rule_run(y);
    return true;
}

void story_end(Story *s)
{
    end_step(s);
    ag_end_at(s->at, s->scope);
}
