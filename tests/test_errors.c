/* test_errors.c: a usage error is reported in one line with the operation, the shapes and the caller's line; a handler can
 * leave by longjmp from anywhere, and no memory is lost. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "buffers.h"
#include "checks.h"
#include "faults.h"
#include "folder.h"
#include "kaeru/autograd.h"
#include "kaeru/graph.h"
#include "kaeru/kaeru.h"
#include "program_calls.h"
#include "op.h"
#include "op_samples.h"
#include "scope.h"
#include "suites.h"
#include "tensor_struct.h"
#include "usage_error.h"
#include "utf8.h"

enum { LINE_OF_ONES = __LINE__ + 4 };

static Tensor *ones(int64_t rows, int64_t columns)
{
    return tensor_ones(SHAPE(rows, columns));
}

static AgScope scope;

static void begin(void)
{
    scope = ag_begin(AG_RECORD);
}

static void end(void)
{
    ag_end(scope);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

START_TEST(shapes)
{
    AgShape nine = { 9, { 1, 1, 1, 1, 1, 1, 1, 1 } };
    REPORTS("tensor_zeros: 9 dimensions; a tensor has 0 to 8", tensor_zeros(nine));
    REPORTS("tensor_new_owned: 9 dimensions; a tensor has 0 to 8", tensor_new_owned(nine, AG_INT));
    REPORTS("ag_reshape: 9 dimensions; a tensor has 0 to 8", ag_reshape(ones(1, 1), nine));
    REPORTS("ag_expand: 9 dimensions; a tensor has 0 to 8", ag_expand(ones(1, 1), nine));
    REPORTS("tensor_full: -1 dimensions; a tensor has 0 to 8", tensor_full(((AgShape){ -1, { 0 } }), 1));
    REPORTS("tensor_ones: negative size in shape (2, -3)", tensor_ones(SHAPE(2, -3)));
    int64_t big = (int64_t)1 << 32;
    REPORTS("tensor_normal: shape (4294967296, 4294967296) has more items than can be counted",
            tensor_normal(SHAPE(big, big), 0, 1));
    REPORTS("tensor_ints: shape (0, 4294967296, 4294967296) has more items than can be counted",
            tensor_ints(SHAPE(0, big, big), NULL));
    REPORTS("ag_expand: shape (4294967296, 4294967296) has more items than can be counted",
            ag_expand(ones(1, 1), SHAPE(big, big)));
    ck_assert_int_eq(ag_shape_numel(SHAPE(big, big)), -1);
    ck_assert_int_eq(ag_shape_numel(SHAPE(big, 0, 2)), 0);
}
END_TEST

START_TEST(sizes_beyond_the_machine)
{
    int64_t huge = (int64_t)1 << 60;
    EXPECT_USAGE_ERROR("too large for this machine (at tests/test_errors.c:", tensor_uniform(SHAPE(huge), 0, 1));
    EXPECT_USAGE_ERROR("too large for this machine", tensor_bools(SHAPE(huge, 4), NULL));
    EXPECT_USAGE_ERROR("too large for this machine", tensor_new_owned(SHAPE(huge), AG_REAL));
    EXPECT_USAGE_ERROR("expand: a tensor of ", ag_expand(ones(1, 1), SHAPE(huge, 1)));
    EXPECT_USAGE_ERROR("ag_alloc: no memory for ", ag_alloc(SIZE_MAX / 2, 4));
    EXPECT_USAGE_ERROR("ag_alloc_in: no memory for ", ag_alloc_in(NULL, SIZE_MAX / 2, 4));
    EXPECT_USAGE_ERROR("ag_object_new: no memory for ", ag_object_new(SIZE_MAX));
    EXPECT_USAGE_ERROR("ag_resize: no memory for ", ag_resize(NULL, 0, SIZE_MAX, 1));
    EXPECT_USAGE_ERROR("ag_scratch: no memory for ", ag_scratch(SIZE_MAX, 1));         /* rounded up it would be 0 */
    EXPECT_USAGE_ERROR("ag_scratch: no memory for ", ag_scratch(SIZE_MAX / 2, 4));
}
END_TEST

/* Operations on 2^40 rows without items end at once, forward and backward. */
START_TEST(rows_of_nothing)
{
    const int64_t many = (int64_t)1 << 40;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_zeros(SHAPE(many, 0)), true), *tall = ag_transpose(x, 0, 1);
    Tensor *ids, *deep = tensor_set_requires_grad(tensor_zeros(SHAPE(many, 0, 3)), true);
    Tensor *image = tensor_set_requires_grad(tensor_zeros(SHAPE(many, 0, 3, 3)), true);
    Tensor *kernel = tensor_zeros(SHAPE(0, 0, 2, 2)), *none = tensor_zeros(SHAPE(0));
    Tensor *no_ids = tensor_ints(SHAPE(many, 0), NULL), *mask = tensor_bools(SHAPE(many, 0), NULL);
    Tensor *const made[] = {
        ag_softmax(x, -1), ag_softmax(x, 0), ag_softmax(tall, -1), ag_log_softmax(x, -1), ag_masked_softmax(x, mask, 2),
        ag_sort(x, -1, true, &ids), ag_sort(tall, 0, false, NULL), ag_topk(x, 0, -1, &ids), ag_gather(x, 1, no_ids),
        ag_scatter_add(x, 1, no_ids, x), ag_index_select(x, 1, tensor_ints(SHAPE(0), NULL)), ag_cumsum(x, 1), ag_cumsum(x, 0),
        ag_layer_norm(x, none, none, AG_NORM_PYTORCH), ag_rms_norm(x, none, 1e-5), ag_permute(x, DIMS(1, 0)), ag_flip(x, 1),
        ag_expand(x, SHAPE(2, many, 0)), ag_concat((Tensor *[]){ x, x }, 2, 1), ag_slice(x, 0, 1, many),
        ag_pad(x, 0, 1, 1), ag_pad_with(x, 0, 1, 1, 2), ag_select(x, 0, 1), ag_scatter_max(x, 1, no_ids, x),
        ag_mul_scalar(x, 2), ag_index_add(x, 1, tensor_ints(SHAPE(0), NULL), x), ag_logaddexp(x, x),
        ag_norm_dims(x, DIMS(0), false),
        ag_normalize(x, 0, 1),
        ag_mul(x, none), ag_add(tall, tall), ag_where(mask, x, x), ag_masked_fill(x, mask, 1),
        ag_matmul(x, tensor_zeros(SHAPE(0, 0))),
        ag_linear(x, tensor_zeros(SHAPE(0, 0)), NULL), ag_conv2d(image, kernel, NULL, 1, 0),
        ag_conv2d(image, kernel, none, 1, 1),
        ag_conv_transpose2d(image, kernel, NULL, 1, 0, 0), ag_max_pool2d(image, 2, 1, 0), ag_mean_pool2d(image, 2, 1, 0),
        ag_interpolate2d(image, 5, 5, AG_BILINEAR), ag_interpolate2d(image, 5, 5, AG_NEAREST), ag_sum_dims(x, DIMS(0), false),
        ag_var_dims(x, DIMS(0), false, true), ag_logsumexp(deep, 2, true), ag_max_dim(deep, 2, false),
        ag_min_dim(deep, 2, true),
        ag_from_bf16(ag_to_bf16(x)), ag_dropout(x, 0.5), ag_split(x, 2, 0, (Tensor *[2]){ NULL }), ag_reshape(x, SHAPE(0, 7)),
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        ck_assert_int_eq(tensor_numel(made[i]), 0);
        if (tensor_requires_grad(made[i])) ag_backward_keep(ag_sum(made[i]));
    }
    ck_assert_int_eq(tensor_numel(tensor_grad(x)), 0);
    tensor_hash(x, 0);
    tensor_clone(x);
    ag_argmax(deep, 2, false);
    ag_rope_table(none, 0, many);
    ag_any(mask, DIMS(0), false);
    tensor_uniform(SHAPE(many, 0), 0, 1);
    ag_compare(AG_LT, x, x);
    ag_end(s);
}
END_TEST

START_TEST(construction)
{
    REPORTS("tensor_arange: from 0 to 1 by 0 has no end", tensor_arange(0, 1, 0));
    REPORTS("tensor_arange: from 0 to 1e+300 by 1 has no end", tensor_arange(0, 1e300, 1));
    REPORTS("tensor_arange: from 0 to nan by 1 has no end", tensor_arange(0, (double)NAN, 1));
    REPORTS("tensor_from: values is NULL; tensor_zeros makes zeros", tensor_from(SHAPE(2), NULL));
    REPORTS("tensor_uniform: low 1 is above high 0", tensor_uniform(SHAPE(2), 1, 0));
    REPORTS("tensor_normal: deviation is -1, expected 0 or more", tensor_normal(SHAPE(2), 0, -1));
    REPORTS("ag_fill_normal: deviation is nan, expected 0 or more", ag_fill_normal(ones(1, 1), 0, (double)NAN));
    REPORTS("tensor_randint: low 3 is not below high 3", tensor_randint(SHAPE(2), 3, 3));
    REPORTS("ag_random_below: n is 0, expected 1 or more", ag_random_below(0));
    REPORTS("ag_random_permutation: n is -1, expected an int32_t of 0 or more", ag_random_permutation(-1, NULL));
}
END_TEST

