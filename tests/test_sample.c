/* test_sample.c: choosing the next token, printing text in pieces, and generation beyond the context. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "folder.h"
#include "kaeru/lm.h"
#include "suites.h"
#include "usage_error.h"

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

enum { N = 7, DRAWS = 20000 };
static const ag_real logits[N] = { 1, (ag_real)2.5, -3, (ag_real)2.5, 0, 4, (ag_real)-0.5 };

static int32_t sample(const ag_real *x, int64_t n, LmSampling how)
{
    int32_t id = lm_sample_next(x, n, &how);
    ck_assert_msg(id >= 0 && id < n, "%d: %s", (int)id, ag_error());
    return id;
}

/* Draws many times. The count of each id must agree with its probability within 5 standard deviations, and be 0 if that is
 * 0. */
static void check_shares(LmSampling how, const double probability[N])
{
    int count[N] = { 0 };
    for (int i = 0; i < DRAWS; i++) count[sample(logits, N, how)]++;
    for (int i = 0; i < N; i++) {
        double p = probability[i], deviation = sqrt(DRAWS * p * (1 - p));
        ck_assert_msg(fabs(count[i] - DRAWS * p) <= 5 * deviation, "id %d: %d times, expected %.0f +- %.0f", i,
                      count[i], DRAWS * p, deviation);
    }
}

/* The softmax of logits / temperature over the ids that `left` marks. */
static void softmax(double temperature, const bool left[N], double p[N])
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += p[i] = left[i] ? exp((double)logits[i] / temperature) : 0;
    for (int i = 0; i < N; i++) p[i] /= sum;
}

START_TEST(frequencies_are_those_of_the_softmax)
{
    static const struct { LmSampling how; bool left[N]; } cases[] = {
        { { .temperature = 1 }, { 1, 1, 1, 1, 1, 1, 1 } },
        { { .temperature = 0.5 }, { 1, 1, 1, 1, 1, 1, 1 } },
        { { .temperature = 3 }, { 1, 1, 1, 1, 1, 1, 1 } },
        { { .temperature = 3, .top_k = 7 }, { 1, 1, 1, 1, 1, 1, 1 } },
        { { .temperature = 3, .top_k = 99, .top_p = 1 }, { 1, 1, 1, 1, 1, 1, 1 } },
        { { .temperature = 3, .top_k = 1 }, { 0, 0, 0, 0, 0, 1, 0 } },
        { { .temperature = 3, .top_k = 2 }, { 0, 1, 0, 0, 0, 1, 0 } },              /* of ids 1 and 3, the smaller */
        { { .temperature = 3, .top_k = 3 }, { 0, 1, 0, 1, 0, 1, 0 } },
        { { .temperature = 3, .top_k = 5 }, { 1, 1, 0, 1, 1, 1, 0 } },
        /* at temperature 1: 4 has 0.6551, 2.5 twice 0.1462, 1 has 0.0326, 0 has 0.0120, -0.5 0.0073, -3 0.0006 */
        { { .temperature = 1, .top_p = 0.5 }, { 0, 0, 0, 0, 0, 1, 0 } },
        { { .temperature = 1, .top_p = 0.655 }, { 0, 0, 0, 0, 0, 1, 0 } },
        { { .temperature = 1, .top_p = 0.656 }, { 0, 1, 0, 0, 0, 1, 0 } },           /* the id that reaches the share is kept */
        { { .temperature = 1, .top_p = 0.947 }, { 0, 1, 0, 1, 0, 1, 0 } },
        { { .temperature = 1, .top_p = 0.948 }, { 1, 1, 0, 1, 0, 1, 0 } },
        { { .temperature = 1, .top_p = 0.9999 }, { 1, 1, 1, 1, 1, 1, 1 } },
        { { .temperature = 1, .top_k = 3, .top_p = 0.8 }, { 0, 1, 0, 0, 0, 1, 0 } },  /* 0.6914 + 0.1543 of the three */
        { { .temperature = 1, .top_k = 2, .top_p = 0.8 }, { 0, 0, 0, 0, 0, 1, 0 } },        /* 0.8176 of the two */
    };
    double p[N], found[N];
    ag_seed((uint64_t)_i);
    softmax(cases[_i].how.temperature, cases[_i].left, p);
    check_shares(cases[_i].how, p);
    expect_done(lm_sample_probabilities(logits, N, &cases[_i].how, found));
    for (int i = 0; i < N; i++) ck_assert_double_eq_tol(found[i], p[i], 1e-12);
}
END_TEST

