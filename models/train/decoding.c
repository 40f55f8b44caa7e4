/* decoding.c: greedy decoding and beam search with an encoder-decoder. */
#include <math.h>
#include <string.h>

#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/cache.h"
#include "decoding.h"
#include "kaeru/more_functions.h"
#include "kaeru/training.h"
#include "walk.h"

/* If one logit is NaN or +infinity, the log-softmax of the whole row is NaN. */
static bool check_log_probs(const Tensor *p)
{
    int64_t vocab = tensor_dim(p, 1);
    for (int64_t i = 0; i < tensor_numel(p); i += vocab)
        if (isnan(tensor_data(p)[i]))
            return ag_set_error("the probabilities of the next token are NaN: the model's weights cannot be used");
    return true;
}

/* ---- evaluation mode ---------------------------------------------------------------------------------------------- */

/* The modes of a module's tree. The module owns it, since it may be freed before they are restored: then *holder is NULL. */
typedef struct Modes { Module *module; int64_t n; bool *mode; struct Modes **holder; } Modes;

/* Goes through the modes of m and of the modules below it and returns their number. mode: they are copied to it, or (restore)
 * from it; NULL: only counted. */
static int64_t each_mode(Module *m, bool *mode, bool restore)
{
    int64_t n = 1;
    if (mode && restore) m->training = *mode;
    else if (mode) *mode = m->training;
    for (int i = 0; i < m->n_slots; i++)
        if (m->slots[i].child) n += each_mode(m->slots[i].child, mode ? mode + n : NULL, restore);
    return n;
}

static void forget_modes(void *modes)
{
    *((Modes *)modes)->holder = NULL;
}

static void restore_modes(void *holder)
{
    Modes *modes = *(Modes **)holder;
    if (!modes) return;
    if (each_mode(modes->module, NULL, false) == modes->n) each_mode(modes->module, modes->mode, true);
    ag_free(modes);
}

void *evaluation_begin(Module *m)
{
    Modes **holder = ag_alloc(1, sizeof *holder), *modes = ag_alloc_in(m, 1, sizeof *modes);
    int64_t n = each_mode(m, NULL, false);
    *modes = (Modes){ m, n, ag_alloc_in(modes, (size_t)n, sizeof *modes->mode), holder };
    *holder = modes;
    each_mode(m, modes->mode, false);
    ag_on_free(modes, forget_modes);
    ag_on_free(holder, restore_modes);
    nn_set_training(m, false);
    return holder;
}

/* ---- greedy decoding --------------------------------------------------------------------------------------------- */

void check_decoding(const char *what, const TransformerGenerator *g, int64_t max_len, int32_t start, int32_t end)
{
    int64_t vocab = tensor_dim(g->proj->weight, 0);
    if (max_len < 1) ag_usage_error(what, "max_len %lld, expected 1 or more", (long long)max_len);
    if (start < 0 || start >= vocab || end < -1 || end >= vocab)
        ag_usage_error(what, "start symbol %d and end symbol %d, expected ids below %lld", (int)start, (int)end,
                       (long long)vocab);
}

bool most_probable(Tensor *p, int32_t *token)
{
    const Tensor *best = ag_argmax(p, -1, false);
    memcpy(token, tensor_int_data(best), (size_t)tensor_numel(best) * sizeof *token);
    return check_log_probs(p);
}

Tensor *decode_greedily(int64_t rows, int64_t max_len, int32_t start, int32_t end, NextTokens *next, void *arg, bool *good)
{
    Tensor *ys = tensor_ints(SHAPE(rows, max_len), NULL), *last = tensor_ints(SHAPE(rows), NULL);
    int32_t *id = tensor_mutable_int_data(ys), *token = tensor_mutable_int_data(last);
    int64_t ended = 0;
    *good = true;
    for (int64_t i = 0; i < rows * max_len; i++) id[i] = i % max_len == 0 ? start : end;
    for (int64_t b = 0; b < rows; b++) token[b] = start;
    for (int64_t t = 1; *good && t < max_len && ended < rows; t++) {
        *good = next(arg, last, token);
        ended = 0;
        for (int64_t b = 0; b < rows; b++) {
            if (t > 1 && id[b * max_len + t - 1] == end) token[b] = end;
            id[b * max_len + t] = token[b];
            ended += token[b] == end;
        }
    }
    return ys;
}

