/* more_optim.h: RMSprop, and averages of weights. */
#ifndef KAERU_MORE_OPTIM_H
#define KAERU_MORE_OPTIM_H

#include "kaeru/module.h"

AG_PUBLIC_BEGIN

typedef struct Optimizer Optimizer;     /* see optim.h */

/* w = w - lr g / (sqrt(v) + eps) with v = alpha v + (1 - alpha) g^2 (Hinton 2012). PyTorch's defaults: alpha 0.99, eps 1e-8. */
typedef struct { double lr, alpha, eps, weight_decay; } NnRMSprop;
Optimizer *nn_rmsprop_new_with(void *module, NnRMSprop options);
#define nn_rmsprop_new(module, lr)   nn_rmsprop_new_with(module, (AG_VALUE(NnRMSprop){ (lr), 0.99, 1e-8, 0.0 }))

/* Moves the trained parameters of `average`, a nn_clone of the module, towards the module's by the part 1 - decay, after each
 * step; buffers and frozen parameters are copied. Other shapes are a usage error, and nothing has changed. */
void nn_ema_update(void *average, void *module, double decay);

#include "kaeru/calls/more_optim.h"

AG_PUBLIC_END
#endif
