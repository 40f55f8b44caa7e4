/* lm_functions.h: what a language model gives for its training, its use and its files. */
#ifndef KAERU_LM_FUNCTIONS_H
#define KAERU_LM_FUNCTIONS_H

#include "kaeru/attention.h"
#include "kaeru/fields.h"
#include "kaeru/nn.h"

typedef struct { int64_t vocab, context, layers; Linear *head; } LmSizes; /* head: the output layer, without a bias: D -> V */

/* What a language model gives for its training, its use and its files: its constructor sets module.lm to these. */
struct NnLmFunctions {
    LmSizes (*get_sizes)(const void *m);
    /* (B,T) -> (B,T,D): the model without its output layer. The ids come after those in the cache, which may be NULL. */
    Tensor *(*run_body)(void *m, Tensor *ids, NnCache *cache);
    const NnFields *fields;                                         /* the table of its options, for checkpoints, */
    size_t options;                                                 /* and where they are in the module's struct */
    /* What the class of transformers that generates puts before the names of all but the output layer, lm_head. The class
     * without an output layer does not have it; the names here may have it or not. */
    const char *prefix;
    bool transposed;                                                /* there, weights are (in, out): a Conv1D */
};

#endif
