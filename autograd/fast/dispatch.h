/* dispatch.h: a processor path is a table of kernels compiled for one kind of processor. */
#ifndef KAERU_DISPATCH_H
#define KAERU_DISPATCH_H

#include "kernels.h"

typedef struct {
    const char *name;
#define KERNEL(result, name, parameters, arguments, ret) result (*name) parameters;
#include "kernels.def"
} KernelTable;

/* AVX-512's, which AMX and VDPBF16PS use for few rows. */
extern void k_avx512_gemm_bf16(const KGemm *s, real *c, const real *a, const real *b);

/* The instruction set in use: "amx" or "avx512_bf16" (AVX-512, with AMX or VDPBF16PS for products in bfloat16), "avx512",
 * "avx2", "portable" or, in the double build, "reference". The environment variable KAERU_ISA names one to use instead of the
 * best; for one that the processor lacks there is a line on stderr, and the best is used. */
const char *k_isa(void);
/* Makes k_<name> use the path of this name from now on; false, and nothing changed, if there is none or the processor
 * cannot run it. For tests; no kernel may be running. */
bool k_use_isa(const char *name);
void k_use_table(const KernelTable *table);
const KernelTable *k_table(void);

#endif
