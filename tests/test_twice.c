/* test_twice.c: one object used twice. For each pair of uses A and B of an object, B after A has the same result as B on a new
 * object. Where A changes the weights on purpose, they get their first values again between the two. What is left is what A has
 * left behind, such as a mode, packed weights, gradients or a cache. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "kaeru/autograd.h"
#include "kaeru/lm.h"
#include "kaeru/lora.h"
#include "kaeru/seq2seq.h"
#include "kaeru/tensor_files.h"
#include "result.h"
#include "walk.h"
#include "suites.h"

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static void mix_file(Result *r, const char *name)
{
    char bytes[4096];
    FILE *f = fopen(in_folder(name), "rb");
    ck_assert_ptr_nonnull(f);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, f)) > 0; ) mix_bytes(r, bytes, n);
    fclose(f);
}

typedef struct { const char *name; void (*run)(void *object, Result *r); } Use;
typedef struct {
    const char *name;
    void *(*make)(void);                /* the same object each time; ag_free frees it */
    void (*restore)(void *object);      /* the values, such as weights, that uses change on purpose; NULL: none */
    const Use *use;                     /* ends with a name of NULL */
} Subject;

/* Runs `first`, unless NULL, and then `second` on a new object. Returns the second result. */
static uint64_t result_of(const Subject *s, const Use *first, const Use *second)
{
    Result unused = { 1 }, r = { 1 };
    ag_seed(1);
    void *object = s->make();
    if (s->restore) s->restore(object);
    ag_seed(2);
    if (first) first->run(object, &unused);
    if (first && s->restore) s->restore(object);
    ag_seed(3);
    second->run(object, &r);
    ag_free(object);
    return r.hash;
}

static void check_pairs(const Subject *s)
{
    for (const Use *second = s->use; second->name; second++) {
        uint64_t expected = result_of(s, NULL, second);
        for (const Use *first = s->use; first->name; first++)
            ck_assert_msg(result_of(s, first, second) == expected, "%s: %s gives another result after %s", s->name,
                          second->name, first->name);
    }
}

/* Each parameter and buffer of a module gets numbers that depend on its place alone; counts and flags become 0. */
static void restore_weights(void *module)
{
    NnParameters *p = nn_parameters(module);
    for (int i = 0; i < p->n; i++) {
        Tensor *t = p->item[i].tensor;
        for (int64_t j = 0; j < tensor_numel(t); j++) {
            if (tensor_dtype(t) == AG_REAL) tensor_mutable_data(t)[j] = (ag_real)((double)((i * 31 + j * 17) % 23 - 11) / 23);
            if (tensor_dtype(t) == AG_INT) tensor_mutable_int_data(t)[j] = 0;
        }
    }
    ag_free(p);
}

/* ---- language models --------------------------------------------------------------------------------------------- */

static const char text[] = "The frog goes back to the pond, and the pond is deep. The frog looks into the pond; the other "
                           "looks out of it. What was a tadpole is a frog, and the pond is as it was. The frog goes back. ";
enum { CONTEXT = 8 };

static KaeruVocab *letters(void)
{
    return kaeru_vocab_chars(text, sizeof text - 1);
}

static void *new_gpt(void)
{
    KaeruVocab *v = letters();
    GPT *m = gpt_new((GPTOptions){ .layers = 2, .heads = 2, .width = 8, .context = CONTEXT, .vocab = kaeru_vocab_size(v),
                                   .dropout = 0.25, .eps = 1e-5 });
    ag_free(v);
    return m;
}

static void *new_llama(void)
{
    KaeruVocab *v = letters();
    LlamaOptions o = llama_defaults();
    o.layers = 2;
    o.heads = 2;
    o.kv_heads = 1;
    o.head_width = 4;
    o.width = 8;
    o.hidden = 12;
    o.context = CONTEXT;
    o.vocab = kaeru_vocab_size(v);
    o.dropout = 0.25;
    Llama *m = llama_new(o);
    ag_free(v);
    return m;
}