/* ---- with a Transformer ------------------------------------------------------------------------------------------ */

/* The sentences to decode. The notebook decodes all tokens for each new one. Here a cache holds the keys and values of the
 * tokens before, so that only the last token is decoded, for all rows at once. */
typedef struct { Transformer *m; Tensor *memory, *src_mask; NnCache *cache; } Source;

static Source read_source(Transformer *m, Tensor *src, Tensor *src_mask, int64_t max_len)
{
    return (Source){ m, transformer_encode(m, src, src_mask), src_mask, transformer_cache_new(m, max_len) };
}

/* Log-probabilities (B,V) of the tokens that follow `last` (B). */
static Tensor *next_log_probs(const Source *s, Tensor *last)
{
    Tensor *out = transformer_decode_next(s->m, s->memory, s->src_mask, ag_unsqueeze(last, 1), s->cache);
    return transformer_generator(s->m->generator, ag_squeeze(out, 1));
}

static bool next_tokens(void *arg, Tensor *last, int32_t *token)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    bool good = most_probable(next_log_probs(arg, last), token);
    ag_end(scope);
    return good;
}

Tensor *transformer_greedy_decode(Transformer *m, Tensor *src, Tensor *src_mask, int64_t max_len, int32_t start_symbol,
                                  int32_t end_symbol)
{
    NN_LAYER_OF(m, "Transformer");
    check_decoding(__func__, m->generator, max_len, start_symbol, end_symbol);
    check_alive(__func__, "src", src);
    int64_t rows = tensor_dim(src, 0);
    bool good;
    AgScope scope = ag_begin(AG_NO_GRAD);
    void *evaluation = evaluation_begin(&m->module);
    Source s = read_source(m, src, src_mask, max_len);
    Tensor *ys = decode_greedily(rows, max_len, start_symbol, end_symbol, next_tokens, &s, &good);
    ag_free(s.cache);
    ys = ag_end_return(scope, ys);
    ag_free(evaluation);
    return good ? ys : NULL;
}

/* ---- beam search ------------------------------------------------------------------------------------------------- */

/* Hypothesis `from` with one more token. */
typedef struct { double log_p; int32_t from, token; } Candidate;

/* Inserts a candidate into the list of the n best, best first, if it is one of them. */
static void keep_best(Candidate *best, int *count, int n, Candidate c)
{
    if (*count == n && c.log_p <= best[n - 1].log_p) return;
    int i = *count < n ? (*count)++ : n - 1;
    for (; i > 0 && best[i - 1].log_p < c.log_p; i--) best[i] = best[i - 1];
    best[i] = c;
}

static double penalized(double log_p, int64_t length, double a)
{
    return a == 0 ? log_p : log_p / ag_math_pow((5 + (double)length) / 6, a);
}

/* The state of the search: the live hypotheses, and the best finished one. */
typedef struct {
    int live;                               /* number of live hypotheses */
    int64_t length;                         /* number of ids of each */
    double *log_p;                          /* the log-probability of each */
    int32_t *ids, *next_ids, *best_ids;     /* (beam,max_len), (beam,max_len), (max_len) */
    int64_t best_length;                    /* of the best finished hypothesis; 0: none has finished */
    double best_score;
    int finished;                           /* number of finished hypotheses */
} Beam;

static void finish(Beam *b, const int32_t *ids, int64_t length, double score)
{
    b->finished++;
    if (b->best_length > 0 && score <= b->best_score) return;
    memcpy(b->best_ids, ids, (size_t)length * sizeof *ids);
    b->best_length = length;
    b->best_score = score;
}

/* Extends the live hypotheses by their best tokens. Of the `beam` best results, those that end are finished. The best
 * results that do not end become the live hypotheses; rows[i] is the row that hypothesis i had before. `best` is an array of
 * 2 beam candidates. */
