/* test_random.c: the generator's known answers, its state, and the distributions drawn from it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "kernels.h"
#include "philox.h"
#include "suites.h"
#include "usage_error.h"

static AgScope scope;

static void begin(void)
{
    scope = ag_begin(AG_NO_GRAD);
}

static void end(void)
{
    ag_end(scope);
}

/* ---- known answers ----------------------------------------------------------------------------------------------- */

/* Of the authors' library, Random123: counter, key, words (kat_vectors, philox4x32 10). */
START_TEST(the_function_is_that_of_the_paper)
{
    static const struct { uint32_t counter[4], key[2], words[4]; } known[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (int i = 0; i < 3; i++) {
        uint32_t words[4];
        memcpy(words, known[i].counter, sizeof words);
        philox4x32(words, known[i].key[0], known[i].key[1]);
        ck_assert_mem_eq(words, known[i].words, sizeof words);
    }
    uint32_t words[4];
    k_philox(0, 0, words);
    ck_assert_mem_eq(words, known[0].words, sizeof words);
}
END_TEST

static const AgRandom somewhere = { 0x299f31d0a4093822, 0x85a308d3243f6a88 };
static const uint32_t words_there[12] = {
    0xe69c9c31, 0xb5a3d762, 0xe733bfc1, 0x341a787c, 0xf627c739, 0x12130da1, 0x14687ce5, 0xc52187dd,
    0xe68e4a31, 0xc1f57c17, 0x2eb8f34a, 0xc59462a5
};

START_TEST(known_numbers)
{
    ag_seed(0);
    ck_assert_uint_eq(ag_random_u32(), 0x6627e8d5);             /* block 0 of seed 0 */
    ck_assert_uint_eq(ag_random_u32(), 0xf8e4cca4);             /* block 1 */
    ck_assert_uint_eq(ag_random_state().counter, 2);
    ag_set_random_state(somewhere);
    for (int i = 0; i < 3; i++) ck_assert_uint_eq(ag_random_u32(), words_there[4 * i]);
    ag_set_random_state(somewhere);
    uint64_t bits = (uint64_t)words_there[1] << 32 | words_there[0];
    ck_assert(ag_random_uniform() == (double)(bits >> 11) / 9007199254740992.0);
}
END_TEST

START_TEST(known_tensors)
{
    begin();
    for (int n = 1; n <= 12; n++) {
        ag_set_random_state(somewhere);
        Tensor *t = tensor_uniform(SHAPE(n), 0, 1);
        for (int i = 0; i < n; i++) ck_assert((double)tensor_data(t)[i] == (words_there[i] >> 8) / 16777216.0);
        AgRandom after = ag_random_state();
        ck_assert_uint_eq(after.seed, somewhere.seed);
        ck_assert_uint_eq(after.counter, somewhere.counter + (uint64_t)(n + 3) / 4);
    }
    ag_set_random_state(somewhere);
    Tensor *t = tensor_normal(SHAPE(12), 3, 2);
    for (int i = 0; i < 12; i++) {                              /* Box and Muller's pairs */
        double u = ((words_there[i & ~1] >> 8) + 1) / 16777216.0, v = (words_there[i | 1] >> 8) / 16777216.0;
        double angle = 2 * 3.14159265358979323846 * v, radius = sqrt(-2 * log(u));
        ck_assert_double_eq_tol((double)tensor_data(t)[i], 3 + 2 * radius * (i & 1 ? sin(angle) : cos(angle)), 2e-5);
    }
    end();
}
END_TEST

START_TEST(the_counter_overflows_its_words)
{
    begin();
    AgRandom last = { 7, 0xfffffffffffffffe };                  /* the counter overflows after two blocks */
    ag_set_random_state(last);
    Tensor *t = tensor_uniform(SHAPE(16), 0, 1);
    ck_assert_uint_eq(ag_random_state().counter, 2);
    ag_seed(7);
    Tensor *start = tensor_uniform(SHAPE(8), 0, 1);
    ck_assert_mem_eq(tensor_data(t) + 8, tensor_data(start), 8 * sizeof(ag_real));
    ag_set_random_state((AgRandom){ 7, 0xffffffff });           /* the lower word overflows */
    Tensor *across = tensor_uniform(SHAPE(64), 0, 1);
    ag_set_random_state((AgRandom){ 7, 0x100000000 });
    Tensor *beyond = tensor_uniform(SHAPE(60), 0, 1);
    ck_assert_mem_eq(tensor_data(across) + 4, tensor_data(beyond), 60 * sizeof(ag_real));
    end();
}
END_TEST

/* ---- state ------------------------------------------------------------------------------------------------------- */

START_TEST(two_integers_are_the_state)
{
    begin();
    ag_seed(5);
    ag_random_u32();
    tensor_normal(SHAPE(7), 0, 1);
    AgRandom saved = ag_random_state();
    Tensor *first[4], *again[4];
    for (int round = 0; round < 2; round++) {
        Tensor **out = round ? again : first;
        ag_set_random_state(saved);
        out[0] = tensor_normal(SHAPE(33), 0, 1);
        out[1] = ag_dropout(tensor_ones(SHAPE(50)), 0.5);
        out[2] = tensor_zeros(SHAPE(3));
        ag_fill_uniform(out[2], -1, 1);
        out[3] = tensor_full(AG_SCALAR, ag_random_uniform());
    }
    for (int i = 0; i < 4; i++)
        ck_assert_mem_eq(tensor_data(first[i]), tensor_data(again[i]), (size_t)tensor_numel(first[i]) * sizeof(ag_real));
    ag_seed(6);
    Tensor *other = tensor_normal(SHAPE(33), 0, 1);
    ck_assert_mem_ne(tensor_data(other), tensor_data(first[0]), 33 * sizeof(ag_real));
    end();
}
END_TEST

START_TEST(the_default_seed_is_zero)
{
    ck_assert_uint_eq(ag_random_state().seed, 0);
    ck_assert_uint_eq(ag_random_state().counter, 0);
}
END_TEST

START_TEST(any_number_of_threads_draws_the_same)
{
    enum { N = 300001 };
    begin();
    Tensor *one[3], *many[3];
    for (int threads = 1; threads <= 4; threads++) {
        ag_set_threads(threads);
        ag_seed(12);
        Tensor **out = threads == 1 ? one : many;
        out[0] = tensor_uniform(SHAPE(N), -1, 1);
        out[1] = tensor_normal(SHAPE(N), 0, 1);
        out[2] = ag_dropout(out[1], 0.3);
        for (int i = 0; threads > 1 && i < 3; i++)
            ck_assert_mem_eq(tensor_data(one[i]), tensor_data(many[i]), N * sizeof(ag_real));
    }
    end();
}
END_TEST

/* ---- distributions ----------------------------------------------------------------------------------------------- */

START_TEST(uniform_numbers)
{
    enum { N = 200000, PARTS = 20 };
    begin();
    ag_seed(1);
    Tensor *t = tensor_uniform(SHAPE(N), -2, 3);
    int64_t count[PARTS] = { 0 };
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        double x = (double)tensor_data(t)[i];
        ck_assert(x >= -2 && x < 3);
        count[(int)((x + 2) / 5 * PARTS)]++;
        sum += x;
        squares += (x - 0.5) * (x - 0.5);
    }
    ck_assert_double_eq_tol(sum / N, 0.5, 5 * sqrt(25.0 / 12 / N));
    ck_assert_double_eq_tol(squares / N, 25.0 / 12, 0.02);
    double chi = 0;
    for (int i = 0; i < PARTS; i++) chi += pow((double)count[i] - N / PARTS, 2) / (N / PARTS);
    ck_assert(chi < 44);                                        /* 19 degrees of freedom: probability 0.001 */
    Tensor *narrow = tensor_uniform(SHAPE(1000), 1, nextafter(1, 2)), *point = tensor_uniform(SHAPE(3), 4, 4);
    for (int i = 0; i < 1000; i++) ck_assert(tensor_data(narrow)[i] == 1);     /* never `high`, even after rounding */
    for (int i = 0; i < 3; i++) ck_assert(tensor_data(point)[i] == 4);
    end();
}
END_TEST

