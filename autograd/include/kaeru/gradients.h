/* gradients.h: computes gradients by a backward pass through the graph that operations record.
 *
 *     AgScope step = ag_begin(AG_RECORD);         all that is made from here on lives until ag_end
 *     Tensor *y = ag_tanh(ag_matmul(x, w));       each operation computes and is recorded
 *     Tensor *loss = ag_mean(ag_mul(y, y));
 *     ag_backward(loss);                          tensor_grad(w) is now w's gradient
 *     ag_end(step);
 */
#ifndef KAERU_PUBLIC_GRADIENTS_H
#define KAERU_PUBLIC_GRADIENTS_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* ---- the backward pass ----------------------------------------------------------------------- */

/* Computes gradients from a loss of one item, whose own gradient is 1. The rules run in the reverse
 * order of recording. The gradients of a leaf add up. Intermediate values and gradients are
 * released during the pass. After it, leaves, the loss and tensors with ag_retain can be read. A
 * part of the graph that another loss of the same scope needs is kept. Backward itself is not
 * recorded, so its gradients have no gradients: see higher.h for others.
 *
 * It is a usage error if values that a rule reads were written in place after its operation had
 * read them: by an optimizer's step, nn_init_*, ag_fill*, tensor_copy, tensor_mutable_data or
 * ag_freeze_bf16, or, if it was a gradient, by ag_grad_scale. */
void ag_backward(Tensor *loss);
/* As ag_backward, from any tensor y, with its gradient dy, of the same shape. */
void ag_backward_from(Tensor *y, const Tensor *dy);
/* As ag_backward, but releases nothing: operations can extend the graph, and backward can run
 * through it again. */
void ag_backward_keep(Tensor *loss);

/* Keeps t's value and gradient readable after backward. Returns t. */
Tensor *ag_retain(Tensor *t);

/* Returns a constant with t's value, outside the graph. It shares t's memory. */
Tensor *ag_detach(Tensor *t);

/* ---- the gradient of a tensor ---------------------------------------------------------------- */

/* Sets whether a leaf (a tensor that no operation made) requires a gradient. Returns t. */
Tensor *tensor_set_requires_grad(Tensor *t, bool requires_grad);
/* Returns whether a tensor, a leaf or a result, requires a gradient. */
bool tensor_requires_grad(const Tensor *t);

/* Returns the gradient of a leaf or a retained tensor; NULL if there is none. It is a tensor of
 * this scope that shares the gradient's memory. It is a constant: a loss that is computed from it
 * has no gradient through it. For a penalty on gradients, see higher.h. */
Tensor *tensor_grad(Tensor *t);
/* Returns the gradient as an array, to read and write; NULL if there is none. A write to it is not
 * counted: see tensor_mutable_data. */
ag_real *tensor_grad_data(Tensor *t);

/* Removes the gradient. The next backward then writes a new one and does not add to the former. */
void tensor_zero_grad(Tensor *t);

#include "kaeru/calls/gradients.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/gradient_arrays.h"
#endif

#endif
