/* rms_norm.c: the layer of rms_norm.h. */
#include "kaeru/rms_norm.h"

#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "walk.h"

NN_FORWARD(RMSNorm, nn_rms_norm)

RMSNorm *nn_rms_norm_new_with(int64_t width, double eps)
{
    AG_LAYER;
    if (width < 1) {
        ag_usage_error(__func__, "width %lld, must be 1 or more", (long long)width);
    }
    check_number(__func__, "eps", eps, eps >= 0, "a finite number of 0 or more");
    RMSNorm *l = nn_new(RMSNorm);
    l->module.forward = nn_rms_norm_forward;
    l->eps = eps;
    ag_fill(nn_param_named(l, gamma, SHAPE(width), "weight"), 1);
    return l;
}

/* (..,width) -> (..,width) */
Tensor *nn_rms_norm(RMSNorm *l, Tensor *x)
{
    NN_LAYER_OF(l, "RMSNorm");
    return ag_rms_norm(x, l->gamma, l->eps);
}
