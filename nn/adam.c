/* adam.c: Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) and SGD, as PyTorch defines
 * them. Each is written as a program writes an optimizer of its own: a function that updates one
 * parameter, and an OptimizerKind, which optim.h describes. The function gets the gradient and the
 * state in an OptimizerUpdate. It calls a kernel, whose loop is in autograd/plain/update.c. */
#include "arguments.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "kaeru/optim.h"

/* ---- Adam ------------------------------------------------------------------------------------ */

/* The options without the learning rate and the weight decay. All kinds of optimizers have these
 * two (optimizer.h), so that schedules and groups can change them. The struct has no padding, so
 * that equal options have equal bytes. */
typedef struct {
    double beta1, beta2, eps;
    int64_t decoupled;
} AdamConstants;

/* Updates w by its gradient g: m = beta1 m + (1 - beta1) g and v = beta2 v + (1 - beta2) g^2. Both
 * begin at 0, so the kernel divides them by 1 - beta^step. Then w = w - lr m / (sqrt(v) + eps). The
 * kernel calls m and v exp_avg and exp_avg_sq, as PyTorch does. */
static void update_adam(const OptimizerUpdate *u)
{
    const AdamConstants *c = u->options;
    const AgAdam how = { u->lr, c->beta1, c->beta2, c->eps, u->weight_decay, c->decoupled };
    const ag_real *gradient = tensor_data(u->gradient) + u->first;
    ag_real *m = tensor_mutable_data(u->state[0]);
    ag_real *v = tensor_mutable_data(u->state[1]);
    ag_adam_update_part(u->parameter->tensor, u->first, u->count, gradient, m, v, &how, u->step,
                        u->grad_scale);
}

static const OptimizerKind adam = {
    .name = "adam",
    .state = { "m", "v" },
    .update = update_adam,
    .by_item = true,
};

Optimizer *nn_adam_new_with(void *module, AgAdam o)
{
    check_number(__func__, "beta1", o.beta1, o.beta1 >= 0 && o.beta1 < 1, "a number in [0, 1)");
    check_number(__func__, "beta2", o.beta2, o.beta2 >= 0 && o.beta2 < 1, "a number in [0, 1)");
    check_number(__func__, "eps", o.eps, o.eps > 0, "a finite number above 0");
    const AdamConstants c = { o.beta1, o.beta2, o.eps, o.decoupled };
    return nn_optimizer_new(module, &adam, &c, sizeof c, o.lr, o.weight_decay);
}

/* ---- SGD ------------------------------------------------------------------------------------- */

typedef struct {
    double momentum;
    int64_t nesterov;
} SgdConstants;

/* Updates w by its gradient g: velocity = momentum velocity + g, and w = w - lr velocity. Without
 * momentum, w = w - lr g, and there is no state. */
static void update_sgd(const OptimizerUpdate *u)
{
    const SgdConstants *c = u->options;
    const AgSgd how = { u->lr, c->momentum, u->weight_decay, c->nesterov };
    const ag_real *gradient = tensor_data(u->gradient) + u->first;
    ag_real *velocity = u->state[0] ? tensor_mutable_data(u->state[0]) : NULL;
    ag_sgd_update_part(u->parameter->tensor, u->first, u->count, gradient, velocity, &how,
                       u->step == 1, u->grad_scale);
}

static const OptimizerKind sgd = { .name = "sgd", .update = update_sgd, .by_item = true };
static const OptimizerKind sgd_with_momentum = {
    .name = "sgd",
    .state = { "velocity" },
    .update = update_sgd,
    .by_item = true,
};

Optimizer *nn_sgd_new_with(void *module, AgSgd o)
{
    const bool has_momentum = o.momentum > 0;
    check_number(__func__, "momentum", o.momentum, o.momentum >= 0 && o.momentum < 1,
                 "a number in [0, 1)");
    check_number(__func__, "momentum", o.momentum, has_momentum || !o.nesterov,
                 "a number above 0 with nesterov");
    const SgdConstants c = { o.momentum, o.nesterov };
    const OptimizerKind *kind = has_momentum ? &sgd_with_momentum : &sgd;
    return nn_optimizer_new(module, kind, &c, sizeof c, o.lr, o.weight_decay);
}
