/* test_conv.c: convolution, pooling and resizing of images against plain loops over each item, on any number of threads, and
 * layers of channels. */
#include <math.h>

#include "expected.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"
#include "suites.h"
#include "usage_error.h"

typedef struct { int b, c, h, w, o, kh, kw, stride, padding; } Sizes;
static const Sizes sizes[] = {
    { 2, 3, 7, 6, 4, 3, 3, 1, 1 },
    { 1, 2, 9, 8, 3, 2, 5, 2, 2 },
    { 18, 1, 5, 5, 2, 3, 3, 1, 0 },             /* more images than groups of images */
    { 3, 60, 40, 40, 5, 3, 3, 1, 1 },           /* several blocks of rows, several threads */
    { 2, 40, 21, 90, 6, 5, 5, 2, 3 },
    { 2, 1200, 2, 2, 1200, 1, 2, 1, 0 },        /* one group, because its weights are large */
    { 1, 2, 3, 3, 2, 5, 5, 1, 3 },              /* a window larger than the image */
};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static int64_t out_size(int n, int size, int stride, int padding)
{
    return (n + 2 * padding - size) / stride + 1;
}

/* Of window (y, v), item (i, j) of channel c in image b: its place in x, or -1 in the padding. */
static int64_t place(const Sizes *s, int64_t b, int64_t c, int64_t y, int64_t v, int64_t i, int64_t j)
{
    int64_t row = y * s->stride + i - s->padding, column = v * s->stride + j - s->padding;
    bool inside = row >= 0 && row < s->h && column >= 0 && column < s->w;
    return inside ? ((b * s->c + c) * s->h + row) * s->w + column : -1;
}

typedef struct { Tensor *y, *dx, *dweight, *dbias; } Result;

/* The definition, in double. dy: the gradient of y. */
static Result plainly(const Sizes *s, const Tensor *x, const Tensor *weight, const Tensor *bias, const Tensor *dy)
{
    int64_t oh = out_size(s->h, s->kh, s->stride, s->padding), ow = out_size(s->w, s->kw, s->stride, s->padding);
    int64_t n_x = tensor_numel(x), n_w = tensor_numel(weight);
    double *dx = ag_scratch((size_t)n_x, sizeof *dx), *dw = ag_scratch((size_t)n_w, sizeof *dw);
    double *db = ag_scratch((size_t)s->o, sizeof *db);
    const ag_real *vx = tensor_data(x), *vw = tensor_data(weight), *vdy = tensor_data(dy);
    Result r = { tensor_zeros(SHAPE(s->b, s->o, oh, ow)), tensor_zeros(tensor_shape(x)), tensor_zeros(tensor_shape(weight)),
                 tensor_zeros(SHAPE(s->o)) };
    ag_real *y = tensor_mutable_data(r.y);
    int64_t items = (int64_t)s->c * s->kh * s->kw;
    for (int64_t at = 0; at < tensor_numel(r.y); at++) {
        int64_t v = at % ow, row = at / ow % oh, o = at / (ow * oh) % s->o, b = at / (ow * oh * s->o);
        double sum = (double)tensor_data(bias)[o], g = (double)vdy[at];
        db[o] += g;
        for (int64_t k = 0; k < items; k++) {
            int64_t p = place(s, b, k / (s->kh * s->kw), row, v, k / s->kw % s->kh, k % s->kw);
            if (p < 0) continue;
            sum += (double)vw[o * items + k] * (double)vx[p];
            dw[o * items + k] += g * (double)vx[p];
            dx[p] += g * (double)vw[o * items + k];
        }
        y[at] = (ag_real)sum;
    }
    for (int64_t i = 0; i < n_x; i++) tensor_mutable_data(r.dx)[i] = (ag_real)dx[i];
    for (int64_t i = 0; i < n_w; i++) tensor_mutable_data(r.dweight)[i] = (ag_real)dw[i];
    for (int64_t i = 0; i < s->o; i++) tensor_mutable_data(r.dbias)[i] = (ag_real)db[i];
    return r;
}

static Result computed(const Sizes *s, Tensor *x, Tensor *weight, Tensor *bias, Tensor *dy)
{
    Tensor *in[] = { x, weight, bias };
    for (int i = 0; i < 3; i++) tensor_zero_grad(in[i]);
    Tensor *y = ag_retain(ag_conv2d(x, weight, bias, s->stride, s->padding));
    ag_backward_from(y, dy);
    return (Result){ y, tensor_grad(x), tensor_grad(weight), tensor_grad(bias) };
}