START_TEST(reading)
{
    begin();
    Tensor *x = ones(2, 3), *ids = tensor_ints(SHAPE(2), NULL), *made = ag_neg(tensor_set_requires_grad(ones(2, 3), true));
    REPORTS("tensor_dim: there is no dimension 2 in shape (2, 3)", tensor_dim(x, 2));
    REPORTS("tensor_dim: there is no dimension -3 in shape (2, 3)", tensor_dim(x, -3));
    REPORTS("tensor_item: shape (2, 3) has not one item", tensor_item(x));
    REPORTS("tensor_data: t is AG_INT, expected AG_REAL", tensor_data(ids));
    REPORTS("tensor_int_data: t is AG_REAL, expected AG_INT", tensor_int_data(x));
    REPORTS("tensor_bool_data: t is AG_REAL, expected AG_BOOL", tensor_bool_data(x));
    REPORTS("tensor_copy: dst (2, 3) and src (3, 2) differ in shape", tensor_copy(x, ones(3, 2)));
    REPORTS("tensor_copy: src is AG_INT, expected AG_REAL", tensor_copy(x, ids));
    REPORTS("tensor_copy: dst was made by neg and is part of a graph; only leaves are written", tensor_copy(made, x));
    REPORTS("ag_fill: w was made by neg and is part of a graph; only leaves are written", ag_fill(made, 1));
    REPORTS("ag_fill_normal: w is AG_INT, expected AG_REAL", ag_fill_normal(ids, 0, 1));
    REPORTS("tensor_name: the name is NULL", tensor_name(x, NULL));
    REPORTS("tensor_free: this tensor belongs to a scope, or was freed already", tensor_free(x));
    REPORTS("tensor_print: the file is NULL", tensor_fprint(NULL, x));
    end();
}
END_TEST

START_TEST(tensors_that_are_null)
{
    Tensor *none = NULL;
    REPORTS("tensor_shape: t is NULL", tensor_shape(none));
    REPORTS("tensor_ndim: t is NULL", tensor_ndim(none));
    REPORTS("tensor_numel: t is NULL", tensor_numel(none));
    REPORTS("tensor_dtype: t is NULL", tensor_dtype(none));
    REPORTS("tensor_dim: t is NULL", tensor_dim(none, 0));
    REPORTS("tensor_data: t is NULL", tensor_data(none));
    REPORTS("tensor_item: t is NULL", tensor_item(none));
    REPORTS("tensor_copy: dst is NULL", tensor_copy(none, none));
    REPORTS("tensor_copy: src is NULL", tensor_copy(ones(1, 1), none));
    REPORTS("tensor_name: t is NULL", tensor_name(none, "x"));
    REPORTS("tensor_get_name: t is NULL", tensor_get_name(none));
    REPORTS("tensor_print: t is NULL", tensor_print(none));
    REPORTS("tensor_grad: t is NULL", tensor_grad(none));
    REPORTS("tensor_grad_data: t is NULL", tensor_grad_data(none));
    REPORTS("tensor_zero_grad: t is NULL", tensor_zero_grad(none));
    REPORTS("tensor_requires_grad: t is NULL", tensor_requires_grad(none));
    REPORTS("tensor_set_requires_grad: t is NULL", tensor_set_requires_grad(none, true));
    REPORTS("ag_keep: t is NULL", ag_keep(none));
    REPORTS("ag_detach: t is NULL", ag_detach(none));
    REPORTS("ag_retain: t is NULL", ag_retain(none));
    REPORTS("ag_backward: the loss is NULL", ag_backward(none));
    REPORTS("ag_grad_scale: w is NULL", ag_grad_scale(none, 1));
    REPORTS("ag_add: a is NULL", ag_add(none, none));
    REPORTS("ag_add: b is NULL", ag_add(ones(1, 1), none));
    REPORTS("ag_tanh: x is NULL", ag_tanh(none));
    REPORTS("ag_matmul: b is NULL", ag_matmul(ones(1, 1), none));
    REPORTS("ag_linear: weight is NULL", ag_linear(ones(1, 1), none, none));
    REPORTS("ag_sum: x is NULL", ag_sum(none));
    REPORTS("ag_softmax: x is NULL", ag_softmax(none, 0));
    REPORTS("ag_where: mask is NULL", ag_where(none, none, none));
    REPORTS("ag_embedding: ids is NULL", ag_embedding(ones(1, 1), none));
    REPORTS("ag_concat: an item of x is NULL", ag_concat(((Tensor *[]){ ones(1, 1), NULL }), 2, 0));
    REPORTS("ag_cross_entropy: target is NULL", ag_cross_entropy(ones(1, 1), none, AG_MEAN, -100, 0));
    REPORTS("ag_argmax: x is NULL", ag_argmax(none, 0, false));
    REPORTS("ag_compare: a is NULL", ag_compare(AG_EQ, none, none));
    REPORTS("ag_reshape: x is NULL", ag_reshape(none, SHAPE(1)));
}
END_TEST

START_TEST(elementwise)
{
    begin();
    Tensor *x = ones(2, 3), *ids = tensor_ints(SHAPE(2), NULL), *mask = tensor_bools(SHAPE(3), NULL);
    REPORTS("ag_add: shapes (2, 3) and (3, 2) do not fit: sizes must be equal or 1, counted from the last dimension",
            ag_add(x, ones(3, 2)));
    REPORTS("ag_mul: shapes (2, 3) and (2,) do not fit: sizes must be equal or 1, counted from the last dimension",
            ag_mul(x, tensor_ones(SHAPE(2))));
    REPORTS("ag_sub: b is AG_INT, expected AG_REAL", ag_sub(x, ids));
    REPORTS("ag_exp: x is AG_BOOL, expected AG_REAL", ag_exp(mask));
    REPORTS("ag_clamp: low 2 is above high 1", ag_clamp(x, 2, 1));
    REPORTS("ag_dropout: p is 1, expected 0 <= p < 1", ag_dropout(x, 1));
    REPORTS("ag_dropout: p is nan, expected 0 <= p < 1", ag_dropout(x, (double)NAN));
    REPORTS("ag_where: mask is AG_INT, expected AG_BOOL", ag_where(ids, x, x));
    REPORTS("ag_where: mask (3,) does not broadcast with a and b, which are (2, 2)", ag_where(mask, ones(2, 2), ones(2, 1)));
    REPORTS("ag_masked_fill: mask (3,) does not broadcast to x (2, 2)", ag_masked_fill(ones(2, 2), mask, 0));
    REPORTS("ag_masked_fill: mask (3,) does not broadcast to x (1,)", ag_masked_fill(tensor_ones(SHAPE(1)), mask, 0));
    REPORTS("ag_and: a is AG_REAL, expected AG_BOOL", ag_and(x, mask));
    REPORTS("ag_not: a is AG_INT, expected AG_BOOL", ag_not(ids));
    REPORTS("ag_compare: b is AG_INT, expected AG_REAL", ag_compare(AG_LT, x, ids));
    REPORTS("ag_compare: 6 is no comparison; see AgCompare", ag_compare((AgCompare)6, x, x));
    end();
}
END_TEST

START_TEST(products)
{
    begin();
    Tensor *x = ones(2, 3);
    REPORTS("ag_matmul: shapes (2, 3) and (2, 3) do not fit: inner sizes 3 and 2", ag_matmul(x, x));
    REPORTS("ag_matmul: shapes (2, 3) and (3,): both need two dimensions or more", ag_matmul(x, tensor_ones(SHAPE(3))));
    REPORTS("ag_matmul: shapes (2, 4, 3) and (5, 3, 4) do not fit: their batch dimensions do not broadcast",
            ag_matmul(tensor_ones(SHAPE(2, 4, 3)), tensor_ones(SHAPE(5, 3, 4))));
    REPORTS("ag_linear: x (2, 3) and weight (4, 2) do not fit: expected x (..,in) and weight (out,in)",
            ag_linear(x, ones(4, 2), NULL));
    REPORTS("ag_linear: bias (3,) does not fit weight (4, 3): expected (out)",
            ag_linear(x, ones(4, 3), tensor_ones(SHAPE(3))));
    end();
}
END_TEST

START_TEST(dimensions)
{
    begin();
    Tensor *x = ones(2, 3);
    REPORTS("ag_sum_dims: there is no dimension 2 in shape (2, 3)", ag_sum_dims(x, DIMS(2), false));
    REPORTS("ag_mean_dims: dimension -1 is named twice", ag_mean_dims(x, DIMS(1, -1), false));
    REPORTS("ag_var_dims: 3 dimensions named for shape (2, 3)", ag_var_dims(x, DIMS(0, 1, 1), false, false));
    REPORTS("ag_max_dim: there is nothing to choose from in shape (2, 0)", ag_max_dim(ones(2, 0), 1, false));
    REPORTS("ag_argmax: there is nothing to choose from in shape (0, 2)", ag_argmax(ones(0, 2), 0, false));
    REPORTS("ag_softmax: there is no dimension 2 in shape (2, 3)", ag_softmax(x, 2));
    REPORTS("ag_log_softmax: there is no dimension -3 in shape (2, 3)", ag_log_softmax(x, -3));
    REPORTS("ag_masked_softmax: scale is 0, expected a finite number other than 0", ag_masked_softmax(x, NULL, 0));
    if (sizeof(ag_real) == sizeof(float)) {         /* as a float, 0 and infinity */
        REPORTS("ag_masked_softmax: scale is 1e-46, expected a finite number other than 0", ag_masked_softmax(x, NULL, 1e-46));
        REPORTS("ag_masked_softmax: scale is 1e+39, expected a finite number other than 0", ag_masked_softmax(x, NULL, 1e39));
    }
    REPORTS("ag_masked_softmax: mask (2,) does not broadcast to x (2, 3)",
            ag_masked_softmax(x, tensor_bools(SHAPE(2), NULL), 1));
    REPORTS("ag_layer_norm: x is a scalar, expected (..,D)",
            ag_layer_norm(tensor_ones(AG_SCALAR), NULL, NULL, AG_NORM_STD_EPS));
    REPORTS("ag_layer_norm: beta (2,) does not fit x (2, 3): expected (D) and (..,D)",
            ag_layer_norm(x, NULL, tensor_ones(SHAPE(2)), AG_NORM_STD_EPS));
    REPORTS("ag_layer_norm: the unbiased variance of rows of one item (x (2, 1)) is 0/0",
            ag_layer_norm(ones(2, 1), NULL, NULL, AG_NORM_ANNOTATED));
    end();
}
END_TEST

