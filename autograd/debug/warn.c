/* warn.c: tells of what is no error but likely a mistake, while ag_warn is on: another observer of the graph. */
#include "internal.h"
#include "ops/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>

enum { KEPT_STEPS = 4, PASSES_WITHOUT_STEP = 200, STEPS_IN_SCOPE = 20, MAX_KINDS = 32 };

/* What this thread's backward passes and optimizer steps were. */
typedef struct {
    bool stepped;               /* an optimizer has taken a step since the last pass */
    double loss;                /* of the last pass, */
    int same_losses;            /* and how many steps before had the same */
    const Tensor *kept;         /* a leaf that had a gradient when the last pass began; only compared, since it may be freed */
    int passes, steps;          /* how many it has kept that gradient for */
    uint64_t scope;             /* the innermost one at the last step, */
    const Tensor *newest;       /* the newest tensor then, */
    int steps_in_scope;         /* and how many steps before were in it, each with more tensors */
} Seen;
static _Thread_local Seen seen;

AG_PRINTF(3, 0) static void print_once(Place place, const char *what, const char *format, va_list list)
{
    static _Atomic(const char *) told[MAX_KINDS];
    if (!what) what = "ag_warning";
    if (!format) format = "the format is NULL";
    const char *former = format;
    for (int kind = 0; observer[WARN] && kind < MAX_KINDS && former; kind++) {
        former = NULL;
        if (!atomic_compare_exchange_strong(&told[kind], &former, format) && former == format) return;
    }
    if (former) return;
    char text[512];
    write_message(text, sizeof text, format, list);
    fprintf(stderr, "kaeru: warning: %s: %s (at %s)\n", what, text, place_text(place, (Place){ 0 }));
}

void ag_warning(const char *what, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_once(user_place(), what, format, list);
    va_end(list);
}

/* A warning of the program's call that made y. */
AG_PRINTF(2, 3) static void warning_of(const Tensor *y, const char *format, ...)
{
    const LayerCall *call = user_call();
    va_list list;
    va_start(list, format);
    print_once(call->site.file ? call->site : y->site, y->made_by, format, list);
    va_end(list);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static bool made_by(const Tensor *x, int op)
{
    return x->op == &op_table[op];
}

static void check_operation(const Tensor *y)
{
    const Tensor *x = y->in ? y->in[0] : NULL;
    if (made_by(y, OP_cross_entropy) && (made_by(x, OP_softmax) || made_by(x, OP_masked_softmax)))
        warning_of(y, "its input is the result of a softmax, which it computes itself: expected logits");
    if (made_by(y, OP_binary_cross_entropy) && made_by(x, OP_sigmoid))
        warning_of(y, "its input is the result of a sigmoid, which it computes itself: expected logits");
    for (int64_t i = 0; made_by(y, OP_nll_loss) && i < x->numel; i++)
        if (reals(x)[i] > 0)
            warning_of(y, "its input has numbers above 0: expected those of ag_log_softmax");
}

/* ---- passes and steps -------------------------------------------------------------------------------------------- */

static void check_change(const Tensor *loss)
{
    double value = loss->numel == 1 ? (double)reals(loss)[0] : 0;
    bool stands = fabs(value) > 1e-9 && value == seen.loss;     /* a loss of nearly 0 has no way to go */
    if (seen.stepped) seen.same_losses = stands ? seen.same_losses + 1 : 0;
    seen.loss = value;
    if (seen.same_losses == 50)
        ag_warning("ag_backward", "the loss was %g in 50 steps: does it depend on the parameters?", value);
}

/* A leaf of the graph that has a gradient already: the same as in the last pass if it is still one; NULL: none. */
static const Tensor *leaf_with_gradient(const Tensor *loss)
{
    const Tensor *found = NULL;
    for (const Tensor *y = loss; y; y = y->older) {
        for (int i = 0; y->op && i < y->n_in; i++) {
            const Tensor *x = y->in[i];
            if (!x || x->op || !x->owned || !x->grad) continue;
            if (x == seen.kept) return x;
            found = x;
        }
    }
    return found;
}

static void check_gradients(const Tensor *loss)
{
    const Tensor *leaf = leaf_with_gradient(loss);
    bool same = leaf && leaf == seen.kept;
    seen.passes = same ? seen.passes + 1 : 0;
    seen.steps = same ? seen.steps + seen.stepped : 0;
    seen.kept = leaf;
    if (seen.steps == KEPT_STEPS || (seen.passes == PASSES_WITHOUT_STEP && seen.steps == 0))
        ag_warning("ag_backward", "the gradients of %s %s add up: %d passes and %d steps of optimizers have not used "
                   "them; expected a step of the optimizer of a module in which nn_child registers it, tensor_zero_grad, or "
                   "tensor_set_requires_grad(t, false)", leaf->name ? leaf->name : "a leaf", shape_text(leaf->shape),
                   seen.passes, seen.steps);
}

static void check_seed(void)
{
    static _Atomic(const void *) first;     /* a thread that has used random numbers of seed 0 */
    const void *other = NULL;
    AgRandom random = ag_random_state();
    if (random.seed != 0 || random.counter == 0 || atomic_compare_exchange_strong(&first, &other, thread_id())) return;
    if (other != thread_id())
        ag_warning("ag_backward", "this thread has the random numbers of another: expected ag_seed with its own number");
}

bool ag_warn_of_step(void)
{
    if (!observer[WARN]) return false;
    uint64_t scope = innermost_scope().serial;
    bool grows = scope && scope == seen.scope && tape() != seen.newest;
    seen.steps_in_scope = grows ? seen.steps_in_scope + 1 : 0;
    seen.scope = scope;
    seen.newest = tape();
    seen.stepped = true;
    if (seen.steps_in_scope == STEPS_IN_SCOPE)
        ag_warning("ag_begin", "%d steps were in one scope, which grows: expected ag_begin and ag_end inside the loop",
                   STEPS_IN_SCOPE);
    return true;
}

static void see(Event event, Tensor *t)
{
    if (event == COMPUTED) check_operation(t);
    const char *layer = user_call()->function;
    /* ag_gradcheck computes a function without a graph, again and again with the same masks. */
    if (event == DROPPED && layer && strcmp(layer, "ag_gradcheck") != 0 && !ag_recording())
        warning_of(t, "dropout acts in a scope AG_NO_GRAD: expected nn_eval(model) before that");
    if (event != PASS_BEGINS) return;
    check_change(t);
    check_gradients(t);
    check_seed();
    seen.stepped = false;
}

void ag_warn(bool on)
{
    observe(WARN, on ? see : NULL);
}
