/* vpow.h: x^y on vectors of floats, by way of doubles: e^t magnifies the error of t = y ln x by up to 100, which double
 * has to spare. Within 0.51 ulp. Products and sums of doubles are not fused here: not every processor can. */
#ifndef KAERU_VPOW_H
#define KAERU_VPOW_H

#include "simd.h"

/* A whole number below 2^52 as a double. */
INLINE vd vl_to_double(vl a) { return (vd)(a | vlset(0x4330000000000000)) - vdset(0x1p52); }

/* ln x for positive, normal x: x = 2^k m, s = (m - 1) / (m + 1), ln m = 2 (s + s^3/3 + s^5/5 + ...), |s| <= 0.172. */
INLINE vd vdlog(vd x)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
    vl k = ((vl)x - vlset(sqrt_half) + vlset((uint64_t)1024 << 52)) >> 52;
    vd m = (vd)((vl)x - ((k - vlset(1024)) << 52));
    vd s = (m - vdset(1)) / (m + vdset(1)), z = s * s, series = vdset(1. / 19);
    for (int n = 17; n >= 1; n -= 2)
        series = series * z + vdset(1. / n);
    return (vl_to_double(k) - vdset(1024)) * vdset(0x1.62e42fefa39efp-1) + (s + s) * series;
}

/* e^t for t in -200..200. */
INLINE vd vdexp(vd t)
{
    vd shifted = t * vdset(0x1.71547652b82fep+0) + vdset(0x1.8p52);         /* its last bits: the nearest whole number */
    vd r = t - (shifted - vdset(0x1.8p52)) * vdset(0x1.62e42fefa39efp-1), y = vdset(1);
    for (int n = 11; n >= 1; n--)
        y = y * r * vdset(1. / n) + vdset(1);
    return y * (vd)(((vl)shifted + vlset(1023)) << 52);
}

INLINE vd vdpow(vd x, vd y)
{
    vd t = y * vdlog(x);
    vl high = (vl)(t > vdset(150)), low = (vl)(t < vdset(-150));
    return vdexp((vd)((~(high | low) & (vl)t) | (high & (vl)vdset(150)) | (low & (vl)vdset(-150))));
}

/* x^y as C's pow. What is not a power of a positive finite number goes through ag_math_pow, lane by lane. */
LONG_FUNCTION vf vpow(vf x, vf y)
{
    vm plain = vand(vand(vlt(vset(0), x), vlt(x, vset(INFINITY))), vlt(vabs(y), vset(INFINITY)));
    vf base = vselect(plain, x, vset(1));
    vf result = vjoin(vdpow(vlow(base), vlow(y)), vdpow(vhigh(base), vhigh(y)));
    unsigned others = vmask_bits(vnot(plain)) & ((1u << W) - 1);
    if (__builtin_expect(others != 0, 0)) {
        float xs[W], ys[W], rs[W];
        vstore(xs, x);
        vstore(ys, y);
        vstore(rs, result);
        for (int i = 0; i < W; i++)
            if (others >> i & 1) rs[i] = (float)ag_math_pow(xs[i], ys[i]);
        result = vload(rs);
    }
    return result;
}

#endif