START_TEST(rows_by_id)
{
    begin();
    Tensor *table = ones(5, 2), *ids = tensor_ints(SHAPE(2), (int32_t[]){ 1, 5 });
    REPORTS("ag_embedding: id 5 at item 1 is out of range: expected 0..4", ag_embedding(table, ids));
    REPORTS("ag_embedding: id -1 at item 0 is out of range: expected 0..4",
            ag_embedding(table, tensor_ints(SHAPE(1), (int32_t[]){ -1 })));
    REPORTS("ag_embedding: table (5,) and ids (2,): expected a table (V,D)", ag_embedding(tensor_ones(SHAPE(5)), ids));
    REPORTS("ag_embedding: ids is AG_REAL, expected AG_INT", ag_embedding(table, table));
    REPORTS("ag_gather: ids (2,) do not fit x (5, 2): sizes must be equal except along dimension 1", ag_gather(table, 1, ids));
    Tensor *row = ag_unsqueeze(ids, 0);
    REPORTS("ag_gather: ids (1, 2) do not fit x (5, 2): sizes must be equal except along dimension -1",
            ag_gather(table, -1, row));
    REPORTS("ag_gather: id 5 at item 1 is out of range: expected 0..4", ag_gather(table, 0, row));
    REPORTS("ag_one_hot: id 5 at item 1 is out of range: expected 0..4", ag_one_hot(ids, 5));
    REPORTS("ag_one_hot: -1 classes for ids (2,)", ag_one_hot(ids, -1));
    end();
}
END_TEST

START_TEST(losses)
{
    begin();
    Tensor *x = ones(2, 3), *target = tensor_ints(SHAPE(2), (int32_t[]){ 2, 3 });
    REPORTS("ag_mse_loss: x (2, 3) and target (3, 2) differ in shape", ag_mse_loss(x, ones(3, 2)));
    REPORTS("ag_cross_entropy: target 3 at item 1 is out of range: expected 0..2, or -100 to ignore it",
            ag_cross_entropy(x, target, AG_MEAN, -100, 0));
    REPORTS("ag_cross_entropy: logits (2, 3) and target (3,) do not fit: expected (..,V) and (..)",
            ag_cross_entropy(x, tensor_ints(SHAPE(3), NULL), AG_MEAN, -100, 0));
    REPORTS("ag_cross_entropy: smoothing 1.5 is not in 0..1", ag_cross_entropy(x, target, AG_MEAN, 3, 1.5));
    REPORTS("ag_linear_cross_entropy: target 3 at item 1 is out of range: expected 0..2, or -100 to ignore it",
            ag_linear_cross_entropy(x, ones(3, 3), NULL, target, AG_MEAN, -100, 0));
    REPORTS("ag_linear_cross_entropy: x (2, 3) and target (3,) do not fit: expected (..,in) and (..)",
            ag_linear_cross_entropy(x, x, NULL, tensor_ints(SHAPE(3), NULL), AG_MEAN, -100, 0));
    REPORTS("ag_linear_cross_entropy: x (2, 3) and weight (3, 2) do not fit: expected x (..,in) and weight (out,in)",
            ag_linear_cross_entropy(x, ones(3, 2), NULL, target, AG_MEAN, -100, 0));
    REPORTS("ag_nll_loss: target is AG_REAL, expected AG_INT", ag_nll_loss(x, x, AG_SUM, -100));
    REPORTS("ag_kl_div: log_p (2, 3) and target (2, 2) differ in shape", ag_kl_div(x, ones(2, 2), AG_MEAN));
    REPORTS("ag_label_smoothing: padding id 3 and 3 classes: expected 3 classes or more, and an id of them",
            ag_label_smoothing(x, tensor_ints(SHAPE(2), NULL), 3, 0.1));
    REPORTS("ag_label_smoothing: smoothing -1 is not in 0..1", ag_label_smoothing(x, tensor_ints(SHAPE(2), NULL), 0, -1));
    end();
}
END_TEST

START_TEST(changes_of_shape)
{
    begin();
    Tensor *x = ones(2, 3), *out[5];
    int64_t most = INT64_MAX / 2 + 1;
    Tensor *long_one = tensor_ones(SHAPE(most, 0));
    REPORTS("ag_reshape: shape (2, 3) with 6 items does not fit (4, 2)", ag_reshape(x, SHAPE(4, 2)));
    REPORTS("ag_reshape: shape (2, 3) with 6 items does not fit (-1, 4)", ag_reshape(x, SHAPE(-1, 4)));
    REPORTS("ag_reshape: -1 twice in (-1, -1): only one size can be inferred", ag_reshape(x, SHAPE(-1, -1)));
    REPORTS("ag_reshape: in (0, -1) every size fits for -1", ag_reshape(ones(0, 3), SHAPE(0, -1)));
    REPORTS("ag_permute: an order of 1 dimensions for shape (2, 3)", ag_permute(x, DIMS(0)));
    REPORTS("ag_permute: dimension 0 is named twice", ag_permute(x, DIMS(0, 0)));
    REPORTS("ag_transpose: there is no dimension 2 in shape (2, 3)", ag_transpose(x, 0, 2));
    REPORTS("ag_slice: 2..4 is not within dimension 1 of (2, 3)", ag_slice(x, 1, 2, 4));
    REPORTS("ag_slice: 2..1 is not within dimension 1 of (2, 3)", ag_slice(x, 1, 2, 1));
    REPORTS("ag_slice: -4..2 is not within dimension -1 of (2, 3)", ag_slice(x, -1, -4, 2));
    REPORTS("ag_split: dimension 1 of (2, 3) does not divide into 2 equal parts", ag_split(x, 2, 1, out));
    REPORTS("ag_split: dimension 1 of (2, 3) does not divide into 0 equal parts", ag_split(x, 0, 1, out));
    REPORTS("ag_concat: no tensors to join", ag_concat(NULL, 0, 0));
    REPORTS("ag_concat: shapes (2, 3) and (3, 2) differ in another dimension than 0",
            ag_concat(((Tensor *[]){ x, ones(3, 2) }), 2, 0));
    REPORTS("ag_concat: an item of x is AG_INT, expected AG_REAL",
            ag_concat(((Tensor *[]){ x, tensor_ints(SHAPE(2, 3), NULL) }), 2, 0));
    REPORTS("ag_concat: the size of dimension 0 overflows",
            ag_concat(((Tensor *[]){ long_one, long_one }), 2, 0));
    REPORTS("ag_expand: (2, 3) does not broadcast to (3,)", ag_expand(x, SHAPE(3)));
    REPORTS("ag_expand: (2, 3) does not broadcast to (4, 3)", ag_expand(x, SHAPE(4, 3)));
    REPORTS("ag_squeeze: dimension 0 of (2, 3) does not have size 1", ag_squeeze(x, 0));
    REPORTS("ag_unsqueeze: dimension 3 cannot be inserted into (2, 3): expected -3 to 2, and at most 8 dimensions",
            ag_unsqueeze(x, 3));
    const char *too_many = "ag_unsqueeze: dimension 0 cannot be inserted into (1, 1, 1, 1, 1, 1, 1, 1): expected -9 to 8, and "
                           "at most 8 dimensions";
    REPORTS(too_many, ag_unsqueeze(tensor_ones(SHAPE(1, 1, 1, 1, 1, 1, 1, 1)), 0));
    end();
}
END_TEST

START_TEST(attention)
{
    begin();
    Tensor *q = tensor_ones(SHAPE(1, 2, 4)), *mask = tensor_bools(SHAPE(3), NULL);
    REPORTS("ag_attention: q (1, 2, 4), k (1, 2, 4) and v (2, 3) do not fit: expected (B,T,D), (B,S,D) and (B,S,D)",
            ag_attention(q, q, ones(2, 3), NULL, ((AgAttention){ .heads = 2 })));
    REPORTS("ag_attention: (1, 2, 4) does not divide into 3 heads", ag_attention(q, q, q, NULL, ((AgAttention){ .heads = 3 })));
    REPORTS("ag_attention: (1, 2, 4) does not divide into 0 heads", ag_attention(q, q, q, NULL, ((AgAttention){ .heads = 0 })));
    REPORTS("ag_attention: dropout p is 1, expected 0 <= p < 1",
            ag_attention(q, q, q, NULL, ((AgAttention){ .heads = 2, .dropout = 1 })));
    REPORTS("ag_attention: mask (3,) does not broadcast to (B,heads,T,S) = (1, 2, 2, 2)",
            ag_attention(q, q, q, mask, ((AgAttention){ .heads = 2 })));
    REPORTS("ag_self_attention: qkv (1, 2, 4), expected (B,T,3D)", ag_self_attention(q, NULL, ((AgAttention){ .heads = 2 })));
    end();
}
END_TEST

