/* test_torch.c: operations and optimizers against PyTorch's results (fixtures/make_torch.py). */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "expected.h"
#include "kaeru/attention.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"
#include "suites.h"

enum { MOST_INPUTS = 4 };

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* One case of the fixtures: kaeru's call on its inputs. */
typedef struct { const char *name; Tensor *(*call)(Tensor **x); } Case;

#define CALL(name, expression) static Tensor *name(Tensor **x) { return expression; }
#define UNARY(op) CALL(call_##op, ag_##op(x[0]))
#define BINARY(op) CALL(call_##op, ag_##op(x[0], x[1]))

BINARY(add) BINARY(sub) BINARY(mul) BINARY(div) BINARY(pow) BINARY(maximum) BINARY(minimum)
CALL(call_where, ag_where(x[0], x[1], x[2]))
UNARY(neg) UNARY(exp) UNARY(log) UNARY(sqrt) UNARY(abs) UNARY(tanh) UNARY(sigmoid) UNARY(relu)
UNARY(gelu) UNARY(gelu_erf)
CALL(call_scale, ag_add(ag_scale(x[0], -1.5), tensor_full(AG_SCALAR, 0.25)))
CALL(call_clamp, ag_clamp(x[0], -0.5, 0.75))
CALL(power_3, ag_pow_scalar(x[0], 3))
CALL(power_root, ag_pow_scalar(x[0], -0.5))
CALL(power_2, ag_pow_scalar(x[0], 2))
CALL(masked_fill_0, ag_masked_fill(x[0], x[1], -3))
CALL(masked_fill_1, ag_masked_fill(x[0], x[1], 0.5))
BINARY(matmul)
CALL(linear_bias, ag_linear(x[0], x[1], x[2]))
CALL(linear_no_bias, ag_linear(x[0], x[1], NULL))
CALL(sum_dims_0, ag_sum_dims(x[0], DIMS(0, 2), false))
CALL(sum_dims_1, ag_sum_dims(x[0], DIMS(-1), true))
CALL(mean_dims_0, ag_mean_dims(x[0], DIMS(1), false))
CALL(mean_dims_1, ag_mean_dims(x[0], DIMS(0, 1, 2), false))
CALL(max_dim_0, ag_max_dim(x[0], 1, false))
CALL(max_dim_1, ag_max_dim(x[0], -1, true))
CALL(min_dim_0, ag_min_dim(x[0], 0, false))
CALL(min_dim_1, ag_min_dim(x[0], -1, true))
CALL(var_dims_0, ag_var_dims(x[0], DIMS(-1), true, false))
CALL(var_dims_1, ag_var_dims(x[0], DIMS(0, 2), false, true))
CALL(softmax_0, ag_softmax(x[0], -1))
CALL(softmax_1, ag_softmax(x[0], 1))
CALL(log_softmax_0, ag_log_softmax(x[0], -1))
CALL(log_softmax_1, ag_log_softmax(x[0], 0))
CALL(masked_softmax_0, ag_masked_softmax(x[0], x[1], 1))
CALL(masked_softmax_1, ag_masked_softmax(x[0], x[1], 0.5))
CALL(masked_softmax_2, ag_masked_softmax(x[0], NULL, 1.5))
CALL(norm_pytorch, ag_layer_norm(x[0], x[1], x[2], AG_NORM_PYTORCH))
CALL(norm_annotated, ag_layer_norm(x[0], x[1], x[2], AG_NORM_ANNOTATED))
CALL(norm_book, ag_layer_norm(x[0], x[1], x[2], AG_NORM_STD_EPS))
CALL(norm_std, ag_layer_norm(x[0], x[1], x[2], AG_NORM_STD))
CALL(norm_no_bias, ag_layer_norm(x[0], x[1], NULL, AG_NORM_PYTORCH))
BINARY(embedding)
CALL(pick_0, ag_squeeze(ag_gather(x[0], -1, ag_unsqueeze(x[1], -1)), -1))
CALL(pick_1, ag_squeeze(ag_gather(x[0], 1, ag_unsqueeze(x[1], 1)), 1))
CALL(reshape_0, ag_reshape(x[0], SHAPE(4, 6)))
CALL(reshape_1, ag_reshape(x[0], SHAPE(2, -1)))
CALL(permute_0, ag_permute(x[0], DIMS(2, 0, 1)))
CALL(permute_1, ag_permute(x[0], DIMS(0, 2, 1, 3)))
CALL(slice_0, ag_slice(x[0], 1, 1, 3))
CALL(slice_1, ag_slice(x[0], -1, -2, -1))
CALL(concat_0, ag_concat(x, 2, 1))
CALL(concat_1, ag_concat(x, 3, 0))
CALL(expand_0, ag_expand(x[0], SHAPE(4, 2, 3)))
CALL(expand_1, ag_expand(x[0], SHAPE(3, 5)))
BINARY(mse_loss)
CALL(cross_entropy_0, ag_cross_entropy(x[0], x[1], AG_MEAN, -100, 0))
CALL(cross_entropy_sum, ag_cross_entropy(x[0], x[1], AG_SUM, 2, 0))
CALL(cross_entropy_smooth, ag_cross_entropy(x[0], x[1], AG_MEAN, -100, 0.1))
CALL(nll_loss_0, ag_nll_loss(x[0], x[1], AG_MEAN, -100))
CALL(nll_loss_sum, ag_nll_loss(x[0], x[1], AG_SUM, 3))
CALL(kl_div_sum, ag_kl_div(x[0], x[1], AG_SUM))
CALL(kl_div_mean, ag_kl_div(x[0], x[1], AG_MEAN))
CALL(kl_div_sparse,
     ag_kl_div(x[0], tensor_from(SHAPE(2, 3), (ag_real[]){ 0, (ag_real)0.25, (ag_real)0.75, 1, 0, 0 }), AG_SUM))
CALL(label_smoothing_0, ag_label_smoothing(x[0], x[1], 0, 0.1))
CALL(label_smoothing_1, ag_label_smoothing(x[0], x[1], 5, 0))

