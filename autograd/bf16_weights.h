/* bf16_weights.h: tensors of type AG_PACKED, and copies of weights in bfloat16. */
#ifndef KAERU_BF16_WEIGHTS_H
#define KAERU_BF16_WEIGHTS_H

#include "tensor_struct.h"

/* Returns the size of a tensor's values in bytes. */
size_t value_bytes(const AgShape *shape, AgDType dtype);
/* Checks that a tensor of type AG_PACKED can have this shape: two sizes, the second one even. */
void check_packed_shape(const char *what, const AgShape *shape);
/* Returns the address of the first item of a row: the numbers of columns 0 and 1. The next item of
 * the row, with columns 2 and 3, is K_PANEL items further. */
uint32_t *packed_row(const uint32_t *panels, int64_t width, int64_t row);
/* Writes a row of a packed matrix to `out`. */
void unpack_row_as_reals(const Tensor *packed, int64_t row, real *out);
/* Returns the weight in bfloat16 if y's product may read it so, else NULL. */
const uint32_t *packed_weight(const Tensor *y, const Tensor *weight);

#endif