static void check_same_bits(const Tensor *a, const Tensor *b)
{
    ck_assert_mem_eq(tensor_data(a), tensor_data(b), (size_t)tensor_numel(a) * sizeof(ag_real));
}

START_TEST(convolution_equals_plain_loops_on_any_number_of_threads)
{
    const Sizes *s = &sizes[_i];
    int64_t oh = out_size(s->h, s->kh, s->stride, s->padding), ow = out_size(s->w, s->kw, s->stride, s->padding);
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_normal(SHAPE(s->b, s->c, s->h, s->w), 0, 1), true);
    Tensor *weight = tensor_set_requires_grad(tensor_normal(SHAPE(s->o, s->c, s->kh, s->kw), 0, 0.2), true);
    Tensor *bias = tensor_set_requires_grad(tensor_normal(SHAPE(s->o), 0, 1), true);
    Tensor *dy = tensor_normal(SHAPE(s->b, s->o, oh, ow), 0, 1);
    Result expected = plainly(s, x, weight, bias, dy), first = { NULL, NULL, NULL, NULL };
    for (int threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
        ag_set_threads(threads);
        Result r = computed(s, x, weight, bias, dy);
        check_close("y", r.y, expected.y, 2e-5 * largest(expected.y));
        check_close("dx", r.dx, expected.dx, 2e-5 * largest(expected.dx));
        check_close("dweight", r.dweight, expected.dweight, 2e-5 * largest(expected.dweight));
        check_close("dbias", r.dbias, expected.dbias, 2e-5 * largest(expected.dbias));
        r = (Result){ r.y, ag_scale(r.dx, 1), ag_scale(r.dweight, 1), r.dbias };
        if (threads == 1) first = r;
        check_same_bits(r.y, first.y);
        check_same_bits(r.dx, first.dx);
        check_same_bits(r.dweight, first.dweight);
    }
    ag_set_threads(0);
    ag_end(scope);
}
END_TEST

/* Multiples of 1/16 and 2^-14, which bfloat16 rounds away from numbers above 1. */
START_TEST(operands_are_rounded_to_bfloat16)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *fine[2], *coarse[2], *y[2];
    for (int i = 0; i < 2; i++) {
        coarse[i] = tensor_set_requires_grad(tensor_zeros(SHAPE(2, 3, 6 - 3 * i, 6 - 3 * i)), true);
        fine[i] = tensor_set_requires_grad(tensor_zeros(SHAPE(2, 3, 6 - 3 * i, 6 - 3 * i)), true);
        for (int64_t k = 0; k < tensor_numel(fine[i]); k++) {
            tensor_mutable_data(coarse[i])[k] = 1 + (ag_real)(ag_random_u32() % 16) / 16;
            tensor_mutable_data(fine[i])[k] = tensor_data(coarse[i])[k] + (ag_real)0x1p-14;
        }
    }
    ag_precision(AG_BF16);
    y[0] = ag_conv2d(fine[0], fine[1], NULL, 1, 1);
    ag_precision(AG_FLOAT32);
    y[1] = ag_conv2d(coarse[0], coarse[1], NULL, 1, 1);
    check_close("y", y[0], y[1], 1e-6);
    for (int i = 0; i < 2; i++) ag_backward_from(y[i], tensor_ones(SHAPE(2, 2, 6, 6)));
    for (int i = 0; i < 2; i++) check_close("gradient", tensor_grad(fine[i]), tensor_grad(coarse[i]), 1e-5);
    ag_end(s);
}
END_TEST

START_TEST(the_largest_item_is_the_first_and_NaN_is_the_largest)
{
    AgScope s = ag_begin(AG_RECORD);
    static const double values[] = { 3, 3, -INFINITY, -INFINITY, 9, 1,
                                     3, 2, -INFINITY, -INFINITY, NAN, NAN };
    Tensor *x = tensor_set_requires_grad(tensor_zeros(SHAPE(1, 1, 2, 6)), true);
    for (int i = 0; i < 12; i++) tensor_mutable_data(x)[i] = (ag_real)values[i];
    Tensor *y = ag_retain(ag_max_pool2d(x, 2, 2, 0));
    ag_backward_from(y, tensor_from(SHAPE(1, 1, 1, 3), (ag_real[]){ 5, 6, 7 }));
    ck_assert(tensor_data(y)[0] == 3 && isinf(tensor_data(y)[1]) && isnan(tensor_data(y)[2]));
    static const ag_real expected[] = { 5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0 };
    ck_assert_mem_eq(tensor_grad_data(x), expected, sizeof expected);
    ag_end(s);
}
END_TEST

