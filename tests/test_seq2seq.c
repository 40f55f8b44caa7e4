/* test_seq2seq.c: the recurrent encoder-decoder: its formulas, padding, gradients, learning and decoding. */
#include <math.h>
#include <stdio.h>

#include "expected.h"
#include "faults.h"
#include "kaeru/seq2seq.h"
#include "suites.h"
#include "usage_error.h"

enum { PAD, START, END, SRC_VOCAB = 9, TGT_VOCAB = 8 };

/* Every kind: the two cells, without attention and with each score. */
static const struct { RecurrentKind cell; bool attention; NnScoreKind score; } kinds[] = {
    { NN_GRU, false, NN_SCORE_DOT }, { NN_GRU, true, NN_SCORE_DOT }, { NN_GRU, true, NN_SCORE_GENERAL },
    { NN_GRU, true, NN_SCORE_ADDITIVE }, { NN_LSTM, false, NN_SCORE_DOT }, { NN_LSTM, true, NN_SCORE_SCALED_DOT },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static Seq2SeqOptions options(int kind, int64_t width, int64_t hidden)
{
    Seq2SeqOptions o = seq2seq_defaults();
    o.cell = kinds[kind].cell;
    o.attention = kinds[kind].attention;
    o.score = kinds[kind].score;
    o.width = width;
    o.hidden = hidden;
    return o;
}

static Seq2Seq *small(int kind)
{
    return seq2seq_new(SRC_VOCAB, TGT_VOCAB, options(kind, 5, 6));
}

/* Three sentences, the second and third shorter than the first. */
static TransformerBatch sentences(void)
{
    static const int32_t src[] = { 3, 4, 5, 6, 7,   8, 3, 3, 0, 0,   5, 0, 0, 0, 0 };
    static const int32_t tgt[] = { START, 7, 6, 5, END,   START, 4, 4, END, PAD,   START, 3, END, PAD, PAD };
    return transformer_batch_new(tensor_ints(SHAPE(3, 5), src), tensor_ints(SHAPE(3, 5), tgt), PAD);
}

static Tensor *loss_of(Seq2Seq *m, const TransformerBatch *b)
{
    return ag_nll_loss(seq2seq_forward(m, b->src, b->tgt, b->src_mask), b->tgt_y, AG_MEAN, PAD);
}

/* Item i of dimension 1: (B,T,..) -> (B,..) */
static Tensor *at_time(Tensor *x, int64_t i)
{
    return ag_squeeze(ag_slice(x, 1, i, i + 1), 1);
}

/* ---- the formulas ------------------------------------------------------------------------------------------------ */

static double product(const ag_real *a, const ag_real *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* For each sentence a(j) = exp(s_j . h) / sum over j' of exp(s_j' . h) and c = sum over j of a(j) s_j, in plain C. */
static Tensor *context_by_hand(Tensor *states, Tensor *h, Tensor *mask, Tensor *weights)
{
    int64_t batch = tensor_dim(states, 0), time = tensor_dim(states, 1), width = tensor_dim(states, 2);
    Tensor *c = tensor_zeros(SHAPE(batch, width));
    for (int64_t b = 0; b < batch; b++) {
        const ag_real *s = tensor_data(states) + b * time * width, *now = tensor_data(h) + b * width;
        const uint8_t *seen = tensor_bool_data(mask) + b * time;
        double sum = 0;
        for (int64_t j = 0; j < time; j++)
            if (seen[j]) sum += exp(product(s + j * width, now, width));
        for (int64_t j = 0; j < time; j++) {
            double a = seen[j] ? exp(product(s + j * width, now, width)) / sum : 0;
            tensor_mutable_data(weights)[b * time + j] = (ag_real)a;
            for (int64_t d = 0; d < width; d++)
                tensor_mutable_data(c)[b * width + d] += (ag_real)(a * (double)s[j * width + d]);
        }
    }
    return c;
}

/* Steps 1 to 3 for each word, computed with the layers. */
START_TEST(attention_equals_its_formulas)
{
    Seq2Seq *m = small(1);
    m->keep_weights = true;
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = sentences();
    Tensor *log_p = seq2seq_forward(m, b.src, b.tgt, b.src_mask), *found = m->weights;
    ck_assert(ag_shape_equal(tensor_shape(log_p), SHAPE(3, 4, TGT_VOCAB)));
    ck_assert(ag_shape_equal(tensor_shape(found), SHAPE(3, 4, 5)));
    RecurrentState state = { 0 };
    Tensor *states = nn_recurrent(m->encoder, nn_embedding(m->src_embed, b.src), b.src_mask, &state);
    for (int i = 0; i < 4; i++) {
        Tensor *weights = tensor_zeros(SHAPE(3, 5)), *c = context_by_hand(states, state.h, b.src_mask, weights);
        Tensor *x[] = { nn_embedding(m->tgt_embed, at_time(b.tgt, i)), c };
        nn_recurrent_step(m->decoder, ag_concat(x, 2, 1), &state);
        check_close("weights", at_time(found, i), weights, 1e-5);
        check_close("log-probabilities", at_time(log_p, i), transformer_generator(m->generator, state.h), 1e-5);
    }
    ag_end(s);
    ag_free(m);
}
END_TEST

/* Without attention, the decoder knows the source only by the encoder's last state. */
START_TEST(without_attention_the_model_is_its_layers)
{
    Seq2Seq *m = small(_i ? 4 : 0);
    ck_assert_ptr_null(m->score);
    m->keep_weights = true;
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = sentences();
    RecurrentState state = { 0 };
    nn_recurrent(m->encoder, nn_embedding(m->src_embed, b.src), b.src_mask, &state);
    Tensor *h = nn_recurrent(m->decoder, nn_embedding(m->tgt_embed, b.tgt), NULL, &state);
    check_close("log-probabilities", seq2seq_forward(m, b.src, b.tgt, b.src_mask), transformer_generator(m->generator, h),
                1e-5);
    ck_assert_ptr_null(m->weights);
    ag_end(s);
    ag_free(m);
}
END_TEST

START_TEST(weights_add_up_to_one_and_none_is_on_padding)
{
    Seq2Seq *m = small(_i);
    m->keep_weights = true;
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = sentences();
    seq2seq_forward(m, b.src, b.tgt, b.src_mask);
    for (int row = 0; m->weights && row < 3 * 4; row++) {
        double sum = 0;
        for (int j = 0; j < 5; j++) {
            double a = (double)tensor_data(m->weights)[row * 5 + j];
            ck_assert((a > 0) == (tensor_int_data(b.src)[row / 4 * 5 + j] != PAD));
            sum += a;
        }
        ck_assert_double_eq_tol(sum, 1, 1e-5);
    }
    ck_assert((m->weights != NULL) == kinds[_i].attention);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* The third sentence without its padding, alone in a batch; and no position attends to later ones of the target. */
START_TEST(padding_and_neighbors_do_not_matter)
{
    Seq2Seq *m = small(_i);
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = sentences();
    Tensor *log_p = seq2seq_forward(m, b.src, b.tgt, b.src_mask);
    Tensor *src = tensor_ints(SHAPE(1, 1), (int32_t[]){ 5 }), *tgt = tensor_ints(SHAPE(1, 2), (int32_t[]){ START, 3 });
    check_close("alone", seq2seq_forward(m, src, tgt, NULL), ag_slice(ag_slice(log_p, 0, 2, 3), 1, 0, 2), 1e-5);
    check_close("one id", seq2seq_forward(m, src, ag_slice(tgt, 1, 0, 1), NULL), ag_slice(ag_slice(log_p, 0, 2, 3), 1, 0, 1),
                1e-5);
    tensor_mutable_int_data(b.tgt)[3] = 1;
    Tensor *other = seq2seq_forward(m, b.src, b.tgt, b.src_mask);
    check_close("before the change", ag_slice(other, 1, 0, 3), ag_slice(log_p, 1, 0, 3), 0);
    ck_assert_mem_ne(tensor_data(at_time(other, 3)), tensor_data(at_time(log_p, 3)), TGT_VOCAB * sizeof(ag_real));
    ag_end(s);
    ag_free(m);
}
END_TEST

/* ---- learning ---------------------------------------------------------------------------------------------------- */

typedef struct { Seq2Seq *m; TransformerBatch batch; } Whole;

static Tensor *whole_model(Tensor **in, void *arg)
{
    Whole *w = arg;
    (void)in;
    return seq2seq_forward(w->m, w->batch.src, w->batch.tgt, w->batch.src_mask);
}

START_TEST(gradients_of_the_model_are_right)
{
    Whole w = { .m = seq2seq_new(SRC_VOCAB, TGT_VOCAB, options(_i, 3, 4)) };
    AgScope s = ag_begin(AG_RECORD);
    w.batch = sentences();
    NnParameters *p = nn_parameters(w.m);
    Tensor *in[20];
    ck_assert_int_lt(p->n, 20);
    for (int i = 0; i < p->n; i++) in[i] = p->item[i].tensor;
    ck_assert(ag_gradcheck(whole_model, &w, in, p->n, stderr));
    ag_free(p);
    ag_end(s);
    ag_free(w.m);
}
END_TEST

/* Memorizes the three sentences, and decodes them. */
START_TEST(the_model_learns_a_few_sentences)
{
    Seq2Seq *m = seq2seq_new(SRC_VOCAB, TGT_VOCAB, options(_i, 16, 16));
    Optimizer *o = nn_adam_new(m, 0.02);
    double first = 0, last = 0;
    for (int step = 0; step < 120; step++) {
        AgScope s = ag_begin(AG_RECORD);
        TransformerBatch b = sentences();
        Tensor *loss = loss_of(m, &b);
        ag_backward(loss);
        nn_optimizer_step(o);
        last = tensor_item(loss);
        if (step == 0) first = last;
        ag_end(s);
    }
    ck_assert_msg(first > 1.5 && last < 0.05, "loss from %g to %g", first, last);
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = sentences();
    Tensor *decoded_ids = seq2seq_greedy_decode(m, b.src, b.src_mask, 7, START, END);
    static const int32_t expected[] = { START, 7, 6, 5, END, END, END,   START, 4, 4, END, END, END, END,
                                        START, 3, END, END, END, END, END };
    ck_assert(ag_shape_equal(tensor_shape(decoded_ids), SHAPE(3, 7)));
    for (int i = 0; i < 3 * 7; i++) ck_assert_int_eq(tensor_int_data(decoded_ids)[i], expected[i]);
    ag_end(s);
    ag_free(o);
    ag_free(m);
}
END_TEST

/* Each word is the most probable one by teacher forcing with the words before it. Dropout is off, and on again
 * afterwards. */
START_TEST(decoding_agrees_with_teacher_forcing)
{
    Seq2SeqOptions how = options(_i, 5, 6);
    how.dropout = 0.5;
    Seq2Seq *m = seq2seq_new(SRC_VOCAB, TGT_VOCAB, how);
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = sentences();
    Tensor *decoded_ids = seq2seq_greedy_decode(m, b.src, b.src_mask, 6, START, -1);
    ck_assert(m->module.training && m->dropout->module.training);
    nn_eval(m);
    Tensor *best = ag_argmax(seq2seq_forward(m, b.src, ag_slice(decoded_ids, 1, 0, 5), b.src_mask), -1, false);
    for (int i = 0; i < 3 * 5; i++) {
        ck_assert_int_eq(tensor_int_data(decoded_ids)[i / 5 * 6], START);
        ck_assert_int_eq(tensor_int_data(best)[i], tensor_int_data(decoded_ids)[i / 5 * 6 + 1 + i % 5]);
    }
    decoded_ids = seq2seq_greedy_decode(m, b.src, b.src_mask, 6, START, -1);
    ck_assert(!m->module.training);
    /* Stops when each row has the end symbol, which may be the start symbol; with max_len 1 there is only the start. */
    int32_t end = tensor_int_data(decoded_ids)[6 + 2];
    Tensor *cut = seq2seq_greedy_decode(m, b.src, b.src_mask, 6, START, end);
    for (int row = 0; row < 3; row++) {
        bool ended = false;
        for (int i = 1; i < 6; i++) {
            ck_assert_int_eq(tensor_int_data(cut)[row * 6 + i], ended ? end : tensor_int_data(decoded_ids)[row * 6 + i]);
            ended = ended || tensor_int_data(cut)[row * 6 + i] == end;
        }
    }
    Tensor *only = seq2seq_greedy_decode(m, b.src, b.src_mask, 1, START, END);
    ck_assert(ag_shape_equal(tensor_shape(only), SHAPE(3, 1)) && tensor_int_data(only)[2] == START);
    only = seq2seq_greedy_decode(m, b.src, b.src_mask, 1, 0, END);
    ck_assert_int_eq(tensor_int_data(only)[2], 0);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* ---- names, usage errors, failing allocations -------------------------------------------------------------------- */

START_TEST(names_of_parameters)
{
    static const char *const names[] = {
        "src_embed.weight", "tgt_embed.weight", "encoder.weight_ih_l0", "encoder.weight_hh_l0", "encoder.bias_ih_l0",
        "encoder.bias_hh_l0", "decoder.weight_ih_l0", "decoder.weight_hh_l0", "decoder.bias_ih_l0",
        "decoder.bias_hh_l0", "score.w1.weight", "score.w2.weight", "score.v.weight", "generator.proj.weight",
        "generator.proj.bias" };
    Seq2Seq *m = small(3);
    NnParameters *p = nn_parameters(m);
    ck_assert_int_eq(p->n, sizeof names / sizeof *names);
    for (int i = 0; i < p->n; i++) ck_assert_str_eq(p->item[i].name, names[i]);
    ag_free(p);
    ag_free(m);
}
END_TEST

START_TEST(usage_errors_are_reported)
{
    Seq2SeqOptions bad = seq2seq_defaults();
    bad.hidden = 0;
    EXPECT_USAGE_ERROR("seq2seq_new: vocabularies of 9 and 8 words, width 256, hidden 0: each must be 1 or more",
                       seq2seq_new(SRC_VOCAB, TGT_VOCAB, bad));
    bad.width = bad.hidden = 1;
    ag_free(seq2seq_new(SRC_VOCAB, TGT_VOCAB, bad));
    EXPECT_USAGE_ERROR("tests/test_seq2seq.c", seq2seq_new(0, TGT_VOCAB, seq2seq_defaults()));
    bad = seq2seq_defaults();
    bad.dropout = 1;
    EXPECT_USAGE_ERROR("seq2seq_new: dropout is 1, expected 0 to below 1", seq2seq_new(SRC_VOCAB, TGT_VOCAB, bad));
    Seq2Seq *m = small(1);
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = sentences();
    Tensor *two = tensor_ints(SHAPE(2, 4), NULL), *none = tensor_ints(SHAPE(3, 0), NULL);
    Tensor *flat = tensor_ints(SHAPE(3), NULL);
    Tensor *beyond = tensor_ints(SHAPE(3, 4), (int32_t[]){ 0, 0, 0, 0, 0, TGT_VOCAB, 0, 0, 0, 0, 0, 0 });
    EXPECT_USAGE_ERROR("seq2seq_forward: src (3, 5) and tgt (2, 4), expected (B,S) and (B,T) with S and T of 1 or more",
                       seq2seq_forward(m, b.src, two, b.src_mask));
    EXPECT_USAGE_ERROR("seq2seq_forward: src (3, 5) and tgt (3, 0)", seq2seq_forward(m, b.src, none, b.src_mask));
    EXPECT_USAGE_ERROR("seq2seq_forward: src (3, 0) and tgt (3, 4)", seq2seq_forward(m, none, b.tgt, NULL));
    EXPECT_USAGE_ERROR("seq2seq_forward: src (3,) and tgt (3, 4)", seq2seq_forward(m, flat, b.tgt, NULL));
    EXPECT_USAGE_ERROR("nn_recurrent: the mask is (3, 4, 4), expected (3, 1, 5)", seq2seq_forward(m, b.src, b.tgt, b.tgt_mask));
    EXPECT_USAGE_ERROR("in seq2seq_forward called at tests/test_seq2seq.c", seq2seq_forward(m, b.src, b.tgt, b.tgt_mask));
    EXPECT_USAGE_ERROR("embedding: id 8", seq2seq_forward(m, b.src, beyond, b.src_mask));
    EXPECT_USAGE_ERROR("seq2seq_greedy_decode: max_len 0, expected 1 or more",
                       seq2seq_greedy_decode(m, b.src, b.src_mask, 0, START, END));
    EXPECT_USAGE_ERROR("seq2seq_greedy_decode: src (3,), expected (B,S) with S of 1 or more",
                       seq2seq_greedy_decode(m, flat, NULL, 5, START, END));
    ag_end(s);
    ag_free(m);
}
END_TEST

static void learn_and_decode(void)
{
    Seq2Seq *m = seq2seq_new(SRC_VOCAB, TGT_VOCAB, options(3, 2, 2));
    AgScope s = ag_begin(AG_RECORD);
    TransformerBatch b = sentences();
    m->keep_weights = true;
    ag_backward(loss_of(m, &b));
    seq2seq_greedy_decode(m, b.src, b.src_mask, 3, START, END);
    ag_end(s);
    ag_free(m);
}

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(learn_and_decode, true);
    if (faults_work()) ck_assert_int_gt(requests, 100);
}
END_TEST

START_TEST(decoding_leaves_no_memory)
{
    Seq2SeqOptions o = seq2seq_defaults();
    o.width = o.hidden = 2;
    Seq2Seq *m = seq2seq_new(4, 4, o);
    int64_t in_use[6];
    for (int i = 0; i < 6; i++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        seq2seq_greedy_decode(m, tensor_ints(SHAPE(1, 2), NULL), NULL, 3, 0, 1);
        ag_end(s);
        in_use[i] = faults_live();
    }
    ck_assert_int_eq(in_use[5], in_use[4]);
    ag_free(m);
}
END_TEST

Suite *seq2seq_suite(void)
{
    Suite *suite = suite_create("seq2seq");
    TCase *formulas = tcase_create("formulas");
    tcase_add_test(formulas, attention_equals_its_formulas);
    tcase_add_loop_test(formulas, without_attention_the_model_is_its_layers, 0, 2);
    tcase_add_loop_test(formulas, weights_add_up_to_one_and_none_is_on_padding, 0, N_KINDS);
    tcase_add_loop_test(formulas, padding_and_neighbors_do_not_matter, 0, N_KINDS);
    suite_add_tcase(suite, formulas);
    TCase *learning = tcase_create("learning");
    tcase_add_loop_test(learning, gradients_of_the_model_are_right, 0, N_KINDS);
    tcase_add_loop_test(learning, the_model_learns_a_few_sentences, 0, N_KINDS);
    tcase_add_loop_test(learning, decoding_agrees_with_teacher_forcing, 0, N_KINDS);
    tcase_add_test(learning, decoding_leaves_no_memory);
    suite_add_tcase(suite, learning);
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, names_of_parameters);
    tcase_add_test(errors, usage_errors_are_reported);
    tcase_add_test(errors, failing_allocations_leak_nothing);
    suite_add_tcase(suite, errors);
    return suite;
}
