/* simd_avx2.h: simd.h's vectors of 8 floats. */
#include <immintrin.h>

enum { W = 8 };
typedef __m256i x86_integers;
#define X86(operation) _mm256_##operation
#include "simd_vectors.h"

INLINE vi viota(void)                  { return (vi){ 0, 1, 2, 3, 4, 5, 6, 7 }; }

/* The first n lanes, 0 <= n <= W; nothing beyond them is touched. Lanes that are not loaded are 0. */
INLINE vm vfirst(int64_t n)                        { return viota() < viset((int32_t)n); }
INLINE vf vload_n(const float *p, int64_t n)       { return _mm256_maskload_ps(p, (__m256i)vfirst(n)); }
INLINE void vstore_n(float *p, vf a, int64_t n)    { _mm256_maskstore_ps(p, (__m256i)vfirst(n), a); }

INLINE unsigned vmask_bits(vm a)       { return (unsigned)_mm256_movemask_ps((vf)a); }      /* bit i: lane i */
INLINE vf vselect(vm m, vf a, vf b)    { return _mm256_blendv_ps(b, a, (vf)m); }
INLINE vi viselect(vm m, vi a, vi b)   { return (vi)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)m); }

/* W bytes, as integers. */
INLINE vi vload_bytes(const uint8_t *p) { return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }

/* The 64-bit products of unsigned lanes with m: high and low halves. */
INLINE void vmul_wide(vi a, uint32_t m, vi *high, vi *low)
{
    __m256i f = _mm256_set1_epi32((int32_t)m), x = (__m256i)a;
    __m256i even = _mm256_mul_epu32(x, f), odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), f);
    *low = (vi)_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    *high = (vi)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

INLINE vd vlow(vf a)                   { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }      /* lanes 0..W/2-1 */
INLINE vd vhigh(vf a)                  { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
INLINE vf vjoin(vd low, vd high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
}

/* The last steps of lanes_sum and lanes_max within one vector. */
INLINE float vsum_tree(vf a)
{
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
INLINE float vmax_tree(vf a)
{
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}