UNARY(silu) UNARY(softplus) UNARY(erf) UNARY(sin) UNARY(cos) UNARY(sign)
CALL(rms_norm_0, ag_rms_norm(x[0], x[1], 1e-5))
CALL(rms_norm_1, ag_rms_norm(x[0], NULL, 0.1))
CALL(swiglu_0, ag_mul(ag_silu(ag_slice(x[0], -1, 0, 5)), ag_slice(x[0], -1, 5, 10)))
CALL(rope_0, ag_rope(x[0], ag_rope_table(ag_rope_frequencies(6, 100), 3, 4), 2, false))
CALL(rope_1, ag_rope(x[0], ag_rope_table(ag_rope_frequencies(4, 100), 3, 4), 3, true))
CALL(attention_0, ag_attention(x[0], x[1], x[2], NULL, ((AgAttention){ .heads = 4, .kv_heads = 2 })))
CALL(attention_1, ag_attention(x[0], x[1], x[2], NULL,
                                    ((AgAttention){ .heads = 3, .kv_heads = 1, .causal = true, .window = 3 })))
CALL(conv2d_0, ag_conv2d(x[0], x[1], x[2], 1, 1))
CALL(conv2d_1, ag_conv2d(x[0], x[1], x[2], 2, 1))
CALL(conv2d_2, ag_conv2d(x[0], x[1], NULL, 3, 2))
CALL(conv1d_0, ag_conv1d(x[0], x[1], x[2], 2, 1))
CALL(conv1d_1, ag_conv1d(x[0], x[1], NULL, 1, 0))
CALL(max_pool_0, ag_max_pool2d(x[0], 2, 2, 0))
CALL(max_pool_1, ag_max_pool2d(x[0], 3, 2, 1))
CALL(mean_pool_0, ag_mean_pool2d(x[0], 2, 2, 0))
CALL(mean_pool_1, ag_mean_pool2d(x[0], 3, 2, 1))
CALL(pad_0, ag_pad(x[0], 1, 2, 1))
CALL(scatter_add_0, ag_scatter_add(x[0], 1, x[1], x[2]))
CALL(scatter_add_1, ag_scatter_add(x[0], 0, x[1], x[2]))
CALL(cumsum_0, ag_cumsum(x[0], -1))
CALL(cumsum_1, ag_cumsum(x[0], 1))
CALL(sort_0, ag_sort(x[0], 1, false, NULL))
CALL(sort_1, ag_sort(x[0], -1, true, NULL))
CALL(topk_0, ag_topk(x[0], 3, 1, NULL))
CALL(logsumexp_0, ag_logsumexp(x[0], -1, false))
CALL(logsumexp_1, ag_logsumexp(x[0], 0, true))
CALL(huber_loss, ag_huber_loss(x[0], x[1], 0.7))
CALL(l1_loss, ag_mean(ag_abs(ag_sub(x[0], x[1]))))
CALL(bce_0, ag_binary_cross_entropy(x[0], x[1], AG_MEAN))
CALL(bce_1, ag_binary_cross_entropy(x[0], x[1], AG_SUM))
CALL(sum_dims_2, ag_sum_dims(x[0], DIMS(0), false))
CALL(mean_dims_2, ag_mean_dims(x[0], DIMS(-1), true))
CALL(max_dim_2, ag_max_dim(x[0], 0, false))
CALL(min_dim_2, ag_min_dim(x[0], -1, false))
CALL(var_dims_2, ag_var_dims(x[0], DIMS(0), false, false))
CALL(pick_2, ag_gather(x[0], 0, x[1]))
CALL(topk_1, ag_topk(x[0], 1, 0, NULL))
CALL(stack, ag_concat(((Tensor *[]){ ag_unsqueeze(x[0], 1), ag_unsqueeze(x[1], 1) }), 2, 1))

CALL(call_add_scalar, ag_add_scalar(x[0], 1.25))
CALL(call_leaky_relu, ag_leaky_relu(x[0], 0.2))
CALL(call_elu, ag_elu(x[0], 0.7))
UNARY(log_sigmoid)
CALL(flip, ag_flip(x[0], 1))
CALL(index_select_0, ag_index_select(x[0], 0, x[1]))
CALL(index_select_1, ag_index_select(x[0], 1, x[1]))
CALL(conv2d_with_0, ag_conv2d_with(x[0], x[1], x[2], ((AgConv){ { 2, 1 }, { 1, 2 }, { 1, 2 }, 2 })))
CALL(conv2d_with_1, ag_conv2d_with(x[0], x[1], NULL, ((AgConv){ .padding = { 1, 1 }, .groups = 3 })))
CALL(conv_transpose2d_0, ag_conv_transpose2d(x[0], x[1], x[2], 2, 0, 0))
CALL(conv_transpose2d_1, ag_conv_transpose2d(x[0], x[1], NULL, 2, 1, 1))
CALL(interpolate2d_0, ag_interpolate2d(x[0], 8, 10, AG_NEAREST))
CALL(interpolate2d_1, ag_interpolate2d(x[0], 8, 10, AG_BILINEAR))
CALL(interpolate2d_2, ag_interpolate2d(x[0], 3, 7, AG_NEAREST))
CALL(interpolate2d_3, ag_interpolate2d(x[0], 3, 7, AG_BILINEAR))
CALL(attention_2, ag_attention(x[0], x[1], x[2], x[3], ((AgAttention){ .heads = 2 })))
CALL(attention_3, ag_attention(x[0], x[1], x[2], x[3], ((AgAttention){ .heads = 4 })))
CALL(cross_entropy_none, ag_neg(ag_squeeze(ag_gather(ag_log_softmax(x[0], -1), -1, ag_unsqueeze(x[1], -1)), -1)))

CALL(index_add_0, ag_index_add(x[0], 0, x[1], x[2]))
CALL(index_add_1, ag_index_add(x[0], 1, x[1], x[2]))
CALL(scatter_max_0, ag_scatter_max(x[0], 1, x[1], x[2]))
CALL(scatter_max_1, ag_scatter_max(x[0], 0, x[1], x[2]))
BINARY(logaddexp)
CALL(norm_dims, ag_norm_dims(x[0], DIMS(0, 2), true))
CALL(normalized_0, ag_normalize(x[0], -1, 1e-12))
CALL(normalized_1, ag_normalize(x[0], 0, 0.5))
CALL(pad_with, ag_pad_with(x[0], 1, 2, 1, -1.5))
CALL(select_1, ag_select(x[0], 1, -2))
CALL(mul_scalar, ag_mul_scalar(x[0], 1.25))

static Tensor *unbind(Tensor **x)
{
    Tensor *part[3];
    ag_unbind(x[0], 3, 1, part);
    return ag_stack((Tensor *[]){ part[2], part[1], part[0] }, 3, 0);
}

/* A layer with these parameters, which stay the caller's. */
static Tensor *batch_norm(Tensor **x)
{
    BatchNorm *l = nn_batch_norm_new(3);
    l->gamma = x[1];
    l->beta = x[2];
    Tensor *y = nn_batch_norm(l, x[0]);
    ag_free(l);
    return y;
}

