/* language.h: what a language model, a module that predicts the next token, gives for its training and use. */
#ifndef KAERU_LANGUAGE_H
#define KAERU_LANGUAGE_H

#include "kaeru/lm.h"

typedef struct { int64_t vocab, context, layers; } LmSizes;

/* The constructor of a language model sets module.lm to these. */
struct NnLmFunctions {
    LmSizes (*get_sizes)(const void *m);
    /* (B,T) -> (B,T,D): the model without its output layer. The ids come after those in the cache, which may be NULL. */
    Tensor *(*run_body)(void *m, Tensor *ids, NnCache *cache);
    Linear *(*get_head)(void *m);                                   /* the output layer, without a bias: D -> V */
    const NnFields *fields;                                         /* the table of its options, for checkpoints, */
    size_t options;                                                 /* and where they are in the module's struct */
};

/* A usage error, in the name of function `what`, unless m is a language model. */
LmSizes lm_sizes(AgSite at, const char *what, const void *m);
/* Sets the settings of its sizes, for checkpoints. */
void lm_settings(const void *m, NnSettings *s);
/* The number of positions in the cache (NULL: 0). A usage error unless ids are (B,T), and fit into the context behind them. */
int64_t lm_past(const char *what, const Tensor *ids, const NnCache *cache, int64_t context);

#endif
