/* bert_files.c: opens a BERT of Hugging Face's layout. The files may be anybody's, so nothing is
 * made of a size that the file with the weights does not have. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../common/common.h"
#include "bert.h"
#include "kaeru/tensor_files.h"

/* ---- config.json ----------------------------------------------------------------------------- */

static bool is_bert(const void *of)
{
    const BertOptions *o = of;
    const struct { const char *key, *found, *expected; } texts[] = {
        { "model_type", o->kind, "bert" }, { "hidden_act", o->activation, "gelu" },
        { "position_embedding_type", o->positions_kind, "absolute" },
    };
    for (int i = 0; i < 3; i++) {
        if (texts[i].found && strcmp(texts[i].found, texts[i].expected) != 0) {
            return ag_set_error("%s is \"%s\", expected \"%s\"", texts[i].key, texts[i].found,
                                texts[i].expected);
        }
    }
    return o->width % o->heads == 0 ||
           ag_set_error("hidden_size is %" PRId64 ", expected a multiple of num_attention_heads, %"
                        PRId64, o->width, o->heads);
}

#define SIZE(key, member, most) NN_FIELD(key, BertOptions, member, 0, 1, most, NULL)
#define TEXT(key, member) \
    NN_FIELD(key, BertOptions, member, 0, 0, 0, NULL, .optional = true, .may_be_empty = true)
static const NnField fields[] = {
    SIZE("vocab_size", vocab, 10000000), SIZE("max_position_embeddings", positions, 1000000),
    SIZE("type_vocab_size", types, 1000), SIZE("hidden_size", width, 100000),
    SIZE("intermediate_size", hidden, 1000000), SIZE("num_hidden_layers", layers, 1000),
    SIZE("num_attention_heads", heads, 10000),
    NN_FIELD("layer_norm_eps", BertOptions, eps, 1e-12, 0, 1, NULL, .optional = true),
    TEXT("model_type", kind), TEXT("hidden_act", activation),
    TEXT("position_embedding_type", positions_kind), NN_FIELDS_END
};
static const NnFields table = { "", sizeof(BertOptions), fields, is_bert };

static bool read_config(const char *path, BertOptions *o)
{
    NnSettings *s = nn_settings_new();
    bool good = nn_settings_read_json(path, s);
    if (good && !nn_fields_from_settings(&table, o, s)) {
        good = ag_set_error("%s: %s", path, ag_error());
    }
    ag_free(s);
    o->kind = o->activation = o->positions_kind = NULL;
    return good;
}

/* ---- model.safetensors ----------------------------------------------------------------------- */

/* A model with a head for a task has the names behind a prefix. */
static const char prefix[] = "bert.";

typedef struct { const NnTensorFile *file; const char *path, *prefix; } Weights;

static bool fits(const Weights *w, const char *name, int64_t rows, int64_t columns)
{
    char whole[200];
    snprintf(whole, sizeof whole, "%s%s", w->prefix, name);
    const NnFileTensor *t = tensor_file_find(w->file, whole);
    AgShape expected = SHAPE(rows, columns);
    if (t && ag_shape_equal(t->shape, expected)) {
        return true;
    }
    return ag_set_error("%s: tensor \"%s\" is %s, expected %s by config.json", w->path, whole,
                        t ? ag_shape_string(t->shape) : "missing", ag_shape_string(expected));
}

/* Whether the file has the matrices of a model of these sizes. */
static bool all_fit(const Weights *w, const BertOptions *o)
{
    bool good = fits(w, "embeddings.word_embeddings.weight", o->vocab, o->width) &&
                fits(w, "embeddings.position_embeddings.weight", o->positions, o->width) &&
                fits(w, "embeddings.token_type_embeddings.weight", o->types, o->width);
    for (int64_t i = 0; good && i < o->layers; i++) {
        char first[80], second[80];
        snprintf(first, sizeof first, "encoder.layer.%" PRId64 ".attention.self.query.weight", i);
        snprintf(second, sizeof second, "encoder.layer.%" PRId64 ".intermediate.dense.weight", i);
        good = fits(w, first, o->width, o->width) && fits(w, second, o->hidden, o->width);
    }
    return good;
}

/* Buffers of older files, which are the numbers 0, 1, 2, ... */
static bool is_ignored(void *unused, const char *name)
{
    (void)unused;
    return strcmp(name, "embeddings.position_ids") == 0;
}

static Bert *read_weights(const char *path, const BertOptions *o)
{
    NnTensorFile *f = tensor_file_open(path);
    if (!f) {
        return NULL;
    }
    bool prefixed = tensor_file_find(f, "bert.embeddings.word_embeddings.weight") != NULL;
    Weights w = { f, path, prefixed ? prefix : "" };
    char pooler[40];
    snprintf(pooler, sizeof pooler, "%spooler.dense.weight", w.prefix);
    bool has_pooler = tensor_file_find(f, pooler) != NULL;
    Bert *b = all_fit(&w, o) ? bert_new(*o, has_pooler) : NULL;
    ag_free(f);
    NnLoadOptions how = { .prefix = w.prefix, .ignored = is_ignored, .in_place = true };
    if (b && !nn_load_with(path, b, how)) {
        ag_free(b);
        return NULL;
    }
    return b;
}

Bert *bert_open(const char *folder)
{
    BertOptions o = { .vocab = 0 };
    char *config = path_in(folder, "config.json"), *weights = path_in(folder, "model.safetensors");
    Bert *b = read_config(config, &o) ? read_weights(weights, &o) : NULL;
    ag_free(config);
    ag_free(weights);
    return b;
}