static Tensor *group_norm(Tensor **x)
{
    GroupNorm *l = nn_group_norm_new(2, 4);
    l->gamma = x[1];
    l->beta = x[2];
    Tensor *y = nn_group_norm(l, x[0]);
    ag_free(l);
    return y;
}

/* ---- what docs/pytorch.md writes with several operations: in its words (test_docs.py) ------------------------------- */

static Tensor *losses_of_rows(Tensor **in)
{
    Tensor *x = in[0], *target = in[1], *l;
    l = ag_neg(ag_squeeze(ag_gather(ag_log_softmax(x, -1), -1, ag_unsqueeze(target, -1)), -1));
    return l;
}

static Tensor *weighted_loss(Tensor **in)
{
    Tensor *w = ag_cast(in[1], AG_REAL), *target = in[2], *l = losses_of_rows((Tensor *[]){ in[0], target });
    Tensor *w_t = ag_index_select(w, 0, target);
    return ag_div(ag_sum(ag_mul(w_t, l)), ag_sum(w_t));
}

static Tensor *pos_weight(Tensor **in)
{
    Tensor *x = in[0], *t = in[1], *w = ag_cast(in[2], AG_REAL), *one = tensor_ones(AG_SCALAR);
    return ag_mean(ag_add(ag_mul(ag_mul(w, t), ag_softplus(ag_neg(x))), ag_mul(ag_sub(one, t), ag_softplus(x))));
}

static Tensor *l1_recipe(Tensor **in)
{
    Tensor *x = in[0], *target = in[1];
    return ag_mean(ag_abs(ag_sub(x, target)));
}

static Tensor *std(Tensor **in)
{
    Tensor *x = in[0], *v = ag_var_dims(x, DIMS(-1), true, false);
    Tensor *none = ag_compare_scalar(AG_EQ, v, 0);
    return ag_masked_fill(ag_sqrt(ag_masked_fill(v, none, 1)), none, 0);
}

static Tensor *vector_norm(Tensor **in) { return ag_norm_dims(in[0], DIMS(-1), false); }

static Tensor *normalize(Tensor **in)
{
    Tensor *x = in[0];
    double D = (double)tensor_dim(x, -1);
    return ag_scale(ag_rms_norm(x, NULL, 0), 1 / sqrt(D));
}

static Tensor *cosine_similarity(Tensor **in)
{
    return ag_sum_dims(ag_mul(normalize(in), normalize(in + 1)), DIMS(-1), false);
}

static Tensor *roll(Tensor **in)
{
    Tensor *x = in[0];
    int d = 1, k = 2, n = 5;
    return ag_concat((Tensor *[]){ ag_slice(x, d, -k, n), ag_slice(x, d, 0, -k) }, 2, d);
}

static Tensor *tril(Tensor **in)
{
    Tensor *x = in[0];
    int n = 4;
    return ag_where(ag_squeeze(nn_causal_mask(n), 0), x, tensor_zeros(AG_SCALAR));
}

static Tensor *mv(Tensor **in)
{
    Tensor *a = in[0], *v = in[1];
    return ag_squeeze(ag_matmul(a, ag_unsqueeze(v, -1)), -1);
}

static Tensor *dot(Tensor **in)
{
    Tensor *a = in[0], *v = in[1];
    return ag_sum(ag_mul(a, v));
}

/* bik,jbk->bij */
static Tensor *einsum(Tensor **x) { return ag_matmul(x[0], ag_permute(x[1], DIMS(1, 2, 0))); }

static Tensor *adaptive_mean(Tensor **in)
{
    Tensor *x = in[0];
    return ag_mean_dims(x, DIMS(-2, -1), false);
}

static Tensor *repeat(Tensor **in)
{
    Tensor *x = in[0];
    return ag_concat((Tensor *[]){ x, x }, 2, 0);
}

static Tensor *batchmean(Tensor **x)
{
    return ag_scale(ag_kl_div(x[0], x[1], AG_SUM), 1 / (double)tensor_dim(x[0], 0));
}

