/* optim.c: the optimizers Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) and SGD, as PyTorch defines them, and
 * gradient clipping. The arithmetic of an update is in ag_adam_update and ag_sgd_update. */
#include "optim.h"

#include <math.h>
#include <string.h>

#include "kaeru/graph.h"

/* ---- construction ------------------------------------------------------------------------------------------------ */

static Tensor *state_tensor(Optimizer *o, Shape shape)
{
    Tensor *t = tensor_new_owned(shape, AG_REAL);
    ag_set_owner(t, o);
    return t;
}

enum { OPTIMIZER_ALIVE = 0x6f707469, OPTIMIZER_DEAD = 0x64656164 };

void check_optimizer(Site at, const char *what, const Optimizer *o)
{
    if (!o) ag_usage_error(at, what, "the optimizer is NULL");
    if (o->magic == OPTIMIZER_DEAD) ag_usage_error(at, what, "this optimizer was freed");
    if (o->magic != OPTIMIZER_ALIVE) ag_usage_error(at, what, "this is not an optimizer");
    for (int i = 0; i < o->parameters->n; i++) nn_check_at(at, what, module_root(o->parameters->item[i].owner), 0);
}

static void optimizer_destroy(void *o)
{
    ((Optimizer *)o)->magic = OPTIMIZER_DEAD;
}

/* An optimizer with one group, and n_tensors (0 to 2) state tensors for each trained parameter. */
static Optimizer *optimizer_new(Site at, const char *what, void *module, double lr, double weight_decay, int n_tensors)
{
    nn_check_at(at, what, module, 0);
    if (nn_count(module) == 0) ag_usage_error(at, what, "this %s has no trained parameters", ((Module *)module)->type);
    Optimizer *o = ag_alloc_at(at, 1, sizeof *o);
    ag_on_free(o, optimizer_destroy);
    o->magic = OPTIMIZER_ALIVE;
    o->lr = lr;
    o->n_tensors = n_tensors;
    o->parameters = nn_parameters_at(at, module);
    ag_set_owner(o->parameters, o);
    o->state = ag_alloc_in_at(at, o, (size_t)o->parameters->n, sizeof *o->state);
    o->group = ag_alloc_in_at(at, o, 1, sizeof *o->group);
    o->group[0] = (Group){ weight_decay, 1 };
    o->n_groups = 1;
    for (int i = 0; i < o->parameters->n; i++) {
        const NamedTensor *p = &o->parameters->item[i];
        if (!p->trained) continue;
        o->state[i].count = tensor_numel(p->tensor);
    }
    return o;
}

void optimizer_make_state(Optimizer *o)
{
    if (o->has_state) return;
    o->has_state = true;
    for (int i = 0; i < o->parameters->n; i++) {
        ParameterState *s = &o->state[i];
        if (!o->parameters->item[i].trained) continue;
        Shape shape = tensor_shape(o->parameters->item[i].tensor);
        if (s->count != tensor_numel(o->parameters->item[i].tensor)) shape = SHAPE(s->count);
        if (o->n_tensors > 0) s->exp_avg = state_tensor(o, shape);
        if (o->n_tensors > 1) s->exp_avg_sq = state_tensor(o, shape);
    }
}

void optimizer_keep_part(Optimizer *o, int i, int64_t first, int64_t count)
{
    ParameterState *s = &o->state[i];
    s->first = first;
    s->count = count;
    Tensor **state[] = { &s->exp_avg, &s->exp_avg_sq };
    for (int k = 0; k < 2; k++) {
        if (!*state[k]) continue;
        Tensor *part = state_tensor(o, SHAPE(count));
        if (count) memcpy(tensor_mutable_data(part), tensor_data(*state[k]) + first, (size_t)count * sizeof(real));
        ag_free(*state[k]);
        *state[k] = part;
    }
}

