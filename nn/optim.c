/* optim.c: Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) and stochastic gradient descent, as PyTorch
 * defines them. The arithmetic of one update is ag_adam_update and ag_sgd_update; here is what goes with it: which
 * parameters, their state, groups, and the norm of all gradients. */
#include "optim.h"

#include <math.h>

/* ---- birth and end ----------------------------------------------------------------------------------------------- */

static void destroy(AgOwned *owned)
{
    Optimizer *o = (Optimizer *)owned;      /* its first member */
    for (int i = 0; o->state && i < o->parameters->n; i++) {
        tensor_free(o->state[i].first);
        tensor_free(o->state[i].second);
    }
    if (o->parameters) parameters_end(o->parameters);
    ag_free(o->state);
    ag_free(o->group);
    ag_free(o);
}

/* An optimizer in one group, with `moments` zeroed tensors (0 to 2) for each trained parameter. */
static Optimizer *optimizer_new(Site at, const char *what, void *module, double weight_decay, int moments)
{
    if (nn_count(module) == 0) ag_usage_error(at, what, "this %s has no trained parameters", ((Module *)module)->type);
    Optimizer *o = ag_alloc_at(at, 1, sizeof *o);
    ag_own(&o->owned, destroy);
    o->parameters = nn_parameters_at(at, module);
    ag_disown(&o->parameters->owned);       /* the optimizer's from here on */
    o->state = ag_alloc_at(at, (size_t)o->parameters->n, sizeof *o->state);
    o->group = ag_alloc_at(at, 1, sizeof *o->group);
    o->group[0] = (Group){ weight_decay, 1 };
    o->n_groups = 1;
    for (int i = 0; i < o->parameters->n; i++) {
        if (!o->parameters->item[i].trained) continue;
        Shape shape = tensor_shape(o->parameters->item[i].tensor);
        if (moments > 0) o->state[i].first = tensor_new_owned_at(at, shape, AG_REAL);
        if (moments > 1) o->state[i].second = tensor_new_owned_at(at, shape, AG_REAL);
    }
    return o;
}

static void check(Site at, const char *what, const char *name, double value, bool good, const char *expected)
{
    if (!good) ag_usage_error(at, what, "%s is %g, must be %s", name, value, expected);
}

