/* init.c: initialization of parameters.
 *
 * Bounds are computed with the four basic operations and square roots only, so they are the same on every machine. */
#include <math.h>

#include "kaeru/graph.h"
#include "kaeru/nn.h"

/* fan_in and fan_out; see module.h. An empty tensor may have fans of 0, so the functions below do not fill it. */
typedef struct { double in, out; } Fans;

static void check_number(AgSite at, const char *what, const char *name, double value, bool valid, const char *expected)
{
    if (!valid) ag_usage_error(at, what, "%s is %g, expected %s", name, value, expected);
}

static Fans fans(AgSite at, const char *what, const Tensor *w)
{
    ag_check_pointer_at(at, what, "the tensor", w);
    AgShape shape = tensor_shape(w);
    char text[AG_SHAPE_TEXT];
    if (shape.ndim < 2)
        ag_usage_error(at, what, "needs a tensor of two dimensions or more, this one is %s", ag_shape_text(shape, text));
    double inner = 1;
    for (int i = 2; i < shape.ndim; i++) inner *= (double)shape.dim[i];
    return (Fans){ .in = (double)shape.dim[1] * inner, .out = (double)shape.dim[0] * inner };
}

void nn_init_xavier_uniform_at(AgSite at, Tensor *w, double gain)
{
    AG_LAYER(at);
    check_number(at, __func__, "gain", gain, gain >= 0 && isfinite(gain), "0 or more");
    Fans fan = fans(at, __func__, w);
    double bound = gain * sqrt(6 / (fan.in + fan.out));
    if (tensor_numel(w) > 0) ag_fill_uniform(w, -bound, bound);
}

void nn_init_xavier_normal_at(AgSite at, Tensor *w, double gain)
{
    AG_LAYER(at);
    check_number(at, __func__, "gain", gain, gain >= 0 && isfinite(gain), "0 or more");
    Fans fan = fans(at, __func__, w);
    if (tensor_numel(w) > 0) ag_fill_normal(w, 0, gain * sqrt(2 / (fan.in + fan.out)));
}

void nn_init_kaiming_uniform_at(AgSite at, Tensor *w, double a)
{
    AG_LAYER(at);
    check_number(at, __func__, "a", a, isfinite(a), "a finite number");
    Fans fan = fans(at, __func__, w);
    double bound = sqrt(6 / ((1 + a * a) * fan.in));
    if (tensor_numel(w) > 0) ag_fill_uniform(w, -bound, bound);
}

void nn_init_kaiming_normal_at(AgSite at, Tensor *w, double a)
{
    AG_LAYER(at);
    check_number(at, __func__, "a", a, isfinite(a), "a finite number");
    Fans fan = fans(at, __func__, w);
    if (tensor_numel(w) > 0) ag_fill_normal(w, 0, sqrt(2 / ((1 + a * a) * fan.in)));
}
