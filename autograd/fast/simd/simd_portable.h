/* simd_portable.h: simd.h's vectors of 4 floats, in the compilers' own vector notation: SSE2 on x86, NEON on AArch64, SIMD128
 * in WebAssembly, and scalar code where there is none of them. Intrinsics stand where the notation has no word: square roots,
 * fused multiply-add. */
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

enum { W = 4 };
#include "simd_vectors.h"

INLINE vi viota(void)                  { return (vi){ 0, 1, 2, 3 }; }

/* The first n lanes, 0 <= n <= W; nothing beyond them is touched. Lanes that are not loaded are 0. */
INLINE vm vfirst(int64_t n)            { return viota() < viset((int32_t)n); }
INLINE vf vload_n(const float *p, int64_t n)
{
    float a[W] = { 0 };
    memcpy(a, p, (size_t)n * sizeof a[0]);
    return vload(a);
}
INLINE void vstore_n(float *p, vf a, int64_t n)    { memcpy(p, &a, (size_t)n * sizeof a[0]); }

INLINE unsigned vmask_bits(vm a)                                            /* bit i: lane i */
{
#if defined(__SSE2__)
    return (unsigned)_mm_movemask_ps((__m128)a);
#elif defined(__wasm_simd128__)
    return wasm_i32x4_bitmask((v128_t)a);
#else
    return (unsigned)((a[0] & 1) | (a[1] & 2) | (a[2] & 4) | (a[3] & 8));
#endif
}
INLINE vi viselect(vm m, vi a, vi b)   { return (m & a) | (~m & b); }
INLINE vf vselect(vm m, vf a, vf b)    { return (vf)viselect(m, (vi)a, (vi)b); }

/* a > b ? a : b, and so b where either is NaN. */
INLINE vf vmax(vf a, vf b)
{
#if defined(__SSE2__)
    return _mm_max_ps(a, b);
#else
    return vselect(a > b, a, b);
#endif
}
INLINE vf vmin(vf a, vf b)
{
#if defined(__SSE2__)
    return _mm_min_ps(a, b);
#else
    return vselect(a < b, a, b);
#endif
}

INLINE vf vsqrt(vf a)
{
#if defined(__SSE2__)
    return _mm_sqrt_ps(a);
#elif defined(__aarch64__)
    return vsqrtq_f32(a);
#else
    return (vf){ sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3]) };
#endif
}

/* W bytes, as integers. */
INLINE vi vload_bytes(const uint8_t *p) { return (vi){ p[0], p[1], p[2], p[3] }; }

/* The 64-bit products of unsigned lanes with m: high and low halves. */
INLINE void vmul_wide(vi a, uint32_t m, vi *high, vi *low)
{
#if defined(__SSE2__)
    __m128i f = _mm_set1_epi32((int32_t)m), x = (__m128i)a, odd_mask = _mm_set_epi32(-1, 0, -1, 0);
    __m128i even = _mm_mul_epu32(x, f), odd = _mm_mul_epu32(_mm_srli_epi64(x, 32), f);
    *low = (vi)_mm_or_si128(_mm_andnot_si128(odd_mask, even), _mm_slli_epi64(odd, 32));
    *high = (vi)_mm_or_si128(_mm_srli_epi64(even, 32), _mm_and_si128(odd_mask, odd));
#else
    for (int i = 0; i < W; i++) {
        uint64_t product = (uint64_t)(uint32_t)a[i] * m;
        (*high)[i] = (int32_t)(product >> 32);
        (*low)[i] = (int32_t)product;
    }
#endif
}

/* 4 vectors to 4 others: w[j]'s lane g becomes lane j of out[g]. */
INLINE void vinterleave(const vi w[4], vi out[4])
{
    for (int g = 0; g < 4; g++)
        out[g] = (vi){ w[0][g], w[1][g], w[2][g], w[3][g] };
}

