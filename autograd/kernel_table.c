/* kernel_table.c: the functions k_<name>, which call the table in use.
 *
 * The last lines define one function for each kernel of kernels.h. For ref_fill of plain/, the
 * function is k_fill:
 *
 *     void k_fill(int64_t n, real *y, real value)
 *     {
 *         k_table_in_use->fill(n, y, value);
 *     }
 *
 * Such a call costs one load and one jump. */
#include "kernel_table.h"

bool k_use_isa(const char *name)
{
    const KernelTable *found = k_find_table(name);
    if (!found) return false;
    k_table_in_use = found;
    return true;
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
