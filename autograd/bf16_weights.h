/* bf16_weights.h: tensors of type AG_PACKED, and copies of weights in bfloat16. */
#ifndef KAERU_BF16_WEIGHTS_H
#define KAERU_BF16_WEIGHTS_H

#include "tensor_struct.h"

/* The size of a tensor's values. */
size_t value_bytes(const AgShape *shape, AgDType dtype);
void check_packed_shape(const char *what, const AgShape *shape);
/* Returns where the pairs of columns 0 and 1 of a row are; the next pairs follow at distances of
 * K_PANEL. */
uint32_t *packed_row(const uint32_t *panels, int64_t width, int64_t row);
void unpack_row_as_reals(const Tensor *packed, int64_t row, real *out);
/* The copy of the weight that y's product may use, or NULL. */
const uint32_t *packed_weight(const Tensor *y, const Tensor *weight);

#endif