static Tensor *ids_of(int64_t rows, int64_t length)
{
    Tensor *ids = tensor_ints(SHAPE(rows, length), NULL);
    for (int64_t i = 0; i < rows * length; i++) tensor_mutable_int_data(ids)[i] = (int32_t)(3 + i * 5 % 8);
    return ids;
}

static void train_lm(void *m, Result *r)
{
    KaeruVocab *v = letters();
    LmData *data = lm_data_of_text("the text", text, sizeof text - 1, v);
    LmTraining t = { .model = m, .data = data, .options = lm_defaults(), .settings = nn_settings_new(),
                     .last = in_folder("last"), .best = in_folder("best") };
    t.options.steps = 4;
    t.options.batch = 2;
    t.options.evaluate_every = 2;
    expect_done(lm_train(&t, false));
    mix_weights(r, m);
    mix_number(r, t.train_loss);
    mix_number(r, t.valid_loss);
    mix_file(r, "last");
    mix_file(r, "best");
    ag_free(t.settings);
    ag_free(data);
    ag_free(v);
}

static void evaluate_lm(void *m, Result *r)
{
    KaeruVocab *v = letters();
    LmData *data = lm_data_of_text("the text", text, sizeof text - 1, v);
    mix_number(r, lm_evaluate(m, data, 2, 0, 0, NULL));
    mix_number(r, ((Module *)m)->training);
    ag_free(data);
    ag_free(v);
}

static bool mix_id(void *r, int32_t id)
{
    mix_number(r, id);
    return true;
}

static void generate(void *m, Result *r)
{
    nn_eval(m);
    expect_done(lm_generate(m, (int32_t[]){ 1, 2 }, 2, 3 * CONTEXT, &(LmSampling){ .temperature = 1 }, mix_id, r));
}

static void generate_in_bf16(void *m, Result *r)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    ag_precision(AG_BF16);
    generate(m, r);
    ag_end(s);
}

static void stop_generating(void *m, Result *r)
{
    (void)r;
    nn_eval(m);
    expect_done(lm_generate(m, (int32_t[]){ 1 }, 1, 0, &(LmSampling){ .temperature = 1 }, mix_id, &(Result){ 1 }));
}

static void train_step(void *m, Result *r)
{
    nn_train(m);
    Optimizer *o = nn_adamw_new(m, 0.01);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *loss = lm_loss(m, ids_of(2, 5), ids_of(2, 5));
    ag_backward(loss);
    mix_number(r, tensor_item(loss));
    mix_number(r, nn_clip_grad_norm(m, 0.5));
    nn_optimizer_step(o);
    ag_end(s);
    ag_free(o);
    mix_weights(r, m);
}

static void pass_and_forget(void *m, Result *r)
{
    AgScope s = ag_begin(AG_RECORD);
    nn_train(m);
    ag_backward(lm_loss(m, ids_of(2, 5), ids_of(2, 5)));
    mix_number(r, nn_grad_norm(m));
    ag_end(s);
    nn_zero_grad(m);
}

static void compute_logits(void *m, Result *r)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    nn_eval(m);
    NnCache *cache = lm_cache_new(m);
    mix_tensor(r, lm_logits(m, ids_of(2, 4), cache));
    mix_tensor(r, lm_next(m, ids_of(2, 2), cache));
    ag_free(cache);
    ag_end(s);
}

static void save(void *m, Result *r)
{
    expect_done(nn_save(in_folder("weights"), m));
    mix_file(r, "weights");
}

static void save_checkpoint(void *m, Result *r)
{
    Optimizer *o = nn_adam_new(m, 0.1);
    expect_done(nn_checkpoint_save(in_folder("checkpoint"), m, o, NULL));
    mix_file(r, "checkpoint");
    ag_free(o);
}

static void clone(void *m, Result *r)
{
    void *copy = nn_clone(m);
    mix_weights(r, copy);
    ag_free(copy);
}