START_TEST(normal_numbers)
{
    enum { N = 200000 };
    begin();
    ag_seed(2);
    Tensor *t = tensor_normal(SHAPE(N), 1, 0.5);
    double m[5] = { 0 };
    int64_t beyond_two = 0;
    for (int i = 0; i < N; i++) {
        double z = ((double)tensor_data(t)[i] - 1) / 0.5;
        ck_assert(isfinite(z) && fabs(z) < 7);
        for (int k = 1; k < 5; k++) m[k] += pow(z, k) / N;
        beyond_two += fabs(z) > 2;
    }
    ck_assert_double_eq_tol(m[1], 0, 5 / sqrt(N));
    ck_assert_double_eq_tol(m[2], 1, 5 * sqrt(2.0 / N));
    ck_assert_double_eq_tol(m[3], 0, 5 * sqrt(15.0 / N));
    ck_assert_double_eq_tol(m[4], 3, 5 * sqrt(96.0 / N));
    ck_assert_double_eq_tol((double)beyond_two / N, 0.0455, 0.0025);
    end();
}
END_TEST

START_TEST(numbers_below)
{
    enum { N = 60000 };
    ag_seed(3);
    for (int n = 1; n <= 7; n++) {
        int64_t count[7] = { 0 };
        for (int i = 0; i < N; i++) {
            int64_t k = ag_random_below(n);
            ck_assert(k >= 0 && k < n);
            count[k]++;
        }
        for (int k = 0; k < n; k++) ck_assert_double_eq_tol((double)count[k] / N, 1.0 / n, 5 * sqrt(1.0 / n / N));
    }
    /* a remainder of 2^63 values by 3/4 of 2^63 would give its first third twice as often as the rest */
    int64_t range = (int64_t)3 << 61, low = 0;
    for (int i = 0; i < N; i++) {
        int64_t k = ag_random_below(range);
        ck_assert(k >= 0 && k < range);
        low += k < range / 3;
    }
    ck_assert_double_eq_tol((double)low / N, 1.0 / 3, 0.01);
    ck_assert_int_ge(ag_random_below(INT64_MAX), 0);
}
END_TEST

