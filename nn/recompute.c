/* recompute.c: calls a layer whose intermediate values backward computes again. The work is ag_recompute's. */
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

typedef struct { Site at; Module *layer; } Call;

static Tensor *layer_forward(Tensor **in, void *arg)
{
    const Call *call = arg;
    nn_check_at(call->at, "nn_recompute", call->layer, 0);              /* it may have been freed before backward */
    return call->layer->forward(call->at, call->layer, in[0]);
}

Tensor *nn_recompute_at(Site at, void *layer, Tensor *x)
{
    AG_LAYER(at);
    nn_check_at(at, "nn_recompute", layer, 0);
    Call *call = ag_scratch_at(at, 1, sizeof *call);
    *call = (Call){ at, layer };
    if (!call->layer->forward) ag_usage_error(at, "nn_recompute", "a %s has no forward with one input", call->layer->type);
    return ag_recompute_at(at, layer_forward, call, &x, 1);
}
