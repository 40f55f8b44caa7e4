/* simd.h: the vectors that kernels are written on, W floats wide: 16 (AVX-512), 8 (AVX2) or 4 (portable: SSE2, NEON, or
 * whatever the compiler makes of a vector of 4).
 *
 * A file that includes this is compiled once per path, with KERNEL_ISA defined, and names its kernels ISA(name).
 * The same source must give the same bits on every path:
 *   - each operation here is exactly rounded, lane by lane, and means the same for NaN, infinity, -0 and subnormals;
 *   - vfma rounds once. Where the processor has no such instruction it is emulated, exactly;
 *   - a sum across lanes never depends on W: it runs over 32 lanes (a Lanes: 2, 4 or 8 vectors), item i in lane i % 32,
 *     and ends in one fixed tree.
 * Names: vf floats, vi 32-bit integers, vm masks, vd doubles (W/2 of them). */
#ifndef KAERU_SIMD_H
#define KAERU_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"
#include "more_kernels.h"

#define ISA_JOIN_(path, name) k_##path##_##name
#define ISA_JOIN(path, name) ISA_JOIN_(path, name)
#define ISA(name) ISA_JOIN(KERNEL_ISA, name)

#define KERNEL(result, name, parameters, arguments, ret) result ISA(name) parameters;
#include "kernels.def"
#define KERNEL(result, name, parameters, arguments, ret) result ISA(name) parameters;
#include "more_kernels.def"

#define INLINE static inline __attribute__((always_inline, unused))

#if defined(__AVX512F__)
#include "simd_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "simd_avx2.h"
#else
#include "simd_portable.h"
#endif

/* FAST_FMA: vfma is one instruction. LONG_FUNCTION is for functions as long as exp: with emulated multiply-adds one is hundreds
 * of instructions, too many for every loop. */
#if defined(EMULATED_FMA)
#define LONG_FUNCTION static __attribute__((noinline, unused))
enum { FAST_FMA = false };
#else
#define LONG_FUNCTION INLINE
enum { FAST_FMA = true };
#endif

enum { LANES = 32, PARTS = LANES / W };

/* ---- what follows from the above --------------------------------------------------------------------------------- */

INLINE vi vbits(vf a)      { return (vi)a; }
INLINE vf vfrom_bits(vi a) { return (vf)a; }
INLINE void vistore_n(void *p, vi a, int64_t n) { vstore_n(p, vfrom_bits(a), n); }
INLINE bool vany(vm a)     { return vmask_bits(a) != 0; }
INLINE vf vabs(vf a)       { return vfrom_bits(vbits(a) & viset(0x7fffffff)); }
INLINE vf vneg(vf a)       { return vfrom_bits(vbits(a) ^ viset(INT32_MIN)); }
/* |a| with the sign of b. */
INLINE vf vcopysign(vf a, vf b)
{
    vi sign = viset(INT32_MIN);
    return vfrom_bits((vbits(a) & ~sign) | (vbits(b) & sign));
}
/* c - a b, rounded once. */
INLINE vf vfnma(vf a, vf b, vf c) { return vfma(vneg(a), b, c); }
/* sum += a b, rounded once, for a sum that stays in its register: with AVX2, gcc otherwise copies the sums of a matrix product
 * from register to register and to the stack. */
INLINE void vadd_product(vf *sum, vf a, vf b)
{
#if defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(a), "x"(b));
#else
    *sum = vfma(a, b, *sum);
#endif
}
/* 2^k for k in -126..127. */
INLINE vf vpow2(vi k)      { return vfrom_bits((k + viset(127)) << 23); }

/* The number nearest to a that is whole, ties to even, as a float and as an integer; |a| <= 2^22. */
INLINE vf vnearest(vf a, vi *k)
{
    const float big = 12582912;                     /* 3 * 2^22: the sum's last bit is worth 1 */
    vf shifted = a + vset(big);
    *k = vbits(shifted) - vbits(vset(big));
    return shifted - vset(big);
}

/* out[i] = value for i in begin..end-1, a vector at a time. In `value`, LOAD(p) is p[i]; it is written out twice, for whole
 * vectors and for the rest, where `left` lanes are loaded and stored. */
#define EACH(begin, end, out, value)                            \
    do {                                                        \
        const int64_t stop = (end);                             \
        int64_t i = (begin);                                    \
        for (; i + W <= stop; i += W) {                         \
            const int64_t left = W;                             \
            (void)left;                                         \
            vstore((out) + i, value);                           \
        }                                                       \
        if (i < stop) {                                         \
            const int64_t left = stop - i;                      \
            vstore_n((out) + i, value, left);                   \
        }                                                       \
    } while (0)