#define ONE(op)   { #op ".0", call_##op }
#define THREE(op) ONE(op), { #op ".1", call_##op }, { #op ".2", call_##op }
#define FOUR(op)  THREE(op), { #op ".3", call_##op }
static const Case cases[] = {
    FOUR(add), FOUR(sub), FOUR(mul), FOUR(div), FOUR(pow),
    FOUR(maximum), { "maximum.4", call_maximum }, FOUR(minimum), { "minimum.4", call_minimum },
    ONE(where), { "where.1", call_where },
    THREE(neg), THREE(scale), THREE(exp), THREE(log), THREE(sqrt), THREE(abs), THREE(clamp), THREE(tanh),
    THREE(sigmoid), THREE(relu), THREE(gelu), THREE(gelu_erf),
    { "power.0", power_3 }, { "power.1", power_root }, { "power.2", power_2 },
    { "masked_fill.0", masked_fill_0 }, { "masked_fill.1", masked_fill_1 },
    FOUR(matmul), { "matmul.4", call_matmul },
    { "linear.0", linear_bias }, { "linear.1", linear_bias }, { "linear.2", linear_no_bias },
    { "sum_dims.0", sum_dims_0 }, { "sum_dims.1", sum_dims_1 }, { "mean_dims.0", mean_dims_0 },
    { "mean_dims.1", mean_dims_1 }, { "max_dim.0", max_dim_0 }, { "max_dim.1", max_dim_1 }, { "min_dim.0", min_dim_0 },
    { "min_dim.1", min_dim_1 }, { "var_dims.0", var_dims_0 }, { "var_dims.1", var_dims_1 },
    { "softmax.0", softmax_0 }, { "softmax.1", softmax_1 }, { "log_softmax.0", log_softmax_0 },
    { "log_softmax.1", log_softmax_1 },
    { "masked_softmax.0", masked_softmax_0 }, { "masked_softmax.1", masked_softmax_1 },
    { "masked_softmax.2", masked_softmax_2 },
    { "layer_norm.0", norm_pytorch }, { "layer_norm.1", norm_annotated }, { "layer_norm.2", norm_book },
    { "layer_norm.3", norm_std }, { "layer_norm.4", norm_no_bias },
    ONE(embedding), { "embedding.1", call_embedding }, { "pick.0", pick_0 }, { "pick.1", pick_1 },
    { "reshape.0", reshape_0 }, { "reshape.1", reshape_1 }, { "permute.0", permute_0 }, { "permute.1", permute_1 },
    { "slice.0", slice_0 }, { "slice.1", slice_1 }, { "concat.0", concat_0 }, { "concat.1", concat_1 },
    { "expand.0", expand_0 }, { "expand.1", expand_1 },
    ONE(mse_loss), { "mse_loss.1", call_mse_loss },
    { "cross_entropy.0", cross_entropy_0 }, { "cross_entropy.1", cross_entropy_0 },
    { "cross_entropy.2", cross_entropy_sum }, { "cross_entropy.3", cross_entropy_smooth },
    { "nll_loss.0", nll_loss_0 }, { "nll_loss.1", nll_loss_sum },
    { "kl_div.0", kl_div_sum }, { "kl_div.1", kl_div_mean }, { "kl_div.2", kl_div_sparse },
    { "label_smoothing.0", label_smoothing_0 }, { "label_smoothing.1", label_smoothing_1 },
    THREE(silu), THREE(softplus), THREE(erf), THREE(sin), THREE(cos), THREE(sign),
    { "rms_norm.0", rms_norm_0 }, { "rms_norm.1", rms_norm_1 }, { "swiglu.0", swiglu_0 }, { "rope.0", rope_0 },
    { "rope.1", rope_1 },
    { "attention.0", attention_0 }, { "attention.1", attention_1 },
    { "conv2d.0", conv2d_0 }, { "conv2d.1", conv2d_1 }, { "conv2d.2", conv2d_2 }, { "conv1d.0", conv1d_0 },
    { "conv1d.1", conv1d_1 }, { "max_pool2d.0", max_pool_0 }, { "max_pool2d.1", max_pool_1 },
    { "mean_pool2d.0", mean_pool_0 }, { "mean_pool2d.1", mean_pool_1 }, { "pad.0", pad_0 },
    { "scatter_add.0", scatter_add_0 }, { "scatter_add.1", scatter_add_1 }, { "cumsum.0", cumsum_0 },
    { "cumsum.1", cumsum_1 }, { "sort.0", sort_0 }, { "sort.1", sort_1 }, { "topk.0", topk_0 },
    { "logsumexp.0", logsumexp_0 }, { "logsumexp.1", logsumexp_1 }, { "huber_loss.0", huber_loss },
    { "l1_loss.0", l1_loss }, { "bce.0", bce_0 }, { "bce.1", bce_1 }, { "stack.0", stack },
    { "sum_dims.2", sum_dims_2 }, { "mean_dims.2", mean_dims_2 }, { "max_dim.2", max_dim_2 }, { "min_dim.2", min_dim_2 },
    { "var_dims.2", var_dims_2 }, { "softmax.2", softmax_0 }, { "log_softmax.2", log_softmax_1 }, { "pick.2", pick_2 },
    { "scatter_add.2", scatter_add_1 }, { "cumsum.2", cumsum_0 }, { "sort.2", sort_1 }, { "topk.1", topk_1 },
    { "logsumexp.2", logsumexp_1 },
    THREE(add_scalar), THREE(leaky_relu), { "index_select.0", index_select_0 }, { "index_select.1", index_select_1 },
    { "conv2d_with.0", conv2d_with_0 }, { "conv2d_with.1", conv2d_with_1 }, { "conv_transpose2d.0", conv_transpose2d_0 },
    { "conv_transpose2d.1", conv_transpose2d_1 }, { "interpolate2d.0", interpolate2d_0 },
    { "interpolate2d.1", interpolate2d_1 }, { "interpolate2d.2", interpolate2d_2 }, { "interpolate2d.3", interpolate2d_3 },
    { "attention.2", attention_2 }, { "attention.3", attention_3 }, { "cross_entropy.4", cross_entropy_none },
    { "batch_norm.0", batch_norm }, { "batch_norm.1", batch_norm }, { "group_norm.0", group_norm },
    THREE(elu), THREE(log_sigmoid), { "flip.0", flip },
    { "weighted_loss.0", weighted_loss }, { "weighted_loss.1", weighted_loss }, { "losses_of_rows.0", losses_of_rows },
    { "pos_weight.0", pos_weight }, { "pos_weight.1", pos_weight }, { "l1_loss.1", l1_recipe }, { "std.0", std },
    { "vector_norm.0", vector_norm }, { "normalize.0", normalize }, { "cosine_similarity.0", cosine_similarity },
    { "roll.0", roll }, { "tril.0", tril }, { "mv.0", mv }, { "dot.0", dot }, { "einsum.0", einsum },
    { "adaptive_mean.0", adaptive_mean }, { "repeat.0", repeat }, { "batchmean.0", batchmean },
    { "index_add.0", index_add_0 }, { "index_add.1", index_add_1 }, { "scatter_max.0", scatter_max_0 },
    { "scatter_max.1", scatter_max_1 }, ONE(logaddexp), { "logaddexp.1", call_logaddexp }, { "norm_dims.0", norm_dims },
    { "normalized.0", normalized_0 }, { "normalized.1", normalized_1 }, { "pad_with.0", pad_with }, { "select.0", select_1 },
    { "unbind.0", unbind }, { "mul_scalar.0", mul_scalar },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static const StTensor *find(const NnTensorFile *st, const char *owner, const char *part, int number)
{
    char name[64];
    if (number < 0) snprintf(name, sizeof name, "%s/%s", owner, part);
    else snprintf(name, sizeof name, "%s/%s%d", owner, part, number);
    return st_find(st, name);
}

/* The file's tensor in its own type. The scope owns it. */
static Tensor *load(const NnTensorFile *st, const StTensor *from)
{
    ck_assert_msg(from != NULL, "not in the file");
    Tensor *t = reals_of(st, from->item.name);
    if (strcmp(from->item.type, "F32") == 0) return t;
    bool is_mask = strcmp(from->item.type, "BOOL") == 0;
    Tensor *other = is_mask ? tensor_bools(tensor_shape(t), NULL) : tensor_ints(tensor_shape(t), NULL);
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        if (is_mask) tensor_mutable_bool_data(other)[i] = tensor_data(t)[i] != 0;
        else tensor_mutable_int_data(other)[i] = (int32_t)tensor_data(t)[i];
    }
    return other;
}

/* Same shape, and no number further off than this part of the largest; zeros exactly. */
static void check_near(const char *owner, const char *part, const Tensor *found, const Tensor *expected, double tolerance)
{
    char name[64];
    snprintf(name, sizeof name, "%s: %s", owner, part);
    check_close(name, found, expected, tolerance * largest(expected));
}