START_TEST(temperature_zero_is_greedy)
{
    AgRandom before = ag_random_state();
    for (int i = 0; i < 10; i++) ck_assert_int_eq(sample(logits, N, (LmSampling){ .top_k = 3, .top_p = 0.1 }), 5);
    ck_assert_int_eq(sample((const ag_real[]){ 0, 3, 3, 1 }, 4, (LmSampling){ 0 }), 1);    /* the first of equal logits */
    double p[4];
    expect_done(lm_sample_probabilities((const ag_real[]){ 0, 3, 3, 1 }, 4, &(LmSampling){ 0 }, p));
    ck_assert(p[0] == 0 && p[1] == 1 && p[2] == 0 && p[3] == 0);
    ck_assert(ag_random_state().counter == before.counter);
    for (int i = 0; i < 50; i++) ck_assert_int_eq(sample(logits, N, (LmSampling){ .temperature = 1e-300 }), 5);
    for (int i = 0; i < 50; i++) {                                                         /* logits of any size */
        static const ag_real far[3] = { (ag_real)-1e30, (ag_real)1e30, (ag_real)0 };
        ck_assert_int_eq(sample(far, 3, (LmSampling){ .temperature = 1, .top_p = 0.9 }), 1);
    }
}
END_TEST

START_TEST(a_seed_gives_the_same_ids)
{
    int32_t first[200];
    for (int round = 0; round < 2; round++) {
        ag_seed(42);
        for (int i = 0; i < 200; i++) {
            int32_t id = sample(logits, N, (LmSampling){ .temperature = 2, .top_k = i % 9, .top_p = i % 5 * 0.25 });
            if (round == 0) first[i] = id;
            else ck_assert_int_eq(id, first[i]);
        }
    }
}
END_TEST

/* Half of four equal probabilities is two of them, exactly. */
START_TEST(a_share_that_is_reached_exactly_is_enough)
{
    static const ag_real equal[4] = { 1, 1, 1, 1 };
    double p[4];
    expect_done(lm_sample_probabilities(equal, 4, &(LmSampling){ .temperature = 1, .top_p = 0.5 }, p));
    ck_assert(p[0] == 0.5 && p[1] == 0.5 && p[2] == 0 && p[3] == 0);
}
END_TEST

/* A top_k that keeps all ids changes nothing: a seed gives the same ids as without it. */
START_TEST(a_top_k_of_all_ids_changes_nothing)
{
    for (int i = 0; i < 50; i++) {
        ag_seed((uint64_t)i);
        int32_t id = sample(logits, N, (LmSampling){ .temperature = 3 });
        ag_seed((uint64_t)i);
        ck_assert_int_eq(sample(logits, N, (LmSampling){ .temperature = 3, .top_k = N }), id);
    }
}
END_TEST

/* Many logits: the k largest are those of a full sort. */
START_TEST(many_candidates_are_sorted_correctly)
{
    enum { MANY = 5000 };
    ag_real *x = malloc(MANY * sizeof *x);
    ag_seed(7);
    for (int i = 0; i < MANY; i++) x[i] = (ag_real)(ag_random_below(600)) / 50;             /* many are equal */
    for (int k = 1; k < 40; k++) {
        int32_t id = sample(x, MANY, (LmSampling){ .temperature = 50, .top_k = k });
        int better = 0;
        for (int i = 0; i < MANY; i++) better += x[i] > x[id] || (x[i] == x[id] && i < id);
        ck_assert_msg(better < k, "of the %d best, number %d came", k, better + 1);
    }
    free(x);
}
END_TEST

START_TEST(logits_that_are_not_finite_are_refused)
{
    const LmSampling hows[] = { { 0 }, { .temperature = 1 }, { .temperature = 1, .top_p = 0.5 } };
    double p[N];
    for (int i = 0; i < 3; i++) {
        expect_refused(lm_sample_next((const ag_real[]){ 1, (ag_real)NAN, 2 }, 3, &hows[i]) >= 0,
                       "the logit of token 1 is nan, expected a finite number: the model's weights cannot be used");
        expect_refused(lm_sample_next((const ag_real[]){ 1, 2, (ag_real)INFINITY }, 3, &hows[i]) >= 0,
                       "the logit of token 2 is inf");
        expect_refused(lm_sample_probabilities((const ag_real[]){ 1, (ag_real)NAN }, 2, &hows[i], p),
                       "the logit of token 1 is nan");
    }
    EXPECT_USAGE_ERROR("0 logits", lm_sample_next(logits, 0, &hows[0]));
    EXPECT_USAGE_ERROR("temperature -1", lm_sample_next(logits, N, &(LmSampling){ .temperature = -1 }));
    EXPECT_USAGE_ERROR("lm_sample_probabilities: 0 logits", lm_sample_probabilities(logits, 0, &hows[0], p));
}
END_TEST

/* ---- text streams ------------------------------------------------------------------------------------------------ */

