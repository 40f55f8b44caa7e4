/* table.c: the table of operations: an Op for each entry of ops.def. table_entries.h has the macros
 * that make one of the other. A build with more operations has another file in its place. */
#include "kernels.h"
#include "op.h"
#include "ops/table.h"

#include "table_entries.h"
const Op op_table[] = {
#include "ops/ops.def"
};
