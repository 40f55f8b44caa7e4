/* values.h: the values of a tensor as bits: their hash, and the rows of a packed matrix.
 *
 *     uint64_t h = tensor_hash(bias, tensor_hash(weight, 0));
 */
#ifndef KAERU_PUBLIC_VALUES_H
#define KAERU_PUBLIC_VALUES_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Returns the hash h, 0 at first, continued by the values of t, of any type. A packed matrix has
 * the hash of its values as floats. */
uint64_t tensor_hash(const Tensor *t, uint64_t h);

/* Read or write n rows of a packed matrix (R,C) from row `first` on. A row has C / 2 items. An item
 * has two numbers in bfloat16, the first one in the lower half. */
void ag_packed_read(const Tensor *t, int64_t first, int64_t n, uint32_t *rows);
void ag_packed_write(Tensor *t, int64_t first, int64_t n, const uint32_t *rows);

#include "kaeru/calls/values.h"

AG_PUBLIC_END

#endif
