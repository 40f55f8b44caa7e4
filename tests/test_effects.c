/* test_effects.c: each option has an effect. For each field of a table of options the test has another value, with which a
 * short run must give another result. A field without such a value fails the test, so a new option cannot be forgotten. Structs
 * of options that have no table in the library have one here. The command lines of programs: test_effects.py. */
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "kaeru/autograd.h"
#include "kaeru/lm.h"
#include "kaeru/lora.h"
#include "kaeru/seq2seq.h"
#include "result.h"
#include "suites.h"

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

/* Another value of a field. */
typedef struct { const char *name; double value; } Other;

static const Other *other_of(const NnFields *fields, const Other *other, const char *name)
{
    for (; other->name; other++)
        if (strcmp(other->name, name) == 0) return other;
    ck_abort_msg("%s%s: expected another value in this test, with which a run has another result", fields->prefix, name);
}

/* A copy of the options `base` with one field changed; free it with ag_free. */
static void *changed(const NnFields *fields, const void *base, const Other *other)
{
    void *o = ag_alloc(fields->size, 1);
    memcpy(o, base, fields->size);
    NnSettings *s = nn_settings_new();
    char key[96];
    nn_fields_to_settings(fields, o, s);
    snprintf(key, sizeof key, "%s%s", fields->prefix, other->name);
    nn_settings_set(s, key, "%.17g", other->value);
    expect_done(nn_fields_from_settings(fields, o, s));
    ag_free(s);
    return o;
}

/* base: options with which each field matters. other: another value of each, up to a name of NULL. no_effect: names of fields
 * on which the result must not depend, up to NULL. */
static void check_effects(const NnFields *fields, const void *base, Result result(const void *o), const Other *other,
                          const char *const *no_effect)
{
    uint64_t first = result(base).hash;
    ck_assert_msg(result(base).hash == first, "%s: the result of a run is not always the same", fields->prefix);
    for (const NnField *f = fields->field; f->name; f++) {
        const Other *found = other_of(fields, other, f->name);
        const char *const *without = no_effect;
        while (without && *without && strcmp(*without, f->name) != 0) without++;
        bool expected = without && *without;
        void *o = changed(fields, base, found);
        ck_assert_msg((result(o).hash == first) == expected, "%s%s = %g has %s", fields->prefix, f->name, found->value,
                      expected ? "an effect" : "no effect");
        ag_free(o);
    }
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

enum { VOCAB = 7, CONTEXT = 6 };

static Tensor *ids_of(int64_t rows, int64_t length)
{
    Tensor *ids = tensor_ints(SHAPE(rows, length), NULL);
    for (int64_t i = 0; i < rows * length; i++) tensor_mutable_int_data(ids)[i] = (int32_t)(1 + i * 5 % (VOCAB - 1));
    return ids;
}

static void randomize(void *m)
{
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++)
        if (p->item[i].trained) ag_fill_uniform(p->item[i].tensor, -1, 1);
    ag_free(p);
}

/* Weights, logits in training and capacity of the cache. All parameters get random numbers, biases too. */
static Result of_lm(void *m)
{
    Result r = { 1 };
    randomize(m);
    AgScope s = ag_begin(AG_RECORD);
    ag_seed(3);
    mix_weights(&r, m);
    mix_tensor(&r, lm_loss(m, ids_of(2, CONTEXT - 1), ids_of(2, CONTEXT - 1)));
    NnCache *cache = lm_cache_new(m);
    mix_number(&r, (double)cache->capacity);
    ag_free(cache);
    ag_end(s);
    ag_free(m);
    return r;
}

static Result of_gpt(const void *o)
{
    ag_seed(1);
    return of_lm(gpt_new(*(const GPTOptions *)o));
}

START_TEST(options_of_a_gpt)
{
    GPTOptions base = { .layers = 1, .heads = 2, .width = 4, .vocab = VOCAB, .context = CONTEXT, .dropout = 0.25, .eps = 1e-5 };
    check_effects(&gpt_fields, &base, of_gpt, (const Other[]){
        { "layers", 2 }, { "heads", 1 }, { "width", 6 }, { "vocab", VOCAB + 1 }, { "context", CONTEXT + 1 }, { "dropout", 0.5 },
        { "bias", 1 }, { "eps", 0.01 }, { NULL, 0 } }, NULL);
}
END_TEST

