/* cache.h: changes of a cache of keys and values (attention.h). */
#ifndef KAERU_CACHE_H
#define KAERU_CACHE_H

#include "kaeru/attention.h"

AG_PUBLIC_BEGIN

/* Replaces the batch by its rows rows[0] to rows[n-1], as beam search needs it. If there is no
 * memory for this, the cache cannot be used any more. */
void nn_cache_select(NnCache *c, const int32_t *rows, int64_t n);
/* Removes all but the last `keep` positions of the layers that are not fixed. Language models and
 * transformer_decode_next count positions from the first one that is left, so for them keep must be
 * 0; with other values they report a usage error. */
void nn_cache_keep_last(NnCache *c, int64_t keep);

#include "kaeru/calls/cache.h"

AG_PUBLIC_END

#endif
