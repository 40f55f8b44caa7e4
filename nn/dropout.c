/* dropout.c: the dropout layer: in training, sets entries to 0 at random (Srivastava et al. 2014). */
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

static Tensor *dropout_forward(AgSite at, void *self, Tensor *x)
{
    return nn_dropout_at(at, self, x);
}

Dropout *nn_dropout_new_at(AgSite at, double p)
{
    if (!(p >= 0 && p < 1)) ag_usage_error(at, "nn_dropout_new", "probability %g, must be in [0, 1)", p);
    Dropout *d = (Dropout *)nn_new_sized_at(at, sizeof *d, "Dropout");
    d->module.forward = dropout_forward;
    d->p = p;
    return d;
}

Tensor *nn_dropout_at(AgSite at, Dropout *d, Tensor *x)                                   /* (..) -> (..) */
{
    NN_LAYER(at, d);
    if (d->module.training && d->p > 0) return ag_dropout(x, d->p);
    tensor_data(x);                         /* a usage error unless they are reals */
    return x;
}
