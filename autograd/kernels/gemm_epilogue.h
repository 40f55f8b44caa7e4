/* gemm_epilogue.h: what a matrix product does with a part of C that is complete: bias and activation. */
#ifndef KAERU_GEMM_EPILOGUE_H
#define KAERU_GEMM_EPILOGUE_H

#include "gemm_load.h"
#include "vmath.h"

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE vf activate(AgActivation act, vf x)
{
    switch (act) {
    case AG_IDENTITY: return x;
    case AG_RELU:     return vmax(vset(0), x);
    case AG_GELU:     return vgelu(x);
    case AG_GELU_ERF: return vgelu_erf(x);
    default:          return x;                     /* kernels.h: no other */
    }
}

INLINE void epilogue_with(AgActivation act, int64_t ldc, int64_t rows, int64_t columns, float *c, const float *bias, float *pre)
{
    for (int64_t i = 0; i < rows; i++, c += ldc) {
        for (int64_t j = 0; j < columns; j += W) {
            const int64_t left = min(W, columns - j);
            vf x = vload_masked(c + j, left);
            if (bias) x = x + vload_masked(bias + j, left);
            if (pre) vstore_masked(pre + j, x, left);
            vstore_masked(c + j, activate(act, x), left);
        }
        if (pre) pre += ldc;
    }
}

/* Adds the bias and applies the activation to a part of C that is complete; the pointers point to its first element. */
static void epilogue(const KGemm *s, int64_t rows, int64_t columns, float *c, const float *bias, float *pre)
{
    switch (s->act) {
    case AG_IDENTITY: epilogue_with(AG_IDENTITY, s->ldc, rows, columns, c, bias, pre); break;
    case AG_RELU:     epilogue_with(AG_RELU, s->ldc, rows, columns, c, bias, pre); break;
    case AG_GELU:     epilogue_with(AG_GELU, s->ldc, rows, columns, c, bias, pre); break;
    case AG_GELU_ERF: epilogue_with(AG_GELU_ERF, s->ldc, rows, columns, c, bias, pre); break;
    default:          break;
    }
}

static bool has_epilogue(const KGemm *s) { return s->bias || s->pre || s->act != AG_IDENTITY; }

INLINE const float *shift(const float *p, int64_t by) { return p ? p + by : NULL; }
INLINE float *shift_out(float *p, int64_t by)         { return p ? p + by : NULL; }

#endif
