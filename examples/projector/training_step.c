/* training_step.c: forward, backward, and w = w - lr dw for each weight */
#include <math.h>

#include "projector.h"

double training_step(Sequential *net, Tensor *x, Tensor *target, double lr)
{
    AgScope step = ag_begin(AG_RECORD);
    Tensor *loss = nn_mse_loss(nn_sequential(net, x), target);
    double before = tensor_item(loss);
    backward(loss);
    NnParameters *weights = nn_parameters(net);
    for (int k = 0; k < weights->n; k++) {
        Tensor *t = weights->item[k].tensor;
        float *w = tensor_mutable_data(t), *dw = tensor_grad_data(t);
        for (int64_t i = 0; i < tensor_numel(t); i++) {
            w[i] = fmaf((float)-lr, dw[i], w[i]);  /* w - lr dw, rounded once */
        }
        tensor_zero_grad(t);                       /* the next step adds anew */
    }
    ag_free(weights);
    ag_end(step);                                   /* frees the graph */
    return before;
}
