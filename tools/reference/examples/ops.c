/* ops.c: the examples of ops.h and more_ops.h. */
#include <math.h>

#include "example.h"

static void elementwise(void)
{
    EXAMPLE(ag_add) {
        Tensor *a = tensor_from(SHAPE(2, 2), (ag_real[]){ 1, 2, 3, 4 });
        Tensor *b = tensor_from(SHAPE(2), (ag_real[]){ 10, 20 });       /* repeated for each row */
        tensor_print(ag_add(a, b));
    }
    EXAMPLE(ag_sub) {
        Tensor *a = tensor_from(SHAPE(3, 1), (ag_real[]){ 1, 2, 3 });
        Tensor *b = tensor_from(SHAPE(2), (ag_real[]){ 1, 10 });
        tensor_print(ag_sub(a, b));                                     /* (3,1) and (2) -> (3,2) */
    }
    EXAMPLE(ag_mul) {
        Tensor *a = variable(tensor_from(SHAPE(2), (ag_real[]){ 2, 3 }));
        Tensor *b = tensor_from(SHAPE(2), (ag_real[]){ 5, 7 });
        ag_backward(ag_sum(ag_mul(a, b)));
        tensor_print(tensor_grad(a));
    }
    EXAMPLE(ag_div) {
        Tensor *a = tensor_from(SHAPE(3), (ag_real[]){ 1, 0, -1 });
        tensor_print(ag_div(a, tensor_zeros(AG_SCALAR)));
    }
    EXAMPLE(ag_pow) {
        Tensor *a = tensor_from(SHAPE(3), (ag_real[]){ 1, 2, 3 });
        tensor_print(ag_pow(a, tensor_full(AG_SCALAR, 2)));
    }
    EXAMPLE(ag_maximum) {
        Tensor *a = variable(tensor_from(SHAPE(3), (ag_real[]){ 1, 5, 2 }));
        Tensor *y = ag_maximum(a, tensor_full(AG_SCALAR, 2));
        tensor_print(y);
        ag_backward(ag_sum(y));
        tensor_print(tensor_grad(a));                                   /* 2 and 2 are equal: half */
    }
    EXAMPLE(ag_minimum) {
        Tensor *a = tensor_from(SHAPE(3), (ag_real[]){ 1, 5, 2 });
        tensor_print(ag_minimum(a, tensor_full(AG_SCALAR, 2)));
    }
    EXAMPLE(ag_where) {
        Tensor *x = tensor_from(SHAPE(4), (ag_real[]){ -2, -1, 1, 2 });
        Tensor *positive = ag_compare_scalar(AG_GT, x, 0);
        tensor_print(ag_where(positive, x, ag_scale(x, 0.1)));          /* a leaky ReLU */
    }
    EXAMPLE(ag_neg) {
        tensor_print(ag_neg(tensor_arange(0, 4, 1)));
    }
    EXAMPLE(ag_scale) {
        tensor_print(ag_scale(tensor_arange(0, 4, 1), 0.5));
    }
    EXAMPLE(ag_add_scalar) {
        tensor_print(ag_add_scalar(tensor_arange(0, 4, 1), 0.5));
    }
    EXAMPLE(ag_pow_scalar) {
        Tensor *x = variable(tensor_from(SHAPE(3), (ag_real[]){ 1, 2, 3 }));
        Tensor *y = ag_pow_scalar(x, 3);
        tensor_print(y);
        ag_backward(ag_sum(y));
        tensor_print(tensor_grad(x));                                   /* 3 x^2 */
    }
    EXAMPLE(ag_exp) {
        tensor_print(ag_exp(tensor_from(SHAPE(3), (ag_real[]){ 0, 1, 2 })));
    }
    EXAMPLE(ag_log) {
        tensor_print(ag_log(tensor_from(SHAPE(4), (ag_real[]){ 1, 10, 0, -1 })));
    }
    EXAMPLE(ag_sqrt) {
        tensor_print(ag_sqrt(tensor_from(SHAPE(3), (ag_real[]){ 1, 2, 4 })));
    }
    EXAMPLE(ag_abs) {
        Tensor *x = variable(tensor_from(SHAPE(3), (ag_real[]){ -2, 0, 3 }));
        ag_backward(ag_sum(ag_abs(x)));
        tensor_print(tensor_grad(x));
    }
    EXAMPLE(ag_clamp) {
        tensor_print(ag_clamp(tensor_arange(-2, 3, 1), -1, 1));
    }
    EXAMPLE(ag_tanh) {
        Tensor *x = variable(tensor_from(SHAPE(3), (ag_real[]){ 0, 1, 5 }));
        Tensor *y = ag_tanh(x);
        tensor_print(y);
        ag_backward(ag_sum(y));
        tensor_print(tensor_grad(x));                                   /* almost 0 where tanh is flat */
    }
    EXAMPLE(ag_sigmoid) {
        tensor_print(ag_sigmoid(tensor_from(SHAPE(3), (ag_real[]){ -5, 0, 5 })));
    }
    EXAMPLE(ag_relu) {
        tensor_print(ag_relu(tensor_arange(-2, 3, 1)));
    }
    EXAMPLE(ag_gelu) {
        tensor_print(ag_gelu(tensor_arange(-2, 3, 1)));
    }
    EXAMPLE(ag_gelu_erf) {
        tensor_print(ag_gelu_erf(tensor_arange(-2, 3, 1)));
    }
    EXAMPLE(ag_silu) {
        tensor_print(ag_silu(tensor_arange(-2, 3, 1)));
    }
    EXAMPLE(ag_softplus) {
        tensor_print(ag_softplus(tensor_from(SHAPE(3), (ag_real[]){ -2, 0, 100 })));
    }
    EXAMPLE(ag_leaky_relu) {
        Tensor *x = variable(tensor_from(SHAPE(3), (ag_real[]){ -2, 0, 3 })), *y = ag_leaky_relu(x, 0.1);
        tensor_print(y);
        ag_backward(ag_sum(y));
        tensor_print(tensor_grad(x));
    }
    EXAMPLE(ag_elu) {
        tensor_print(ag_elu(tensor_from(SHAPE(3), (ag_real[]){ -100, -1, 3 }), 1));
    }
    EXAMPLE(ag_log_sigmoid) {
        tensor_print(ag_log_sigmoid(tensor_from(SHAPE(3), (ag_real[]){ -100, 0, 2 })));
    }
    EXAMPLE(ag_erf) {
        tensor_print(ag_erf(tensor_arange(0, 3, 1)));
    }
    EXAMPLE(ag_sin) {
        tensor_print(ag_sin(tensor_from(SHAPE(3), (ag_real[]){ 0, 1.5707964f, 1e6f })));
    }
    EXAMPLE(ag_cos) {
        tensor_print(ag_cos(tensor_from(SHAPE(3), (ag_real[]){ 0, 3.1415927f, 1e6f })));
    }
    EXAMPLE(ag_sign) {
        tensor_print(ag_sign(tensor_arange(-1, 2, 0.5)));
    }
    EXAMPLE(ag_masked_fill) {
        Tensor *scores = tensor_ones(SHAPE(3, 3));
        Tensor *hidden = ag_not(nn_causal_mask(3));                     /* (1,3,3) */
        tensor_print(ag_masked_fill(scores, ag_squeeze(hidden, 0), -1));
    }
    EXAMPLE(ag_dropout) {
        tensor_print(ag_dropout(tensor_ones(SHAPE(3, 6)), 0.5));        /* what stays is doubled */
    }
}

