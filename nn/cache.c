/* cache.c: the cache of keys and values that attention uses in generation. */
#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/attention.h"

Cache *nn_cache_new_at(Site at, int n, int64_t capacity)
{
    if (n < 1 || capacity < 1)
        ag_usage_error(at, "nn_cache_new", "%d layers and %lld positions, expected 1 or more of both", n, (long long)capacity);
    Cache *c = ag_object_new_at(at, sizeof *c);
    c->layer = ag_alloc_in_at(at, c, (size_t)n, sizeof *c->layer);
    c->n = n;
    c->capacity = capacity;
    return c;
}

/* Copies `count` positions of each of n sequences: from position `from` of src, which has room_from positions for a sequence,
 * to position `to` of dst, which has room_to. */
static void copy_positions(real *dst, int64_t to, int64_t room_to, const real *src, int64_t from, int64_t room_from,
                           int64_t count, int64_t n, int64_t width)
{
    for (int64_t i = 0; i < n; i++)
        memmove(dst + (i * room_to + to) * width, src + (i * room_from + from) * width,
                (size_t)(count * width) * sizeof(real));
}

/* Makes room for `needed` positions in *x, which has `length`. The capacity is doubled, up to `limit`: a short text uses little
 * memory. */
static void make_room(Site at, Cache *c, Tensor **x, int64_t length, int64_t needed, int64_t limit, int64_t b, int64_t width)
{
    enum { FIRST = 64 };
    int64_t capacity = *x ? tensor_dim(*x, 1) : 0;
    if (*x && needed <= capacity) return;
    int64_t larger = capacity ? 2 * capacity : FIRST;
    while (larger < needed) larger *= 2;
    if (larger > limit) larger = limit;
    Tensor *moved = tensor_new_owned_at(at, SHAPE(b, larger, width), AG_REAL);
    ag_set_owner(moved, c);
    if (*x) copy_positions(tensor_mutable_data(moved), 0, larger, tensor_data(*x), 0, capacity, length, b, width);
    ag_free(*x);
    *x = moved;
}

/* Appends positions (B,t,D) to *x, which has `length`. */
static void append(Site at, Cache *c, Tensor **x, int64_t length, Tensor *more, int64_t limit)
{
    int64_t b = tensor_dim(more, 0), t = tensor_dim(more, 1), width = tensor_dim(more, 2);
    make_room(at, c, x, length, length + t, limit, b, width);
    copy_positions(tensor_mutable_data(*x), length, tensor_dim(*x, 1), tensor_data(more), 0, t, t, b, width);
}

static KeysValues *checked_layer(Site at, const char *what, const Cache *c, int layer)
{
    ag_check_object_at(at, what, "the cache", c);
    if (layer < 0 || layer >= c->n) ag_usage_error(at, what, "layer %d of a cache for %d layers", layer, c->n);
    return &c->layer[layer];
}

/* New keys and values must have the same shape, and fit those of the cache. */
static void check_positions(Site at, const KeysValues *kv, const Tensor *key, const Tensor *value)
{
    char k[AG_SHAPE_TEXT], v[AG_SHAPE_TEXT];
    tensor_data(key);                       /* a usage error unless they are reals */
    tensor_data(value);
    if (tensor_ndim(key) != 3 || !ag_shape_equal(tensor_shape(key), tensor_shape(value)))
        ag_usage_error(at, "nn_cache_append", "key %s and value %s, expected (B,t,D) for both",
                       ag_shape_text(tensor_shape(key), k), ag_shape_text(tensor_shape(value), v));
    if (kv->key && (tensor_dim(key, 0) != tensor_dim(kv->key, 0) || tensor_dim(key, 2) != tensor_dim(kv->key, 2)))
        ag_usage_error(at, "nn_cache_append", "keys %s do not fit %s in the cache: batch or width differs",
                       ag_shape_text(tensor_shape(key), k), ag_shape_text(tensor_shape(kv->key), v));
}

