/* optimizer.c: what all kinds of optimizers have in common: parameters, groups, state, steps; and
 * gradient clipping. A kind adds a function that updates one parameter: adam.c. nn_optimizer_step
 * calls that function for each parameter that has a gradient, and removes the gradient. */
#include "optimizer.h"

#include <math.h>
#include <string.h>

#include "arguments.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "program_calls.h"
#include "walk.h"

/* ---- construction ---------------------------------------------------------------------------- */

enum { OPTIMIZER = 0x6f707469 };

/* Checks that o is an optimizer that was not freed, and that the module of parameter i was not
 * freed, either. */
static void check_parameter(const char *what, const Optimizer *o, int i)
{
    ag_check_object(what, "the optimizer", o);
    if (o->magic != OPTIMIZER) {
        ag_usage_error(what, "this is not an optimizer");
    }
    nn_check(what, module_root(o->parameters->item[i].owner), 0);
}

/* Checks also that each slot still has the tensor that it had when the list of parameters was made.
 * Slots keep their order, also if nn_tie replaces their tensors: so one walk meets them in the
 * order of the list. */
void check_optimizer(const char *what, const Optimizer *o)
{
    check_parameter(what, o, 0);
    for (int i = 1; i < o->parameters->n; i++) {
        check_parameter(what, o, i);
    }
    Walk walk = walk_below(o->module);
    for (int i = 0; i < o->parameters->n; i++) {
        const NnNamedTensor *p = &o->parameters->item[i];
        const char *dot = strrchr(p->name, '.');
        const char *name = dot ? dot + 1 : p->name;
        do {
            walk_slot(&walk);
        } while (walk.slot && (walk.holder != p->owner || strcmp(walk.slot->name, name) != 0));
        if (!walk.slot || walk.slot->tensor != p->tensor) {
            ag_usage_error(what, "%s is no longer a tensor of this %s: make the optimizer after "
                           "nn_tie", p->name, o->module->type);
        }
    }
}

void nn_optimizer_check(const char *what, const Optimizer *o, const void *module)
{
    check_optimizer(what, o);
    nn_check(what, module, 0);
    const Module *expected = module;
    const Module *m = o->module;
    while (m && m != expected) {
        m = m->parent;
    }
    if (!m) {
        ag_usage_error(what, "the optimizer was made for another module (%s), expected one for "
                       "this %s", o->module->type, expected->type);
    }
}

/* Returns the number of state tensors of a kind. Checks that their names differ in a checkpoint,
 * which has tensors STATE.PARAMETER: the states "m" and "m.fc" could make the same name. */
static int check_state_names(const char *what, const OptimizerKind *kind)
{
    int n = 0;
    while (n < NN_STATES && kind->state[n]) {
        n++;
    }
    for (int i = 0; i < n; i++) {
        const size_t length = strlen(kind->state[i]);
        for (int k = 0; k < n; k++) {
            const char *other = kind->state[k];
            if (k != i && strncmp(other, kind->state[i], length) == 0 &&
                (other[length] == '\0' || other[length] == '.')) {
                ag_usage_error(what, "the names \"%s\" and \"%s\" of state tensors cannot be told "
                               "apart in a checkpoint", kind->state[i], other);
            }
        }
    }
    return n;
}

/* Sets how many state tensors each parameter has, of those that the kind has names for. */
static void count_states(const char *what, Optimizer *o, int named)
{
    for (int i = 0; i < o->parameters->n; i++) {
        const NnNamedTensor *p = &o->parameters->item[i];
        if (!p->trained) continue;
        const Calls before = function_begins();
        int n = o->kind->states ? o->kind->states(p) : named;
        function_ends(before);
        if (n < 0 || n > named) {
            ag_usage_error(what, "%d state tensors for %s, but %d names of them", n, p->name,
                           named);
        }
        o->state[i].n = n;
        o->state[i].count = tensor_numel(p->tensor);
    }
}

