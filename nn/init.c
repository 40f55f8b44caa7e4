/* init.c: first values of parameters, by Glorot and Bengio (2010) and by He et al. (2015). With
 * them, the numbers keep about the same size from layer to layer. fill_by_fan_in has those that
 * PyTorch gives to linear layers and convolutions.
 *
 * Bounds are computed with the four basic operations and square roots only, so they are the same on
 * every machine. */
#include <math.h>

#include "arguments.h"
#include "kaeru/init.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "walk.h"

/* Returns the product of all sizes but number `without`: fan_in for 0, fan_out for 1. It may be 0
 * for an empty tensor, which the functions below do not fill. */
static double fan(const char *what, const Tensor *w, int without)
{
    check_alive(what, "the tensor", w);
    AgShape shape = tensor_shape(w);
    if (shape.ndim < 2) {
        ag_usage_error(what, "needs a tensor of two dimensions or more, this one is %s",
                       ag_shape_string(shape));
    }
    double product = 1;
    for (int i = 0; i < shape.ndim; i++) {
        if (i != without) {
            product *= (double)shape.dim[i];
        }
    }
    return product;
}

/* Returns the bound of the uniform distribution for n = 6, and the deviation of the normal one for
 * n = 2, by Glorot and Bengio. */
static double xavier(const char *what, const Tensor *w, double gain, double n)
{
    check_number(what, "gain", gain, gain >= 0, "a finite number of 0 or more");
    return gain * sqrt(n / (fan(what, w, 0) + fan(what, w, 1)));
}

/* Returns the same by He et al. */
static double kaiming(const char *what, const Tensor *w, double a, double n)
{
    check_number(what, "a", a, true, "a finite number");
    return sqrt(n / ((1 + a * a) * fan(what, w, 0)));
}

void nn_init_xavier_uniform(Tensor *w, double gain)
{
    AG_LAYER;
    double scale = xavier(__func__, w, gain, 6);
    if (tensor_numel(w) > 0) {
        ag_fill_uniform(w, -scale, scale);
    }
}

void nn_init_xavier_normal(Tensor *w, double gain)
{
    AG_LAYER;
    double scale = xavier(__func__, w, gain, 2);
    if (tensor_numel(w) > 0) {
        ag_fill_normal(w, 0, scale);
    }
}

void nn_init_kaiming_uniform(Tensor *w, double a)
{
    AG_LAYER;
    double scale = kaiming(__func__, w, a, 6);
    if (tensor_numel(w) > 0) {
        ag_fill_uniform(w, -scale, scale);
    }
}

void nn_init_kaiming_normal(Tensor *w, double a)
{
    AG_LAYER;
    double scale = kaiming(__func__, w, a, 2);
    if (tensor_numel(w) > 0) {
        ag_fill_normal(w, 0, scale);
    }
}

void fill_by_fan_in(double fan_in, Tensor *weight, Tensor *bias)
{
    double bound = 1 / sqrt(fan_in);
    ag_fill_uniform(weight, -bound, bound);
    if (bias) {
        ag_fill_uniform(bias, -bound, bound);
    }
}
