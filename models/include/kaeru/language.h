/* language.h: the use of a language model, which is a module that predicts the next token: its
 * loss, its logits, and a cache of the tokens that it has read. A model is a GPT or a Llama. Any
 * other module is a usage error. kaeru/lm.h trains a model and generates text.
 *
 *     GPT *m = gpt_new(gpt_defaults());
 *     NnCache *cache = lm_cache_new(m);
 *     Tensor *logits = lm_next(m, ids, cache);            // (B,T) -> (B,V)
 *
 * Shapes: B batch, T time, V vocabulary. Ids are AG_INT. */
#ifndef KAERU_PUBLIC_LANGUAGE_H
#define KAERU_PUBLIC_LANGUAGE_H

#include "kaeru/attention.h"

AG_PUBLIC_BEGIN

/* Returns the mean or the sum of -log p(target): ids (B,T), targets (B,T) -> scalar. A target of
 * -100 is ignored. This needs less memory than nn_cross_entropy of the logits, which has the same
 * bits (see ag_linear_cross_entropy). */
Tensor *lm_loss_with(void *m, Tensor *ids, Tensor *targets, AgReduce reduce);
#define lm_loss(m, ids, targets) lm_loss_with(m, ids, targets, AG_MEAN)

/* Returns an empty cache for all layers of the model and as many positions as its context. Free it
 * with ag_free. */
NnCache *lm_cache_new(const void *m);

/* Returns the logits of the token after each id: (B,T) -> (B,T,V). The cache may be NULL. With a
 * cache, the ids come after those in it, and are added to it; the scope must then record no graph.
 * The logits have the same bits if ids are read at once or one by one. */
Tensor *lm_logits(void *m, Tensor *ids, NnCache *cache);

/* Returns the logits of the next token, without a graph: (B,T) -> (B,V). The ids come after those
 * in the cache, and are added to it. */
Tensor *lm_next(void *m, Tensor *ids, NnCache *cache);

#include "kaeru/calls/language.h"

AG_PUBLIC_END

#endif
