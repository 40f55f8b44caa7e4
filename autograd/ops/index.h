/* index.h: ids, and sums over equal ids, for operations that choose items by ids. */
#ifndef KAERU_OPS_INDEX_H
#define KAERU_OPS_INDEX_H

#include "shape.h"
#include "tensor_struct.h"

/* Ids (AG_INT) in 0..below-1. */
void check_ids(const char *what, const Tensor *ids, int64_t below);
/* to[o,ids[j],i] += from[o,j,i]: `to` (outer, n, inner), from (outer, m, inner). y names the
 * operation. */
void add_rows(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids);

/* What is added to one place more than MANY times is summed in double. */
enum { MANY = 4096 };
/* Sets count[id] to how often id, which is below n, is in ids, for those that are; after 2^24 ids,
 * to MANY + 1 at most. Returns whether one is there more than MANY times. */
bool count_ids(int64_t n, int64_t m, const int32_t *ids, int32_t *count);

#endif
