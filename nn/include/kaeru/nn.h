/* nn.h: layers and losses. A layer is a module (module.h) with a constructor nn_<layer>_new and a
 * forward function nn_<layer>.
 *
 *     Linear *fc = nn_linear_new(784, 10);
 *     Tensor *loss = nn_cross_entropy(nn_linear(fc, x), target);
 *
 * Attention and its parts are in attention.h, layers of images in image_layers.h, recurrent ones in
 * recurrent.h. */
#ifndef KAERU_NN_H
#define KAERU_NN_H

#include "kaeru/module.h"
#include "kaeru/ops.h"

AG_PUBLIC_BEGIN

/* ---- layers ---------------------------------------------------------------------------------- */

/* In training, sets each number of x (..) to 0 with probability p, which is in [0, 1), and divides
 * the others by 1-p. In evaluation mode, returns x itself. */
typedef struct { Module module; double p; } Dropout;
Dropout *nn_dropout_new(double p);
Tensor *nn_dropout(Dropout *d, Tensor *x);

/* y = x W^T + b: x (..,in) -> (..,out). weight (out,in); bias (out) or NULL. Both start uniform in
 * +-1/sqrt(in). */
typedef struct Linear Linear;
struct Linear {
    Module module;
    Tensor *weight, *bias;
    Module *adapter;            /* NULL, or a layer (..,in) -> (..,out) whose output is added to y
                                   (lora.h); nn_child sets it */
};
Linear *nn_linear_new_with(int64_t in, int64_t out, bool bias);
#define nn_linear_new(in, out)         nn_linear_new_with(in, out, true)
#define nn_linear_new_no_bias(in, out) nn_linear_new_with(in, out, false)
Tensor *nn_linear(Linear *l, Tensor *x);

/* A table with a row for each id: ids (..) -> (..,width). weight (count,width) starts standard
 * normal. */
typedef struct { Module module; Tensor *weight; } Embedding;
Embedding *nn_embedding_new(int64_t count, int64_t width);
Tensor *nn_embedding(Embedding *e, Tensor *ids);

/* y = gamma (x - m) / s + beta: x (..,width) -> (..,width), with the mean m and the deviation s of
 * the last dimension (Ba et al. 2016). gamma (width) starts at 1, beta (width), which may be NULL,
 * at 0. AgNorm's four conventions of s are in types.h. In files the parameters are called weight
 * and bias; with AG_NORM_ANNOTATED, a_2 and b_2. */
typedef struct { Module module; Tensor *gamma, *beta; AgNorm kind; } LayerNorm;
LayerNorm *nn_layer_norm_new_with(int64_t width, AgNorm kind, bool bias);
#define nn_layer_norm_new(width)            nn_layer_norm_new_with(width, AG_NORM_PYTORCH, true)
#define nn_layer_norm_new_kind(width, kind) nn_layer_norm_new_with(width, kind, true)
#define nn_layer_norm_new_no_bias(width)    nn_layer_norm_new_with(width, AG_NORM_PYTORCH, false)
Tensor *nn_layer_norm(LayerNorm *l, Tensor *x);

/* y = gamma x / r: x (..,width) -> (..,width), with r = sqrt(m + eps) and the mean m of x^2 over
 * the last dimension (Zhang and Sennrich 2019). gamma (width) starts at 1; in files it is called
 * weight. eps is 1e-6 unless it is given. */
typedef struct { Module module; Tensor *gamma; double eps; } RMSNorm;
RMSNorm *nn_rms_norm_new_with(int64_t width, double eps);
#define nn_rms_norm_new(width) nn_rms_norm_new_with(width, 1e-6)
Tensor *nn_rms_norm(RMSNorm *l, Tensor *x);

/* Returns ag_activate(kind, nn_linear(l, x)). ReLU and the GELUs need less time and memory this
 * way. */
Tensor *nn_linear_activate(Linear *l, Tensor *x, AgActivation kind);

/* Layers in sequence: each one gets the output of the one before. A layer is a Linear, Embedding,
 * LayerNorm, RMSNorm, BatchNorm, GroupNorm, Conv2d, ConvTranspose2d, Dropout or activation, another
 * Sequential, or a layer of your own whose constructor sets module.forward. A Sequential is a
 * ModuleList: nn_item and n work on it, and its parameters have names such as "0.weight", as in
 * PyTorch. */
typedef ModuleList Sequential;
Sequential *nn_sequential_new(void);
void nn_sequential_add(Sequential *s, void *layer);
void nn_sequential_activation(Sequential *s, AgActivation kind);
Tensor *nn_sequential(Sequential *s, Tensor *x);

/* Returns layer(x) of any layer that a Sequential can hold. Most of its intermediate values are not
 * kept for backward, which computes them again: less memory, more time, the same bits. See
 * AG_PRODUCTS in recompute.h. */
Tensor *nn_recompute(void *layer, Tensor *x);

/* ---- losses: the common forms; ops.h has all options ----------------------------------------- */

/* Returns the mean of (x - target)^2 over all numbers, a scalar. */
#define nn_mse_loss(x, target) ag_mse_loss(x, target)

/* Returns the mean of -log softmax(logits)[target], a scalar: logits (..,V), target (..) of ids.
 * Targets of -100 are ignored; if all are, the loss is 0, where PyTorch has NaN. For a linear layer
 * with many outputs, ag_linear_cross_entropy needs less memory. */
#define nn_cross_entropy(logits, target) ag_cross_entropy(logits, target, AG_MEAN, -100, 0.0)

#include "kaeru/calls/nn.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/image_layers.h"
#endif

#endif
