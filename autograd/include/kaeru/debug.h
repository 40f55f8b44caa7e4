/* debug.h: tools that show what a graph computes, and that look for mistakes. Results do not change. */
#ifndef KAERU_PUBLIC_DEBUG_H
#define KAERU_PUBLIC_DEBUG_H

#include "kaeru/print.h"

AG_PUBLIC_BEGIN

/* ---- gradients ---------------------------------------------------------------------------------------------------- */

/* Compares the gradients of f with numerical ones; returns whether they agree. f must depend on in[0..n) alone, must give the
 * same result in each call, and must not write to them. The inputs must be leaves with moderate values, and one at least must
 * require a gradient; else it is a usage error. Their gradients are removed. The loss is a sum of the outputs with random
 * weights, because a plain sum hides errors (every softmax sums to 1). The graph contains two calls of f, which reveals a rule
 * that overwrites a gradient instead of adding to it. f gets results of operations, not leaves, so that backward releases
 * them: a rule that reads a value it does not declare is then a usage error.
 * Unless `report` is NULL, it gets the number of wrong entries of each input, the likely reason (no gradient, a missing factor,
 * only one of two uses, ...), and the first wrong entries: index, gradient, numerical gradient, ratio.
 * Tolerances are PyTorch's in libkaeru_double (step 1e-6, atol 1e-5, rtol 1e-3); in float step 1e-2 and 1e-3 of the
 * gradient's scale. More is allowed, up to 20 times as much, where the numerical gradient changes if the step doubles.
 * After ag_precision(AG_BF16) the inputs must be multiples of 1/16 from -7 to 7, and the step is 1/16: products of two inputs
 * are then exact. This form is for functions that are linear in each input, such as matmul and linear. */
typedef Tensor *AgFunction(Tensor **in, void *arg);
bool ag_gradcheck(AgFunction *f, void *arg, Tensor **in, int n, FILE *report);

/* Prints the backward pass from a loss of one element, step by step. Each step shows the rule of one operation, the values and
 * the gradient that the rule reads, the gradient of each input, and the sum if a value is used more than once. Tensors have
 * their names (tensor_name), or the name of the operation and a number; large ones are shown by shape, range and norm. The
 * numbers are those of ag_backward. The graph and its gradients do not change. Call it before ag_backward. */
void ag_explain(FILE *out, Tensor *loss);

/* ---- drawings ----------------------------------------------------------------------------------------------------- */

/* Writes the graph of y for Graphviz: operations with shapes, leaves by name, scalars with values. */
void ag_graph_dot(FILE *out, Tensor *y);
/* Writes one step of ag_explain as a drawing for Graphviz, and returns the number of frames, n: `frame` is 0 to n - 1. The
 * first half of the frames is the forward pass, where each frame adds the value of one operation. The second half is the
 * backward pass, where each frame adds the gradients that one rule computes. If a number is used several times, each of its
 * arrows has the gradient of this use. */
int  ag_graph_frame(FILE *out, Tensor *loss, int frame);

/* ---- mistakes ----------------------------------------------------------------------------------------------------- */

/* While on (per thread), every result and every gradient is searched for NaN and infinity. The first one found is a usage
 * error that names the operation, its shapes and the line that called it. */
void ag_find_nan(bool on);

/* While on (per thread; from the start if the environment has KAERU_GUARD=1), memory is checked: the bytes around every
 * tensor's values, released buffers, and tensors whose scope has ended. An out-of-bounds write is a usage error at the next
 * operation; the message names the tensor and the line that made it. A write to released memory is found at the end of the
 * scope. Also found: a value that a backward rule reads and that was changed through a pointer in between, and a tensor of a
 * thread that has ended with its scope open. A training step takes two to four times as long. */
void ag_guard(bool on);

/* While on (per thread; from the start if the environment has KAERU_WARN=1), likely mistakes that are no errors are told on
 * stderr, one line for each kind, once. docs/extending.md lists them. Results do not change. */
void ag_warn(bool on);

#include "kaeru/calls/debug.h"

AG_PUBLIC_END

#endif
