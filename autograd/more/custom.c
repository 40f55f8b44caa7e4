/* custom.c: operations that the program defines (ag_custom). They are recorded like those of ops.def. */
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "more/custom_args.h"
#include "program_calls.h"
#include "op.h"
#include "scope.h"
#include "tape.h"
#include "tensor_struct.h"
#include "thread.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)NEEDS_INPUTS == (int)AG_CUSTOM_INPUTS && (int)NEEDS_X0 == AG_NEEDS_X(0) && (int)NEEDS_Y == AG_NEEDS_Y,
               "the rule of a program says what it reads as those of ops.def do");

/* The gradients that a rule reads and writes. They stay until it has returned, whatever it calls, also if it catches an error.
 * scopes: how many were open when its pass began. */
typedef struct { Buffer *gradient[AG_CUSTOM_INPUTS + 1]; int n, scopes; } Held;
static _Thread_local void *state;

static void let_go(void)
{
    for (Held *h = state; h->n > 0; ) buffer_drop(&h->gradient[--h->n]);
}

/* A rule may itself have ended the scope of its pass, and go on. */
static void let_go_with(int depth, bool in_pass)
{
    const Held *h = state;
    if (!in_pass && depth <= h->scopes) let_go();
}

static void hold(Held *h, Buffer *gradient)
{
    if (gradient) h->gradient[h->n++] = buffer_share(gradient);
}

static void custom_backward(Tensor *y)
{
    static const StateKind kind = { .size = sizeof(Held), .end = let_go, .scope_ends = let_go_with };
    Held *h = state ? state : thread_state(&state, &kind);
    const CustomArgs *c = y->args;
    real *dx[AG_CUSTOM_INPUTS] = { NULL };
    const Buffer *dy = y->grad, *gradient[AG_CUSTOM_INPUTS] = { NULL };
    let_go();                               /* of a rule that did not return */
    h->scopes = scopes_of_pass();
    for (int i = 0; i < y->n_in; i++) dx[i] = grad_to_add(y->in[i]);
    for (int i = 0; i < y->n_in; i++) gradient[i] = dx[i] ? y->in[i]->grad : NULL;
    for (int i = 0; i < y->n_in; i++) hold(h, dx[i] ? y->in[i]->grad : NULL);
    hold(h, y->grad);
    const Calls before = program_begins();
    c->custom->backward(&(AgCustomCall){ y->in, y->n_in, y, c->args, grad_of(y), dx });
    function_ends(before);
    if (!pass_runs()) return;               /* y may be freed */
    for (int i = 0; i < y->n_in; i++)
        if (gradient[i] && y->in[i]->grad != gradient[i])
            usage_error_of(y, y->op->name, "its backward rule has removed the gradient of input %d, or freed it", i);
    if (y->grad != dy) usage_error_of(y, y->op->name, "its backward rule has removed the gradient of its result");
    let_go();
}

static void check_custom(const AgCustom *op, Tensor *const *in, int n)
{
    if (!op || !op->name || !op->forward || !op->backward)
        ag_usage_error("ag_custom", "an operation needs a name, a forward and a backward function");
    if (n < 0 || n > AG_CUSTOM_INPUTS) ag_usage_error(op->name, "%d inputs; an operation has 0 to %d", n, AG_CUSTOM_INPUTS);
    if (n > 0 && !in) ag_usage_error(op->name, "in is NULL, expected %d inputs", n);
    if (op->needs & ~(AG_NEEDS_Y | (AG_NEEDS_Y - 1)))
        ag_usage_error(op->name, "needs is %#x, expected a sum of AG_NEEDS_X(i) and AG_NEEDS_Y", (unsigned)op->needs);
    for (int i = 0; i < n; i++) {
        char argument[32];
        snprintf(argument, sizeof argument, "input %d", i);
        if (in[i]) check_any(op->name, argument, in[i]);
    }
}

Tensor *ag_custom(const AgCustom *op, AgShape shape, Tensor *const *in, int n, const void *args, size_t size)
{
    check_custom(op, in, n);
    if (size && !args) ag_usage_error(op->name, "args is NULL, expected %zu bytes", size);
    CustomArgs *c = ag_scratch(1, sizeof *c);
    c->op = (Op){ .name = op->name, .function = op->name, .forward_text = op->forward_text, .backward_text = op->backward_text,
                  .backward = custom_backward, .needs = op->needs };
    c->custom = op;
    c->args = ag_scratch(size, 1);
    if (size) memcpy(c->args, args, size);
    Tensor *y = op_new_n(&c->op, &shape, in, n);
    y->args = c;
    k_fill(y->numel, reals(y), 0);
    const Op *recorded = y->op;
    y->op = NULL;                           /* forward may write y, as if it were a leaf */
    const AgScope scope = innermost_scope();
    const Calls before = program_begins();
    op->forward(&(AgCustomCall){ in, n, y, c->args, NULL, NULL });
    function_ends(before);
    check_scopes(op->name, "forward", scope);
    y->op = recorded;
    return op_done(y);
}
