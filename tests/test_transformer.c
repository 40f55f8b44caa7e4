/* test_transformer.c: the Transformer compared with the Annotated Transformer in PyTorch (fixtures/make_transformer.py), its
 * training loop, and its files. */
#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "expected.h"
#include "folder.h"
#include "kaeru/parallel.h"
#include "kaeru/training.h"
#include "kernel_table.h"
#include "suites.h"
#include "usage_error.h"

#define WEIGHTS TEST_FIXTURES "/transformer.safetensors"
#define EXPECTED TEST_FIXTURES "/transformer_expected.safetensors"

enum { SRC_VOCAB = 13, TGT_VOCAB = 11, D = 12, PAD = 2 };

/* The fixture's sizes. */
static TransformerOptions small(void)
{
    TransformerOptions o = transformer_defaults();
    o.N = 2;
    o.d_model = D;
    o.d_ff = 20;
    o.h = 3;
    o.dropout = 0;
    o.max_len = 40;
    return o;
}

static Transformer *opened(void)
{
    Transformer *m = transformer_new(SRC_VOCAB, TGT_VOCAB, small());
    expect_done(nn_load(WEIGHTS, m));
    return m;
}

static TransformerBatch batch_of(const NnTensorFile *st)
{
    return transformer_batch_new(ids_of(st, "src"), ids_of(st, "tgt"), PAD);
}

static Tensor *log_probs(Transformer *m, const TransformerBatch *b)
{
    return transformer_generator(m->generator, transformer_forward(m, b->src, b->tgt, b->src_mask, b->tgt_mask));
}

static Optimizer *adam(void *model)
{
    return nn_adam_new_with(model, ((AgAdam){ .lr = 1, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9 }));
}

/* ---- the same as PyTorch ----------------------------------------------------------------------------------------- */

/* A bias of the keys adds the same to all scores of a row, so its gradient is 0, except for rounding errors. */
static bool is_key_bias(const char *name)
{
    return strstr(name, "attn.linears.1.bias") != NULL;
}

