/* dropout.c: in training, forgets numbers at random (Srivastava et al. 2014). */
#include "kaeru/nn.h"

static Tensor *forward(void *self, Tensor *x)
{
    return nn_dropout((Dropout *)self, x);
}

Dropout *nn_dropout_new_at(Site at, double p)
{
    if (!(p >= 0 && p < 1)) ag_usage_error(at, "nn_dropout_new", "probability %g, must be in [0, 1)", p);
    Dropout *d = (Dropout *)nn_new_at(at, sizeof *d, "Dropout");
    d->module.forward = forward;
    d->p = p;
    return d;
}

Tensor *(nn_dropout)(Dropout *d, Tensor *x)                                     /* (..) -> (..) */
{
    return d->module.training && d->p > 0 ? ag_dropout(x, d->p) : x;
}
