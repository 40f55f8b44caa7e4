/* predictor.c: predicts a text in segments. A segment that is predicted at once and one that is predicted token by token, with
 * a cache, have the same bits: this is why what was compressed can be decompressed. */
#include "predictor.h"

#include <math.h>
#include <string.h>

#include "common/data_hash.h"
#include "kaeru/autograd.h"
#include "table.h"

enum { BYTES = 256, HEAD_WIDTH = 32, PIECE = 16, WARMUP = 100 };
/* What a step of learning keeps of each token, as measured: so many times the width in each layer and once more, and so many
 * rows of scores. */
enum { KEPT_WIDTHS = 12, KEPT_SCORES = 10 };

static const NnField fields[] = {
    NN_FIELD("learns", Settings, learns, 1, 0, 1, NULL),
    NN_FIELD("seed", Settings, seed, 0, 0, INT64_C(1) << 53, NULL),
    NN_FIELD("bf16", Settings, bf16, 0, 0, 1, NULL),
    NN_FIELD("streams", Settings, streams, 3, 1, 64, "parts of the file that are predicted side by side"),
    NN_FIELD("window", Settings, window, 64, 2, 1 << 16, "tokens that the network sees; half of them were read before"),
    NN_FIELD("layers", Settings, layers, 3, 1, 100, "of the network that learns"),
    NN_FIELD("heads", Settings, heads, 4, 1, 64, "of this network; its width is 32 times as much"),
    NN_FIELD("rate", Settings, rate, 3000, 1, 1000000, "its learning rate, times a million"),
    NN_FIELD("order", Settings, order, 4, 0, TABLE_ORDERS,
             "most bytes after which a table counts what follows; the network corrects it; 0: no table"),
    NN_FIELDS_END
};
const NnFields settings_fields = { .prefix = "compress.", .size = sizeof(Settings), .field = fields };

/* ---- the model that learns --------------------------------------------------------------------------------------- */

/* Its scores are those of the network plus a factor times the logarithms of the table's probabilities. The factor is learned,
 * one for each value of `known` (table.h). The network so learns what the table does not know. counted (streams,window,256)
 * and known (streams,window) are what the table has predicted in the window. */
typedef struct {
    Module module;
    Llama *net;
    Embedding *factor;
    Tensor *counted, *known;
    Table *table;
    Optimizer *adam;
} Learner;

static void free_table(void *self)
{
    ag_free(((Learner *)self)->table);
}

static Learner *learner_new(const Settings *how)
{
    LlamaOptions o = llama_defaults();
    o.layers = how->layers;
    o.heads = o.kv_heads = how->heads;
    o.head_width = HEAD_WIDTH;
    o.width = HEAD_WIDTH * how->heads;
    o.hidden = o.width * 8 / 3 / 8 * 8;
    o.vocab = BYTES;
    o.context = how->window;
    o.rope_base = 10000;
    o.head_norms = true;
    o.tied = false;
    Learner *l = nn_new(Learner);
    nn_child(l, net, llama_new(o));
    if (how->order > 0) {
        nn_child(l, factor, nn_embedding_new(how->order + 2, 1));
        ag_fill(l->factor->weight, 1);
        nn_buffer(l, counted, SHAPE(how->streams, how->window, BYTES));
        ag_fill(l->counted, 1.0 / BYTES);                               /* also where a stream has ended */
        nn_buffer_with(l, known, SHAPE(how->streams, how->window), AG_INT, false);
        l->table = table_new(how->order, how->streams);
        l->module.destroy = free_table;
    }
    AgAdam adam = nn_adam_options(1);
    adam.beta2 = 0.99;
    l->adam = nn_adam_new_with(l, adam);
    return l;
}

/* Scores of the tokens in places `first` to `first` + n - 1 of the window: (B,n,256). */
static Tensor *learner_scores(Learner *l, Tensor *ids, int64_t first, NnCache *cache)
{
    Tensor *scores = lm_logits(l->net, ids, cache);
    if (!l->table) {
        return scores;
    }
    int64_t end = first + tensor_dim(ids, 1);
    Tensor *factor = nn_embedding(l->factor, ag_slice(l->known, 1, first, end));
    return ag_add(scores, ag_mul(factor, ag_log(ag_slice(l->counted, 1, first, end))));
}

