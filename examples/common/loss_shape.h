/* loss_shape.h: the shape of a loss around its weights: the largest eigenvalue of its Hessian, and
 * planes. */
#ifndef KAERU_EXAMPLES_LOSS_SHAPE_H
#define KAERU_EXAMPLES_LOSS_SHAPE_H

#include "kaeru/nn.h"

/* Returns the sum of the products of all items of two lists of n tensors. */
double tensors_product(Tensor *const *a, Tensor *const *b, int n);
/* Sets hv to the Hessian of the loss times v: the gradient of the derivative along v. A part on
 * which that does not depend is NULL. */
void hessian_times(Tensor *loss, Tensor *const *p, Tensor *const *v, int n, Tensor **hv);
/* Power iteration: v becomes H v / |H v| again and again, and turns to the eigenvector of the
 * Hessian H whose eigenvalue is the largest in size. Returns v.H v, the second derivative of the
 * loss along v. The loss still has its graph, and its dependence on each p is not linear. It begins
 * with the v of the caller, which need not have the length 1. */
double largest_curvature(Tensor *loss, Tensor *const *p, Tensor *const *v, int n, int rounds);

/* A plane through the weights p of a model. The two directions are random. Li et al. (2018) scale
 * each row of a weight matrix, which they call a filter, to the norm of that row of the weights.
 * Biases and other weights of one dimension do not move. */
typedef struct { Tensor **p, **start, **direction[2]; int n; } Slice;
/* Draws the directions by the seed, with which the generator then goes on. */
Slice *slice_new(void *model, uint64_t seed);
void slice_free(Slice *s);
/* Moves the weights to start + a direction[0] + b direction[1]; (0, 0) restores them to the bit. */
void slice_move(Slice *s, double a, double b);
/* Returns the largest second derivative of the loss along any direction of length 1 in the plane. */
double slice_curvature(Slice *s, Tensor *loss);

#endif