START_TEST(updates)
{
    begin();
    Tensor *w = tensor_set_requires_grad(ones(2, 3), true);
    AgAdam adam = { 1e-3, 0.9, 0.999, 1e-8, 0, false };
    ag_real g[6] = { 0 }, m[6] = { 0 };
    REPORTS("ag_adam_update_part: 4 items from 3 on, of a tensor with 6", ag_adam_update_part(w, 3, 4, g, m, m, &adam, 1, 1));
    REPORTS("ag_adam_update_part: step is 0, expected 1 or more", ag_adam_update_part(w, 0, 6, g, m, m, &adam, 0, 1));
    REPORTS("ag_sgd_update_part: 6 items from -1 on, of a tensor with 6",
            ag_sgd_update_part(w, -1, 6, g, m, &(AgSgd){ .lr = 1 }, true, 1));
    REPORTS("ag_sgd_update_part: w was made by exp and is part of a graph; only leaves are written",
            ag_sgd_update_part(ag_exp(w), 0, 6, g, NULL, &(AgSgd){ .lr = 1 }, true, 1));
    /* These have no place of the caller: the message names a line of the library. */
    CATCH_USAGE_ERROR(ag_sum_squares(NULL, 5));
    ck_assert_ptr_nonnull(strstr(usage_message, "ag_sum_squares: x is NULL"));
    CATCH_USAGE_ERROR(ag_add_to(NULL, g, 6));
    ck_assert_ptr_nonnull(strstr(usage_message, "ag_add_to: y is NULL"));
    CATCH_USAGE_ERROR(ag_add_to(g, NULL, 6));
    ck_assert_ptr_nonnull(strstr(usage_message, "ag_add_to: x is NULL"));
    ck_assert_double_eq(ag_sum_squares(NULL, 0), 0);
    end();
}
END_TEST

/* ---- the layers in the message ----------------------------------------------------------------------------------- */

enum { INNER_LINE = __LINE__ + 5 };

static Tensor *inner_layer(Tensor *x)
{
    AG_LAYER;
    return ag_matmul(x, x);
}

static Tensor *outer_layer(Tensor *x)
{
    AG_LAYER;
    return inner_layer(x);
}

static void check_chain(const char *message)
{
    char expected[256];
    snprintf(expected, sizeof expected, "ag_matmul: shapes (2, 3) and (2, 3) do not fit: inner sizes 3 and 2 (at "
             "tests/test_errors.c:%d, in inner_layer, in outer_layer)", INNER_LINE);
    ck_assert_str_eq(message, expected);
}

enum { EXP_LINE = __LINE__ + 5 };

static Tensor *around_arguments(Tensor *x)
{
    AG_LAYER;
    return inner_layer(ag_exp(
        x));
}

START_TEST(the_message_names_the_layers)
{
    char expected[256];
    for (int round = 0; round < 100; round++) {                 /* errors leave no state in the chain of layers */
        CATCH_USAGE_ERROR(outer_layer(ones(2, 3)));
        check_chain(usage_message);
    }
    /* An argument that fails is not inside the layer that it is an argument of. */
    CATCH_USAGE_ERROR(outer_layer(ag_tanh(NULL)));
    ck_assert_msg(!strstr(usage_message, "_layer"), "%s", usage_message);
    CATCH_USAGE_ERROR(outer_layer(inner_layer(ag_exp(NULL))));
    ck_assert_msg(!strstr(usage_message, "_layer"), "%s", usage_message);
    CATCH_USAGE_ERROR(ag_tanh(inner_layer(outer_layer(ones(2, 3)))));
    check_chain(usage_message);
    CATCH_USAGE_ERROR(around_arguments(NULL));
    snprintf(expected, sizeof expected, "(at tests/test_errors.c:%d, in around_arguments)", EXP_LINE);
    ck_assert_msg(strstr(usage_message, expected) != NULL, "%s", usage_message);
    begin();
    REPORTS("ag_tanh: x is NULL", ag_tanh(NULL));
    ck_assert_ptr_nonnull(outer_layer(ones(3, 3)));
    REPORTS("ag_tanh: x is NULL", ag_tanh(NULL));
    end();
}
END_TEST

static void another_layer_with_quite_a_long_name(int depth);

static void a_layer_with_quite_a_long_name_so_that_the_message_is_soon_full(int depth)
{
    AG_LAYER;
    if (depth == 0) ag_tanh(NULL);
    else another_layer_with_quite_a_long_name(depth - 1);
}

static void another_layer_with_quite_a_long_name(int depth)
{
    AG_LAYER;
    a_layer_with_quite_a_long_name_so_that_the_message_is_soon_full(depth - 1);
}

START_TEST(a_long_message_is_cut)
{
    CATCH_USAGE_ERROR(a_layer_with_quite_a_long_name_so_that_the_message_is_soon_full(200));
    ck_assert_uint_eq(strlen(usage_message), sizeof usage_message - 1);
    char what[3000];
    memset(what, 'x', sizeof what - 1);
    what[sizeof what - 1] = '\0';
    CATCH_USAGE_ERROR(ag_usage_error(what, "%s", what));
    ck_assert_uint_eq(strlen(usage_message), sizeof usage_message - 1);
    REPORTS("ag_tanh: x is NULL", ag_tanh(NULL));
}
END_TEST

/* A loader that has failed returns NULL, and a program that has not looked uses it. */
START_TEST(null_names_the_last_error)
{
    begin();
    ag_set_error("no.npz: cannot be opened");
    Linear *l = nn_linear_new(1, 1);
    ModuleList *list = nn_list_new();
    REPORTS("ag_tanh: x is NULL (the last error: no.npz: cannot be opened)", ag_tanh(NULL));
    REPORTS("tensor_copy: src is NULL (the last error: no.npz: cannot be opened)", tensor_copy(l->bias, NULL));
    REPORTS("nn_linear: the module is NULL (the last error: no.npz: cannot be opened)", nn_linear(NULL, ones(1, 1)));
    REPORTS("nn_list_add: the module for \"0\" of ModuleList is NULL (the last error: no.npz: cannot be opened)",
            nn_list_add(list, NULL));
    REPORTS("nn_optimizer_step: the optimizer is NULL (the last error: no.npz: cannot be opened)", nn_optimizer_step(NULL));
    char text[MOST_MESSAGE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ag_set_error("%s", text);
    CATCH_USAGE_ERROR(ag_tanh(NULL));
    ck_assert_msg(strstr(usage_message, "xxx) (at tests/test_errors.c:"), "%s", usage_message);
    ag_set_error("%s", "");
    REPORTS("ag_tanh: x is NULL", ag_tanh(NULL));
    ag_free(l);
    ag_free(list);
    end();
}
END_TEST

START_TEST(set_errors_are_separate)
{
    ck_assert_str_eq(ag_error(), "");
    ck_assert(!ag_set_error("%s: line %d is bad", "file.txt", 3));
    ck_assert_str_eq(ag_error(), "file.txt: line 3 is bad");
}
END_TEST

/* The text must be UTF-8 without characters that a terminal obeys: controls (C0, DEL, C1), ends of lines, changes of
 * direction, tags. `lines`: it may have several lines. */
static void must_be_printable(const char *text, bool lines)
{
    size_t n = strlen(text);
    ck_assert_msg(utf8_valid(text, n) == n, "\"%s\" is not UTF-8", text);
    for (uint32_t code; n > 0;) {
        size_t length = (size_t)utf8_decode(text, n, &code);
        bool good = (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code < 0x2028) || (code > 0x202e && code < 0x2066) ||
                    code > 0x2069 || (lines && code == '\n');
        good = good && code != 0x61c && code != 0x200e && code != 0x200f && !(code >= 0xe0001 && code <= 0xe007f);
        ck_assert_msg(good, "U+%04X in \"%s\"", (unsigned)code, text);
        text += length;
        n -= length;
    }
}

/* Whoever makes a message: what it quotes may come from a file. */
START_TEST(messages_are_printable)
{
    char text[8];
    for (uint32_t code = 1; code < 0xe0100; code = code == 0x2fff ? 0xe0000 : code + 1) {
        text[utf8_encode(code, text)] = '\0';
        ag_set_error("%s", text);
        must_be_printable(ag_error(), false);
        bool same = strcmp(ag_error(), text) == 0, plain = code >= 0xa0 && code < 0x2000 && code != 0x61c;
        ck_assert_msg(same || !plain, "U+%04X is \"%s\"", (unsigned)code, ag_error());
    }
    for (int byte = 0x80; byte < 0x100; byte++) {
        ag_set_error("a%cb", byte);
        must_be_printable(ag_error(), false);
    }
    ag_set_error("\x1b]0;x\a\n\u202e%s", "\xe3\x81");
    ck_assert_str_eq(ag_error(), "\\x1B]0;x\\x07\\x0A\\xE2\\x80\\xAE\\xE3\\x81");
    ag_set_error("%s", ag_error());
    ck_assert_str_eq(ag_error(), "\\x1B]0;x\\x07\\x0A\\xE2\\x80\\xAE\\xE3\\x81");
    CATCH_USAGE_ERROR(ag_usage_error("test", "%s", "\x1b[31m\xc2\x9b"));
    must_be_printable(usage_message, false);
    char longer[3000];                                      /* cut within a character */
    for (size_t start = 0; start < 3; start++) {
        for (size_t i = start; i + 3 < sizeof longer; i += 3) memcpy(longer + i, "\u4e2d", 4);
        memset(longer, 'a', start);
        ag_set_error("%s", longer);
        must_be_printable(ag_error(), false);
        CATCH_USAGE_ERROR(ag_usage_error("test", "%s", longer));
        must_be_printable(usage_message, false);
    }
}
END_TEST

/* Its gradient is wrong: half of the product is a constant. */
static Tensor *half_of_squares(Tensor **in, void *unused)
{
    (void)unused;
    return ag_mul(in[0], ag_detach(in[0]));
}

typedef struct { Module module; Linear *l; } Named;

START_TEST(names_are_printable)
{
    static const char name[] = "\x1b(owned\a\x7f\xc2\x9b\u202e\xff";
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_name(tensor_set_requires_grad(tensor_ones(SHAPE(2)), true), name), *loss = ag_sum(ag_mul(x, x));
    ag_explain(out, loss);
    tensor_fprint(out, loss);
    ck_assert(!ag_gradcheck(half_of_squares, NULL, &x, 1, out));
    Named *m = nn_new(Named);
    nn_child_named(m, l, nn_linear_new(2, 3), "%s", name);
    nn_summary(m, out);
    ag_end(s);
    fclose(out);
    must_be_printable(text, true);
    ck_assert_ptr_nonnull(strstr(text, "owned"));
    free(text);
    ag_free(m);
}
END_TEST

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

static jmp_buf escape;
static char caught[1024];

static void leave(const char *message)
{
    snprintf(caught, sizeof caught, "%s", message);
    longjmp(escape, 1);
}

typedef struct { Tensor *y; AgScope scope; char message[3][1024]; } OtherThread;

static void *uses_what_is_not_its_own(void *arg)
{
    OtherThread *o = arg;
    AgScope s = ag_begin(AG_RECORD);
    CATCH_USAGE_ERROR(ag_neg(o->y));
    strcpy(o->message[0], usage_message);
    CATCH_USAGE_ERROR(ag_end(o->scope));
    strcpy(o->message[1], usage_message);
    ag_neg(ag_detach(o->y));
    Tensor *own = ag_neg(tensor_set_requires_grad(tensor_ones(SHAPE(2)), true));
    CATCH_USAGE_ERROR(ag_mul(own, o->y));           /* after this nothing waits for the value of own */
    ag_backward(ag_sum(own));
    CATCH_USAGE_ERROR(ag_sum(own));
    strcpy(o->message[2], usage_message);
    ag_end(s);
    return NULL;
}

/* A gradient would stay in the other thread's graph. */
START_TEST(graphs_and_scopes_belong_to_their_thread)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = ag_neg(tensor_set_requires_grad(tensor_ones(SHAPE(2)), true));
    OtherThread other = { .y = y, .scope = s };
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, uses_what_is_not_its_own, &other), 0);
    pthread_join(thread, NULL);
    ck_assert_msg(strstr(other.message[0], "neg: the result of neg made at tests/test_errors.c:"), "%s", other.message[0]);
    ck_assert_msg(strstr(other.message[2], "sum: the value of x (neg made at"), "%s", other.message[2]);
    ck_assert_msg(strstr(other.message[1], "ag_end: another thread began this scope"), "%s", other.message[1]);
    ag_end(s);
}
END_TEST

