/* updates.h: updates of leaves in place, which are not recorded: for optimizers and initializers. */
#ifndef KAERU_PUBLIC_UPDATES_H
#define KAERU_PUBLIC_UPDATES_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* One step of Adam, number `step` (from 1), on n items of w from `first` on, with grad times grad_scale as g:
 *
 *     m = beta1 m + (1 - beta1) g      v = beta2 v + (1 - beta2) g^2
 *     n = m / (1 - beta1^step)         r = v / (1 - beta2^step)            w = w - lr n / (sqrt(r) + eps)
 *
 * grad, exp_avg (m) and exp_avg_sq (v) are arrays of n numbers; m and v are zeros at first. Weight decay is that of AgAdam. */
void   ag_adam_update_part(Tensor *w, int64_t first, int64_t n, const ag_real *grad, ag_real *exp_avg, ag_real *exp_avg_sq,
                           const AgAdam *o, int64_t step, double grad_scale);

/* One step of SGD on n items of w from `first` on, with grad times grad_scale, plus weight_decay w, as g:
 *
 *     m = momentum m + g               w = w - lr m                        with nesterov: w = w - lr (g + momentum m)
 *
 * grad and momentum (m) are arrays of n numbers; momentum NULL: w = w - lr g. At the first step (is_first), m is set to g. */
void   ag_sgd_update_part(Tensor *w, int64_t first, int64_t n, const ag_real *grad, ag_real *momentum, const AgSgd *o,
                          bool is_first, double grad_scale);

/* Of arrays of n numbers: the sum of squares, with the same bits on any number of threads, and y += x. */
double ag_sum_squares(const ag_real *x, int64_t n);
void   ag_add_to(ag_real *y, const ag_real *x, int64_t n);

/* The sum of squares of w's gradient, 0 without one: w is a leaf or a retained tensor. ag_grad_scale multiplies the gradient of
 * w, a leaf, by a factor. */
double ag_grad_sum_squares(Tensor *w);
void   ag_grad_scale(Tensor *w, double factor);

/* Fills w from a distribution, with this thread's generator. */
void   ag_fill_uniform(Tensor *w, double low, double high);
void   ag_fill_normal(Tensor *w, double mean, double deviation);
void   ag_fill(Tensor *w, double value);

#include "kaeru/calls/updates.h"

AG_PUBLIC_END

#endif
