/* layers.c: the layers of nn.h. Each has a constructor, which makes the module and its parameters,
 * and a forward function, which calls an operation with them.
 *
 * A program calls nn_linear by a macro of the same name, which notes the line of the call for error
 * messages (kaeru/places.h). NN_LAYER_OF checks the module, and notes the name of the function
 * until it returns (module.h). NN_FORWARD(Linear, nn_linear) defines nn_linear_forward for a
 * Sequential, which calls its layers through module.forward.
 *
 * Modules are in module.c; read attention.c next. */
#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"
#include "walk.h"

#include <string.h>

/* ---- Linear ---------------------------------------------------------------------------------- */

NN_FORWARD(Linear, nn_linear)

Linear *nn_linear_new_with(int64_t in, int64_t out, bool bias)
{
    AG_LAYER;
    if (in < 1 || out < 1) {
        ag_usage_error(__func__, "sizes %lld and %lld, expected 1 or more", (long long)in,
                       (long long)out);
    }
    Linear *l = nn_new(Linear);
    l->module.forward = nn_linear_forward;
    nn_param(l, weight, SHAPE(out, in));
    if (bias) {
        nn_param(l, bias, SHAPE(out));
    }
    fill_by_fan_in((double)in, l->weight, l->bias);
    return l;
}

bool is_linear(const Module *m)
{
    return strcmp(m->type, "Linear") == 0 && m->size == sizeof(Linear);
}

Linear *walk_adapted(Walk *w)
{
    while (walk_slot(w)) {
        Linear *l = (Linear *)w->holder;
        if (is_linear(w->holder) && l->adapter && w->slot->tensor == l->weight) return l;
    }
    return NULL;
}

/* Returns y + adapter(x). Checks the shape, since ag_add also takes one that it can repeat. */
static Tensor *add_adapter(const char *what, Module *adapter, Tensor *x, Tensor *y)
{
    Tensor *added = call_forward(what, adapter, x);
    check_tensor(what, "the result of the adapter", added, AG_REAL);
    AgShape found = tensor_shape(added), expected = tensor_shape(y);
    if (!ag_shape_equal(found, expected)) {
        ag_usage_error(what, "the adapter, a %s, gives %s, expected %s", adapter->type,
                       ag_shape_string(found), ag_shape_string(expected));
    }
    return ag_add(y, added);
}

/* (..,in) -> (..,out) */
Tensor *nn_linear(Linear *l, Tensor *x)
{
    NN_LAYER_OF(l, "Linear");
    Tensor *y = ag_linear(x, l->weight, l->bias);
    return l->adapter ? add_adapter(__func__, l->adapter, x, y) : y;
}

/* (..,in) -> (..,out) */
Tensor *nn_linear_activate(Linear *l, Tensor *x, AgActivation kind)
{
    NN_LAYER_OF(l, "Linear");
    if (l->adapter) return ag_activate(kind, nn_linear(l, x));
    return ag_linear_activate(x, l->weight, l->bias, kind);
}

/* ---- Embedding ------------------------------------------------------------------------------- */

NN_FORWARD(Embedding, nn_embedding)

Embedding *nn_embedding_new(int64_t count, int64_t width)
{
    AG_LAYER;
    if (count < 1 || width < 1) {
        ag_usage_error(__func__, "%lld rows of width %lld, expected 1 or more", (long long)count,
                       (long long)width);
    }
    Embedding *e = nn_new(Embedding);
    e->module.forward = nn_embedding_forward;
    ag_fill_normal(nn_param(e, weight, SHAPE(count, width)), 0, 1);
    return e;
}

/* (..) -> (..,width) */
Tensor *nn_embedding(Embedding *e, Tensor *ids)
{
    NN_LAYER_OF(e, "Embedding");
    return ag_embedding(e->weight, ids);
}

/* ---- LayerNorm and RMSNorm ------------------------------------------------------------------- */

NN_FORWARD(LayerNorm, nn_layer_norm)
NN_FORWARD(RMSNorm, nn_rms_norm)

static void check_norm(const char *what, int64_t width, double eps)
{
    if (width < 1) {
        ag_usage_error(what, "width %lld, must be 1 or more", (long long)width);
    }
    check_number(what, "eps", eps, eps >= 0, "a finite number of 0 or more");
}

LayerNorm *nn_layer_norm_new_with(int64_t width, AgNorm kind, bool bias)
{
    AG_LAYER;
    check_norm(__func__, width, kind.eps);
    if (kind.unbiased && width == 1) {
        ag_usage_error(__func__, "width 1: the unbiased variance of one item is 0/0, expected 2 or "
                       "more");
    }
    LayerNorm *l = nn_new(LayerNorm);
    l->module.forward = nn_layer_norm_forward;
    l->kind = kind;
    /* The Annotated Transformer calls gamma and beta a_2 and b_2, PyTorch weight and bias. */
    const AgNorm a = AG_NORM_ANNOTATED;
    bool annotated = kind.eps == a.eps && kind.eps_inside == a.eps_inside &&
                     kind.unbiased == a.unbiased;
    ag_fill(nn_param_named(l, gamma, SHAPE(width), "%s", annotated ? "a_2" : "weight"), 1);
    if (bias) {
        nn_param_named(l, beta, SHAPE(width), "%s", annotated ? "b_2" : "bias");
    }
    return l;
}

/* (..,width) -> (..,width) */
Tensor *nn_layer_norm(LayerNorm *l, Tensor *x)
{
    NN_LAYER_OF(l, "LayerNorm");
    return ag_layer_norm(x, l->gamma, l->beta, l->kind);
}

RMSNorm *nn_rms_norm_new_with(int64_t width, double eps)
{
    AG_LAYER;
    check_norm(__func__, width, eps);
    RMSNorm *l = nn_new(RMSNorm);
    l->module.forward = nn_rms_norm_forward;
    l->eps = eps;
    ag_fill(nn_param_named(l, gamma, SHAPE(width), "weight"), 1);
    return l;
}

/* (..,width) -> (..,width) */
Tensor *nn_rms_norm(RMSNorm *l, Tensor *x)
{
    NN_LAYER_OF(l, "RMSNorm");
    return ag_rms_norm(x, l->gamma, l->eps);
}

/* ---- Dropout --------------------------------------------------------------------------------- */

NN_FORWARD(Dropout, nn_dropout)

Dropout *nn_dropout_new(double p)
{
    AG_LAYER;
    if (!(p >= 0 && p < 1)) {
        ag_usage_error(__func__, "probability %g, must be in [0, 1)", p);
    }
    Dropout *d = nn_new(Dropout);
    d->module.forward = nn_dropout_forward;
    d->p = p;
    return d;
}

/* (..) -> (..) */
Tensor *nn_dropout(Dropout *d, Tensor *x)
{
    NN_LAYER_OF(d, "Dropout");
    check_number(__func__, "p", d->p, d->p >= 0 && d->p < 1, "0 <= p < 1");
    if (d->module.training && d->p > 0) return ag_dropout(x, d->p);
    check_tensor(__func__, "x", x, AG_REAL);
    return x;
}
