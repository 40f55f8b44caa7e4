/* activation.c: a linear layer with its activation, and the names of activations. */
#include "kaeru/nn.h"

Tensor *nn_linear_activate_at(Site at, Linear *l, Tensor *x, AgActivation kind)
{
    AG_LAYER(at);
    return ag_linear_activate(x, l->weight, l->bias, kind);
}
