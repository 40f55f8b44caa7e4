/* transformer_files.c: the sizes of an encoder-decoder as settings of a checkpoint, and the model that a checkpoint holds. */
#include <inttypes.h>

#include "kaeru/transformer.h"
#include "sizes.h"

_Static_assert(sizeof(NnNormPlace) == sizeof(int) && sizeof(AgActivation) == sizeof(int), "NN_FIELD_INT reads them as int");

/* All that describes a model. The options are first, so that one table serves for both structs. */
typedef struct { TransformerOptions o; int64_t src_vocab, tgt_vocab; } Sizes;

#define FIELD(name, member, ...) NN_FIELD(name, Sizes, member, __VA_ARGS__)
static const NnField fields[] = {
    FIELD("src_vocab", src_vocab, 0, 1, INT32_MAX, NULL),
    FIELD("tgt_vocab", tgt_vocab, 0, 1, INT32_MAX, NULL),
    FIELD("N", o.N, 6, 1, 100000, "layers of the encoder and of the decoder", .option = "layers", .fixed = true),
    FIELD("d_model", o.d_model, 512, 1, 1 << 24, "d_model", .option = "width", .fixed = true),
    FIELD("d_ff", o.d_ff, 2048, 1, 1 << 24, "d_ff, hidden width of the feed-forward layers", .option = "hidden",
          .fixed = true),
    FIELD("h", o.h, 8, 1, 1 << 24, "heads of attention", .option = "heads", .fixed = true),
    FIELD("max_len", o.max_len, 5000, 1, 1 << 30, NULL),
    FIELD("activation", o.activation, AG_RELU, AG_IDENTITY, AG_SILU, NULL),
    FIELD("dropout", o.dropout, 0.1, 0, 1, "probability of dropout", .below = true, .fixed = true),
    FIELD("eps", o.norm.eps, 1e-6, 0, 1, NULL, .below = true),
    FIELD("post_norm", o.norm_place, NN_PRE_NORM, NN_PRE_NORM, NN_POST_NORM, NULL),
    FIELD("eps_inside", o.norm.eps_inside, false, 0, 1, NULL),
    FIELD("unbiased", o.norm.unbiased, true, 0, 1, NULL),
    FIELD("learned_positions", o.learned_positions, false, 0, 1, NULL),
    FIELD("share_embeddings", o.share_embeddings, false, 0, 1,
          "one vocabulary and embedding for both languages and the output", .option = "shared", .fixed = true),
    NN_FIELDS_END
};

static bool check(const void *options)
{
    const TransformerOptions *o = options;
    return o->d_model % o->h == 0 ||
           ag_set_error("a d_model of %" PRId64 " does not divide into %d heads", o->d_model, o->h);
}

static bool check_sizes(const void *sizes)
{
    const Sizes *s = sizes;
    if (!check(&s->o)) return false;
    return !s->o.share_embeddings || s->src_vocab == s->tgt_vocab ||
           ag_set_error("shared embeddings for vocabularies of %" PRId64 " and %" PRId64 " words, expected one", s->src_vocab,
                        s->tgt_vocab);
}

const NnFields transformer_fields = { "transformer.", sizeof(TransformerOptions), fields + 2, check };
static const NnFields sizes_fields = { "transformer.", sizeof(Sizes), fields, check_sizes };

void transformer_to_settings_at(AgSite at, int64_t src_vocab, int64_t tgt_vocab, const TransformerOptions *o, NnSettings *s)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "o", o);
    nn_fields_to_settings(&sizes_fields, &(Sizes){ *o, src_vocab, tgt_vocab }, s);
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

Transformer *transformer_load_at(AgSite at, const char *path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "path", path);
    Sizes s = { .src_vocab = 0 };
    if (!checkpoint_options(path, &sizes_fields, &s) || !weights_may_hold(path, least_parameters(&s))) return NULL;
    return model_filled(transformer_new(s.src_vocab, s.tgt_vocab, s.o), path, (NnLoadOptions){ .map = false });
}