void nn_cache_append_at(Site at, Cache *c, int layer, Tensor *key, Tensor *value)
{
    AG_LAYER(at);
    KeysValues *kv = checked_layer(at, "nn_cache_append", c, layer);
    check_positions(at, kv, key, value);
    int64_t t = tensor_dim(key, 1);
    int64_t limit = kv->fixed ? kv->key ? tensor_dim(kv->key, 1) : t : c->capacity;
    if (kv->length + t > limit)
        ag_usage_error(at, "nn_cache_append", "%lld positions after %lld: the cache has room for %lld", (long long)t,
                       (long long)kv->length, (long long)limit);
    if (ag_recording() && (tensor_requires_grad(key) || tensor_requires_grad(value)))
        ag_usage_error(at, "nn_cache_append", "the key or the value requires a gradient, and a cache passes none on: expected "
                       "a scope with AG_NO_GRAD");
    append(at, c, &kv->key, kv->length, key, limit);
    append(at, c, &kv->value, kv->length, value, limit);
    kv->length += t;
}

void nn_cache_read_at(Site at, Cache *c, int layer, Tensor **key, Tensor **value)
{
    KeysValues *kv = checked_layer(at, "nn_cache_read", c, layer);
    ag_check_pointer_at(at, "nn_cache_read", "key", key);
    ag_check_pointer_at(at, "nn_cache_read", "value", value);
    if (!kv->key) ag_usage_error(at, "nn_cache_read", "layer %d of the cache is empty", layer);
    *key = ag_slice_at(at, kv->key, 1, 0, kv->length);
    *value = ag_slice_at(at, kv->value, 1, 0, kv->length);
}

bool nn_cache_is_filled_at(Site at, const Cache *c, int layer)
{
    const KeysValues *kv = checked_layer(at, "nn_cache_is_filled", c, layer);
    return kv->fixed && kv->key;
}

/* Replaces *t by its rows rows[0..n). */
static void select_rows(Cache *c, Tensor **t, const int32_t *rows, int64_t n)
{
    if (!*t) return;
    Scope s = ag_begin(AG_NO_GRAD);
    Shape shape = tensor_shape(*t);
    int64_t row = shape.dim[0] ? tensor_numel(*t) / shape.dim[0] : 0;
    Tensor *flat = ag_reshape(*t, SHAPE(shape.dim[0], row));
    shape.dim[0] = n;
    Tensor *chosen = ag_reshape(ag_embedding(flat, tensor_ints(SHAPE(n), rows)), shape);
    Tensor *owned = tensor_new_owned(shape, AG_REAL);
    ag_set_owner(owned, c);
    tensor_copy(owned, chosen);
    ag_free(*t);
    *t = owned;
    ag_end(s);
}

void nn_cache_select_at(Site at, Cache *c, const int32_t *rows, int64_t n)
{
    AG_LAYER(at);
    ag_check_object_at(at, __func__, "c", c);
    if (n < 1) ag_usage_error(at, __func__, "%lld rows, expected 1 or more", (long long)n);
    ag_check_pointer_at(at, __func__, "rows", rows);
    for (int i = 0; i < c->n; i++) {
        select_rows(c, &c->layer[i].key, rows, n);
        select_rows(c, &c->layer[i].value, rows, n);
    }
}

void nn_cache_keep_last_at(Site at, Cache *c, int64_t keep)
{
    AG_LAYER(at);
    ag_check_object_at(at, __func__, "c", c);
    if (keep < 0) ag_usage_error(at, __func__, "%lld positions to keep, expected 0 or more", (long long)keep);
    for (int i = 0; i < c->n; i++) {
        KeysValues *kv = &c->layer[i];
        if (kv->fixed || kv->length <= keep) continue;
        Shape shape = tensor_shape(kv->key);
        int64_t from = kv->length - keep;
        for (int j = 0; j < 2; j++) {
            real *x = tensor_mutable_data(j ? kv->value : kv->key);
            copy_positions(x, 0, shape.dim[1], x, from, shape.dim[1], keep, shape.dim[0], shape.dim[2]);
        }
        kv->length = keep;
    }
}
