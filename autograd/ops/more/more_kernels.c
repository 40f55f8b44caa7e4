/* more_kernels.c: the functions k_<name> of more_kernels.h, which call the table in use: see
 * kernel_table.c. */
#include "more_kernel_table.h"

#define KERNEL(result, name, parameters, arguments, ret) \
    result k_##name parameters                           \
    {                                                    \
        ret k_more_kernels()->name arguments;            \
    }
#include "more_kernels.def"
