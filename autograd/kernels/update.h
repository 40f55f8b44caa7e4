/* update.h: the optimizers' updates, each one pass over a parameter, its state and its gradient. */
#ifndef KAERU_UPDATE_H
#define KAERU_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

/* Step number `step` (from 1) of Adam with g = grad_scale * grad:
 *     exp_avg = beta1 exp_avg + (1-beta1) g,  exp_avg_sq = beta2 exp_avg_sq + (1-beta2) g^2
 *     w -= lr (exp_avg/c1) / (sqrt(exp_avg_sq/c2) + eps)  with c = 1 - beta^step (adam_correction)
 * Weight decay: first g += weight_decay w, or if decoupled (AdamW) first w -= lr weight_decay w. */
void k_adam(int64_t n, real *w, real *exp_avg, real *exp_avg_sq, const real *grad, const AgAdam *o, int64_t step,
            double grad_scale);
/* 1 - beta^step, the power by squaring: the same bits on every machine. */
static inline double adam_correction(double beta, int64_t step)
{
    double power = 1;
    for (; step > 0; step >>= 1, beta *= beta)
        if (step & 1) power *= beta;
    return 1 - power;
}
/* g = grad_scale * grad + weight_decay w; buf = first ? g : momentum buf + g; w -= lr (nesterov ? g + momentum buf : buf).
 * buf NULL: no momentum. */
void k_sgd(int64_t n, real *w, real *buf, const real *grad, const AgSgd *o, bool first, double grad_scale);

#endif