START_TEST(an_operation_that_fails_keeps_no_memory)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = ag_neg(tensor_set_requires_grad(tensor_ones(SHAPE(2)), true));
    EXPECT_USAGE_ERROR("target 2 at item 0", ag_binary_cross_entropy(x, tensor_full(SHAPE(2), 2), AG_MEAN));
    ag_backward(ag_sum(x));
    EXPECT_USAGE_ERROR("sum: the value of x (neg made at", ag_sum(x));
    ag_end(s);
}
END_TEST

/* A backward pass that fails leaves no gradients for the next one in the same scope. */
START_TEST(backward_after_an_error_in_backward)
{
    ag_on_usage_error(leave);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(2), 3), true), *c = tensor_ones(SHAPE(2));
    Tensor *loss = ag_sum(ag_mul(ag_neg(x), c));
    ag_fill(c, 2);
    if (setjmp(escape) == 0) ag_backward(loss);
    ck_assert_msg(strstr(caught, "the rule of mul"), "%s", caught);
    ag_on_usage_error(NULL);
    ag_backward(ag_sum(ag_mul(x, x)));
    ck_assert(tensor_grad_data(x)[1] == 6);
    ag_end(s);
}
END_TEST

static Tensor *layer_with_a_scope(Tensor *x)
{
    AG_LAYER;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = ag_end_return(s, inner_layer(x));
    return y;
}

/* After an error no layer is being called any more, wherever the error was: without a scope, or in a scope of a layer. */
START_TEST(an_error_leaves_no_layers_behind)
{
    ag_on_usage_error(leave);
    Tensor *x = tensor_new_owned(SHAPE(2, 3), AG_REAL);
    if (setjmp(escape) == 0) outer_layer(x);
    check_chain(caught);
    if (setjmp(escape) == 0) ag_tanh(NULL);
    ck_assert_msg(!strstr(caught, "_layer"), "%s", caught);
    tensor_free(x);
    ag_on_usage_error(NULL);
    CATCH_USAGE_ERROR(layer_with_a_scope(ones(2, 3)));
    ck_assert_msg(strstr(usage_message, ", in inner_layer, in layer_with_a_scope)"), "%s", usage_message);
    REPORTS("ag_tanh: x is NULL", ag_tanh(NULL));
}
END_TEST

START_TEST(without_a_scope)
{
    ag_on_usage_error(leave);
    if (setjmp(escape) == 0) tensor_ones(SHAPE(2));
    ck_assert_ptr_nonnull(strstr(caught,
                                 "tensor_ones: no scope is open to own the result: call ag_begin first (at tests/"));
    Tensor *x = tensor_new_owned(SHAPE(2), AG_REAL);
    caught[0] = '\0';
    if (setjmp(escape) == 0) ag_tanh(x);
    ck_assert_ptr_nonnull(strstr(caught, "tanh: no scope is open to own the result"));
    tensor_free(x);
    AgScope s = ag_begin(AG_RECORD);                            /* the library still works */
    ck_assert(tensor_item(ag_tanh(tensor_zeros(AG_SCALAR))) == 0);
    ag_end(s);
}
END_TEST

START_TEST(scopes_end_once_and_in_order)
{
    AgScope outer = ag_begin(AG_RECORD), inner = ag_begin(AG_RECORD);
    Tensor *x = ones(1, 1);
    EXPECT_USAGE_ERROR("ag_end: scopes begun inside this one and still open: 2", ag_end(outer));
    EXPECT_USAGE_ERROR("ag_end_return: the scope must be the innermost and have another around it", ag_end_return(inner, x));
    ag_end(inner);
    REPORTS("ag_end: this scope has ended already", ag_end(inner));
    REPORTS("ag_end_return: this scope has ended already", ag_end_return(inner, ones(1, 1)));
    AgScope later = ag_begin(AG_RECORD);
    REPORTS("ag_end: this scope has ended already", ag_end(inner));        /* although another one of its depth is open */
    ag_end(later);
    ag_end(outer);
    REPORTS("ag_end: this scope has ended already", ag_end(outer));
    REPORTS("ag_end: the scope was not begun", ag_end(((AgScope){ 0, 0 })));
}
END_TEST

START_TEST(too_many_scopes)
{
    AgScope first = ag_begin(AG_RECORD);
    while (innermost_scope().depth < MAX_SCOPES - 1) ag_begin(AG_NO_GRAD);
    CATCH_USAGE_ERROR(ag_begin(AG_RECORD));
    ck_assert_ptr_nonnull(strstr(usage_message, "ag_begin: 256 scopes are open already: is an ag_end missing?"));
    CATCH_USAGE_ERROR(ag_end(first));
    ck_assert_ptr_nonnull(strstr(usage_message, "scopes begun inside this one and still open"));
}
END_TEST

/* A child's output to stderr and its exit status. */
typedef struct { char text[4000]; int status; } Death;

static Death death_of(void (*job)(void))
{
    Death d = { { 0 }, 0 };
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        dup2(ends[1], 2);
        signal(SIGABRT, SIG_DFL);
        job();
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (;;) {
        char rest[512], *at = n < sizeof d.text - 1 ? d.text + n : rest;
        ssize_t k = read(ends[0], at, at == rest ? sizeof rest : sizeof d.text - 1 - n);
        if (k <= 0) break;
        if (at != rest) n += (size_t)k;
    }
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, &d.status, 0), pid);
    return d;
}

enum { LINE_OF_USE = __LINE__ + 9 };

static void use_after_end(void)
{
    ag_guard(false);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = ones(2, 3);
    ag_end(s);
    s = ag_begin(AG_RECORD);
    ag_tanh(x);
}

/* The usual loop: a result of one step is used in the next ones, when other tensors have been made. */
START_TEST(a_result_of_an_earlier_step_is_named)
{
    Tensor *h = NULL;
    for (int step = 0; step < 5; step++) {
        AgScope s = ag_begin(AG_RECORD);
        for (int i = 0; i < step; i++) ones(3, 2);
        const char *message = "add: b is not a live tensor: it was made by tanh at tests/test_errors.c:";
        if (h) EXPECT_USAGE_ERROR(message, ag_add(ones(2, 3), h));
        else h = ag_tanh(ones(2, 3));
        for (int i = 0; i < 5; i++) ones(2, 3);
        ag_end(s);
    }
}
END_TEST

