/* gather.h: the gradient of chosen items, each with a place of its own. */
#ifndef KAERU_GATHER_H
#define KAERU_GATHER_H

#include "shape.h"
#include "tensor_struct.h"

/* The numbers of gather and scatter_add: x (outer, n, inner), and ids with m items along n. */
typedef struct { Along x; int64_t m; } GatherArgs;

/* For the rule of y: item i of y (outer, m, inner) is item ids[i] along the dimension n of its first input x (outer, n,
 * inner). */
void grad_scatter(Tensor *y, Along x, int64_t m, const int32_t *ids);

#endif