static void check(Site at, const char *what, const char *name, double value, bool valid, const char *expected)
{
    if (!valid || !isfinite(value)) ag_usage_error(at, what, "%s is %g, must be %s", name, value, expected);
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

Optimizer *nn_adam_new_with_at(Site at, void *module, AdamOptions options)
{
    const char *what = "nn_adam_new", *from_0 = "0 or more", *below_1 = "in [0, 1)";
    check(at, what, "lr", options.lr, options.lr >= 0, from_0);
    check(at, what, "beta1", options.beta1, options.beta1 >= 0 && options.beta1 < 1, below_1);
    check(at, what, "beta2", options.beta2, options.beta2 >= 0 && options.beta2 < 1, below_1);
    check(at, what, "eps", options.eps, options.eps >= 0, from_0);
    check(at, what, "weight_decay", options.weight_decay, options.weight_decay >= 0, from_0);
    Optimizer *o = optimizer_new(at, what, module, options.lr, options.weight_decay, 2);
    o->is_adam = true;
    o->adam = options;
    return o;
}

Optimizer *nn_sgd_new_with_at(Site at, void *module, SgdOptions options)
{
    const char *what = "nn_sgd_new", *from_0 = "0 or more";
    check(at, what, "lr", options.lr, options.lr >= 0, from_0);
    check(at, what, "momentum", options.momentum, options.momentum >= 0, from_0);
    check(at, what, "momentum", options.momentum, options.momentum > 0 || !options.nesterov, "above 0 with nesterov");
    check(at, what, "weight_decay", options.weight_decay, options.weight_decay >= 0, from_0);
    Optimizer *o = optimizer_new(at, what, module, options.lr, options.weight_decay, options.momentum > 0 ? 1 : 0);
    o->sgd = options;
    return o;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

int nn_optimizer_group_at(Site at, Optimizer *o, bool (*belongs)(const NamedTensor *p, void *arg), void *arg,
                          double weight_decay, double lr_factor)
{
    check_optimizer(at, "nn_optimizer_group", o);
    if (!belongs) ag_usage_error(at, "nn_optimizer_group", "the function that chooses parameters is NULL");
    check(at, "nn_optimizer_group", "weight_decay", weight_decay, weight_decay >= 0, "0 or more");
    check(at, "nn_optimizer_group", "lr_factor", lr_factor, lr_factor >= 0, "0 or more");
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

static real *values_of(Tensor *state)
{
    return state ? tensor_mutable_data(state) : NULL;
}

void optimizer_update(Optimizer *o, int i, const real *grad, double grad_scale)
{
    ParameterState *s = &o->state[i];
    Tensor *w = o->parameters->item[i].tensor;
    real *avg = values_of(s->exp_avg);
    const Group *group = &o->group[s->group];
    double lr = o->lr * group->lr_factor;
    s->steps++;
    if (o->is_adam) {
        AdamOptions adam = o->adam;
        adam.lr = lr;
        adam.weight_decay = group->weight_decay;
        ag_adam_update_part(w, s->first, s->count, grad, avg, values_of(s->exp_avg_sq), &adam, s->steps, grad_scale);
    } else {
        SgdOptions sgd = o->sgd;
        sgd.lr = lr;
        sgd.weight_decay = group->weight_decay;
        ag_sgd_update_part(w, s->first, s->count, grad, avg, &sgd, s->steps == 1, grad_scale);
    }
}

void optimizer_begin_step(Optimizer *o)
{
    o->steps++;
    optimizer_make_state(o);
}

uint64_t optimizer_hash(const Optimizer *o, uint64_t hash(uint64_t h, const void *bytes, size_t n))
{
    const double numbers[] = { o->is_adam, o->lr, o->adam.beta1, o->adam.beta2, o->adam.eps, o->adam.decoupled, o->sgd.momentum,
                               o->sgd.nesterov };
    uint64_t h = hash(hash(0, numbers, sizeof numbers), o->group, (size_t)o->n_groups * sizeof *o->group);
    for (int i = 0; i < o->parameters->n; i++) h = hash(h, &o->state[i].group, sizeof o->state[i].group);
    return h;
}

void nn_optimizer_step_scaled_at(Site at, Optimizer *o, double grad_scale)
{
    AG_LAYER(at);
    check_optimizer(at, "nn_optimizer_step", o);
    check(at, "nn_optimizer_step_scaled", "grad_scale", grad_scale, true, "a finite number");
    optimizer_begin_step(o);
    for (int i = 0; i < o->parameters->n; i++) {
        const NamedTensor *p = &o->parameters->item[i];
        Tensor *w = p->tensor;
        if (!slot_is_current(p->owner, w))
            ag_usage_error(at, "nn_optimizer_step", "the field of %s in its %s no longer points to the registered tensor; to "
                           "set values, use tensor_copy", p->name, p->owner->type);
        if (!o->parameters->item[i].trained || !tensor_grad_data(w)) continue;
        optimizer_update(o, i, tensor_grad_data(w), grad_scale);
        tensor_zero_grad(w);
    }
}

void nn_optimizer_step_at(Site at, Optimizer *o)
{
    AG_LAYER(at);
    nn_optimizer_step_scaled_at(at, o, 1);
}

double nn_optimizer_lr_at(Site at, const Optimizer *o)
{
    check_optimizer(at, "nn_optimizer_lr", o);
    return o->lr;
}

void nn_optimizer_set_lr_at(Site at, Optimizer *o, double lr)
{
    check_optimizer(at, "nn_optimizer_set_lr", o);
    check(at, "nn_optimizer_set_lr", "lr", lr, lr >= 0, "0 or more");
    o->lr = lr;
}

int64_t nn_optimizer_steps_at(Site at, const Optimizer *o)
{
    check_optimizer(at, "nn_optimizer_steps", o);
    return o->steps;
}

/* ---- the norm of all gradients ----------------------------------------------------------------------------------- */

double nn_grad_norm_at(Site at, void *module)
{
    AG_LAYER(at);
    nn_check_at(at, "nn_grad_norm", module, 0);
    double sum = 0;
    Walk walk = walk_below(module);
    for (ModuleSlot *slot; (slot = walk_tensor(&walk)) != NULL; ) sum += ag_grad_sum_squares(slot->tensor);
    return sqrt(sum);
}

double nn_clip_grad_norm_at(Site at, void *module, double max_norm)
{
    AG_LAYER(at);
    nn_check_at(at, "nn_clip_grad_norm", module, 0);
    if (!(max_norm >= 0)) ag_usage_error(at, "nn_clip_grad_norm", "max_norm is %g, expected 0 or more", max_norm);
    double norm = nn_grad_norm(module);
    double factor = max_norm / (norm + 1e-6);       /* as PyTorch; avoids 0 / 0 */
    if (!(factor < 1) || isinf(norm)) return norm;
    Walk walk = walk_below(module);
    for (ModuleSlot *slot; (slot = walk_tensor(&walk)) != NULL; ) ag_grad_scale(slot->tensor, factor);
    return norm;
}
