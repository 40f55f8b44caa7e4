/* layer_norm.c: layer normalization: each row to mean 0 and deviation 1, then scaled and shifted (Ba et al. 2016). */
#include <math.h>

#include "kaeru/autograd.h"
#include "kaeru/nn.h"

static Tensor *layer_norm_forward(AgSite at, void *self, Tensor *x)
{
    return nn_layer_norm_at(at, self, x);
}

/* The state dictionary of the Annotated Transformer calls gamma and beta a_2 and b_2. */
static bool is_annotated(AgNorm kind)
{
    AgNorm annotated = AG_NORM_ANNOTATED;
    return kind.eps == annotated.eps && kind.eps_inside == annotated.eps_inside && kind.unbiased == annotated.unbiased;
}

LayerNorm *nn_layer_norm_new_with_at(AgSite at, int64_t width, AgNorm kind, bool bias)
{
    if (width < 1) ag_usage_error(at, "nn_layer_norm_new", "width %lld, must be 1 or more", (long long)width);
    if (!(kind.eps >= 0 && kind.eps < INFINITY))
        ag_usage_error(at, "nn_layer_norm_new", "eps is %g, expected a finite number of 0 or more", kind.eps);
    LayerNorm *l = (LayerNorm *)nn_new_sized_at(at, sizeof *l, "LayerNorm");
    l->module.forward = layer_norm_forward;
    l->kind = kind;
    bool annotated = is_annotated(kind);
    nn_add_tensor_at(at, &l->module, annotated ? "a_2" : "weight", &l->gamma, SHAPE(width), true);
    if (bias) nn_add_tensor_at(at, &l->module, annotated ? "b_2" : "bias", &l->beta, SHAPE(width), true);
    nn_init_constant(l->gamma, 1);
    return l;
}

Tensor *nn_layer_norm_at(AgSite at, LayerNorm *l, Tensor *x)                              /* (..,width) -> (..,width) */
{
    NN_LAYER(at, l);
    return ag_layer_norm(x, l->gamma, l->beta, l->kind);
}
