/* test_nan.c: ag_find_nan finds the first NaN or infinity, forward and backward, in every operation, and reports the
 * operation, its shapes and the line that called it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "suites.h"
#include "op_samples.h"
#include "usage_error.h"

static void fill_nan(Tensor *t)
{
    for (int64_t i = 0; i < t->numel; i++) reals(t)[i] = (ag_real)NAN;
}

/* Whether the message names this operation and says "found in <what>". */
static bool reported(const char *name, const char *what)
{
    char start[128];
    snprintf(start, sizeof start, "%s: first NaN found in %s, item ", name, what);
    return strncmp(usage_message, start, strlen(start)) == 0 && strstr(usage_message, "; shape (") &&
           strstr(usage_message, " of inputs (") && strstr(usage_message, " (at tests/op_samples");
}

/* The inputs of case `number`, made by a first run in an outer scope; false if there is no such case. */
static bool inputs_of(const Op *op, int number, Tensor *in[MAX_INPUTS])
{
    memset(in, 0, MAX_INPUTS * sizeof *in);
    Sample sample = { .number = number, .in = in };
    return op_samples[op - op_table](&sample) != NULL;
}

static void free_inputs(Tensor *in[MAX_INPUTS])
{
    for (int i = 0; i < MAX_INPUTS; i++) tensor_free(in[i]);
}

static void run(const Op *op, int number, Tensor *in[MAX_INPUTS], AgMode mode, bool backward)
{
    AgScope s = ag_begin(mode);
    Sample sample = { .number = number, .in = in };
    ag_find_nan(!backward);
    Tensor *y = op_samples[op - op_table](&sample);
    ag_find_nan(true);
    if (backward) {
        Tensor *dy = tensor_zeros(tensor_shape(y));
        fill_nan(dy);
        ag_backward_from(y, dy);
    }
    ag_end(s);
}

/* NaN in any input gives NaN in the result of at least one case, and the report names the operation. */
START_TEST(in_a_result_of_every_operation)
{
    const Op *op = &op_table[_i];
    ag_seed(1);
    AgScope outer = ag_begin(AG_NO_GRAD);
    bool used[MAX_INPUTS] = { false }, found[MAX_INPUTS] = { false };
    for (int number = 0;; number++) {
        for (int i = 0; i < MAX_INPUTS; i++) {
            Tensor *in[MAX_INPUTS];
            if (!inputs_of(op, number, in)) goto done;
            if (in[i] && in[i]->numel > 0) {
                used[i] = true;
                fill_nan(in[i]);
                for (int mode = AG_RECORD; mode <= AG_NO_GRAD; mode++) {
                    CATCH_USAGE_ERROR(run(op, number, in, (AgMode)mode, false));
                    found[i] = found[i] || reported(op->name, "its result");
                }
            }
            ag_find_nan(false);
            free_inputs(in);
        }
    }
done:
    for (int i = 0; i < MAX_INPUTS; i++) ck_assert_msg(found[i] == used[i], "%s: NaN in input %d", op->name, i);
    ck_assert(used[0]);
    ag_end(outer);
}
END_TEST

START_TEST(in_a_gradient_of_every_operation)
{
    const Op *op = &op_table[_i];
    ag_seed(1);
    AgScope outer = ag_begin(AG_NO_GRAD);
    bool found = false;
    for (int number = 0; !found; number++) {
        Tensor *in[MAX_INPUTS];
        ck_assert_msg(inputs_of(op, number, in), "%s: no case passes NaN back", op->name);
        CATCH_USAGE_ERROR(run(op, number, in, AG_RECORD, true));
        found = reported(op->name, "the gradient that it computed");
        ag_find_nan(false);
        free_inputs(in);
    }
    ag_end(outer);
}
END_TEST

/* linear's rule gives the memory of its input to the gradient, but not while the search may report the input. */
START_TEST(backward_can_run_after_the_report)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(2, 4), 3), true);
    Tensor *w = tensor_set_requires_grad(tensor_ones(SHAPE(4, 4)), true), *y = ag_linear(ag_neg(x), w, NULL);
    Tensor *bad = tensor_full(SHAPE(2, 4), (ag_real)INFINITY), *good = tensor_ones(SHAPE(2, 4));
    ag_find_nan(true);
    EXPECT_USAGE_ERROR("linear: first infinity found in the gradient that it computed", ag_backward_from(y, bad));
    ag_find_nan(false);
    tensor_zero_grad(x);
    tensor_zero_grad(w);
    ag_backward_from(y, good);
    ck_assert(tensor_grad_data(x)[0] == -4 && tensor_grad_data(w)[0] == -6);
    ag_end(s);
}
END_TEST

/* ---- by name and line -------------------------------------------------------------------------------------------- */

static Tensor *leaf(double a, double b)
{
    Tensor *t = tensor_set_requires_grad(tensor_zeros(SHAPE(2)), true);
    tensor_mutable_data(t)[0] = (ag_real)a;
    tensor_mutable_data(t)[1] = (ag_real)b;
    return t;
}