static void products(void)
{
    EXAMPLE(ag_matmul) {
        Tensor *a = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
        Tensor *b = tensor_from(SHAPE(3, 1), (ag_real[]){ 1, 0, -1 });
        tensor_print(ag_matmul(a, b));
        Tensor *batch = ag_matmul(tensor_ones(SHAPE(5, 4, 2, 3)), b);   /* b for each of 20 matrices */
        char text[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(batch), text));
    }
    EXAMPLE(ag_linear) {
        Tensor *x = tensor_from(SHAPE(2), (ag_real[]){ 1, 2 });
        Tensor *weight = tensor_from(SHAPE(3, 2), (ag_real[]){ 1, 0, 0, 1, 1, 1 });
        Tensor *bias = tensor_from(SHAPE(3), (ag_real[]){ 0, 0, 10 });
        tensor_print(ag_linear(x, weight, bias));                       /* (2) -> (3) */
    }
    EXAMPLE(ag_attention) {
        Tensor *q = tensor_normal(SHAPE(1, 3, 4), 0, 1);                /* 3 queries in 2 heads of width 2 */
        Tensor *k = tensor_normal(SHAPE(1, 3, 4), 0, 1);
        Tensor *v = tensor_normal(SHAPE(1, 3, 4), 0, 1);
        Tensor *y = ag_attention(q, k, v, NULL, (AgAttention){ .heads = 2, .causal = true });
        tensor_print(y);
        /* The first query sees the first key alone, so its result is the first value. */
        tensor_print(ag_slice(v, 1, 0, 1));
    }
    EXAMPLE(ag_self_attention) {
        Tensor *qkv = tensor_normal(SHAPE(1, 3, 3 * 4), 0, 1);
        Tensor *padding = tensor_bools(SHAPE(1, 1, 1, 3), (uint8_t[]){ 1, 1, 0 });     /* key 2 is hidden from all */
        tensor_print(ag_self_attention(qkv, padding, (AgAttention){ .heads = 1 }));
    }
    EXAMPLE(ag_rope) {
        Tensor *table = ag_rope_table(ag_rope_frequencies(4, 10000), 0, 3);
        Tensor *x = tensor_ones(SHAPE(1, 3, 4));                        /* one head of width 4, positions 0, 1, 2 */
        tensor_print(ag_rope(x, table, 1, false));
    }
    EXAMPLE(ag_conv2d) {
        Tensor *x = ag_reshape(tensor_arange(0, 16, 1), SHAPE(1, 1, 4, 4));
        Tensor *weight = tensor_from(SHAPE(1, 1, 2, 2), (ag_real[]){ -1, 0, 0, 1 });
        tensor_print(ag_conv2d(x, weight, NULL, 1, 0));                 /* the item below to the right, less this one */
    }
    EXAMPLE(ag_conv2d_with) {
        Tensor *x = ag_reshape(tensor_arange(0, 8, 1), SHAPE(1, 2, 2, 2));
        Tensor *weight = tensor_from(SHAPE(2, 1, 1, 1), (ag_real[]){ 1, 10 });
        tensor_print(ag_conv2d_with(x, weight, NULL, (AgConv){ .groups = 2 }));             /* each channel for itself */
    }
    EXAMPLE(ag_conv_transpose2d) {
        Tensor *x = tensor_from(SHAPE(1, 1, 1, 2), (ag_real[]){ 1, 2 });
        Tensor *weight = tensor_from(SHAPE(1, 1, 2, 2), (ag_real[]){ 1, 2, 3, 4 });
        tensor_print(ag_conv_transpose2d(x, weight, NULL, 2, 0, 0));                        /* twice as high and wide */
    }
    EXAMPLE(ag_max_pool2d) {
        Tensor *x = ag_reshape(tensor_arange(0, 16, 1), SHAPE(1, 1, 4, 4));
        tensor_print(ag_max_pool2d(x, 2, 2, 0));
    }
    EXAMPLE(ag_mean_pool2d) {
        Tensor *x = ag_reshape(tensor_arange(0, 16, 1), SHAPE(1, 1, 4, 4));
        tensor_print(ag_mean_pool2d(x, 2, 2, 0));
    }
}