static void pack(void *m, Result *r)
{
    nn_pack_weights(m, true);
    compute_logits(m, r);
    nn_pack_weights(m, false);
}

static void summarize(void *m, Result *r)
{
    char line[256];
    FILE *f = tmpfile();
    nn_summary(m, f);
    rewind(f);
    while (fgets(line, sizeof line, f)) mix_bytes(r, line, strlen(line));
    fclose(f);
}

static void explain(void *m, Result *r)
{
    FILE *f = tmpfile();
    AgScope s = ag_begin(AG_RECORD);
    nn_eval(m);
    Tensor *loss = lm_loss(m, ids_of(2, 5), ids_of(2, 5));
    ag_explain(f, loss);
    mix_number(r, tensor_item(loss));
    ag_end(s);
    fclose(f);
}

static void average(void *m, Result *r)
{
    expect_done(nn_save(in_folder("one"), m));
    expect_done(nn_average_checkpoints(m, (const char *const[]){ in_folder("one"), in_folder("one") }, 2));
    mix_weights(r, m);
}

static void fail_to_load(void *m, Result *r)
{
    expect_refused(nn_load(in_folder("absent"), m), "absent");
    mix_weights(r, m);
}

/* What a use leaves behind in memory. */
static void count_memory(void *m, Result *r)
{
    (void)m;
    ag_memory_trim();
    mix_number(r, (double)ag_memory().in_use);
}

static const Use lm_uses[] = {
    { "lm_train", train_lm }, { "lm_evaluate", evaluate_lm }, { "lm_generate", generate },
    { "lm_generate in bfloat16", generate_in_bf16 }, { "lm_generate of nothing", stop_generating }, { "a step", train_step },
    { "a pass", pass_and_forget }, { "logits with a cache", compute_logits }, { "nn_save", save },
    { "nn_checkpoint_save", save_checkpoint }, { "nn_clone", clone }, { "packed weights", pack }, { "nn_summary", summarize },
    { "ag_explain", explain }, { "nn_average_checkpoints", average }, { "nn_load that fails", fail_to_load },
    { "memory", count_memory }, { NULL, NULL }
};

START_TEST(a_gpt)
{
    check_pairs(&(Subject){ "GPT", new_gpt, restore_weights, lm_uses });
}
END_TEST

START_TEST(a_llama)
{
    check_pairs(&(Subject){ "Llama", new_llama, restore_weights, lm_uses });
}
END_TEST

static void *new_adapted(void)
{
    static const char *const targets[] = { "q_proj", "down_proj", NULL };
    Llama *m = new_llama();
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .dropout = 0.25, .targets = targets }));
    return m;
}

START_TEST(a_llama_with_adapters)
{
    check_pairs(&(Subject){ "Llama with adapters", new_adapted, restore_weights, lm_uses });
}
END_TEST

/* ---- one LmTraining ---------------------------------------------------------------------------------------------- */

typedef struct { LmTraining t; KaeruVocab *v; LmData *data; volatile sig_atomic_t stop; } Trained;

static void free_trained(void *self)
{
    Trained *o = self;
    ag_free(o->t.settings);
    ag_free(o->t.model);
    ag_free(o->data);
    ag_free(o->v);
}

static void *new_training(void)
{
    Trained *o = ag_alloc(1, sizeof *o);
    ag_on_free(o, free_trained);
    o->v = letters();
    o->data = lm_data_of_text("the text", text, sizeof text - 1, o->v);
    o->t = (LmTraining){ .model = new_gpt(), .data = o->data, .options = lm_defaults(), .settings = nn_settings_new(),
                         .last = "", .best = "", .stop = &o->stop };
    o->t.options.steps = 4;
    o->t.options.batch = 2;
    o->t.options.evaluate_every = 2;
    return o;
}

static void restore_training(void *self)
{
    Trained *o = self;
    restore_weights(o->t.model);
    o->stop = 0;
    o->t.new_data = false;
}

