/* more_table.c: the table of all operations, from ops.def and more.def. */
#include "kernels.h"
#include "more_table.h"
#include "op.h"

#include "table_entries.h"
const Op op_table[] = {
#include "ops/ops.def"
#include "table_entries.h"
#include "more.def"
};
