/* recompute.h: less memory for more time: values that are released, and computed again when they are read. */
#ifndef KAERU_PUBLIC_RECOMPUTE_H
#define KAERU_PUBLIC_RECOMPUTE_H

#include "kaeru/scope.h"

AG_PUBLIC_BEGIN

/* A point of this thread's computation, until the innermost scope ends. */
typedef struct { const void *newest; AgScope scope; } AgMark;
AgMark ag_mark(void);
/* What ag_recompute releases. Both: results that no backward rule reads.
 * AG_CHEAP: also results of 2 MiB or more that take little time: of elementwise operations, norms, dropout, embedding, slice.
 * AG_PRODUCTS: also smaller ones of these operations, and results of linear and matmul.
 * The results of other operations, such as attention, are kept, and what their rules read. */
typedef enum { AG_CHEAP, AG_PRODUCTS } AgRecompute;
/* Releases values that were computed and recorded since the mark, but not y, and returns y. When a backward rule or the program
 * reads such a value, it is first recomputed from its inputs: less memory, more time, the same bits (Chen et al. 2016,
 * "Training Deep Nets with Sublinear Memory Cost"). Results with ag_retain are kept. Without recording it does nothing.
 * Typically y is the result of one of many layers:
 *
 *     AgMark begin = ag_mark();
 *     x = ag_recompute(begin, layer(x), AG_PRODUCTS); */
Tensor *ag_recompute(AgMark since, Tensor *y, AgRecompute what);

#include "kaeru/calls/recompute.h"

AG_PUBLIC_END

#endif