START_TEST(log_probabilities_agree)
{
    Transformer *m = opened();
    NnTensorFile *st = open_safetensors(EXPECTED);
    nn_eval(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = batch_of(st);
    check_close("log-probabilities", log_probs(m, &b), reals_of(st, "log_probs"), 1e-5);
    transformer_keep_weights(m, true);
    check_close("log-probabilities with weights kept", log_probs(m, &b), reals_of(st, "log_probs"), 1e-5);
    ck_assert_int_eq(b.ntokens, (int64_t)tensor_item(reals_of(st, "ntokens")));
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* With fused attention (_i = 0) and with attention in steps (1). */
START_TEST(loss_and_gradients_agree)
{
    Transformer *m = opened();
    NnTensorFile *st = open_safetensors(EXPECTED);
    transformer_keep_weights(m, _i == 1);
    AgScope s = ag_begin(AG_RECORD);
    TransformerBatch b = batch_of(st);
    Tensor *sum = ag_label_smoothing(log_probs(m, &b), b.tgt_y, PAD, 0.1);
    Tensor *loss = ag_scale(sum, 1 / (double)b.ntokens);
    ck_assert_double_eq_tol(tensor_item(loss), tensor_item(reals_of(st, "loss")), 1e-5);
    ag_backward(loss);
    NnParameters *p = nn_parameters(m);
    int compared = 0;
    for (int i = 0; i < p->n; i++) {
        char name[80];
        snprintf(name, sizeof name, "grad/%s", p->item[i].name);
        if (!p->item[i].trained) continue;
        Tensor *expected = reals_of(st, name);
        ck_assert_msg(tensor_grad_data(p->item[i].tensor) != NULL, "no %s", name);
        double tolerance = is_key_bias(name) ? 1e-6 : 1e-4 * largest(expected);
        check_close(name, tensor_grad(p->item[i].tensor), expected, tolerance);
        compared++;
    }
    ck_assert_int_eq(compared, 92);
    ag_free(p);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

START_TEST(greedy_ids_agree)
{
    Transformer *m = opened();
    NnTensorFile *st = open_safetensors(EXPECTED);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *src = ids_of(st, "src"), *expected = ids_of(st, "greedy");
    Tensor *found = transformer_greedy_decode(m, src, nn_padding_mask(src, PAD), tensor_dim(expected, 1), 0, -1);
    ck_assert(ag_shape_equal(tensor_shape(found), tensor_shape(expected)));
    for (int64_t i = 0; i < tensor_numel(expected); i++)
        ck_assert_int_eq(tensor_int_data(found)[i], tensor_int_data(expected)[i]);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Gives sentences in batches of `rows`, all of them `rounds` times. */
typedef struct { Tensor *src, *tgt; int64_t rows, at; int rounds; } Source;

static bool next_batch(void *source, TransformerBatch *batch)
{
    Source *s = source;
    int64_t all = tensor_dim(s->src, 0), stop = s->at + s->rows < all ? s->at + s->rows : all;
    if (s->rounds == 0) return false;
    *batch = transformer_batch_new(ag_slice(s->src, 0, s->at, stop), ag_slice(s->tgt, 0, s->at, stop), PAD);
    s->at = stop % all;
    s->rounds -= s->at == 0;
    return true;
}

typedef struct { int calls; double first, last, lr; } Seen;

static void record(void *arg, const KaeruTrainState *state, double loss, double lr)
{
    Seen *seen = arg;
    ck_assert_int_eq(state->step, ++seen->calls);
    if (seen->calls == 1) seen->first = loss;
    seen->last = loss;
    seen->lr = lr;
}

static KaeruEpochOptions epoch_options(Optimizer *o)
{
    return (KaeruEpochOptions){ .criterion = { PAD, 0.1 }, .optimizer = o, .factor = 0.7, .model_size = D, .warmup = 4 };
}

static void check_trained(Transformer *m, const NnTensorFile *st)
{
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++) {
        char name[80];
        snprintf(name, sizeof name, "trained/%s", p->item[i].name);
        /* Adam scales the rounding errors of the key biases up to full steps; no output depends on these biases. */
        if (p->item[i].trained && !is_key_bias(name)) check_close(name, p->item[i].tensor, reals_of(st, name), 1e-5);
    }
    ag_free(p);
}

START_TEST(three_steps_by_hand_agree)
{
    Transformer *m = opened();
    NnTensorFile *st = open_safetensors(EXPECTED);
    Optimizer *o = adam(m);
    AgScope whole = ag_begin(AG_RECORD);
    for (int step = 0; step < 3; step++) {
        AgScope s = ag_begin(AG_RECORD);
        TransformerBatch b = batch_of(st);
        Tensor *loss = ag_label_smoothing(log_probs(m, &b), b.tgt_y, PAD, 0.1);
        ag_backward(ag_scale(loss, 1 / (double)b.ntokens));
        nn_optimizer_set_lr(o, nn_schedule_noam(step, D, 0.7, 4));
        nn_optimizer_step(o);
        ag_end(s);
    }
    check_trained(m, st);
    ag_end(whole);
    ag_free(o);
    ag_free(st);
    ag_free(m);
}
END_TEST

START_TEST(three_steps_by_run_epoch_agree)
{
    Transformer *m = opened();
    NnTensorFile *st = open_safetensors(EXPECTED);
    Optimizer *o = adam(m);
    AgScope whole = ag_begin(AG_RECORD);
    Source source = { .src = ids_of(st, "src"), .tgt = ids_of(st, "tgt"), .rows = 3, .rounds = 3 };
    KaeruEpochOptions options = epoch_options(o);
    Seen seen = { .calls = 0 };
    options.done = record;
    options.done_arg = &seen;
    KaeruTrainState state = { 0 };
    double mean = transformer_run_epoch(m, next_batch, &source, &options, &state);
    check_trained(m, st);
    double first = tensor_item(reals_of(st, "loss"));
    ck_assert_double_eq_tol(seen.first, first, 1e-5);
    ck_assert(seen.last < first && mean < first && mean > seen.last);
    ck_assert_double_eq(seen.lr, nn_schedule_noam(2, D, 0.7, 4));
    ck_assert(seen.calls == 3 && state.step == 3 && state.accum_step == 3 && state.samples == 9 && state.tokens == 30);

    /* Evaluation changes nothing. */
    Transformer *before = nn_clone(m);
    options.optimizer = NULL;
    options.done = NULL;
    source.rounds = 1;
    double loss = transformer_run_epoch(m, next_batch, &source, &options, &state);
    TransformerBatch b = batch_of(st);
    double sum = tensor_item(ag_label_smoothing(log_probs(m, &b), b.tgt_y, options.criterion.padding_idx,
                                                options.criterion.smoothing));
    ck_assert_double_eq_tol(loss, sum / 10, 1e-6);
    ck_assert(state.step == 3 && state.accum_step == 3 && state.samples == 9 && state.tokens == 30);
    check_same_parameters(before, m);
    ag_free(before);
    ag_end(whole);
    ag_free(o);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* Seven sentences of up to six tokens, of very different lengths. */
static void make_sentences(Tensor **src, Tensor **tgt)
{
    *src = tensor_randint(SHAPE(7, 5), 3, SRC_VOCAB);
    *tgt = tensor_randint(SHAPE(7, 7), 3, TGT_VOCAB);
    for (int64_t i = 0; i < 7; i++) {
        for (int64_t j = 1 + i % 5; j < 5; j++) tensor_mutable_int_data(*src)[i * 5 + j] = PAD;
        for (int64_t j = 2 + i * 3 % 5; j < 7; j++) tensor_mutable_int_data(*tgt)[i * 7 + j] = PAD;
    }
}

/* The model after one epoch with batches of `rows` and a step after every `accum_iter` batches. */
static Transformer *trained_with(Tensor *src, Tensor *tgt, int64_t rows, int accum_iter, double *loss,
                                 int64_t *steps)
{
    Transformer *m = opened();
    Optimizer *o = adam(m);
    KaeruEpochOptions options = epoch_options(o);
    options.accum_iter = accum_iter;
    Source source = { .src = src, .tgt = tgt, .rows = rows, .rounds = 1 };
    KaeruTrainState state = { 0 };
    *loss = transformer_run_epoch(m, next_batch, &source, &options, &state);
    *steps = state.accum_step;
    ck_assert_int_eq(state.step, (7 + rows - 1) / rows);
    ag_free(o);
    return m;
}

START_TEST(accumulated_small_batches_equal_a_large_one)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *src, *tgt;
    make_sentences(&src, &tgt);
    static const struct { int64_t rows; int accum_iter; } small_ones[] = { { 1, 7 }, { 2, 4 }, { 3, 3 }, { 3, 100 } };
    double loss, loss_large;
    int64_t steps;
    Transformer *large = trained_with(src, tgt, 7, 0, &loss_large, &steps);
    ck_assert_int_eq(steps, 1);
    for (int i = 0; i < 4; i++) {
        Transformer *m = trained_with(src, tgt, small_ones[i].rows, small_ones[i].accum_iter, &loss, &steps);
        ck_assert_int_eq(steps, 1);
        ck_assert_double_eq_tol(loss, loss_large, 1e-6);
        NnParameters *p = nn_parameters(m), *q = nn_parameters(large);
        for (int k = 0; k < p->n; k++)
            if (!is_key_bias(p->item[k].name))
                check_close(p->item[k].name, p->item[k].tensor, q->item[k].tensor, 1e-6);
        ag_free(q);
        ag_free(p);
        ag_free(m);
    }
    ag_free(large);
    ag_end(s);
}
END_TEST

/* Five batches with a step after every two, and one for the rest, equal three runs with one step each. */
START_TEST(the_last_incomplete_step_is_taken)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *src = tensor_randint(SHAPE(5, 4), 3, SRC_VOCAB), *tgt = tensor_randint(SHAPE(5, 4), 3, TGT_VOCAB);
    Transformer *m[2] = { opened(), opened() };
    for (int k = 0; k < 2; k++) {
        Optimizer *o = adam(m[k]);
        KaeruEpochOptions options = epoch_options(o);
        options.accum_iter = 2;
        KaeruTrainState state = { 0 };
        for (int64_t i = 0; i < 5; i += k == 0 ? 5 : 2) {
            int64_t stop = k == 0 || i == 4 ? 5 : i + 2;
            Source part = { .src = ag_slice(src, 0, i, stop), .tgt = ag_slice(tgt, 0, i, stop), .rows = 1,
                            .rounds = 1 };
            transformer_run_epoch(m[k], next_batch, &part, &options, &state);
        }
        ck_assert(state.accum_step == 3 && state.step == 5 && state.samples == 5 && state.tokens == 15);
        ag_free(o);
    }
    check_same_parameters(m[0], m[1]);
    ag_free(m[0]);
    ag_free(m[1]);
    ag_end(s);
}
END_TEST

/* An epoch that is stopped after each batch and continued has the mean loss of the whole epoch, and the same weights. */
START_TEST(a_stopped_epoch_goes_on)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *src, *tgt;
    make_sentences(&src, &tgt);
    double loss, whole;
    int64_t steps;
    Transformer *expected = trained_with(src, tgt, 3, 1, &whole, &steps), *m = opened();
    ck_assert_int_eq(steps, 3);
    Optimizer *o = adam(m);
    volatile sig_atomic_t stop = 1;
    KaeruEpochOptions options = epoch_options(o);
    options.stop = &stop;
    Source source = { .src = src, .tgt = tgt, .rows = 3, .rounds = 1 };
    KaeruTrainState state = { 0 };
    for (int i = 0; i <= steps; i++) {
        loss = transformer_run_epoch(m, next_batch, &source, &options, &state);
        ck_assert_int_eq(state.stopped, i < steps);
    }
    ck_assert(loss == whole && state.epoch_loss == 0 && state.epoch_tokens == 0);
    check_same_parameters(expected, m);
    ag_free(o);
    ag_free(m);
    ag_free(expected);
    ag_end(s);
}
END_TEST

/* The gradients of seven sentences are the same if they are computed in parts, also if some parts have no sentence. */
START_TEST(parts_without_rows_change_nothing)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *src, *tgt;
    make_sentences(&src, &tgt);
    double whole;
    int64_t steps;
    Transformer *expected = trained_with(src, tgt, 7, 1, &whole, &steps);
    for (int shards = 2; shards <= 10; shards += 4) {
        Transformer *m = opened();
        Optimizer *o = adam(m);
        KaeruEpochOptions options = epoch_options(o);
        options.parallel = nn_parallel_new(o, shards, NULL);
        Source source = { .src = src, .tgt = tgt, .rows = 7, .rounds = 1 };
        KaeruTrainState state = { 0 };
        ck_assert_double_eq_tol(transformer_run_epoch(m, next_batch, &source, &options, &state), whole, 1e-6);
        NnParameters *p = nn_parameters(m), *q = nn_parameters(expected);
        for (int k = 0; k < p->n; k++)
            if (!is_key_bias(p->item[k].name)) check_close(p->item[k].name, p->item[k].tensor, q->item[k].tensor, 1e-6);
        ag_free(q);
        ag_free(p);
        ag_free(options.parallel);
        ag_free(o);
        ag_free(m);
    }
    ag_free(expected);
    ag_end(s);
}
END_TEST

