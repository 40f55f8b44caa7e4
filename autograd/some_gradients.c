/* some_gradients.c: the gradients of chosen tensors, by a backward pass that leaves all others as they are. */
#include "internal.h"

/* A gradient that is set aside: a tensor of the scope that shares its memory; NULL: none. */
typedef struct { Tensor *of, *gradient; bool retained; } Aside;

static Aside set_aside(AgSite at, Tensor *t)
{
    Aside a = { t, tensor_grad_at(at, t), t->retained };
    buffer_drop(gradient_of(t));
    return a;
}

static void put_back(const Aside *a)
{
    buffer_drop(gradient_of(a->of));
    a->of->retained = a->retained;
    if (!a->gradient) return;
    *gradient_of(a->of) = buffer_share(a->gradient->buffer);
    release_value(a->gradient);
}

/* The gradients of the wanted tensors, of retained ones and of all leaves are set aside while the rules run. What is set aside
 * twice is put back twice, last the gradient that it had at first. */
void ag_grad_at(AgSite at, Tensor *y, Tensor *const *in, int n, Tensor **out)
{
    check_loss(at, __func__, y, false);
    if (n < 1) ag_usage_error(at, __func__, "n is %d, expected 1 or more", n);
    ag_check_pointer_at(at, __func__, "in", in);
    ag_check_pointer_at(at, __func__, "out", out);
    for (int i = 0; i < n; i++) {
        check_tensor(at, __func__, "an item of in", in[i], AG_REAL);
        if (!in[i]->requires_grad) ag_usage_error(at, __func__, "item %d of in does not require a gradient", i);
    }
    pass_begins(at, true);
    int count = n;
    for (Tensor *t = y; t; t = t->older) count += t->op ? 1 + t->n_in : 0;
    Aside *aside = scope_alloc(at, __func__, (size_t)count * sizeof *aside);
    count = 0;
    for (int i = 0; i < n; i++) {
        aside[count++] = set_aside(at, in[i]);
        in[i]->retained = true;
    }
    for (Tensor *t = y; t; t = t->older) {
        if (t->op && t->retained) aside[count++] = set_aside(at, t);
        for (int i = 0; t->op && i < t->n_in; i++) {
            Tensor *x = t->in[i];
            if (x && x->magic == TENSOR_ALIVE && !x->op && x->requires_grad) aside[count++] = set_aside(at, x);
        }
    }
    run_rules(at, y, NULL, false);
    for (int i = 0; i < n; i++) out[i] = tensor_grad_at(at, in[i]);
    while (count > 0) put_back(&aside[--count]);
}
