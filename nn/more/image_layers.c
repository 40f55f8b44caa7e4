/* image_layers.c: layers of nn.h whose input has channels, (B,C,..): convolutions, batch and group normalization. */
#include <math.h>

#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/image_layers.h"
#include "kaeru/more_ops.h"
#include "channels.h"
#include "walk.h"

/* ---- Conv2d and ConvTranspose2d ---------------------------------------------------------------------------------- */

NN_FORWARD(Conv2d, nn_conv2d)

NN_FORWARD(ConvTranspose2d, nn_conv_transpose2d)

static void check_conv(const char *what, int64_t in, int64_t out, int size, int stride, int padding)
{
    if (in < 1 || out < 1 || size < 1 || stride < 1 || padding < 0)
        ag_usage_error(what, "%lld and %lld channels, size %d, stride %d: expected 1 or more; padding %d: 0 or more",
                       (long long)in, (long long)out, size, stride, padding);
}

Conv2d *nn_conv2d_new_how(int64_t in, int64_t out, int size, AgConv how, bool bias)
{
    AG_LAYER;
    int groups = how.groups ? how.groups : 1;
    for (int i = 0; i < 2; i++) {
        check_conv(__func__, in, out, size, how.stride[i] ? how.stride[i] : 1, how.padding[i]);
        if (how.dilation[i] < 0) ag_usage_error(__func__, "dilation %d, expected 0 or more", how.dilation[i]);
    }
    if (groups < 1 || in % groups != 0 || out % groups != 0)
        ag_usage_error(__func__, "%lld and %lld channels do not divide into %d groups", (long long)in, (long long)out, groups);
    Conv2d *l = nn_new(Conv2d);
    l->module.forward = nn_conv2d_forward;
    l->how = how;
    nn_param(l, weight, SHAPE(out, in / groups, size, size));
    if (bias) nn_param(l, bias, SHAPE(out));
    fill_by_fan_in((double)(in / groups) * size * size, l->weight, l->bias);
    return l;
}

Conv2d *nn_conv2d_new_with(int64_t in, int64_t out, int size, int stride, int padding, bool bias)
{
    AG_LAYER;
    check_conv(__func__, in, out, size, stride, padding);
    AgConv how = { .stride = { stride, stride }, .padding = { padding, padding } };
    return nn_conv2d_new_how(in, out, size, how, bias);
}

Tensor *nn_conv2d(Conv2d *l, Tensor *x)                           /* (B,in,H,W) -> (B,out,H',W') */
{
    NN_LAYER_OF(l, "Conv2d");
    return ag_conv2d_with(x, l->weight, l->bias, l->how);
}

ConvTranspose2d *nn_conv_transpose2d_new_with(int64_t in, int64_t out, int size, int stride, int padding, int output_padding,
                                              bool bias)
{
    AG_LAYER;
    check_conv(__func__, in, out, size, stride, padding);
    if (output_padding < 0 || output_padding >= stride)
        ag_usage_error(__func__, "output_padding %d, expected 0 to stride - 1, which is %d", output_padding, stride - 1);
    ConvTranspose2d *l = nn_new(ConvTranspose2d);
    l->module.forward = nn_conv_transpose2d_forward;
    l->stride = stride;
    l->padding = padding;
    l->output_padding = output_padding;
    nn_param(l, weight, SHAPE(in, out, size, size));
    if (bias) nn_param(l, bias, SHAPE(out));
    fill_by_fan_in((double)out * size * size, l->weight, l->bias);
    return l;
}

Tensor *nn_conv_transpose2d(ConvTranspose2d *l, Tensor *x)       /* (B,in,H,W) -> (B,out,H',W') */
{
    NN_LAYER_OF(l, "ConvTranspose2d");
    return ag_conv_transpose2d(x, l->weight, l->bias, l->stride, l->padding, l->output_padding);
}

/* ---- BatchNorm ---------------------------------------------------------------------------------------------------- */

NN_FORWARD(BatchNorm, nn_batch_norm)

/* A vector (C) as (C,1,..), which broadcasts to x (B,C,..). */
static Tensor *of_channels(Tensor *vector, const Tensor *x)
{
    return ag_reshape(vector, (AgShape){ tensor_ndim(x) - 1, { tensor_dim(vector, 0), 1, 1, 1, 1, 1, 1 } });
}

/* x times a factor plus an offset of each channel: x (B,C,..), factor and offset (C). */
static Tensor *by_channel(Tensor *x, Tensor *factor, Tensor *offset)
{
    return ag_add(ag_mul(x, of_channels(factor, x)), of_channels(offset, x));
}

