/* language.h: what all language models share: modules that predict the next token. */
#ifndef KAERU_LANGUAGE_H
#define KAERU_LANGUAGE_H

#include "kaeru/attention.h"
#include "kaeru/module.h"
#include "lm_functions.h"

/* A usage error, in the name of function `what`, unless m is a language model. */
LmSizes lm_sizes(const char *what, const void *m);
/* Sets the settings of its sizes, for checkpoints. */
void lm_settings(const void *m, NnSettings *s);
/* Whether the settings of a checkpoint describe this model; else false with ag_error(). */
bool lm_has_settings(const void *m, const NnSettings *found, const char *checkpoint);
/* The number of positions in the cache. A usage error if they are not the first ones of the text. */
int64_t cache_past(const char *what, const NnCache *cache);
/* The same; 0 if the cache is NULL. A usage error unless ids are (B,T), and fit into the context behind them. */
int64_t lm_past(const char *what, const Tensor *ids, const NnCache *cache, int64_t context);

#endif