static void learn(Learner *l, Tensor *scores, Tensor *targets, double rate)
{
    ag_backward(nn_cross_entropy(scores, targets));
    nn_clip_grad_norm(l, 1);
    nn_optimizer_set_lr(l->adam, rate);
    nn_optimizer_step(l->adam);
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

static uint64_t hash_of_weights(void *module)
{
    uint64_t hash = DATA_HASH_BEGIN;
    NnParameters *list = nn_parameters(module);
    for (int i = 0; i < list->n; i++) {
        if (list->item[i].trained) {
            const Tensor *t = list->item[i].tensor;
            hash = data_hash(hash, tensor_data(t), (size_t)tensor_numel(t) * sizeof(ag_real));
        }
    }
    ag_free(list);
    return hash;
}

static void free_model(void *self)
{
    Predictor *p = self;
    if (p->learner) {
        ag_free(((Learner *)p->learner)->adam);
    }
    ag_free(p->learner ? p->learner : p->lm);
    ag_free((void *)p->vocabulary);
}

static Predictor *predictor_alloc(const Settings *how)
{
    Predictor *p = ag_alloc(1, sizeof *p);
    ag_on_free(p, free_model);
    p->how = *how;
    ag_precision(how->bf16 ? AG_BF16 : AG_FLOAT32);
    return p;
}

double predictor_mebibytes(const Settings *how, int64_t count)
{
    double width = HEAD_WIDTH * (double)how->heads, layer = 12 * width * width;     /* 4 + 3 * 8/3 matrices */
    double parameters = (double)how->layers * layer + 2 * BYTES * width;
    double counted = (double)how->streams * (double)how->window * (BYTES + 1);
    double length = (double)count / (double)how->streams + 1, window = (double)how->window;
    double tokens = (double)how->streams * (length < window ? length : window);
    double kept = tokens * (KEPT_WIDTHS * width * (double)(how->layers + 1) + KEPT_SCORES * BYTES);
    return ceil((4 * parameters + counted + kept) * sizeof(ag_real) / (1 << 20));
}

Predictor *predictor_new(const Settings *how)
{
    Predictor *p = predictor_alloc(how);
    ag_seed((uint64_t)how->seed);
    Learner *l = p->learner = learner_new(how);
    p->lm = l->net;
    p->vocab = BYTES;
    p->begin = '\n';
    p->hash = hash_of_weights(l);
    return p;
}

Predictor *predictor_of_model(const Settings *how, void *lm, int64_t vocab, const KaeruVocab *vocabulary, int32_t begin)
{
    Predictor *p = predictor_alloc(how);
    p->lm = lm;
    p->vocab = vocab;
    p->vocabulary = vocabulary;
    p->begin = begin;
    uint64_t tokens = kaeru_vocab_fingerprint(vocabulary);
    p->hash = data_hash(hash_of_weights(lm), &tokens, sizeof tokens);
    nn_eval(lm);
    nn_pack_weights(lm, how->bf16);
    return p;
}

void predictor_begin(Predictor *p, int32_t *id, int64_t count)
{
    p->id = id;
    p->count = count;
    p->length = (count + p->how.streams - 1) / p->how.streams;
    p->learns = p->learner;
    p->t = 0;
}

void predictor_begin_another(Predictor *p, int32_t *id, int64_t count)
{
    predictor_begin(p, id, count);
    p->length = count;
    p->learns = false;
}

int32_t *predictor_token(const Predictor *p, int64_t stream, int64_t t)
{
    int64_t place = stream * p->length + t;
    return t < p->length && place < p->count ? &p->id[place] : NULL;
}

/* ---- a segment --------------------------------------------------------------------------------------------------- */

/* What the model reads before it predicts the tokens from time t to end - 1: those one time earlier. */
static Tensor *inputs(const Predictor *p, int64_t t, int64_t end)
{
    Tensor *ids = tensor_ints(SHAPE(p->how.streams, end - t), NULL);
    int32_t *out = tensor_mutable_int_data(ids);
    for (int64_t s = 0; s < p->how.streams; s++) {
        for (int64_t i = t; i < end; i++) {
            const int32_t *id = i > 0 ? predictor_token(p, s, i - 1) : NULL;
            *out++ = id && *id < p->vocab ? *id : p->begin;
        }
    }
    return ids;
}

static Tensor *targets(const Predictor *p, int64_t t, int64_t end)
{
    Tensor *ids = tensor_ints(SHAPE(p->how.streams, end - t), NULL);
    int32_t *out = tensor_mutable_int_data(ids);
    for (int64_t s = 0; s < p->how.streams; s++) {
        for (int64_t i = t; i < end; i++) {
            const int32_t *id = predictor_token(p, s, i);
            *out++ = id ? *id : -100;                                   /* ignored */
        }
    }
    return ids;
}

/* A new segment: its predecessor moves to the first half of the window. */
static void move_window(const Predictor *p)
{
    const Learner *l = p->learner;
    int64_t window = p->how.window, half = window / 2;
    for (int64_t s = 0; s < p->how.streams; s++) {
        ag_real *counted = tensor_mutable_data(l->counted) + s * window * BYTES;
        int32_t *known = tensor_mutable_int_data(l->known) + s * window;
        memmove(counted, counted + half * BYTES, (size_t)(half * BYTES) * sizeof *counted);
        memmove(known, known + half, (size_t)half * sizeof *known);
    }
}

/* The table's predictions from time t to end - 1, in the window that begins at time `begin`. All streams are counted before the
 * next time is predicted. */
static void read_table(const Predictor *p, int64_t begin, int64_t t, int64_t end)
{
    const Learner *l = p->learner;
    for (; t < end; t++) {
        for (int64_t s = 0; p->learns && t > 0 && s < p->how.streams; s++) {
            const int32_t *before = predictor_token(p, s, t - 1);
            if (before) {
                table_count(l->table, s, *before);
            }
        }
        for (int64_t s = 0; s < p->how.streams; s++) {
            int64_t place = s * p->how.window + t - begin;
            const int32_t *id = predictor_token(p, s, t);
            ag_real *counted = tensor_mutable_data(l->counted) + place * BYTES;
            if (id) {
                tensor_mutable_int_data(l->known)[place] = table_predict(l->table, s, id, t, counted);
            }
        }
    }
}

/* (B,n,V) scores of the tokens from time t to end - 1. */
static Tensor *scores(Predictor *p, int64_t begin, int64_t t, int64_t end, NnCache *cache)
{
    Tensor *ids = inputs(p, t, end);
    return p->learner ? learner_scores(p->learner, ids, t - begin, cache) : lm_logits(p->lm, ids, cache);
}

/* `all`: the scores from time `begin` on; NULL: they are computed now, from the cache. */
static bool code_piece(Predictor *p, int64_t begin, int64_t t, int64_t end, Tensor *all, NnCache *cache, Code *code, void *arg)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = all ? ag_slice(all, 1, t - begin, end - begin) : scores(p, begin, t, end, cache);
    bool good = code(arg, t, end - t, ag_softmax(x, -1));
    ag_end(scope);
    return good;
}

