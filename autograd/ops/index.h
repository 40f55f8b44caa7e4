/* index.h: ids, and the gradient of what they choose, for operations that choose items by ids. */
#ifndef KAERU_OPS_INDEX_H
#define KAERU_OPS_INDEX_H

#include "shape.h"
#include "tensor_struct.h"

/* Ids (AG_INT) in 0..below-1. */
void check_ids(const char *what, const Tensor *ids, int64_t below);
/* Item i of y (outer, m, inner) is item ids[i] along the dimension n of its first input x (outer, n, inner). */
void grad_scatter(Tensor *y, Along x, int64_t m, const int32_t *ids);
/* to[o,ids[j],i] += from[o,j,i]: `to` (outer, n, inner), from (outer, m, inner). y names the operation. */
void add_rows(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids);

#endif