static Result of_llama(const void *o)
{
    ag_seed(1);
    return of_lm(llama_new(*(const LlamaOptions *)o));
}

START_TEST(options_of_a_llama)
{
    /* tokens around a text, which programs alone read */
    static const char *const no_effect[] = {
        "begin", "end[0]", "end[1]", "end[2]", "end[3]", "end[4]", "end[5]", "end[6]", "end[7]",
        "end[8]", "end[9]", "end[10]", "end[11]", "end[12]", "end[13]", "end[14]", "end[15]", "pad", NULL
    };
    LlamaOptions base = llama_defaults();
    base.layers = 1;
    base.heads = 2;
    base.kv_heads = 2;
    base.head_width = 8;
    base.width = 4;
    base.hidden = 6;
    base.vocab = VOCAB;
    base.context = CONTEXT;
    base.rope_base = 10;
    base.rope_factor = 2;
    base.rope_context = 40;
    base.rope_high = 4;
    base.dropout = 0.25;
    check_effects(&llama_fields, &base, of_llama, (const Other[]){
        { "layers", 2 }, { "heads", 4 }, { "kv_heads", 1 }, { "head_width", 6 }, { "width", 6 }, { "hidden", 8 },
        { "vocab", VOCAB + 1 }, { "context", CONTEXT + 1 }, { "eps", 0.01 }, { "rope_base", 20 }, { "rope_factor", 3 },
        { "rope_low", 2 }, { "rope_high", 5 }, { "rope_context", 20 }, { "dropout", 0.5 }, { "qkv_bias", 1 }, { "out_bias", 1 },
        { "head_norms", 1 }, { "tied", 0 }, { "begin", 1 },
        { "end[0]", 1 }, { "end[1]", 1 }, { "end[2]", 1 }, { "end[3]", 1 }, { "end[4]", 1 },
        { "end[5]", 1 }, { "end[6]", 1 }, { "end[7]", 1 }, { "end[8]", 1 }, { "end[9]", 1 },
        { "end[10]", 1 }, { "end[11]", 1 }, { "end[12]", 1 }, { "end[13]", 1 }, { "end[14]", 1 },
        { "end[15]", 1 }, { "pad", 1 }, { NULL, 0 } }, no_effect);
}
END_TEST

static Result of_transformer(const void *o)
{
    Result r = { 1 };
    ag_seed(1);
    Transformer *m = transformer_new(VOCAB, VOCAB, *(const TransformerOptions *)o);
    AgScope s = ag_begin(AG_RECORD);
    ag_seed(3);
    mix_weights(&r, m);
    mix_tensor(&r, transformer_forward(m, ids_of(2, 5), ids_of(2, 4), NULL, nn_causal_mask(4)));
    ag_end(s);
    ag_free(m);
    return r;
}

START_TEST(options_of_a_transformer)
{
    TransformerOptions base = transformer_defaults();
    base.N = 1;
    base.d_model = 4;
    base.d_ff = 6;
    base.h = 2;
    base.max_len = 8;
    check_effects(&transformer_fields, &base, of_transformer, (const Other[]){
        { "N", 2 }, { "d_model", 6 }, { "d_ff", 8 }, { "h", 1 }, { "max_len", 9 }, { "activation", AG_GELU },
        { "dropout", 0.5 },
        { "eps", 0.01 }, { "post_norm", NN_POST_NORM }, { "eps_inside", 1 }, { "unbiased", 0 }, { "learned_positions", 1 },
        { "share_embeddings", 1 }, { NULL, 0 } }, NULL);
}
END_TEST

#define FIELD(name, type, ...) NN_FIELD(#name, type, name, __VA_ARGS__, NULL)
#define ANY 0, -1e9, 1e9        /* default and limits, which this test does not use */

static const NnField seq2seq_field[] = {
    FIELD(cell, Seq2SeqOptions, ANY), FIELD(attention, Seq2SeqOptions, ANY), FIELD(score, Seq2SeqOptions, ANY),
    FIELD(width, Seq2SeqOptions, ANY), FIELD(hidden, Seq2SeqOptions, ANY), FIELD(dropout, Seq2SeqOptions, ANY), NN_FIELDS_END
};
static const NnFields seq2seq_fields = { "seq2seq.", sizeof(Seq2SeqOptions), seq2seq_field, NULL };

