/* sequential.c: modules in a row. */
#include "kaeru/nn.h"

/* An activation as a module of its own, named after the function it is. */
typedef struct { Module module; Activation kind; } ActivationLayer;

static Tensor *activate(void *self, Tensor *x)
{
    return nn_activate(((ActivationLayer *)self)->kind, x);
}

static Tensor *forward(void *self, Tensor *x)
{
    return nn_sequential((Sequential *)self, x);
}

Sequential *nn_sequential_new_at(Site at)
{
    Sequential *s = (Sequential *)nn_new_at(at, sizeof *s, "Sequential");
    s->module.forward = forward;
    return s;
}

void nn_sequential_add_at(Site at, Sequential *s, void *layer)
{
    const Module *m = layer;
    if (m && !m->forward) ag_usage_error(at, "nn_sequential_add", "a %s has no forward with one input", m->type);
    nn_list_add_at(at, s, layer);
}

void nn_sequential_activation_at(Site at, Sequential *s, Activation kind)
{
    const char *name = nn_activation_name(kind);
    ActivationLayer *layer = (ActivationLayer *)nn_new_at(at, sizeof *layer, name);
    layer->module.forward = activate;
    layer->kind = kind;
    nn_sequential_add_at(at, s, layer);
}

Tensor *(nn_sequential)(Sequential *s, Tensor *x)
{
    for (int i = 0; i < s->n; i++) {
        Module *layer = nn_item(Module, s, i);
        x = layer->forward(layer, x);
    }
    return x;
}