START_TEST(forward)
{
    ag_find_nan(true);
    REPORTS("log: first infinity found in its result, item 1; shape (2,) of inputs (2,)", ag_log(leaf(1, 0)));
    REPORTS("log: first NaN found in its result, item 0; shape (2,) of inputs (2,)", ag_log(leaf(-1, 0)));
    REPORTS("div: first infinity found in its result, item 2; shape (2, 2) of inputs (2, 2), (2, 1)",
            ag_div(tensor_ones(SHAPE(2, 2)), ag_reshape(leaf(1, 0), SHAPE(2, 1))));
    REPORTS("exp: first infinity found in its result, item 1; shape (2,) of inputs (2,)", ag_exp(leaf(0, 1e4)));
    REPORTS("sqrt: first NaN found in its result, item 0; shape (2,) of inputs (2,)",
            ag_sqrt(leaf(-4, 4)));
    REPORTS("mean_dims: first NaN found in its result, item 0; shape () of inputs (0, 3)",
            ag_mean(tensor_zeros(SHAPE(0, 3))));
    ag_find_nan(false);
    CATCH_USAGE_ERROR(ag_log(leaf(-1, 0)));
    ck_assert_str_eq(usage_message, "");
}
END_TEST

/* The result is finite, but the gradient is not. */
START_TEST(backward)
{
    double tiny = sizeof(ag_real) == 4 ? 1e-40 : 1e-310;
    ag_find_nan(true);
    REPORTS("sqrt: first infinity found in the gradient that it computed, item 1; shape (2,) of inputs (2,)",
            ag_backward(ag_sum(ag_sqrt(leaf(4, 0)))));
    REPORTS("log: first infinity found in the gradient that it computed, item 0; shape (2,) of inputs (2,)",
            ag_backward(ag_sum(ag_log(leaf(tiny, 1)))));
    REPORTS("div: first infinity found in the gradient that it computed, item 1; shape (2,) of inputs (2,), (2,)",
            ag_backward(ag_sum(ag_div(leaf(1, tiny), leaf(1, tiny)))));
    REPORTS("pow_scalar: first infinity found in the gradient that it computed, item 0; shape (2,) of inputs (2,)",
            ag_backward(ag_sum(ag_pow_scalar(leaf(0, 1), 0.5))));
    ag_find_nan(false);
}
END_TEST

static Tensor *layer_at(AgSite at, Tensor *x)
{
    AG_LAYER(at);
    return ag_exp(x);
}
#define layer(...) layer_at(AG_HERE, __VA_ARGS__)

START_TEST(the_layer_is_named_too)
{
    ag_find_nan(true);
    EXPECT_USAGE_ERROR(", in layer called at tests/test_nan.c:", layer(leaf(0, 1e4)));
    ag_find_nan(false);
}
END_TEST

/* The input already has NaN or infinity: the operation did not make it. */
START_TEST(an_input_with_nan_or_infinity_is_named)
{
    ag_find_nan(true);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_ones(SHAPE(2, 3)), *w = tensor_set_requires_grad(tensor_ones(SHAPE(4, 3)), true);
    tensor_mutable_data(w)[7] = (ag_real)INFINITY;
    EXPECT_USAGE_ERROR("shape (2, 4) of inputs (2, 3), (4, 3); input 1 already has infinity, at item 7 (at",
                       ag_linear(x, w, NULL));
    tensor_mutable_data(w)[7] = 1;
    tensor_mutable_data(x)[5] = (ag_real)NAN;
    EXPECT_USAGE_ERROR("linear: first NaN found in its result, item 4; shape (2, 4) of inputs (2, 3), (4, 3); input 0 already "
                       "has NaN, at item 5 (at", ag_linear(x, w, NULL));
    ag_end(s);
    ag_find_nan(false);
}
END_TEST

START_TEST(finite_values_pass)
{
    ag_seed(2);
    ag_find_nan(true);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_normal(SHAPE(40, 50), 0, 1), true);
    Tensor *mask = ag_compare_scalar(AG_GT, x, 0);
    Tensor *y = ag_softmax(ag_masked_fill(x, mask, (double)-INFINITY), -1);     /* an intended infinity */
    ag_backward(ag_mean(ag_mul(y, ag_masked_softmax(x, mask, 2))));
    ag_masked_fill(x, mask, 1e300);                         /* as a float it is infinity, too */
    ag_end(s);
    EXPECT_USAGE_ERROR("masked_softmax: first NaN", {
        tensor_mutable_data(x = leaf(1, 2))[0] = (ag_real)NAN;
        ag_masked_softmax(x, NULL, 1);
    });
    ag_find_nan(false);
}
END_TEST

Suite *nan_suite(void)
{
    Suite *suite = suite_create("nan");
    TCase *every = tcase_create("every operation");
    tcase_add_loop_test(every, in_a_result_of_every_operation, 0, OP_COUNT);
    tcase_add_loop_test(every, in_a_gradient_of_every_operation, 0, OP_COUNT);
    suite_add_tcase(suite, every);
    TCase *named = tcase_create("by name and line");
    tcase_add_test(named, forward);
    tcase_add_test(named, backward);
    tcase_add_test(named, the_layer_is_named_too);
    tcase_add_test(named, an_input_with_nan_or_infinity_is_named);
    tcase_add_test(named, finite_values_pass);
    tcase_add_test(named, backward_can_run_after_the_report);
    suite_add_tcase(suite, named);
    return suite;
}
