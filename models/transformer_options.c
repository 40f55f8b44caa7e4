/* transformer_options.c: the options of an encoder-decoder as a table. */
#include <inttypes.h>

#include "kaeru/transformer.h"

_Static_assert(sizeof(NnNormPlace) == sizeof(int) && sizeof(AgActivation) == sizeof(int),
               "fields of the kind NN_FIELD_INT are read as int");

/* A name, its member, its default, the smallest and the largest value, its help, and further
 * members of NnField. The names are the settings of checkpoints. */
#define FIELD(name, member, ...) NN_FIELD(name, TransformerOptions, member, __VA_ARGS__)
static const NnField fields[] = {
    FIELD("N", N, 6, 1, 100000, "layers of the encoder and of the decoder", .option = "layers",
          .fixed = true),
    FIELD("d_model", d_model, 512, 1, 1 << 24, "d_model", .option = "width", .fixed = true),
    FIELD("d_ff", d_ff, 2048, 1, 1 << 24, "d_ff, hidden width of the feed-forward layers",
          .option = "hidden", .fixed = true),
    FIELD("h", h, 8, 1, 1 << 24, "heads of attention", .option = "heads", .fixed = true),
    FIELD("max_len", max_len, 5000, 1, 1 << 30, NULL),
    FIELD("activation", activation, AG_RELU, AG_IDENTITY, AG_SILU, NULL),
    FIELD("dropout", dropout, 0.1, 0, 1, "probability of dropout", .below = true, .fixed = true),
    FIELD("eps", norm.eps, 1e-6, 0, 1, NULL, .below = true),
    FIELD("post_norm", norm_place, NN_PRE_NORM, NN_PRE_NORM, NN_POST_NORM, NULL),
    FIELD("eps_inside", norm.eps_inside, false, 0, 1, NULL),
    FIELD("unbiased", norm.unbiased, true, 0, 1, NULL),
    FIELD("learned_positions", learned_positions, false, 0, 1, NULL),
    FIELD("share_embeddings", share_embeddings, false, 0, 1,
          "one vocabulary and embedding for both languages and the output", .option = "shared",
          .fixed = true),
    NN_FIELDS_END
};

static bool check(const void *options)
{
    const TransformerOptions *o = options;
    if (o->d_model == 1 && o->norm.unbiased) {
        return ag_set_error("a d_model of 1 has no unbiased variance for its norms");
    }
    if (o->d_model % o->h != 0) {
        return ag_set_error("a d_model of %" PRId64 " does not divide into %d heads", o->d_model,
                            o->h);
    }
    return true;
}

const NnFields transformer_fields = { "transformer.", sizeof(TransformerOptions), fields, check };