static void dimensions(void)
{
    EXAMPLE(ag_sum_dims) {
        Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
        tensor_print(ag_sum_dims(x, DIMS(0), false));
        tensor_print(ag_sum_dims(x, DIMS(-1), true));
    }
    EXAMPLE(ag_mean_dims) {
        Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
        tensor_print(ag_mean_dims(x, DIMS(0, 1), false));
    }
    EXAMPLE(ag_max_dim) {
        Tensor *x = variable(tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 9, 9, 4, 5, 6 }));
        Tensor *y = ag_max_dim(x, 1, false);
        tensor_print(y);
        ag_backward(ag_sum(y));
        tensor_print(tensor_grad(x));
    }
    EXAMPLE(ag_min_dim) {
        Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 9, 9, 4, 5, 6 });
        tensor_print(ag_min_dim(x, 0, false));
    }
    EXAMPLE(ag_var_dims) {
        Tensor *x = tensor_from(SHAPE(4), (ag_real[]){ 1, 2, 3, 4 });
        tensor_print(ag_var_dims(x, DIMS(0), false, false));
        tensor_print(ag_var_dims(x, DIMS(0), true, false));
    }
    EXAMPLE(ag_cumsum) {
        tensor_print(ag_cumsum(tensor_ones(SHAPE(2, 4)), 1));
    }
    EXAMPLE(ag_softmax) {
        Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 1000, 1000, -1000 });
        tensor_print(ag_softmax(x, -1));
    }
    EXAMPLE(ag_log_softmax) {
        Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 1000, 1000, 990 });
        tensor_print(ag_log_softmax(x, -1));
    }
    EXAMPLE(ag_masked_softmax) {
        Tensor *scores = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
        Tensor *visible = tensor_bools(SHAPE(2, 3), (uint8_t[]){ 1, 1, 0, 0, 0, 0 });
        tensor_print(ag_masked_softmax(scores, visible, 1));            /* the second row has no visible entry */
    }
    EXAMPLE(ag_rms_norm) {
        tensor_print(ag_rms_norm(tensor_from(SHAPE(2), (ag_real[]){ 3, 4 }), NULL, 0));
    }
    EXAMPLE(ag_layer_norm) {
        Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 7, 7, 7 });
        tensor_print(ag_layer_norm(x, NULL, NULL, AG_NORM_PYTORCH));
        tensor_print(ag_layer_norm(x, NULL, NULL, AG_NORM_STD));        /* eps 0: a row of equal numbers gives 0 */
    }
}

