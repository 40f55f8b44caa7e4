/* unary.h: the operations that are activations. */
#ifndef KAERU_OPS_UNARY_H
#define KAERU_OPS_UNARY_H

#include "op.h"

/* Returns the operation of an activation other than AG_IDENTITY. Its kernel is a KUnary. */
const Op *op_of_activation(AgActivation kind);

#endif
