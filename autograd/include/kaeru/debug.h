/* debug.h: shows what a graph computes, and searches it for mistakes. Results do not change.
 *
 *     ag_find_nan(true);                      the first NaN is now a usage error
 *     Tensor *loss = ...;
 *     ag_explain(stdout, loss);               prints each step of the backward pass
 *     ag_backward(loss);
 */
#ifndef KAERU_PUBLIC_DEBUG_H
#define KAERU_PUBLIC_DEBUG_H

#include "kaeru/print.h"

AG_PUBLIC_BEGIN

/* ---- gradients ------------------------------------------------------------------------------- */

/* Compares the gradients of f with numerical ones. Returns whether they agree. f must depend on the
 * n tensors of `in` alone, must give the same result in each call, and must not write to them. They
 * must be leaves with moderate values, and one at least must require a gradient; else it is a usage
 * error. Their gradients are removed.
 *
 * The loss is a sum of the results with random weights, because a plain sum hides errors (every
 * softmax sums to 1). The graph has two calls of f: this shows a rule that overwrites a gradient
 * and does not add to it. f gets results of operations, not leaves, so that backward releases them:
 * a rule that reads a value which it does not declare is then a usage error.
 *
 * `report` may be NULL. It gets the number of wrong items of each gradient, the likely reason (no
 * gradient, a missing factor, only one of two uses, ...), and the first wrong items: index,
 * gradient, numerical gradient, ratio.
 *
 * In libkaeru_double, the tolerances are PyTorch's: step 1e-6, atol 1e-5, rtol 1e-3. In float, the
 * step is 1e-2, and the tolerance 1e-3 of the size of the gradient. Where the numerical gradient
 * changes if the step doubles, up to 20 times as much is allowed. After ag_precision(AG_BF16), the
 * inputs must be multiples of 1/16 from -7 to 7, and the step is 1/16: products of two inputs are
 * then exact. This is for functions that are linear in each input, such as matmul and linear. */
typedef Tensor *AgFunction(Tensor **in, void *arg);
bool ag_gradcheck(AgFunction *f, void *arg, Tensor **in, int n, FILE *report);

/* Prints the backward pass from a loss of one item, step by step. Each step shows the rule of one
 * operation, the values and the gradient that the rule reads, the gradient of each input, and the
 * sum if a value has several uses. A tensor has its name (tensor_name), or the name of its
 * operation and a number. A large one is shown by its shape, range and norm. The numbers are those
 * of ag_backward. The graph and its gradients do not change. Call this before ag_backward. */
void ag_explain(FILE *out, Tensor *loss);

/* ---- drawings -------------------------------------------------------------------------------- */

/* Writes one step of ag_explain as a drawing for Graphviz. Returns the number of frames, n. `frame`
 * is 0 to n - 1. The first half of the frames is the forward pass: each frame adds the value of one
 * operation. The second half is the backward pass: each frame adds the gradients that one rule
 * computes. If a number has several uses, each of its arrows has the gradient of this use. */
int  ag_graph_frame(FILE *out, Tensor *loss, int frame);

/* ---- mistakes -------------------------------------------------------------------------------- */

/* Switches a search for NaN and infinity on or off, in this thread. It looks at every result and
 * every gradient. The first one that it finds is a usage error, which names the operation, its
 * shapes and the line that called it. An infinity is not searched for in the result of
 * ag_masked_fill with an infinite value, nor where an input of the operation or, for a rule, dy or
 * a gradient that it adds to, already has one. */
void ag_find_nan(bool on);
/* Does the same for NaN alone. Of the two functions, the last call counts. */
void ag_find_nan_alone(bool on);

/* Switches checks of memory on or off, in this thread. With KAERU_GUARD=1 in the environment they
 * are on from the start. A write beside the values of a tensor is a usage error at the next
 * operation. It names the tensor and the line that made it. A write to released memory is found at
 * the end of the scope. The checks also find a value that a backward rule reads and that was
 * changed through a pointer before, and a use of a tensor whose scope has ended, also by the end of
 * its thread. A training step takes two to four times as long. */
void ag_guard(bool on);

/* Switches warnings of likely mistakes on or off, in this thread. With KAERU_WARN=1 in the
 * environment they are on from the start. A warning is a line on stderr, once for each kind.
 * docs/extending.md lists them. */
void ag_warn(bool on);

#include "kaeru/calls/debug.h"

AG_PUBLIC_END

#endif
