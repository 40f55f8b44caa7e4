/* optim.c: the optimizers Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) and SGD, as PyTorch defines them, and
 * gradient clipping. The arithmetic of their updates is in ag_adam_update and ag_sgd_update. */
#include "optim.h"

#include <math.h>
#include <string.h>

#include "kaeru/graph.h"

/* ---- construction ------------------------------------------------------------------------------------------------ */

static Tensor *state_tensor(Optimizer *o, AgShape shape)
{
    Tensor *t = tensor_new_owned(shape, AG_REAL);
    ag_set_owner(t, o);
    return t;
}

enum { OPTIMIZER_ALIVE = 0x6f707469, OPTIMIZER_DEAD = 0x64656164 };

void check_optimizer(AgSite at, const char *what, const Optimizer *o)
{
    if (!o) ag_usage_error(at, what, "the optimizer is NULL");
    if (o->magic == OPTIMIZER_DEAD) ag_usage_error(at, what, "this optimizer was freed");
    if (o->magic != OPTIMIZER_ALIVE) ag_usage_error(at, what, "this is not an optimizer");
    for (int i = 0; i < o->parameters->n; i++) nn_check_at(at, what, module_root(o->parameters->item[i].owner), 0);
}

void nn_optimizer_check_at(AgSite at, const char *what, const Optimizer *o, const void *module)
{
    check_optimizer(at, what, o);
    nn_check_at(at, what, module, 0);
    const Module *expected = module, *m = o->module;
    while (m && m != expected) m = m->parent;
    if (!m)
        ag_usage_error(at, what, "the optimizer was made for another module (%s), expected one for this %s", o->module->type,
                       expected->type);
}

static void optimizer_destroy(void *o)
{
    ((Optimizer *)o)->magic = OPTIMIZER_DEAD;
}

static void check(AgSite at, const char *what, const char *name, double value, bool valid, const char *expected)
{
    if (!valid || !isfinite(value)) ag_usage_error(at, what, "%s is %g, must be %s", name, value, expected);
}

/* An optimizer with one group. */
static Optimizer *optimizer_new(AgSite at, const char *what, void *module, const OptimizerKind *kind, const void *options,
                                size_t size, double lr, double weight_decay)
{
    nn_check_at(at, what, module, 0);
    check(at, what, "lr", lr, lr >= 0, "0 or more");
    check(at, what, "weight_decay", weight_decay, weight_decay >= 0, "0 or more");
    check_fields(at, what, module);
    if (nn_count(module) == 0) ag_usage_error(at, what, "this %s has no trained parameters", ((Module *)module)->type);
    Optimizer *o = ag_alloc_at(at, 1, sizeof *o);
    ag_on_free(o, optimizer_destroy);
    o->magic = OPTIMIZER_ALIVE;
    o->module = module;
    o->kind = kind;
    o->options = ag_alloc_in_at(at, o, size, 1);
    o->options_size = size;
    if (size) memcpy(o->options, options, size);
    o->lr = lr;
    o->parameters = nn_parameters_at(at, module);
    ag_set_owner(o->parameters, o);
    o->state = ag_alloc_in_at(at, o, (size_t)o->parameters->n, sizeof *o->state);
    o->group = ag_alloc_in_at(at, o, 1, sizeof *o->group);
    o->group[0] = (Group){ weight_decay, 1 };
    o->n_groups = 1;
    int named = 0;
    while (named < NN_STATES && kind->state[named]) named++;
    for (int i = 0; i < o->parameters->n; i++) {
        const NnNamedTensor *p = &o->parameters->item[i];
        if (!p->trained) continue;
        int n = kind->states ? kind->states(p) : named;
        if (n < 0 || n > named) ag_usage_error(at, what, "%d state tensors for %s, but %d names of them", n, p->name, named);
        o->state[i].n = n;
        o->state[i].count = tensor_numel(p->tensor);
    }
    return o;
}

/* ---- state ------------------------------------------------------------------------------------------------------- */

void optimizer_make_state(Optimizer *o)
{
    if (o->has_state) return;
    o->has_state = true;
    for (int i = 0; i < o->parameters->n; i++) {
        ParameterState *s = &o->state[i];
        AgShape shape = s->is_part ? SHAPE(s->count) : tensor_shape(o->parameters->item[i].tensor);
        for (int k = 0; k < s->n; k++) s->tensor[k] = state_tensor(o, shape);
    }
}

void check_undivided(AgSite at, const char *what, const Optimizer *o)
{
    for (int i = 0; !o->parallel && i < o->parameters->n; i++)
        if (o->state[i].is_part)
            ag_usage_error(at, what, "the state of this optimizer was divided among processes, by nn_parallel_new");
}

void optimizer_keep_part(Optimizer *o, int i, int64_t first, int64_t count)
{
    ParameterState *s = &o->state[i];
    s->first = first;
    s->count = count;
    s->is_part = count != tensor_numel(o->parameters->item[i].tensor);
    for (int k = 0; k < s->n && s->tensor[k] && s->is_part; k++) {
        Tensor *part = state_tensor(o, SHAPE(count));
        if (count) memcpy(tensor_mutable_data(part), tensor_data(s->tensor[k]) + first, (size_t)count * sizeof(ag_real));
        ag_free(s->tensor[k]);
        s->tensor[k] = part;
    }
}