/* A step of 200 tensors has more bytes than the memory that waits. Its results are named in all of the next step, too. */
START_TEST(a_result_of_a_long_step_is_named_in_the_next_one)
{
    ag_guard(false);
    Tensor *h = NULL;
    for (int step = 0; step < 5; step++) {
        AgScope s = ag_begin(AG_RECORD);
        for (int i = 0; i < 100; i++) ones(2, 3);
        Tensor *former = h;
        h = ag_tanh(ones(2, 3));
        for (int i = 0; i < 100; i++) ones(2, 3);
        const char *message = "add: b is not a live tensor: it was made by tanh at tests/test_errors.c:";
        if (former) EXPECT_USAGE_ERROR(message, ag_add(ones(2, 3), former));
        ag_end(s);
    }
}
END_TEST

START_TEST(use_after_the_end_of_the_scope)
{
    Death d = death_of(use_after_end);
    ck_assert(d.status != 0);
    char message[200];
    snprintf(message, sizeof message, "tanh: x is not a live tensor: it was made by tensor_ones at tests/test_errors.c:%d, and "
             "its scope has ended (at tests/test_errors.c:%d)", LINE_OF_ONES, LINE_OF_USE);
    ck_assert_msg(strstr(d.text, message) != NULL, "%s", d.text);
}
END_TEST

static void by_default(void)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_matmul(ones(2, 3), ones(2, 3));
    ag_end(s);
}

static void print_and_return(const char *message)
{
    fprintf(stderr, "handler: %s\n", message);
}

static void with_a_handler_that_returns(void)
{
    ag_on_usage_error(print_and_return);
    by_default();
}

START_TEST(the_default_prints_one_line_and_aborts)
{
    Death d = death_of(by_default);
    ck_assert(WIFSIGNALED(d.status) && WTERMSIG(d.status) == SIGABRT);
    const char *text =
        "kaeru: ag_matmul: shapes (2, 3) and (2, 3) do not fit: inner sizes 3 and 2 (at tests/test_errors.c:";
    ck_assert_msg(strncmp(d.text, text, strlen(text)) == 0, "%s", d.text);
    const char *end = strchr(d.text, '\n');
    ck_assert_msg(end && (!end[1] || strncmp(end + 1, "qemu: ", 6) == 0), "%s", d.text);  /* an emulator adds a line */
}
END_TEST

START_TEST(a_handler_must_not_return)
{
    Death d = death_of(with_a_handler_that_returns);
    ck_assert(WIFSIGNALED(d.status) && WTERMSIG(d.status) == SIGABRT);
    ck_assert_msg(strncmp(d.text, "handler: ag_matmul: ", 20) == 0, "%s", d.text);
}
END_TEST

START_TEST(handlers_are_per_thread_and_returned)
{
    ck_assert_ptr_null(ag_on_usage_error(leave));
    ck_assert_ptr_eq(ag_on_usage_error(NULL), leave);
    ck_assert_ptr_null(ag_on_usage_error(NULL));
}
END_TEST

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static int destroyed;

static void count_destroyed(void *p)
{
    (void)p;
    destroyed++;
}

/* Each block owns the next one. */
START_TEST(a_long_chain_of_owners)
{
    enum { LENGTH = 300000 };
    void *first = ag_alloc(1, 1), *last = first;
    for (int i = 0; i < LENGTH; i++) last = ag_alloc_in(last, 1, 1);
    ag_on_free(last, count_destroyed);
    ag_free(first);
    ck_assert_int_eq(destroyed, 1);
    first = last = ag_object_new(1);
    for (int i = 0; i < LENGTH; i++) {
        void *next = ag_object_new(1);
        ag_on_free(next, count_destroyed);
        ag_set_owner(next, last);
        last = next;
    }
    EXPECT_USAGE_ERROR("ag_set_owner: p would own itself", ag_set_owner(first, last));
    EXPECT_USAGE_ERROR("ag_set_owner: p would own itself", ag_set_owner(last, last));
    ag_free(first);
    ck_assert_int_eq(destroyed, 1 + LENGTH);
}
END_TEST

static void fail_in_destructor(void *p)
{
    destroyed++;
    ag_check_object(NULL, "p", p);
    ag_neg(NULL);
}

static jmp_buf left;

static void leave_destructor(void *p)
{
    (void)p;
    destroyed++;
    longjmp(left, 1);
}

static void leave_with_error(const char *message)
{
    snprintf(caught, sizeof caught, "%s", message);
    longjmp(left, 1);
}

static void *to_free;

static void free_the_owner(void *p)
{
    (void)p;
    ag_free(to_free);
}

/* After an error in a destructor, or a longjmp through it, the object can still be freed, and its scope can end. */
START_TEST(destructors_that_do_not_return)
{
    destroyed = 0;
    void *owner = ag_object_new(8), *part = ag_alloc_in(owner, 1, 8);
    ag_on_free(ag_alloc_in(part, 1, 8), count_destroyed);
    ag_on_free(part, fail_in_destructor);
    EXPECT_USAGE_ERROR("ag_neg: x is NULL", ag_free(owner));
    ck_assert_int_eq(destroyed, 1);
    ag_check_object(__func__, "owner", owner);
    ag_free(owner);
    ck_assert_int_eq(destroyed, 2);
    EXPECT_USAGE_ERROR("ag_free: this object was freed already", ag_free(owner));

    void *block = ag_alloc(1, 8);
    ag_on_free(block, leave_destructor);
    AgScope s = ag_begin(AG_RECORD);
    if (setjmp(left) == 0) ag_free(block);
    ag_end(s);
    ag_free(block);
    ck_assert_int_eq(destroyed, 3);

    destroyed = 0;
    static void *many[100];
    for (volatile int i = 0; i < 100; i++) {                /* without a scope */
        many[i] = ag_alloc(1, 8);
        ag_on_free(many[i], leave_destructor);
        if (setjmp(left) == 0) ag_free(many[i]);
    }
    for (int i = 0; i < 100; i++) ag_free(many[i]);
    ck_assert_int_eq(destroyed, 100);
    destroyed = 3;

    AgErrorHandler *former = ag_on_usage_error(leave_with_error);
    s = ag_begin(AG_RECORD);
    if (setjmp(left) == 0) {
        ag_on_free(ag_alloc(1, 8), fail_in_destructor);
        ag_neg(NULL);
    }
    bool failed = setjmp(left) != 0;
    if (!failed) ag_end(s);
    ck_assert(failed);
    ag_end(s);
    ag_on_usage_error(former);
    ck_assert_int_eq(destroyed, 4);

    to_free = ag_alloc(1, 8);
    part = ag_alloc_in(to_free, 1, 8);
    ag_on_free(part, free_the_owner);
    EXPECT_USAGE_ERROR("ag_free: the destructor of an object calls this for its owner", ag_free(part));
    ag_free(to_free);
}
END_TEST

static void ignore(void *p)
{
    (void)p;
}

/* The system unmaps the memory of large blocks when it is freed. Their headers can still be read. */
START_TEST(large_blocks_that_were_freed)
{
#ifdef __GLIBC__
    void *other = ag_alloc(1, 1);
    for (size_t bytes = 1 << 16; bytes <= (size_t)1 << 26; bytes *= 2) {
        for (int with_function = 0; with_function < 2; with_function++) {
            void *p = ag_alloc(bytes + 1, 1);
            memset(p, 1, bytes);
            void *resized = ag_resize(p, bytes + 1, bytes + 2, 1);
            EXPECT_USAGE_ERROR("ag_free: this object was freed already", ag_free(p));
            ck_assert_int_eq(((char *)resized)[bytes - 1], 1);
            if (with_function) ag_on_free(resized, ignore);
            ag_free(resized);
            /* Fewer of the largest: malloc may fill each block, as MALLOC_PERTURB_ tells it to. */
            for (int i = 0; i < (bytes > 1 << 20 ? 10 : 100); i++) ag_free(ag_alloc(bytes, 1));
            EXPECT_USAGE_ERROR("ag_free: this object was freed already", ag_free(resized));
            EXPECT_USAGE_ERROR("ag_alloc_in: the owner was freed", ag_alloc_in(resized, 1, 1));
            EXPECT_USAGE_ERROR("ag_set_owner: the owner was freed", ag_set_owner(other, resized));
            EXPECT_USAGE_ERROR("ag_set_owner: p was freed", ag_set_owner(resized, other));
            EXPECT_USAGE_ERROR("ag_resize: p was freed", ag_resize(resized, 1, 2, 1));
        }
    }
    ag_free(other);
#endif
}
END_TEST

/* ---- functions that the program leaves --------------------------------------------------------------------------- */

static AgScope *ended_inside;           /* NULL: the function leaves by longjmp, else it ends this scope and returns */

static void leave_or_end(void)
{
    if (!ended_inside) longjmp(left, 1);
    ag_end(*ended_inside);
}

static void leave_at_progress(void *unused, double share)
{
    (void)unused;
    if (share > 0.4) leave_or_end();
}

static void leave_at_name(void *unused, const char *name, char *out, size_t size)
{
    (void)unused, (void)out, (void)size;
    if (strcmp(name, "bias") == 0) leave_or_end();
}

static bool leave_at_token(void *unused, int32_t id)
{
    (void)unused, (void)id;
    leave_or_end();
    return true;
}

static void use_function(int which, Linear *l, GPT *gpt)
{
    const int32_t prompt[] = { 1 };
    const char *path = in_folder("left.safetensors");
    if (which == 0) (void)!nn_load_with(path, l, (NnLoadOptions){ .progress = leave_at_progress });
    else if (which == 1) (void)!nn_load_with(path, l, (NnLoadOptions){ .rename = leave_at_name });
    else (void)!lm_generate(gpt, prompt, 1, 4, &(LmSampling){ .temperature = 1 }, leave_at_token, NULL);
}