START_TEST(integers_in_a_range)
{
    begin();
    ag_seed(4);
    Tensor *t = tensor_randint(SHAPE(40, 50), -3, 4);
    int64_t count[7] = { 0 };
    ck_assert_int_eq(tensor_dtype(t), AG_INT);
    for (int i = 0; i < 2000; i++) {
        int32_t k = tensor_int_data(t)[i];
        ck_assert(k >= -3 && k < 4);
        count[k + 3]++;
    }
    for (int k = 0; k < 7; k++) ck_assert_int_gt(count[k], 200);
    Tensor *whole = tensor_randint(SHAPE(1000), INT32_MIN, INT32_MAX);
    int negative = 0;
    for (int i = 0; i < 1000; i++) negative += tensor_int_data(whole)[i] < 0;
    ck_assert(negative > 400 && negative < 600);
    CATCH_USAGE_ERROR(tensor_randint(SHAPE(1), INT32_MAX - 1, INT32_MAX));
    ck_assert_str_eq(usage_message, "");
    end();
}
END_TEST

START_TEST(permutations)
{
    enum { N = 24000 };
    ag_seed(5);
    int32_t big[1000];
    bool seen[1000] = { false };
    ag_random_permutation(1000, big);
    for (int i = 0; i < 1000; i++) {
        ck_assert(big[i] >= 0 && big[i] < 1000 && !seen[big[i]]);
        seen[big[i]] = true;
    }
    int64_t count[256] = { 0 };
    for (int i = 0; i < N; i++) {
        int32_t p[4];
        ag_random_permutation(4, p);
        count[p[0] << 6 | p[1] << 4 | p[2] << 2 | p[3]]++;
    }
    int found = 0;
    for (int i = 0; i < 256; i++) {
        if (!count[i]) continue;
        found++;
        ck_assert_double_eq_tol((double)count[i], N / 24.0, 5 * sqrt(N / 24.0));
    }
    ck_assert_int_eq(found, 24);
    ag_random_permutation(0, NULL);
    ag_random_permutation(1, big);
    ck_assert_int_eq(big[0], 0);
}
END_TEST

