/* plain_table.c: the table of the plain loops of this folder. */
#include "more_kernel_table.h"
#include "plain_kernels.h"

static const MoreKernelTable plain_table = {
#define KERNEL(result, name, parameters, arguments, ret) .name = ref_##name,
#include "more_kernels.def"
};

const MoreKernelTable *k_more_kernels(void)
{
    return &plain_table;
}
