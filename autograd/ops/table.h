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
/* For those in again_table, name##_again computes y's value again. */
#define OP(name, params, needs, forward, backward) \
    void name##_backward(Tensor *y);               \
    Tensor *name##_sample(Sample *s);              \
    void name##_again(Tensor *y);
#include "ops/ops.def"
#undef OP

/* How ag_recompute gets a value of the operation again. shares: `run` sets y's memory, that of its input. */
typedef struct { void (*run)(Tensor *y); bool is_product, shares; } Again;
/* NULL: its values are kept. */
const Again *again_of(const Op *op);

#endif
