/* table.h: the numbers of the operations in op_table, and the functions that each operation in ops.def must have. */
#ifndef KAERU_OPS_TABLE_H
#define KAERU_OPS_TABLE_H

#include "internal.h"

#define OP(name, params, needs, forward, backward) OP_##name,
enum {
#include "ops/ops.def"
    OP_COUNT
};
#undef OP
#define OP(name, params, needs, forward, backward) \
    void name##_backward(Tensor *y);               \
    Tensor *name##_sample(Sample *s);
#include "ops/ops.def"
#undef OP

#endif
