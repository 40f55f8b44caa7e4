/* table.h: the numbers of the operations in op_table, and the functions that the entries of ops.def
 * name. */
#ifndef KAERU_OPS_TABLE_H
#define KAERU_OPS_TABLE_H

#include "op.h"

#include "op_entries.h"

#define OP(name, ...) OP_##name,
enum {
#include "ops/ops.def"
    OP_BOOK_COUNT
};
extern const Op op_table[];

#endif
