/* cache.c: the cache of keys and values that attention uses in generation. A model that writes a
 * text reads one new token in each step. The keys and values of the earlier tokens do not change,
 * so they are stored here: attention.h has the struct.
 *
 * A layer has one array of keys and one of values, (B,n,D), with room for more positions than are
 * stored. Arrays are AG_REAL or, in bfloat16, AG_INT (B,n,D/2). Only nn_cache_append and
 * nn_cache_read convert numbers; the other functions move bytes. */
#include <string.h>

#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

NnCache *nn_cache_new(int n, int64_t capacity)
{
    if (n < 1 || capacity < 1) {
        ag_usage_error(__func__, "%d layers and %lld positions, expected 1 or more of both", n,
                       (long long)capacity);
    }
    NnCache *c = ag_object_new(sizeof *c);
    c->layer = ag_alloc_in(c, (size_t)n, sizeof *c->layer);
    ag_set_part(c->layer, c, "NnCache");
    c->n = n;
    c->capacity = capacity;
    c->bf16 = ag_precision_now() == AG_BF16;
    return c;
}

/* Returns the shape (B,n,D) of an array of keys or values. */
static AgShape shape_of(const Tensor *t)
{
    AgShape shape = tensor_shape(t);
    if (tensor_dtype(t) == AG_INT) {
        shape.dim[2] *= 2;
    }
    return shape;
}

/* Copies `count` positions to each sequence i of dst, from position `to` on. They come from
 * sequence rows[i] of src, from position `from` on. If rows is NULL, they come from sequence i. */
static void copy_positions(Tensor *dst, int64_t to, const Tensor *src, const int32_t *rows,
                           int64_t from, int64_t count)
{
    bool bf16 = tensor_dtype(src) == AG_INT;
    char *out = bf16 ? (char *)tensor_mutable_int_data(dst) : (char *)tensor_mutable_data(dst);
    const char *in = bf16 ? (const char *)tensor_int_data(src) : (const char *)tensor_data(src);
    int64_t item = (int64_t)(bf16 ? sizeof(int32_t) : sizeof(ag_real));
    int64_t bytes = tensor_dim(src, 2) * item;      /* of a position */
    for (int64_t i = 0; i < tensor_dim(dst, 0); i++) {
        int64_t row = rows ? rows[i] : i;
        int64_t source = row * tensor_dim(src, 1) + from;
        int64_t target = i * tensor_dim(dst, 1) + to;
        memmove(out + target * bytes, in + source * bytes, (size_t)(count * bytes));
    }
}

/* Returns an array of that shape and of the type of `like`. Unless x is NULL, it begins with
 * `length` positions of x, copied as copy_positions does by `rows`. */
static Tensor *array_new(NnCache *c, const Tensor *x, int64_t length, AgShape shape,
                         const Tensor *like, const int32_t *rows)
{
    Tensor *t = tensor_new_owned(shape, tensor_dtype(like));
    ag_set_part(t, c, "NnCache");
    if (x) {
        copy_positions(t, 0, x, rows, 0, length);
    }
    return t;
}

/* Frees *x, unless it is NULL, and sets it to `by`. */
static void replace(Tensor **x, Tensor *by)
{
    if (*x) {
        ag_set_part(*x, NULL, NULL);
    }
    ag_free(*x);
    *x = by;
}

/* Appends positions (B,t,D) to *x, which has `length` positions. A full array is replaced by one
 * with room for 64, 128, 256, ... positions, at most `limit`, so that a short text takes little
 * memory. Bfloat16 has two numbers in an item, so positions of an odd D are stored as reals. */
static void append(NnCache *c, Tensor **x, int64_t length, Tensor *more, int64_t limit)
{
    bool bf16 = *x ? tensor_dtype(*x) == AG_INT : c->bf16 && tensor_dim(more, 2) % 2 == 0;
    AgScope s = ag_begin(AG_NO_GRAD);
    if (bf16) {
        more = ag_to_bf16(more);
    }
    int64_t needed = length + tensor_dim(more, 1);
    int64_t capacity = 64;
    while (capacity < needed && capacity <= limit / 2) {
        capacity *= 2;
    }
    if (capacity < needed || capacity > limit) {
        capacity = limit;
    }
    AgShape shape = SHAPE(tensor_dim(more, 0), capacity, tensor_dim(more, 2));
    if (!*x || needed > tensor_dim(*x, 1)) {
        replace(x, array_new(c, *x, length, shape, more, NULL));
    }
    copy_positions(*x, length, more, NULL, 0, tensor_dim(more, 1));
    ag_end(s);
}