static void train_again(void *self, Result *r, bool resume)
{
    Trained *o = self;
    o->t.last = in_folder("last");
    o->t.best = in_folder("best");
    expect_done(lm_train(&o->t, resume));
    mix_weights(r, o->t.model);
    mix_number(r, (double)o->t.step);
    mix_number(r, o->t.lr);
    mix_number(r, o->t.loss);
    mix_number(r, o->t.stopped);
    mix_number(r, o->t.best_loss);
    if (o->t.stopped) return;
    mix_number(r, o->t.train_loss);
    mix_number(r, o->t.valid_loss);
}

static void train_whole(void *self, Result *r) { train_again(self, r, false); }

static void train_and_stop(void *self, Result *r)
{
    ((Trained *)self)->stop = 1;
    train_again(self, r, false);
    ck_assert(((Trained *)self)->t.stopped);
    ((Trained *)self)->stop = 0;
}

static void train_stop_and_resume(void *self, Result *r)
{
    train_and_stop(self, &(Result){ 1 });
    train_again(self, r, true);
}

/* The mean loss of the last interval counts the steps of the run that goes on alone. */
static void train_and_go_on(void *self, Result *r)
{
    Trained *o = self;
    train_again(self, r, false);
    o->t.options.steps += 1;
    train_again(self, r, true);
    o->t.options.steps -= 1;
}

static void train_in_another_way(void *self, Result *r)
{
    Trained *o = self;
    LmOptions usual = o->t.options;
    o->t.options.lr = 0.1;
    o->t.options.window = 5;
    o->t.options.accumulate = 2;
    train_again(self, r, false);
    o->t.options = usual;
}

static const Use training_uses[] = {
    { "a run", train_whole }, { "a run that stops", train_and_stop }, { "a run that stops and resumes", train_stop_and_resume },
    { "a run with other options", train_in_another_way }, { "a run that goes on", train_and_go_on }, { NULL, NULL }
};

START_TEST(one_training)
{
    check_pairs(&(Subject){ "LmTraining", new_training, restore_training, training_uses });
}
END_TEST

/* ---- translation ------------------------------------------------------------------------------------------------- */

enum { WORDS = 9, LENGTH = 6 };

static void *new_transformer(void)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1;
    o.d_model = 8;
    o.d_ff = 12;
    o.h = 2;
    o.max_len = 16;
    o.dropout = 0.25;
    return transformer_new(WORDS, WORDS, o);
}

static Tensor *words_of(int64_t rows, int64_t length)
{
    Tensor *ids = tensor_ints(SHAPE(rows, length), NULL);
    for (int64_t i = 0; i < rows * length; i++) tensor_mutable_int_data(ids)[i] = (int32_t)(1 + i * 5 % (WORDS - 1));
    return ids;
}

static bool next_batch(void *source, TransformerBatch *batch)
{
    int *left = source;
    if ((*left)-- == 0) return false;
    *batch = transformer_batch_new(words_of(2, LENGTH), words_of(2, LENGTH), 0);
    return true;
}

static void run_epoch(void *m, Result *r, Optimizer *o)
{
    int batches = 2;
    KaeruTrainState state = { 0 };
    KaeruEpochOptions how = { .criterion = { 0, 0.1 }, .optimizer = o, .factor = 1, .model_size = 8, .warmup = 10 };
    mix_number(r, transformer_run_epoch(m, next_batch, &batches, &how, &state));
    mix_number(r, ((Module *)m)->training);
    mix_weights(r, m);
}

static void train_epoch(void *m, Result *r)
{
    Optimizer *o = nn_adam_new(m, 0);
    run_epoch(m, r, o);
    ag_free(o);
}

static void evaluate_epoch(void *m, Result *r) { run_epoch(m, r, NULL); }

static void decode_greedily(void *m, Result *r)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    mix_tensor(r, transformer_greedy_decode(m, words_of(2, LENGTH), NULL, LENGTH, 1, 2));
    ag_end(s);
}

