/* runs.c: the runs of runs.h. */
#include "runs.h"

#include <stdio.h>
#include <string.h>

#include "kaeru/lm.h"
#include "kaeru/training.h"

enum { SEED = 7, HEADS = 2 };

/* ---- a Transformer that learns to copy rows of numbers ----------------------------------------------------------- */

enum { PAD = 0, START = 1, VOCAB = 11, LENGTH = 7 };

static Transformer *transformer_of(const NnSettings *s)
{
    int64_t layers, width;
    if (!nn_settings_int(s, "layers", &layers) || !nn_settings_int(s, "width", &width)) return NULL;
    TransformerOptions o = transformer_defaults();
    o.N = (int)layers;
    o.d_model = width;
    o.d_ff = 2 * width;
    o.h = HEADS;
    o.max_len = LENGTH;
    return transformer_new(VOCAB, VOCAB, o);
}

typedef struct { int64_t left, rows; } Rows;

static bool next_rows(void *source, TransformerBatch *batch)
{
    Rows *r = source;
    if (r->left-- == 0) return false;
    Tensor *ids = tensor_randint(SHAPE(r->rows, LENGTH), 1, VOCAB);
    for (int64_t i = 0; i < r->rows; i++) tensor_mutable_int_data(ids)[i * LENGTH] = START;
    *batch = transformer_batch_new(ids, ids, PAD);
    return true;
}

static bool train_transformer(const RunSize *size, const char *path, bool resume, void (*stepped)(void))
{
    ag_seed(SEED);
    NnSettings *s = nn_settings_new();
    nn_settings_set(s, "layers", "%lld", (long long)size->layers);
    nn_settings_set(s, "width", "%lld", (long long)size->width);
    Transformer *m = transformer_of(s);
    Optimizer *adam = nn_adam_new(m, 0);
    NnParallelOptions shared = { .shards = size->shards, .clip = 0.5 };
    NnParallel *p = size->shards ? nn_parallel_new_with(adam, shared, size->processes) : NULL;
    bool good = !resume || nn_checkpoint_load(path, m, adam, s);
    KaeruEpochOptions how = { .criterion = { PAD, 0.1 }, .optimizer = adam, .factor = 1, .model_size = size->width,
                         .warmup = 20, .parallel = p };
    KaeruTrainState state = { .step = nn_optimizer_steps(adam), .accum_step = nn_optimizer_steps(adam) };
    while (good && state.step < size->steps) {
        transformer_run_epoch(m, next_rows, &(Rows){ 1, size->batch }, &how, &state);
        if (stepped) stepped();
        if (state.step % size->every == 0 || state.step == size->steps) good = nn_checkpoint_save(path, m, adam, s);
    }
    ag_free(p);
    ag_free(adam);
    ag_free(m);
    ag_free(s);
    return good;
}

static bool generate_transformer(const char *path)
{
    NnSettings *s = nn_settings_new();
    Transformer *m = nn_checkpoint_settings(path, s) ? transformer_of(s) : NULL;
    bool good = m && nn_load(path, m);
    if (good) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        Tensor *src = tensor_ints(SHAPE(1, 5), (int32_t[]){ START, 3, 5, 2, 8 }), *mask = nn_padding_mask(src, PAD);
        nn_eval(m);
        transformer_greedy_decode(m, src, mask, LENGTH, START, -1);
        transformer_beam_search(m, src, mask, (KaeruBeamOptions){ 2, LENGTH, START, 2, 0.6 }, NULL);
        ag_end(scope);
    }
    ag_free(m);
    ag_free(s);
    return good;
}

/* ---- a GPT that learns a text ------------------------------------------------------------------------------------ */

static const char text[] =
    "The frog goes back to the pond, and the pond is deep. The frog looks into the pond; the other looks out of it. "
    "What was a tadpole is a frog, what is a frog was a tadpole, and the pond is as it was. The frog goes back. ";

enum { PATH_SIZE = 512 };

static char *beside(char out[PATH_SIZE], const char *path, const char *ending)
{
    snprintf(out, PATH_SIZE, "%s%s", path, ending);
    return out;
}

/* The part of train_gpt after the vocabulary is saved. */
static bool train_gpt_with(const KaeruVocab *t, const RunSize *size, const char *path, bool resume,
                     void (*stepped)(LmTraining *, void *), void *arg)
{
    LmData *data = lm_data_of_text("the text", text, sizeof text - 1, t);
    if (!data) return false;
    GPT *m = gpt_new((GPTOptions){ .layers = size->layers, .heads = HEADS, .width = size->width, .context = 8,
                                   .vocab = kaeru_vocab_size(t), .dropout = 0.1, .eps = 1e-5 });
    char best[PATH_SIZE];
    LmTraining run = { .model = m, .data = data, .options = lm_defaults(), .settings = nn_settings_new(), .last = path,
                       .best = beside(best, path, ".best"), .stepped = stepped, .arg = arg };
    run.options.steps = size->steps;
    run.options.batch = size->batch;
    run.options.evaluate_every = size->every;
    run.options.evaluate_tokens = 20;
    run.options.warmup = 5;
    run.options.shards = size->shards ? size->shards : 1;
    run.processes = size->processes;
    bool good = lm_train(&run, resume);
    ag_free(run.settings);
    ag_free(m);
    ag_free(data);
    return good;
}

static void call_stepped(LmTraining *t, void *arg)
{
    (void)t;
    void (*const *stepped)(void) = arg;
    if (*stepped) (*stepped)();
}

static bool train_gpt(const RunSize *size, const char *path, bool resume, void (*stepped)(void))
{
    char vocab[PATH_SIZE];
    ag_seed(SEED);
    KaeruVocab *t = kaeru_vocab_chars(text, sizeof text - 1);
    bool writes = !resume && (!size->processes || size->processes->rank == 0);
    bool good = t && (!writes || kaeru_vocab_save(t, beside(vocab, path, ".vocab"), NULL)) &&
                train_gpt_with(t, size, path, resume, call_stepped, &stepped);
    ag_free(t);
    return good;
}

static bool count_id(void *arg, int32_t id)
{
    *(int *)arg += id >= 0;
    return true;
}

/* In memory of the scope, which a usage error frees. */
static Tensor *prompt_of(const KaeruVocab *t)
{
    size_t n;
    int32_t *ids = kaeru_vocab_encode(t, "The frog", 8, KAERU_WITH_SPECIAL, &n);
    if (!ids) return NULL;
    int32_t copy[8];
    memcpy(copy, ids, n * sizeof *ids);
    ag_free(ids);
    return tensor_ints(SHAPE((int64_t)n), copy);
}

static bool generate_gpt(const char *path)
{
    char vocab[PATH_SIZE];
    GPT *m = gpt_load(path);
    KaeruVocab *t = m ? kaeru_vocab_open(KAERU_CHARS, beside(vocab, path, ".vocab"), NULL) : NULL;
    bool good = t != NULL;
    if (good) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        int written = 0;
        Tensor *prompt = prompt_of(t);
        nn_eval(m);
        good = prompt && lm_generate(m, tensor_int_data(prompt), tensor_numel(prompt), 12,
                                      &(LmSampling){ .temperature = 1, .top_k = 5 }, count_id, &written) && written == 12;
        ag_end(scope);
    }
    ag_free(t);
    ag_free(m);
    return good;
}

const RunSize final_size = { .layers = 2, .width = 64, .batch = 32, .steps = 25, .every = 25 };

const Run runs[N_RUNS] = {
    { "transformer", train_transformer, generate_transformer },
    { "gpt", train_gpt, generate_gpt },
};
