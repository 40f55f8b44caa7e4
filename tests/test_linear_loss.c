/* test_linear_loss.c: ag_linear_cross_entropy has the bits of ag_linear and ag_cross_entropy, in any precision and on any
 * number of threads, and does not store many logits. With many logits, gradients may be rounded in another order: that of the
 * bias, those of a scaled loss, and those that are added to others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/graph.h"
#include "linear_loss_parts.h"
#include "suites.h"
#include "tensor_struct.h"
#include "usage_error.h"

typedef struct { int64_t rows, in, classes; bool bias; AgReduce reduce; int ignore; double smoothing; } LossCase;

/* A leaf with numbers that depend on the seed alone. */
static Tensor *leaf(uint64_t seed, AgShape shape, double deviation)
{
    ag_seed(seed);
    return tensor_set_requires_grad(tensor_normal(shape, 0, deviation), true);
}

typedef struct { Tensor *in[3], *target; } Inputs;      /* x, weight, bias */

static Inputs inputs_of(const LossCase *c)
{
    Inputs i = { .in = { leaf(1, SHAPE(c->rows, c->in), 1), leaf(2, SHAPE(c->classes, c->in), 1) } };
    if (c->bias) i.in[2] = leaf(3, SHAPE(c->classes), 2);
    ag_seed(4);
    i.target = tensor_randint(SHAPE(c->rows), 0, (int32_t)c->classes);
    return i;
}

static Tensor *two_operations(const LossCase *c, const Inputs *i)
{
    return ag_cross_entropy(ag_linear(i->in[0], i->in[1], i->in[2]), i->target, c->reduce, c->ignore, c->smoothing);
}

static Tensor *one_operation(const LossCase *c, const Inputs *i)
{
    return ag_linear_cross_entropy(i->in[0], i->in[1], i->in[2], i->target, c->reduce, c->ignore, c->smoothing);
}

static void same_bits(const LossCase *c, const char *what, int i, const ag_real *a, const ag_real *b, int64_t n)
{
    ck_assert_msg(memcmp(a, b, (size_t)n * sizeof *a) == 0,
                  "%d rows, %d classes, %s, ignore %d, smoothing %g, %d threads: other bits in %s %d", (int)c->rows,
                  (int)c->classes, c->bias ? "bias" : "no bias", c->ignore, c->smoothing, ag_threads(), what, i);
}

/* Within the rounding of sums: relative to the largest item. */
static void close_items(const LossCase *c, const char *what, int i, const ag_real *a, const ag_real *b, int64_t n)
{
    double largest = 0, difference = 0;
    double allowed = ag_precision_now() == AG_BF16 ? 1e-2 : sizeof(ag_real) == sizeof(float) ? 1e-5 : 1e-12;
    for (int64_t j = 0; j < n; j++) {
        largest = fmax(largest, fabs((double)a[j]));
        difference = fmax(difference, fabs((double)a[j] - (double)b[j]));
    }
    ck_assert_msg(difference <= allowed * largest, "%d rows, %d classes, %s, %d threads: %s %d differs by %g of %g",
                  (int)c->rows, (int)c->classes, c->bias ? "bias" : "no bias", ag_threads(), what, i, difference, largest);
}

static bool has_many_logits(const LossCase *c)
{
    return c->rows * c->classes > most_logits;
}

/* The same bits if `exact`; those of the bias only if there are few logits. */
static void same_gradients(const LossCase *c, const char *what, const Inputs *a, const Inputs *b, bool exact)
{
    for (int i = 0; i < 3; i++) {
        if (!a->in[i] || (!tensor_grad_data(a->in[i]) && !tensor_grad_data(b->in[i]))) continue;
        ck_assert(tensor_grad_data(a->in[i]) && tensor_grad_data(b->in[i]));
        bool bits = !has_many_logits(c) || (exact && i < 2);
        (bits ? same_bits : close_items)(c, what, i, tensor_grad_data(a->in[i]), tensor_grad_data(b->in[i]),
                                         tensor_numel(a->in[i]));
    }
}

/* The loss, its gradients, and gradients added to these by another pass. */
static void compare(const LossCase *c, AgPrecision precision, int threads)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_precision(precision);
    ag_set_threads(1);
    Inputs a = inputs_of(c), b = inputs_of(c);
    Tensor *expected = two_operations(c, &a);
    ag_backward(expected);
    ag_set_threads(threads);
    Tensor *loss = one_operation(c, &b);
    ag_backward(loss);
    same_bits(c, "the loss", 0, tensor_data(expected), tensor_data(loss), 1);
    same_gradients(c, "gradient", &a, &b, true);
    ag_backward(ag_scale(two_operations(c, &a), 0.3));
    ag_backward(ag_scale(one_operation(c, &b), 0.3));
    same_gradients(c, "added gradient", &a, &b, false);
    ag_end(s);
    ag_set_threads(0);
}

