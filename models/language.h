/* language.h: what all language models share: modules that predict the next token. */
#ifndef KAERU_LANGUAGE_H
#define KAERU_LANGUAGE_H

#include "kaeru/attention.h"
#include "kaeru/fields.h"
#include "kaeru/nn.h"

/* Sizes, and the output layer: D -> V, without a bias. */
typedef struct { int64_t vocab, context, layers; Linear *head; } LmSizes;

/* What a language model gives for its training, its use and its files. */
typedef struct LmFunctions {
    LmSizes (*get_sizes)(const void *m);
    /* Returns the input of the output layer: (B,T) -> (B,T,D). The ids come after those in the
     * cache, which may be NULL. */
    Tensor *(*run_body)(void *m, Tensor *ids, NnCache *cache);
    const NnFields *fields;     /* the table of the model's options, for checkpoints */
    size_t options;             /* the offset of the options in the model's struct */
    /* A prefix of names in files of the Python library transformers, such as "transformer." of
     * GPT-2. There, a model with an output layer has it in all names but that of this layer,
     * lm_head; a model without an output layer does not have it. */
    const char *prefix;
    bool transposed;            /* whether weights in these files are (in,out), as in Conv1D */
} LmFunctions;

/* The beginning of the struct of each language model. Its constructor sets the functions, and
 * module.forward to lm_forward, which tells it, with its type, from other modules. */
typedef struct { Module module; const LmFunctions *lm; } LanguageModel;

/* Returns the logits of a language model: ids (B,T) -> (B,T,V). */
Tensor *lm_forward(void *m, Tensor *ids);
/* Returns the functions of a module that is a language model, else NULL. */
const LmFunctions *lm_functions(const void *m);
/* Returns the sizes of m. Checks, in the name of function `what`, that m is a language model. */
LmSizes lm_sizes(const char *what, const void *m);
/* Returns the number of positions in the cache. Checks that they are the first ones of the text. */
int64_t cache_past(const char *what, const NnCache *cache);
/* Returns cache_past, or 0 if the cache is NULL. Checks that ids are (B,T), and that the context
 * has room for them behind those in the cache. */
int64_t lm_past(const char *what, const Tensor *ids, const NnCache *cache, int64_t context);

#endif
