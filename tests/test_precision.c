/* test_precision.c: ag_precision: which operations compute in bfloat16, until when, and their gradients. The arithmetic itself:
 * test_gemm.c. */
#include <math.h>
#include <pthread.h>

#include "kaeru/kaeru.h"
#include "suites.h"
#include "usage_error.h"

static void *precision_of_a_new_thread(void *out)
{
    *(AgPrecision *)out = ag_precision_now();
    return NULL;
}

START_TEST(it_lasts_until_the_scope_ends)
{
    ck_assert_int_eq(ag_precision_now(), AG_FLOAT32);
    Scope outer = ag_begin(AG_RECORD);
    ck_assert_int_eq(ag_precision(AG_BF16), AG_FLOAT32);
    Scope inner = ag_begin(AG_NO_GRAD);
    ck_assert_int_eq(ag_precision(AG_FLOAT32), AG_BF16);
    ag_end(inner);
    ck_assert_int_eq(ag_precision_now(), AG_BF16);
    AgPrecision other = AG_BF16;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, precision_of_a_new_thread, &other), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(other, AG_FLOAT32);
    ag_end(outer);
    ck_assert_int_eq(ag_precision_now(), AG_FLOAT32);
    ag_precision(AG_BF16);
    ag_end(ag_begin(AG_RECORD));
    ck_assert_int_eq(ag_precision_now(), AG_BF16);
    ag_precision(AG_FLOAT32);
}
END_TEST

static void set_in_a_scope_and_fail(void)
{
    ag_precision(AG_BF16);
    ag_neg(NULL);
}

START_TEST(an_error_restores_it)
{
    Scope s = ag_begin(AG_RECORD);
    EXPECT_USAGE_ERROR("neg: x is NULL", set_in_a_scope_and_fail());
    ag_end(s);
    ck_assert_int_eq(ag_precision_now(), AG_FLOAT32);
    EXPECT_USAGE_ERROR("ag_precision: 7 is not an AgPrecision", ag_precision((AgPrecision)7));
}
END_TEST

/* 1 + 2^-9 is 1 in bfloat16, and 3 is 3. */
#define BETWEEN (1 + 1.0 / 512)

static Tensor *full(Shape shape, double value)
{
    return tensor_set_requires_grad(tensor_full(shape, value), true);
}

typedef Tensor *Product(Tensor *a, Tensor *b);
static Tensor *by_matmul(Tensor *a, Tensor *b) { return ag_matmul(a, b); }
static Tensor *by_linear(Tensor *a, Tensor *b) { return ag_linear(a, b, NULL); }
static Tensor *by_relu(Tensor *a, Tensor *b)   { return ag_linear_activate(a, b, NULL, AG_RELU); }
static Tensor *by_gelu(Tensor *a, Tensor *b)   { return ag_linear_activate(a, b, NULL, AG_GELU); }
static Product *const products[] = { by_matmul, by_linear, by_relu, by_gelu };

/* Both operands and the gradient of the result are rounded: the results are whole numbers. */
START_TEST(operands_are_rounded)
{
    Scope s = ag_begin(AG_RECORD);
    Tensor *a = full(SHAPE(4, 4), BETWEEN), *b = full(SHAPE(4, 4), 3 * BETWEEN);
    ag_precision(AG_BF16);
    Tensor *y = products[_i](a, b);
    ag_precision(AG_FLOAT32);                           /* the rule computes as the operation did */
    ck_assert(_i == 3 || tensor_data(y)[15] == 12);
    ag_backward_from(y, tensor_full(SHAPE(4, 4), BETWEEN));
    if (_i < 3) {
        ck_assert(tensor_grad_data(a)[0] == 12);
        ck_assert(tensor_grad_data(b)[15] == 4);
    }
    Tensor *exact = products[_i](a, b);
    ck_assert(fabs((double)tensor_data(exact)[0] - 12 * BETWEEN * BETWEEN) < 1e-5);
    tensor_zero_grad(a);
    ag_precision(AG_BF16);                              /* the other way round */
    ag_backward_from(exact, tensor_full(SHAPE(4, 4), BETWEEN));
    ck_assert(fabs((double)tensor_grad_data(a)[0] - 12 * BETWEEN * BETWEEN) < 1e-5);
    ag_end(s);
}
END_TEST

/* Attention of one query to two keys, in plain C. Every operand of its six products is rounded. */
enum { KEYS = 2, K = 4 };
typedef struct { double q[K], k[KEYS][K], v[KEYS][K], dy[K], y[K], dq[K], dk[KEYS][K], dv[KEYS][K]; } Attention;

static double rounded(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);                      /* 0.5 <= |fraction| < 1: 8 bits are multiples of 2^-8 */
    return ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

