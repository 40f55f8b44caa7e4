/* types.h: the types and functions of numbers that kernels, operations, layers and programs share.
 *
 *     Tensor *y = ag_layer_norm(x, gamma, beta, AG_NORM_PYTORCH);
 *     AgAdam adam = { .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
 *
 * kaeru computes in float. A second build of the same sources, libkaeru_double (-DKAERU_DOUBLE),
 * computes in double. It is for comparing a gradient with a numerical one to many digits. */
#ifndef KAERU_TYPES_H
#define KAERU_TYPES_H

#include <stdbool.h>

/* The declarations of a public header stand between these two. The library exports these functions
 * and no others, under their C names. */
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

/* The type of the numbers of a tensor. */
#ifdef KAERU_DOUBLE
typedef double ag_real;
/* In libkaeru_double, functions on arrays of ag_real have other names. So a program that takes the
 * type from one library and the functions from the other does not link. */
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
typedef enum {
    AG_IDENTITY, AG_RELU, AG_GELU, AG_GELU_ERF, AG_TANH, AG_SIGMOID, AG_SILU
} AgActivation;

/* A comparison: equal, not equal, less, less or equal, greater, greater or equal. */
typedef enum { AG_EQ, AG_NE, AG_LT, AG_LE, AG_GT, AG_GE } AgCompare;

/* The precision of matrix products: float32 (in libkaeru_double: double), or operands that are
 * rounded to bfloat16. */
typedef enum { AG_FLOAT32, AG_BF16 } AgPrecision;

/* How a loss over many items becomes one number. */
typedef enum { AG_MEAN, AG_SUM } AgReduce;

/* A convention of layer normalization: where eps is added, and whether the variance divides by n -
 * 1.
 *
 *     AG_NORM_PYTORCH      divides by sqrt(var + eps), as PyTorch and GPT
 *     AG_NORM_ANNOTATED    by sqrt(unbiased var) + eps, as the Annotated Transformer
 *     AG_NORM_STD_EPS      by sqrt(var) + eps, as in textbooks
 *     AG_NORM_STD          by sqrt(var): the formula without eps
 */
typedef struct { double eps; bool eps_inside, unbiased; } AgNorm;
#define AG_NORM_PYTORCH   (AG_VALUE(AgNorm){ 1e-5, true, false })
#define AG_NORM_ANNOTATED (AG_VALUE(AgNorm){ 1e-6, false, true })
#define AG_NORM_STD_EPS   (AG_VALUE(AgNorm){ 1e-6, false, false })
#define AG_NORM_STD       (AG_VALUE(AgNorm){ 0.0,  false, false })

/* Options of attention. There are `heads` heads of queries, and kv_heads heads of keys and values;
 * 0: as many. heads / kv_heads neighboring heads of queries share one head of keys and values
 * (Ainslie et al. 2023). If `causal` is set, query i sees keys 0..i+S-T. With `window` > 0 it sees
 * only the last `window` of these, its own included (Beltagy et al. 2020). dropout is the
 * probability with which a weight is set to 0. */
typedef struct { int heads, kv_heads; bool causal; int window; double dropout; } AgAttention;

/* Options of a convolution; pairs are for height and width. stride: the distance of neighboring
 * windows. padding: the number of zeros on each side. dilation: the distance of neighboring items
 * of a window. Each of `groups` groups of output channels reads its own group of input channels. In
 * stride, dilation and groups, 0 counts as 1. */
typedef struct { int stride[2], padding[2], dilation[2], groups; } AgConv;

/* Options of Adam (Kingma and Ba 2015). weight_decay times the weight is added to the gradient
 * (L2). If `decoupled` is set, lr times that is subtracted from the weight (AdamW: Loshchilov and
 * Hutter 2019). */
typedef struct { double lr, beta1, beta2, eps, weight_decay; bool decoupled; } AgAdam;
/* Options of stochastic gradient descent. momentum 0: without momentum. */
typedef struct { double lr, momentum, weight_decay; bool nesterov; } AgSgd;

AG_PUBLIC_BEGIN

/* Return functions of a number, with the same bits on every machine, where libm's differ: for
 * schedules, tables and lessons. Sine and cosine return NaN for |x| > 1e8. */
double ag_math_exp(double x), ag_math_log(double x), ag_math_sin(double x), ag_math_cos(double x),
       ag_math_pow(double x, double y);

AG_PUBLIC_END

#endif
