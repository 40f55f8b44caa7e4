/* bert.h: BERT (Devlin et al. 2019), the encoder alone, and its files in Hugging Face's layout. */
#ifndef KAERU_EXAMPLES_EMBED_BERT_H
#define KAERU_EXAMPLES_EMBED_BERT_H

#include "kaeru/kaeru.h"

/* The fields have the names of the file's tensors:
 * "encoder.layer.0.attention.self.query.weight". */
typedef struct { Module module; Linear *query, *key, *value; } BertSelf;
typedef struct { Module module; Linear *dense; LayerNorm *LayerNorm; } BertOutput;
typedef struct { Module module; BertSelf *self; BertOutput *output; } BertAttention;
typedef struct { Module module; Linear *dense; } BertDense;
typedef struct {
    Module module;
    BertAttention *attention;
    BertDense *intermediate;
    BertOutput *output;
} BertLayer;
typedef struct {
    Module module;
    Embedding *word_embeddings, *position_embeddings, *token_type_embeddings;
    LayerNorm *LayerNorm;
} BertEmbeddings;
typedef struct { Module module; ModuleList *layer; } BertEncoder;

/* Of config.json. */
typedef struct {
    int64_t vocab, positions, types, width, hidden, layers, heads;
    double eps;
    const char *kind, *activation, *positions_kind;     /* only valid while the file is read */
} BertOptions;
typedef struct {
    Module module;
    BertEmbeddings *embeddings;
    BertEncoder *encoder;
    BertDense *pooler;              /* NULL, or for those who open a saved file: not used here */
    BertOptions options;
} Bert;

Bert *bert_new(BertOptions o, bool pooler);
/* ids (B,T), and a mask (B,T) of the tokens that are no padding: (B,T,D). The text is of the first
 * type; BERT has a second one for the second of two texts. */
Tensor *bert(Bert *b, Tensor *ids, Tensor *mask);

/* Reads config.json and model.safetensors. NULL with ag_error(); the sizes are compared with those
 * of the tensors in the file before the model is made. */
Bert *bert_open(const char *folder);

#endif