START_TEST(operations_agree)
{
    const Case *c = &cases[_i];
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/torch_ops.safetensors");
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x[MOST_INPUTS] = { NULL };
    for (int i = 0; i < MOST_INPUTS && find(st, c->name, "x", i); i++) {
        x[i] = load(st, find(st, c->name, "x", i));
        if (find(st, c->name, "dx", i)) tensor_set_requires_grad(x[i], true);
    }
    ck_assert_msg(x[0] != NULL, "%s is not in the file", c->name);
    Tensor *y = ag_retain(c->call(x));
    ag_backward_from(y, load(st, find(st, c->name, "dy", -1)));
    check_near(c->name, "y", y, load(st, find(st, c->name, "y", -1)), 1e-5);
    for (int i = 0; i < MOST_INPUTS && x[i]; i++) {
        const StTensor *expected = find(st, c->name, "dx", i);
        if (!expected) continue;
        char what[8];
        snprintf(what, sizeof what, "dx%d", i);
        ck_assert_msg(tensor_grad_data(x[i]) != NULL, "%s: no %s", c->name, what);
        check_near(c->name, what, tensor_grad(x[i]), load(st, expected), 1e-4);
    }
    ag_end(s);
    ag_free(st);
}
END_TEST

START_TEST(every_fixture_is_compared)
{
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/torch_ops.safetensors");
    for (size_t i = 0; i < st->n_tensors; i++) {
        const char *name = st->tensor[i].item.name;
        bool found = false;
        for (int k = 0; k < N_CASES && !found; k++) {
            size_t length = strlen(cases[k].name);
            found = strncmp(name, cases[k].name, length) == 0 && name[length] == '/';
        }
        ck_assert_msg(found, "%s of the file is not compared", name);
    }
    ag_free(st);
}
END_TEST

/* ---- infinities, NaN and the ends of the range: ops.def says where PyTorch differs ---------------------------------- */

static const double inf = (double)INFINITY, nan_value = (double)NAN;

static Tensor *leaf(AgShape shape, const double *values)
{
    Tensor *t = tensor_set_requires_grad(tensor_zeros(shape), true);
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_data(t)[i] = (ag_real)values[i];
    return t;
}
#define LEAF(shape, ...) leaf(shape, (double[]){ __VA_ARGS__ })

/* y, after the gradients of its sum. */
static Tensor *with_gradients(Tensor *y)
{
    ag_retain(y);
    ag_backward(ag_sum(y));
    return y;
}

START_TEST(silu)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = LEAF(SHAPE(4), -inf, -800, inf, nan_value);
    CHECK(with_gradients(ag_silu(x)), SHAPE(4), 0, 0, inf, nan_value);
    CHECK(tensor_grad(x), SHAPE(4), 0, 0, 1, nan_value);
    bool is_zero = tensor_item(ag_silu(LEAF(AG_SCALAR, -87.5))) == 0;
    ck_assert(is_zero == (sizeof(ag_real) == sizeof(float)));                                   /* else subnormal */
    ag_end(s);
}
END_TEST

START_TEST(the_ends_of_gelu)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = LEAF(SHAPE(4), -inf, -1e38, 1e38, inf);
    CHECK(with_gradients(ag_gelu(x)), SHAPE(4), 0, 0, 1e38, inf);
    CHECK(tensor_grad(x), SHAPE(4), 0, 0, 1, 1);
    x = LEAF(SHAPE(4), -inf, -1e38, 1e38, inf);
    CHECK(with_gradients(ag_gelu_erf(x)), SHAPE(4), 0, 0, 1e38, inf);
    CHECK(tensor_grad(x), SHAPE(4), 0, 0, 1, 1);
    ag_end(s);
}
END_TEST

START_TEST(powers_of_infinity)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = LEAF(SHAPE(1), -inf);
    CHECK(with_gradients(ag_pow_scalar(x, 0.5)), SHAPE(1), inf);
    CHECK(tensor_grad(x), SHAPE(1), 0);
    CHECK(ag_pow_scalar(x, -0.5), SHAPE(1), 0);
    CHECK(ag_pow(LEAF(SHAPE(4), -inf, -inf, -2, -2), LEAF(SHAPE(4), 0.5, -1.5, 0.5, 3)), SHAPE(4), inf, 0, nan_value, -8);
    ag_end(s);
}
END_TEST

/* The loss of an almost certain prediction is about e^-x, however small. */
START_TEST(binary_cross_entropy)
{
    AgScope s = ag_begin(AG_RECORD);
    for (int x = 1; x <= 87; x++)
        for (int target = 0; target <= 1; target++) {
            double y = tensor_item(ag_binary_cross_entropy(LEAF(SHAPE(1), target ? x : -x), LEAF(SHAPE(1), target), AG_SUM));
            double expected = log1p(exp(-x)), tolerance = (sizeof(ag_real) == sizeof(float) ? 1e-6 : 1e-13) * expected;
            ck_assert_msg(fabs(y - expected) <= tolerance, "x %d, target %d: %.17g, expected %.17g", x, target, y, expected);
        }
    Tensor *x = LEAF(SHAPE(2), -inf, inf), *target = LEAF(SHAPE(2), 0, 1);
    CHECK(with_gradients(ag_binary_cross_entropy(x, target, AG_SUM)), AG_SCALAR, 0);
    CHECK(tensor_grad(x), SHAPE(2), 0, 0);
    x = LEAF(SHAPE(3), -inf, inf, -inf);
    target = LEAF(SHAPE(3), 1, 0, 0.5);
    CHECK(with_gradients(ag_binary_cross_entropy(x, target, AG_SUM)), AG_SCALAR, inf);
    CHECK(tensor_grad(x), SHAPE(3), -1, 1, -0.5);
    ag_end(s);
}
END_TEST

START_TEST(huber_loss_of_NaN)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = LEAF(SHAPE(4), nan_value, inf, -3, 0.5);
    CHECK(with_gradients(ag_huber_loss(x, tensor_zeros(SHAPE(4)), 2)), AG_SCALAR, nan_value);
    CHECK(tensor_grad(x), SHAPE(4), nan_value, 0.5, -0.5, 0.125);
    ag_end(s);
}
END_TEST

