/* sequential.c: Sequential of nn.h, which applies layers in turn, and what takes any layer with one input. */
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

NN_FORWARD(Sequential, nn_sequential)

static void check_forward(AgSite at, const char *what, const Module *layer)
{
    nn_check_at(at, what, layer, 0);
    if (!layer->forward)
        ag_usage_error(at, what, "a %s has no forward with one input (module.forward is not set)", layer->type);
}

Sequential *nn_sequential_new_at(AgSite at)
{
    AG_LAYER(at);
    Sequential *s = nn_new(Sequential);
    s->module.forward = nn_sequential_forward;
    return s;
}

void nn_sequential_add_at(AgSite at, Sequential *s, void *layer)
{
    NN_LAYER_OF(at, s, "Sequential");
    check_forward(at, __func__, layer);
    nn_list_add_at(at, s, layer);
}

/* An activation as a module. Its type is the name of the function. */
typedef struct { Module module; AgActivation kind; } ActivationLayer;

static Tensor *activation_forward(AgSite at, void *self, Tensor *x)
{
    return ag_activate_at(at, ((ActivationLayer *)self)->kind, x);
}

void nn_sequential_activation_at(AgSite at, Sequential *s, AgActivation kind)
{
    static const char *const name[] = { "identity", "relu", "gelu", "gelu_erf", "tanh", "sigmoid", "silu" };
    NN_LAYER_OF(at, s, "Sequential");
    if ((int)kind < AG_IDENTITY || kind > AG_SILU) ag_usage_error(at, __func__, "%d is not an AgActivation", (int)kind);
    ActivationLayer *layer = (ActivationLayer *)nn_new_sized_at(at, sizeof *layer, name[kind]);
    layer->module.forward = activation_forward;
    layer->kind = kind;
    nn_list_add_at(at, s, layer);
}

Tensor *nn_sequential_at(AgSite at, Sequential *s, Tensor *x)
{
    NN_LAYER_OF(at, s, "Sequential");
    for (int i = 0; i < s->n; i++) {
        Module *layer = nn_item(Module, s, i);
        check_forward(AG_HERE, __func__, layer);
        x = layer->forward(AG_HERE, layer, x);
    }
    return x;
}

Tensor *nn_recompute_at(AgSite at, void *layer, Tensor *x)
{
    AG_LAYER(at);
    check_forward(at, __func__, layer);
    AgMark begin = ag_mark();
    return ag_recompute_at(at, begin, ((Module *)layer)->forward(at, layer, x), AG_PRODUCTS);
}