static void check_stream(const char *pieces[], const char *before_end, const char *after_end)
{
    char found[64] = "";
    FILE *out = fmemopen(found, sizeof found, "w");
    ck_assert_ptr_nonnull(out);
    KaeruTextStream s = { .out = out };
    for (int i = 0; pieces[i]; i++) kaeru_text_stream_put(&s, pieces[i], strlen(pieces[i]));
    fflush(out);
    ck_assert_str_eq(found, before_end);
    kaeru_text_stream_end(&s);
    fflush(out);
    ck_assert_str_eq(found, after_end);
    fclose(out);
}

START_TEST(parts_of_characters_are_not_written)
{
#define BAD "\xEF\xBF\xBD"
    check_stream((const char *[]){ "ab", "c", NULL }, "abc", "abc");
    check_stream((const char *[]){ "\xE8", "\x9B", "\x99!", NULL }, "\xE8\x9B\x99!", "\xE8\x9B\x99!");
    check_stream((const char *[]){ "x\xE8\x9B", NULL }, "x", "x" BAD BAD);
    check_stream((const char *[]){ "\xF0\x9F\x90", NULL }, "", BAD BAD BAD);
    check_stream((const char *[]){ "\xF0\x9F\x90\xB8\xF0", "\x9F\x90\xB8", NULL }, "\xF0\x9F\x90\xB8\xF0\x9F\x90\xB8",
                 "\xF0\x9F\x90\xB8\xF0\x9F\x90\xB8");
    check_stream((const char *[]){ "\xED", NULL }, "", BAD);                    /* may become U+D000..U+D7FF */
    check_stream((const char *[]){ "\xE0", NULL }, "", BAD);
    check_stream((const char *[]){ "\xF4", NULL }, "", BAD);
    check_stream((const char *[]){ "\xED\xA0", NULL }, BAD BAD, BAD BAD);       /* a surrogate: never */
    check_stream((const char *[]){ "\xE0\x80", NULL }, BAD BAD, BAD BAD);       /* overlong: never */
    check_stream((const char *[]){ "\xF4\x90", NULL }, BAD BAD, BAD BAD);       /* beyond U+10FFFF: never */
    check_stream((const char *[]){ "\xC0", NULL }, BAD, BAD);
    check_stream((const char *[]){ "\xF5z", NULL }, BAD "z", BAD "z");
    check_stream((const char *[]){ "\x80", "a", NULL }, BAD "a", BAD "a");
    check_stream((const char *[]){ "\xE8", "a", NULL }, BAD "a", BAD "a");
    check_stream((const char *[]){ "\xE8\xE8\x9B\x99", NULL }, BAD "\xE8\x9B\x99", BAD "\xE8\x9B\x99");
    check_stream((const char *[]){ NULL }, "", "");
}
END_TEST

/* ---- generation -------------------------------------------------------------------------------------------------- */

typedef struct { int32_t id[64]; int64_t n, stop; } Written;

static bool take(void *arg, int32_t id)
{
    Written *w = arg;
    w->id[w->n++] = id;
    return w->n != w->stop;
}

/* Large weights: each id depends on all that the model reads, not only on the last. */
static GPT *model(int64_t context)
{
    ag_seed(3);
    GPT *m = gpt_new((GPTOptions){ .layers = 2, .heads = 2, .width = 8, .vocab = 17, .context = context, .eps = 1e-5 });
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++)
        if (tensor_ndim(p->item[i].tensor) == 2) ag_fill_normal(p->item[i].tensor, 0, 1);
    ag_free(p);
    nn_eval(m);
    return m;
}

/* The most probable next id, without a cache. */
static int32_t likeliest(GPT *m, const int32_t *ids, int64_t n)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *best = ag_argmax(gpt_forward(m, tensor_ints(SHAPE(1, n), ids)), -1, false);
    int32_t id = tensor_int_data(best)[n - 1];
    ag_end(s);
    return id;
}

START_TEST(the_window_slides_as_documented)
{
    enum { PROMPT = 3, MOST = 40 };
    int64_t context = 1 + _i;
    GPT *m = model(context);
    const int32_t prompt[PROMPT] = { 2, 11, 5 };
    Written w = { .n = 0 };
    expect_done(lm_generate(m, prompt, PROMPT, MOST, &(LmSampling){ 0 }, take, &w));
    ck_assert_int_eq(w.n, MOST);

    int32_t all[PROMPT + MOST];
    memcpy(all, prompt, sizeof prompt);
    int64_t begin = PROMPT > context ? PROMPT - context : 0;            /* the first id that the model reads */
    for (int64_t n = PROMPT; n < PROMPT + MOST; n++) {
        if (n - begin > context) begin = n - (context > 1 ? context / 2 : 1);
        all[n] = likeliest(m, all + begin, n - begin);
        ck_assert_msg(all[n] == w.id[n - PROMPT], "context %d, token %d: %d, expected %d", (int)context,
                      (int)(n - PROMPT), (int)w.id[n - PROMPT], (int)all[n]);
    }
    ag_free(m);
}
END_TEST

