/* update.h: the optimizers' updates, each one pass over a parameter, its state and its gradient. */
#ifndef KAERU_UPDATE_H
#define KAERU_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "kaeru/types.h"

/* g = grad_scale * grad; exp_avg = b1 exp_avg + (1-b1) g; exp_avg_sq = b2 exp_avg_sq + (1-b2) g^2;
 * w -= lr (exp_avg/c1) / (sqrt(exp_avg_sq/c2) + eps) with c1 = 1-b1^t, c2 = 1-b2^t at step t.
 * decay, coupled: g += decay * w first (Adam with L2); decoupled: w -= lr * decay * w first (AdamW). */
typedef struct { double lr, b1, b2, eps, c1, c2, decay, grad_scale; bool decoupled; } KAdam;
void k_adam(int64_t n, real *w, real *exp_avg, real *exp_avg_sq, const real *grad, const KAdam *k);
/* g = grad_scale * grad + decay w; buf = first ? g : momentum buf + g; w -= lr (nesterov ? g + momentum buf : buf).
 * buf NULL: no momentum. */
typedef struct { double lr, momentum, decay, grad_scale; bool nesterov, first; } KSgd;
void k_sgd(int64_t n, real *w, real *buf, const real *grad, const KSgd *k);

#endif