START_TEST(batches_hide_padding_and_the_future)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *src = tensor_ints(SHAPE(2, 3), (int32_t[]){ 5, 6, 7, 5, PAD, PAD });
    Tensor *tgt = tensor_ints(SHAPE(2, 4), (int32_t[]){ 0, 4, 5, 6, 0, 4, PAD, PAD });
    TransformerBatch b = transformer_batch_new(src, tgt, PAD);
    ck_assert_int_eq(b.ntokens, 4);
    ck_assert_mem_eq(tensor_int_data(b.tgt), ((int32_t[]){ 0, 4, 5, 0, 4, PAD }), 6 * sizeof(int32_t));
    ck_assert_mem_eq(tensor_int_data(b.tgt_y), ((int32_t[]){ 4, 5, 6, 4, PAD, PAD }), 6 * sizeof(int32_t));
    ck_assert(ag_shape_equal(tensor_shape(b.src_mask), SHAPE(2, 1, 3)));
    ck_assert(ag_shape_equal(tensor_shape(b.tgt_mask), SHAPE(2, 3, 3)));
    ck_assert_mem_eq(tensor_bool_data(b.src_mask), ((uint8_t[]){ 1, 1, 1, 1, 0, 0 }), 6);
    ck_assert_mem_eq(tensor_bool_data(b.tgt_mask),
                     ((uint8_t[]){ 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0 }), 18);
    Tensor *flat = tensor_ints(SHAPE(6), NULL), *none = tensor_ints(SHAPE(2, 0), NULL);
    EXPECT_USAGE_ERROR("transformer_batch_new: src (6,) and tgt (2, 4), expected (B,S) and (B,T+1)",
                       transformer_batch_new(flat, tgt, PAD));
    EXPECT_USAGE_ERROR("tests/test_transformer.c", transformer_batch_new(flat, tgt, PAD));
    EXPECT_USAGE_ERROR("src (2, 3) and tgt (2, 0)", transformer_batch_new(src, none, PAD));
    EXPECT_USAGE_ERROR("transformer_batch_new", transformer_batch_new(ag_slice(src, 0, 0, 1), tgt, PAD));
    ag_end(s);
}
END_TEST

