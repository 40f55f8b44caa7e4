/* recompute.h: saves memory in training, for more time.
 *
 * The forward pass releases values of the graph. When a backward rule reads such a value, it is
 * computed again, with the same bits (Chen et al. 2016, "Training Deep Nets with Sublinear Memory
 * Cost"). Typically the program does so for each of many layers:
 *
 *     AgMark begin = ag_mark();
 *     x = ag_recompute(begin, layer(x), AG_PRODUCTS);
 */
#ifndef KAERU_PUBLIC_RECOMPUTE_H
#define KAERU_PUBLIC_RECOMPUTE_H

#include "kaeru/scope.h"

AG_PUBLIC_BEGIN

/* A point in the computation of this thread. It is valid until the innermost scope ends. */
typedef struct { const void *newest; AgScope scope; } AgMark;
/* Returns the point that the computation has reached. */
AgMark ag_mark(void);
/* What ag_recompute releases. Both release results that no backward rule reads. AG_CHEAP also
 * releases results of 2 MiB or more that take little time: of elementwise operations, norms,
 * dropout, embedding and slice. AG_PRODUCTS also releases smaller results of these operations, and
 * those of linear and matmul. Results of other operations, such as attention, are kept, and so is
 * what their rules read. */
typedef enum { AG_CHEAP, AG_PRODUCTS } AgRecompute;
/* Releases values that were computed and recorded since the mark, but not y, and returns y. When a
 * backward rule or the program reads such a value, it is first computed again from its inputs.
 * Results with ag_retain are kept. In a scope that does not record, this does nothing. */
Tensor *ag_recompute(AgMark since, Tensor *y, AgRecompute what);

#include "kaeru/calls/recompute.h"

AG_PUBLIC_END

#endif
