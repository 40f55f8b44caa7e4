/* language.h: what training and generation need of a language model, a GPT or a Llama. */
#ifndef KAERU_LANGUAGE_H
#define KAERU_LANGUAGE_H

#include "kaeru/lm.h"

/* The model as a GPT or as a Llama; the other one is NULL. */
typedef struct { GPT *gpt; Llama *llama; int64_t vocab, context; } Language;
/* A usage error in the name of function `what` if the module is neither. */
Language language_of(AgSite at, const char *what, const void *module);
/* gpt_loss_with, gpt_next, gpt_cache_new and the settings of gpt_fields, or those of a Llama. */
Tensor *language_loss(const Language *l, Tensor *ids, Tensor *targets, AgReduce reduce);
Tensor *language_next(const Language *l, Tensor *ids, NnCache *cache);
NnCache *language_cache(const Language *l);
void language_settings(const Language *l, NnSettings *s);

#endif
