/* transformer_files.c: the sizes of an encoder-decoder as settings of a checkpoint, and the model that a checkpoint holds. */
#include <inttypes.h>

#include "fields.h"
#include "kaeru/transformer.h"

_Static_assert(sizeof(NnNormPlace) == sizeof(int) && sizeof(AgActivation) == sizeof(int), "FIELD_INT reads them as int");

typedef struct { int64_t src_vocab, tgt_vocab; TransformerOptions o; } Sizes;

#define AT(member) offsetof(Sizes, member)
static const Field fields[] = {
    { "transformer.src_vocab", FIELD_INT64, AT(src_vocab), 1, INT32_MAX, false },
    { "transformer.tgt_vocab", FIELD_INT64, AT(tgt_vocab), 1, INT32_MAX, false },
    { "transformer.N", FIELD_INT, AT(o.N), 1, 100000, false },
    { "transformer.d_model", FIELD_INT64, AT(o.d_model), 1, 1 << 24, false },
    { "transformer.d_ff", FIELD_INT64, AT(o.d_ff), 1, 1 << 24, false },
    { "transformer.h", FIELD_INT, AT(o.h), 1, 1 << 24, false },
    { "transformer.max_len", FIELD_INT64, AT(o.max_len), 1, 1 << 30, false },
    { "transformer.activation", FIELD_INT, AT(o.activation), AG_IDENTITY, AG_SILU, false },
    { "transformer.dropout", FIELD_DOUBLE, AT(o.dropout), 0, 1, true },
    { "transformer.eps", FIELD_DOUBLE, AT(o.norm.eps), 0, 1, true },
    { "transformer.post_norm", FIELD_INT, AT(o.norm_place), NN_PRE_NORM, NN_POST_NORM, false },
    { "transformer.eps_inside", FIELD_BOOL, AT(o.norm.eps_inside), 0, 1, false },
    { "transformer.unbiased", FIELD_BOOL, AT(o.norm.unbiased), 0, 1, false },
    { "transformer.learned_positions", FIELD_BOOL, AT(o.learned_positions), 0, 1, false },
    { "transformer.share_embeddings", FIELD_BOOL, AT(o.share_embeddings), 0, 1, false },
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

void transformer_to_settings_at(AgSite at, int64_t src_vocab, int64_t tgt_vocab, const TransformerOptions *o, NnSettings *s)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "o", o);
    ag_check_object_at(at, __func__, "s", s);
    fields_to_settings(fields, N_FIELDS, &(Sizes){ src_vocab, tgt_vocab, *o }, s);
}

/* The number of parameters in the matrices of such a model: fewer than all, so that no good file is refused. A double,
 * because the product of sizes from a file may be too large for an integer. */
static double least_parameters(const Sizes *s)
{
    double width = (double)s->o.d_model;
    double layers = (double)s->o.N * width * (12 * width + 4 * (double)s->o.d_ff);
    double words = (double)(s->o.share_embeddings ? s->src_vocab : s->src_vocab + 2 * s->tgt_vocab);
    return layers + width * (words + 2 * (double)s->o.max_len);
}

static bool read_sizes(Sizes *sizes, const NnSettings *s)
{
    if (!fields_from_settings(fields, N_FIELDS, sizes, s)) return false;
    if (sizes->o.d_model % sizes->o.h != 0)
        return ag_set_error("a d_model of %" PRId64 " does not divide into %d heads", sizes->o.d_model, sizes->o.h);
    if (sizes->o.share_embeddings && sizes->src_vocab != sizes->tgt_vocab)
        return ag_set_error("shared embeddings for vocabularies of %" PRId64 " and %" PRId64 " words, expected one",
                            sizes->src_vocab, sizes->tgt_vocab);
    return true;
}

static bool checkpoint_sizes(const char *path, Sizes *sizes)
{
    NnSettings *s = nn_settings_new();
    bool good = nn_checkpoint_settings(path, s) &&
                (read_sizes(sizes, s) || ag_set_error("%s: %s", path, ag_error())) &&
                checkpoint_may_hold(path, least_parameters(sizes));
    ag_free(s);
    return good;
}

Transformer *transformer_load_at(AgSite at, const char *path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "path", path);
    Sizes s;
    if (!checkpoint_sizes(path, &s)) return NULL;
    Transformer *m = transformer_new(s.src_vocab, s.tgt_vocab, s.o);
    if (nn_load(path, m)) return m;
    nn_free(m);
    return NULL;
}