START_TEST(generation_stops_when_the_callback_says_so)
{
    GPT *m = model(8);
    const int32_t prompt[1] = { 4 };
    Written w = { .stop = 5 };
    expect_done(lm_generate(m, prompt, 1, 20, &(LmSampling){ .temperature = 1 }, take, &w));
    ck_assert_int_eq(w.n, 5);
    w = (Written){ .n = 0 };
    expect_done(lm_generate(m, prompt, 1, 0, &(LmSampling){ .temperature = 1 }, take, &w));
    ck_assert_int_eq(w.n, 0);
    EXPECT_USAGE_ERROR("an empty prompt", lm_generate(m, prompt, 0, 1, &(LmSampling){ 0 }, take, &w));
    tensor_mutable_data(m->ln_f->gamma)[0] = (ag_real)NAN;
    expect_refused(lm_generate(m, prompt, 1, 5, &(LmSampling){ 0 }, take, &w), "the logit of token 0 is nan");
    ag_free(m);
}
END_TEST

START_TEST(a_seed_gives_the_same_text)
{
    GPT *m = model(8);
    const int32_t prompt[2] = { 4, 9 };
    Written first = { .n = 0 }, second = { .n = 0 };
    ag_seed(5);
    expect_done(lm_generate(m, prompt, 2, 30, &(LmSampling){ .temperature = 1 }, take, &first));
    ag_seed(5);
    expect_done(lm_generate(m, prompt, 2, 30, &(LmSampling){ .temperature = 1 }, take, &second));
    ck_assert_int_eq(memcmp(first.id, second.id, 30 * sizeof(int32_t)), 0);
    second.n = 0;
    expect_done(lm_generate(m, prompt, 2, 30, &(LmSampling){ .temperature = 1 }, take, &second));
    ck_assert_int_ne(memcmp(first.id, second.id, 30 * sizeof(int32_t)), 0);
    ag_free(m);
}
END_TEST

START_TEST(generation_allocates_no_more_memory)
{
    ag_guard(false);
    GPT *m = model(8);
    const int32_t prompt[1] = { 4 };
    Written w = { .n = 0 };
    expect_done(lm_generate(m, prompt, 1, 30, &(LmSampling){ .temperature = 1, .top_p = 0.9 }, take, &w));
    AgMemory before = ag_memory();
    w.n = 0;
    expect_done(lm_generate(m, prompt, 1, 60, &(LmSampling){ .temperature = 1, .top_p = 0.9 }, take, &w));
    ck_assert_uint_eq(ag_memory().in_use, before.in_use);
    int64_t calls = (int64_t)(ag_memory().system_calls - before.system_calls);
    ck_assert_msg(!KEEPS_MEMORY || calls <= 8, "%d more calls", (int)calls);    /* at most the new cache */
    ag_precision(AG_BF16);                                                       /* packed weights are freed at the end */
    w.n = 0;
    expect_done(lm_generate(m, prompt, 1, 30, &(LmSampling){ .temperature = 1 }, take, &w));
    ag_precision(AG_FLOAT32);
    ck_assert_uint_eq(ag_memory().in_use, before.in_use);
    ag_free(m);
}
END_TEST

Suite *sample_suite(void)
{
    Suite *suite = suite_create("sample");
    TCase *choosing = tcase_create("choosing");
    tcase_add_loop_test(choosing, frequencies_are_those_of_the_softmax, 0, 17);
    tcase_add_test(choosing, temperature_zero_is_greedy);
    tcase_add_test(choosing, a_seed_gives_the_same_ids);
    tcase_add_test(choosing, a_share_that_is_reached_exactly_is_enough);
    tcase_add_test(choosing, a_top_k_of_all_ids_changes_nothing);
    tcase_add_test(choosing, many_candidates_are_sorted_correctly);
    tcase_add_test(choosing, logits_that_are_not_finite_are_refused);
    suite_add_tcase(suite, choosing);
    TCase *writing = tcase_create("writing");
    tcase_add_test(writing, parts_of_characters_are_not_written);
    tcase_add_loop_test(writing, the_window_slides_as_documented, 0, 10);
    tcase_add_test(writing, generation_stops_when_the_callback_says_so);
    tcase_add_test(writing, a_seed_gives_the_same_text);
    tcase_add_test(writing, generation_allocates_no_more_memory);
    suite_add_tcase(suite, writing);
    return suite;
}