Optimizer *nn_optimizer_new(void *module, const OptimizerKind *kind, const void *options,
                            size_t size, double lr, double weight_decay)
{
    NN_LAYER((Module *)module);
    ag_check_pointer(__func__, "the kind", kind);
    ag_check_pointer(__func__, "the kind's name", kind->name);
    ag_check_pointer(__func__, "the kind's update", (const void *)(uintptr_t)kind->update);
    if (size) {
        ag_check_pointer(__func__, "options", options);
    }
    const int named = check_state_names(__func__, kind);
    check_number(__func__, "lr", lr, lr >= 0, "a finite number of 0 or more");
    check_number(__func__, "weight_decay", weight_decay, weight_decay >= 0,
                 "a finite number of 0 or more");
    check_fields(__func__, module);
    if (nn_count(module) == 0) {
        ag_usage_error(__func__, "this %s has no trained parameters", ((Module *)module)->type);
    }
    Optimizer *o = ag_object_new(sizeof *o);
    o->magic = OPTIMIZER;
    o->module = module;
    o->kind = kind;
    o->options = ag_alloc_in(o, size, 1);
    o->options_size = size;
    if (size) {
        memcpy(o->options, options, size);
    }
    o->lr = lr;
    o->parameters = nn_parameters(module);
    ag_set_owner(o->parameters, o);
    o->state = ag_alloc_in(o, (size_t)o->parameters->n, sizeof *o->state);
    o->group = ag_alloc_in(o, 1, sizeof *o->group);
    o->group[0] = (Group){ weight_decay, 1 };
    o->n_groups = 1;
    count_states(__func__, o, named);
    return o;
}

/* ---- state ----------------------------------------------------------------------------------- */

void optimizer_make_state(Optimizer *o)
{
    for (int i = 0; i < o->parameters->n; i++) {
        ParameterState *s = &o->state[i];
        AgShape shape = s->is_part ? SHAPE(s->count) : tensor_shape(o->parameters->item[i].tensor);
        for (int k = 0; k < s->n; k++) {
            if (!s->tensor[k]) {
                s->tensor[k] = tensor_new_owned(shape, AG_REAL);
                ag_set_owner(s->tensor[k], o);
            }
        }
    }
}