AdamOptions nn_adam_options(double lr)
{
    return (AdamOptions){ .lr = lr, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
}

AdamOptions nn_adamw_options(double lr)
{
    AdamOptions options = nn_adam_options(lr);
    options.weight_decay = 0.01;
    options.decoupled = true;
    return options;
}

Optimizer *nn_adam_new_at(Site at, void *module, AdamOptions options)
{
    const char *what = "nn_adam_new", *from_0 = "0 or more", *below_1 = "in [0, 1)";
    check(at, what, "lr", options.lr, options.lr >= 0, from_0);
    check(at, what, "beta1", options.beta1, options.beta1 >= 0 && options.beta1 < 1, below_1);
    check(at, what, "beta2", options.beta2, options.beta2 >= 0 && options.beta2 < 1, below_1);
    check(at, what, "eps", options.eps, options.eps >= 0, from_0);
    check(at, what, "weight_decay", options.weight_decay, options.weight_decay >= 0, from_0);
    Optimizer *o = optimizer_new(at, what, module, options.weight_decay, 2);
    o->is_adam = true;
    o->adam = options;
    return o;
}

Optimizer *nn_sgd_new_at(Site at, void *module, SgdOptions options)
{
    const char *what = "nn_sgd_new", *from_0 = "0 or more";
    check(at, what, "lr", options.lr, options.lr >= 0, from_0);
    check(at, what, "momentum", options.momentum, options.momentum >= 0, from_0);
    check(at, what, "momentum", options.momentum, options.momentum > 0 || !options.nesterov, "above 0 for Nesterov's");
    check(at, what, "weight_decay", options.weight_decay, options.weight_decay >= 0, from_0);
    Optimizer *o = optimizer_new(at, what, module, options.weight_decay, options.momentum > 0 ? 1 : 0);
    o->sgd = options;
    return o;
}

void nn_optimizer_free(Optimizer *o)
{
    if (!o) return;
    ag_disown(&o->owned);
    destroy(&o->owned);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

int nn_optimizer_group(Optimizer *o, bool (*belongs)(const NamedTensor *p, void *arg), void *arg, double weight_decay,
                       double lr_factor)
{
    o->group = ag_resize(o->group, (size_t)o->n_groups, (size_t)o->n_groups + 1, sizeof *o->group);
    o->group[o->n_groups] = (Group){ weight_decay, lr_factor };
    int moved = 0;
    for (int i = 0; i < o->parameters->n; i++) {
        if (!o->parameters->item[i].trained || !belongs(&o->parameters->item[i], arg)) continue;
        o->state[i].group = o->n_groups;
        moved++;
    }
    o->n_groups++;
    return moved;
}

bool nn_is_matrix(const NamedTensor *p, void *unused)
{
    (void)unused;
    return tensor_ndim(p->tensor) >= 2;
}

bool nn_is_not_matrix(const NamedTensor *p, void *unused)
{
    return !nn_is_matrix(p, unused);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void adam_step(const Optimizer *o, Tensor *w, ParameterState *s, const Group *group, double lr,
                      double grad_scale)
{
    ag_adam_update(w, s->first, s->second, &(AgAdam){
        .lr = lr * group->lr_factor,
        .beta1 = o->adam.beta1,
        .beta2 = o->adam.beta2,
        .eps = o->adam.eps,
        .weight_decay = group->weight_decay,
        .grad_scale = grad_scale,
        .decoupled = o->adam.decoupled,
        .step = s->steps,
    });
}

static void sgd_step(const Optimizer *o, Tensor *w, ParameterState *s, const Group *group, double lr, double grad_scale)
{
    ag_sgd_update(w, s->first, &(AgSgd){
        .lr = lr * group->lr_factor,
        .momentum = o->sgd.momentum,
        .weight_decay = group->weight_decay,
        .grad_scale = grad_scale,
        .nesterov = o->sgd.nesterov,
        .first = s->steps == 1,
    });
}

void nn_optimizer_step(Optimizer *o, double lr)
{
    nn_optimizer_step_scaled(o, lr, 1);
}

void nn_optimizer_step_scaled(Optimizer *o, double lr, double grad_scale)
{
    o->steps++;
    for (int i = 0; i < o->parameters->n; i++) {
        Tensor *w = o->parameters->item[i].tensor;
        ParameterState *s = &o->state[i];
        if (!o->parameters->item[i].trained || !tensor_grad_data(w)) continue;
        s->steps++;
        if (o->is_adam) adam_step(o, w, s, &o->group[s->group], lr, grad_scale);
        else sgd_step(o, w, s, &o->group[s->group], lr, grad_scale);
        tensor_zero_grad(w);
    }
}

double nn_optimizer_lr(const Optimizer *o)
{
    return o->is_adam ? o->adam.lr : o->sgd.lr;
}

int64_t nn_optimizer_steps(const Optimizer *o)
{
    return o->steps;
}

/* ---- the norm of all gradients ----------------------------------------------------------------------------------- */

double nn_grad_norm(void *module)
{
    double sum = 0;
    Walk walk = walk_below(module);
    for (ModuleSlot *slot; (slot = walk_tensor(&walk)) != NULL; ) sum += ag_grad_sum_squares(slot->tensor);
    return sqrt(sum);
}

double nn_clip_grad_norm(void *module, double max_norm)
{
    double norm = nn_grad_norm(module);
    double factor = max_norm / (norm + 1e-6);       /* PyTorch's; also keeps 0 / 0 away */
    if (!(factor < 1) || isinf(norm)) return norm;
    Walk walk = walk_below(module);
    for (ModuleSlot *slot; (slot = walk_tensor(&walk)) != NULL; ) ag_grad_scale(slot->tensor, factor);
    return norm;
}
