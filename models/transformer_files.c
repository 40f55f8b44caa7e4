/* transformer_files.c: the sizes of an encoder-decoder as settings of a checkpoint, and back to a model. */
#include <inttypes.h>

#include "fields.h"
#include "file.h"
#include "kaeru/transformer.h"

/* TransformerOptions and the vocabularies, with every number as settings know it. */
typedef struct {
    int64_t src_vocab, tgt_vocab, N, d_model, d_ff, h, max_len, activation;
    double dropout, eps;
    bool post_norm, eps_inside, unbiased, learned_positions, share_embeddings;
} Sizes;

#define SIZE(name, kind, low, high, open) { "transformer." #name, kind, offsetof(Sizes, name), low, high, open }
static const Field fields[] = {
    SIZE(src_vocab, FIELD_WHOLE, 1, INT32_MAX, false),
    SIZE(tgt_vocab, FIELD_WHOLE, 1, INT32_MAX, false),
    SIZE(N, FIELD_WHOLE, 1, 100000, false),
    SIZE(d_model, FIELD_WHOLE, 1, 1 << 24, false),
    SIZE(d_ff, FIELD_WHOLE, 1, 1 << 24, false),
    SIZE(h, FIELD_WHOLE, 1, 1 << 24, false),
    SIZE(max_len, FIELD_WHOLE, 1, 1 << 30, false),
    SIZE(activation, FIELD_WHOLE, NN_IDENTITY, NN_SIGMOID, false),
    SIZE(dropout, FIELD_REAL, 0, 1, true),
    SIZE(eps, FIELD_REAL, 0, 1, true),
    SIZE(post_norm, FIELD_FLAG, 0, 1, false),
    SIZE(eps_inside, FIELD_FLAG, 0, 1, false),
    SIZE(unbiased, FIELD_FLAG, 0, 1, false),
    SIZE(learned_positions, FIELD_FLAG, 0, 1, false),
    SIZE(share_embeddings, FIELD_FLAG, 0, 1, false),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

void transformer_to_settings(int64_t src_vocab, int64_t tgt_vocab, const TransformerOptions *o, Settings *s)
{
    Sizes sizes = {
        .src_vocab = src_vocab, .tgt_vocab = tgt_vocab, .N = o->N, .d_model = o->d_model, .d_ff = o->d_ff, .h = o->h,
        .max_len = o->max_len, .activation = o->activation, .dropout = o->dropout, .eps = o->norm.eps,
        .post_norm = o->norm_place == NN_POST_NORM, .eps_inside = o->norm.eps_inside, .unbiased = o->norm.unbiased,
        .learned_positions = o->learned_positions, .share_embeddings = o->share_embeddings };
    fields_to_settings(fields, N_FIELDS, &sizes, s);
}

/* The numbers that such a model has in its matrices: less than all, so that no good file is refused. A double, since
 * what a file says may be beyond every integer. */
static double least_size(const Sizes *s)
{
    double width = (double)s->d_model;
    double layers = (double)s->N * width * (12 * width + 4 * (double)s->d_ff);
    double words = (double)(s->share_embeddings ? s->src_vocab : s->src_vocab + 2 * s->tgt_vocab);
    return layers + width * (words + 2 * (double)s->max_len);
}

static bool read_sizes(Sizes *sizes, const Settings *s)
{
    if (!fields_from_settings(fields, N_FIELDS, sizes, s)) return false;
    if (sizes->d_model % sizes->h != 0)
        return ag_set_error("a d_model of %" PRId64 " does not divide into %" PRId64 " heads", sizes->d_model, sizes->h);
    if (sizes->share_embeddings && sizes->src_vocab != sizes->tgt_vocab)
        return ag_set_error("shared embeddings for vocabularies of %" PRId64 " and %" PRId64 " words, expected one",
                         sizes->src_vocab, sizes->tgt_vocab);
    return true;
}

/* A file can hold a model of that size only if it has at least two bytes for each number. */
static bool fits_file(const Sizes *s, const char *path)
{
    File *file = file_open(path);
    if (!file) return false;
    double size = (double)file_size(file);
    file_close(file);
    return least_size(s) * 2 <= size ||
           ag_set_error("%s: %.0f bytes are too few for the sizes in its settings", path, size);
}

static bool checkpoint_sizes(const char *path, Sizes *sizes)
{
    Settings *s = nn_settings_new();
    bool good = nn_checkpoint_settings(path, s) &&
                (read_sizes(sizes, s) || ag_set_error("%s: %s", path, ag_error())) && fits_file(sizes, path);
    nn_settings_free(s);
    return good;
}

EncoderDecoder *transformer_load(const char *path)
{
    Sizes s;
    if (!checkpoint_sizes(path, &s)) return NULL;
    TransformerOptions o = {
        .N = (int)s.N, .d_model = s.d_model, .d_ff = s.d_ff, .h = (int)s.h, .dropout = s.dropout,
        .norm_place = s.post_norm ? NN_POST_NORM : NN_PRE_NORM,
        .norm = { .eps = s.eps, .eps_inside = s.eps_inside, .unbiased = s.unbiased },
        .activation = (Activation)s.activation, .max_len = s.max_len, .learned_positions = s.learned_positions,
        .share_embeddings = s.share_embeddings };
    EncoderDecoder *m = make_model(s.src_vocab, s.tgt_vocab, o);
    if (nn_load(path, m)) return m;
    nn_free(m);
    return NULL;
}
