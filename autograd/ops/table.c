/* table.c: the table of all operations. */
#include "ops/table.h"

#include "op_parameters.h"

const Op op_table[] = {
#define OP(name, params, needs, forward, backward) \
    { #name, name##_backward, name##_sample, needs, forward, backward, name##_inputs, name##_numbers },
#include "ops/ops.def"
#undef OP
};

int ag_op_count(void)
{
    return OP_COUNT;
}

const char *ag_op_name(int i)
{
    return op_table[i].name;
}

const char *ag_op_forward_text(int i)
{
    return op_table[i].forward_text;
}

const char *ag_op_backward_text(int i)
{
    return op_table[i].backward_text;
}
