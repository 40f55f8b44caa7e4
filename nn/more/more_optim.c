/* more_optim.c: RMSprop and Muon, as PyTorch defines them, and averages of weights. */
#include "kaeru/more_optim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/optim.h"
#include "kaeru/updates.h"
#include "kaeru/gradient_arrays.h"
#include "optimizer.h"
#include "program_calls.h"

/* ---- RMSprop ----------------------------------------------------------------------------------------------------- */

static void update_rmsprop(const OptimizerUpdate *u)
{
    const NnRMSprop *how = u->options;
    ag_real *w = tensor_mutable_data(u->parameter->tensor) + u->first, *square = tensor_mutable_data(u->state[0]);
    const ag_real *gradient = tensor_data(u->gradient) + u->first;
    for (int64_t i = 0; i < u->count; i++) {
        double g = u->grad_scale * (double)gradient[i] + u->weight_decay * (double)w[i];
        double v = how->alpha * (double)square[i] + (1 - how->alpha) * g * g;
        square[i] = (ag_real)v;
        w[i] = (ag_real)((double)w[i] - u->lr * g / (sqrt(v) + how->eps));
    }
}

static const OptimizerKind rmsprop = { .name = "rmsprop", .state = { "square" }, .update = update_rmsprop, .by_item = true };

Optimizer *nn_rmsprop_new_with(void *module, NnRMSprop options)
{
    check_number(__func__, "alpha", options.alpha, options.alpha >= 0 && options.alpha < 1, "a number in [0, 1)");
    check_number(__func__, "eps", options.eps, options.eps > 0, "a finite number above 0");
    NnRMSprop kept = { .alpha = options.alpha, .eps = options.eps };
    return nn_optimizer_new(module, &rmsprop, &kept, sizeof kept, options.lr, options.weight_decay);
}

/* ---- Muon -------------------------------------------------------------------------------------------------------- */

/* The options without the learning rates and the weight decays, which are those of the two groups. No padding. */
typedef struct { double momentum, beta1, beta2, eps; int32_t nesterov, match_adamw; } MuonConstants;

/* A matrix near u with the singular values of which each is about 1. */
static Tensor *orthogonal(Tensor *u)
{
    const bool tall = tensor_dim(u, 0) > tensor_dim(u, 1);
    Tensor *x = tall ? ag_transpose(u, 0, 1) : u;
    x = ag_scale(x, 1 / fmax(sqrt(ag_sum_squares(tensor_data(x), tensor_numel(x))), 1e-7));
    for (int i = 0; i < 5; i++) {
        Tensor *square = ag_matmul(x, ag_transpose(x, 0, 1));
        Tensor *factor = ag_add(ag_scale(square, -4.775), ag_scale(ag_matmul(square, square), 2.0315));
        x = ag_add(ag_scale(x, 3.4445), ag_matmul(factor, x));
    }
    return tall ? ag_transpose(x, 0, 1) : x;
}

static void update_matrix(const OptimizerUpdate *u)
{
    const MuonConstants *c = u->options;
    Tensor *w = u->parameter->tensor, *m = u->state[0];
    Tensor *part = ag_scale(u->gradient, (1 - c->momentum) * u->grad_scale);
    const double rows = (double)tensor_dim(w, 0), columns = (double)tensor_dim(w, 1);
    const double size = c->match_adamw ? 0.2 * sqrt(fmax(rows, columns)) : sqrt(fmax(1, rows / columns));
    ag_precision(AG_FLOAT32);
    tensor_copy(m, ag_add(ag_scale(m, c->momentum), part));
    Tensor *direction = orthogonal(c->nesterov ? ag_add(ag_scale(m, c->momentum), part) : m);
    tensor_copy(w, ag_sub(ag_scale(w, 1 - u->lr * u->weight_decay), ag_scale(direction, u->lr * size)));
}

/* A parameter that Muon updates has one state tensor, the others have Adam's two. */
static void update_muon(const OptimizerUpdate *u)
{
    if (!u->state[1]) {
        update_matrix(u);
        return;
    }
    const MuonConstants *c = u->options;
    const AgAdam how = { u->lr, c->beta1, c->beta2, c->eps, u->weight_decay, true };
    ag_adam_update_part(u->parameter->tensor, u->first, u->count, tensor_data(u->gradient),
                        tensor_mutable_data(u->state[0]), tensor_mutable_data(u->state[1]), &how, u->step, u->grad_scale);
}

static const OptimizerKind muon = { .name = "muon", .state = { "m", "v" }, .update = update_muon };

