/* embedder.h: texts to vectors: a vocabulary, a BERT, and the mean over its tokens. */
#ifndef KAERU_EXAMPLES_EMBED_EMBEDDER_H
#define KAERU_EXAMPLES_EMBED_EMBEDDER_H

#include "../common/common.h"
#include "bert.h"
#include "kaeru/text.h"

typedef struct {
    Bert *bert;
    KaeruVocab *vocab;
    int32_t begin, end;             /* [CLS] and [SEP], which are around each text */
    int64_t longest;                /* the most tokens of a text, these two included */
    bool first;                     /* a text's vector is that of [CLS], not the mean */
} Embedder;

/* Opens a folder of Hugging Face's layout; ends the program with a message if that fails. Beside
 * config.json, model.safetensors and tokenizer.json it may have sentence_bert_config.json, with
 * max_seq_length, and 1_Pooling/config.json. */
Embedder embedder_open(const char *folder);
void embedder_close(Embedder *e);

/* The ids of a text with those around it, at most e->longest. */
typedef struct { int32_t *id; int64_t n, place; } Tokens;
Tokens tokens_of(const Embedder *e, KaeruLine text);
/* Vectors (n,D) of length 1. The columns of the batch behind a text's tokens are padding. */
Tensor *embed_tokens(const Embedder *e, const Tokens *text, int64_t n);
/* The vectors (n,D) of n texts, without gradients. Texts of about one length are in one batch. */
Tensor *embed_lines(const Embedder *e, const KaeruLine *line, int64_t n);

#endif
