/* cache_rows.c: caches that lose or repeat rows or positions. */
#include "cache.h"

#include "arguments.h"
#include "kaeru/cache.h"

void nn_cache_select(NnCache *c, const int32_t *rows, int64_t n)
{
    AG_LAYER;
    ag_check_object(__func__, "c", c);
    if (n < 1) {
        ag_usage_error(__func__, "%lld rows, expected 1 or more", (long long)n);
    }
    ag_check_pointer(__func__, "rows", rows);
    for (int i = 0; i < c->n; i++) {
        NnKeysValues *kv = &c->layer[i];
        if (!kv->value) continue;
        if (tensor_dim(kv->key, 0) == 0) {
            ag_usage_error(__func__, "%lld rows of an empty batch", (long long)n);
        }
        for (int64_t j = 0; j < n; j++) {
            if (rows[j] < 0 || rows[j] >= tensor_dim(kv->key, 0)) {
                ag_usage_error(__func__, "row %d at item %lld is out of range: expected 0 to %lld",
                               (int)rows[j], (long long)j, (long long)tensor_dim(kv->key, 0) - 1);
            }
        }
        AgShape shape = tensor_shape(kv->key);
        shape.dim[0] = n;
        Tensor *key = cache_array(c, kv->key, kv->length, shape, kv->key, rows);
        cache_replace(&kv->value, cache_array(c, kv->value, kv->length, shape, kv->value, rows));
        cache_replace(&kv->key, key);
    }
}

void nn_cache_keep_last(NnCache *c, int64_t keep)
{
    AG_LAYER;
    ag_check_object(__func__, "c", c);
    if (keep < 0) {
        ag_usage_error(__func__, "%lld positions to keep, expected 0 or more", (long long)keep);
    }
    for (int i = 0; i < c->n; i++) {
        NnKeysValues *kv = &c->layer[i];
        if (kv->fixed || kv->length <= keep) continue;
        copy_positions(kv->key, 0, kv->key, NULL, kv->length - keep, keep);
        copy_positions(kv->value, 0, kv->value, NULL, kv->length - keep, keep);
        kv->length = keep;
        c->shifted = true;
    }
    if (keep == 0) {
        c->shifted = false;
    }
}
