/* backward.c: down the tape, from the loss to the first result */
#include "gradients.h"
#include "projector.h"
#include "tape.h"

void backward(Tensor *loss)
{
    const real one = 1;
    grad_add(loss, &one);                           /* dloss/dloss = 1 */
    for (Tensor *y = loss; y; y = y->older) {       /* from new to old */
        if (y->op && y->grad) {                     /* the loss depends on y */
            rule_run(y);                            /* adds to dx of each x */
        }                                           /* that y was made of */
    }
}
