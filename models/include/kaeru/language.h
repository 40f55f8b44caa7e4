/* language.h: the use of a language model, a module that predicts the next token: its loss, and its logits with a cache of what
 * it has read. A model is a GPT or a Llama; any other module is a usage error. kaeru/lm.h trains one and generates text.
 *
 *     GPT *m = gpt_new(gpt_defaults());
 *     NnCache *cache = lm_cache_new(m);
 *     Tensor *logits = lm_next(m, ids, cache);
 *
 * Shapes: B batch, T time, V vocabulary. Ids are AG_INT. */
#ifndef KAERU_PUBLIC_LANGUAGE_H
#define KAERU_PUBLIC_LANGUAGE_H

#include "kaeru/attention.h"

AG_PUBLIC_BEGIN

/* The mean or sum of -log p(target): ids and targets (B,T) -> scalar. A target of -100 is ignored. It needs less memory than
 * nn_cross_entropy of the logits, which has the same bits (see ag_linear_cross_entropy). */
Tensor *lm_loss_with(void *m, Tensor *ids, Tensor *targets, AgReduce reduce);
#define lm_loss(m, ids, targets) lm_loss_with(m, ids, targets, AG_MEAN)

/* A cache for the keys and values of all layers and of as many positions as the context. Free with ag_free. */
NnCache *lm_cache_new(const void *m);

/* ids (B,T) -> (B,T,V) logits of the token after each id. With a cache, which may be NULL, the ids come after those in the
 * cache and are added to it; the scope must then record no graph. Whether ids are read at once or one by one, the logits have
 * the same bits. */
Tensor *lm_logits(void *m, Tensor *ids, NnCache *cache);

/* ids (B,T), which come after those in the cache -> (B,V) logits of the next token, without a graph. The cache gets the ids. */
Tensor *lm_next(void *m, Tensor *ids, NnCache *cache);

#include "kaeru/calls/language.h"

AG_PUBLIC_END

#endif
