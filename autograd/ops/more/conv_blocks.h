/* conv_blocks.h: convolution and pooling of images, composed of kernels. */
#ifndef KAERU_CONV_BLOCKS_H
#define KAERU_CONV_BLOCKS_H

#include "kernels.h"

/* y (b, o, oh, ow) = the weights (o, c kh kw) times the patches of each image of x (b, c, h, w): see k_patches. With groups of
 * channels, each group of an image counts as an image, and there are several weights and biases: image i has number
 * i % channel_groups. */
typedef struct {
    int64_t b, c, h, w, o, kh, kw, oh, ow, channel_groups, stride[2], padding[2], dilation[2];
    bool bf16;
} KConv;
/* work: scratch memory for as many reals as the function before it returns. bias (channel_groups, o) or NULL. */
int64_t k_conv2d_work(const KConv *a);
void k_conv2d(const KConv *a, real *y, const real *x, const real *weight, const real *bias, real *work);
/* dx and dweight may each be NULL. */
int64_t k_conv2d_backward_work(const KConv *a);
void k_conv2d_backward(const KConv *a, real *dx, bool add_x, real *dweight, bool add_weight, const real *dy, const real *x,
                       const real *weight, real *work);

/* Windows of size x size items in each plane of x (planes, h, w), `stride` apart; y (planes, oh, ow). Each window has an item
 * of x at least. y is with `max` the largest item, without the padding, and its first place in its plane goes to index, which
 * may be NULL; NaN counts as the largest. Else y is the sum of the items divided by size^2, and index is not used. */
typedef struct { int64_t planes, h, w, oh, ow, size, stride, padding; bool max; } KPool;
void k_pool2d(const KPool *p, real *y, int32_t *index, const real *x);
/* dx += */
void k_pool2d_backward(const KPool *p, real *dx, const real *dy, const int32_t *index);

#endif
