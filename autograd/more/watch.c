/* watch.c: tells a program of each gradient of a leaf that is complete, while the backward pass goes on. */
#include "gradients.h"
#include "kaeru/tensor.h"
#include "kaeru/watch.h"
#include "program_calls.h"
#include "observe.h"
#include "tensor_struct.h"

enum { WATCH = 2 };         /* its number among the observers */

static _Thread_local AgWatch watch;

/* Sets the `users` of each leaf to the number of recorded operations on it, from y down. An error in an earlier pass may have
 * left other numbers. */
static void count_leaf_users(Tensor *from)
{
    for (int count = 0; count < 2; count++) {
        for (Tensor *y = from; y; y = y->older) {
            for (int i = 0; y->op && i < y->n_in; i++) {
                Tensor *x = y->in[i];
                if (tensor_lives(x) && !x->op) x->release.users = count ? x->release.users + 1 : 0;
            }
        }
    }
}

static void call_program(void (*program)(void *arg, Tensor *t), Tensor *t)
{
    const Calls before = program_begins();
    program(watch.arg, t);
    function_ends(before);
}

static void tell_complete_leaves(const Tensor *y)
{
    for (int i = 0; pass_runs() && i < y->n_in; i++) {
        Tensor *x = y->in[i];
        bool is_leaf = tensor_lives(x) && !x->op;
        if (is_leaf && --x->release.users == 0 && x->grad && watch.complete) call_program(watch.complete, x);
    }
}

static void see(Event event, Tensor *t)
{
    if (event == PASS_BEGINS && watch.begun) call_program(watch.begun, t);
    if (event == PASS_BEGINS && watch.complete && pass_runs()) count_leaf_users(t);
    if (event == NODE_PASSED && watch.complete) tell_complete_leaves(t);
}

void ag_watch_backward(AgWatch w)
{
    watch = w;
    observe(WATCH, w.begun || w.complete ? see : NULL, 0);
}
