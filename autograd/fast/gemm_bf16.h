/* gemm_bf16.h: the product in bfloat16 of AVX-512, which AMX and VDPBF16PS use for few rows. */
#ifndef KAERU_GEMM_BF16_H
#define KAERU_GEMM_BF16_H

#include "kernels.h"

extern void k_avx512_gemm_bf16(const KGemm *s, real *c, const real *a, const real *b);

#endif
