/* init.c: initialization of parameters.
 *
 * Bounds are computed with the four basic operations and square roots only, so they are the same on every machine. */
#include <math.h>

#include "arguments.h"
#include "kaeru/graph.h"
#include "slots.h"

/* The product of all sizes but one: fan_in without size 0, fan_out without size 1. It may be 0 for an empty tensor, which the
 * functions below do not fill. */
static double fan(AgSite at, const char *what, const Tensor *w, int without)
{
    check_alive(at, what, "the tensor", w);
    AgShape shape = tensor_shape(w);
    if (shape.ndim < 2)
        ag_usage_error(at, what, "needs a tensor of two dimensions or more, this one is %s", ag_shape_string(shape));
    double product = 1;
    for (int i = 0; i < shape.ndim; i++) product *= i == without ? 1 : (double)shape.dim[i];
    return product;
}

/* The bound of a uniform distribution with n = 6, the deviation of a normal one with n = 2. */
static double xavier(AgSite at, const char *what, const Tensor *w, double gain, double n)
{
    if (!(gain >= 0 && isfinite(gain))) ag_usage_error(at, what, "gain is %g, expected a finite number of 0 or more", gain);
    return gain * sqrt(n / (fan(at, what, w, 0) + fan(at, what, w, 1)));
}

static double kaiming(AgSite at, const char *what, const Tensor *w, double a, double n)
{
    if (!isfinite(a)) ag_usage_error(at, what, "a is %g, expected a finite number", a);
    return sqrt(n / ((1 + a * a) * fan(at, what, w, 0)));
}

#define INIT(rule, distribution, factor, low_or_mean, high_or_deviation)                        \
    void nn_init_##rule##_##distribution##_at(AgSite at, Tensor *w, double parameter)           \
    {                                                                                           \
        AG_LAYER(at);                                                                           \
        double scale = rule(at, __func__, w, parameter, factor);                                \
        if (tensor_numel(w) > 0) ag_fill_##distribution(w, low_or_mean, high_or_deviation);     \
    }
INIT(xavier, uniform, 6, -scale, scale)
INIT(xavier, normal, 2, 0, scale)
INIT(kaiming, uniform, 6, -scale, scale)
INIT(kaiming, normal, 2, 0, scale)

void fill_by_fan_in(double fan_in, Tensor *weight, Tensor *bias)
{
    double bound = 1 / sqrt(fan_in);
    ag_fill_uniform(weight, -bound, bound);
    if (bias) ag_fill_uniform(bias, -bound, bound);
}