START_TEST(an_ignored_row_of_NaN)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *target = tensor_ints(SHAPE(2), (int32_t[]){ -100, 1 }), *logits = LEAF(SHAPE(2, 2), nan_value, 1, 0, 0);
    Tensor *x = LEAF(SHAPE(2, 2), nan_value, 1, 0, 0), *weight = LEAF(SHAPE(2, 2), 1, 2, 3, 4), *bias = LEAF(SHAPE(2), 0, 0);
    double y = tensor_item(with_gradients(ag_cross_entropy(logits, target, AG_MEAN, -100, 0)));
    ck_assert_double_eq_tol(y, log(2), 1e-6);
    CHECK(tensor_grad(logits), SHAPE(2, 2), 0, 0, 0.5, -0.5);
    y = tensor_item(with_gradients(ag_linear_cross_entropy(x, weight, bias, target, AG_MEAN, -100, 0)));
    ck_assert_double_eq_tol(y, log(2), 1e-6);
    CHECK(tensor_grad(x), SHAPE(2, 2), 0, 0, -1, -1);
    CHECK(tensor_grad(bias), SHAPE(2), 0.5, -0.5);
    CHECK(tensor_grad(weight), SHAPE(2, 2), 0, 0, 0, 0);
    ag_end(s);
}
END_TEST

START_TEST(a_masked_key_of_NaN)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *mask = tensor_bools(SHAPE(2), (uint8_t[]){ 1, 0 }), *q = LEAF(SHAPE(1, 1, 1), 1);
    Tensor *k = LEAF(SHAPE(1, 2, 1), 0, nan_value), *v = LEAF(SHAPE(1, 2, 1), 3, 5), *bad = LEAF(SHAPE(1, 2, 1), 3, nan_value);
    CHECK(with_gradients(ag_attention(q, k, v, mask, ((AgAttention){ .heads = 1 }))), SHAPE(1, 1, 1), 3);
    CHECK(tensor_grad(k), SHAPE(1, 2, 1), 0, 0);
    CHECK(tensor_grad(v), SHAPE(1, 2, 1), 1, 0);
    CHECK(ag_attention(q, v, bad, mask, ((AgAttention){ .heads = 1 })), SHAPE(1, 1, 1), 3);
    ag_end(s);
}
END_TEST

/* As in PyTorch. */
START_TEST(rows_with_infinity)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = LEAF(SHAPE(2), inf, 1), *z = LEAF(SHAPE(2), inf, 1), *loss = LEAF(SHAPE(1, 2), inf, 1);
    CHECK(with_gradients(ag_softmax(x, 0)), SHAPE(2), nan_value, nan_value);
    CHECK(with_gradients(ag_log_softmax(z, 0)), SHAPE(2), nan_value, nan_value);
    Tensor *target = tensor_ints(SHAPE(1), (int32_t[]){ 1 });
    ck_assert(isnan(tensor_item(with_gradients(ag_cross_entropy(loss, target, AG_MEAN, -100, 0)))));
    CHECK(tensor_grad(x), SHAPE(2), nan_value, nan_value);
    CHECK(tensor_grad(z), SHAPE(2), nan_value, nan_value);
    CHECK(tensor_grad(loss), SHAPE(1, 2), nan_value, nan_value);
    ag_end(s);
}
END_TEST

START_TEST(logaddexp)
{
    AgScope s = ag_begin(AG_RECORD);
    const double most = sizeof(ag_real) == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
    Tensor *a = LEAF(SHAPE(7), -inf, -inf, inf, inf, most, 1, 2), *b = LEAF(SHAPE(7), -inf, 3, inf, -inf, -most, inf, 2);
    Tensor *x[] = { a, b }, *v[] = { tensor_full(SHAPE(7), 2), tensor_full(SHAPE(7), 6) }, *g[2];
    CHECK(with_gradients(ag_logaddexp(a, b)), SHAPE(7), -inf, 3, inf, inf, most, inf,
          2 + 0x1.62e42fefa39efp-1);
    CHECK(tensor_grad(a), SHAPE(7), 0, 0, 0.5, 1, 1, 0, 0.5);
    CHECK(tensor_grad(b), SHAPE(7), 0, 1, 0.5, 0, 0, 1, 0.5);
    CHECK(ag_jvp(ag_logaddexp(a, b), x, v, 2), SHAPE(7), 0, 6, 4, 2, 2, 6, 4);
    ag_grad_recorded(ag_sum(ag_logaddexp(a, b)), x, 2, g);
    tensor_zero_grad(a);
    tensor_zero_grad(b);
    ag_backward(ag_sum(g[0]));
    CHECK(tensor_grad(a), SHAPE(7), 0, 0, 0, 0, 0, 0, 0.25);
    CHECK(tensor_grad(b), SHAPE(7), 0, 0, 0, 0, 0, 0, -0.25);
    ag_end(s);
}
END_TEST

START_TEST(logaddexp_of_nan)
{
    AgScope s = ag_begin(AG_RECORD);
    const double with[] = { 1, inf, -inf, nan_value };
    for (int i = 0; i < 4; i++) {
        Tensor *a = LEAF(SHAPE(2), nan_value, with[i]), *b = LEAF(SHAPE(2), with[i], nan_value);
        Tensor *x[] = { a, b }, *v[] = { tensor_ones(SHAPE(2)), tensor_ones(SHAPE(2)) };
        CHECK(with_gradients(ag_logaddexp(a, b)), SHAPE(2), nan_value, nan_value);
        CHECK(tensor_grad(a), SHAPE(2), nan_value, nan_value);
        CHECK(tensor_grad(b), SHAPE(2), nan_value, nan_value);
        CHECK(ag_jvp(ag_logaddexp(a, b), x, v, 2), SHAPE(2), nan_value, nan_value);
    }
    ag_end(s);
}
END_TEST

START_TEST(norms)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = LEAF(SHAPE(4, 2), 0, -8, 0, 0, inf, 1, nan_value, 1), *z = LEAF(SHAPE(2, 2), 0, 0, 3, 4);
    CHECK(with_gradients(ag_norm_dims(x, DIMS(1), false)), SHAPE(4), 8, 0, inf, nan_value);
    CHECK(tensor_grad(x), SHAPE(4, 2), 0, -1, 0, 0, nan_value, 0, nan_value, nan_value);
    CHECK(with_gradients(ag_normalize(z, -1, 0.5)), SHAPE(2, 2), 0, 0, 0.6, 0.8);
    CHECK(ag_slice(tensor_grad(z), 0, 0, 1), SHAPE(1, 2), 2, 2);          /* dy / eps */
    CHECK(ag_norm_dims(tensor_full(AG_SCALAR, -2), DIMS(0), false), AG_SCALAR, 2);
    ag_end(s);
}
END_TEST

