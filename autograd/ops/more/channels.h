/* channels.h: what batch norm computes in one pass. */
#ifndef KAERU_CHANNELS_H
#define KAERU_CHANNELS_H

#include "kaeru/tensor.h"

/* The result of ag_add(ag_mul(ag_sub(x, mean), factor), beta), recorded as these: x (B,C,..), the others (C,1,..). */
Tensor *channels_normalized(Tensor *x, Tensor *mean, Tensor *factor, Tensor *beta);

#endif