static void entries(void)
{
    EXAMPLE(ag_embedding) {
        Tensor *table = variable(tensor_from(SHAPE(3, 2), (ag_real[]){ 0, 1, 10, 11, 20, 21 }));
        Tensor *ids = tensor_ints(SHAPE(3), (int32_t[]){ 2, 0, 2 });
        Tensor *y = ag_embedding(table, ids);
        tensor_print(y);
        ag_backward(ag_sum(y));
        tensor_print(tensor_grad(table));                               /* row 2 was used twice */
    }
    EXAMPLE(ag_gather) {
        Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
        Tensor *ids = tensor_ints(SHAPE(2, 1), (int32_t[]){ 2, 0 });
        tensor_print(ag_gather(x, 1, ids));                             /* one item of each row */
    }
    EXAMPLE(ag_scatter_add) {
        Tensor *ids = tensor_ints(SHAPE(4), (int32_t[]){ 0, 2, 2, 2 });
        tensor_print(ag_scatter_add(tensor_zeros(SHAPE(3)), 0, ids, tensor_ones(SHAPE(4))));      /* counts the ids */
    }
    EXAMPLE(ag_scatter_max) {
        Tensor *ids = tensor_ints(SHAPE(4), (int32_t[]){ 0, 2, 2, 2 }), *none = tensor_full(SHAPE(3), -INFINITY);
        tensor_print(ag_scatter_max(none, 0, ids, tensor_arange(1, 5, 1)));     /* -inf: no id is 1 */
    }
    EXAMPLE(ag_index_add) {
        Tensor *ids = tensor_ints(SHAPE(3), (int32_t[]){ 1, 0, 1 });            /* of rows */
        tensor_print(ag_index_add(tensor_zeros(SHAPE(2, 2)), 0, ids, tensor_ones(SHAPE(3, 2))));
    }
    EXAMPLE(ag_reshape) {
        tensor_print(ag_reshape(tensor_arange(0, 6, 1), SHAPE(2, -1)));
    }
    EXAMPLE(ag_permute) {
        Tensor *x = tensor_zeros(SHAPE(2, 3, 4));
        char text[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(ag_permute(x, DIMS(2, 0, 1))), text));
    }
    EXAMPLE(ag_index_select) {
        Tensor *x = tensor_from(SHAPE(3, 2), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
        Tensor *labels = tensor_ints(SHAPE(3), (int32_t[]){ 7, 8, 9 }), *ids = tensor_ints(SHAPE(2), (int32_t[]){ 2, 0 });
        tensor_print(ag_index_select(x, 0, ids));
        tensor_print(ag_index_select(labels, 0, ids));
    }
    EXAMPLE(ag_slice) {
        Tensor *x = tensor_arange(0, 6, 1);
        tensor_print(ag_slice(x, 0, 1, 3));
        tensor_print(ag_slice(x, 0, 0, -1));                            /* all but the last */
    }
    EXAMPLE(ag_concat) {
        Tensor *a = tensor_zeros(SHAPE(2, 1)), *b = tensor_ones(SHAPE(2, 2));
        tensor_print(ag_concat((Tensor *[]){ a, b }, 2, 1));
    }
    EXAMPLE(ag_expand) {
        Tensor *row = tensor_from(SHAPE(2), (ag_real[]){ 1, 2 });
        tensor_print(ag_expand(row, SHAPE(3, 2)));
    }
}

