/* simd.h: the vectors that kernels are written on, W floats wide: 16 (AVX-512), 8 (AVX2) or 4 (portable: SSE2, NEON, or
 * whatever the compiler makes of a vector of 4).
 *
 * A file that includes this is compiled once per path, with KERNEL_PATH defined, and names its kernels PATH(name).
 * The same source must give the same bits on every path:
 *   - each operation here is exactly rounded, lane by lane, and means the same for NaN, infinity, -0 and subnormals;
 *   - vfma rounds once. Where the processor has no such instruction it is emulated, exactly;
 *   - a sum across lanes never depends on W: it runs over 16 lanes (a Lanes: 1, 2 or 4 vectors), item j in lane j % 16,
 *     and ends in one fixed tree.
 * Names: vf floats, vi 32-bit integers, vm masks, vd doubles (W/2 of them). */
#ifndef KAERU_SIMD_H
#define KAERU_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"

#define PATH_JOIN_(path, name) k_##path##_##name
#define PATH_JOIN(path, name) PATH_JOIN_(path, name)
#define PATH(name) PATH_JOIN(KERNEL_PATH, name)

#define KERNEL(result, name, parameters, arguments, ret) result PATH(name) parameters;
#include "kernels.def"

#define INLINE static inline __attribute__((always_inline, unused))

#if defined(__AVX512F__)
#include "simd_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "simd_avx2.h"
#else
#include "simd_portable.h"
#endif

enum { LANES = 16, PARTS = LANES / W };

/* ---- what follows from the above --------------------------------------------------------------------------------- */

INLINE vi vbits(vf a)      { return (vi)a; }
INLINE vf vfrom_bits(vi a) { return (vf)a; }
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

/* 16 lanes, the unit of every sum. */
typedef struct { vf part[PARTS]; } Lanes;

INLINE Lanes lanes_set(float a)
{
    Lanes l;
    for (int i = 0; i < PARTS; i++)
        l.part[i] = vset(a);
    return l;
}

/* The sum of 16 lanes: lane i with lane i+8, then i+4, i+2, i+1. */
INLINE float lanes_sum(Lanes l)
{
    for (int half = PARTS / 2; half >= 1; half /= 2)
        for (int i = 0; i < half; i++)
            l.part[i] = l.part[i] + l.part[i + half];
    return vsum_tree(l.part[0]);
}

/* The largest lane as vmax sees it: a NaN is lost or wins by its place. */
INLINE float lanes_max(Lanes l)
{
    for (int half = PARTS / 2; half >= 1; half /= 2)
        for (int i = 0; i < half; i++)
            l.part[i] = vmax(l.part[i], l.part[i + half]);
    return vmax_tree(l.part[0]);
}

#endif
