/* warn.c: tells of what is no error but likely a mistake, while ag_warn is on: another observer of the graph. */
#include "errors.h"
#include "kaeru/debug.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "program_calls.h"
#include "observe.h"
#include "observers.h"
#include "op.h"
#include "scope.h"
#include "shape.h"
#include "tensor_struct.h"
#include "thread.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { KEPT_STEPS = 4, PASSES_WITHOUT_STEP = 200, STEPS_IN_SCOPE = 20 };

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

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Returns whether no warning had this format before. False after MAX_KINDS formats. */
static bool is_new_warning(const char *format)
{
    enum { MAX_KINDS = 32 };
    static _Atomic(const char *) told[MAX_KINDS];
    for (int i = 0; i < MAX_KINDS; i++) {
        const char *former = NULL;
        if (atomic_compare_exchange_strong(&told[i], &former, format)) return true;
        if (former == format) return false;
    }
    return false;
}

/* Writes a warning to stderr, once for each format. */
AG_PRINTF(3, 0) static void write_warning(Place at, const char *what, const char *format, va_list list)
{
    if (!what) what = "ag_warning";
    if (!format) format = "the format is NULL";
    if (!is_new_warning(format)) return;
    char text[512];
    write_message(text, sizeof text, format, list);
    fprintf(stderr, "kaeru: warning: %s: %s (at %s)\n", what, text, place_text(at, (Place){ 0 }));
}
WarningWriter *const warning_writer = write_warning;

/* A warning of the program's call that made y. */
AG_PRINTF(2, 3) static void warning_of(const Tensor *y, const char *format, ...)
{
    const LayerCall *call = outermost_layer();
    va_list list;
    va_start(list, format);
    write_warning(call->site.file ? call->site : y->origin.site, y->origin.made_by, format, list);
    va_end(list);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Returns whether x is a recorded result of this operation of the library; the program's own have no names of inputs. */
static bool made_by(const Tensor *x, const char *operation)
{
    return x->op && x->op->inputs && strcmp(x->op->name, operation) == 0;
}

static void check_operation(const Tensor *y)
{
    const Tensor *x = y->in ? y->in[0] : NULL;
    if (made_by(y, "cross_entropy") && (made_by(x, "softmax") || made_by(x, "masked_softmax")))
        warning_of(y, "its input is the result of a softmax, which it computes itself: expected logits");
    if (made_by(y, "binary_cross_entropy") && made_by(x, "sigmoid"))
        warning_of(y, "its input is the result of a sigmoid, which it computes itself: expected logits");
    for (int64_t i = 0; made_by(y, "nll_loss") && i < x->numel; i++)
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
                   "tensor_set_requires_grad(t, false)", leaf->origin.name ? leaf->origin.name : "a leaf",
                   shape_text(leaf->shape), seen.passes, seen.steps);
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

static void check_step(void)
{
    uint64_t scope = innermost_scope().serial;
    bool grows = scope && scope == seen.scope && tape() != seen.newest;
    seen.steps_in_scope = grows ? seen.steps_in_scope + 1 : 0;
    seen.scope = scope;
    seen.newest = tape();
    seen.stepped = true;
    if (seen.steps_in_scope == STEPS_IN_SCOPE)
        ag_warning("ag_begin", "%d steps were in one scope, which grows: expected ag_begin and ag_end inside the loop",
                   STEPS_IN_SCOPE);
}

static void see(Event event, Tensor *t)
{
    if (event == COMPUTED) check_operation(t);
    if (event == STEP_BEGINS) check_step();
    const char *layer = outermost_layer()->function;
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
    observe(WARN, on ? see : NULL, TELL_WARNINGS);
}
