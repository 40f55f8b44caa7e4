/* cache.h: the functions of cache.c that change the arrays of a cache. */
#ifndef KAERU_CACHE_INSIDE_H
#define KAERU_CACHE_INSIDE_H

#include "kaeru/attention.h"

/* Copies `count` positions to each sequence i of dst, from position `to` on. They come from
 * sequence rows[i] of src, from position `from` on. If rows is NULL, they come from sequence i. */
void copy_positions(Tensor *dst, int64_t to, const Tensor *src, const int32_t *rows, int64_t from,
                    int64_t count);
/* Returns an array of that shape and of the type of `like`. Unless x is NULL, it begins with
 * `length` positions of x, copied as copy_positions does by `rows`. */
Tensor *cache_array(NnCache *c, const Tensor *x, int64_t length, AgShape shape, const Tensor *like,
                    const int32_t *rows);
/* Frees *x, unless it is NULL, and sets it to `by`. */
void cache_replace(Tensor **x, Tensor *by);

#endif