/* The first of equal ones, x before src; NaN is the largest. An item of x that no id names is as it was. */
START_TEST(scatter_max)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = LEAF(SHAPE(5), 1, 2, -inf, nan_value, 0), *src = LEAF(SHAPE(6), 1, 3, 3, -5, 7, nan_value);
    Tensor *ids = tensor_ints(SHAPE(6), (int32_t[]){ 0, 1, 1, 2, 3, 4 });
    CHECK(with_gradients(ag_scatter_max(x, 0, ids, src)), SHAPE(5), 1, 3, -5, nan_value, nan_value);
    CHECK(tensor_grad(x), SHAPE(5), 1, 0, 0, 1, 0);
    CHECK(tensor_grad(src), SHAPE(6), 0, 1, 0, 1, 0, 1);
    ag_end(s);
}
END_TEST

/* PyTorch's gradient e^(x - y) of two equal large numbers is 1 for each, because y rounds to x. */
START_TEST(logsumexp)
{
    AgScope s = ag_begin(AG_RECORD);
    const double most = sizeof(ag_real) == sizeof(float) ? (double)FLT_MAX : DBL_MAX, large = most / 4 * 3;
    Tensor *x = LEAF(SHAPE(9, 2), large, 0, -large, -large, most, most, -most, -most, most, -most, -most, -inf, inf, 0,
                     -inf, -inf, nan_value, inf);
    CHECK(with_gradients(ag_logsumexp(x, 1, false)), SHAPE(9), large, -large, most, -most, most, -most, inf, -inf, nan_value);
    CHECK(tensor_grad(x), SHAPE(9, 2), 1, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1, 0, 1, 0, nan_value, 0, 0, 0, nan_value,
          nan_value);
    x = LEAF(SHAPE(0, 3), 0);
    CHECK(with_gradients(ag_logsumexp(x, 0, false)), SHAPE(3), -inf, -inf, -inf);
    ck_assert(ag_shape_equal(tensor_shape(tensor_grad(x)), SHAPE(0, 3)));
    CHECK(ag_logsumexp(x, -2, true), SHAPE(1, 3), -inf, -inf, -inf);
    CHECK(ag_logsumexp(tensor_zeros(SHAPE(0)), 0, false), AG_SCALAR, -inf);
    ck_assert(ag_shape_equal(tensor_shape(ag_logsumexp(x, 1, false)), SHAPE(0)));
    ck_assert(ag_shape_equal(tensor_shape(ag_logsumexp(tensor_zeros(SHAPE(0, 0)), 1, true)), SHAPE(0, 1)));
    ag_end(s);
}
END_TEST

/* PyTorch's loss is NaN: 0 times infinity. */
START_TEST(kl_div_of_impossible_items)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *log_p = LEAF(SHAPE(3), -inf, 0, -1), *target = LEAF(SHAPE(3), 0, 1, 0);
    CHECK(with_gradients(ag_kl_div(log_p, target, AG_SUM)), AG_SCALAR, 0);
    CHECK(tensor_grad(log_p), SHAPE(3), 0, -1, 0);
    CHECK(tensor_grad(target), SHAPE(3), nan_value, 1, -inf);
    CHECK(ag_kl_div(LEAF(SHAPE(2), -inf, 0), LEAF(SHAPE(2), 0.5, 0), AG_SUM), AG_SCALAR, inf);
    log_p = LEAF(SHAPE(1, 4), -inf, 0, -inf, -inf);                 /* of padding, and of others without smoothing */
    CHECK(with_gradients(ag_label_smoothing(log_p, tensor_ints(SHAPE(1), (int32_t[]){ 1 }), 0, 0)), AG_SCALAR, 0);
    CHECK(tensor_grad(log_p), SHAPE(1, 4), 0, -1, 0, 0);
    ag_end(s);
}
END_TEST

/* PyTorch's means of the first three rows are infinite. */
START_TEST(means_whose_sum_is_too_large)
{
    enum { ROWS = 6, N = 1000 };
    AgScope s = ag_begin(AG_RECORD);
    const double most = (double)3e38f, mean[ROWS] = { 3e36, most, 0, 1, inf, nan_value };
    Tensor *x = tensor_set_requires_grad(tensor_zeros(SHAPE(ROWS, N)), true);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < N; k++) {
            double value = i == 2 ? (k < N / 2 ? most : -most) : i < 4 || k == N / 3 ? mean[i] : 1;
            tensor_mutable_data(x)[i * N + k] = (ag_real)value;
        }
    }
    Tensor *across = ag_transpose(x, 0, 1), *middle = ag_transpose(ag_reshape(x, SHAPE(ROWS, 10, N / 10)), 0, 1);
    Tensor *means[] = { ag_mean_dims(x, DIMS(1), false), ag_mean_dims(across, DIMS(0), false),
                        ag_mean_dims(middle, DIMS(0, 2), false) };
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < ROWS; i++) {
            double y = (double)tensor_data(means[k])[i];
            ck_assert_msg(isfinite(mean[i]) ? fabs(y - mean[i]) <= 1e-6 * mean[i] : isnan(mean[i]) ? isnan(y) : y == mean[i],
                          "way %d, row %d: %g, expected %g", k, i, y, mean[i]);
        }
    }
    ag_backward(ag_sum(ag_slice(means[0], 0, 0, 3)));
    for (int k = 0; k < 3 * N; k++) {
        ck_assert_double_eq_tol((double)tensor_grad_data(x)[k], 1.0 / N, 1e-9);
    }
    ag_end(s);
}
END_TEST

/* ---- optimizers -------------------------------------------------------------------------------------------------- */

typedef struct { Module module; Linear *fc1, *fc2; } Net;

static Tensor *loss_of(Net *net, Tensor *x, Tensor *target)
{
    return nn_mse_loss(nn_linear(net->fc2, ag_tanh(nn_linear(net->fc1, x))), target);
}

static Net *net_at(const NnTensorFile *st, const char *owner)
{
    Net *net = nn_new(Net);
    nn_child(net, fc1, nn_linear_new(3, 5));
    nn_child(net, fc2, nn_linear_new(5, 2));
    AgScope s = ag_begin(AG_NO_GRAD);
    NnParameters *p = nn_parameters(net);
    for (int i = 0; i < p->n; i++) tensor_copy(p->item[i].tensor, load(st, find(st, owner, p->item[i].name, -1)));
    ag_free(p);
    ag_end(s);
    return net;
}