/* The double build has plain loops on one thread. */
enum { IS_FLOAT = sizeof(ag_real) == sizeof(float) };
static const int most_threads = IS_FLOAT ? 3 : 1;
static const int64_t row_counts[] = { 0, 1, 2, 511, 512, 513, 1500 };

START_TEST(few_logits)
{
    for (int i = 0; i < 7; i++)
        for (int kind = 0; kind < 4; kind++) {
            LossCase c = { row_counts[i], i != 3 ? 7 : IS_FLOAT ? 530 : 40, kind == 1 ? 540 : 33, kind != 2,
                           kind == 3 ? AG_SUM : AG_MEAN, kind == 2 ? -100 : 3, kind == 1 ? 0.1 : 0 };
            for (int threads = 1; threads <= most_threads; threads++)
                compare(&c, _i ? AG_BF16 : AG_FLOAT32, threads);
        }
}
END_TEST

static const double scales[] = { 1, 0.3, 0.5, 1 };

/* More than 2^20 logits: forward computes the gradients, in several parts of rows; backward multiplies them by the scale. */
START_TEST(gradients_at_once)
{
    static const LossCase cases[] = {
        { 2100, 3, 1025, false, AG_MEAN, 0, 0 },        { 1500, IS_FLOAT ? 40 : 4, 1413, false, AG_SUM, 3, 0.1 },
        { 1024, 5, 2000, false, AG_MEAN, -100, 0 },     { 520, 2, 3750, false, AG_MEAN, -100, 0.2 },
        { 9000, 2, 138, true, AG_MEAN, -100, 0 },
    };
    const LossCase *c = &cases[_i];
    AgScope s = ag_begin(AG_RECORD);
    Inputs a = inputs_of(c), b = inputs_of(c);
    for (int k = 0; k < (IS_FLOAT ? 8 : 4); k++) {
        ag_precision(k >= 4 ? AG_BF16 : AG_FLOAT32);
        ag_set_threads(1);
        ag_backward(ag_scale(two_operations(c, &a), scales[k % 4]));
        ag_set_threads(1 + k % 3);
        Tensor *loss = ag_scale(one_operation(c, &b), scales[k % 4]);
        ag_memory_reset_peak();
        size_t before = ag_memory().in_use;
        if (_i == 2) ag_backward_keep(loss);
        else ag_backward(loss);
        if (_i == 0) ck_assert_uint_lt(ag_memory().peak - before, 1 << 20);     /* no logits */
        same_gradients(c, "gradient", &a, &b, scales[k % 4] != 0.3);
        for (int i = 0; i < 3; i++) {
            if (!a.in[i]) continue;
            tensor_zero_grad(a.in[i]);
            tensor_zero_grad(b.in[i]);
        }
    }
    ag_end(s);
    ag_set_threads(0);
}
END_TEST

/* There is a gradient to add to: of x; of the weight, from a loss whose forward pass was before, too. */
START_TEST(gradients_at_once_are_added)
{
    static const LossCase c = { 1030, 3, 1025, false, AG_MEAN, 3, 0.1 };
    AgScope s = ag_begin(AG_RECORD);
    Inputs a = inputs_of(&c), b = inputs_of(&c);
    if (_i == 0) {
        ag_backward(ag_sum(a.in[0]));
        ag_backward(ag_sum(b.in[0]));
        ag_backward(two_operations(&c, &a));
        ag_backward(one_operation(&c, &b));
    } else {
        tensor_set_requires_grad(a.in[0], false);
        tensor_set_requires_grad(b.in[0], false);
        ag_backward(ag_add(two_operations(&c, &a), two_operations(&c, &a)));
        ag_backward(ag_add(one_operation(&c, &b), one_operation(&c, &b)));
    }
    same_gradients(&c, "gradient", &a, &b, false);
    ag_end(s);
}
END_TEST

/* After the forward pass, x or the weight is set not to require a gradient. */
START_TEST(a_gradient_that_is_no_longer_required)
{
    static const LossCase c = { 600, 3, 1875, true, AG_MEAN, -100, 0 };
    AgScope s = ag_begin(AG_RECORD);
    Inputs inputs[] = { inputs_of(&c), inputs_of(&c) };
    const int later = _i == 0 ? 0 : 1;
    for (int k = 0; k < 2; k++) {
        Tensor *loss = k ? one_operation(&c, &inputs[k]) : two_operations(&c, &inputs[k]);
        tensor_set_requires_grad(inputs[k].in[later], false);
        ag_backward(loss);
    }
    ck_assert_ptr_null(tensor_grad_data(inputs[1].in[later]));
    same_gradients(&c, "gradient", &inputs[0], &inputs[1], true);
    ag_end(s);
}
END_TEST

