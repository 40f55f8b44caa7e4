/* more_entries.h: what follows from the entries of more.def. Written by autograd/headers.py. */
void binary_backward(Tensor *y);
void binary_cross_entropy_backward(Tensor *y);
void concat_backward(Tensor *y);
void conv2d_backward(Tensor *y);
void conv_transpose2d_backward(Tensor *y);
void cumsum_backward(Tensor *y);
void expand_backward(Tensor *y);
void extreme_backward(Tensor *y);
void gather_backward(Tensor *y);
void index_add_backward(Tensor *y);
void index_select_backward(Tensor *y);
void kl_div_backward(Tensor *y);
void linear_cross_entropy_backward(Tensor *y);
void masked_fill_backward(Tensor *y);
void nll_loss_backward(Tensor *y);
void pool2d_backward(Tensor *y);
void rms_norm_backward(Tensor *y);
void rope_backward(Tensor *y);
void scatter_add_backward(Tensor *y);
void scatter_max_backward(Tensor *y);
void unary_backward(Tensor *y);
void var_dims_backward(Tensor *y);
void where_backward(Tensor *y);
void binary_values(Tensor *y, const OpCall *c);
void rms_norm_values(Tensor *y, const OpCall *c);
void rope_values(Tensor *y, const OpCall *c);
void unary_values(Tensor *y, const OpCall *c);
#define INPUTS_pow (const char *const[]){ "a", "b", NULL }
#define NUMBERS_pow (const char *const[]){ NULL }
#define INPUTS_maximum (const char *const[]){ "a", "b", NULL }
#define NUMBERS_maximum (const char *const[]){ NULL }
#define INPUTS_minimum (const char *const[]){ "a", "b", NULL }
#define NUMBERS_minimum (const char *const[]){ NULL }
#define INPUTS_abs (const char *const[]){ "x", NULL }
#define NUMBERS_abs (const char *const[]){ NULL }
#define INPUTS_softplus (const char *const[]){ "x", NULL }
#define NUMBERS_softplus (const char *const[]){ NULL }
#define INPUTS_log_sigmoid (const char *const[]){ "x", NULL }
#define NUMBERS_log_sigmoid (const char *const[]){ NULL }
#define INPUTS_erf (const char *const[]){ "x", NULL }
#define NUMBERS_erf (const char *const[]){ NULL }
#define INPUTS_sin (const char *const[]){ "x", NULL }
#define NUMBERS_sin (const char *const[]){ NULL }
#define INPUTS_cos (const char *const[]){ "x", NULL }
#define NUMBERS_cos (const char *const[]){ NULL }
#define INPUTS_sign (const char *const[]){ "x", NULL }
#define NUMBERS_sign (const char *const[]){ NULL }
#define INPUTS_pow_scalar (const char *const[]){ "x", NULL }
#define NUMBERS_pow_scalar (const char *const[]){ "exponent", NULL }
#define INPUTS_leaky_relu (const char *const[]){ "x", NULL }
#define NUMBERS_leaky_relu (const char *const[]){ "slope", NULL }
#define INPUTS_elu (const char *const[]){ "x", NULL }
#define NUMBERS_elu (const char *const[]){ "alpha", NULL }
#define INPUTS_clamp (const char *const[]){ "x", NULL }
#define NUMBERS_clamp (const char *const[]){ "low", "high", NULL }
#define INPUTS_rope (const char *const[]){ "x", "table", NULL }
#define NUMBERS_rope (const char *const[]){ NULL }
#define INPUTS_conv2d (const char *const[]){ "x", "weight", "bias", NULL }
#define NUMBERS_conv2d (const char *const[]){ NULL }
#define INPUTS_conv2d_with (const char *const[]){ "x", "weight", "bias", NULL }
#define NUMBERS_conv2d_with (const char *const[]){ NULL }
#define INPUTS_conv_transpose2d (const char *const[]){ "x", "weight", "bias", NULL }
#define NUMBERS_conv_transpose2d (const char *const[]){ NULL }
#define INPUTS_max_pool2d (const char *const[]){ "x", NULL }
#define NUMBERS_max_pool2d (const char *const[]){ NULL }
#define INPUTS_mean_pool2d (const char *const[]){ "x", NULL }
#define NUMBERS_mean_pool2d (const char *const[]){ NULL }
#define INPUTS_where (const char *const[]){ "mask", "a", "b", NULL }
#define NUMBERS_where (const char *const[]){ NULL }
#define INPUTS_masked_fill (const char *const[]){ "x", "mask", NULL }
#define NUMBERS_masked_fill (const char *const[]){ "value", NULL }
#define INPUTS_max_dim (const char *const[]){ "x", NULL }
#define NUMBERS_max_dim (const char *const[]){ NULL }
#define INPUTS_min_dim (const char *const[]){ "x", NULL }
#define NUMBERS_min_dim (const char *const[]){ NULL }
#define INPUTS_var_dims (const char *const[]){ "x", NULL }
#define NUMBERS_var_dims (const char *const[]){ NULL }
#define INPUTS_cumsum (const char *const[]){ "x", NULL }
#define NUMBERS_cumsum (const char *const[]){ NULL }
#define INPUTS_rms_norm (const char *const[]){ "x", "gamma", NULL }
#define NUMBERS_rms_norm (const char *const[]){ "eps", NULL }
#define INPUTS_gather (const char *const[]){ "x", "ids", NULL }
#define NUMBERS_gather (const char *const[]){ NULL }
#define INPUTS_scatter_add (const char *const[]){ "x", "ids", "src", NULL }
#define NUMBERS_scatter_add (const char *const[]){ NULL }
#define INPUTS_scatter_max (const char *const[]){ "x", "ids", "src", NULL }
#define NUMBERS_scatter_max (const char *const[]){ NULL }
#define INPUTS_index_add (const char *const[]){ "x", "ids", "src", NULL }
#define NUMBERS_index_add (const char *const[]){ NULL }
#define INPUTS_index_select (const char *const[]){ "x", "ids", NULL }
#define NUMBERS_index_select (const char *const[]){ NULL }
#define INPUTS_concat (const char *const[]){ NULL }
#define NUMBERS_concat (const char *const[]){ NULL }
#define INPUTS_expand (const char *const[]){ "x", NULL }
#define NUMBERS_expand (const char *const[]){ NULL }
#define INPUTS_linear_cross_entropy (const char *const[]){ "x", "weight", "bias", "target", NULL }
#define NUMBERS_linear_cross_entropy (const char *const[]){ "smoothing", NULL }
#define INPUTS_binary_cross_entropy (const char *const[]){ "logits", "target", NULL }
#define NUMBERS_binary_cross_entropy (const char *const[]){ NULL }
#define INPUTS_nll_loss (const char *const[]){ "log_p", "target", NULL }
#define NUMBERS_nll_loss (const char *const[]){ NULL }
#define INPUTS_kl_div (const char *const[]){ "log_p", "target", NULL }
#define NUMBERS_kl_div (const char *const[]){ NULL }
