/* sequential.c: a list of modules that are applied one after another. */
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

/* An activation as a module. Its type is the name of the function. */
typedef struct { Module module; AgActivation kind; } ActivationLayer;

static Tensor *activate(AgSite at, void *self, Tensor *x)
{
    return ag_activate_at(at, ((ActivationLayer *)self)->kind, x);
}

static Tensor *sequential_forward(AgSite at, void *self, Tensor *x)
{
    return nn_sequential_at(at, self, x);
}

Sequential *nn_sequential_new_at(AgSite at)
{
    Sequential *s = (Sequential *)nn_new_sized_at(at, sizeof *s, "Sequential");
    s->module.forward = sequential_forward;
    return s;
}

void nn_sequential_add_at(AgSite at, Sequential *s, void *layer)
{
    const Module *m = layer;
    nn_check_at(at, "nn_sequential_add", s, sizeof *s);
    if (m) nn_check_at(at, "nn_sequential_add", m, 0);
    if (m && !m->forward)
        ag_usage_error(at, "nn_sequential_add", "a %s has no forward with one input (module.forward is not set)", m->type);
    nn_list_add_at(at, s, layer);
}

void nn_sequential_activation_at(AgSite at, Sequential *s, AgActivation kind)
{
    static const char *const name[] = { "identity", "relu", "gelu", "gelu_erf", "tanh", "sigmoid", "silu" };
    if ((int)kind < AG_IDENTITY || kind > AG_SILU)
        ag_usage_error(at, "nn_sequential_activation", "%d is not an AgActivation", (int)kind);
    ActivationLayer *layer = (ActivationLayer *)nn_new_sized_at(at, sizeof *layer, name[kind]);
    layer->module.forward = activate;
    layer->kind = kind;
    nn_sequential_add_at(at, s, layer);
}

Tensor *nn_sequential_at(AgSite at, Sequential *s, Tensor *x)
{
    NN_LAYER(at, s);
    for (int i = 0; i < s->n; i++) {
        Module *layer = nn_item(Module, s, i);
        if (!layer->forward)
            ag_usage_error(at, "nn_sequential", "item %d, a %s, has no forward with one input (module.forward is not set)", i,
                           layer->type);
        x = layer->forward(AG_HERE, layer, x);
    }
    return x;
}
