/* dispatch.c: which instruction set is in use.
 *
 * The choice is made when the library is loaded, before any thread can exist. A program's own constructors may run before it:
 * until then, the plainest of these tables is in use, with the same bits.
 *
 * The names are "amx" or "avx512_bf16" (AVX-512, with AMX or VDPBF16PS for products in bfloat16), "avx512", "avx2" and
 * "portable". The environment variable KAERU_ISA names one to use instead of the best; for one that the processor lacks there
 * is a line on stderr, and the best is used. */
#include "gemm_bf16.h"
#include "kernel_table.h"
#include "more_kernel_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_AMX
#include <cpuid.h>

#include "system.h"
#endif

#if defined(__x86_64__)
extern const KernelTable k_avx512_table, k_avx2_table, k_portable_table;
/* AVX-512's, with products in bfloat16 that use one more instruction. */
#ifdef HAVE_AMX
static KernelTable amx_table = { .name = "amx" };
#endif
#ifdef HAVE_AVX512_BF16
static KernelTable avx512_bf16_table = { .name = "avx512_bf16" };
#endif
static const KernelTable *const all_tables[] = {                                /* the best first */
#ifdef HAVE_AMX
    &amx_table,
#endif
#ifdef HAVE_AVX512_BF16
    &avx512_bf16_table,
#endif
    &k_avx512_table, &k_avx2_table, &k_portable_table
};
const KernelTable *k_table_in_use = &k_portable_table;
#else
extern const KernelTable k_portable_table;
static const KernelTable *const all_tables[] = { &k_portable_table };
const KernelTable *k_table_in_use = &k_portable_table;
#endif

enum { N_TABLES = sizeof all_tables / sizeof all_tables[0] };

#ifdef HAVE_AVX512_BF16

typedef void Product(const KGemm *s, real *c, const real *a, const real *b);
extern Product k_amx_gemm_bf16, k_avx512_bf16_gemm_bf16;

/* Whether a product gives the bits of AVX-512 for random operands of every kind. */
static bool is_exact(Product *product)
{
    enum { M = 64, N = 64, K = 256 };
    static float a[M * K], b[K * N], c[2][M * N];
    for (int i = 0; i < M * K; i += 4) {
        uint32_t word[2][4];
        k_philox(1, (uint64_t)i, word[0]);
        k_philox(2, (uint64_t)i, word[1]);
        memcpy(a + i, word[0], sizeof word[0]);             /* any bits: of very large, very small numbers, NaN */
        memcpy(b + i, word[1], sizeof word[1]);
    }
    for (int i = M / 2 * K; i < M * K; i++) {               /* half of the rows: ordinary numbers and tiny products */
        a[i] = (float)((i * 37 % 201 - 100) * (i % 3 ? 0x1p-7 : 0x1p-70));
        b[i] = (float)((i * 53 % 211 - 105) * (i % 5 ? 0x1p-7 : 0x1p-60));
    }
    const KGemm s = { .bf16 = true, .m = M, .n = N, .k = K, .lda = K, .ldb = N, .ldc = N, .batch = 1 };
    k_avx512_gemm_bf16(&s, c[0], a, b);
    product(&s, c[1], a, b);
    for (int i = 0; i < M * N; i++)
        if (memcmp(&c[0][i], &c[1][i], sizeof c[0][i]) != 0 && (c[0][i] == c[0][i] || c[1][i] == c[1][i]))
            return false;
    return true;
}

/* Makes the table, if its product in bfloat16 is exact. */
static bool make_table(KernelTable *table, Product *product)
{
    if (table->gemm_bf16) return true;
    if (!is_exact(product)) return false;
    const char *name = table->name;
    *table = k_avx512_table;
    table->name = name;
    table->gemm_bf16 = product;
    return true;
}

#endif

#ifdef HAVE_AMX

/* The processor has the unit and AVX-512's conversion to bfloat16, and Linux saves its registers and permits its use. */
static bool may_use_amx(void)
{
    enum { OSXSAVE = 1 << 27, BF16_AND_TILE = 1 << 22 | 1 << 24, TILE_STATE = 3 << 17 };
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE)) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & BF16_AND_TILE) != BF16_AND_TILE)
        return false;
    if (!__builtin_cpu_supports("avx512bf16")) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & TILE_STATE) == TILE_STATE && system_allow_amx();
}

#endif

static bool processor_has(const KernelTable *table)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#ifdef HAVE_AMX
    if (table == &amx_table) return avx512 && may_use_amx() && make_table(&amx_table, k_amx_gemm_bf16);
#endif
#ifdef HAVE_AVX512_BF16
    if (table == &avx512_bf16_table)
        return avx512 && __builtin_cpu_supports("avx512bf16") && make_table(&avx512_bf16_table, k_avx512_bf16_gemm_bf16);
#endif
    if (strcmp(table->name, "avx512") == 0) return avx512;
    if (strcmp(table->name, "avx2") == 0) return avx2;
#endif
    (void)table;
    return true;
}

/* On Intel's processors VDPBF16PS takes longer than the multiply-adds of AVX-512. */
static bool is_slow(const KernelTable *table)
{
#ifdef HAVE_AVX512_BF16
    return table == &avx512_bf16_table && !__builtin_cpu_is("amd");
#else
    (void)table;
    return false;
#endif
}

const MoreKernelTable *k_more_kernels(void)
{
    return k_table_in_use->further;
}

const KernelTable *k_find_table(const char *name)
{
    for (int i = 0; i < N_TABLES; i++)
        if (strcmp(all_tables[i]->name, name) == 0 && processor_has(all_tables[i])) return all_tables[i];
    return NULL;
}

__attribute__((constructor)) static void choose_isa(void)
{
    const char *wanted = getenv("KAERU_ISA");
    if (wanted && k_use_isa(wanted)) return;
    int i = 0;
    while (is_slow(all_tables[i]) || !processor_has(all_tables[i]))
        i++;
    k_table_in_use = all_tables[i];
    if (wanted && *wanted)
        fprintf(stderr, "kaeru: KAERU_ISA=%s: not an instruction set that this processor has; using %s\n", wanted, k_isa());
}
