/* reduce.h: the dimensions that an operation reduces to one item, as sum and mean do. */
#ifndef KAERU_OPS_REDUCE_H
#define KAERU_OPS_REDUCE_H

#include "shape.h"
#include "tensor_struct.h"

typedef struct {
    bool reduced[AG_MAX_DIMS];      /* which dimensions are reduced */
    AgShape kept, dropped;          /* the result's shape: with them as size 1, and without them */
    int64_t count;                  /* how many items of x become one */
} Reduction;
/* Returns how x is reduced over dims. A usage error of function `what` if x does not have them. */
Reduction reduction(const char *what, const Tensor *x, AgDims dims);
/* Returns the values of x with the reduced dimensions next to each other, and sets *a to their
 * place. If they are apart in x, the result is a copy in scratch memory, with them at the end. */
const real *with_neighbors(const char *what, const Reduction *r, const Tensor *x, Along *a);

/* The numbers for the rule of a result that is `scale` times a sum. */
typedef struct { AgShape kept; double scale; } ReduceArgs;

#endif
