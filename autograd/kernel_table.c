/* kernel_table.c: the table in use, and the functions k_<name>, which call it. A call costs one
 * load and one jump. */
#include "kernel_table.h"

void k_use_table(const KernelTable *table)
{
    k_table_in_use = table;
}

const KernelTable *k_table(void)
{
    return k_table_in_use;
}

bool k_use_isa(const char *name)
{
    const KernelTable *found = k_find_table(name);
    if (found) {
        k_use_table(found);
    }
    return found;
}

const char *k_isa(void)
{
    return k_table_in_use->name;
}

#define KERNEL(result, name, parameters, arguments, ret) \
    result k_##name parameters                           \
    {                                                    \
        ret k_table_in_use->name arguments;              \
    }
#include "kernels.def"