START_TEST(smoothed_targets)
{
    AgScope s = ag_begin(AG_RECORD);
    KaeruLabelSmoothing criterion = { 0, 0.4 };     /* the notebook's example: size 5, padding 0, smoothing 0.4 */
    Tensor *target = tensor_ints(SHAPE(5), (int32_t[]){ 2, 1, 0, 3, 3 });
    ag_real low = (ag_real)(0.4 / 3), top = (ag_real)0.6;
    ag_real rows[5][5] = { { 0, low, top, low, low }, { 0, top, low, low, low }, { 0, 0, 0, 0, 0 },
                        { 0, low, low, top, low }, { 0, low, low, top, low } };
    Tensor *any = tensor_set_requires_grad(tensor_zeros(SHAPE(5, 5)), true);
    ag_backward(ag_label_smoothing(any, target, criterion.padding_idx, criterion.smoothing));
    for (int i = 0; i < 25; i++) ck_assert_double_eq_tol(-(double)tensor_grad_data(any)[i], (double)(&rows[0][0])[i], 1e-7);
    Tensor *log_p = ag_log_softmax(tensor_normal(SHAPE(5, 5), 0, 1), -1);
    double sum = 0, nll = 0;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++) {
            double t = (double)rows[i][j], x = (double)tensor_data(log_p)[i * 5 + j];
            if (t > 0) sum += t * (log(t) - x);
            if (j == tensor_int_data(target)[i] && j != 0) nll -= x;
        }
    ck_assert_double_eq_tol(tensor_item(ag_label_smoothing(log_p, target, criterion.padding_idx, criterion.smoothing)), sum,
                            1e-5);
    criterion.smoothing = 0;
    ck_assert_double_eq_tol(tensor_item(ag_label_smoothing(log_p, target, criterion.padding_idx, criterion.smoothing)), nll,
                            1e-5);
    /* A probability of exactly 0: the loss is 0 at the padding, infinite where the target is not 0. */
    Tensor *one = tensor_ints(SHAPE(1), (int32_t[]){ 1 });
    Tensor *no_pad = ag_log(tensor_from(SHAPE(1, 5), (ag_real[]){ 0, (ag_real)0.7, (ag_real)0.1, (ag_real)0.1, (ag_real)0.1 }));
    Tensor *no_other = ag_log(tensor_from(SHAPE(1, 5), (ag_real[]){ (ag_real)0.1, (ag_real)0.7, (ag_real)0.1, 0,
                                                                   (ag_real)0.1 }));
    double top_p = 0.9, low_p = 0.1 / 3, kl = top_p * log(top_p / 0.7) + 3 * low_p * log(low_p / 0.1);
    criterion.smoothing = 0.1;
    ck_assert_double_eq_tol(tensor_item(ag_label_smoothing(no_pad, one, criterion.padding_idx, criterion.smoothing)), kl, 1e-6);
    ck_assert(isinf(tensor_item(ag_label_smoothing(no_other, one, criterion.padding_idx, criterion.smoothing))));
    ck_assert(isfinite(tensor_item(ag_label_smoothing(no_other, tensor_ints(SHAPE(1), (int32_t[]){ 3 }), 0, 1))));
    ag_end(s);
}
END_TEST