START_TEST(zeros_on_one_side)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_from(SHAPE(2, 1), (ag_real[]){ 1, 2 });
    check_close("before", ag_pad(x, 1, 2, 0), tensor_from(SHAPE(2, 3), (ag_real[]){ 0, 0, 1, 0, 0, 2 }), 0);
    check_close("after", ag_pad(x, -1, 0, 1), tensor_from(SHAPE(2, 2), (ag_real[]){ 1, 0, 2, 0 }), 0);
    check_close("none", ag_pad(x, 0, 0, 0), x, 0);
    ag_end(s);
}
END_TEST

START_TEST(a_layer_convolves)
{
    Sequential *net = nn_sequential_new();
    nn_sequential_add(net, nn_conv2d_new(2, 3, 3));
    nn_sequential_activation(net, AG_SILU);
    Conv2d *last = nn_conv2d_new_with(3, 4, 2, 2, 1, false);
    nn_sequential_add(net, last);
    ck_assert_ptr_null(last->bias);
    ck_assert_int_eq(nn_count(net), 3 * 2 * 9 + 3 + 4 * 3 * 4);
    ck_assert(largest(last->weight) <= 1 / sqrt(12.0) && largest(last->weight) > 0.7 / sqrt(12.0));
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(2, 2, 5, 7), 0, 1);
    Conv2d *first = nn_item(Conv2d, net, 0);
    Tensor *h = ag_silu(ag_conv2d(x, first->weight, first->bias, 1, 1));
    check_close("y", nn_sequential(net, x), ag_conv2d(h, last->weight, NULL, 2, 1), 0);
    Sequential *copy = nn_clone(net);
    check_close("the clone", nn_sequential(copy, x), nn_sequential(net, x), 0);
    EXPECT_USAGE_ERROR("in nn_conv2d called at tests/test_conv.c", nn_conv2d(last, x));
    ag_end(s);
    ag_free(copy);
    ag_free(net);
}
END_TEST

/* ---- norms over channels ------------------------------------------------------------------------------------------ */

enum { NORM_ITEMS = 512 };

/* The largest distance of y (1,1,..) from (x - mean) / sqrt(var + eps). */
static double off_by(const Tensor *x, const Tensor *y, double mean, double var, double eps)
{
    double worst = 0;
    for (int64_t i = 0; i < tensor_numel(x); i++)
        worst = fmax(worst, fabs((double)tensor_data(y)[i] - ((double)tensor_data(x)[i] - mean) / sqrt(var + eps)));
    return worst;
}

/* In training and in evaluation, to a part of the deviation that does not depend on the mean. */
START_TEST(norms_of_channels_with_a_large_mean)
{
    static const double means[] = { 0, 10, 1e3, 1e4, 1e5, -1e6 };
    for (int k = 0; k < 6; k++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = tensor_uniform(SHAPE(1, 1, NORM_ITEMS), means[k] - 1, means[k] + 1);
        double mean = 0, var = 0;
        for (int i = 0; i < NORM_ITEMS; i++) mean += (double)tensor_data(x)[i] / NORM_ITEMS;
        for (int i = 0; i < NORM_ITEMS; i++) var += pow((double)tensor_data(x)[i] - mean, 2) / NORM_ITEMS;
        BatchNorm *batch = nn_batch_norm_new(1);
        GroupNorm *group = nn_group_norm_new(1, 1);
        double in_training = off_by(x, nn_batch_norm(batch, x), mean, var, batch->eps);
        double in_group = off_by(x, nn_group_norm(group, x), mean, var, group->eps);
        nn_eval(batch);
        tensor_mutable_data(batch->running_mean)[0] = (ag_real)means[k];
        tensor_mutable_data(batch->running_var)[0] = (ag_real)0.25;
        double in_evaluation = off_by(x, nn_batch_norm(batch, x), means[k], 0.25, batch->eps);
        ck_assert_msg(in_training < 1e-6 && in_group < 1e-6 && in_evaluation < 1e-6,
                      "mean %g: batch norm is %g off in training and %g in evaluation, group norm %g", means[k], in_training,
                      in_evaluation, in_group);
        ag_free(batch);
        ag_free(group);
        ag_end(s);
    }
}
END_TEST