static void search(void *m, Result *r)
{
    double score;
    AgScope s = ag_begin(AG_NO_GRAD);
    mix_tensor(r, transformer_beam_search(m, words_of(1, LENGTH), NULL, (KaeruBeamOptions){ 3, LENGTH, 1, 2, 0.6 }, &score));
    mix_number(r, score);
    ag_end(s);
}

static void keep_weights(void *m, Result *r)
{
    transformer_keep_weights(m, true);
    search(m, r);
    transformer_keep_weights(m, false);
}

static const Use transformer_uses[] = {
    { "training", train_epoch }, { "evaluation", evaluate_epoch }, { "greedy decoding", decode_greedily },
    { "beam search", search }, { "kept weights", keep_weights }, { "nn_save", save }, { "nn_checkpoint_save", save_checkpoint },
    { "nn_clone", clone }, { "nn_summary", summarize }, { "nn_average_checkpoints", average },
    { "nn_load that fails", fail_to_load }, { NULL, NULL }
};

START_TEST(a_transformer)
{
    check_pairs(&(Subject){ "Transformer", new_transformer, restore_weights, transformer_uses });
}
END_TEST

/* Modes that differ: a part in evaluation mode, as a frozen one. */
static void *new_mixed(void)
{
    Transformer *m = new_transformer();
    nn_eval(m->encoder);
    nn_train(m->encoder->norm);
    return m;
}

static void mix_modes(Result *r, const Module *m)
{
    mix_number(r, m->training);
    for (int i = 0; i < m->n_slots; i++)
        if (m->slots[i].child) mix_modes(r, m->slots[i].child);
}

static void report_modes(void *m, Result *r) { mix_modes(r, m); }

START_TEST(modes_that_differ)
{
    static const Use uses[] = {
        { "greedy decoding", decode_greedily }, { "beam search", search }, { "kept weights", keep_weights },
        { "nn_save", save }, { "nn_clone", clone }, { "nn_average_checkpoints", average }, { "modes", report_modes },
        { "memory", count_memory }, { NULL, NULL }
    };
    check_pairs(&(Subject){ "Transformer with a part in evaluation mode", new_mixed, restore_weights, uses });
}
END_TEST

static void *new_seq2seq(void)
{
    Seq2SeqOptions o = seq2seq_defaults();
    o.width = 6;
    o.hidden = 8;
    o.dropout = 0.25;
    return seq2seq_new(WORDS, WORDS, o);
}

static void train_recurrent(void *m, Result *r)
{
    Optimizer *o = nn_adam_new(m, 0.01);
    AgScope s = ag_begin(AG_RECORD);
    nn_train(m);
    TransformerBatch b = transformer_batch_new(words_of(2, LENGTH), words_of(2, LENGTH), 0);
    Tensor *loss = ag_nll_loss(seq2seq_forward(m, b.src, b.tgt, b.src_mask), b.tgt_y, AG_MEAN, 0);
    ag_backward(loss);
    nn_optimizer_step(o);
    mix_number(r, tensor_item(loss));
    ag_end(s);
    mix_weights(r, m);
    ag_free(o);
}

static void decode_recurrent(void *m, Result *r)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    mix_tensor(r, seq2seq_greedy_decode(m, words_of(2, LENGTH), NULL, LENGTH, 1, 2));
    mix_number(r, ((Seq2Seq *)m)->module.training);
    ag_end(s);
}

/* The mode in which a decoder finds a model stays. */
static void decode_in_evaluation_mode(void *m, Result *r)
{
    nn_eval(m);
    decode_recurrent(m, r);
    nn_train(m);
}

static const Use seq2seq_uses[] = {
    { "a step", train_recurrent }, { "greedy decoding", decode_recurrent },
    { "greedy decoding in evaluation mode", decode_in_evaluation_mode }, { "nn_save", save }, { "nn_clone", clone },
    { "modes", report_modes }, { NULL, NULL }
};

START_TEST(recurrent_translation)
{
    check_pairs(&(Subject){ "Seq2Seq", new_seq2seq, restore_weights, seq2seq_uses });
}
END_TEST