START_TEST(rates)
{
    ck_assert_double_eq(nn_schedule_noam(0, 512, 1, 4000), nn_schedule_noam(1, 512, 1, 4000));
    ck_assert_double_eq_tol(nn_schedule_noam(1, 512, 1, 4000), pow(512, -0.5) * pow(4000, -1.5), 1e-15);
    ck_assert_double_eq_tol(nn_schedule_noam(4000, 512, 2, 4000), 2 * pow(512, -0.5) * pow(4000, -0.5), 1e-12);
    ck_assert_double_eq_tol(nn_schedule_noam(16000, 512, 1, 4000), pow(512, -0.5) * pow(16000, -0.5), 1e-12);
    double peak = nn_schedule_noam(4000, 256, 1, 4000);
    ck_assert(nn_schedule_noam(3999, 256, 1, 4000) < peak && nn_schedule_noam(4001, 256, 1, 4000) < peak);
}
END_TEST

/* Five steps with dropout give the same weights, bit for bit, with any number of threads and any instruction set. */
static Transformer *five_steps(int threads)
{
    ag_set_threads(threads);
    ag_seed(3);
    TransformerOptions o = small();
    o.N = 1;
    o.d_model = 64;
    o.h = 4;
    o.d_ff = 96;
    o.dropout = 0.1;
    Transformer *m = transformer_new(53, 47, o);
    Optimizer *optimizer = adam(m);
    AgScope s = ag_begin(AG_RECORD);
    Source source = { .src = tensor_randint(SHAPE(8, 25), 3, 53), .tgt = tensor_randint(SHAPE(8, 26), 3, 47), .rows = 8,
                      .rounds = 5 };
    KaeruEpochOptions options = epoch_options(optimizer);
    options.model_size = 64;
    KaeruTrainState state = { 0 };
    transformer_run_epoch(m, next_batch, &source, &options, &state);
    ag_end(s);
    ag_free(optimizer);
    return m;
}