static NnKeysValues *checked_layer(const char *what, const NnCache *c, int layer)
{
    ag_check_object(what, "the cache", c);
    if (layer < 0 || layer >= c->n) {
        ag_usage_error(what, "layer %d of a cache for %d layers, counted from 0", layer, c->n);
    }
    return &c->layer[layer];
}

void nn_cache_append(NnCache *c, int layer, Tensor *key, Tensor *value)
{
    AG_LAYER;
    NnKeysValues *kv = checked_layer(__func__, c, layer);
    check_tensor(__func__, "key", key, AG_REAL);
    check_tensor(__func__, "value", value, AG_REAL);
    if (tensor_ndim(key) != 3 || !ag_shape_equal(tensor_shape(key), tensor_shape(value))) {
        ag_usage_error(__func__, "key %s and value %s, expected (B,t,D) for both",
                       ag_shape_string(tensor_shape(key)), ag_shape_string(tensor_shape(value)));
    }
    if (!kv->value) {
        replace(&kv->key, NULL);        /* an earlier call had memory for the keys only */
    }
    if (kv->key && (tensor_dim(key, 0) != tensor_dim(kv->key, 0) ||
                    tensor_dim(key, 2) != shape_of(kv->key).dim[2])) {
        ag_usage_error(__func__, "keys %s do not fit %s in the cache: batch or width differs",
                       ag_shape_string(tensor_shape(key)), ag_shape_string(shape_of(kv->key)));
    }
    int64_t t = tensor_dim(key, 1);
    int64_t limit = c->capacity;
    if (kv->fixed) {
        limit = kv->key ? tensor_dim(kv->key, 1) : t;
    }
    if (t > limit - kv->length) {
        ag_usage_error(__func__, "%lld positions after %lld: the cache has room for %lld",
                       (long long)t, (long long)kv->length, (long long)limit);
    }
    if (ag_recording() && (tensor_requires_grad(key) || tensor_requires_grad(value))) {
        ag_usage_error(__func__, "the key or the value requires a gradient, and a cache passes "
                       "none on: expected a scope with AG_NO_GRAD");
    }
    append(c, &kv->key, kv->length, key, limit);
    append(c, &kv->value, kv->length, value, limit);
    kv->length += t;
}

static NnKeysValues *filled_layer(const char *what, const NnCache *c, int layer)
{
    NnKeysValues *kv = checked_layer(what, c, layer);
    if (!kv->value) {
        ag_usage_error(what, "layer %d of the cache is empty", layer);
    }
    return kv;
}

/* Returns a copy of the first n positions, as reals. */
static Tensor *first_positions(Tensor *x, int64_t n)
{
    x = ag_slice(x, 1, 0, n);
    return tensor_dtype(x) == AG_INT ? ag_from_bf16(x) : x;
}

void nn_cache_read(NnCache *c, int layer, Tensor **key, Tensor **value)
{
    AG_LAYER;
    NnKeysValues *kv = filled_layer(__func__, c, layer);
    ag_check_pointer(__func__, "key", key);
    ag_check_pointer(__func__, "value", value);
    *key = first_positions(kv->key, kv->length);
    *value = first_positions(kv->value, kv->length);
}

Tensor *nn_cache_attention(NnCache *c, int layer, Tensor *q, Tensor *mask, AgAttention how)
{
    AG_LAYER;
    NnKeysValues *kv = filled_layer(__func__, c, layer);
    check_alive(__func__, "q", q);
    if (mask) {
        check_alive(__func__, "mask", mask);
    }
    if (!ag_recording() || !(tensor_requires_grad(q) || (mask && tensor_requires_grad(mask)))) {
        return ag_attention_cached(q, kv->key, kv->value, kv->length, mask, how);
    }
    Tensor *key, *value;        /* copies for backward: the cache may change before it reads them */
    nn_cache_read(c, layer, &key, &value);
    return ag_attention(q, key, value, mask, how);
}

bool nn_cache_is_filled(const NnCache *c, int layer)
{
    const NnKeysValues *kv = checked_layer(__func__, c, layer);
    return kv->fixed && kv->value;
}

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
        Tensor *key = array_new(c, kv->key, kv->length, shape, kv->key, rows);
        replace(&kv->value, array_new(c, kv->value, kv->length, shape, kv->value, rows));
        replace(&kv->key, key);
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