Optimizer *nn_optimizer_new_at(AgSite at, void *module, const OptimizerKind *kind, const void *options, size_t size, double lr,
                               double weight_decay)
{
    const char *what = "nn_optimizer_new";
    ag_check_pointer_at(at, what, "the kind", kind);
    ag_check_pointer_at(at, what, "the kind's name", kind->name);
    ag_check_pointer_at(at, what, "the kind's update", (const void *)(uintptr_t)kind->update);
    if (size) ag_check_pointer_at(at, what, "options", options);
    return optimizer_new(at, what, module, kind, options, size, lr, weight_decay);
}

/* ---- Adam and SGD ------------------------------------------------------------------------------------------------ */

AgAdam nn_adam_options(double lr)
{
    return (AgAdam){ .lr = lr, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
}

AgAdam nn_adamw_options(double lr)
{
    AgAdam options = nn_adam_options(lr);
    options.weight_decay = 0.01;
    options.decoupled = true;
    return options;
}

static ag_real *values_of(Tensor *state)
{
    return state ? tensor_mutable_data(state) : NULL;
}

static void update_adam(const OptimizerUpdate *u)
{
    AgAdam adam = *(const AgAdam *)u->options;
    adam.lr = u->lr;
    adam.weight_decay = u->weight_decay;
    ag_adam_update_part(u->parameter->tensor, u->first, u->count, tensor_data(u->gradient) + u->first, values_of(u->state[0]),
                        values_of(u->state[1]), &adam, u->step, u->grad_scale);
}

static const OptimizerKind adam_kind = { .name = "adam", .state = { "m", "v" }, .update = update_adam, .by_item = true };

static void update_sgd(const OptimizerUpdate *u)
{
    AgSgd sgd = *(const AgSgd *)u->options;
    sgd.lr = u->lr;
    sgd.weight_decay = u->weight_decay;
    ag_sgd_update_part(u->parameter->tensor, u->first, u->count, tensor_data(u->gradient) + u->first, values_of(u->state[0]),
                       &sgd, u->step == 1, u->grad_scale);
}

static const OptimizerKind sgd_kind = { .name = "sgd", .update = update_sgd, .by_item = true };
static const OptimizerKind momentum_kind = { .name = "sgd", .state = { "velocity" }, .update = update_sgd, .by_item = true };

/* Clears the padding behind the last member, because optimizer_hash reads all bytes of options. */
static void clear_padding(void *options, size_t size, bool *last)
{
    char *end = (char *)options + size, *begin = (char *)(last + 1);
    memset(begin, 0, (size_t)(end - begin));
}

Optimizer *nn_adam_new_with_at(AgSite at, void *module, AgAdam options)
{
    const char *what = "nn_adam_new", *below_1 = "in [0, 1)";
    clear_padding(&options, sizeof options, &options.decoupled);
    check(at, what, "beta1", options.beta1, options.beta1 >= 0 && options.beta1 < 1, below_1);
    check(at, what, "beta2", options.beta2, options.beta2 >= 0 && options.beta2 < 1, below_1);
    check(at, what, "eps", options.eps, options.eps > 0, "above 0");
    return optimizer_new(at, what, module, &adam_kind, &options, sizeof options, options.lr, options.weight_decay);
}

Optimizer *nn_sgd_new_with_at(AgSite at, void *module, AgSgd options)
{
    const char *what = "nn_sgd_new";
    clear_padding(&options, sizeof options, &options.nesterov);
    check(at, what, "momentum", options.momentum, options.momentum >= 0 && options.momentum < 1, "in [0, 1)");
    check(at, what, "momentum", options.momentum, options.momentum > 0 || !options.nesterov, "above 0 with nesterov");
    const OptimizerKind *kind = options.momentum > 0 ? &momentum_kind : &sgd_kind;
    return optimizer_new(at, what, module, kind, &options, sizeof options, options.lr, options.weight_decay);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

int nn_optimizer_group_at(AgSite at, Optimizer *o, bool (*belongs)(const NnNamedTensor *p, void *arg), void *arg,
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

bool nn_is_matrix(const NnNamedTensor *p, void *unused)
{
    (void)unused;
    return tensor_ndim(p->tensor) >= 2;
}

bool nn_is_not_matrix(const NnNamedTensor *p, void *unused)
{
    return !nn_is_matrix(p, unused);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

void optimizer_begin_step(Optimizer *o)
{
    o->steps++;
    optimizer_make_state(o);
}

void optimizer_update(Optimizer *o, int i, Tensor *gradient, double grad_scale)
{
    ParameterState *s = &o->state[i];
    const Group *group = &o->group[s->group];
    OptimizerUpdate u = { &o->parameters->item[i], gradient, s->first, s->count, s->tensor, o->lr * group->lr_factor,
                          group->weight_decay, grad_scale, ++s->steps, o->options };
    o->kind->update(&u);
}

uint64_t optimizer_hash(const Optimizer *o, uint64_t hash(uint64_t h, const void *bytes, size_t n))
{
    uint64_t h = hash(0, o->kind->name, strlen(o->kind->name));
    h = hash(hash(h, o->options, o->options_size), o->group, (size_t)o->n_groups * sizeof *o->group);
    for (int i = 0; i < o->parameters->n; i++) h = hash(h, &o->state[i].group, sizeof o->state[i].group);
    return h;
}

/* A usage error if no parameter has a gradient, or if one that has a gradient has no state here: no step would train it. */
static void check_gradients(AgSite at, const char *what, const Optimizer *o)
{
    const NnParameters *p = o->parameters;
    int known = 0, trained = 0;
    Walk walk = walk_below(o->module);
    for (NnModuleSlot *slot; (slot = walk_tensor(&walk)) != NULL; ) {
        bool is_known = known < p->n && p->item[known].tensor == slot->tensor;
        bool is_trained = is_known && p->item[known].trained;
        known += is_known;
        if (!tensor_grad_data(slot->tensor)) continue;
        if (!is_trained && tensor_requires_grad(slot->tensor))
            ag_usage_error(at, what, "%s has a gradient, but was registered, tied or unfrozen after the optimizer was made: "
                           "make the optimizer after that", tensor_get_name(slot->tensor));
        trained += is_trained;
    }
    if (known < p->n)
        ag_usage_error(at, what, "%s is no longer a tensor of this %s: make the optimizer after nn_tie", p->item[known].name,
                       o->module->type);
    if (!trained)
        ag_usage_error(at, what, "no parameter of its %s has a gradient: expected ag_backward before each step, from a loss "
                       "that this %s has computed", o->module->type, o->module->type);
}

void nn_optimizer_step_scaled_at(AgSite at, Optimizer *o, double grad_scale)
{
    AG_LAYER(at);
    check_optimizer(at, "nn_optimizer_step", o);
    check(at, "nn_optimizer_step_scaled", "grad_scale", grad_scale, true, "a finite number");
    if (o->parallel) ag_usage_error(at, "nn_optimizer_step", "this optimizer is shared: expected nn_parallel_step");
    check_undivided(at, "nn_optimizer_step", o);
    check_fields(at, "nn_optimizer_step", o->module);
    check_gradients(at, "nn_optimizer_step", o);
    optimizer_begin_step(o);
    for (int i = 0; i < o->parameters->n; i++) {
        Tensor *w = o->parameters->item[i].tensor;
        if (!o->parameters->item[i].trained || !tensor_grad_data(w)) continue;
        AgScope scope = ag_begin(AG_NO_GRAD);
        optimizer_update(o, i, tensor_grad(w), grad_scale);
        ag_end(scope);
        tensor_zero_grad(w);
    }
}

void nn_optimizer_step_at(AgSite at, Optimizer *o)
{
    AG_LAYER(at);
    nn_optimizer_step_scaled_at(at, o, 1);
}

double nn_optimizer_lr_at(AgSite at, const Optimizer *o)
{
    check_optimizer(at, "nn_optimizer_lr", o);
    return o->lr;
}

void nn_optimizer_set_lr_at(AgSite at, Optimizer *o, double lr)
{
    check_optimizer(at, "nn_optimizer_set_lr", o);
    check(at, "nn_optimizer_set_lr", "lr", lr, lr >= 0, "0 or more");
    o->lr = lr;
}

int64_t nn_optimizer_steps_at(AgSite at, const Optimizer *o)
{
    check_optimizer(at, "nn_optimizer_steps", o);
    return o->steps;
}

/* ---- the norm of all gradients ----------------------------------------------------------------------------------- */

double nn_grad_norm_at(AgSite at, void *module)
{
    AG_LAYER(at);
    nn_check_at(at, "nn_grad_norm", module, 0);
    double sum = 0;
    Walk walk = walk_below(module);
    for (NnModuleSlot *slot; (slot = walk_tensor(&walk)) != NULL; ) sum += ag_grad_sum_squares(slot->tensor);
    return sqrt(sum);
}

double nn_clip_grad_norm_at(AgSite at, void *module, double max_norm)
{
    AG_LAYER(at);
    nn_check_at(at, "nn_clip_grad_norm", module, 0);
    if (!(max_norm >= 0)) ag_usage_error(at, "nn_clip_grad_norm", "max_norm is %g, expected 0 or more", max_norm);
    double norm = nn_grad_norm(module);
    double factor = max_norm / (norm + 1e-6);       /* as PyTorch; avoids 0 / 0 */
    if (!(factor < 1) || isinf(norm)) return norm;
    Walk walk = walk_below(module);
    for (NnModuleSlot *slot; (slot = walk_tensor(&walk)) != NULL; )
        if (tensor_grad_data(slot->tensor)) ag_grad_scale(slot->tensor, factor);
    return norm;
}
