/* recompute.c: calls a layer whose intermediate values backward computes again. The work is ag_recompute's. */
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

Tensor *nn_recompute_at(AgSite at, void *layer, Tensor *x)
{
    AG_LAYER(at);
    nn_check_at(at, "nn_recompute", layer, 0);
    const Module *m = layer;
    if (!m->forward)
        ag_usage_error(at, "nn_recompute", "a %s has no forward with one input (module.forward is not set)", m->type);
    AgMark begin = ag_mark();
    return ag_recompute_at(at, begin, m->forward(at, layer, x), AG_PRODUCTS);
}
