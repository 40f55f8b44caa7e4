/* decoder.c: see decoder.h. */
#include "decoder.h"

#include "kaeru/autograd.h"

int64_t decoder_past(const char *what, const Tensor *ids, const NnCache *cache, int64_t context)
{
    char text[AG_SHAPE_TEXT];
    int64_t past = cache ? cache->layer[0].length : 0;
    if (tensor_ndim(ids) != 2 || tensor_dim(ids, 1) < 1)
        ag_usage_error(AG_HERE, what, "ids %s, expected (B,T)", ag_shape_text(tensor_shape(ids), text));
    int64_t n = tensor_dim(ids, 1);
    if (n > context - past)
        ag_usage_error(AG_HERE, what, "%lld ids after %lld in the cache exceed the context of %lld", (long long)n,
                       (long long)past, (long long)context);
    return past;
}

void decoder_check_cache(AgSite at, const char *what, const NnCache *cache, int layers)
{
    ag_check_object_at(at, what, "the cache", cache);
    if (cache->n != layers)
        ag_usage_error(at, what, "a cache for %d layers, expected one for the model's %d", cache->n, layers);
}

Tensor *decoder_last(Tensor *x)
{
    int64_t n = tensor_dim(x, 1);
    return ag_squeeze(ag_slice(x, 1, n - 1, n), 1);
}
