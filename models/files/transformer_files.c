/* transformer_files.c: the sizes of an encoder-decoder as settings of a checkpoint, and the model that a checkpoint holds. */
#include <inttypes.h>

#include "kaeru/transformer.h"
#include "kaeru/transformer_files.h"
#include "model_files.h"

typedef struct { int64_t src, tgt; } Vocabularies;

static const NnField fields[] = {
    NN_FIELD("src_vocab", Vocabularies, src, 0, 1, INT32_MAX, NULL),
    NN_FIELD("tgt_vocab", Vocabularies, tgt, 0, 1, INT32_MAX, NULL),
    NN_FIELDS_END
};
static const NnFields vocabulary_fields = { "transformer.", sizeof(Vocabularies), fields, NULL };

void transformer_to_settings(int64_t src_vocab, int64_t tgt_vocab, const TransformerOptions *o, NnSettings *s)
{
    AG_LAYER;
    nn_fields_to_settings(&vocabulary_fields, &(Vocabularies){ src_vocab, tgt_vocab }, s);
    nn_fields_to_settings(&transformer_fields, o, s);
}

/* The number of parameters in the matrices of such a model: fewer than all, so that no good file is refused. A double,
 * because the product of sizes from a file may be too large for an integer. */
static double least_parameters(Vocabularies v, const TransformerOptions *o)
{
    double width = (double)o->d_model;
    double layers = (double)o->N * width * (12 * width + 4 * (double)o->d_ff);
    double words = (double)(o->share_embeddings ? v.src : v.src + 2 * v.tgt);
    return layers + width * (words + 2 * (double)o->max_len);
}

Transformer *transformer_load(const char *path)
{
    AG_LAYER;
    ag_check_pointer(__func__, "path", path);
    Vocabularies v = { 0, 0 };
    TransformerOptions o = { .N = 0 };
    if (!checkpoint_options(path, &vocabulary_fields, &v) || !checkpoint_options(path, &transformer_fields, &o)) return NULL;
    /* The layers have 6 and 10 matrices, and as many biases, and 2 and 3 norms, of two tensors each: 42 tensors in all. */
    bool good = !o.share_embeddings || v.src == v.tgt ||
                ag_set_error("%s: shared embeddings for vocabularies of %" PRId64 " and %" PRId64 " words, expected one", path,
                             v.src, v.tgt);
    if (!good || !model_may_be_made(path, least_parameters(v, &o), 42 * (double)o.N)) return NULL;
    return model_filled(transformer_new(v.src, v.tgt, o), path, (NnLoadOptions){ .prefix = NULL });
}
