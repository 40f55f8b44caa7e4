/* more_optim.c: RMSprop, as PyTorch defines it, and averages of weights. */
#include "kaeru/more_optim.h"

#include <math.h>

#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/optim.h"

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
