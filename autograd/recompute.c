/* recompute.c: ag_recompute, which keeps the inputs of a function and runs it again during backward (Chen et al. 2016).
 *
 * The first run is in a scope of its own, which records nothing and collects the leaves that the function uses and that require
 * a gradient. The result becomes one node of the graph. Its inputs are those of the call and these leaves.
 *
 * The rule of this node runs the function again, with the random state and the precision of the first run, in a scope that
 * records, and runs the rules of this scope. The gradients get the same bits as without recomputation: the rules are the same,
 * their order on the tape is the same, and each adds to the same sum. For the last of these, an input that is itself a result
 * has a stand-in, a leaf with its value, which takes over the sum so far and gives it back. */
#include <string.h>

#include "internal.h"
#include "reduce.h"

/* What the rule needs of the call. */
typedef struct {
    AgFunction *f;
    void *arg;
    int n;                      /* inputs of the call; the leaves follow them in `in` */
    Tensor **in;                /* those of the node itself. In a copy of the node (trace.c), y->in has copies. */
    AgRandom random;            /* the state before the first run */
    uint64_t hash;              /* of the result */
} Call;

static ScopeState *innermost(void)
{
    Context *c = context();
    return &c->scope[c->depth - 1];
}

/* ---- the leaves that the function uses --------------------------------------------------------------------------- */

static bool is_among(const Tensor *t, Tensor *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == t) return true;
    return false;
}

static bool made_in(const ScopeState *s, const Tensor *t)
{
    if (t->owned) return false;
    for (const Tensor *u = context()->tape; u != s->tape; u = u->older)
        if (u == t) return true;
    return false;
}

static Tensor **leaves_of(const ScopeState *s)
{
    return s->leaves ? buffer_data(s->leaves) : NULL;
}

static void add_leaf(Site at, ScopeState *s, Tensor *leaf)
{
    size_t used = (size_t)s->n_leaves * sizeof leaf;
    if (!s->leaves || s->leaves->size < used + sizeof leaf) {
        Buffer *larger = buffer_new(at, "ag_recompute", used ? 2 * used : 32 * sizeof leaf);
        if (used) memcpy(buffer_data(larger), leaves_of(s), used);
        buffer_release(s->leaves);
        s->leaves = larger;
    }
    leaves_of(s)[s->n_leaves++] = leaf;
}

/* A result from outside would get no gradient, because the first run records nothing. */
_Noreturn static void error_result_from_outside(Site at, const char *what, const Tensor *t)
{
    char place[PLACE_TEXT];
    ag_usage_error(at, what, "the function of ag_recompute uses %s, made by %s at %s, which is a result from outside of it: "
                   "pass it as an input", t->name ? t->name : "a tensor", t->made_by, place_text(t->site, t->user_site, place));
}

void recompute_collect(Site at, const char *what, Tensor *const *in, int n)
{
    ScopeState *s = innermost();
    for (int i = 0; s->collects && i < n; i++) {
        if (!in[i] || !in[i]->requires_grad) continue;
        if (in[i]->op) error_result_from_outside(at, what, in[i]);
        if (!is_among(in[i], leaves_of(s), s->n_leaves) && !made_in(s, in[i])) add_leaf(at, s, in[i]);
    }
}

/* ---- runs of the function ---------------------------------------------------------------------------------------- */

/* Sets run[i] to what the function gets or uses for in[i]: a leaf itself, or the stand-in of a result, on the memory of
 * value[i]. */
static void make_inputs(Site at, Tensor **run, Tensor *const *in, Tensor *const *value, int n)
{
    for (int i = 0; i < n; i++) {
        run[i] = in[i];
        if (!in[i]->op) continue;
        int first = 0;
        while (in[first] != in[i]) first++;
        run[i] = first < i ? run[first] : tensor_alias(at, in[i]->made_by, &in[i]->shape, AG_REAL, value[i]->buffer);
        run[i]->requires_grad = true;
    }
}

/* Exchanges the gradients of the node's inputs and of what the function used for them. */
static void swap_gradients(const Tensor *y, Tensor *const *run)
{
    for (int i = 0; i < y->n_in; i++) {
        if (run[i] == y->in[i] || is_among(run[i], run, i)) continue;
        Buffer *grad = run[i]->grad;
        run[i]->grad = y->in[i]->grad;
        y->in[i]->grad = grad;
    }
}