static void losses(void)
{
    EXAMPLE(ag_mse_loss) {
        Tensor *x = variable(tensor_from(SHAPE(2), (ag_real[]){ 1, 3 }));
        Tensor *loss = ag_mse_loss(x, tensor_zeros(SHAPE(2)));
        tensor_print(loss);
        ag_backward(loss);
        tensor_print(tensor_grad(x));
    }
    EXAMPLE(ag_binary_cross_entropy) {
        Tensor *logits = tensor_from(SHAPE(3), (ag_real[]){ 0, 5, -5 });
        Tensor *target = tensor_from(SHAPE(3), (ag_real[]){ 1, 1, 1 });
        tensor_print(ag_binary_cross_entropy(logits, target, AG_MEAN));
    }
    EXAMPLE(ag_cross_entropy) {
        Tensor *logits = tensor_from(SHAPE(3, 2), (ag_real[]){ 0, 0, 5, 0, 9, 9 });
        Tensor *target = tensor_ints(SHAPE(3), (int32_t[]){ 0, 0, -100 });
        tensor_print(ag_cross_entropy(logits, target, AG_MEAN, -100, 0));       /* the third row does not count */
        tensor_print(ag_cross_entropy(logits, target, AG_SUM, -100, 0));
    }
    EXAMPLE(ag_linear_cross_entropy) {
        Tensor *x = tensor_normal(SHAPE(4, 8), 0, 1), *weight = tensor_normal(SHAPE(50, 8), 0, 1);
        Tensor *target = tensor_randint(SHAPE(4), 0, 50);
        Tensor *one = ag_linear_cross_entropy(x, weight, NULL, target, AG_MEAN, -100, 0);
        Tensor *two = ag_cross_entropy(ag_linear(x, weight, NULL), target, AG_MEAN, -100, 0);
        printf("%.4f, %s\n", tensor_item(one), tensor_item(one) == tensor_item(two) ? "the same" : "different");
    }
    EXAMPLE(ag_nll_loss) {
        Tensor *log_p = ag_log_softmax(tensor_from(SHAPE(2, 2), (ag_real[]){ 0, 0, 5, 0 }), -1);
        tensor_print(ag_nll_loss(log_p, tensor_ints(SHAPE(2), (int32_t[]){ 0, 0 }), AG_MEAN, -100));
    }
    EXAMPLE(ag_kl_div) {
        Tensor *target = tensor_from(SHAPE(2), (ag_real[]){ 0.5, 0.5 });
        Tensor *p = tensor_from(SHAPE(2), (ag_real[]){ 0.9f, 0.1f });
        tensor_print(ag_kl_div(ag_log(p), target, AG_SUM));
    }
    EXAMPLE(ag_label_smoothing) {
        Tensor *log_p = ag_log_softmax(tensor_from(SHAPE(1, 4), (ag_real[]){ 0, 9, 0, 0 }), -1);
        Tensor *target = tensor_ints(SHAPE(1), (int32_t[]){ 1 });
        tensor_print(ag_label_smoothing(log_p, target, 0, 0.0));        /* the target has probability 1 */
        tensor_print(ag_label_smoothing(log_p, target, 0, 0.1));        /* 0.9: too much confidence costs */
    }
}

int main(void)
{
    elementwise();
    products();
    dimensions();
    entries();
    losses();
    return 0;
}
