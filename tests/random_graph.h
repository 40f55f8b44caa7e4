/* random_graph.h: graphs of random operations, shapes and sharing, each made of one number, and what must be true of
 * their gradients. */
#ifndef KAERU_TESTS_RANDOM_GRAPH_H
#define KAERU_TESTS_RANDOM_GRAPH_H

#include <stdio.h>

#include "internal.h"

/* One more operation for the graphs, to show that a wrong one is found: x -> y of the same shape. */
typedef Tensor *ExtraOp(Tensor *x);

/* Builds graph number `seed` and compares:
 *   - its two losses with those of the same graph without recording, to the bit;
 *   - every gradient with that of the same graph evaluated so that no memory is used twice, to the bit, and once more
 *     with given-back values poisoned and every write out of place found;
 *   - in the double build, every leaf's gradient with a numerical one along a random direction.
 * Returns whether all agree; tells the first difference and the graph to `report` (NULL: nobody). Misuse inside the
 * graph goes to the handler. */
bool random_graph_holds(uint64_t seed, ExtraOp *extra, FILE *report);
/* How often each operation of ops.def has taken part in a graph. */
int64_t random_graph_count(int op);

#endif