static Optimizer *sgd(Net *net)       { return nn_sgd_new(net, 0.1); }
static Optimizer *sgd_decay(Net *net) { return nn_sgd_new_with(net, (AgSgd){ .lr = 0.1, .weight_decay = 0.2 }); }
static Optimizer *momentum(Net *net)  { return nn_sgd_new_with(net, (AgSgd){ .lr = 0.1, .momentum = 0.9 }); }
static Optimizer *nesterov(Net *net)
{
    return nn_sgd_new_with(net, (AgSgd){ .lr = 0.1, .momentum = 0.9, .nesterov = true });
}
static Optimizer *adam(Net *net)      { return nn_adam_new(net, 0.01); }
static Optimizer *adam_l2(Net *net)
{
    AgAdam how = { .lr = 0.01, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .weight_decay = 0.1 };
    return nn_adam_new_with(net, how);
}
static Optimizer *adamw(Net *net)
{
    AgAdam how = nn_adamw_options(0.01);
    how.weight_decay = 0.1;
    return nn_adam_new_with(net, how);
}

static Optimizer *rmsprop(Net *net)   { return nn_rmsprop_new(net, 0.01); }
static Optimizer *rmsprop_decay(Net *net)
{
    return nn_rmsprop_new_with(net, (NnRMSprop){ .lr = 0.01, .alpha = 0.9, .eps = 1e-6, .weight_decay = 0.1 });
}

static Optimizer *muon(Net *net)      { return nn_muon_new(net, 0.02, 0.003, NULL); }
static bool is_matrix(const NnNamedTensor *p, void *unused) { return !nn_is_not_matrix(p, unused); }
static Optimizer *muon_plain(Net *net)
{
    NnMuon how = nn_muon_options(0.02, 0.003);
    how.momentum = 0.5;
    how.weight_decay = 0.3;
    how.nesterov = false;
    how.match_adamw = true;
    return nn_muon_new_with(net, how, is_matrix, NULL);
}

static const struct { const char *name; Optimizer *(*make)(Net *net); } optimizers[] = {
    { "sgd", sgd }, { "sgd_decay", sgd_decay }, { "momentum", momentum }, { "nesterov", nesterov },
    { "adam", adam }, { "adam_l2", adam_l2 }, { "adamw", adamw }, { "rmsprop", rmsprop },
    { "rmsprop_decay", rmsprop_decay }, { "muon", muon }, { "muon_plain", muon_plain },
};
enum { N_OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

START_TEST(optimizers_agree)
{
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/torch_optim.safetensors");
    Net *net = net_at(st, "first"), *expected = net_at(st, optimizers[_i].name);
    Optimizer *o = optimizers[_i].make(net);
    for (int step = 0; step < 3; step++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(loss_of(net, load(st, st_find(st, "x")), load(st, st_find(st, "target"))));
        if (step == 0) tensor_zero_grad(net->fc2->bias);        /* the same as in the fixtures */
        nn_optimizer_step(o);
        ag_end(s);
    }
    NnParameters *p = nn_parameters(net), *q = nn_parameters(expected);
    for (int i = 0; i < p->n; i++)
        check_near(optimizers[_i].name, p->item[i].name, p->item[i].tensor, q->item[i].tensor, 1e-6);
    ag_free(q);
    ag_free(p);
    ag_free(o);
    ag_free(net);
    ag_free(expected);
    ag_free(st);
}
END_TEST

START_TEST(clipping_agrees)
{
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/torch_optim.safetensors");
    Net *net = net_at(st, "first");
    AgScope s = ag_begin(AG_RECORD);
    ag_backward(loss_of(net, load(st, st_find(st, "x")), load(st, st_find(st, "target"))));
    double norm = tensor_item(load(st, st_find(st, "clip/norm")));
    ck_assert_double_eq_tol(nn_grad_norm(net), norm, 1e-6 * norm);
    ck_assert_double_eq_tol(nn_clip_grad_norm(net, 0.25), norm, 1e-6 * norm);
    NnParameters *p = nn_parameters(net);
    for (int i = 0; i < p->n; i++) {
        const char *name = p->item[i].name;
        check_near("clip", name, tensor_grad(p->item[i].tensor), load(st, find(st, "clip", name, -1)), 1e-6);
    }
    ag_free(p);
    ag_end(s);
    ag_free(net);
    ag_free(st);
}
END_TEST

/* Batches (4,1) and (1,2): sizes with a common factor, so that a wrong index does not reach each pair once. */
START_TEST(a_batch_of_two_dimensions_is_multiplied_pair_by_pair)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *a = tensor_normal(SHAPE(4, 1, 2, 3), 0, 1), *b = tensor_normal(SHAPE(1, 2, 3, 2), 0, 1), *y = ag_matmul(a, b);
    ck_assert(ag_shape_equal(tensor_shape(y), SHAPE(4, 2, 2, 2)));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) {
            Tensor *one = ag_matmul(ag_squeeze(ag_slice(a, 0, i, i + 1), 0), ag_squeeze(ag_slice(b, 1, j, j + 1), 0));
            check_close("product", ag_slice(ag_squeeze(ag_slice(y, 0, i, i + 1), 0), 0, j, j + 1), one, 1e-6);
        }
    ag_end(s);
}
END_TEST

Suite *torch_suite(void)
{
    Suite *suite = suite_create("torch");
    TCase *ops = tcase_create("operations");
    tcase_add_loop_test(ops, operations_agree, 0, N_CASES);
    tcase_add_test(ops, every_fixture_is_compared);
    tcase_add_test(ops, a_batch_of_two_dimensions_is_multiplied_pair_by_pair);
    suite_add_tcase(suite, ops);
    TCase *limits = tcase_create("infinities and NaN");
    tcase_add_test(limits, silu);
    tcase_add_test(limits, the_ends_of_gelu);
    tcase_add_test(limits, powers_of_infinity);
    tcase_add_test(limits, binary_cross_entropy);
    tcase_add_test(limits, huber_loss_of_NaN);
    tcase_add_test(limits, logaddexp);
    tcase_add_test(limits, logaddexp_of_nan);
    tcase_add_test(limits, norms);
    tcase_add_test(limits, scatter_max);
    tcase_add_test(limits, an_ignored_row_of_NaN);
    tcase_add_test(limits, a_masked_key_of_NaN);
    tcase_add_test(limits, rows_with_infinity);
    tcase_add_test(limits, logsumexp);
    tcase_add_test(limits, kl_div_of_impossible_items);
    tcase_add_test(limits, means_whose_sum_is_too_large);
    suite_add_tcase(suite, limits);
    TCase *optim = tcase_create("optimizers");
    tcase_add_loop_test(optim, optimizers_agree, 0, N_OPTIMIZERS);
    tcase_add_test(optim, clipping_agrees);
    suite_add_tcase(suite, optim);
    return suite;
}
