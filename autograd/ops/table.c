/* table.c: the table of operations, from ops.def. A build with more operations has another file in
 * its place. */
#include "kernels.h"
#include "op.h"
#include "ops/table.h"

#include "table_entries.h"
const Op op_table[] = {
#include "ops/ops.def"
};
