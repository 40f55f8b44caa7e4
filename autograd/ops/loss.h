/* loss.h: what losses share: their checks, and the numbers of a loss whose targets are classes. */
#ifndef KAERU_OPS_LOSS_H
#define KAERU_OPS_LOSS_H

#include "tensor_struct.h"

/* Checks that a (named `first`) and the target are reals of one shape. */
void check_pair(const char *what, const char *first, const Tensor *a, const Tensor *target);
void check_reduce(const char *what, AgReduce reduce);

/* The numbers of a loss: `rows` targets, each one of n classes. The sum of the losses is divided by
 * `divisor`. */
typedef struct { int ignore; double smoothing, divisor; int64_t rows, n; } ClassArgs;
/* Checks that x (named `first`) is (..,last) and the target (..). */
void check_target(const char *what, const char *first, const char *last, const Tensor *x,
                  const Tensor *target);
/* Checks that each target is one of n classes or `ignore`. Returns the numbers of the loss. */
ClassArgs class_args(const char *what, int64_t n, const Tensor *target, int ignore, AgReduce reduce,
                     double smoothing);
/* Checks both for x (..,n). Returns the numbers of the loss. */
ClassArgs check_classes(const char *what, const char *first, const Tensor *x, const Tensor *target,
                        int ignore, AgReduce reduce, double smoothing);
/* Returns the sum of the losses of all rows, divided by c->divisor. */
real mean_loss(const ClassArgs *c, const real *losses);

/* Returns cross_entropy(linear(x, weight, bias), target), whose shapes are checked. A build has one
 * file that defines it: linear_loss.c, or another one, which needs less memory. */
Tensor *linear_loss(const char *what, Tensor *x, Tensor *weight, Tensor *bias, Tensor *target,
                    AgReduce reduce, int ignore, double smoothing);

#endif