static Result of_seq2seq(const void *o)
{
    Result r = { 1 };
    ag_seed(1);
    Seq2Seq *m = seq2seq_new(VOCAB, VOCAB, *(const Seq2SeqOptions *)o);
    AgScope s = ag_begin(AG_RECORD);
    ag_seed(3);
    mix_weights(&r, m);
    mix_tensor(&r, seq2seq_forward(m, ids_of(2, 5), ids_of(2, 4), NULL));
    ag_end(s);
    ag_free(m);
    return r;
}

START_TEST(options_of_recurrent_translation)
{
    Seq2SeqOptions base = seq2seq_defaults();
    base.width = 4;
    base.hidden = 6;
    check_effects(&seq2seq_fields, &base, of_seq2seq, (const Other[]){
        { "cell", NN_LSTM }, { "attention", 0 }, { "score", NN_SCORE_SCALED_DOT }, { "width", 5 }, { "hidden", 5 },
        { "dropout", 0.5 }, { NULL, 0 } }, NULL);
}
END_TEST

/* ---- training of language models --------------------------------------------------------------------------------- */

static void evaluated(LmTraining *t, void *arg)
{
    Result *r = arg;
    mix_number(r, (double)t->step);
    mix_number(r, t->lr);
    mix_number(r, t->train_loss);
    mix_number(r, t->valid_loss);
}

/* Final weights, and the losses of all evaluations. */
static Result of_lm_training(const void *o)
{
    static const char text[] = "The frog goes back to the pond, and the pond is deep. The frog looks into the pond; the other "
                               "looks out of it. What was a tadpole is a frog, and the pond is as it was. The frog goes back. ";
    Result r = { 1 };
    ag_seed(1);
    KaeruVocab *v = kaeru_vocab_chars(text, sizeof text - 1);
    LmData *data = lm_data_of_text("the text", text, sizeof text - 1, v);
    GPT *m = gpt_new((GPTOptions){ .layers = 1, .heads = 2, .width = 8, .context = CONTEXT, .vocab = kaeru_vocab_size(v),
                                   .dropout = 0.1, .eps = 1e-5 });
    LmTraining run = { .model = m, .data = data, .options = *(const LmOptions *)o, .settings = nn_settings_new(),
                       .evaluated = evaluated, .arg = &r };
    expect_done(lm_train(&run, false));
    mix_weights(&r, m);
    ag_free(run.settings);
    ag_free(m);
    ag_free(data);
    ag_free(v);
    return r;
}

START_TEST(options_of_lm_train)
{
    LmOptions base = lm_defaults();
    base.steps = 6;
    base.batch = 2;
    base.warmup = 2;
    base.evaluate_every = 3;
    check_effects(&lm_fields, &base, of_lm_training, (const Other[]){
        { "steps", 7 }, { "batch", 3 }, { "accumulate", 2 }, { "window", 4 }, { "warmup", 3 }, { "lr", 2e-3 },
        { "lr_min", 2e-4 },
        { "beta1", 0.5 }, { "beta2", 0.5 }, { "weight_decay", 0.5 }, { "clip", 0.01 }, { "evaluate_every", 2 },
        { "evaluate_tokens", 8 }, { "shards", 2 }, { NULL, 0 } }, NULL);
}
END_TEST

/* ---- training and decoding of a Transformer ---------------------------------------------------------------------- */

typedef struct { double factor, smoothing; int64_t model_size, warmup; int padding_idx, accum_iter; } EpochOptions;
static const NnField epoch_field[] = {
    FIELD(factor, EpochOptions, ANY), FIELD(smoothing, EpochOptions, ANY), FIELD(model_size, EpochOptions, ANY),
    FIELD(warmup, EpochOptions, ANY), FIELD(padding_idx, EpochOptions, ANY), FIELD(accum_iter, EpochOptions, ANY), NN_FIELDS_END
};
static const NnFields epoch_fields = { "epoch.", sizeof(EpochOptions), epoch_field, NULL };

static Transformer *small_transformer(void)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1;
    o.d_model = 4;
    o.d_ff = 6;
    o.h = 2;
    o.max_len = 12;
    ag_seed(1);
    return transformer_new(VOCAB, VOCAB, o);
}