START_TEST(a_gradient_must_be_required_in_the_forward_pass)
{
    static const LossCase c = { 600, 3, 1875, true, AG_MEAN, -100, 0 };
    AgScope s = ag_begin(AG_RECORD);
    Inputs i = inputs_of(&c);
    tensor_set_requires_grad(i.in[_i], false);
    Tensor *loss = one_operation(&c, &i);
    tensor_set_requires_grad(i.in[_i], true);
    char expected[96];
    snprintf(expected, sizeof expected, "linear_cross_entropy: input %d requires a gradient, but did not when the loss", _i);
    EXPECT_USAGE_ERROR(expected, ag_backward(loss));
    ag_end(s);
}
END_TEST

/* x and the weight are results of operations, or the weight is also an embedding. */
START_TEST(gradients_at_once_of_results)
{
    static const LossCase c = { 600, 4, 1875, false, AG_MEAN, -100, 0 };
    AgScope s = ag_begin(AG_RECORD);
    Inputs inputs[] = { inputs_of(&c), inputs_of(&c) };
    for (int k = 0; k < 2; k++) {
        Inputs i = inputs[k];
        if (_i == 0) i.in[1] = ag_tanh(i.in[1]);
        i.in[0] = _i == 0 ? ag_tanh(i.in[0]) : ag_add(i.in[0], ag_embedding(i.in[1], i.target));
        if (_i == 2) ag_retain(i.in[0]);
        ag_backward(k ? one_operation(&c, &i) : two_operations(&c, &i));
    }
    for (int j = 0; j < 2; j++)
        same_bits(&c, "gradient", j, tensor_grad_data(inputs[0].in[j]), tensor_grad_data(inputs[1].in[j]),
                  tensor_numel(inputs[0].in[j]));
    ag_end(s);
}
END_TEST

/* In several parts of rows, and in one of them. */
START_TEST(many_logits)
{
    static const LossCase cases[] = {
        { 1500, 5, 1413, true, AG_MEAN, 3, 0.1 },       { 513, 3, 4125, false, AG_MEAN, -100, 0 },
        { 4125, 2, 530, true, AG_SUM, -100, 0.2 },      { 5, 2, 437501, true, AG_MEAN, -100, 0 },
        { 1, 1, 2097200, true, AG_MEAN, -100, 0 },      { 2100, 3, 1025, true, AG_MEAN, 0, 0 },
    };
    compare(&cases[_i], AG_FLOAT32, 1 + _i % 3);
    if (IS_FLOAT) compare(&cases[_i], AG_BF16, 1 + (_i + 1) % 3);
}
END_TEST

/* The rule runs twice: the first time must not overwrite what the second one reads. */
START_TEST(the_rule_can_run_again)
{
    static const LossCase cases[] = { { 20, 6, 11, true, AG_MEAN, 3, 0.1 }, { 1030, 3, 1025, false, AG_MEAN, 3, 0.1 } };
    const LossCase c = cases[_i / 3];
    AgScope s = ag_begin(AG_RECORD);
    Inputs a = inputs_of(&c), b = inputs_of(&c);
    Tensor *losses[] = { two_operations(&c, &a), one_operation(&c, &b) };
    for (int i = 0; i < 2; i++) {
        Tensor *last = losses[i];
        if (_i % 3 == 0) ag_backward_keep(losses[i]);
        if (_i % 3 == 1) {
            Tensor *first = ag_scale(losses[i], 2);
            last = ag_scale(losses[i], 3);
            ag_backward(first);
        }
        if (_i % 3 == 2) {
            FILE *out = tmpfile();
            ag_explain(out, losses[i]);
            fclose(out);
        }
        ag_backward(last);
    }
    same_gradients(&c, "gradient", &a, &b, false);
    ag_end(s);
}
END_TEST

/* x is also the weight, without a bias too, or the bias. */
START_TEST(one_tensor_as_two_inputs)
{
    const bool is_weight = _i < 3;
    const int64_t n = _i == 0 || _i == 3 ? 9 : 1450;
    LossCase c = { is_weight ? n : 1, is_weight ? 3 : n, n, _i != 2, AG_MEAN, -100, 0 };
    AgScope s = ag_begin(AG_RECORD);
    Inputs a = inputs_of(&c), b = inputs_of(&c);
    for (Inputs *i = &a; i; i = i == &a ? &b : NULL) {
        if (is_weight) i->in[1] = i->in[0];
        else {
            i->in[0] = i->in[2];
            i->target = tensor_ints(AG_SCALAR, NULL);
        }
    }
    ag_backward(two_operations(&c, &a));
    ag_backward(one_operation(&c, &b));
    same_gradients(&c, "gradient", &a, &b, false);
    ag_end(s);
}
END_TEST