/* A function that a layer calls, or the layer itself, begins a scope and returns. */
static Tensor *leaking_layer(Tensor *x)
{
    AG_LAYER;
    ag_begin(AG_RECORD);
    return ag_tanh(x);
}

static bool leaking_choice(const NnNamedTensor *p, void *unused)
{
    (void)p, (void)unused;
    ag_begin(AG_RECORD);
    return true;
}

START_TEST(a_scope_that_a_layer_leaves_open_is_reported)
{
    Linear *l = nn_linear_new(2, 2);
    Optimizer *o = nn_sgd_new(l, 0.1);
    ag_on_usage_error(leave_with_error);
    for (volatile int which = 0; which < 2; which++) {
        AgScope s = ag_begin(AG_RECORD);
        if (which == 0) leaking_layer(ones(1, 2));
        else nn_optimizer_group(o, leaking_choice, NULL, 0, 1);
        caught[0] = '\0';
        if (setjmp(left) == 0) ag_end(s);
        ck_assert_msg(strstr(caught, "ag_end: scopes begun inside this one and still open: ") != NULL, "%s", caught);
        ag_end(s);
    }
    ag_on_usage_error(NULL);
    ag_free(o);
    ag_free(l);
}
END_TEST

/* Neither memory nor an open file stays. */
START_TEST(functions_that_are_left_keep_nothing)
{
    Linear *l = nn_linear_new(2, 2);
    GPT *gpt = gpt_new((GPTOptions){ 1, 2, 8, 8, 4, 0, true, 1e-5, false });
    nn_eval(gpt);
    ck_assert(nn_save(in_folder("left.safetensors"), l));
    for (volatile int which = 0; which < 3; which++) {
        volatile int64_t live = 0;
        volatile size_t in_use = 0;
        volatile int fd = 0;
        ended_inside = NULL;
        for (volatile int round = 0; round < 20; round++) {
            AgScope s = ag_begin(AG_NO_GRAD);
            void *volatile mine = ag_alloc(1, 8);
            bool is_left = setjmp(left) != 0;
            if (!is_left) use_function(which, l, gpt);
            ck_assert(is_left);
            ag_end(s);
            ag_free(mine);
            forget_freed_objects();
            int now = dup(0);
            close(now);
            if (round == 2) live = faults_live(), in_use = ag_memory().in_use, fd = now;
            if (round <= 2) continue;
            ck_assert_int_eq(faults_live(), live);
            ck_assert_uint_eq(ag_memory().in_use, in_use);
            ck_assert_int_eq(now, fd);
        }
        static AgScope around;
        ended_inside = &around;
        EXPECT_USAGE_ERROR("ended a scope, or left one open", around = ag_begin(AG_NO_GRAD); use_function(which, l, gpt));
    }
    ag_free(l);
    ag_free(gpt);
}
END_TEST

static void leave_with_scope(void)
{
    ag_begin(AG_NO_GRAD);
    tensor_ones(SHAPE(10));
    longjmp(left, 1);
}

static bool leave_check(const void *o)
{
    (void)o;
    leave_with_scope();
    return true;
}

static Tensor *leave_layer(void *self, Tensor *x)
{
    (void)self;
    leave_with_scope();
    return x;
}

static void use_leaving_function(int which, Linear *l, Tensor *x)
{
    static const NnField field[] = { { .name = NULL } };
    static const NnFields table = { .field = field, .check = leave_check };
    if (which == 0) {
        nn_fields_check(&table, NULL);
    } else if (which == 1) {
        (nn_fields_check)(&table, NULL);                    /* without the macro that notes the place of the call */
    } else if (which == 2) {
        nn_linear(l, x);
    } else {
        nn_recompute(l->adapter, x);
    }
}

/* Also in a scope that has seen a function that was left before. Afterwards a scope that is left open is an error as before. */
START_TEST(scopes_of_functions_that_are_left_end)
{
    Linear *l = nn_linear_new(2, 2);
    Module *layer = nn_new_sized(sizeof *layer, "Leaving");
    layer->forward = leave_layer;
    nn_child(l, adapter, layer);
    ag_on_usage_error(leave_with_error);
    for (volatile int which = 0; which < 4; which++) {
        AgScope s = ag_begin(AG_RECORD);
        for (volatile int i = 0; i < 2; i++) {
            AgScope inner = ag_begin(AG_RECORD);
            bool is_left = setjmp(left) != 0;
            if (!is_left) use_leaving_function(which, l, ones(1, 2));
            ck_assert(is_left);
            caught[0] = '\0';
            if (setjmp(left) == 0) ag_end(inner);
            ck_assert_str_eq(caught, "");
            ck_assert_int_eq(innermost_scope().depth, s.depth);
        }
        ag_begin(AG_RECORD);
        caught[0] = '\0';
        if (setjmp(left) == 0) ag_end(s);
        ck_assert_msg(strstr(caught, "still open: 1") != NULL, "%d: %s", which, caught);
        ag_end(s);
    }
    ag_on_usage_error(NULL);
    ag_free(l);
}
END_TEST

START_TEST(parts_are_freed_by_their_owner)
{
    void *owner = ag_object_new(8), *other = ag_object_new(8), *part = ag_alloc(1, 8);
    ag_set_part(part, owner, "Owner");
    REPORTS("ag_free: this is a part of a Owner, which frees it", ag_free(part));
    REPORTS("ag_set_owner: this is a part of a Owner, which frees it", ag_set_owner(part, NULL));
    REPORTS("ag_set_part: the type is NULL", ag_set_part(part, owner, NULL));
    ag_set_part(part, other, "Other");
    ag_free(owner);
    REPORTS("ag_free: this is a part of a Other, which frees it", ag_free(part));
    ag_set_part(part, NULL, NULL);
    ag_free(part);
    ag_free(other);
    EXPECT_USAGE_ERROR("ag_strndup_in: no memory for 18446744073709551615 items of 1 bytes",
                       ag_strndup_in(NULL, "abc", SIZE_MAX));
}
END_TEST

/* ---- leaving by longjmp ------------------------------------------------------------------------------------------ */

/* An object of several allocations. It owns all but one, which its destructor frees. */
typedef struct { Tensor *a, *b; char *name; } Thing;
static int things;

static void thing_destroy(void *p)
{
    Thing *t = p;
    tensor_free(t->b);
    things--;
}

static Thing *thing_new(bool fails)
{
    Thing *t = ag_alloc(1, sizeof *t);
    ag_on_free(t, thing_destroy);
    things++;
    t->a = tensor_new_owned(SHAPE(10), AG_REAL);
    ag_set_owner(t->a, t);
    t->name = ag_strndup_in(t, "a thing", 7);
    if (fails) ag_usage_error("thing", "broken");
    Tensor *b = tensor_new_owned(SHAPE(20), AG_REAL);
    ag_set_owner(b, t);
    ag_set_owner(b, NULL);
    t->b = b;
    return t;
}

static void fail_deep_inside(void)
{
    thing_new(false);
    AgScope s = ag_begin(AG_RECORD);
    tensor_name(tensor_set_requires_grad(ones(50, 50), true), "weights");
    ag_keep(ones(3, 3));
    thing_new(false);
    AgScope t = ag_begin(AG_NO_GRAD);
    ag_tanh(ones(100, 100));
    thing_new(true);
    ag_end(t);
    ag_end(s);
}

START_TEST(an_error_frees_the_blocks_of_its_scopes)
{
    ag_guard(false);
    AgScope outer = ag_begin(AG_RECORD);
    Thing *mine = thing_new(false);
    Tensor *x = tensor_full(AG_SCALAR, 2);
    int64_t live = 0;
    for (int round = 0; round < 20; round++) {
        size_t in_use = ag_memory().in_use;
        EXPECT_USAGE_ERROR("thing: broken", fail_deep_inside());
        ck_assert_uint_eq(ag_memory().in_use, in_use);
        ck_assert_int_eq(things, 1);
        ag_memory_trim();
        if (round == 1) live = faults_live();
        if (round > 1) ck_assert_int_eq(faults_live(), live);
        ck_assert_int_eq(innermost_scope().depth, 1);
    }
    ck_assert(tensor_item(x) == 2 && strcmp(mine->name, "a thing") == 0);
    ag_end(outer);
    ck_assert_int_eq(things, 1);                               /* it outlives its scope, since no error unwound it */
    ag_free(mine);
    ck_assert_int_eq(things, 0);
}
END_TEST

static Thing *of_another_thread;

static void *make_a_thing(void *unused)
{
    (void)unused;
    AgScope s = ag_begin(AG_RECORD);
    of_another_thread = thing_new(false);
    ag_end(s);
    return NULL;
}

static void free_a_thing_of_another_thread(void)
{
    pthread_t thread;
    thing_new(false);
    ck_assert_int_eq(pthread_create(&thread, NULL, make_a_thing, NULL), 0);
    pthread_join(thread, NULL);
    ag_free(of_another_thread);
    thing_new(true);
}

/* When its scope has ended, a block is in no thread's list, and any thread may free it. */
START_TEST(a_block_may_be_freed_on_another_thread)
{
    EXPECT_USAGE_ERROR("thing: broken", free_a_thing_of_another_thread());
    ck_assert_int_eq(things, 0);
}
END_TEST