static bool next_batch(void *source, TransformerBatch *batch)
{
    int *left = source;
    if ((*left)-- == 0) return false;
    *batch = transformer_batch_new(ids_of(2 + *left, 5), ids_of(2 + *left, 5), 0);
    return true;
}

static Result of_epoch(const void *options)
{
    const EpochOptions *o = options;
    Result r = { 1 };
    Transformer *m = small_transformer();
    Optimizer *adam = nn_adam_new(m, 0);
    KaeruEpochOptions how = { .criterion = { o->padding_idx, o->smoothing }, .optimizer = adam, .factor = o->factor,
                              .model_size = o->model_size, .warmup = o->warmup, .accum_iter = o->accum_iter };
    KaeruTrainState state = { 0 };
    int batches = 3;
    mix_number(&r, transformer_run_epoch(m, next_batch, &batches, &how, &state));
    mix_weights(&r, m);
    ag_free(adam);
    ag_free(m);
    return r;
}

START_TEST(options_of_an_epoch)
{
    EpochOptions base = { .factor = 1, .model_size = 4, .warmup = 20, .accum_iter = 1 };
    check_effects(&epoch_fields, &base, of_epoch, (const Other[]){
        { "factor", 2 }, { "smoothing", 0.1 }, { "model_size", 8 }, { "warmup", 10 }, { "padding_idx", 3 }, { "accum_iter", 2 },
        { NULL, 0 } }, NULL);
}
END_TEST

static const NnField beam_field[] = {
    FIELD(beam, KaeruBeamOptions, ANY), FIELD(max_len, KaeruBeamOptions, ANY), FIELD(start_symbol, KaeruBeamOptions, ANY),
    FIELD(end_symbol, KaeruBeamOptions, ANY), FIELD(length_penalty, KaeruBeamOptions, ANY), NN_FIELDS_END
};
static const NnFields beam_fields = { "beam.", sizeof(KaeruBeamOptions), beam_field, NULL };