/* ---- optimizers and NnParallel ----------------------------------------------------------------------------------- */

typedef struct { Linear *layer; Optimizer *o; NnParallel *p; } Stepped;

static void free_stepped(void *self)
{
    Stepped *s = self;
    ag_free(s->p);
    ag_free(s->o);
    ag_free(s->layer);
}

static void *new_stepped(bool shared)
{
    Stepped *s = ag_alloc(1, sizeof *s);
    ag_on_free(s, free_stepped);
    s->layer = nn_linear_new(3, 2);
    s->o = nn_adam_new(s->layer, 0.1);
    s->p = shared ? nn_parallel_new_with(s->o, (NnParallelOptions){ .shards = 2, .clip = 0.5 }, NULL) : NULL;
    return s;
}

static void *new_optimizer(void) { return new_stepped(false); }
static void *new_parallel(void) { return new_stepped(true); }

/* Weights and state, from a checkpoint of a new optimizer, which the first call writes. */
static void restore_stepped(void *self)
{
    Stepped *s = self;
    const char *path = in_folder(s->p ? "parallel" : "optimizer");
    FILE *f = fopen(path, "rb");
    if (f) {
        fclose(f);
        expect_done(nn_checkpoint_load(path, s->layer, s->o, NULL));
    } else {
        restore_weights(s->layer);
        expect_done(nn_checkpoint_save(path, s->layer, s->o, NULL));
    }
    nn_optimizer_set_lr(s->o, 0.1);
}

static void backward(Stepped *s, double factor)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *y = nn_linear(s->layer, tensor_normal(SHAPE(4, 3), 0, 1));
    ag_backward(ag_scale(ag_mean(ag_mul(y, y)), factor));
    ag_end(scope);
}

static void mix_state(Stepped *s, Result *r)
{
    expect_done(nn_checkpoint_save(in_folder("state"), s->layer, s->o, NULL));
    mix_file(r, "state");
}

static void steps(void *self, Result *r)
{
    Stepped *s = self;
    for (int i = 0; i < 3; i++) {
        while (s->p && nn_parallel_shard(s->p)) backward(s, 1);
        if (!s->p) backward(s, 1);
        if (s->p) mix_number(r, nn_parallel_step(s->p));
        else nn_optimizer_step(s->o);
    }
    mix_state(s, r);
}

static void faster_step(void *self, Result *r)
{
    Stepped *s = self;
    nn_optimizer_set_lr(s->o, 0.5);
    backward(s, 1);
    nn_optimizer_step(s->o);
    mix_state(s, r);
}

static void counted_step(void *self, Result *r)
{
    Stepped *s = self;
    while (nn_parallel_shard(s->p)) {
        nn_parallel_count(s->p, 3 + (double)nn_parallel_index(s->p));
        backward(s, 3);
    }
    mix_number(r, nn_parallel_step(s->p));
    mix_state(s, r);
}

static void step_without_number(void *self, Result *r)
{
    Stepped *s = self;
    while (nn_parallel_shard(s->p)) backward(s, 1e300 * 1e300);
    mix_number(r, isfinite(nn_parallel_step(s->p)));
}

static void collect(void *self, Result *r)
{
    Stepped *s = self;
    double value[3] = { 1, 2, 3 };
    nn_parallel_collect(s->p, value, 3);
    mix_bytes(r, value, sizeof value);
    mix_number(r, nn_parallel_agree(s->p, "the text", "abc", 3));
}

static void save_state(void *self, Result *r) { mix_state(self, r); }

START_TEST(an_optimizer)
{
    static const Use uses[] = { { "steps", steps }, { "a step with another lr", faster_step }, { "saving", save_state },
                                { NULL, NULL } };
    check_pairs(&(Subject){ "Adam", new_optimizer, restore_stepped, uses });
}
END_TEST

