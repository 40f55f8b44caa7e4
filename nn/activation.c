/* activation.c: the nonlinear functions between layers, by name. */
#include "kaeru/nn.h"

Tensor *nn_activate(Activation kind, Tensor *x)
{
    switch (kind) {
    case NN_IDENTITY: return x;
    case NN_RELU:     return ag_relu(x);
    case NN_GELU:     return ag_gelu(x);
    case NN_GELU_ERF: return ag_gelu_erf(x);
    case NN_TANH:     return ag_tanh(x);
    case NN_SIGMOID:  return ag_sigmoid(x);
    }
    ag_usage_error(AG_HERE, "nn_activate", "there is no activation number %d", (int)kind);
}

Tensor *(nn_linear_activate)(Linear *l, Tensor *x, Activation kind)
{
    switch (kind) {
    case NN_RELU:     return ag_linear_relu(x, l->weight, l->bias);
    case NN_GELU:     return ag_linear_gelu(x, l->weight, l->bias);
    case NN_GELU_ERF: return ag_linear_gelu_erf(x, l->weight, l->bias);
    default:          return nn_activate(kind, nn_linear(l, x));
    }
}

const char *nn_activation_name(Activation kind)
{
    switch (kind) {
    case NN_IDENTITY: return "identity";
    case NN_RELU:     return "relu";
    case NN_GELU:     return "gelu";
    case NN_GELU_ERF: return "gelu_erf";
    case NN_TANH:     return "tanh";
    case NN_SIGMOID:  return "sigmoid";
    }
    ag_usage_error(AG_HERE, "nn_activation_name", "there is no activation number %d", (int)kind);
}
