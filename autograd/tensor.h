/* tensor.h: creates tensors. */
#ifndef KAERU_PRIVATE_TENSOR_H
#define KAERU_PRIVATE_TENSOR_H

#include "tensor_struct.h"

/* A tensor of the innermost scope, values undefined. */
Tensor *tensor_new(const char *what, const AgShape *shape, AgDType dtype);
/* The same on a shared buffer; NULL: without a value. */
Tensor *tensor_alias(const char *what, const AgShape *shape, AgDType dtype, Buffer *buffer);
/* Returns a tensor that no scope owns, without a value; made by `what`. */
Tensor *tensor_header_owned(const char *what, const AgShape *shape, AgDType dtype);

#endif