START_TEST(threads_and_instruction_sets_change_no_bit)
{
    const char *const isas[] = { k_isa(), "portable", "avx2", "avx512" };
    Transformer *first = NULL;
    int runs = 0;
    for (int i = 0; i < 4; i++) {
        if (!k_use_isa(isas[i])) continue;
        for (int threads = 1; threads <= 8; threads = threads < 3 ? threads + 1 : threads + 5) {
            Transformer *m = five_steps(threads);
            if (first) check_same_parameters(first, m);
            else first = nn_clone(m);
            ag_free(m);
            runs++;
        }
    }
    ck_assert_int_ge(runs, 4);
    ag_free(first);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------- */

START_TEST(written_files_have_the_names_and_values_of_pytorch)
{
    Transformer *m = opened();
    expect_done(nn_save(in_folder("w"), m));
    NnTensorFile *theirs = st_open(WEIGHTS), *ours = st_open(in_folder("w"));
    ck_assert(theirs && ours);
    ck_assert_uint_eq(ours->n_tensors, 94);
    ck_assert_uint_eq(theirs->n_tensors, 94);
    AgScope s = ag_begin(AG_NO_GRAD);
    for (size_t i = 0; i < theirs->n_tensors; i++) {
        const char *name = theirs->tensor[i].item.name;
        check_close(name, reals_of(ours, name), reals_of(theirs, name), 0);
    }
    static const char *const names[] = {
        "encoder.layers.0.self_attn.linears.0.weight", "encoder.layers.0.sublayer.1.norm.a_2", "encoder.norm.b_2",
        "decoder.layers.1.src_attn.linears.3.bias", "encoder.layers.0.feed_forward.w_1.weight",
        "src_embed.0.lut.weight", "src_embed.1.pe", "tgt_embed.1.pe", "generator.proj.weight",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) ck_assert_ptr_nonnull(st_find(ours, names[i]));
    ag_end(s);
    ag_free(ours);
    ag_free(theirs);
    ag_free(m);
}
END_TEST

/* The notebook's table of positions, (1,5000,D), instead of the fixture's 40 positions. */
START_TEST(the_notebooks_table_of_positions_loads)
{
    TransformerOptions o = small();
    o.max_len = transformer_defaults().max_len;
    Transformer *m = transformer_new(SRC_VOCAB, TGT_VOCAB, o);
    NnTensorFile *st = st_open(WEIGHTS);
    StEntry entry[94];
    AgScope s = ag_begin(AG_NO_GRAD);
    for (size_t i = 0; i < st->n_tensors; i++) {
        const char *name = st->tensor[i].item.name;
        bool pe = strstr(name, ".pe") != NULL;
        Tensor *t = pe ? ag_scale(nn_find(m, name), 0.5) : reals_of(st, name);
        if (pe) ck_assert(ag_shape_equal(tensor_shape(t), SHAPE(1, 5000, D)));
        entry[i] = st_entry(name, t);
    }
    expect_done(st_write(in_folder("w"), entry, st->n_tensors, NULL));
    expect_done(nn_load(in_folder("w"), m));
    ck_assert_double_eq(largest(nn_find(m, "tgt_embed.1.pe")), 0.5);
    expect_refused(nn_load(WEIGHTS, m), "src_embed.1.pe");
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

START_TEST(checkpoints_are_averaged)
{
    Transformer *m[3], *mean = transformer_new(SRC_VOCAB, TGT_VOCAB, small());
    const char *paths[3] = { "a", "b", "c" };
    char copy[3][128];
    for (int i = 0; i < 3; i++) {
        m[i] = transformer_new(SRC_VOCAB, TGT_VOCAB, small());
        snprintf(copy[i], sizeof copy[i], "%s", in_folder(paths[i]));
        paths[i] = copy[i];
        Optimizer *o = adam(m[i]);
        expect_done(i == 1 ? nn_checkpoint_save(paths[i], m[i], o, NULL) : nn_save(paths[i], m[i]));
        ag_free(o);
    }
    expect_done(nn_average_checkpoints(mean, paths, 3));
    NnParameters *p[4] = { nn_parameters(m[0]), nn_parameters(m[1]), nn_parameters(m[2]), nn_parameters(mean) };
    for (int i = 0; i < p[3]->n; i++)
        for (int64_t k = 0; k < tensor_numel(p[3]->item[i].tensor); k++) {
            double sum = 0, found = (double)tensor_data(p[3]->item[i].tensor)[k];
            for (int j = 0; j < 3; j++) sum += (double)tensor_data(p[j]->item[i].tensor)[k];
            ck_assert_double_eq_tol(found, sum / 3, 1e-6);
            if (!p[3]->item[i].trained) ck_assert_double_eq(found, (double)tensor_data(p[0]->item[i].tensor)[k]);
        }
    for (int i = 0; i < 4; i++) ag_free(p[i]);

    Transformer *before = nn_clone(mean);
    folder_write("b", "no", 2);
    expect_refused(nn_average_checkpoints(mean, paths, 3), "b: ");
    expect_refused(nn_average_checkpoints(mean, paths, 0), "no checkpoints");
    check_same_parameters(before, mean);
    expect_done(nn_average_checkpoints(mean, paths, 1));
    check_same_parameters(m[0], mean);
    ag_free(before);
    ag_free(mean);
    for (int i = 0; i < 3; i++) ag_free(m[i]);
}
END_TEST

START_TEST(the_number_of_heads_is_checked)
{
    TransformerOptions o = small();
    o.h = 1;
    ag_free(transformer_new(SRC_VOCAB, TGT_VOCAB, o));
    o.h = 0;
    EXPECT_USAGE_ERROR("transformer.h is 0, expected a whole number from 1 to 16777216",
                       transformer_new(SRC_VOCAB, TGT_VOCAB, o));
    o.h = 5;
    EXPECT_USAGE_ERROR("a d_model of 12 does not divide into 5 heads", transformer_new(SRC_VOCAB, TGT_VOCAB, o));
}
END_TEST

START_TEST(a_large_shared_vocabulary_is_counted_once)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1, o.d_model = 4, o.d_ff = 4, o.h = 1, o.max_len = 4, o.share_embeddings = true;
    Transformer *m = transformer_new(5000, 5000, o);
    NnSettings *s = nn_settings_new();
    transformer_to_settings(5000, 5000, &o, s);
    expect_done(nn_checkpoint_save(in_folder("t.safetensors"), m, NULL, s));
    Transformer *again = transformer_load(in_folder("t.safetensors"));
    ck_assert_msg(again != NULL, "%s", ag_error());
    check_same_parameters(m, again);
    ag_free(again);
    ag_free(s);
    ag_free(m);
}
END_TEST

Suite *transformer_suite(void)
{
    Suite *suite = suite_create("transformer");
    TCase *parity = tcase_create("parity");
    tcase_add_test(parity, log_probabilities_agree);
    tcase_add_loop_test(parity, loss_and_gradients_agree, 0, 2);
    tcase_add_test(parity, greedy_ids_agree);
    tcase_add_test(parity, three_steps_by_hand_agree);
    tcase_add_test(parity, three_steps_by_run_epoch_agree);
    tcase_add_test(parity, a_stopped_epoch_goes_on);
    tcase_add_test(parity, parts_without_rows_change_nothing);
    suite_add_tcase(suite, parity);
    TCase *training = tcase_create("training");
    tcase_add_test(training, accumulated_small_batches_equal_a_large_one);
    tcase_add_test(training, the_last_incomplete_step_is_taken);
    tcase_add_test(training, batches_hide_padding_and_the_future);
    tcase_add_test(training, smoothed_targets);
    tcase_add_test(training, rates);
    tcase_add_test(training, threads_and_instruction_sets_change_no_bit);
    tcase_add_test(training, the_number_of_heads_is_checked);
    suite_add_tcase(suite, training);
    TCase *layout = tcase_create("files");
    tcase_add_checked_fixture(layout, folder_make, folder_remove);
    tcase_add_test(layout, written_files_have_the_names_and_values_of_pytorch);
    tcase_add_test(layout, the_notebooks_table_of_positions_loads);
    tcase_add_test(layout, checkpoints_are_averaged);
    tcase_add_test(layout, a_large_shared_vocabulary_is_counted_once);
    suite_add_tcase(suite, layout);
    return suite;
}
