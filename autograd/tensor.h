/* tensor.h: creates tensors. */
#ifndef KAERU_PRIVATE_TENSOR_H
#define KAERU_PRIVATE_TENSOR_H

#include "tensor_struct.h"

/* Returns a tensor of the innermost scope, with undefined values. `what` has made it. */
Tensor *tensor_new(const char *what, const AgShape *shape, AgDType dtype);
/* Returns one that shares the values of a buffer, or has none if that is NULL. */
Tensor *tensor_alias(const char *what, const AgShape *shape, AgDType dtype, Buffer *buffer);
/* Returns a tensor without a value that no scope owns. */
Tensor *tensor_header_owned(const char *what, const AgShape *shape, AgDType dtype);

#endif
