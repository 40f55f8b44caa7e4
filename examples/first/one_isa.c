/* one_isa.c: in the place of autograd/fast/dispatch.c, for a program that runs where it is built: the kernels of one
 * instruction set, ONE_ISA. meson has found that this processor has it. */
#include <string.h>

#include "kernel_table.h"

#define TABLE_OF(isa) k_##isa##_table
#define TABLE(isa) TABLE_OF(isa)

extern const KernelTable TABLE(ONE_ISA);
const KernelTable *k_table_in_use = &TABLE(ONE_ISA);

const KernelTable *k_find_table(const char *name)
{
    return strcmp(name, k_table_in_use->name) == 0 ? k_table_in_use : NULL;
}
