/* more_optim.h: RMSprop, Muon, averages of weights, and all weights as one vector. */
#ifndef KAERU_MORE_OPTIM_H
#define KAERU_MORE_OPTIM_H

#include "kaeru/module.h"

AG_PUBLIC_BEGIN

typedef struct Optimizer Optimizer;     /* see optim.h */

/* w = w - lr g / (sqrt(v) + eps) with v = alpha v + (1 - alpha) g^2 (Hinton 2012). PyTorch's defaults: alpha 0.99, eps 1e-8. */
typedef struct { double lr, alpha, eps, weight_decay; } NnRMSprop;
Optimizer *nn_rmsprop_new_with(void *module, NnRMSprop options);
#define nn_rmsprop_new(module, lr)   nn_rmsprop_new_with(module, (AG_VALUE(NnRMSprop){ (lr), 0.99, 1e-8, 0.0 }))

/* Muon (Jordan et al. 2024) for the matrices of the inner layers, and AdamW for all other parameters. As in torch.optim.Muon,
 * g is the gradient of a matrix (R,C), and
 *
 *     m = momentum m + (1 - momentum) g
 *     u = m                                       with nesterov: u = momentum m + (1 - momentum) g
 *     w = w - lr weight_decay w - lr s O(u)
 *
 * O(u) is nearly orthogonal: x = u / max(|u|, 1e-7), and five steps of x = 3.4445 x - 4.775 x x^T x + 2.0315 x x^T x x^T x
 * (Newton and Schulz), always in float32; torch.optim.Muon computes them in bfloat16. s is sqrt(max(1, R/C)) or, with
 * match_adamw, 0.2 sqrt(max(R, C)). `rest` has the options of the other parameters. nn_optimizer_set_lr changes both rates: the
 * others are a group with the learning-rate factor rest.lr / lr, which a further nn_optimizer_group of them needs, too. */
typedef struct { double lr, momentum, weight_decay; bool nesterov, match_adamw; AgAdam rest; } NnMuon;
/* PyTorch's defaults: momentum 0.95 with nesterov, weight decay 0.1, and nn_adamw_options. */
#define nn_muon_options(lr, adam_lr) \
    (AG_VALUE(NnMuon){ (lr), 0.95, 0.1, true, false, { (adam_lr), 0.9, 0.999, 1e-8, 0.01, true } })
/* Returns an optimizer that updates by Muon the parameters for which belongs(p, arg) is true, which must be matrices, one or
 * more. */
Optimizer *nn_muon_new_with(void *module, NnMuon options, bool (*belongs)(const NnNamedTensor *p, void *arg), void *arg);
/* The same for all matrices but those of an Embedding and of the output layer, which has the name `head` in the module
 * ("lm_head"); NULL: it has none. */
Optimizer *nn_muon_new(void *module, double lr, double adam_lr, const char *head);

/* Moves the trained parameters of `average`, a nn_clone of the module, towards the module's by the part 1 - decay, after each
 * step; buffers and frozen parameters are copied. Other shapes are a usage error, and nothing has changed. */
void nn_ema_update(void *average, void *module, double decay);

/* Return a vector (n) of the scope: the values of the trained parameters, one after the other, or their gradients, 0 where a
 * parameter has none. n is nn_count(module), and the order that of nn_parameters; a tied parameter is in it once. Both are
 * copies, and no part of a graph. */
Tensor *nn_parameters_to_vector(void *module);
Tensor *nn_gradients_to_vector(void *module);
/* Copies such a vector (n) to the trained parameters, whose gradients stay. Another shape is a usage error, and nothing has
 * changed. A step along v: nn_vector_to_parameters(net, ag_add(nn_parameters_to_vector(net), v)). */
void nn_vector_to_parameters(void *module, Tensor *vector);

#include "kaeru/calls/more_optim.h"

AG_PUBLIC_END
#endif