/* The segment from time `first` on. A model that learns does so with the segment before it, too, from time `begin` on. */
static bool code_segment(Predictor *p, int64_t first, bool known, Code *code, void *arg)
{
    int64_t half = p->how.window / 2, begin = first > half ? first - half : 0;
    int64_t end = first + half < p->length ? first + half : p->length;
    int64_t piece = !known ? 1 : p->learner ? half : PIECE;
    bool good = true, counts = p->learner && ((Learner *)p->learner)->table;
    AgScope scope = ag_begin(p->learns ? AG_RECORD : AG_NO_GRAD);
    if (counts && begin > 0) {
        move_window(p);
    }
    if (counts && known) {
        read_table(p, begin, first, end);
    }
    Tensor *all = p->learner && known ? scores(p, begin, begin, end, NULL) : NULL;
    NnCache *cache = lm_cache_new(p->lm);
    if (!all && begin < first) {
        lm_next(p->lm, inputs(p, begin, first), cache);
    }
    for (int64_t t = first, next; good && t < end; t = next) {
        next = t + piece < end ? t + piece : end;
        if (counts && !known) {
            read_table(p, begin, t, next);
        }
        good = code_piece(p, begin, t, next, all, cache, code, arg);
    }
    ag_free(cache);
    if (good && p->learns) {
        int64_t step = first / half + 1, steps = (p->length + half - 1) / half;
        double rate = 1e-6 * (double)p->how.rate;
        rate = nn_schedule_cosine(step, rate, rate / 3, WARMUP, steps > WARMUP ? steps : WARMUP);
        learn(p->learner, all ? all : scores(p, begin, begin, end, NULL), targets(p, begin, end), rate);
    }
    ag_end(scope);
    return good;
}

bool predictor_step(Predictor *p, bool known, Code *code, void *arg)
{
    bool good = code_segment(p, p->t, known, code, arg);
    p->t += p->how.window / 2;
    return good;
}

bool predictor_has_ended(const Predictor *p)
{
    return p->t >= p->length;
}
