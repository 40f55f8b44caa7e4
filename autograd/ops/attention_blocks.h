/* blocks.h: attention, convolution and pooling, composed of kernels. */
#ifndef KAERU_BLOCKS_H
#define KAERU_BLOCKS_H

#include "kernels.h"

/* ---- scaled dot-product attention -------------------------------------------------------------------------------- */

/* For each of b sentences and h heads: y = dropout(softmax(scale Q K^T)) V with Q (t, k), K and V (s, k), y (t, k). The rows
 * of a head need not be dense: each array has strides between sentences, heads and rows (K and V share theirs). A key that
 * is masked has weight 0, and a row whose keys are all masked gives zeros: by mask (true = seen, NULL: all, with strides for
 * sentence, head, query and key), and with `causal` query i sees keys 0..i + s - t, or with `window` the last `window` of them.
 * With k_pairs and v_pairs, K and V are in bfloat16 instead of k and v (b_pairs of KGemm): forward, with bf16 and an even k.
 * `group` heads next to each other share a head of K and V: there are h / group of those. */
typedef struct { int64_t b, h, t; } KSteps;
typedef struct {
    int64_t b, h, t, s, k, group, window;         /* window: 0: none; only with causal */
    KSteps q, kv, y;
    double scale;
    bool causal, bf16;                          /* bf16: of all products (kernels.h) */
    const uint8_t *mask;
    const real *bias;                           /* added to the scores, with the mask's strides; NULL: none */
    real *dbias;                                /* backward: gets its gradient (b, h, t, s), zeros at first */
    int64_t mask_b, mask_h, mask_t, mask_s;
    double dropout;                             /* its random numbers: (seed, counter) and b h t ((s+3)/4) blocks of them */
    uint64_t seed, counter;
    const uint32_t *k_pairs, *v_pairs;          /* NULL: none */
} KAttention;
/* work: scratch memory for as many reals as the function before it returns. */
int64_t k_attention_work(const KAttention *a);
void k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v, real *work);
/* dq, dk and dv have the strides of q, k and v; each may be NULL. */
int64_t k_attention_backward_work(const KAttention *a);
void k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv, bool add_v,
                          const real *dy, const real *q, const real *k, const real *v, real *work);

/* ---- convolution and pooling of images --------------------------------------------------------------------------- */

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