START_TEST(dropout_keeps_its_share)
{
    enum { N = 100000 };
    begin();
    ag_seed(6);
    Tensor *x = tensor_full(SHAPE(N), 2), *y = ag_dropout(x, 0.3);
    int64_t kept = 0;
    for (int i = 0; i < N; i++) {
        ag_real v = tensor_data(y)[i];
        ck_assert(v == 0 || fabs((double)v - 2 / 0.7) < 1e-6);
        kept += v != 0;
    }
    ck_assert_double_eq_tol((double)kept / N, 0.7, 0.008);
    Tensor *all = ag_dropout(x, 0), *other = ag_dropout(x, 0.3);
    ck_assert_mem_eq(tensor_data(all), tensor_data(x), N * sizeof(ag_real));
    ck_assert_mem_ne(tensor_data(other), tensor_data(y), N * sizeof(ag_real));
    end();
}
END_TEST

/* Two dropouts in turn share no random numbers, whatever their sizes: each takes whole blocks of four. */
START_TEST(dropout_takes_whole_blocks)
{
    begin();
    for (int n = 1; n < 10; n++) {
        uint64_t before = ag_random_state().counter;
        ag_dropout(tensor_ones(SHAPE(n)), 0.5);
        ck_assert_uint_eq(ag_random_state().counter - before, ((uint64_t)n + 3) / 4);
    }
    end();
}
END_TEST

START_TEST(batches_of_an_epoch_have_different_items)
{
    static const int64_t sizes[][2] = { { 1, 1 }, { 2, 1 }, { 10, 3 }, { 64, 64 }, { 65, 8 }, { 1000, 7 } };
    begin();
    for (int i = 0; i < 6; i++)
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            int64_t n = sizes[i][0], size = sizes[i][1], batches = n / size;
            bool seen[1000] = { false };
            for (int64_t step = epoch * batches; step < (epoch + 1) * batches; step++) {
                Tensor *ids = ag_batch_ids(n, size, step, 7);
                for (int64_t k = 0; k < size; k++) {
                    int32_t id = tensor_int_data(ids)[k];
                    ck_assert(id >= 0 && id < n && !seen[id]);
                    seen[id] = true;
                }
            }
        }
    /* A run that another version resumes goes on with the same batches. */
    ck_assert_mem_eq(tensor_int_data(ag_batch_ids(10, 10, 3, 1)), ((int32_t[]){ 6, 1, 2, 9, 0, 7, 5, 3, 4, 8 }),
                     10 * sizeof(int32_t));
    EXPECT_USAGE_ERROR("size is 6, expected 1 to the number of items, 5", ag_batch_ids(5, 6, 0, 0));
    EXPECT_USAGE_ERROR("size is 0, expected 1 to the number of items, 5", ag_batch_ids(5, 0, 0, 0));
    EXPECT_USAGE_ERROR("step is -1, expected 0 or more", ag_batch_ids(5, 2, -1, 0));
    EXPECT_USAGE_ERROR("n is 0, expected 1 to 2147483647 items", ag_batch_ids(0, 1, 0, 0));
    EXPECT_USAGE_ERROR("n is 2147483648, expected 1 to", ag_batch_ids((int64_t)INT32_MAX + 1, 1, 0, 0));
    end();
}
END_TEST

/* Each item is at each place of a shuffled order equally often: chi-squared with 99 degrees of freedom, 0.999 at 149. */
START_TEST(orders_of_batches_are_random)
{
    enum { N = 10, EPOCHS = 4000 };
    begin();
    int count[N][N] = { { 0 } }, repeated = 0;
    int32_t former[N] = { 0 };
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        Tensor *ids = ag_batch_ids(N, N, epoch, 3);
        for (int i = 0; i < N; i++) count[i][tensor_int_data(ids)[i]]++;
        repeated += memcmp(former, tensor_int_data(ids), sizeof former) == 0;
        memcpy(former, tensor_int_data(ids), sizeof former);
    }
    double sum = 0, expected = (double)EPOCHS / N;
    for (int i = 0; i < N * N; i++) sum += pow(count[i / N][i % N] - expected, 2) / expected;
    ck_assert_double_lt(sum, 149);
    ck_assert_int_eq(repeated, 0);
    Tensor *high = ag_batch_ids(N, N, 0, 3 + ((uint64_t)1 << 32)), *low = ag_batch_ids(N, N, 0, 3);
    ck_assert_mem_ne(tensor_int_data(high), tensor_int_data(low), sizeof former);       /* all bits of the seed count */
    end();
}
END_TEST

