/* more_table.h: the numbers of this folder's operations in op_table, and the functions that the entries of more.def name. */
#ifndef KAERU_OPS_MORE_TABLE_H
#define KAERU_OPS_MORE_TABLE_H

#include "ops/table.h"

#include "more_entries.h"

#define OP(name, ...) OP_##name,
enum {
    OP_BEFORE_MORE = OP_BOOK_COUNT - 1,
#include "more.def"
    OP_COUNT
};

#endif
