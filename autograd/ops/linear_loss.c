/* linear_loss.c: the cross-entropy of a linear layer, composed of both operations: all logits exist
 * at once. A build with more operations has another file in its place. */
#include "kaeru/autograd.h"
#include "ops/loss.h"

Tensor *linear_loss(const char *what, Tensor *x, Tensor *weight, Tensor *bias, Tensor *target,
                    AgReduce reduce, int ignore, double smoothing)
{
    class_args(what, weight->shape.dim[0], target, ignore, reduce, smoothing);
    return ag_cross_entropy(ag_linear(x, weight, bias), target, reduce, ignore, smoothing);
}
