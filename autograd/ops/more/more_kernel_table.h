/* more_kernel_table.h: a table of the kernels of more_kernels.h: see kernel_table.h. */
#ifndef KAERU_MORE_KERNEL_TABLE_H
#define KAERU_MORE_KERNEL_TABLE_H

#include "more_kernels.h"

typedef struct {
#define KERNEL(result, name, parameters, arguments, ret) result (*name) parameters;
#include "more_kernels.def"
} MoreKernelTable;

/* Returns the table that k_<name> calls. A build has one file that defines this function:
 * plain_table.c, or fast/dispatch.c. */
const MoreKernelTable *k_more_kernels(void);

#endif
