/* dispatch.c: which instruction set is in use, and the functions k_<name> that call it.
 *
 * A call costs one load and one jump. The choice is made when the library is loaded, before any thread can exist. */
#include "dispatch.h"

#include <stdlib.h>
#include <string.h>

#ifdef KAERU_DOUBLE

#include "reference.h"

static const KernelTable reference_table = {
    .name = "reference",
#define KERNEL(result, name, parameters, arguments, ret) .name = ref_##name,
#include "kernels.def"
};
static const KernelTable *const all_tables[] = { &reference_table };

#elif defined(__x86_64__)
extern const KernelTable k_avx512_table, k_avx2_table, k_portable_table;
static const KernelTable *const all_tables[] = { &k_avx512_table, &k_avx2_table, &k_portable_table };    /* the best first */
#else
extern const KernelTable k_portable_table;
static const KernelTable *const all_tables[] = { &k_portable_table };
#endif

enum { N_TABLES = sizeof all_tables / sizeof all_tables[0] };

static bool processor_has(const KernelTable *table)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (strcmp(table->name, "avx512") == 0)
        return avx512;
    if (strcmp(table->name, "avx2") == 0)
        return avx2;
#endif
    (void)table;
    return true;
}

static const KernelTable *table_in_use;

bool k_use_isa(const char *name)
{
    for (int i = 0; i < N_TABLES; i++)
        if (strcmp(all_tables[i]->name, name) == 0 && processor_has(all_tables[i])) {
            table_in_use = all_tables[i];
            return true;
        }
    return false;
}

__attribute__((constructor)) static void choose_isa(void)
{
    const char *wanted = getenv("KAERU_ISA");
    if (wanted && k_use_isa(wanted))
        return;
    int i = 0;
    while (!k_use_isa(all_tables[i]->name))
        i++;
}

const char *k_isa(void)
{
    return table_in_use->name;
}

#define KERNEL(result, name, parameters, arguments, ret) \
    result k_##name parameters                           \
    {                                                    \
        ret table_in_use->name arguments;                 \
    }
#include "kernels.def"
