/* rms_norm.c: division of each row by the root of its mean square, then a scale (Zhang and Sennrich 2019). */
#include <math.h>

#include "kaeru/autograd.h"
#include "kaeru/nn.h"

static Tensor *rms_norm_forward(AgSite at, void *self, Tensor *x)
{
    return nn_rms_norm_at(at, self, x);
}

RMSNorm *nn_rms_norm_new_with_at(AgSite at, int64_t width, double eps)
{
    if (width < 1) ag_usage_error(at, "nn_rms_norm_new", "width %lld, must be 1 or more", (long long)width);
    if (!(eps >= 0 && eps < INFINITY))
        ag_usage_error(at, "nn_rms_norm_new", "eps is %g, expected a finite number of 0 or more", eps);
    RMSNorm *l = (RMSNorm *)nn_new_sized_at(at, sizeof *l, "RMSNorm");
    l->module.forward = rms_norm_forward;
    l->eps = eps;
    nn_add_tensor_at(at, &l->module, "weight", &l->gamma, SHAPE(width), true);
    nn_init_constant(l->gamma, 1);
    return l;
}

Tensor *nn_rms_norm_at(AgSite at, RMSNorm *l, Tensor *x)                                  /* (..,width) -> (..,width) */
{
    NN_LAYER(at, l);
    return ag_rms_norm(x, l->gamma, l->eps);
}