static Result of_beam_search(const void *o)
{
    Result r = { 1 };
    double score;
    Transformer *m = small_transformer();
    ag_seed(5);                 /* weights with which greedy search does not find the best */
    randomize(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    mix_tensor(&r, transformer_beam_search(m, ids_of(1, 5), NULL, *(const KaeruBeamOptions *)o, &score));
    mix_number(&r, score);
    ag_end(s);
    ag_free(m);
    return r;
}

START_TEST(options_of_beam_search)
{
    KaeruBeamOptions base = { .beam = 1, .max_len = 9, .start_symbol = 1, .end_symbol = -1, .length_penalty = 0.5 };
    check_effects(&beam_fields, &base, of_beam_search, (const Other[]){
        { "beam", 4 }, { "max_len", 7 }, { "start_symbol", 2 }, { "end_symbol", 6 }, { "length_penalty", 1 },
        { NULL, 0 } }, NULL);
}
END_TEST

/* ---- sampling, adapters, optimizers ------------------------------------------------------------------------------ */

static const NnField sampling_field[] = {
    FIELD(temperature, LmSampling, ANY), FIELD(top_k, LmSampling, ANY), FIELD(top_p, LmSampling, ANY), NN_FIELDS_END
};
static const NnFields sampling_fields = { "sampling.", sizeof(LmSampling), sampling_field, NULL };

static bool mix_id(void *arg, int32_t id)
{
    mix_number(arg, id);
    return true;
}

static Result of_sampling(const void *o)
{
    Result r = { 1 };
    ag_seed(1);
    GPT *m = gpt_new((GPTOptions){ .layers = 1, .heads = 2, .width = 4, .vocab = VOCAB, .context = CONTEXT, .eps = 1e-5 });
    ag_fill_normal(m->wte->weight, 0, 1);
    nn_eval(m);
    ag_seed(2);
    expect_done(lm_generate(m, (int32_t[]){ 1, 2 }, 2, 30, o, mix_id, &r));
    ag_free(m);
    return r;
}

START_TEST(options_of_sampling)
{
    LmSampling base = { .temperature = 1 };
    check_effects(&sampling_fields, &base, of_sampling, (const Other[]){
        { "temperature", 2 }, { "top_k", 2 }, { "top_p", 0.5 }, { NULL, 0 } }, NULL);
}
END_TEST

static const NnField lora_field[] = {
    FIELD(rank, NnLoraOptions, ANY), FIELD(alpha, NnLoraOptions, ANY), FIELD(dropout, NnLoraOptions, ANY), NN_FIELDS_END
};
static const NnFields lora_fields = { "lora.", sizeof(NnLoraOptions), lora_field, NULL };

/* One layer, its adapter, and a few steps. */
static Result train_linear(Linear *l, Optimizer *o, NnParallel *p)
{
    Result r = { 1 };
    for (int i = 0; i < 4; i++) {
        AgScope s = ag_begin(AG_RECORD);
        while (!p || nn_parallel_shard(p)) {
            Tensor *x = tensor_normal(SHAPE(3, 4), 0, 1), *y = ag_add_scalar(nn_linear(l, x), -1);
            ag_backward(ag_mean(ag_mul(y, y)));
            if (!p) break;
        }
        if (p) nn_parallel_step(p);
        else nn_optimizer_step(o);
        ag_end(s);
    }
    mix_weights(&r, l);
    ag_free(p);
    ag_free(o);
    return r;
}

static Result of_lora(const void *o)
{
    static const char *const targets[] = { "fc", NULL };
    typedef struct { Module module; Linear *fc; } Net;
    NnLoraOptions how = *(const NnLoraOptions *)o;
    how.targets = targets;
    ag_seed(1);
    Net *n = nn_new(Net);
    nn_child(n, fc, nn_linear_new(4, 3));
    expect_done(nn_lora_add(n, how));
    Result r = train_linear(n->fc, nn_sgd_new(n, 0.1), NULL);
    ag_free(n);
    return r;
}

START_TEST(options_of_adapters)
{
    NnLoraOptions base = { .rank = 2, .alpha = 4 };
    check_effects(&lora_fields, &base, of_lora, (const Other[]){
        { "rank", 1 }, { "alpha", 8 }, { "dropout", 0.5 }, { NULL, 0 } }, NULL);
}
END_TEST

static const NnField adam_field[] = {
    FIELD(lr, AgAdam, ANY), FIELD(beta1, AgAdam, ANY), FIELD(beta2, AgAdam, ANY), FIELD(eps, AgAdam, ANY),
    FIELD(weight_decay, AgAdam, ANY), FIELD(decoupled, AgAdam, ANY), NN_FIELDS_END
};
static const NnFields adam_fields = { "adam.", sizeof(AgAdam), adam_field, NULL };
static const NnField sgd_field[] = {
    FIELD(lr, AgSgd, ANY), FIELD(momentum, AgSgd, ANY), FIELD(weight_decay, AgSgd, ANY), FIELD(nesterov, AgSgd, ANY),
    NN_FIELDS_END
};
static const NnFields sgd_fields = { "sgd.", sizeof(AgSgd), sgd_field, NULL };
static const NnField rmsprop_field[] = {
    FIELD(lr, NnRMSprop, ANY), FIELD(alpha, NnRMSprop, ANY), FIELD(eps, NnRMSprop, ANY), FIELD(weight_decay, NnRMSprop, ANY),
    NN_FIELDS_END
};
static const NnFields rmsprop_fields = { "rmsprop.", sizeof(NnRMSprop), rmsprop_field, NULL };
static const NnField parallel_field[] = {
    FIELD(shards, NnParallelOptions, ANY), FIELD(clip, NnParallelOptions, ANY), NN_FIELDS_END
};
static const NnFields parallel_fields = { "parallel.", sizeof(NnParallelOptions), parallel_field, NULL };

static Linear *seeded_linear(void)
{
    ag_seed(1);
    return nn_linear_new(4, 3);
}

static Result of_adam(const void *o)
{
    Linear *l = seeded_linear();
    Result r = train_linear(l, nn_adam_new_with(l, *(const AgAdam *)o), NULL);
    ag_free(l);
    return r;
}

static Result of_sgd(const void *o)
{
    Linear *l = seeded_linear();
    Result r = train_linear(l, nn_sgd_new_with(l, *(const AgSgd *)o), NULL);
    ag_free(l);
    return r;
}

static Result of_rmsprop(const void *o)
{
    Linear *l = seeded_linear();
    Result r = train_linear(l, nn_rmsprop_new_with(l, *(const NnRMSprop *)o), NULL);
    ag_free(l);
    return r;
}

static Result of_parallel(const void *o)
{
    Linear *l = seeded_linear();
    Optimizer *sgd = nn_sgd_new(l, 0.1);
    Result r = train_linear(l, sgd, nn_parallel_new_with(sgd, *(const NnParallelOptions *)o, NULL));
    ag_free(l);
    return r;
}

START_TEST(options_of_optimizers)
{
    AgAdam adam = { .lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1 };
    check_effects(&adam_fields, &adam, of_adam, (const Other[]){
        { "lr", 0.2 }, { "beta1", 0.5 }, { "beta2", 0.5 }, { "eps", 0.1 }, { "weight_decay", 0.2 }, { "decoupled", 1 },
        { NULL, 0 } }, NULL);
    AgSgd sgd = { .lr = 0.1, .momentum = 0.5 };
    check_effects(&sgd_fields, &sgd, of_sgd, (const Other[]){
        { "lr", 0.2 }, { "momentum", 0.25 }, { "weight_decay", 0.2 }, { "nesterov", 1 }, { NULL, 0 } }, NULL);
    NnRMSprop rmsprop = { .lr = 0.1, .alpha = 0.9, .eps = 1e-8 };
    check_effects(&rmsprop_fields, &rmsprop, of_rmsprop, (const Other[]){
        { "lr", 0.2 }, { "alpha", 0.5 }, { "eps", 0.1 }, { "weight_decay", 0.2 }, { NULL, 0 } }, NULL);
    NnParallelOptions parallel = { .shards = 1, .clip = 1 };
    check_effects(&parallel_fields, &parallel, of_parallel, (const Other[]){
        { "shards", 2 }, { "clip", 0.1 }, { NULL, 0 } }, NULL);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* The largest memory of tensors in a training step, and its loss. */
static size_t peak_of(void *m, double *loss)
{
    ag_memory_trim();
    ag_memory_reset_peak();
    AgScope s = ag_begin(AG_RECORD);
    Tensor *l = lm_loss(m, ids_of(8, 32), ids_of(8, 32));
    *loss = tensor_item(l);
    ag_backward(l);
    ag_end(s);
    ag_free(m);
    return ag_memory().peak;
}

START_TEST(recomputing_takes_less_memory)
{
    GPTOptions gpt = { .layers = 4, .heads = 2, .width = 16, .vocab = VOCAB, .context = 32, .eps = 1e-5 };
    LlamaOptions llama = llama_defaults();
    llama.layers = 4;
    llama.heads = llama.kv_heads = 2;
    llama.head_width = 8;
    llama.width = 16;
    llama.hidden = 32;
    llama.vocab = VOCAB;
    llama.context = 32;
    size_t peak[2][2];
    double loss[2][2];
    for (int i = 0; i < 2; i++) {
        gpt.recompute = llama.recompute = i;
        ag_seed(1);
        peak[0][i] = peak_of(gpt_new(gpt), &loss[0][i]);
        peak[1][i] = peak_of(llama_new(llama), &loss[1][i]);
    }
    for (int k = 0; k < 2; k++) {
        ck_assert(loss[k][0] == loss[k][1]);
        ck_assert_msg((double)peak[k][1] < 0.8 * (double)peak[k][0], "model %d: %d bytes with recompute, %d without", k,
                      (int)peak[k][1], (int)peak[k][0]);
    }
}
END_TEST

Suite *effects_suite(void)
{
    Suite *suite = suite_create("effects");
    TCase *c = tcase_create("options");
    tcase_add_test(c, options_of_a_gpt);
    tcase_add_test(c, options_of_a_llama);
    tcase_add_test(c, options_of_a_transformer);
    tcase_add_test(c, options_of_recurrent_translation);
    tcase_add_test(c, options_of_lm_train);
    tcase_add_test(c, options_of_an_epoch);
    tcase_add_test(c, options_of_beam_search);
    tcase_add_test(c, options_of_sampling);
    tcase_add_test(c, options_of_adapters);
    tcase_add_test(c, options_of_optimizers);
    tcase_add_test(c, recomputing_takes_less_memory);
    suite_add_tcase(suite, c);
    return suite;
}