START_TEST(multinomial_draws_in_proportion)
{
    enum { N = 20000 };
    begin();
    ag_seed(4);
    Tensor *ids = ag_multinomial(tensor_from(SHAPE(2, 4), (ag_real[]){ 1, 0, 3, 4, 0, 0, 5, 0 }), N);
    ck_assert(ag_shape_equal(tensor_shape(ids), SHAPE(2, N)) && tensor_dtype(ids) == AG_INT);
    int count[4] = { 0 };
    for (int i = 0; i < N; i++) count[tensor_int_data(ids)[i]]++;
    for (int i = 0; i < 4; i++) {
        double p = (double[]){ 0.125, 0, 0.375, 0.5 }[i];
        ck_assert_double_le(fabs(count[i] - N * p), 4 * sqrt(N * p * (1 - p)));
    }
    for (int i = N; i < 2 * N; i++) ck_assert_int_eq(tensor_int_data(ids)[i], 2);
    ids = ag_multinomial(tensor_from(SHAPE(2), (ag_real[]){ 1e-38f, 0 }), 100);         /* less than the least normal number */
    for (int i = 0; i < 100; i++) ck_assert_int_eq(tensor_int_data(ids)[i], 0);
    ids = ag_multinomial(tensor_from(SHAPE(2), (ag_real[]){ 0, 1e-38f }), 100);
    for (int i = 0; i < 100; i++) ck_assert_int_eq(tensor_int_data(ids)[i], 1);
    ids = ag_multinomial(tensor_from(SHAPE(2), (ag_real[]){ 1e-44f, 1e-44f }), 100);
    int second = 0;
    for (int i = 0; i < 100; i++) second += tensor_int_data(ids)[i];
    ck_assert_int_gt(second, 20);
    ids = ag_multinomial(tensor_from(SHAPE(2), (ag_real[]){ 1e-40f, 3e-40f }), 4000);
    second = 0;
    for (int i = 0; i < 4000; i++) second += tensor_int_data(ids)[i];
    ck_assert(abs(second - 3000) < 120);
    ag_find_nan(true);                                              /* no logarithm of 0 */
    ag_multinomial(tensor_from(SHAPE(2), (ag_real[]){ 1, 0 }), 1);
    ag_find_nan(false);
    ck_assert(ag_shape_equal(tensor_shape(ag_multinomial(tensor_ones(SHAPE(3)), 0)), SHAPE(0)));
    EXPECT_USAGE_ERROR("p is -1 at item 1", ag_multinomial(tensor_from(SHAPE(2), (ag_real[]){ 1, -1 }), 1));
    EXPECT_USAGE_ERROR("1 samples of p ()", ag_multinomial(tensor_ones(AG_SCALAR), 1));
    end();
}
END_TEST

Suite *random_suite(void)
{
    Suite *suite = suite_create("random");
    TCase *known = tcase_create("known answers");
    tcase_add_test(known, the_function_is_that_of_the_paper);
    tcase_add_test(known, known_numbers);
    tcase_add_test(known, known_tensors);
    tcase_add_test(known, the_counter_overflows_its_words);
    suite_add_tcase(suite, known);
    TCase *state = tcase_create("state");
    tcase_add_test(state, two_integers_are_the_state);
    tcase_add_test(state, the_default_seed_is_zero);
    tcase_add_test(state, any_number_of_threads_draws_the_same);
    suite_add_tcase(suite, state);
    TCase *distributions = tcase_create("distributions");
    tcase_add_test(distributions, uniform_numbers);
    tcase_add_test(distributions, normal_numbers);
    tcase_add_test(distributions, numbers_below);
    tcase_add_test(distributions, integers_in_a_range);
    tcase_add_test(distributions, permutations);
    tcase_add_test(distributions, batches_of_an_epoch_have_different_items);
    tcase_add_test(distributions, orders_of_batches_are_random);
    tcase_add_test(distributions, multinomial_draws_in_proportion);
    tcase_add_test(distributions, dropout_keeps_its_share);
    tcase_add_test(distributions, dropout_takes_whole_blocks);
    suite_add_tcase(suite, distributions);
    return suite;
}