void check_whole(const char *what, const Optimizer *o)
{
    if (o->refusal && !o->sharing) {
        ag_usage_error(what, "%s", o->refusal);
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

int nn_optimizer_group(Optimizer *o, bool (*belongs)(const NnNamedTensor *p, void *arg), void *arg,
                       double weight_decay, double lr_factor)
{
    AG_LAYER;
    check_optimizer(__func__, o);
    if (!belongs) {
        ag_usage_error(__func__, "the function that chooses parameters is NULL");
    }
    check_number(__func__, "weight_decay", weight_decay, weight_decay >= 0,
                 "a finite number of 0 or more");
    check_number(__func__, "lr_factor", lr_factor, lr_factor >= 0, "a finite number of 0 or more");
    /* All calls of the program's function come first: it may add a group itself. */
    bool *chosen = ag_alloc_in(o, (size_t)o->parameters->n, sizeof *chosen);
    for (int i = 0; i < o->parameters->n; i++) {
        const Calls before = function_begins();
        const NnNamedTensor *p = &o->parameters->item[i];
        bool belongs_here = p->trained && belongs(p, arg);
        function_ends(before);
        check_parameter(__func__, o, i);    /* the function may have freed o and the array */
        chosen[i] = belongs_here;
    }
    o->group = ag_resize(o->group, (size_t)o->n_groups, (size_t)o->n_groups + 1, sizeof *o->group);
    o->group[o->n_groups] = (Group){ weight_decay, lr_factor };
    int moved = 0;
    for (int i = 0; i < o->parameters->n; i++) {
        if (!chosen[i]) continue;
        o->state[i].group = o->n_groups;
        moved++;
    }
    o->n_groups++;
    ag_free(chosen);
    return moved;
}

bool nn_is_not_matrix(const NnNamedTensor *p, void *unused)
{
    (void)unused;
    return tensor_ndim(p->tensor) < 2;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void optimizer_update(const char *what, Optimizer *o, int i, Tensor *gradient, double grad_scale)
{
    ParameterState *s = &o->state[i];
    const Group *group = &o->group[s->group];
    const OptimizerKind *kind = o->kind;
    s->steps++;
    OptimizerUpdate u = {
        .parameter = &o->parameters->item[i], .gradient = gradient,
        .first = s->first, .count = s->count, .state = s->tensor,
        .lr = o->lr * group->lr_factor, .weight_decay = group->weight_decay,
        .grad_scale = grad_scale, .step = s->steps, .options = o->options,
    };
    const AgScope scope = innermost_scope();
    o->update = scope;
    const Calls before = function_begins();
    kind->update(&u);
    function_ends(before);
    if (innermost_scope().serial != scope.serial) {
        ag_usage_error(what, "the update function of \"%s\" has ended a scope that it has not "
                       "begun, or left one open", kind->name);
    }
}

void optimizer_check(const char *what, const Optimizer *o, int trained)
{
    const NnParameters *p = o->parameters;
    int known = 0;
    if (scope_is_open(o->update)) {
        ag_usage_error(what, "a step of this optimizer runs: its update function cannot begin "
                       "another one, and must leave the scope, too, if it leaves by longjmp or "
                       "throw");
    }
    check_fields(what, o->module);
    for (Walk walk = walk_below(o->module); walk_tensor(&walk); ) {
        bool is_known = known < p->n && p->item[known].tensor == walk.slot->tensor;
        bool is_trained = is_known && p->item[known].trained;
        known += is_known;
        if (!tensor_grad_data(walk.slot->tensor)) continue;
        if (!is_trained && tensor_requires_grad(walk.slot->tensor)) {
            ag_usage_error(what, "%s has a gradient, but was registered, tied or unfrozen after "
                           "the optimizer was made: make the optimizer after that",
                           tensor_get_name(walk.slot->tensor));
        }
        trained += is_trained;
    }
    if (!trained) {
        ag_usage_error(what, "no parameter of its %s has a gradient: expected ag_backward before "
                       "each step, from a loss that this %s has computed", o->module->type,
                       o->module->type);
    }
}

static void warn_of_step(const char *what, const Optimizer *o)
{
    if (!o->module->training) {
        ag_warning(what, "this %s is in evaluation mode, without dropout: expected nn_train(model) "
                   "before it is trained", o->module->type);
    }
    if (o->steps != 3) return;
    for (int i = 0; i < o->parameters->n; i++) {
        if (o->parameters->item[i].trained && o->state[i].steps == 0) {
            ag_warning(what, "%s has got no gradient in 3 steps: is it used in the forward "
                       "function?", o->parameters->item[i].name);
        }
    }
}

void nn_optimizer_step(Optimizer *o)
{
    AG_LAYER;
    check_optimizer(__func__, o);
    if (o->refusal) {
        ag_usage_error(__func__, "%s", o->refusal);
    }
    optimizer_check(__func__, o, 0);
    if (ag_warn_of_step()) {    /* tells the observers of the step; true if ag_warn is on */
        warn_of_step(__func__, o);
    }
    optimizer_make_state(o);
    o->steps++;
    for (int i = 0; i < o->parameters->n; i++) {
        Tensor *w = o->parameters->item[i].tensor;
        if (!o->parameters->item[i].trained || !tensor_grad_data(w)) continue;
        AgScope scope = ag_begin(AG_NO_GRAD);
        optimizer_update(__func__, o, i, tensor_grad(w), 1);
        ag_end(scope);
        check_parameter(__func__, o, i);    /* an update function of the program may have freed o */
        tensor_zero_grad(w);
    }
}

double nn_optimizer_lr(const Optimizer *o)
{
    check_optimizer(__func__, o);
    return o->lr;
}

void nn_optimizer_set_lr(Optimizer *o, double lr)
{
    check_optimizer(__func__, o);
    check_number(__func__, "lr", lr, lr >= 0, "a finite number of 0 or more");
    o->lr = lr;
}

int64_t nn_optimizer_steps(const Optimizer *o)
{
    check_optimizer(__func__, o);
    return o->steps;
}

/* ---- the norm of all gradients --------------------------------------------------------------- */

double clip_factor(double norm, double max_norm)
{
    if (max_norm == 0 || isinf(max_norm)) return 1;
    double factor = max_norm / (norm + 1e-6);       /* as in PyTorch: never 0 / 0 */
    return factor > 1 ? 1 : factor;
}

double nn_clip_grad_norm(void *module, double max_norm)
{
    NN_LAYER((Module *)module);
    if (!(max_norm >= 0)) {
        ag_usage_error(__func__, "max_norm is %g, expected 0 or more", max_norm);
    }
    double sum = 0;
    int gradients = 0;
    for (Walk walk = walk_below(module); walk_tensor(&walk); ) {
        if (tensor_grad_data(walk.slot->tensor)) {
            gradients++;
            sum += ag_grad_sum_squares(walk.slot->tensor);
        }
    }
    if (!gradients) {
        ag_usage_error(__func__, "no parameter of this %s has a gradient: expected ag_backward "
                       "before", ((Module *)module)->type);
    }
    double norm = sqrt(sum);
    double factor = clip_factor(norm, max_norm);
    if (factor == 1) return norm;
    AgScope scope = ag_begin(AG_NO_GRAD);
    for (Walk walk = walk_below(module); walk_tensor(&walk); ) {
        Tensor *w = walk.slot->tensor;
        if (!tensor_grad_data(w)) continue;
        if (isnan(factor)) {
            ag_fill(tensor_grad(w), factor);                /* ag_grad_scale takes finite factors */
        } else {
            ag_grad_scale(w, factor);
        }
    }
    ag_end(scope);
    return norm;
}