/* The same, or out[i] += value if `add`. */
#define EACH_ADD(add, begin, end, out, value) EACH(begin, end, out, vplus((out) + i, left, add, value))
#define LOAD(p) vload_left((p) + i, left)
INLINE vf vload_left(const float *p, int64_t left)            { return left >= W ? vload(p) : vload_n(p, left); }
INLINE vf vplus(const float *p, int64_t left, bool add, vf v) { return add ? vload_left(p, left) + v : v; }

/* Stores v at p + i and hands it on: for sums over what is being written. */
#define KEEP(p, v) vkeep((p) + i, v, left)
INLINE vf vkeep(float *p, vf v, int64_t left)
{
    if (left >= W) vstore(p, v);
    else vstore_n(p, v, left);
    return v;
}

/* Sums stay in registers only if every loop over them is unrolled. A loop of few turns, as over what remains, gains nothing:
 * -O3 would repeat its body for every turn, which takes long to compile. */
#if defined(__clang__)
#define UNROLL    _Pragma("clang loop unroll(full)")
#define NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define UNROLL    _Pragma("GCC unroll 16")
#define NO_UNROLL _Pragma("GCC unroll 1")
#endif

/* 32 lanes, the unit of every sum. */
typedef struct { vf part[PARTS]; } Lanes;

INLINE Lanes lanes_set(float a)
{
    Lanes l;
    for (int k = 0; k < PARTS; k++)
        l.part[k] = vset(a);
    return l;
}

/* The sum of the lanes: lane i with lane i+16, then i+8, i+4, i+2, i+1. */
INLINE float lanes_sum(Lanes l)
{
    for (int half = PARTS / 2; half >= 1; half /= 2)
        for (int k = 0; k < half; k++)
            l.part[k] = l.part[k] + l.part[k + half];
    return vsum_tree(l.part[0]);
}

INLINE float lanes_max(Lanes l)
{
    for (int half = PARTS / 2; half >= 1; half /= 2)
        for (int k = 0; k < half; k++)
            l.part[k] = vmax(l.part[k], l.part[k + half]);
    return vmax_tree(l.part[0]);
}

/* Adds value(i) for i in 0..n-1 to the double `total`: blocks of SUM_BLOCK items in order, within a block item i in lane
 * i % LANES. In `value`, LOAD and KEEP work as in EACH. */
enum { SUM_BLOCK = 4096 };
#define SUM_OF(total, n, value)                                                             \
    for (int64_t block = 0; block < (n); block += SUM_BLOCK) {                              \
        const int64_t block_end = (n) - block < SUM_BLOCK ? (n) : block + SUM_BLOCK;        \
        Lanes acc = lanes_set(0);                                                           \
        int64_t step = block;                                                               \
        for (; step + LANES <= block_end; step += LANES)                                    \
            for (int k = 0; k < PARTS; k++) {                                               \
                const int64_t i = step + k * W, left = W;                                   \
                (void)left;                                                                 \
                acc.part[k] = acc.part[k] + (value);                                        \
            }                                                                               \
        for (int k = 0; k < PARTS && __builtin_expect(step + k * W < block_end, 0); k++) {  \
            const int64_t i = step + k * W, left = block_end - i < W ? block_end - i : W;   \
            acc.part[k] = acc.part[k] + vselect(vfirst(left), value, vset(0));              \
        }                                                                                   \
        (total) += lanes_sum(acc);                                                          \
    }
/* Two such sums in one pass over the items. */
#define SUMS_OF(total_a, total_b, n, value_a, value_b)                                      \
    for (int64_t block = 0; block < (n); block += SUM_BLOCK) {                              \
        const int64_t block_end = (n) - block < SUM_BLOCK ? (n) : block + SUM_BLOCK;        \
        Lanes acc_a = lanes_set(0), acc_b = lanes_set(0);                                   \
        int64_t step = block;                                                               \
        for (; step + LANES <= block_end; step += LANES)                                    \
            for (int k = 0; k < PARTS; k++) {                                               \
                const int64_t i = step + k * W, left = W;                                   \
                (void)left;                                                                 \
                acc_a.part[k] = acc_a.part[k] + (value_a);                                  \
                acc_b.part[k] = acc_b.part[k] + (value_b);                                  \
            }                                                                               \
        for (int k = 0; k < PARTS && __builtin_expect(step + k * W < block_end, 0); k++) {  \
            const int64_t i = step + k * W, left = block_end - i < W ? block_end - i : W;   \
            acc_a.part[k] = acc_a.part[k] + vselect(vfirst(left), value_a, vset(0));        \
            acc_b.part[k] = acc_b.part[k] + vselect(vfirst(left), value_b, vset(0));        \
        }                                                                                   \
        (total_a) += lanes_sum(acc_a);                                                      \
        (total_b) += lanes_sum(acc_b);                                                      \
    }

#endif
