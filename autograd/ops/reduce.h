/* reduce.h: the dimensions that an operation reduces. */
#ifndef KAERU_OPS_REDUCE_H
#define KAERU_OPS_REDUCE_H

#include "shape.h"
#include "tensor_struct.h"

/* Which dimensions are reduced, the result's shape with them as size 1 (kept) and without them
 * (dropped), and how many items of x are reduced to one. */
typedef struct { bool reduced[AG_MAX_DIMS]; AgShape kept, dropped; int64_t count; } Reduction;
Reduction reduction(const char *what, const Tensor *x, AgDims dims);
/* Returns the values of x with its reduced dimensions as neighbors: its own, or a copy in scratch
 * memory with them at the end. Sets *a to how they lie. */
const real *with_neighbors(const char *what, const Reduction *r, const Tensor *x, Along *a);

/* For the rule of a result that is `scale` times a sum. */
typedef struct { AgShape kept; double scale; } ReduceArgs;

#endif
