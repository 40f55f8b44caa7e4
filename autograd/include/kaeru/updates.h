/* updates.h: changes the values of leaves in place, for optimizers and initializers. Updates are
 * not recorded.
 *
 *     ag_fill_normal(w, 0, 0.02);
 *     ...
 *     ag_backward(loss);
 *     AgSgd sgd = { .lr = 0.1 };
 *     ag_sgd_update_part(w, 0, tensor_numel(w), tensor_grad_data(w), NULL, &sgd, true, 1);
 */
#ifndef KAERU_PUBLIC_UPDATES_H
#define KAERU_PUBLIC_UPDATES_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Does one step of Adam on the n items of w from `first` on. `step` is the number of the step, from
 * 1. g is grad times grad_scale:
 *
 *     m = beta1 m + (1 - beta1) g
 *     v = beta2 v + (1 - beta2) g^2
 *     n = m / (1 - beta1^step)
 *     r = v / (1 - beta2^step)
 *     w = w - lr n / (sqrt(r) + eps)
 *
 * grad, exp_avg (m) and exp_avg_sq (v) are arrays of n numbers. m and v are zeros at first. AgAdam
 * says what weight decay is. */
void   ag_adam_update_part(Tensor *w, int64_t first, int64_t n, const ag_real *grad,
                           ag_real *exp_avg, ag_real *exp_avg_sq, const AgAdam *o, int64_t step,
                           double grad_scale);

/* Does one step of SGD on the n items of w from `first` on. g is grad times grad_scale, plus
 * weight_decay times w:
 *
 *     m = momentum m + g
 *     w = w - lr m                        with nesterov: w = w - lr (g + momentum m)
 *
 * grad and momentum (m) are arrays of n numbers. At the first step (is_first), m is set to g. If
 * momentum is NULL, w = w - lr g. */
void   ag_sgd_update_part(Tensor *w, int64_t first, int64_t n, const ag_real *grad,
                          ag_real *momentum, const AgSgd *o, bool is_first, double grad_scale);

/* Returns the sum of the squares of w's gradient, 0 if there is none. w is a leaf or a retained
 * tensor. */
double ag_grad_sum_squares(Tensor *w);
/* Multiplies the gradient of w, a leaf, by a factor. */
void   ag_grad_scale(Tensor *w, double factor);

/* Fill w with random numbers from this thread's generator, uniform in [low, high) or normal. */
void   ag_fill_uniform(Tensor *w, double low, double high);
void   ag_fill_normal(Tensor *w, double mean, double deviation);
/* Fills w with one value. */
void   ag_fill(Tensor *w, double value);

#include "kaeru/calls/updates.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/gradient_arrays.h"
#endif

#endif
