/* bf16_weights.h: tensors of type AG_PACKED, and copies of weights in bfloat16. */
#ifndef KAERU_BF16_WEIGHTS_H
#define KAERU_BF16_WEIGHTS_H

#include "tensor_struct.h"

/* The size of a tensor's values. */
size_t value_bytes(const AgShape *shape, AgDType dtype);
void check_packed_shape(const char *what, const AgShape *shape);
void unpack_row_as_reals(const Tensor *packed, int64_t row, real *out);
/* The copy of the weight that y's product may use, or NULL. */
const uint32_t *packed_weight(const Tensor *y, const Tensor *weight);
/* Continues the hash h by these bytes. */
uint64_t hash_bytes(const void *p, size_t bytes, uint64_t h);

#endif