/* Gradients of x alone, of the weight alone, of the bias alone. */
START_TEST(one_gradient)
{
    LossCase c = { _i < 3 ? 12 : 1100, 3, _i < 3 ? 20 : 1913, true, AG_MEAN, -100, 0 };
    AgScope s = ag_begin(AG_RECORD);
    Inputs a = inputs_of(&c), b = inputs_of(&c);
    for (int i = 0; i < 3; i++)
        if (i != _i % 3) {
            tensor_set_requires_grad(a.in[i], false);
            tensor_set_requires_grad(b.in[i], false);
        }
    ag_backward(two_operations(&c, &a));
    Tensor *loss = one_operation(&c, &b);
    for (int i = 0; i < 3; i++)
        if (i != _i % 3) ck_assert_ptr_null(loss->saved_gradient[i]);
    ag_backward(loss);
    for (int i = 0; i < 3; i++)
        if (i != _i % 3) ck_assert_ptr_null(tensor_grad_data(b.in[i]));
    same_gradients(&c, "gradient", &a, &b, true);
    ag_end(s);
}
END_TEST

/* Memory that a loss and its gradients need at most, in logits. */
static double peak_share(const LossCase *c, AgMode mode)
{
    AgScope outer = ag_begin(AG_NO_GRAD);
    Inputs i = inputs_of(c);
    AgScope s = ag_begin(mode);
    ag_memory_trim();                                   /* a released buffer may be larger than needed */
    size_t before = ag_memory().in_use;
    ag_memory_reset_peak();
    Tensor *loss = one_operation(c, &i);
    if (mode == AG_RECORD) ag_backward(loss);
    size_t peak = ag_memory().peak;
    ag_end(s);
    ag_end(outer);
    return (double)(peak - before) / ((double)c->rows * (double)c->classes * sizeof(ag_real));
}

START_TEST(memory)
{
    static const LossCase small = { 500, 2, 3750, true, AG_MEAN, -100, 0 }, wide = { 1000, 2, 5000, true, AG_MEAN, -100, 0 },
                          high = { 8000, 2, 1024, true, AG_MEAN, -100, 0 },
                          few_rows = { 300, 2, 4000, false, AG_MEAN, -100, 0 };
    ck_assert_double_lt(peak_share(&small, AG_RECORD), 1.2);
    ck_assert_double_lt(peak_share(&small, AG_NO_GRAD), 0.7);
    ck_assert_double_lt(peak_share(&wide, AG_RECORD), 0.6);            /* 512 rows */
    ck_assert_double_lt(peak_share(&wide, AG_NO_GRAD), 0.3);
    ck_assert_double_lt(peak_share(&high, AG_RECORD), 0.6);
    ck_assert_double_lt(peak_share(&few_rows, AG_RECORD), 1.2);
}
END_TEST

/* The sum of the row is lost in the padding's number. */
START_TEST(a_masked_padding_keeps_the_other_terms)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    ag_real q = (ag_real)-1.3862943611198906, row[] = { -1e9f, q, q, q, q };
    Tensor *loss = ag_label_smoothing(tensor_from(SHAPE(1, 5), row), tensor_ints(SHAPE(1), (int32_t[]){ 1 }), 0, 0.1);
    double peak = 0.9, rest = 0.1 / 3;
    ck_assert_double_eq_tol((double)tensor_item(loss), peak * log(peak) + 3 * rest * log(rest) - (double)q, 1e-6);
    ag_end(s);
}
END_TEST

/* The shapes of these tests are large enough for several parts with these limits. */
static void keep_few_logits(void)
{
    most_logits = 1 << 20;
}

Suite *linear_loss_suite(void)
{
    Suite *suite = suite_create("linear_loss");
    TCase *tests = tcase_create("linear_loss");
    tcase_add_checked_fixture(tests, keep_few_logits, NULL);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, few_logits, 0, 2);
    tcase_add_loop_test(tests, many_logits, 0, 6);
    tcase_add_loop_test(tests, gradients_at_once, 0, 5);
    tcase_add_loop_test(tests, gradients_at_once_are_added, 0, 2);
    tcase_add_loop_test(tests, a_gradient_that_is_no_longer_required, 0, 2);
    tcase_add_loop_test(tests, a_gradient_must_be_required_in_the_forward_pass, 0, 3);
    tcase_add_loop_test(tests, gradients_at_once_of_results, 0, 3);
    tcase_add_loop_test(tests, the_rule_can_run_again, 0, 6);
    tcase_add_loop_test(tests, one_tensor_as_two_inputs, 0, 5);
    tcase_add_loop_test(tests, one_gradient, 0, 6);
    tcase_add_test(tests, memory);
    tcase_add_test(tests, a_masked_padding_keeps_the_other_terms);
    suite_add_tcase(suite, tests);
    return suite;
}
