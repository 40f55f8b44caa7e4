/* simd_avx512.h: simd.h's vectors of 16 floats. */
#include <immintrin.h>

enum { W = 16 };
typedef __mmask16 vm;
typedef __m512i x86_integers;
#define X86(operation) _mm512_##operation
#include "simd_vectors.h"

INLINE vi viota(void)                  { return (vi){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }; }

/* The first n lanes, 0 <= n <= W; nothing beyond them is touched. Lanes that are not loaded are 0. */
INLINE vm vfirst(int64_t n)                        { return (vm)((1u << n) - 1); }
INLINE vf vload_n(const float *p, int64_t n)       { return _mm512_maskz_loadu_ps(vfirst(n), p); }
INLINE void vstore_n(float *p, vf a, int64_t n)    { _mm512_mask_storeu_ps(p, vfirst(n), a); }

INLINE vm vlt(vf a, vf b)              { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
INLINE vm vle(vf a, vf b)              { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
INLINE vm veq(vf a, vf b)              { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
INLINE vm vne(vf a, vf b)              { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
INLINE vm vieq(vi a, vi b)             { return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b); }
INLINE vm vilt(vi a, vi b)             { return _mm512_cmplt_epi32_mask((__m512i)a, (__m512i)b); }
INLINE vm vand(vm a, vm b)             { return (vm)(a & b); }
INLINE vm vor(vm a, vm b)              { return (vm)(a | b); }
INLINE vm vnot(vm a)                   { return (vm)~a; }
INLINE unsigned vmask_bits(vm a)       { return a; }                        /* bit i: lane i */
INLINE vf vselect(vm m, vf a, vf b)    { return _mm512_mask_blend_ps(m, b, a); }
INLINE vi viselect(vm m, vi a, vi b)   { return (vi)_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a); }

/* W bytes, as integers. */
INLINE vi vload_bytes(const uint8_t *p) { return (vi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }

/* The 64-bit products of unsigned lanes with m: high and low halves. */
INLINE void vmul_wide(vi a, uint32_t m, vi *high, vi *low)
{
    __m512i f = _mm512_set1_epi32((int32_t)m), x = (__m512i)a;
    __m512i even = _mm512_mul_epu32(x, f), odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), f);
    *low = (vi)_mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
    *high = (vi)_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
}

INLINE vd vlow(vf a)                   { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }      /* lanes 0..W/2-1 */
INLINE vd vhigh(vf a)                  { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
INLINE vf vjoin(vd low, vd high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

/* The last steps of lanes_sum and lanes_max within one vector. */
INLINE float vsum_tree(vf a)
{
    __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
INLINE float vmax_tree(vf a)
{
    __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}
