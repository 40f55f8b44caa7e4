/* gemm_common.h: what the matrix products share: loads that are masked or transpose, and what is done with a part of C that is
 * complete: bias and activation. */
#ifndef KAERU_GEMM_COMMON_H
#define KAERU_GEMM_COMMON_H

#include "vmath.h"

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

/* Masked load and store of the first n lanes, 1 <= n <= W. With AVX-512 a mask costs less than a branch; elsewhere a whole
 * vector is faster. */
INLINE vf vload_masked(const float *p, int64_t n) { return W < 16 && n == W ? vload(p) : vload_n(p, n); }
INLINE void vstore_masked(float *p, vf x, int64_t n)
{
    if (W < 16 && n == W) vstore(p, x);
    else vstore_n(p, x, n);
}

/* Hides from the compiler how a pointer was computed. Otherwise it keeps too many addresses in registers. */
#define OPAQUE(pointer) __asm__("" : "+r"(pointer))

/* The halves of W / 2 items, the lower half of an item first. */
INLINE vi load_halves(const uint32_t *p)
{
#if defined(__AVX512F__)
    return (vi)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
#elif defined(__AVX2__)
    return (vi)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
#else
    return (vi){ (int32_t)(p[0] & 0xffff), (int32_t)(p[0] >> 16), (int32_t)(p[1] & 0xffff), (int32_t)(p[1] >> 16) };
#endif
}

/* Loads four columns of W rows: out[q] is column q. Rows beyond `rows` repeat the last one. */
INLINE void load_4_columns(vf out[4], const float *from, int64_t ld, int64_t rows)
{
    const float *group[W / 4];
    UNROLL
    for (int g = 0; g < W / 4; g++) {
        group[g] = from + 4 * g * ld;
        OPAQUE(group[g]);
    }
#define QUAD(i) (rows >= W ? group[(i) / 4] + (i) % 4 * ld : from + ((i) < rows ? (i) : rows - 1) * ld)
#if defined(__SSE__)
    vf in[4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        __m128 quad = _mm_loadu_ps(QUAD(i));
#if defined(__AVX512F__)
        vf four = _mm512_castps128_ps512(quad);
        four = _mm512_insertf32x4(four, _mm_loadu_ps(QUAD(4 + i)), 1);
        four = _mm512_insertf32x4(four, _mm_loadu_ps(QUAD(8 + i)), 2);
        in[i] = _mm512_insertf32x4(four, _mm_loadu_ps(QUAD(12 + i)), 3);
#define SHUFFLE(how) _mm512_##how
#elif defined(__AVX2__)
        in[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(quad), _mm_loadu_ps(QUAD(4 + i)), 1);
#define SHUFFLE(how) _mm256_##how
#else
        in[i] = quad;
#define SHUFFLE(how) _mm_##how
#endif
    }
    vf low01 = SHUFFLE(unpacklo_ps)(in[0], in[1]), low23 = SHUFFLE(unpacklo_ps)(in[2], in[3]);
    vf high01 = SHUFFLE(unpackhi_ps)(in[0], in[1]), high23 = SHUFFLE(unpackhi_ps)(in[2], in[3]);
    out[0] = SHUFFLE(shuffle_ps)(low01, low23, 0x44);
    out[1] = SHUFFLE(shuffle_ps)(low01, low23, 0xee);
    out[2] = SHUFFLE(shuffle_ps)(high01, high23, 0x44);
    out[3] = SHUFFLE(shuffle_ps)(high01, high23, 0xee);
#undef SHUFFLE
#else
    for (int q = 0; q < 4; q++)
        out[q] = (vf){ QUAD(0)[q], QUAD(1)[q], QUAD(2)[q], QUAD(3)[q] };
#endif
#undef QUAD
}

/* One column of W rows. */
INLINE vf load_column(const float *from, int64_t ld, int64_t rows)
{
    float column[W];
    for (int i = 0; i < W; i++)
        column[i] = from[(i < rows ? i : rows - 1) * ld];
    return vload(column);
}

/* to[p * step + i] = from[i * ld + p], p < k, i < W: the rows beyond `rows` repeat the last one. */
INLINE void pack_transposed_rows(float *to, int64_t step, const float *from, int64_t ld, int64_t rows, int64_t k)
{
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
        vf column[4];
        load_4_columns(column, from + p, ld, rows);
        for (int q = 0; q < 4; q++)
            vstore(to + (p + q) * step, column[q]);
    }
    for (; p < k; p++)
        vstore(to + p * step, load_column(from + p, ld, rows));
}

/* ---- a part of C that is complete -------------------------------------------------------------------------------- */

INLINE vf activate(KUnary act, vf x)
{
    switch (act) {
    case K_RELU:     return vmax(vset(0), x);
    case K_GELU:     return vgelu(x);
    case K_GELU_ERF: return vgelu_erf(x);
    default:          return x;                     /* K_IDENTITY; kernels.h: no other */
    }
}

INLINE const float *shift(const float *p, int64_t by) { return p ? p + by : NULL; }
INLINE float *shift_out(float *p, int64_t by)         { return p ? p + by : NULL; }

/* Adds the bias to W sums x of a row. Stores them in `pre`, and their activation in c: the first `left` items, at least one. */
INLINE void store_finished(KUnary act, float *c, vf x, int64_t left, const float *bias, float *pre)
{
    if (bias) x = x + vload_masked(bias, left);
    if (pre) vstore_masked(pre, x, left);
    vstore_masked(c, activate(act, x), left);
}

INLINE void epilogue_with(KUnary act, int64_t ldc, int64_t rows, int64_t columns, float *c, const float *bias, float *pre)
{
    const int64_t whole = columns - columns % W;
    for (int64_t i = 0; i < rows; i++, c += ldc, pre = shift_out(pre, ldc)) {
        for (int64_t j = 0; j < whole; j += W)
            store_finished(act, c + j, vload(c + j), W, shift(bias, j), shift_out(pre, j));
        if (whole < columns)
            store_finished(act, c + whole, vload_n(c + whole, columns - whole), columns - whole, shift(bias, whole),
                           shift_out(pre, whole));
    }
}

/* Adds the bias and applies the activation to a part of C that is complete; the pointers point to its first element. */
static void epilogue(const KGemm *s, int64_t rows, int64_t columns, float *c, const float *bias, float *pre)
{
    switch (s->act) {
    case K_RELU:     epilogue_with(K_RELU, s->ldc, rows, columns, c, bias, pre); break;
    case K_GELU:     epilogue_with(K_GELU, s->ldc, rows, columns, c, bias, pre); break;
    case K_GELU_ERF: epilogue_with(K_GELU_ERF, s->ldc, rows, columns, c, bias, pre); break;
    default:          epilogue_with(K_IDENTITY, s->ldc, rows, columns, c, bias, pre);
    }
}

static bool has_epilogue(const KGemm *s) { return s->bias || s->pre || s->act != K_IDENTITY; }

#endif
