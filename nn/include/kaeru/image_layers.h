/* image_layers.h: layers of images. */
#ifndef KAERU_IMAGE_LAYERS_H
#define KAERU_IMAGE_LAYERS_H

#include "kaeru/nn.h"

AG_PUBLIC_BEGIN

/* Convolution with windows of size x size items: x (B,in,H,W) -> (B,out,H',W'), see ag_conv2d. weight (out,in,size,size), bias
 * (out) or NULL; both start uniform in +-1/sqrt(in size^2). nn_conv2d_new has a stride of 1 and the padding (size - 1)/2, with
 * which an odd size keeps H and W. */
typedef struct { Module module; Tensor *weight, *bias; AgConv how; } Conv2d;
Conv2d *nn_conv2d_new_with(int64_t in, int64_t out, int size, int stride, int padding, bool bias);
#define nn_conv2d_new(in, out, size) nn_conv2d_new_with(in, out, size, 1, ((size) - 1) / 2, true)
Tensor *nn_conv2d(Conv2d *l, Tensor *x);
/* With groups, dilation, and a stride and padding of height and of width: see AgConv. weight (out,in/groups,size,size). */
Conv2d *nn_conv2d_new_how(int64_t in, int64_t out, int size, AgConv how, bool bias);

/* Transposed convolution, which makes images larger: x (B,in,H,W) -> (B,out,H',W'), see ag_conv_transpose2d. With size =
 * stride, H' is stride H. weight (in,out,size,size), bias (out) or NULL; both start uniform in +-1/sqrt(out size^2). */
typedef struct { Module module; Tensor *weight, *bias; int stride, padding, output_padding; } ConvTranspose2d;
ConvTranspose2d *nn_conv_transpose2d_new_with(int64_t in, int64_t out, int size, int stride, int padding, int output_padding,
                                              bool bias);
#define nn_conv_transpose2d_new(in, out, size, stride) nn_conv_transpose2d_new_with(in, out, size, stride, 0, 0, true)
Tensor *nn_conv_transpose2d(ConvTranspose2d *l, Tensor *x);

/* y = gamma (x - m) / sqrt(v + eps) + beta for each channel: x (B,C,..) -> (B,C,..) (Ioffe and Szegedy 2015). In training, m
 * and v are the mean and the variance of the batch. The buffers running_mean and running_var (C) move towards them by the part
 * `momentum`; their variance divides by n-1. In evaluation, m and v are these buffers. gamma and beta (C) start at 1 and 0; in
 * files they are called weight and bias. Processes that divide a batch (parallel.h) take the statistics of their parts.
 * momentum is 0.1 and eps 1e-5 unless they are given. */
typedef struct {
    Module module;
    Tensor *gamma, *beta, *running_mean, *running_var, *num_batches_tracked;
    double momentum, eps;
} BatchNorm;
BatchNorm *nn_batch_norm_new_with(int64_t channels, double momentum, double eps);
#define nn_batch_norm_new(channels) nn_batch_norm_new_with(channels, 0.1, 1e-5)
Tensor *nn_batch_norm(BatchNorm *l, Tensor *x);

/* y = gamma (x - m) / sqrt(v + eps) + beta: x (B,C,..) -> (B,C,..), with the mean m and the variance v of a group of C/groups
 * channels of each item of the batch (Wu and He 2018). gamma and beta (C) start at 1 and 0; in files they are called weight and
 * bias. eps is 1e-5 unless it is given. */
typedef struct { Module module; Tensor *gamma, *beta; int groups; double eps; } GroupNorm;
GroupNorm *nn_group_norm_new_with(int groups, int64_t channels, double eps);
#define nn_group_norm_new(groups, channels) nn_group_norm_new_with(groups, channels, 1e-5)
Tensor *nn_group_norm(GroupNorm *l, Tensor *x);

#include "kaeru/calls/image_layers.h"

AG_PUBLIC_END
#endif
