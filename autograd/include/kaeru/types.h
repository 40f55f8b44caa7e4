/* types.h: the types and scalar functions that kernels, operations, layers and users share.
 *
 * kaeru computes in float. A second build of the same sources, libkaeru_double (-DKAERU_DOUBLE), computes in double. It
 * exists to compare a gradient with a numerical one to many digits. */
#ifndef KAERU_TYPES_H
#define KAERU_TYPES_H

#include <stdbool.h>

/* A public header declares between these two. The library exports these functions and no others, under their C names. */
#ifdef __cplusplus
#define AG_PUBLIC_BEGIN _Pragma("GCC visibility push(default)") extern "C" {
#define AG_PUBLIC_END   } _Pragma("GCC visibility pop")
#define AG_NORETURN [[noreturn]]
#define AG_VALUE(Type) Type             /* AG_VALUE(Type){ 1, 2 }: a struct with these members */
#else
#define AG_PUBLIC_BEGIN _Pragma("GCC visibility push(default)")
#define AG_PUBLIC_END   _Pragma("GCC visibility pop")
#define AG_NORETURN _Noreturn
#define AG_VALUE(Type) (Type)
#endif

/* The type of a number of a tensor. */
#ifdef KAERU_DOUBLE
typedef double ag_real;
/* libkaeru_double has functions on arrays of ag_real under other names, so that a program that takes the type from one library
 * and the functions from the other does not link. */
#pragma redefine_extname ag_adam_update_part ag_adam_update_part_double
#pragma redefine_extname ag_add_to ag_add_to_double
#pragma redefine_extname ag_custom ag_custom_double
#pragma redefine_extname ag_sgd_update_part ag_sgd_update_part_double
#pragma redefine_extname ag_sum_squares ag_sum_squares_double
#pragma redefine_extname lm_sample_next lm_sample_next_double
#pragma redefine_extname lm_sample_probabilities lm_sample_probabilities_double
#pragma redefine_extname tensor_data tensor_data_double
#pragma redefine_extname tensor_from tensor_from_double
#pragma redefine_extname tensor_grad_data tensor_grad_data_double
#pragma redefine_extname tensor_mutable_data tensor_mutable_data_double
#else
typedef float ag_real;
#endif

/* An elementwise function after a linear layer. */
typedef enum { AG_IDENTITY, AG_RELU, AG_GELU, AG_GELU_ERF, AG_TANH, AG_SIGMOID, AG_SILU } AgActivation;

/* A comparison: equal, not equal, less, less or equal, greater, greater or equal. */
typedef enum { AG_EQ, AG_NE, AG_LT, AG_LE, AG_GT, AG_GE } AgCompare;

/* In what numbers matrix products compute: float32 (in libkaeru_double: double), or operands rounded to bfloat16. */
typedef enum { AG_FLOAT32, AG_BF16 } AgPrecision;

/* How a loss over many items becomes one number. */
typedef enum { AG_MEAN, AG_SUM } AgReduce;

/* A convention of layer normalization: where eps is added, and whether the variance divides by n-1. */
typedef struct { double eps; bool eps_inside, unbiased; } AgNorm;
#define AG_NORM_PYTORCH   (AG_VALUE(AgNorm){ 1e-5, true, false })      /* sqrt(var + eps): PyTorch, GPT */
#define AG_NORM_ANNOTATED (AG_VALUE(AgNorm){ 1e-6, false, true })      /* sqrt(unbiased var) + eps: the Annotated Transformer */
#define AG_NORM_STD_EPS   (AG_VALUE(AgNorm){ 1e-6, false, false })     /* sqrt(var) + eps: textbooks */
#define AG_NORM_STD       (AG_VALUE(AgNorm){ 0.0,  false, false })     /* sqrt(var): the formula without eps */

/* Options of attention. Each of kv_heads heads of keys and values is shared by heads / kv_heads neighboring heads of queries
 * (Ainslie et al. 2023); 0: as many as heads. causal: query i sees keys 0..i+S-T, with `window` > 0 only the last `window` of
 * them, its own included (Beltagy et al. 2020). dropout: the probability with which a weight is set to 0. */
typedef struct { int heads, kv_heads; bool causal; int window; double dropout; } AgAttention;

/* Options of a convolution, of height and width: how far apart the windows are, how many zeros are on each side, how far apart
 * the items of a window are. Each of `groups` groups of output channels reads its own group of input channels. In stride,
 * dilation and groups, 0 counts as 1. */
typedef struct { int stride[2], padding[2], dilation[2], groups; } AgConv;

/* How an image is resized: an item is the nearest one, or is between the four nearest ones. */
typedef enum { AG_NEAREST, AG_BILINEAR } AgInterpolation;

/* Adam (Kingma and Ba 2015). weight_decay is added to the gradient (L2), or with `decoupled` subtracted from the weight
 * (AdamW: Loshchilov and Hutter 2019). */
typedef struct { double lr, beta1, beta2, eps, weight_decay; bool decoupled; } AgAdam;
/* Stochastic gradient descent; momentum 0: plain. */
typedef struct { double lr, momentum, weight_decay; bool nesterov; } AgSgd;

AG_PUBLIC_BEGIN

/* Scalar functions with the same bits on every machine (libm's differ): for schedules, tables and lessons. Sine and cosine
 * take |x| <= 1e8 and return NaN beyond. */
double ag_math_exp(double x), ag_math_log(double x), ag_math_sin(double x), ag_math_cos(double x),
       ag_math_pow(double x, double y);

AG_PUBLIC_END

#endif