static void attend(Attention *a)
{
    double w[KEYS] = { 0 }, total = 0, dw[KEYS] = { 0 }, mean = 0;
    const double scale = 0.5;                                   /* 1 / sqrt(K) */
    for (int j = 0; j < KEYS; j++) {
        for (int i = 0; i < K; i++) w[j] += rounded(a->q[i] * scale) * rounded(a->k[j][i]);
        total += w[j] = exp(w[j]);
    }
    for (int j = 0; j < KEYS; j++) {
        w[j] /= total;
        for (int i = 0; i < K; i++) {
            a->y[i] += rounded(w[j]) * rounded(a->v[j][i]);
            a->dv[j][i] = rounded(w[j]) * rounded(a->dy[i]);
            dw[j] += rounded(a->dy[i]) * rounded(a->v[j][i]);
        }
        mean += w[j] * dw[j];
    }
    for (int j = 0; j < KEYS; j++)
        for (int i = 0; i < K; i++) {
            double ds = w[j] * (dw[j] - mean);
            a->dk[j][i] = rounded(ds) * rounded(a->q[i] * scale);
            a->dq[i] += rounded(ds * scale) * rounded(a->k[j][i]);
        }
}

static Tensor *tensor_of(int64_t rows, double *x)
{
    Tensor *t = tensor_set_requires_grad(tensor_normal(SHAPE(1, rows, K), 0, 1), true);
    for (int64_t i = 0; i < rows * K; i++) x[i] = (double)tensor_data(t)[i];
    return t;
}

static void check_equal(const real *x, const double *expected, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)x[i] - expected[i]) < 2e-6, "%g for %g", (double)x[i], expected[i]);
}

START_TEST(attention_is_rounded)
{
    Attention a = { 0 };
    ag_seed(4);
    Scope s = ag_begin(AG_RECORD);
    ag_precision(AG_BF16);
    Tensor *q = tensor_of(1, a.q), *k = tensor_of(KEYS, a.k[0]), *v = tensor_of(KEYS, a.v[0]), *dy = tensor_of(1, a.dy);
    Tensor *y = ag_attention(q, k, v, NULL, 1, false, 0);
    ag_precision(AG_FLOAT32);
    attend(&a);
    check_equal(tensor_data(y), a.y, K);
    ag_backward_from(y, dy);
    check_equal(tensor_grad_data(q), a.dq, K);
    check_equal(tensor_grad_data(k), a.dk[0], KEYS * K);
    check_equal(tensor_grad_data(v), a.dv[0], KEYS * K);
    ag_end(s);
}
END_TEST

/* Products that read the copy in bfloat16 have the same bits. The copy is not used when it is out of date, in training, or in
 * float32. */
START_TEST(packed_weights_change_nothing)
{
    ag_seed(5);
    Scope s = ag_begin(AG_NO_GRAD);
    Linear *layer = nn_linear_new(70, 37);
    for (int64_t rows = 1; rows <= 40; rows += rows < 10 ? 1 : 15) {
        Tensor *x = tensor_normal(SHAPE(rows, 70), 0, 1), *y[2][3];
        for (int packed = 0; packed < 2; packed++) {
            if (packed) nn_pack_weights(layer);
            ag_precision(AG_BF16);
            y[packed][0] = nn_linear(layer, x);
            ag_precision(AG_FLOAT32);
            y[packed][1] = nn_linear(layer, x);
            ag_precision(AG_BF16);
            Tensor *before = ag_keep(layer->weight);
            ag_fill(layer->weight, 0.5);
            y[packed][2] = nn_linear(layer, x);
            tensor_copy(layer->weight, before);
            tensor_free(before);
        }
        nn_unpack_weights(layer);
        for (int i = 0; i < 3; i++)
            ck_assert_mem_eq(tensor_data(y[0][i]), tensor_data(y[1][i]), (size_t)(rows * 37) * sizeof(real));
    }
    ck_assert(ag_memory().in_use > 0);
    nn_free(layer);
    EXPECT_USAGE_ERROR("ag_pack_weight: weight (2, 2) belongs to a scope", ag_pack_weight(tensor_ones(SHAPE(2, 2))));
    ag_end(s);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

static Tensor *first_input(Tensor **in, void *arg)
{
    (void)arg;
    return in[0];
}

START_TEST(gradients_are_right)
{
    static const char *const linear_operations[] = { "matmul", "linear" };
    ag_precision(AG_BF16);
    ck_assert_int_ge(ag_check_op(linear_operations[_i], stderr), 8);
    Scope s = ag_begin(AG_RECORD);
    Tensor *x = full(SHAPE(3, 3), 0.3);
    EXPECT_USAGE_ERROR("ag_gradcheck: item 0 of input 0 is 0.3; with AG_BF16 expected multiples of 1/16",
                       ag_gradcheck(first_input, NULL, &x, 1, NULL));
    ag_end(s);
    ag_precision(AG_FLOAT32);
}
END_TEST

Suite *precision_suite(void)
{
    Suite *suite = suite_create("precision");
    TCase *tests = tcase_create("precision");
    tcase_add_test(tests, it_lasts_until_the_scope_ends);
    tcase_add_test(tests, an_error_restores_it);
    tcase_add_loop_test(tests, operands_are_rounded, 0, 4);
    tcase_add_test(tests, attention_is_rounded);
    tcase_add_test(tests, packed_weights_change_nothing);
    tcase_add_loop_test(tests, gradients_are_right, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
