/* gradient_nodes.h: the gradients of one operation as a node of the graph. */
#ifndef KAERU_HIGHER_GRADIENT_NODES_H
#define KAERU_HIGHER_GRADIENT_NODES_H

#include "tangents.h"

/* Computes the gradients of y's inputs from that of y, dy, by the backward rule of y's operation,
 * and records this. part[i] becomes the gradient of input i where wanted[i] is set, else NULL. */
void gradient_parts(const char *what, Tensor *y, Tensor *dy, const bool *wanted, Tensor **part);
/* Returns whether y is such a node. Its tangent rule is gradient_tangent. */
bool is_gradient_node(const Tensor *y);
Tensor *gradient_tangent(Tensor *g, Tensor *const *dx);
/* Returns x as a node of its own, with the same value. */
Tensor *slot_of(Tensor *x);
/* Returns whether y is such a tensor. */
bool is_slot(const Tensor *y);

/* Sets out[i] to the gradient of in[i], NULL for zeros, where dy is the gradient of y. */
void record_gradients(const char *what, Tensor *y, Tensor *dy, Tensor *const *in, int n,
                      Tensor **out);

#endif
