/* op_entries.h: what follows from the entries of ops.def. Written by autograd/headers.py. */
void attention_backward(Tensor *y);
void binary_backward(Tensor *y);
void cross_entropy_backward(Tensor *y);
void dropout_backward(Tensor *y);
void embedding_backward(Tensor *y);
void label_smoothing_backward(Tensor *y);
void layer_norm_backward(Tensor *y);
void linear_backward(Tensor *y);
void masked_softmax_backward(Tensor *y);
void matmul_backward(Tensor *y);
void mse_loss_backward(Tensor *y);
void permute_backward(Tensor *y);
void reshape_backward(Tensor *y);
void self_attention_backward(Tensor *y);
void slice_backward(Tensor *y);
void softmax_backward(Tensor *y);
void sum_scaled_backward(Tensor *y);
void unary_backward(Tensor *y);
void binary_values(Tensor *y, const OpCall *c);
void dropout_values(Tensor *y, const OpCall *c);
void embedding_values(Tensor *y, const OpCall *c);
void layer_norm_values(Tensor *y, const OpCall *c);
void linear_values(Tensor *y, const OpCall *c);
void matmul_values(Tensor *y, const OpCall *c);
void reshape_values(Tensor *y, const OpCall *c);
void slice_values(Tensor *y, const OpCall *c);
void unary_values(Tensor *y, const OpCall *c);
#define INPUTS_add (const char *const[]){ "a", "b", NULL }
#define NUMBERS_add (const char *const[]){ NULL }
#define INPUTS_sub (const char *const[]){ "a", "b", NULL }
#define NUMBERS_sub (const char *const[]){ NULL }
#define INPUTS_mul (const char *const[]){ "a", "b", NULL }
#define NUMBERS_mul (const char *const[]){ NULL }
#define INPUTS_div (const char *const[]){ "a", "b", NULL }
#define NUMBERS_div (const char *const[]){ NULL }
#define INPUTS_neg (const char *const[]){ "x", NULL }
#define NUMBERS_neg (const char *const[]){ NULL }
#define INPUTS_exp (const char *const[]){ "x", NULL }
#define NUMBERS_exp (const char *const[]){ NULL }
#define INPUTS_log (const char *const[]){ "x", NULL }
#define NUMBERS_log (const char *const[]){ NULL }
#define INPUTS_sqrt (const char *const[]){ "x", NULL }
#define NUMBERS_sqrt (const char *const[]){ NULL }
#define INPUTS_tanh (const char *const[]){ "x", NULL }
#define NUMBERS_tanh (const char *const[]){ NULL }
#define INPUTS_sigmoid (const char *const[]){ "x", NULL }
#define NUMBERS_sigmoid (const char *const[]){ NULL }
#define INPUTS_relu (const char *const[]){ "x", NULL }
#define NUMBERS_relu (const char *const[]){ NULL }
#define INPUTS_gelu (const char *const[]){ "x", NULL }
#define NUMBERS_gelu (const char *const[]){ NULL }
#define INPUTS_gelu_erf (const char *const[]){ "x", NULL }
#define NUMBERS_gelu_erf (const char *const[]){ NULL }
#define INPUTS_silu (const char *const[]){ "x", NULL }
#define NUMBERS_silu (const char *const[]){ NULL }
#define INPUTS_scale (const char *const[]){ "x", NULL }
#define NUMBERS_scale (const char *const[]){ "factor", NULL }
#define INPUTS_add_scalar (const char *const[]){ "x", NULL }
#define NUMBERS_add_scalar (const char *const[]){ "number", NULL }
#define INPUTS_dropout (const char *const[]){ "x", NULL }
#define NUMBERS_dropout (const char *const[]){ "p", NULL }
#define INPUTS_matmul (const char *const[]){ "a", "b", NULL }
#define NUMBERS_matmul (const char *const[]){ NULL }
#define INPUTS_linear (const char *const[]){ "x", "weight", "bias", NULL }
#define NUMBERS_linear (const char *const[]){ NULL }
#define INPUTS_attention (const char *const[]){ "q", "k", "v", "mask", NULL }
#define NUMBERS_attention (const char *const[]){ NULL }
#define INPUTS_self_attention (const char *const[]){ "qkv", "mask", NULL }
#define NUMBERS_self_attention (const char *const[]){ NULL }
#define INPUTS_sum_dims (const char *const[]){ "x", NULL }
#define NUMBERS_sum_dims (const char *const[]){ NULL }
#define INPUTS_mean_dims (const char *const[]){ "x", NULL }
#define NUMBERS_mean_dims (const char *const[]){ NULL }
#define INPUTS_softmax (const char *const[]){ "x", NULL }
#define NUMBERS_softmax (const char *const[]){ NULL }
#define INPUTS_log_softmax (const char *const[]){ "x", NULL }
#define NUMBERS_log_softmax (const char *const[]){ NULL }
#define INPUTS_masked_softmax (const char *const[]){ "x", "mask", NULL }
#define NUMBERS_masked_softmax (const char *const[]){ "scale", NULL }
#define INPUTS_layer_norm (const char *const[]){ "x", "gamma", "beta", NULL }
#define NUMBERS_layer_norm (const char *const[]){ NULL }
#define INPUTS_embedding (const char *const[]){ "table", "ids", NULL }
#define NUMBERS_embedding (const char *const[]){ NULL }
#define INPUTS_reshape (const char *const[]){ "x", NULL }
#define NUMBERS_reshape (const char *const[]){ NULL }
#define INPUTS_permute (const char *const[]){ "x", NULL }
#define NUMBERS_permute (const char *const[]){ NULL }
#define INPUTS_slice (const char *const[]){ "x", NULL }
#define NUMBERS_slice (const char *const[]){ NULL }
#define INPUTS_mse_loss (const char *const[]){ "x", "target", NULL }
#define NUMBERS_mse_loss (const char *const[]){ NULL }
#define INPUTS_cross_entropy (const char *const[]){ "logits", "target", NULL }
#define NUMBERS_cross_entropy (const char *const[]){ "smoothing", NULL }
#define INPUTS_label_smoothing (const char *const[]){ "log_p", "target", NULL }
#define NUMBERS_label_smoothing (const char *const[]){ "smoothing", NULL }
