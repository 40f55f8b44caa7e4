/* embedder.c: texts to vectors. */
#include "embedder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 32 };

/* ---- the folder ------------------------------------------------------------------------------ */

/* The settings of a file that need not be there. */
static NnSettings *settings_of(const char *path)
{
    NnSettings *s = nn_settings_new();
    if (access(path, F_OK) == 0 && !nn_settings_read_json(path, s)) {
        example_fail("%s", ag_error());
    }
    return s;
}

static int64_t read_longest(const char *folder, int64_t positions)
{
    char *path = path_in(folder, "sentence_bert_config.json");
    NnSettings *s = settings_of(path);
    int64_t longest = positions;
    if (nn_settings_get(s, "max_seq_length") && !nn_settings_int(s, "max_seq_length", &longest)) {
        example_fail("%s: %s", path, ag_error());
    }
    if (longest < 3 || longest > positions) {
        example_fail("%s: max_seq_length is %" PRId64 ", expected a whole number from 3 to %"
                     PRId64, path, longest, positions);
    }
    ag_free(s);
    ag_free(path);
    return longest;
}

static bool is_on(const NnSettings *s, const char *mode)
{
    char key[64];
    snprintf(key, sizeof key, "pooling_mode_%s", mode);
    const char *value = nn_settings_get(s, key);
    return value && strcmp(value, "1") == 0;
}

/* Whether the vector is that of the first token. */
static bool read_pooling(const char *folder)
{
    static const char *const others[] = { "max_tokens", "mean_sqrt_len_tokens",
                                          "weightedmean_tokens", "lasttoken" };
    char *path = path_in(folder, "1_Pooling/config.json");
    NnSettings *s = settings_of(path);
    bool first = is_on(s, "cls_token"), given = access(path, F_OK) == 0;
    bool good = !given || first != is_on(s, "mean_tokens");
    for (int i = 0; i < 4; i++) {
        good = good && !is_on(s, others[i]);
    }
    if (!good) {
        example_fail("%s: expected pooling_mode_cls_token or pooling_mode_mean_tokens alone", path);
    }
    ag_free(s);
    ag_free(path);
    return first;
}

Embedder embedder_open(const char *folder)
{
    char *path = path_in(folder, "tokenizer.json");
    Embedder e = { .vocab = kaeru_vocab_open(KAERU_WORDPIECE, path, NULL) };
    e.bert = e.vocab ? bert_open(folder) : NULL;
    if (!e.bert) {
        example_fail("%s", ag_error());
    }
    e.begin = kaeru_vocab_special(e.vocab, KAERU_START);
    e.end = kaeru_vocab_special(e.vocab, KAERU_END);
    if (e.begin < 0 || e.end < 0) {
        example_fail("%s: post_processor: expected a token before a text and one behind it", path);
    }
    if (kaeru_vocab_size(e.vocab) > e.bert->options.vocab) {
        example_fail("the vocabulary has %d tokens, the model's only %" PRId64,
                     (int)kaeru_vocab_size(e.vocab), e.bert->options.vocab);
    }
    e.longest = read_longest(folder, e.bert->options.positions);
    e.first = read_pooling(folder);
    ag_free(path);
    return e;
}

void embedder_close(Embedder *e)
{
    ag_free(e->bert);
    ag_free(e->vocab);
}

/* ---- vectors --------------------------------------------------------------------------------- */

Tokens tokens_of(const Embedder *e, KaeruLine text)
{
    size_t count;
    int32_t *id = kaeru_vocab_encode(e->vocab, text.text, text.size, KAERU_WITH_SPECIAL, &count);
    size_t most = (size_t)e->longest - 2, n = count < most ? count : most;
    Tokens t = { .id = ag_alloc(n + 2, sizeof *t.id), .n = (int64_t)n + 2 };
    memcpy(t.id + 1, id, n * sizeof *id);
    t.id[0] = e->begin;
    t.id[n + 1] = e->end;
    ag_free(id);
    return t;
}

Tensor *embed_tokens(const Embedder *e, const Tokens *text, int64_t n)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        longest = text[i].n > longest ? text[i].n : longest;
    }
    Tensor *ids = tensor_ints(SHAPE(n, longest), NULL);
    Tensor *mask = tensor_bools(SHAPE(n, longest), NULL);
    for (int64_t i = 0; i < n; i++) {
        memcpy(tensor_mutable_int_data(ids) + i * longest, text[i].id,
               (size_t)text[i].n * sizeof *text->id);
        memset(tensor_mutable_bool_data(mask) + i * longest, 1, (size_t)text[i].n);
    }
    Tensor *y = bert(e->bert, ids, mask), *real = ag_unsqueeze(ag_cast(mask, AG_REAL), -1);
    if (e->first) {
        y = ag_squeeze(ag_slice(y, 1, 0, 1), 1);
    } else {
        y = ag_div(ag_sum_dims(ag_mul(y, real), DIMS(1), false), ag_sum_dims(real, DIMS(1), false));
    }
    return ag_scale(ag_rms_norm(y, NULL, 0), 1 / sqrt((double)tensor_dim(y, 1)));
}

/* Orders texts by length, those of one length by place. */
static int by_length(const void *left, const void *right)
{
    const Tokens *a = left, *b = right;
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    return a->place < b->place ? -1 : 1;
}

Tensor *embed_lines(const Embedder *e, const KaeruLine *line, int64_t n)
{
    int64_t width = e->bert->options.width;
    Tensor *vectors = tensor_zeros(SHAPE(n, width));
    Tokens *text = ag_alloc((size_t)n, sizeof *text);
    for (int64_t i = 0; i < n; i++) {
        text[i] = tokens_of(e, line[i]);
        text[i].place = i;
    }
    if (n > 0) {
        qsort(text, (size_t)n, sizeof *text, by_length);
    }
    Progress progress = progress_begin("embedding", n);
    for (int64_t from = 0; from < n; from += BATCH) {
        int64_t count = n - from < BATCH ? n - from : BATCH;
        AgScope scope = ag_begin(AG_NO_GRAD);
        const ag_real *y = tensor_data(embed_tokens(e, text + from, count));
        for (int64_t i = 0; i < count * width; i++) {
            if (!isfinite(y[i])) {
                example_fail("--model: the vector of a text is not finite: "
                             "expected finite weights");
            }
        }
        for (int64_t i = 0; i < count; i++) {
            memcpy(tensor_mutable_data(vectors) + text[from + i].place * width, y + i * width,
                   (size_t)width * sizeof *y);
        }
        ag_end(scope);
        progress_show(&progress, from + count, "%" PRId64 " tokens each", text[from].n);
    }
    progress_end(&progress);
    for (int64_t i = 0; i < n; i++) {
        ag_free(text[i].id);
    }
    ag_free(text);
    return vectors;
}