START_TEST(a_shared_optimizer)
{
    static const Use uses[] = {
        { "steps", steps }, { "a step with counts", counted_step }, { "a step whose loss is infinite", step_without_number },
        { "nn_parallel_collect", collect }, { "saving", save_state }, { NULL, NULL }
    };
    check_pairs(&(Subject){ "NnParallel", new_parallel, restore_stepped, uses });
}
END_TEST

/* ---- caches, texts and files ------------------------------------------------------------------------------------- */

typedef struct { GPT *m; NnCache *cache; } Cached;

static void free_cached(void *self)
{
    ag_free(((Cached *)self)->cache);
    ag_free(((Cached *)self)->m);
}

static void *new_cached(void)
{
    Cached *c = ag_alloc(1, sizeof *c);
    ag_on_free(c, free_cached);
    c->m = new_gpt();
    restore_weights(c->m);
    nn_eval(c->m);
    c->cache = lm_cache_new(c->m);
    return c;
}

static void forget(void *self) { nn_cache_keep_last(((Cached *)self)->cache, 0); }

static void next_of(Cached *c, Result *r, int64_t rows, int64_t length)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    mix_tensor(r, lm_next(c->m, ids_of(rows, length), c->cache));
    ag_end(s);
}

static void read_one(void *self, Result *r) { next_of(self, r, 1, 3); }
static void read_full(void *self, Result *r) { next_of(self, r, 1, CONTEXT); }
static void read_in_pieces(void *self, Result *r)
{
    for (int i = 0; i < CONTEXT; i++) next_of(self, r, 1, 1);
}

START_TEST(a_cache)
{
    static const Use uses[] = { { "3 tokens", read_one }, { "a full context", read_full }, { "pieces", read_in_pieces },
                                { NULL, NULL } };
    check_pairs(&(Subject){ "NnCache", new_cached, forget, uses });
}
END_TEST

static void *new_bpe(void) { return kaeru_vocab_bpe(KAERU_BPE, text, sizeof text - 1, 300); }

static void encode_with(void *v, Result *r, const char *what, KaeruEncoding how)
{
    size_t n;
    int32_t *ids = kaeru_vocab_encode(v, what, strlen(what), how, &n);
    ck_assert_ptr_nonnull(ids);
    mix_bytes(r, ids, n * sizeof *ids);
    ag_free(ids);
}

static void encode(void *v, Result *r) { encode_with(v, r, text, KAERU_AS_TEXT); }
static void encode_special(void *v, Result *r) { encode_with(v, r, "pond<|endoftext|>pond", KAERU_WITH_SPECIAL); }
static void encode_as_text(void *v, Result *r) { encode_with(v, r, "pond<|endoftext|>pond", KAERU_AS_TEXT); }
static void encode_bytes(void *v, Result *r) { encode_with(v, r, "\xff\xc3 \xe8\x9b frog", KAERU_AS_TEXT); }

static void encode_many(void *v, Result *r)
{
    char word[32];
    for (int i = 0; i < 5000; i++) {                /* more words than a cache keeps */
        snprintf(word, sizeof word, " frog%d", i * 7919);
        encode_with(v, r, word, KAERU_AS_TEXT);
    }
}

static void decode(void *v, Result *r)
{
    size_t n;
    char *s = kaeru_vocab_decode(v, (int32_t[]){ 5, 299 < kaeru_vocab_size(v) ? 299 : 260, 70, 0 }, 4, &n);
    mix_bytes(r, s, n);
    ag_free(s);
}

static void save_vocab(void *v, Result *r)
{
    expect_done(kaeru_vocab_save(v, in_folder("vocab"), in_folder("merges")));
    mix_file(r, "vocab");
    mix_file(r, "merges");
    mix_number(r, (double)(kaeru_vocab_fingerprint(v) >> 12));
}

START_TEST(a_tokenizer)
{
    static const Use uses[] = { { "a text", encode }, { "special tokens", encode_special }, { "them as text", encode_as_text },
                                { "bytes", encode_bytes }, { "many words", encode_many }, { "decoding", decode },
                                { "saving", save_vocab }, { NULL, NULL } };
    check_pairs(&(Subject){ "KaeruVocab", new_bpe, NULL, uses });
}
END_TEST

