/* random_graph.h: random graphs, with random operations, shapes and shared values. A graph is a function of its number.
 * The checks of its gradients are here, too. */
#ifndef KAERU_TESTS_RANDOM_GRAPH_H
#define KAERU_TESTS_RANDOM_GRAPH_H

#include <stdio.h>

#include "kaeru/autograd.h"
#include "kernels.h"
#include "op_samples.h"

/* One more operation for the graphs, x -> y of the same shape: with a wrong one the checks must fail. */
typedef Tensor *ExtraOp(Tensor *x);

/* Builds graph number `seed` and compares:
 *   - its two losses with those of the same graph without recording, to the bit;
 *   - every gradient with that of the same graph computed without reuse of memory, to the bit, and with that computed with
 *     ag_guard;
 *   - in the double build, every leaf's gradient with a numerical one along a random direction.
 * Returns whether all agree; writes the first difference and the graph to `report` (NULL: nowhere). The error handler gets
 * usage errors inside the graph. */
bool random_graph_holds(uint64_t seed, ExtraOp *extra, FILE *report);
/* Builds graph number `seed`, and compares the derivative of the sum of its losses along a random direction with the gradients
 * times this direction; the same for that derivative, and for the derivative of that; and for the gradients as a part of the
 * graph. In the double build. Returns whether all agree; writes the first difference and the graph to `report`. */
bool random_graph_derivatives_hold(uint64_t seed, FILE *report);
/* How often this operation of ops.def was part of a graph. */
int64_t random_graph_count(int op);

#endif
