/* decoder.h: what the models that predict the next token share. */
#ifndef KAERU_DECODER_H
#define KAERU_DECODER_H

#include "kaeru/attention.h"

/* The number of positions in the cache (NULL: 0). A usage error unless ids are (B,T), and fit into the context behind them. */
int64_t decoder_past(const char *what, const Tensor *ids, const NnCache *cache, int64_t context);
/* A usage error unless the cache is alive and has that many layers. */
void decoder_check_cache(AgSite at, const char *what, const NnCache *cache, int layers);
/* (B,T,D) -> (B,D): the last position. */
Tensor *decoder_last(Tensor *x);

#endif
