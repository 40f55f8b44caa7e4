/* sequential.c: Sequential of nn.h, a list of layers, each of which gets the output of the one
 * before. A layer in it has one input: nn_sequential and nn_recompute call it by module.forward. */
#include "kaeru/autograd.h"
#include "kaeru/nn.h"
#include "walk.h"

NN_FORWARD(Sequential, nn_sequential)

Sequential *nn_sequential_new(void)
{
    AG_LAYER;
    Sequential *s = nn_new(Sequential);
    s->module.forward = nn_sequential_forward;
    return s;
}

void nn_sequential_add(Sequential *s, void *layer)
{
    NN_LAYER_OF(s, "Sequential");
    check_forward(__func__, layer);
    nn_list_add(s, layer);
}

/* An activation as a module. Its type, for messages, is the name of the activation. */
typedef struct { Module module; AgActivation kind; } ActivationLayer;

static Tensor *activation_forward(void *self, Tensor *x)
{
    ActivationLayer *layer = self;
    nn_check("nn_sequential_activation", layer, sizeof *layer);
    return ag_activate(layer->kind, x);
}

void nn_sequential_activation(Sequential *s, AgActivation kind)
{
    static const char *const name[] = { "identity", "relu", "gelu", "gelu_erf", "tanh", "sigmoid",
                                        "silu" };
    NN_LAYER_OF(s, "Sequential");
    if ((int)kind < AG_IDENTITY || kind > AG_SILU) {
        ag_usage_error(__func__, "%d is not an AgActivation", (int)kind);
    }
    ActivationLayer *layer = (ActivationLayer *)nn_new_sized(sizeof *layer, name[kind]);
    layer->module.forward = activation_forward;
    layer->kind = kind;
    nn_list_add(s, layer);
}

Tensor *nn_sequential(Sequential *s, Tensor *x)
{
    NN_LAYER_OF(s, "Sequential");
    for (int i = 0; i < s->n; i++) {
        x = call_forward(__func__, nn_item(Module, s, i), x);
    }
    return x;
}

Tensor *nn_recompute(void *layer, Tensor *x)
{
    AG_LAYER;
    AgMark begin = ag_mark();
    return ag_recompute(begin, call_forward(__func__, layer, x), AG_PRODUCTS);
}
