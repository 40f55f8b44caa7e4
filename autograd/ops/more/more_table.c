/* more_table.c: the table of all operations, from ops.def and more.def. */
#include "kernels.h"
#include "more_table.h"
#include "op.h"

#include "table_entries.h"
const Op op_table[] = {
#include "ops/ops.def"
#define OP(name, params, forward, backward_rule, ...) \
    { #name, "ag_" #name, forward, backward_rule, INPUTS_##name, NUMBERS_##name, __VA_ARGS__ },
#include "more.def"
};
