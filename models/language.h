/* language.h: what all language models share: modules that predict the next token. */
#ifndef KAERU_LANGUAGE_H
#define KAERU_LANGUAGE_H

#include "kaeru/attention.h"
#include "kaeru/fields.h"
#include "kaeru/nn.h"

/* head: the output layer, without a bias: D -> V */
typedef struct { int64_t vocab, context, layers; Linear *head; } LmSizes;

/* What a language model gives for its training, its use and its files. */
typedef struct LmFunctions {
    LmSizes (*get_sizes)(const void *m);
    /* (B,T) -> (B,T,D): the model without its output layer. The ids come after those in the cache,
     * which may be NULL. */
    Tensor *(*run_body)(void *m, Tensor *ids, NnCache *cache);
    /* the table of its options, for checkpoints, */
    const NnFields *fields;
    /* and where they are in the model's struct */
    size_t options;
    /* What the class of transformers that generates puts before the names of all but the output
     * layer, lm_head. The class without an output layer does not have it; the names here may have
     * it or not. */
    const char *prefix;
    /* there, weights are (in, out): a Conv1D */
    bool transposed;
} LmFunctions;

/* What the struct of a language model begins with. Its constructor sets both: module.forward to
 * lm_forward, which tells it from other modules, and the functions. */
typedef struct { Module module; const LmFunctions *lm; } LanguageModel;

/* Returns the logits of a language model: ids (B,T) -> (B,T,V). */
Tensor *lm_forward(void *m, Tensor *ids);
/* Returns the functions of a module that is a language model, else NULL. */
const LmFunctions *lm_functions(const void *m);
/* A usage error, in the name of function `what`, unless m is a language model. */
LmSizes lm_sizes(const char *what, const void *m);
/* The number of positions in the cache. A usage error if they are not the first ones of the
 * text. */
int64_t cache_past(const char *what, const NnCache *cache);
/* The same; 0 if the cache is NULL. A usage error unless ids are (B,T), and fit into the context
 * behind them. */
int64_t lm_past(const char *what, const Tensor *ids, const NnCache *cache, int64_t context);

#endif
