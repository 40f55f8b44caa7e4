/* conv.c: the convolution layer for images. */
#include <math.h>

#include "kaeru/autograd.h"
#include "kaeru/nn.h"

static Tensor *conv2d_forward(AgSite at, void *self, Tensor *x)
{
    return nn_conv2d_at(at, self, x);
}

Conv2d *nn_conv2d_new_with_at(AgSite at, int64_t in, int64_t out, int size, int stride, int padding, bool bias)
{
    if (in < 1 || out < 1 || size < 1 || stride < 1 || padding < 0)
        ag_usage_error(at, "nn_conv2d_new", "%lld and %lld channels, size %d, stride %d: expected 1 or more; padding %d: 0 "
                       "or more", (long long)in, (long long)out, size, stride, padding);
    Conv2d *l = (Conv2d *)nn_new_sized_at(at, sizeof *l, "Conv2d");
    l->module.forward = conv2d_forward;
    l->stride = stride;
    l->padding = padding;
    nn_add_tensor_at(at, &l->module, "weight", &l->weight, SHAPE(out, in, size, size), true);
    if (bias) nn_add_tensor_at(at, &l->module, "bias", &l->bias, SHAPE(out), true);

    double bound = 1 / sqrt((double)in * size * size);
    nn_init_uniform(l->weight, -bound, bound);
    if (bias) nn_init_uniform(l->bias, -bound, bound);
    return l;
}

Tensor *nn_conv2d_at(AgSite at, Conv2d *l, Tensor *x)                           /* (B,in,H,W) -> (B,out,H',W') */
{
    NN_LAYER(at, l);
    return ag_conv2d(x, l->weight, l->bias, l->stride, l->padding);
}