/* The number of channels, or a usage error: x is (B,C,..), gamma (C). */
static int64_t check_channels(const char *what, const Tensor *gamma, const Tensor *x)
{
    int64_t channels = tensor_dim(gamma, 0);
    check_alive(what, "x", x);
    if (tensor_ndim(x) < 2 || tensor_dim(x, 1) != channels)
        ag_usage_error(what, "x is %s, expected (B,%lld,..)", ag_shape_string(tensor_shape(x)), (long long)channels);
    return channels;
}

static void check_batch_norm(const char *what, int64_t channels, double momentum, double eps)
{
    if (channels < 1 || !(momentum >= 0 && momentum <= 1) || !(eps >= 0 && isfinite(eps)))
        ag_usage_error(what, "%lld channels, momentum %g, eps %g: expected 1 or more, 0 to 1, 0 or more", (long long)channels,
                       momentum, eps);
}

BatchNorm *nn_batch_norm_new_with(int64_t channels, double momentum, double eps)
{
    AG_LAYER;
    check_batch_norm(__func__, channels, momentum, eps);
    BatchNorm *l = nn_new(BatchNorm);
    l->module.forward = nn_batch_norm_forward;
    l->momentum = momentum;
    l->eps = eps;
    ag_fill(nn_param_named(l, gamma, SHAPE(channels), "weight"), 1);
    nn_param_named(l, beta, SHAPE(channels), "bias");
    nn_buffer(l, running_mean, SHAPE(channels));
    ag_fill(nn_buffer(l, running_var, SHAPE(channels)), 1);
    nn_buffer_with(l, num_batches_tracked, AG_SCALAR, AG_INT, true);
    return l;
}

/* running = (1 - momentum) running + momentum now */
static void move_statistic(Tensor *running, double momentum, Tensor *now)
{
    tensor_copy(running, ag_add(ag_scale(running, 1 - momentum), ag_scale(now, momentum)));
}

Tensor *nn_batch_norm(BatchNorm *l, Tensor *x)                              /* (B,C,..) -> (B,C,..) */
{
    NN_LAYER_OF(l, "BatchNorm");
    int64_t channels = check_channels(__func__, l->gamma, x);
    check_batch_norm(__func__, channels, l->momentum, l->eps);
    if (!l->module.training) {
        /* The mean first: x factor and mean factor may be large, and their difference would lose digits. */
        Tensor *factor = ag_div(l->gamma, ag_sqrt(ag_add_scalar(l->running_var, l->eps)));
        return channels_normalized(x, of_channels(l->running_mean, x), of_channels(factor, x), of_channels(l->beta, x));
    }
    if (tensor_numel(x) < 2 * channels)
        ag_usage_error(__func__, "less than 2 items of each channel in training: their variance is not known");
    Tensor *by_channels = ag_transpose(x, 0, 1), *rows = ag_reshape(by_channels, SHAPE(channels, -1));
    Tensor *normal = ag_layer_norm(rows, NULL, NULL, (AgNorm){ l->eps, true, false });
    AgScope scope = ag_begin(AG_NO_GRAD);
    move_statistic(l->running_mean, l->momentum, ag_mean_dims(rows, DIMS(1), false));
    move_statistic(l->running_var, l->momentum, ag_var_dims(rows, DIMS(1), true, false));
    tensor_mutable_int_data(l->num_batches_tracked)[0]++;
    ag_end(scope);
    return by_channel(ag_transpose(ag_reshape(normal, tensor_shape(by_channels)), 0, 1), l->gamma, l->beta);
}

/* ---- GroupNorm ---------------------------------------------------------------------------------------------------- */

NN_FORWARD(GroupNorm, nn_group_norm)

GroupNorm *nn_group_norm_new_with(int groups, int64_t channels, double eps)
{
    AG_LAYER;
    if (groups < 1 || channels < 1 || channels % groups != 0 || !(eps >= 0 && isfinite(eps)))
        ag_usage_error(__func__, "%lld channels in %d groups, eps %g: expected groups of equal size, 0 or more",
                       (long long)channels, groups, eps);
    GroupNorm *l = nn_new(GroupNorm);
    l->module.forward = nn_group_norm_forward;
    l->groups = groups;
    l->eps = eps;
    ag_fill(nn_param_named(l, gamma, SHAPE(channels), "weight"), 1);
    nn_param_named(l, beta, SHAPE(channels), "bias");
    return l;
}

Tensor *nn_group_norm(GroupNorm *l, Tensor *x)                              /* (B,C,..) -> (B,C,..) */
{
    NN_LAYER_OF(l, "GroupNorm");
    check_channels(__func__, l->gamma, x);
    Tensor *rows = ag_reshape(x, SHAPE(tensor_dim(x, 0), l->groups, tensor_dim(x, 0) ? -1 : 1));
    Tensor *normal = ag_layer_norm(rows, NULL, NULL, (AgNorm){ l->eps, true, false });
    return by_channel(ag_reshape(normal, tensor_shape(x)), l->gamma, l->beta);
}