static void check_options(const char *what, const NnMuon *o)
{
    check_number(what, "lr", o->lr, o->lr > 0, "a finite number above 0");
    check_number(what, "momentum", o->momentum, o->momentum >= 0 && o->momentum < 1, "a number in [0, 1)");
    check_number(what, "rest.lr", o->rest.lr, o->rest.lr >= 0, "a finite number of 0 or more");
    check_number(what, "rest.beta1", o->rest.beta1, o->rest.beta1 >= 0 && o->rest.beta1 < 1, "a number in [0, 1)");
    check_number(what, "rest.beta2", o->rest.beta2, o->rest.beta2 >= 0 && o->rest.beta2 < 1, "a number in [0, 1)");
    check_number(what, "rest.eps", o->rest.eps, o->rest.eps > 0, "a finite number above 0");
    if (!o->rest.decoupled) ag_usage_error(what, "rest.decoupled is false, expected true: the other parameters have AdamW");
}

static bool is_of_adam(const NnNamedTensor *p, void *optimizer)
{
    const Optimizer *o = optimizer;
    return o->state[p - o->parameters->item].n == 2;
}

Optimizer *nn_muon_new_with(void *module, NnMuon options, bool (*belongs)(const NnNamedTensor *p, void *arg), void *arg)
{
    AG_LAYER;
    check_options(__func__, &options);
    ag_check_pointer(__func__, "belongs", (const void *)(uintptr_t)belongs);
    const AgAdam *rest = &options.rest;
    const MuonConstants c = { options.momentum, rest->beta1, rest->beta2, rest->eps, options.nesterov, options.match_adamw };
    Optimizer *o = nn_optimizer_new(module, &muon, &c, sizeof c, options.lr, options.weight_decay);
    int matrices = 0;
    for (int i = 0; i < o->parameters->n; i++) {
        const NnNamedTensor *p = &o->parameters->item[i];
        const Calls before = function_begins();
        const bool chosen = p->trained && belongs(p, arg);
        function_ends(before);
        if (!chosen) continue;
        if (tensor_ndim(p->tensor) != 2) {
            ag_usage_error(__func__, "%s is %s, expected a matrix: Muon updates these alone", p->name,
                           ag_shape_string(tensor_shape(p->tensor)));
        }
        o->state[i].n = 1;
        matrices++;
    }
    if (matrices == 0) ag_usage_error(__func__, "this %s has no matrix for Muon", ((Module *)module)->type);
    nn_optimizer_group(o, is_of_adam, o, rest->weight_decay, rest->lr / options.lr);
    return o;
}

static bool is_inner_matrix(const NnNamedTensor *p, void *head)
{
    return tensor_ndim(p->tensor) == 2 && strcmp(p->owner->type, "Embedding") != 0 && p->tensor != head;
}

Optimizer *nn_muon_new(void *module, double lr, double adam_lr, const char *head)
{
    NN_LAYER((Module *)module);
    char name[256];
    snprintf(name, sizeof name, "%s.weight", head ? head : "");
    Tensor *weight = head ? nn_find(module, name) : NULL;
    if (head && !weight) {
        ag_usage_error(__func__, "this %s has no %s, expected the name of its output layer, or NULL", ((Module *)module)->type,
                       name);
    }
    return nn_muon_new_with(module, nn_muon_options(lr, adam_lr), is_inner_matrix, weight);
}

/* ---- averages ---------------------------------------------------------------------------------------------------- */

void nn_ema_update(void *average, void *module, double decay)
{
    NN_LAYER((Module *)module);
    check_number(__func__, "decay", decay, decay >= 0 && decay <= 1, "a number in [0, 1]");
    NnParameters *to = nn_parameters(average), *from = nn_parameters(module);
    int same = 0;
    while (same < to->n && same < from->n && ag_shape_equal(tensor_shape(to->item[same].tensor),
                                                            tensor_shape(from->item[same].tensor)))
        same++;
    if (same < to->n || same < from->n)
        ag_usage_error(__func__, "the average has %d tensors and the module %d, of which the first %d have equal shapes: "
                       "expected a nn_clone", to->n, from->n, same);
    for (int i = 0; i < to->n; i++) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        Tensor *a = to->item[i].tensor, *w = from->item[i].tensor;
        tensor_copy(a, from->item[i].trained ? ag_add(ag_scale(a, decay), ag_scale(w, 1 - decay)) : w);
        ag_end(scope);
    }
    ag_free(from);
    ag_free(to);
}