static Tensor *run_function(Site at, const Call *call, Tensor *const *run)
{
    __attribute__((cleanup(ag_layer_end), unused)) const int layer = ag_layer_begin(at, "ag_recompute");
    Tensor **in = scope_alloc(at, "ag_recompute", (size_t)call->n * sizeof *in);        /* f may write to its list */
    if (call->n > 0) memcpy(in, run, (size_t)call->n * sizeof *in);
    return call_function(at, "ag_recompute", call->f, in, call->arg);
}

static Tensor *run_again(const Tensor *y, const Call *call, Tensor *const *run)
{
    Context *c = context();
    AgRandom before = c->random;
    c->random = call->random;
    c->precision = (AgPrecision)y->precision;
    Tensor *result = run_function(y->site, call, run);
    c->random = before;
    if (guard_hash(result) != call->hash && k_all_finite(result->numel, result->data))      /* the bits of a NaN may differ */
        ag_usage_error(y->site, "ag_recompute", "the second run of the function, during backward, gave another result than the "
                       "first: values or settings (nn_eval) that it uses have changed, or it keeps a state of its own");
    return result;
}

static void recompute_backward(Tensor *y)
{
    const Call *call = y->args;
    Scope s = ag_begin_at(y->site, AG_RECORD);
    Tensor **run = scope_alloc(y->site, "ag_recompute", (size_t)y->n_in * sizeof *run);
    make_inputs(y->site, run, call->in, y->in, y->n_in);
    Tensor *result = run_again(y, call, run);
    swap_gradients(y, run);
    grad_pass(result, y);
    backward_rules_run(y->site, context()->tape, innermost()->tape);
    swap_gradients(y, run);
    ag_end_at(y->site, s);
}

/* ---- the operation ----------------------------------------------------------------------------------------------- */

static const Op recompute = { "recompute", recompute_backward, NULL, NEEDS_ALL_X, "a function of the program",
                              "the function runs again, then its rules", NULL, NULL };

static void check_call(Site at, AgFunction *f, Tensor *const *in, int n)
{
    ag_check_pointer_at(at, "ag_recompute", "f", (const void *)(uintptr_t)f);
    if (n < 0) ag_usage_error(at, "ag_recompute", "%d inputs, expected 0 or more", n);
    if (n > 0) ag_check_pointer_at(at, "ag_recompute", "in", in);
    for (int i = 0; i < n; i++) {
        char argument[32];
        snprintf(argument, sizeof argument, "input %d", i);
        check_any(at, "ag_recompute", argument, in[i]);
    }
    if (context()->depth == 0)
        ag_usage_error(at, "ag_recompute", "no scope is open to own the result: call ag_begin first");
}

/* The node of the result: `value` and `leaves` are those of the first run. */
static Tensor *node_new(Site at, Call *call, Tensor *const *in, const Shape *shape, Buffer *value, Tensor *const *leaves,
                        int n_leaves)
{
    int n = call->n;
    Tensor **all = scope_alloc(at, "ag_recompute", (size_t)(n + n_leaves) * sizeof *all);
    if (n > 0) memcpy(all, in, (size_t)n * sizeof *all);
    for (int i = 0; i < n_leaves; i++)
        if (!is_among(leaves[i], in, call->n)) all[n++] = leaves[i];
    Tensor *y = op_new_sharing(at, &recompute, shape, value, all, n);
    if (y->op) {
        call->in = all;
        call->hash = guard_hash(y);
        *(Call *)op_args(y, sizeof *call) = *call;
    }
    return op_done(y);
}

Tensor *ag_recompute_at(Site at, AgFunction *f, void *arg, Tensor *const *in, int n)
{
    check_call(at, f, in, n);
    Context *c = context();
    Call call = { .f = f, .arg = arg, .n = n, .random = c->random };
    bool collects = c->recording || innermost()->collects;
    Scope s = ag_begin_at(at, AG_NO_GRAD);
    ScopeState *state = innermost();
    state->collects = collects;
    Tensor **run = scope_alloc(at, "ag_recompute", (size_t)n * sizeof *run);
    make_inputs(at, run, in, in, n);
    Tensor *result = run_function(at, &call, run);
    recompute_collect(at, "ag_recompute", &result, 1);                  /* f may return one of them */
    Shape shape = result->shape;
    Buffer *value = buffer_share(result->buffer), *leaves = state->leaves;
    int n_leaves = state->n_leaves;
    scratch_adopt(value);                   /* keeps both between the two scopes */
    if (leaves) scratch_adopt(leaves);
    state->leaves = NULL;
    ag_end_at(at, s);
    return node_new(at, &call, in, &shape, value, leaves ? buffer_data(leaves) : NULL, n_leaves);
}