typedef struct { KaeruVocab *v; LmData *d; } Data;

static void free_data(void *self)
{
    ag_free(((Data *)self)->d);
    ag_free(((Data *)self)->v);
}

static void *new_data(void)
{
    Data *d = ag_alloc(1, sizeof *d);
    ag_on_free(d, free_data);
    d->v = letters();
    d->d = lm_data_of_text("the text", text, sizeof text - 1, d->v);
    return d;
}

static void draw(void *self, Result *r)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids, *targets;
    lm_data_draw(((Data *)self)->d, 3, 5, &ids, &targets);
    mix_tensor(r, ids);
    mix_tensor(r, targets);
    ag_end(s);
}

static void evaluate_data(void *self, Result *r, int64_t tokens)
{
    int64_t counted;
    GPT *m = new_gpt();
    restore_weights(m);
    mix_number(r, lm_evaluate(m, ((Data *)self)->d, 2, 5, tokens, &counted));
    mix_number(r, (double)counted);
    ag_free(m);
}

static void evaluate_all(void *self, Result *r) { evaluate_data(self, r, 0); }
static void evaluate_some(void *self, Result *r) { evaluate_data(self, r, 7); }

START_TEST(data)
{
    static const Use uses[] = { { "drawing", draw }, { "evaluation", evaluate_all }, { "evaluation of a part", evaluate_some },
                                { NULL, NULL } };
    check_pairs(&(Subject){ "LmData", new_data, NULL, uses });
}
END_TEST

static void *new_file(void)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *a = tensor_arange(0, 12, 1), *b = tensor_ints(SHAPE(3), (int32_t[]){ 7, 8, 9 });
    expect_done(tensor_save(in_folder("x.npz"), { "a", a }, { "b", b }));
    ag_end(s);
    return tensor_file_open(in_folder("x.npz"));
}

static void read_named(void *f, Result *r, const char *name)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *t = tensor_file_get(f, name);
    ck_assert_ptr_nonnull(t);
    mix_tensor(r, t);
    ag_end(s);
}

static void read_a(void *f, Result *r) { read_named(f, r, "a"); }
static void read_b(void *f, Result *r) { read_named(f, r, "b"); }
static void read_absent(void *f, Result *r)
{
    (void)r;
    expect_refused(tensor_file_get(f, "c") != NULL, "c");
}
static void read_into_another_shape(void *f, Result *r)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *t = tensor_zeros(SHAPE(5));
    expect_refused(tensor_file_read(f, "a", t), "a");
    mix_tensor(r, t);
    ag_end(s);
}

START_TEST(a_tensor_file)
{
    static const Use uses[] = { { "one tensor", read_a }, { "another", read_b }, { "an absent one", read_absent },
                                { "one of another shape", read_into_another_shape }, { NULL, NULL } };
    check_pairs(&(Subject){ "NnTensorFile", new_file, NULL, uses });
}
END_TEST

Suite *twice_suite(void)
{
    Suite *suite = suite_create("twice");
    TCase *c = tcase_create("pairs of uses");
    tcase_add_checked_fixture(c, folder_make, folder_remove);
    tcase_add_test(c, a_gpt);
    tcase_add_test(c, a_llama);
    tcase_add_test(c, a_llama_with_adapters);
    tcase_add_test(c, one_training);
    tcase_add_test(c, a_transformer);
    tcase_add_test(c, modes_that_differ);
    tcase_add_test(c, recurrent_translation);
    tcase_add_test(c, an_optimizer);
    tcase_add_test(c, a_shared_optimizer);
    tcase_add_test(c, a_cache);
    tcase_add_test(c, a_tokenizer);
    tcase_add_test(c, data);
    tcase_add_test(c, a_tensor_file);
    suite_add_tcase(suite, c);
    return suite;
}
