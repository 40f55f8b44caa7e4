/* index.h: ids, and sums over equal ids, for operations that choose items by ids. */
#ifndef KAERU_OPS_INDEX_H
#define KAERU_OPS_INDEX_H

#include "shape.h"
#include "tensor_struct.h"

/* Checks that each id (AG_INT) is in 0..below-1. */
void check_ids(const char *what, const Tensor *ids, int64_t below);
/* Adds rows: to[o,ids[j],i] += from[o,j,i], where `to` is (outer, n, inner) and `from` (outer, m,
 * inner). y is the tensor whose rule or operation this is. */
void add_rows(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids);

/* The terms of one place are summed in double if there are more than MANY. */
enum { MANY = 4096 };
/* Counts how often each id occurs in ids[0..m-1]. Sets count[id] of the ids that occur; a count is
 * MANY + 1 at most. Returns whether an id occurs more than MANY times. */
bool count_ids(int64_t m, const int32_t *ids, int32_t *count);

#endif
