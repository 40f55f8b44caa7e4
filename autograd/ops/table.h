/* table.h: the table of operations, op_table, and the indexes of its entries: OP_add, OP_sub, ...
 *
 * ops.def lists the operations; an entry of the table is an Op (op.h). The forward function of add
 * gives &op_table[OP_add] to the tape, and backward finds the rule there. op_entries.h declares the
 * functions that the entries name. */
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
