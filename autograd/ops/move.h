/* move.h: copies between arrays with different strides, for operations that only move values. */
#ifndef KAERU_OPS_MOVE_H
#define KAERU_OPS_MOVE_H

#include "gradients.h"
#include "op.h"

/* Returns a new result, as op_new_n does, but for values of any type. Only reals are recorded. */
Tensor *moved_new(const Op *op, const AgShape *shape, Tensor *const *in, int n);
/* Returns y, as op_done does, for the result of moved_new. */
Tensor *moved_done(Tensor *y);
/* Returns a walk over an array of shape `part` (strides a) and over a part of this shape in an
 * array of shape `whole` (strides b). */
KWalk walk_part(const AgShape *part, const AgShape *whole);
/* Returns the walk with a and b exchanged. */
KWalk reversed(const KWalk *walk);
/* Copies src (strides b) to the gradient from item `offset` on (strides a), or adds it. */
void  copy_into(Grad g, int64_t offset, const KWalk *walk, const real *src);
/* Returns x's shape with a dimension of n items inserted. */
AgShape inserted(const char *what, const Tensor *x, int dim, int64_t n);

#endif