static void extend(Beam *b, const ag_real *log_p, int64_t vocab, const KaeruBeamOptions *o, Candidate *best, int32_t *rows)
{
    int most = 2 * o->beam, count = 0;
    for (int i = 0; i < b->live; i++)
        for (int64_t v = 0; v < vocab; v++)
            keep_best(best, &count, most, (Candidate){ b->log_p[i] + (double)log_p[i * vocab + v], i, (int32_t)v });
    int live = 0;
    for (int i = 0; i < count && live < o->beam; i++) {
        int32_t *ids = b->next_ids + live * o->max_len;
        memcpy(ids, b->ids + best[i].from * o->max_len, (size_t)b->length * sizeof *ids);
        ids[b->length] = best[i].token;
        if (best[i].token == o->end_symbol) {
            if (i < o->beam) finish(b, ids, b->length + 1, penalized(best[i].log_p, b->length, o->length_penalty));
            continue;
        }
        rows[live] = best[i].from;
        best[live++] = best[i];
    }
    for (int i = 0; i < live; i++) b->log_p[i] = best[i].log_p;
    int32_t *swap = b->ids;
    b->ids = b->next_ids;
    b->next_ids = swap;
    b->live = live;
    b->length++;
}

/* Allocates the memory of the search, which the current scope frees. */
static Beam beam_new(const KaeruBeamOptions *o)
{
    size_t n;
    if (__builtin_mul_overflow((size_t)o->beam, (size_t)o->max_len, &n)) n = SIZE_MAX;
    Beam b = { .live = 1, .length = 1 };
    b.ids = ag_scratch(n, sizeof *b.ids);
    b.next_ids = ag_scratch(n, sizeof *b.ids);
    b.best_ids = ag_scratch((size_t)o->max_len, sizeof *b.ids);
    b.log_p = ag_scratch((size_t)o->beam, sizeof *b.log_p);
    b.ids[0] = o->start_symbol;
    return b;
}

Tensor *transformer_beam_search(Transformer *m, Tensor *src, Tensor *src_mask, KaeruBeamOptions o, double *score)
{
    NN_LAYER_OF(m, "Transformer");
    check_alive(__func__, "src", src);
    if (o.beam < 1 || o.max_len < 1 || tensor_dim(src, 0) != 1)
        ag_usage_error(__func__, "beam %d, max_len %lld, %lld sentences: expected 1 or more, 1 or more, and 1", o.beam,
                       (long long)o.max_len, (long long)tensor_dim(src, 0));
    check_decoding(__func__, m->generator, o.max_len, o.start_symbol, o.end_symbol);
    if (!isfinite(o.length_penalty))
        ag_usage_error(__func__, "length_penalty is %g, expected a finite number", o.length_penalty);
    bool good = true;
    AgScope whole = ag_begin(AG_NO_GRAD);
    void *evaluation = evaluation_begin(&m->module);
    Candidate *best = ag_scratch((size_t)o.beam * 2, sizeof *best);
    Beam b = beam_new(&o);
    Source s = read_source(m, src, src_mask, o.max_len);
    int32_t *rows = ag_scratch((size_t)o.beam, sizeof *rows);
    while (good && b.live > 0 && b.length < o.max_len && b.finished < o.beam) {
        AgScope step = ag_begin(AG_NO_GRAD);
        Tensor *last = tensor_ints(SHAPE(b.live), NULL);
        for (int i = 0; i < b.live; i++) tensor_mutable_int_data(last)[i] = b.ids[i * o.max_len + b.length - 1];
        Tensor *p = next_log_probs(&s, last);
        good = check_log_probs(p);
        if (good) extend(&b, tensor_data(p), tensor_dim(p, -1), &o, best, rows);
        if (good && b.live > 0) nn_cache_select(s.cache, rows, b.live);
        ag_end(step);
    }
    if (b.finished == 0)                            /* no hypothesis has ended: take the best one */
        finish(&b, b.ids, b.length, penalized(b.log_p[0], b.length - 1, o.length_penalty));
    if (score) *score = b.best_score;
    ag_free(s.cache);
    Tensor *found = ag_end_return(whole, tensor_ints(SHAPE(b.best_length), b.best_ids));
    ag_free(evaluation);
    return good ? found : NULL;
}