/* Batch norm in evaluation, or the operations that it is recorded as. Keeps y, and the gradients of those that require one. */
static void evaluate_batch_norm(BatchNorm *l, Tensor *x, bool composed, Tensor *kept[4])
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *h = ag_scale(x, 1.5), *y;
    AgShape vector = { tensor_ndim(x) - 1, { tensor_dim(x, 1), 1, 1, 1, 1, 1, 1 } };
    if (composed) {
        Tensor *factor = ag_div(l->gamma, ag_sqrt(ag_add_scalar(l->running_var, l->eps)));
        Tensor *deviation = ag_sub(h, ag_reshape(l->running_mean, vector));
        y = ag_add(ag_mul(deviation, ag_reshape(factor, vector)), ag_reshape(l->beta, vector));
    } else y = nn_batch_norm(l, h);
    kept[0] = ag_keep(y);
    if (tensor_requires_grad(y)) ag_backward(ag_sum(ag_sigmoid(y)));
    Tensor *inputs[] = { x, l->gamma, l->beta };
    for (int i = 0; i < 3; i++) {
        kept[i + 1] = tensor_grad_data(inputs[i]) ? ag_keep(tensor_grad(inputs[i])) : NULL;
        tensor_zero_grad(inputs[i]);
    }
    ag_end(s);
}

/* _i: which of x, gamma and beta require a gradient. One pass has the bits of three, with each shape of rows. */
START_TEST(batch_norm_in_one_pass)
{
    const AgShape shapes[] = { SHAPE(3, 33), SHAPE(4, 6, 5, 7), SHAPE(2, 3, 4), SHAPE(5, 1), SHAPE(0, 2, 3),
                               SHAPE(2, 2, 40, 40) };
    for (int k = 0; k < 6; k++) {
        AgScope s = ag_begin(AG_RECORD);
        int64_t channels = shapes[k].dim[1];
        BatchNorm *l = nn_batch_norm_new(channels);
        Tensor *const vectors[] = { l->gamma, l->beta, l->running_mean, l->running_var };
        for (int v = 0; v < 4; v++) tensor_copy(vectors[v], tensor_uniform(SHAPE(channels), 0.5, 3));
        Tensor *x = tensor_set_requires_grad(tensor_normal(shapes[k], 2, 1), _i & 1);
        tensor_set_requires_grad(l->gamma, _i & 2);
        tensor_set_requires_grad(l->beta, _i & 4);
        nn_eval(l);
        Tensor *one[4], *three[4];
        evaluate_batch_norm(l, x, false, one);
        evaluate_batch_norm(l, x, true, three);
        for (int i = 0; i < 4; i++) {
            ck_assert_int_eq(one[i] != NULL, i == 0 || (_i >> (i - 1) & 1));
            ck_assert_int_eq(one[i] != NULL, three[i] != NULL);
            if (!one[i]) continue;
            ck_assert_mem_eq(tensor_data(one[i]), tensor_data(three[i]), (size_t)tensor_numel(one[i]) * sizeof(ag_real));
            ag_free(one[i]);
            ag_free(three[i]);
        }
        ag_free(l);
        ag_end(s);
    }
}
END_TEST

/* ---- resizing ----------------------------------------------------------------------------------------------------- */

START_TEST(the_nearest_item_is_that_of_exact_arithmetic)
{
    for (int64_t from = 1; from <= 120; from++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *x = ag_reshape(tensor_arange(0, (double)from, 1), SHAPE(1, 1, 1, from));
        for (int64_t to = 1; to <= 120; to++) {
            Tensor *y = ag_interpolate2d(x, 1, to, AG_NEAREST);
            for (int64_t i = 0; i < to; i++)
                ck_assert_msg(tensor_data(y)[i] == (ag_real)(i * from / to), "from %d to %d items: item %d is %g", (int)from,
                              (int)to, (int)i, (double)tensor_data(y)[i]);
        }
        ag_end(s);
    }
}
END_TEST

Suite *conv_suite(void)
{
    Suite *suite = suite_create("conv");
    TCase *tests = tcase_create("images");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, convolution_equals_plain_loops_on_any_number_of_threads, 0, N_SIZES);
    tcase_add_test(tests, operands_are_rounded_to_bfloat16);
    tcase_add_test(tests, the_largest_item_is_the_first_and_NaN_is_the_largest);
    tcase_add_test(tests, zeros_on_one_side);
    tcase_add_test(tests, a_layer_convolves);
    tcase_add_test(tests, norms_of_channels_with_a_large_mean);
    tcase_add_loop_test(tests, batch_norm_in_one_pass, 0, 8);
    tcase_add_test(tests, the_nearest_item_is_that_of_exact_arithmetic);
    suite_add_tcase(suite, tests);
    return suite;
}