START_TEST(blocks_made_after_an_error_stay)
{
    ag_on_usage_error(leave);
    AgScope outer = ag_begin(AG_RECORD);
    Thing *volatile later = NULL;
    if (setjmp(escape) == 0) fail_deep_inside();
    else {
        later = thing_new(false);
        AgScope s = ag_begin(AG_RECORD);                        /* the error was in another scope */
        Thing *inside = thing_new(false);
        ag_end(s);
        ck_assert_str_eq(inside->name, "a thing");
        ag_free(inside);
    }
    ck_assert_int_eq(things, 4);
    ag_end(outer);
    ck_assert_int_eq(things, 1);
    ck_assert_str_eq(later->name, "a thing");
    ag_free(later);
    ag_on_usage_error(NULL);
}
END_TEST

START_TEST(an_error_inside_an_error)
{
    ag_on_usage_error(leave);
    AgScope outer = ag_begin(AG_RECORD);
    Thing *volatile between = NULL;
    if (setjmp(escape) == 0) fail_deep_inside();
    between = thing_new(false);
    AgScope inner = ag_begin(AG_RECORD);
    if (setjmp(escape) == 0) fail_deep_inside();
    ag_end(inner);
    ck_assert_int_eq(things, 4);                              /* only those of the second error are freed */
    ag_end(outer);
    ck_assert_int_eq(things, 1);
    ag_free(between);
    ck_assert_uint_eq(ag_memory().in_use, 0);
    ag_on_usage_error(NULL);
}
END_TEST

START_TEST(a_scope_left_open_after_an_error_is_reported)
{
    ag_on_usage_error(leave);
    AgScope outer = ag_begin(AG_RECORD);
    if (setjmp(escape) == 0) fail_deep_inside();
    ag_begin(AG_RECORD);
    if (setjmp(escape) == 0) ag_end(outer);
    ck_assert_ptr_nonnull(strstr(caught, "scopes begun inside this one and still open"));
    ag_end(outer);
    ck_assert_uint_eq(ag_memory().in_use, 0);
    ck_assert_int_eq(things, 0);
    ag_on_usage_error(NULL);
}
END_TEST

/* ---- in the middle of backward ----------------------------------------------------------------------------------- */

static void stop(Tensor *y)
{
    op_scratch("stop", 1000, sizeof(ag_real));
    usage_error_of(y, "stop", "in the middle of backward");
}

static Tensor *stopping(Tensor *x)
{
    static const Op op = { "stop", .backward = stop, .needs = NEEDS_NONE };
    Tensor *y = ag_tanh(x);
    y->op = &op;
    return y;
}

START_TEST(an_error_in_the_middle_of_backward)
{
    AgScope outer = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(100), 3), true), *h = ag_mul(x, x), *trunk = ag_scale(h, 1);
    Tensor *other = ag_sum(trunk);
    size_t in_use = ag_memory().in_use;
    EXPECT_USAGE_ERROR("stop: in the middle of backward", {
        Tensor *y = stopping(trunk);
        Tensor *z = ag_add(y, ag_mul(trunk, y));                /* trunk has a gradient when backward stops */
        ag_backward(ag_sum(ag_add(z, trunk)));
    });
    ck_assert_uint_le(ag_memory().in_use, in_use);
    ck_assert_ptr_null(tensor_grad(x));
    ag_backward(other);                                         /* no gradient is left from before */
    for (int i = 0; i < 100; i++) ck_assert(tensor_grad_data(x)[i] == 6);
    ag_end(outer);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static int op_number;

/* All cases of one operation, forward and backward. */
static void run_cases(void)
{
    for (int number = 0;; number++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *in[MAX_INPUTS] = { NULL };
        Sample sample = { .number = number, .in = in };
        Tensor *y = op_samples[op_number](&sample);
        if (!y) {
            ag_end(s);
            return;
        }
        Tensor *dy = ag_expand(tensor_ones(AG_SCALAR), tensor_shape(y));
        ag_backward_from(y, dy);
        for (int i = 0; i < MAX_INPUTS; i++) tensor_free(in[i]);
        ag_end(s);
    }
}

START_TEST(each_allocation_of_each_operation_fails_once)
{
    op_number = _i;
    int64_t requests = faults_everywhere(run_cases, false);
    if (faults_work()) ck_assert_int_gt(requests, 8);
}
END_TEST

static FILE *drawing;

static void use_the_rest(void)
{
    AgScope outer = ag_begin(AG_RECORD), inner = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_name(tensor_arange(0, 12, 1), "x"), true);
    x = ag_reshape(x, SHAPE(3, 4));
    Tensor *kept = ag_keep(x), *y = ag_max(ag_softmax(x, 0));
    ag_compare(AG_LT, tensor_ints(SHAPE(3, 1), NULL), tensor_ints(SHAPE(4), NULL));
    ag_and(tensor_bools(SHAPE(3, 1), NULL), tensor_bools(SHAPE(4), NULL));
    ag_argmax(x, 0, false);
    Tensor *end_of_chain = y;
    for (int i = 0; i < 70; i++) end_of_chain = ag_neg(end_of_chain);
    ag_graph_frame(drawing, end_of_chain, 0);
    ag_explain(drawing, y);
    ag_graph_frame(drawing, y, ag_graph_frame(drawing, y, 0) - 1);
    ag_backward_keep(y);
    tensor_grad(ag_retain(x));
    y = ag_end_return(inner, y);
    tensor_free(kept);
    ag_end(outer);
}

START_TEST(each_allocation_of_the_rest_fails_once)
{
    drawing = fopen("/dev/null", "w");
    ck_assert_ptr_nonnull(drawing);
    int64_t requests = faults_everywhere(use_the_rest, _i);
    if (faults_work()) ck_assert_int_gt(requests, 15);
    fclose(drawing);
}
END_TEST

Suite *errors_suite(void)
{
    Suite *suite = suite_create("errors");
    TCase *messages = tcase_create("messages");
    tcase_add_test(messages, shapes);
    tcase_add_test(messages, sizes_beyond_the_machine);
    tcase_add_test(messages, rows_of_nothing);
    tcase_add_test(messages, construction);
    tcase_add_test(messages, reading);
    tcase_add_test(messages, tensors_that_are_null);
    tcase_add_test(messages, elementwise);
    tcase_add_test(messages, products);
    tcase_add_test(messages, dimensions);
    tcase_add_test(messages, rows_by_id);
    tcase_add_test(messages, losses);
    tcase_add_test(messages, changes_of_shape);
    tcase_add_test(messages, attention);
    tcase_add_test(messages, updates);
    tcase_add_test(messages, the_message_names_the_layers);
    tcase_add_test(messages, a_long_message_is_cut);
    tcase_add_test(messages, null_names_the_last_error);
    tcase_add_test(messages, set_errors_are_separate);
    tcase_add_test(messages, messages_are_printable);
    tcase_add_test(messages, names_are_printable);
    suite_add_tcase(suite, messages);
    TCase *objects = tcase_create("objects");
    tcase_add_test(objects, a_long_chain_of_owners);
    tcase_add_test(objects, destructors_that_do_not_return);
    tcase_add_test(objects, large_blocks_that_were_freed);
    tcase_add_test(objects, parts_are_freed_by_their_owner);
    tcase_add_checked_fixture(objects, folder_make, folder_remove);
    tcase_add_test(objects, functions_that_are_left_keep_nothing);
    tcase_add_test(objects, scopes_of_functions_that_are_left_end);
    tcase_add_test(objects, a_scope_that_a_layer_leaves_open_is_reported);
    suite_add_tcase(suite, objects);
    TCase *scopes = tcase_create("scopes");
    tcase_add_test(scopes, an_error_leaves_no_layers_behind);
    tcase_add_test(scopes, graphs_and_scopes_belong_to_their_thread);
    tcase_add_test(scopes, an_operation_that_fails_keeps_no_memory);
    tcase_add_test(scopes, backward_after_an_error_in_backward);
    tcase_add_test(scopes, without_a_scope);
    tcase_add_test(scopes, scopes_end_once_and_in_order);
    tcase_add_test(scopes, too_many_scopes);
    tcase_add_test(scopes, a_result_of_a_long_step_is_named_in_the_next_one);
    tcase_add_test(scopes, use_after_the_end_of_the_scope);
    tcase_add_test(scopes, a_result_of_an_earlier_step_is_named);
    suite_add_tcase(suite, scopes);
    TCase *handlers = tcase_create("handlers");
    tcase_add_test(handlers, the_default_prints_one_line_and_aborts);
    tcase_add_test(handlers, a_handler_must_not_return);
    tcase_add_test(handlers, handlers_are_per_thread_and_returned);
    suite_add_tcase(suite, handlers);
    TCase *leaving = tcase_create("leaving");
    tcase_add_test(leaving, an_error_frees_the_blocks_of_its_scopes);
    tcase_add_test(leaving, a_block_may_be_freed_on_another_thread);
    tcase_add_test(leaving, blocks_made_after_an_error_stay);
    tcase_add_test(leaving, an_error_inside_an_error);
    tcase_add_test(leaving, a_scope_left_open_after_an_error_is_reported);
    tcase_add_test(leaving, an_error_in_the_middle_of_backward);
    suite_add_tcase(suite, leaving);
    TCase *memory = tcase_create("memory");
    tcase_add_loop_test(memory, each_allocation_of_each_operation_fails_once, 0, OP_COUNT);
    tcase_add_loop_test(memory, each_allocation_of_the_rest_fails_once, 0, 2);
    suite_add_tcase(suite, memory);
    return suite;
}
