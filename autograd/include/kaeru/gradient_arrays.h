/* gradient_arrays.h: gradients that a program moves, adds and measures, for training in parallel.
 *
 *     Tensor *mine = ag_take_gradient(w);         w has no gradient now
 *     ...                                         another backward pass writes a new one
 *     ag_put_gradient(w, mine);                   w has the first one again
 */
#ifndef KAERU_PUBLIC_GRADIENT_ARRAYS_H
#define KAERU_PUBLIC_GRADIENT_ARRAYS_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Moves the gradient of a leaf into a tensor, which the caller frees (tensor_free). Returns NULL if
 * there is none. */
Tensor *ag_take_gradient(Tensor *leaf);
/* Moves it back: `gradient`, from ag_take_gradient, becomes the gradient of the leaf. The tensor is
 * freed. */
void ag_put_gradient(Tensor *leaf, Tensor *gradient);

/* Returns the sum of the squares of n numbers, with the same bits on any number of threads. */
double ag_sum_squares(const ag_real *x, int64_t n);
/* Adds the n numbers of x to those of y. */
void ag_add_to(ag_real *y, const ag_real *x, int64_t n);

#include "kaeru/calls/gradient_arrays.h"

AG_PUBLIC_END

#endif
