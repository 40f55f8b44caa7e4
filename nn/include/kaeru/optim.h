/* optim.h: optimizers: Adam, AdamW, SGD, and optimizers of your own.
 *
 *     Optimizer *o = nn_adamw_new(net, 1e-3);
 *     for (int step = 0; step < 1000; step++) {
 *         AgScope s = ag_begin(AG_RECORD);
 *         ag_backward(nn_mse_loss(net_forward(net, x), y));
 *         nn_clip_grad_norm(net, 1.0);
 *         nn_optimizer_step(o);
 *         ag_end(s);
 *     }
 */
#ifndef KAERU_OPTIM_H
#define KAERU_OPTIM_H

#include "kaeru/module.h"

AG_PUBLIC_BEGIN

/* Groups of parameters, each with a learning-rate factor and a weight decay of its own, and the
 * state of each parameter. Free it with ag_free, before or after the module. */
typedef struct Optimizer Optimizer;

/* PyTorch's defaults: betas 0.9 and 0.999, eps 1e-8; Adam without weight decay, AdamW with
 * decoupled weight decay 0.01. */
#define nn_adam_options(lr)  (AG_VALUE(AgAdam){ (lr), 0.9, 0.999, 1e-8, 0.0, false })
#define nn_adamw_options(lr) (AG_VALUE(AgAdam){ (lr), 0.9, 0.999, 1e-8, 0.01, true })
Optimizer *nn_adam_new_with(void *module, AgAdam options);
Optimizer *nn_sgd_new_with(void *module, AgSgd options);
#define nn_adam_new(module, lr)      nn_adam_new_with(module, nn_adam_options(lr))
#define nn_adamw_new(module, lr)     nn_adam_new_with(module, nn_adamw_options(lr))
#define nn_sgd_new(module, lr) \
    nn_sgd_new_with(module, (AG_VALUE(AgSgd){ (lr), 0.0, 0.0, false }))

/* Moves the parameters for which belongs(p, arg) is true to a new group with another weight decay
 * and learning-rate factor (GPT: decay on matrices only). At first all parameters are in one group.
 * With nn_muon_new, the factor is that of Muon's rate: rest.lr / lr for parameters of `rest`. Returns
 * how many moved. */
int nn_optimizer_group(Optimizer *o, bool (*belongs)(const NnNamedTensor *p, void *arg), void *arg,
                       double weight_decay, double lr_factor);
/* Returns whether a parameter has less than two dimensions: a function for nn_optimizer_group. */
bool nn_is_not_matrix(const NnNamedTensor *p, void *unused);

/* Checks that the optimizer was made for this module or for a part of it. If not, it is a usage
 * error in the name of function `what`. */
void nn_optimizer_check(const char *what, const Optimizer *o, const void *module);

/* Updates every parameter that has a gradient, and removes the gradients. It is a usage error if no
 * parameter has one, or if a parameter that has one was registered, tied or unfrozen, or a field
 * replaced, after the optimizer was made. */
void nn_optimizer_step(Optimizer *o);

/* Returns the learning rate. */
double nn_optimizer_lr(const Optimizer *o);
/* Sets the learning rate; a schedule does so before each step. */
void nn_optimizer_set_lr(Optimizer *o, double lr);
/* Returns the number of steps taken. */
int64_t nn_optimizer_steps(const Optimizer *o);

/* Scales all gradients so that their global 2-norm is at most max_norm; 0 or infinity: no limit.
 * Returns the norm before scaling. Where it is not finite, the gradients are those of PyTorch: an
 * infinite norm makes finite ones 0 and infinite ones NaN, and a norm of NaN makes all NaN. It is a
 * usage error if no parameter has a gradient. */
double nn_clip_grad_norm(void *module, double max_norm);
#define nn_grad_norm(module) nn_clip_grad_norm(module, __builtin_inf())     /* the norm alone */

/* An optimizer of your own: the update of one parameter. Groups, learning rates, steps, gradients
 * and checkpoints work as with the optimizers above. ag_sign is in more_ops.h:
 *
 *     static void sign_update(const OptimizerUpdate *u)       // w = w - lr sign(gradient)
 *     {
 *         Tensor *w = u->parameter->tensor;
 *         tensor_copy(w, ag_sub(w, ag_scale(ag_sign(u->gradient), u->lr)));
 *     }
 *     static const OptimizerKind sign = { .name = "sign", .update = sign_update };
 *     Optimizer *o = nn_optimizer_new(net, &sign, NULL, 0, 1e-3, 0);
 */
typedef struct {
    const NnNamedTensor *parameter;
    Tensor *gradient;
    int64_t first, count;       /* the items to update: all, or the part of this process if the kind
                                   is by_item */
    Tensor *const *state;       /* the state tensors of these items: zeros at first, written by
                                   tensor_copy. They have the parameter's shape if all items are
                                   updated, else (count) */
    double lr, weight_decay;    /* of its group; lr is the optimizer's times the group's factor */
    double grad_scale;          /* the factor for the gradient; 1 but in nn_parallel_step */
    int64_t step;               /* the number of this update of the parameter, from 1 */
    const void *options;        /* the copy of what nn_optimizer_new got */
} OptimizerUpdate;
#define NN_STATES 4
typedef struct {
    const char *name;           /* of the kind, in checkpoints: one that loads must have the same */
    const char *state[NN_STATES];   /* names of state tensors in checkpoints; NULL after the last */
    /* Returns how many of them a parameter has; NULL: all. */
    int (*states)(const NnNamedTensor *p);
    /* Updates one parameter. Called for each one that has a gradient, in a scope of its own without
     * recording. Afterwards the gradient is removed. */
    void (*update)(const OptimizerUpdate *u);
    bool by_item;               /* whether the update of an item depends on that item alone, so that
                                   processes may share a parameter (parallel.h) */
} OptimizerKind;
/* Returns an optimizer of that kind. `kind` must stay valid. The options, any struct of `size`
 * bytes, are copied; NULL and 0: none. */
Optimizer *nn_optimizer_new(void *module, const OptimizerKind *kind, const void *options,
                            size_t size, double lr, double weight_decay);

#include "kaeru/calls/optim.h"

AG_PUBLIC_END
#endif
