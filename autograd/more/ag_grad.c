/* ag_grad.c: the gradients of chosen tensors, by a backward pass that leaves all others as they are. */
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/grad.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "scope.h"
#include "tape.h"
#include "tensor_struct.h"
#include "thread.h"

/* A gradient that is set aside: a tensor of the scope that shares its memory; NULL: none. */
typedef struct { Tensor *of, *gradient; bool retained; } Aside;

/* What is set aside now. */
typedef struct { Aside *item; int n; } Asides;
static _Thread_local void *state;

static void set_aside(Asides *a, Tensor *t)
{
    Tensor *gradient = tensor_grad(t);
    a->item[a->n++] = (Aside){ t, gradient, t->retained };
    buffer_drop(gradient_of(t));
}

static void put_back(const Aside *a)
{
    buffer_drop(gradient_of(a->of));
    a->of->retained = a->retained;
    if (!a->gradient) return;
    *gradient_of(a->of) = buffer_share(a->gradient->buffer);
    release_value(a->gradient);
}

/* After the pass, or an error in it. What was set aside twice is put back twice, last the gradient that it had at first. */
static void put_gradients_back(void)
{
    for (Asides *a = state; a && a->n > 0; ) put_back(&a->item[--a->n]);
}

static void leave_aside(int depth, bool in_pass)
{
    (void)depth;
    if (in_pass) put_gradients_back();
}

/* The gradients of the wanted tensors, of retained ones and of all leaves are set aside while the rules run. */
void ag_grad(Tensor *y, Tensor *const *in, int n, Tensor **out)
{
    check_loss(__func__, y, false);
    if (n < 1) ag_usage_error(__func__, "n is %d, expected 1 or more", n);
    ag_check_pointer(__func__, "in", in);
    ag_check_pointer(__func__, "out", out);
    for (int i = 0; i < n; i++) {
        check_tensor(__func__, "an item of in", in[i], AG_REAL);
        if (!in[i]->requires_grad) ag_usage_error(__func__, "item %d of in does not require a gradient", i);
    }
    pass_begins(__func__, true);
    static const StateKind kind = { .size = sizeof(Asides), .failed = put_gradients_back, .scope_ends = leave_aside };
    Asides *a = state ? state : thread_state(&state, &kind);
    int count = n;
    for (Tensor *t = y; t; t = t->older) count += t->op ? 1 + t->n_in : 0;
    a->item = scope_alloc(__func__, (size_t)count * sizeof *a->item);
    for (int i = 0; i < n; i++) {
        set_aside(a, in[i]);
        in[i]->retained = true;
    }
    for (Tensor *t = y; t; t = t->older) {
        if (t->op && t->retained) set_aside(a, t);
        for (int i = 0; t->op && i < t->n_in; i++) {
            Tensor *x = t->in[i];
            if (tensor_lives(x) && !x->op && x->requires_grad) set_aside(a, x);
        }
    }
    run_rules(y, NULL, false);
    for (int i = 0; i < n; i++) out[i] = tensor_grad(in[i]);
    put_gradients_back();
}
