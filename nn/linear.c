/* linear.c: the linear layer, y = x W^T + b, alone and with an activation. */
#include <math.h>

#include "kaeru/autograd.h"
#include "kaeru/nn.h"

static Tensor *linear_forward(AgSite at, void *self, Tensor *x)
{
    return nn_linear_at(at, self, x);
}

Linear *nn_linear_new_with_at(AgSite at, int64_t in, int64_t out, bool bias)
{
    if (in < 1 || out < 1)
        ag_usage_error(at, "nn_linear_new", "sizes %lld and %lld, expected 1 or more", (long long)in, (long long)out);
    Linear *l = (Linear *)nn_new_sized_at(at, sizeof *l, "Linear");
    l->module.forward = linear_forward;
    nn_add_tensor_at(at, &l->module, "weight", &l->weight, SHAPE(out, in), true);
    if (bias) nn_add_tensor_at(at, &l->module, "bias", &l->bias, SHAPE(out), true);

    double bound = 1 / sqrt((double)in);
    nn_init_uniform(l->weight, -bound, bound);
    if (bias) nn_init_uniform(l->bias, -bound, bound);
    return l;
}

Tensor *nn_linear_at(AgSite at, Linear *l, Tensor *x)                                     /* (..,in) -> (..,out) */
{
    NN_LAYER(at, l);
    Tensor *y = ag_linear(x, l->weight, l->bias);
    if (!l->lora_A) return y;
    Tensor *more = nn_linear(l->lora_B, nn_linear(l->lora_A, nn_dropout(l->lora_dropout, x)));
    return ag_add(y, ag_scale(more, l->lora_scale));
}

Tensor *nn_linear_activate_at(AgSite at, Linear *l, Tensor *x, AgActivation kind)
{
    NN_LAYER(at, l);
    if (l->lora_A) return ag_activate(kind, nn_linear(l, x));
    return ag_linear_activate(x, l->weight, l->bias, kind);
}
