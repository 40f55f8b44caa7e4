/* test_decode.c: decoding with the Transformer: a cache changes nothing; greedy decoding; beam search, compared with an
 * exhaustive search. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expected.h"
#include "kaeru/training.h"
#include "suites.h"
#include "usage_error.h"

enum { PAD = 2, END = 1, START = 0 };

/* A model of that many words. Twice the initial weights of the generator make its probabilities differ more, and a bias
 * makes the end symbol probable. */
static Transformer *model_new(int64_t vocab)
{
    TransformerOptions o = transformer_defaults();
    o.N = 2;
    o.d_model = 12;
    o.d_ff = 20;
    o.h = 2;
    o.max_len = 20;
    Transformer *m = transformer_new(vocab, vocab, o);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *w = m->generator->proj->weight;
    tensor_copy(w, ag_scale(w, 2));
    tensor_mutable_data(m->generator->proj->bias)[END] = 1;
    ag_end(s);
    return m;
}

/* Log-probabilities (B,T,V) of the next token at each position of tgt, without a cache. */
static Tensor *log_probs(Transformer *m, Tensor *src, Tensor *src_mask, Tensor *tgt)
{
    return transformer_generator(m->generator,
                                 transformer_forward(m, src, tgt, src_mask, nn_causal_mask(tensor_dim(tgt, 1))));
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

START_TEST(a_cache_changes_nothing)
{
    static const int steps[] = { 1, 2, 3, 4, 9 };           /* tokens at a time */
    Transformer *m = model_new(13);
    nn_eval(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *src = tensor_ints(SHAPE(2, 5), (int32_t[]){ 5, 6, 7, 8, 9, 4, 3, PAD, PAD, PAD });
    Tensor *mask = nn_padding_mask(src, PAD), *tgt = tensor_randint(SHAPE(2, 9), 0, 13);
    Tensor *memory = transformer_encode(m, src, mask);
    Tensor *all = transformer_decode(m, memory, mask, tgt, nn_causal_mask(9));
    NnCache *cache = transformer_cache_new(m, 9);
    for (int64_t at = 0, step = steps[_i]; at < 9; at += step) {
        if (step > 9 - at) step = 9 - at;
        Tensor *next = transformer_decode_next(m, memory, mask, ag_slice(tgt, 1, at, at + step), cache);
        check_close("log-probabilities", transformer_generator(m->generator, next),
                    transformer_generator(m->generator, ag_slice(all, 1, at, at + step)), 1e-5);
    }
    Tensor *one = tensor_ints(SHAPE(2, 1), NULL), *other_batch = tensor_ints(SHAPE(3, 1), NULL);
    EXPECT_USAGE_ERROR("1 positions after 9: the cache has room for 9", transformer_decode_next(m, memory, mask, one, cache));
    EXPECT_USAGE_ERROR("in transformer_decode_next called at tests/test_decode.c",
                       transformer_decode_next(m, memory, mask, one, cache));
    EXPECT_USAGE_ERROR("keys (3, 1, 12) do not fit (2, 9, 12) in the cache",
                       transformer_decode_next(m, memory, mask, other_batch, cache));
    ag_free(cache);
    cache = nn_cache_new(2, 9);                             /* of a model with one layer */
    EXPECT_USAGE_ERROR("transformer_decode_next: a cache for 2 attention layers, expected one for the model's 4",
                       transformer_decode_next(m, memory, mask, one, cache));
    ag_free(cache);
    cache = transformer_cache_new(m, 9);
    EXPECT_USAGE_ERROR("nn_cache_append: the key or the value requires a gradient",
                       transformer_decode_next(m, memory, mask, one, cache));
    ag_free(cache);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* ---- greedy ------------------------------------------------------------------------------------------------------ */

START_TEST(greedy_takes_the_likeliest_token)
{
    Transformer *m = model_new(11);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *src = tensor_randint(SHAPE(3, 6), 3, 11);
    for (int j = 3; j < 6; j++) tensor_mutable_int_data(src)[6 + j] = PAD;
    Tensor *mask = nn_padding_mask(src, PAD), *ids = transformer_greedy_decode(m, src, mask, 8, START, -1);
    ck_assert(m->module.training && m->decoder->module.training);
    ck_assert(ag_shape_equal(tensor_shape(ids), SHAPE(3, 8)));
    nn_eval(m);
    Tensor *best = ag_argmax(log_probs(m, src, mask, ag_slice(ids, 1, 0, 7)), -1, false);
    for (int b = 0; b < 3; b++) {
        ck_assert_int_eq(tensor_int_data(ids)[b * 8], START);
        for (int t = 0; t < 7; t++)
            ck_assert_int_eq(tensor_int_data(ids)[b * 8 + t + 1], tensor_int_data(best)[b * 7 + t]);
    }
    ck_assert_int_eq(tensor_dim(transformer_greedy_decode(m, src, mask, 1, START, -1), 1), 1);
    ck_assert(!m->module.training);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* ---- beam search ------------------------------------------------------------------------------------------------- */

static KaeruBeamOptions beam_options(int beam, int64_t max_len, double penalty)
{
    return (KaeruBeamOptions){ .beam = beam, .max_len = max_len, .start_symbol = START, .end_symbol = END,
                          .length_penalty = penalty };
}

/* The score of a sequence (Wu et al. 2016), computed without a cache. */
static double score_of(Transformer *m, Tensor *src, Tensor *mask, Tensor *ids, double penalty)
{
    int64_t n = tensor_numel(ids), vocab = tensor_dim(m->generator->proj->weight, 0);
    Tensor *p = log_probs(m, src, mask, ag_reshape(ids, SHAPE(1, n)));
    double sum = 0;
    for (int64_t t = 1; t < n; t++) sum += (double)tensor_data(p)[(t - 1) * vocab + tensor_int_data(ids)[t]];
    return sum / pow((5 + (double)(n - 1)) / 6, penalty);
}

START_TEST(a_beam_of_one_is_greedy)
{
    int ended = 0;
    for (int i = 0; i < 20; i++) {
        ag_seed((uint64_t)i);
        Transformer *m = model_new(7);
        nn_eval(m);
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *src = tensor_randint(SHAPE(1, 4), 3, 7), *mask = nn_padding_mask(src, PAD);
        Tensor *greedy = transformer_greedy_decode(m, src, mask, 9, START, -1);
        double score;
        Tensor *found = transformer_beam_search(m, src, mask, beam_options(1, 9, 0), &score);
        int64_t n = 1;
        while (n < 9 && tensor_int_data(greedy)[n - 1] != END) n++;
        ended += tensor_int_data(greedy)[n - 1] == END;
        ck_assert_int_eq(tensor_numel(found), n);
        ck_assert_mem_eq(tensor_int_data(found), tensor_int_data(greedy), (size_t)n * sizeof(int32_t));
        ck_assert_double_eq_tol(score, score_of(m, src, mask, found, 0), 1e-4);
        ag_end(s);
        ag_free(m);
    }
    ck_assert(ended > 0);
}
END_TEST

/* The best of all sequences that end in time. try_all tries those that begin with the first `length` ids. */
typedef struct {
    Transformer *m;
    Tensor *src, *mask;
    int64_t max_len, n;
    double penalty, score;
    int32_t best[8];
} All;

/* Tries all sequences that start with the first `length` of `ids`. */
static void try_all(All *a, int32_t *ids, int64_t length)
{
    if (ids[length - 1] == END && length > 1) {
        AgScope s = ag_begin(AG_NO_GRAD);
        double score = score_of(a->m, a->src, a->mask, tensor_ints(SHAPE(length), ids), a->penalty);
        if (a->n == 0 || score > a->score) {
            a->score = score;
            a->n = length;
            memcpy(a->best, ids, (size_t)length * sizeof *ids);
        }
        ag_end(s);
    } else if (length < a->max_len) {
        for (ids[length] = 0; ids[length] < 4; ids[length]++) try_all(a, ids, length + 1);
    }
}

START_TEST(a_wide_beam_finds_the_best_of_all)
{
    static const double penalties[] = { 0, 0.6, 1, 3 };
    Transformer *m = model_new(4);
    nn_eval(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < 4; i++) {
        Tensor *src = tensor_randint(SHAPE(1, 3), 0, 4), *mask = NULL;
        All all = { .m = m, .src = src, .mask = mask, .max_len = 5, .penalty = penalties[i] };
        try_all(&all, (int32_t[8]){ START }, 1);
        double score;
        Tensor *found = transformer_beam_search(m, src, mask, beam_options(256, 5, penalties[i]), &score);
        ck_assert_double_eq_tol(score, all.score, 1e-4);
        ck_assert_int_eq(tensor_numel(found), all.n);
        ck_assert_mem_eq(tensor_int_data(found), all.best, (size_t)all.n * sizeof(int32_t));
    }
    ag_end(s);
    ag_free(m);
}
END_TEST

/* Beam search often finds a better sequence than greedy decoding, and seldom a worse one. The score that it returns must be
 * the score of the sequence. If greedy decoding does not end in time, there is nothing to compare. */
START_TEST(a_wider_beam_finds_better_sequences)
{
    for (int beam = 2; beam <= 8; beam *= 2) {
        int better = 0, worse = 0;
        for (int i = 0; i < 40; i++) {
            ag_seed((uint64_t)i);
            Transformer *m = model_new(7);
            nn_eval(m);
            AgScope s = ag_begin(AG_NO_GRAD);
            Tensor *src = tensor_randint(SHAPE(1, 4), 3, 7), *mask = nn_padding_mask(src, PAD);
            double one, score;
            Tensor *first = transformer_beam_search(m, src, mask, beam_options(1, 12, 0.6), &one);
            Tensor *found = transformer_beam_search(m, src, mask, beam_options(beam, 12, 0.6), &score);
            ck_assert_double_eq_tol(score, score_of(m, src, mask, found, 0.6), 1e-4);
            bool ends = tensor_int_data(first)[tensor_numel(first) - 1] == END;
            better += ends && score > one + 1e-6;
            worse += ends && score < one - 1e-6;
            ag_end(s);
            ag_free(m);
        }
        ck_assert_msg(better >= 3 && worse <= (beam == 2), "beam %d: %d better, %d worse", beam, better, worse);
    }
}
END_TEST

START_TEST(a_length_penalty_favors_length)
{
    int64_t length[2] = { 0, 0 };
    for (int i = 0; i < 20; i++) {
        ag_seed((uint64_t)i);
        Transformer *m = model_new(7);
        nn_eval(m);
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *src = tensor_randint(SHAPE(1, 4), 3, 7);
        for (int k = 0; k < 2; k++)
            length[k] += tensor_numel(transformer_beam_search(m, src, NULL, beam_options(6, 12, 2 * k), NULL));
        ag_end(s);
        ag_free(m);
    }
    ck_assert_msg(length[1] > length[0], "%d tokens with a penalty, %d without", (int)length[1], (int)length[0]);
}
END_TEST

/* ---- a model whose probabilities are given ----------------------------------------------------------------------------- */

enum { A = 3, A2, B, B2, C, N_TOKENS };
/* Probabilities of the token after each token. Tokens without a row have the end symbol next. */
typedef struct { int32_t after, next; double p; } Follows;

/* A model that answers from the table alone: the target embedding gives each token a dimension of its own, the decoder's
 * layers add zeros, its last norm restores the dimension, and the generator has the logarithms. */
static Transformer *model_of(const Follows *table, int n)
{
    Transformer *m = model_new(N_TOKENS);
    NnParameters *p = nn_parameters(m->decoder);
    for (int i = 0; i < p->n; i++) ag_fill(p->item[i].tensor, 0);
    ag_free(p);
    Tensor *embedding = nn_item(TransformerEmbeddings, m->tgt_embed, 0)->lut->weight, *w = m->generator->proj->weight;
    ag_fill(nn_item(PositionalEncoding, m->tgt_embed, 1)->pe, 0);
    ag_fill(embedding, 0);
    int64_t width = tensor_dim(embedding, 1);
    for (int i = 0; i < N_TOKENS; i++) tensor_mutable_data(embedding)[i * width + i] = 1;
    /* the norm of a row with one 1 is sqrt(width) times (the row - 1 / width) */
    ag_fill(m->decoder->norm->gamma, 1 / sqrt((double)width));
    ag_fill(m->decoder->norm->beta, 1 / (double)width);
    ag_fill(m->generator->proj->bias, 0);
    ag_fill(w, -30);
    for (int i = 0; i < N_TOKENS; i++) tensor_mutable_data(w)[END * width + i] = 0;
    for (int i = 0; i < n; i++) tensor_mutable_data(w)[END * width + table[i].after] = -30;
    for (int i = 0; i < n; i++) tensor_mutable_data(w)[table[i].next * width + table[i].after] = (ag_real)log(table[i].p);
    nn_eval(m);
    return m;
}

/* The ids that beam search finds must be these, of which END is the last. */
static void check_found(const Follows *table, int n, KaeruBeamOptions o, const int32_t *expected)
{
    Transformer *m = model_of(table, n);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *found = transformer_beam_search(m, tensor_ints(SHAPE(1, 1), NULL), NULL, o, NULL);
    int64_t length = 1;
    while (expected[length - 1] != END) length++;
    char text[200] = "";
    for (int64_t i = 0; i < tensor_numel(found); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", (int)tensor_int_data(found)[i]);
    size_t bytes = (size_t)length * sizeof *expected;
    ck_assert_msg(tensor_numel(found) == length && memcmp(tensor_int_data(found), expected, bytes) == 0, "found%s", text);
    ag_end(s);
    ag_free(m);
}

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* A END and A2 END have the same probability, and so have A B END and A2 B2 END: the token with the smaller id comes first, and
 * stays the best. */
START_TEST(of_equal_hypotheses_the_first_is_found)
{
    static const Follows two[] = { { START, A, 0.5 }, { START, A2, 0.5 } };
    static const Follows three[] = { { START, A, 0.5 }, { START, A2, 0.5 }, { A, B, 1 }, { A2, B2, 1 } };
    for (int beam = 2; beam <= 4; beam += 2) {
        check_found(two, COUNT(two), beam_options(beam, 5, 0), (int32_t[]){ START, A, END });
        check_found(three, COUNT(three), beam_options(beam, 5, 0), (int32_t[]){ START, A, B, END });
    }
}
END_TEST

/* A END is the best of the first two results, B END the third, which is not finished: the search goes on and finds B B2 END,
 * which the penalty favors. */
START_TEST(only_the_best_results_are_finished)
{
    static const Follows table[] = { { START, A, 0.6 }, { START, B, 0.4 }, { A, END, 0.9 }, { A, C, 0.1 },
                                     { B, B2, 0.55 }, { B, END, 0.45 } };
    check_found(table, COUNT(table), beam_options(2, 8, 10), (int32_t[]){ START, B, B2, END });
}
END_TEST

/* The last of the four best results is B B2 or B C, with equal probabilities: the first of them is kept. */
START_TEST(of_equal_results_the_first_is_kept)
{
    static const Follows table[] = { { START, A2, 0.6 }, { START, B, 0.4 }, { A2, END, 1 }, { B, A, 0.5 }, { B, END, 0.45 },
                                     { B, B2, 0.025 }, { B, C, 0.025 }, { A, A, 1 } };
    check_found(table, COUNT(table), beam_options(2, 8, 20), (int32_t[]){ START, B, B2, END });
}
END_TEST

/* With one finished hypothesis a beam of one ends, although the penalty would favor the longer A END. */
START_TEST(the_search_ends_with_enough_hypotheses)
{
    static const Follows table[] = { { START, END, 0.6 }, { START, A, 0.4 } };
    check_found(table, COUNT(table), beam_options(1, 8, 10), (int32_t[]){ START, END });
    check_found(table, COUNT(table), beam_options(2, 8, 10), (int32_t[]){ START, A, END });
}
END_TEST

/* The only token ends the text at once. */
START_TEST(a_vocabulary_of_one_token)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1, o.d_model = 4, o.h = 1, o.d_ff = 4;
    Transformer *m = transformer_new(1, 1, o);
    AgScope s = ag_begin(AG_NO_GRAD);
    KaeruBeamOptions how = { .beam = 1, .max_len = 4, .start_symbol = 0, .end_symbol = 0 };
    Tensor *found = transformer_beam_search(m, tensor_ints(SHAPE(1, 1), NULL), NULL, how, NULL);
    ck_assert_int_eq(tensor_numel(found), 2);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* A part may have another mode than the model, and an error may end the search. */
START_TEST(decoding_leaves_the_modes)
{
    Transformer *m = model_new(7);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *src = tensor_randint(SHAPE(1, 4), 3, 7), *high = tensor_ints(SHAPE(1, 2), (int32_t[]){ 3, 7 });
    for (int training = 0; training < 2; training++) {
        nn_set_training(m, training);
        nn_set_training(m->decoder, !training);
        for (int way = 0; way < 4; way++) {
            if (way == 0) transformer_beam_search(m, src, NULL, beam_options(2, 5, 0), NULL);
            if (way == 1) transformer_greedy_decode(m, src, NULL, 5, START, -1);
            if (way == 2) EXPECT_USAGE_ERROR("7", transformer_beam_search(m, high, NULL, beam_options(2, 5, 0), NULL));
            if (way == 3) EXPECT_USAGE_ERROR("7", transformer_greedy_decode(m, high, NULL, 5, START, -1));
            ck_assert(m->module.training == training && m->encoder->module.training == training);
            ck_assert(m->decoder->module.training == !training);
        }
    }
    ag_end(s);
    ag_free(m);
}
END_TEST

/* A model that is freed before the scope of the error ends has no modes to restore. */
START_TEST(a_model_may_be_freed_after_an_error)
{
    Transformer *m = model_new(7);
    usage_begin();
    if (setjmp(usage_escape) == 0)
        transformer_greedy_decode(m, tensor_ints(SHAPE(1, 2), (int32_t[]){ 3, 7 }), NULL, 5, START, -1);
    ag_free(m);
    usage_end();
    ck_assert_ptr_nonnull(strstr(usage_message, "7"));
}
END_TEST

/* The start symbol may be the end symbol: it does not end the sentence that it begins. */
START_TEST(sentences_may_begin_with_the_end_symbol)
{
    static const Follows table[] = { { END, A, 1 }, { A, B, 1 } };
    Transformer *m = model_of(table, COUNT(table));
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = transformer_greedy_decode(m, tensor_ints(SHAPE(1, 1), NULL), NULL, 6, END, END);
    static const int32_t expected[] = { END, A, B, END, END, END };
    ck_assert_mem_eq(tensor_int_data(ids), expected, sizeof expected);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* Decoding goes on until each row has ended, however long ago another one has. */
START_TEST(rows_end_one_by_one)
{
    enum { ROWS = 2, LENGTH = 12 };
    int far_apart = 0;
    for (uint64_t i = 0; i < 20; i++) {
        ag_seed(i);
        Transformer *m = model_new(7);
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *src = tensor_randint(SHAPE(ROWS, 4), 3, 7), *mask = nn_padding_mask(src, PAD);
        const int32_t *all = tensor_int_data(transformer_greedy_decode(m, src, mask, LENGTH, START, -1));
        const int32_t *ids = tensor_int_data(transformer_greedy_decode(m, src, mask, LENGTH, START, END));
        int end[ROWS];
        for (int b = 0; b < ROWS; b++) {
            end[b] = LENGTH;
            for (int t = 0; t < LENGTH; t++) {
                ck_assert_int_eq(ids[b * LENGTH + t], t > end[b] ? END : all[b * LENGTH + t]);
                if (end[b] == LENGTH && all[b * LENGTH + t] == END) end[b] = t;
            }
        }
        far_apart += abs(end[0] - end[1]) >= ROWS;
        ag_end(s);
        ag_free(m);
    }
    ck_assert_int_gt(far_apart, 0);
}
END_TEST

/* ---- special cases ----------------------------------------------------------------------------------------------- */

/* With an empty source, each attention to the source returns only its last bias. */
START_TEST(an_empty_source_is_defined)
{
    Transformer *m = model_new(7);
    nn_eval(m);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *none = tensor_ints(SHAPE(1, 0), NULL), *hidden = tensor_ints(SHAPE(1, 3), (int32_t[]){ PAD, PAD, PAD });
    Tensor *ids = transformer_greedy_decode(m, none, nn_padding_mask(none, PAD), 6, START, -1);
    Tensor *same = transformer_greedy_decode(m, hidden, nn_padding_mask(hidden, PAD), 6, START, -1);
    ck_assert_mem_eq(tensor_int_data(ids), tensor_int_data(same), 6 * sizeof(int32_t));
    double score, expected;
    transformer_beam_search(m, none, nn_padding_mask(none, PAD), beam_options(3, 6, 0), &score);
    transformer_beam_search(m, hidden, nn_padding_mask(hidden, PAD), beam_options(3, 6, 0), &expected);
    ck_assert_double_eq_tol(score, expected, 1e-5);

    Tensor *p = log_probs(m, none, nn_padding_mask(none, PAD), ids);
    check_close("log-probabilities", p, log_probs(m, hidden, nn_padding_mask(hidden, PAD), ids), 1e-6);
    ag_backward(ag_sum(p));
    NnParameters *all = nn_parameters(m);
    for (int i = 0; i < all->n; i++) {
        const ag_real *g = tensor_grad_data(all->item[i].tensor);
        for (int64_t k = 0; g && k < tensor_numel(all->item[i].tensor); k++) ck_assert(isfinite(g[k]));
    }
    ag_free(all);
    ag_end(s);
    ag_free(m);
}
END_TEST

START_TEST(usage_errors_are_reported)
{
    Transformer *m = model_new(7);
    nn_eval(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *src = tensor_randint(SHAPE(2, 4), 3, 7), *mask = nn_padding_mask(src, PAD), *one = ag_slice(src, 0, 0, 1);
    Tensor *high = tensor_ints(SHAPE(1, 2), (int32_t[]){ 3, 7 }), *longer = tensor_ints(SHAPE(1, 21), NULL);
    EXPECT_USAGE_ERROR("transformer_greedy_decode: max_len 0, expected 1 or more",
                       transformer_greedy_decode(m, src, mask, 0, START, -1));
    EXPECT_USAGE_ERROR("transformer_beam_search: beam 0, max_len 5, 1 sentences",
                       transformer_beam_search(m, one, NULL, beam_options(0, 5, 0), NULL));
    EXPECT_USAGE_ERROR("transformer_beam_search: beam 2, max_len 5, 2 sentences",
                       transformer_beam_search(m, src, mask, beam_options(2, 5, 0), NULL));
    EXPECT_USAGE_ERROR("x (1, 21, 12) from position 0 on: the table has 20 positions",
                       transformer_greedy_decode(m, longer, NULL, 5, START, -1));
    EXPECT_USAGE_ERROR("x (1, 1, 12) from position 20 on: the table has 20 positions",
                       transformer_greedy_decode(m, one, NULL, 22, START, -1));
    EXPECT_USAGE_ERROR("7", transformer_greedy_decode(m, high, NULL, 5, START, -1));
    EXPECT_USAGE_ERROR("99", transformer_greedy_decode(m, one, NULL, 5, 99, -1));
    EXPECT_USAGE_ERROR("-1", transformer_beam_search(m, one, NULL, (KaeruBeamOptions){ 2, 5, -1, END, 0 }, NULL));
    EXPECT_USAGE_ERROR("in transformer_greedy_decode called at tests/test_decode.c",
                       transformer_greedy_decode(m, high, NULL, 5, START, -1));
    EXPECT_USAGE_ERROR("in transformer_beam_search called at tests/test_decode.c",
                       transformer_beam_search(m, high, NULL, beam_options(2, 5, 0), NULL));
    ag_end(s);
    ag_free(m);
}
END_TEST

Suite *decode_suite(void)
{
    Suite *suite = suite_create("decode");
    TCase *decoding = tcase_create("decode");
    tcase_add_loop_test(decoding, a_cache_changes_nothing, 0, 5);
    tcase_add_test(decoding, greedy_takes_the_likeliest_token);
    tcase_add_test(decoding, a_beam_of_one_is_greedy);
    tcase_add_test(decoding, a_wide_beam_finds_the_best_of_all);
    tcase_add_test(decoding, a_wider_beam_finds_better_sequences);
    tcase_add_test(decoding, a_length_penalty_favors_length);
    tcase_add_test(decoding, of_equal_hypotheses_the_first_is_found);
    tcase_add_test(decoding, only_the_best_results_are_finished);
    tcase_add_test(decoding, of_equal_results_the_first_is_kept);
    tcase_add_test(decoding, the_search_ends_with_enough_hypotheses);
    tcase_add_test(decoding, decoding_leaves_the_modes);
    tcase_add_test(decoding, a_model_may_be_freed_after_an_error);
    tcase_add_test(decoding, a_vocabulary_of_one_token);
    tcase_add_test(decoding, sentences_may_begin_with_the_end_symbol);
    tcase_add_test(decoding, rows_end_one_by_one);
    tcase_add_test(decoding, an_empty_source_is_defined);
    tcase_add_test(decoding, usage_errors_are_reported);
    suite_add_tcase(suite, decoding);
    return suite;
}
