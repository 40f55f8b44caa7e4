/* adam.c: Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) and SGD, as PyTorch defines them. They are written as a
 * program writes a kind of its own; their formulas are kernels (autograd/plain/update.c). */
#include "arguments.h"
#include "kaeru/graph.h"
#include "kaeru/optim.h"

/* ---- Adam -------------------------------------------------------------------------------------------------------- */

/* What an optimizer keeps of its options: it has the learning rate and the weight decay itself. The struct has no padding, so
 * that equal options have equal bytes. */
typedef struct { double beta1, beta2, eps; int64_t decoupled; } AdamConstants;

static void update_adam(const OptimizerUpdate *u)
{
    const AdamConstants *c = u->options;
    const AgAdam how = { u->lr, c->beta1, c->beta2, c->eps, u->weight_decay, c->decoupled };
    ag_adam_update_part(u->parameter->tensor, u->first, u->count, tensor_data(u->gradient) + u->first,
                        tensor_mutable_data(u->state[0]), tensor_mutable_data(u->state[1]), &how, u->step, u->grad_scale);
}

Optimizer *nn_adam_new_with(void *module, AgAdam o)
{
    static const OptimizerKind kind = { .name = "adam", .state = { "m", "v" }, .update = update_adam, .by_item = true };
    check_number(__func__, "beta1", o.beta1, o.beta1 >= 0 && o.beta1 < 1, "a number in [0, 1)");
    check_number(__func__, "beta2", o.beta2, o.beta2 >= 0 && o.beta2 < 1, "a number in [0, 1)");
    check_number(__func__, "eps", o.eps, o.eps > 0, "a finite number above 0");
    const AdamConstants constants = { o.beta1, o.beta2, o.eps, o.decoupled };
    return nn_optimizer_new(module, &kind, &constants, sizeof constants, o.lr, o.weight_decay);
}

/* ---- SGD --------------------------------------------------------------------------------------------------------- */

typedef struct { double momentum; int64_t nesterov; } SgdConstants;

static void update_sgd(const OptimizerUpdate *u)
{
    const SgdConstants *c = u->options;
    const AgSgd how = { u->lr, c->momentum, u->weight_decay, c->nesterov };
    ag_real *velocity = u->state[0] ? tensor_mutable_data(u->state[0]) : NULL;
    ag_sgd_update_part(u->parameter->tensor, u->first, u->count, tensor_data(u->gradient) + u->first, velocity, &how,
                       u->step == 1, u->grad_scale);
}

Optimizer *nn_sgd_new_with(void *module, AgSgd o)
{
    static const OptimizerKind plain = { .name = "sgd", .update = update_sgd, .by_item = true };
    static const OptimizerKind with_momentum = {
        .name = "sgd",
        .state = { "velocity" },
        .update = update_sgd,
        .by_item = true,
    };
    check_number(__func__, "momentum", o.momentum, o.momentum >= 0 && o.momentum < 1, "a number in [0, 1)");
    check_number(__func__, "momentum", o.momentum, o.momentum > 0 || !o.nesterov, "a number above 0 with nesterov");
    const SgdConstants constants = { o.momentum, o.nesterov };
    return nn_optimizer_new(module, o.momentum > 0 ? &with_momentum : &plain, &constants, sizeof constants, o.lr,
                            o.weight_decay);
}