#if defined(__SSE2__)
INLINE vd vlow(vf a)                   { return _mm_cvtps_pd(a); }           /* lanes 0..W/2-1 */
INLINE vd vhigh(vf a)                  { return _mm_cvtps_pd(_mm_movehl_ps(a, a)); }
INLINE vf vjoin(vd low, vd high)       { return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high)); }
/* The lower halves of the doubles' bits. */
INLINE vi vlower_bits(vd low, vd high) { return (vi)_mm_shuffle_ps((__m128)low, (__m128)high, _MM_SHUFFLE(2, 0, 2, 0)); }
#elif defined(__wasm_simd128__)
INLINE vd vlow(vf a)                   { return (vd)wasm_f64x2_promote_low_f32x4((v128_t)a); }
INLINE vd vhigh(vf a)                  { return vlow(__builtin_shufflevector(a, a, 2, 3, 2, 3)); }
INLINE vf vjoin(vd low, vd high)
{
    vf first = (vf)wasm_f32x4_demote_f64x2_zero((v128_t)low), last = (vf)wasm_f32x4_demote_f64x2_zero((v128_t)high);
    return __builtin_shufflevector(first, last, 0, 1, 4, 5);
}
INLINE vi vlower_bits(vd low, vd high) { return __builtin_shufflevector((vi)low, (vi)high, 0, 2, 4, 6); }
#else
INLINE vd vlow(vf a)                   { return (vd){ a[0], a[1] }; }
INLINE vd vhigh(vf a)                  { return (vd){ a[2], a[3] }; }
INLINE vf vjoin(vd low, vd high)
{
    return (vf){ (float)low[0], (float)low[1], (float)high[0], (float)high[1] };
}
#endif

#if defined(__aarch64__)
INLINE vf vfma(vf a, vf b, vf c)       { return vfmaq_f32(c, a, b); }
#else
#define EMULATED_FMA                    /* vfma takes some twenty instructions */
/* p + c rounded to odd: of the two doubles around an inexact sum, the one whose last bit is 1. Rounded once more to
 * float it gives what rounding the exact sum at once would give (Boldo and Melquiond 2008): 53 >= 24 + 2 bits. */
INLINE vd sum_to_odd(vd p, vd c)
{
    vd s = p + c, from_c = s - p, error = (p - (s - from_c)) + (c - from_c), zero = vdset(0);
    vl one = vlset(1);
    vl inexact = (vl)(error < zero) | (vl)(error > zero);                  /* false for NaN: infinities stay */
    vl even = ((vl)s & one) - one;
    vl toward = ((vl)(error < zero) ^ (vl)(s < zero)) | one;               /* 1: away from 0, -1: to 0 */
    return (vd)((vl)s + (toward & inexact & even));
}

/* The product of two floats is a double, exactly. */
__attribute__((noinline, unused)) static vf fma_to_odd(vf a, vf b, vf c)
{
    return vjoin(sum_to_odd(vlow(a) * vlow(b), vlow(c)), sum_to_odd(vhigh(a) * vhigh(b), vhigh(c)));
}

/* Rounding twice, to double and to float, can differ from rounding once only where the double lies half way between two
 * floats (its last 29 bits are 10...0), or where the float is subnormal or 2^-126: seldom enough to test for. */
INLINE vf vfma(vf a, vf b, vf c)
{
#if defined(__SSE2__) || defined(__wasm_simd128__)
    vd low = vlow(a) * vlow(b) + vlow(c), high = vhigh(a) * vhigh(b) + vhigh(c);
    vf y = vjoin(low, high);
    vi last = vlower_bits(low, high);
    vm doubt = ((last & viset(0x1fffffff)) == viset(0x10000000)) | (((vi)y & viset(0x7fffffff)) < viset(0x00800001));
    if (__builtin_expect(vmask_bits(doubt) == 0, 1)) return y;
#endif
    return fma_to_odd(a, b, c);
}
#endif

/* The last steps of lanes_sum and lanes_max within one vector. */
INLINE float vsum_tree(vf a)
{
    float b0 = a[0] + a[2], b1 = a[1] + a[3];
    return b0 + b1;
}
INLINE float vmax_tree(vf a)
{
    float b0 = a[0] > a[2] ? a[0] : a[2], b1 = a[1] > a[3] ? a[1] : a[3];
    return b0 > b1 ? b0 : b1;
}
