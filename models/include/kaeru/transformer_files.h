/* transformer_files.h: an encoder-decoder from a checkpoint. Programs get it with kaeru/transformer.h. */
#ifndef KAERU_TRANSFORMER_FILES_H
#define KAERU_TRANSFORMER_FILES_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

typedef struct NnSettings NnSettings;
typedef struct Transformer Transformer;
typedef struct TransformerOptions TransformerOptions;

/* Writes the sizes of the vocabularies and the options as settings for checkpoints: "transformer.src_vocab",
 * "transformer.tgt_vocab", "transformer.N", ... */
void transformer_to_settings(int64_t src_vocab, int64_t tgt_vocab, const TransformerOptions *o, NnSettings *s);

/* A model with the options and weights of a checkpoint (see checkpoint.h), whose settings must contain the options. NULL with
 * ag_error() if this fails. */
Transformer *transformer_load(const char *path);

#include "kaeru/calls/transformer_files.h"

AG_PUBLIC_END

#endif
