/* vmath.h: exp, log, tanh, erf and their kin on vectors of floats, the same bits on every path.
 *
 * Each brings its argument to a small range by exact steps and sums a polynomial there, fitted for the least relative
 * error; the first term is exact and fused multiply-adds keep the rest below half an ulp, so that every function is
 * within 2 ulp of the truth (SiLU, sine and cosine: 3; GELU: of its largest values), for every float. */
#ifndef KAERU_VMATH_H
#define KAERU_VMATH_H

#include "simd.h"

/* c[0] + c[1] x + ... + c[n-1] x^(n-1) */
INLINE vf vpoly(vf x, int n, const float *c)
{
    vf y = vset(c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        y = vfma(y, x, vset(c[i]));
    return y;
}
#define VPOLY(x, ...) vpoly(x, sizeof((float[]){ __VA_ARGS__ }) / sizeof(float), (const float[]){ __VA_ARGS__ })

/* x in low..high, NaN kept. */
INLINE vf vclamp(vf x, float low, float high) { return vmin(vset(high), vmax(vset(low), x)); }

/* ---- exponential ------------------------------------------------------------------------------------------------- */

/* x = k ln 2 + r, |r| <= ln 2 / 2: returns r. */
INLINE vf vexp_reduce(vf x, vi *k)
{
    vf n = vnearest(x * vset(0x1.715476p+0f), k);
    vf r = vfma(n, vset(-0x1.62e4p-1f), x);                 /* 17 bits of ln 2: the product is exact */
    return vfma(n, vset(-0x1.7f7d1cp-20f), r);
}

/* e^r for |r| <= ln 2 / 2. */
INLINE vf vexp_small(vf r)
{
    vf p = VPOLY(r, 0.5f, 0x1.5554a2p-3f, 0x1.55568ap-5f, 0x1.123008p-7f, 0x1.6b6de6p-10f);
    return vset(1) + vfma(p, r * r, r);
}

/* e^x */
LONG_FUNCTION vf vexp(vf x)
{
    vi k;
    vf y = vexp_small(vexp_reduce(vclamp(x, -105, 89), &k));
    vi half = k >> 1;                                       /* in two steps: 2^k alone may be out of range */
    return y * vpow2(half) * vpow2(k - half);
}

/* e^x - 1 for x <= 0: e^x = 2^k (1 + p), and 2^k - 1 is exact where k is small. */
LONG_FUNCTION vf vexpm1_negative(vf x)
{
    vi k;
    vf r = vexp_reduce(vclamp(x, -25, 0), &k), scale = vpow2(k);
    vf p = VPOLY(r, 0.5f, 0x1.555556p-3f, 0x1.5554f2p-5f, 0x1.1110a2p-7f, 0x1.6d417p-10f, 0x1.a18a02p-13f);
    return vfma(scale, vfma(p, r * r, r), scale - vset(1));
}

/* e^x for x <= 0, flushed to 0 below 2^-126: what softmax needs, in fewer steps. */
LONG_FUNCTION vf vexp_negative(vf x)
{
    vi k;
    vf y = vexp_small(vexp_reduce(vmax(vset(-88), x), &k));
    return vselect(vlt(x, vset(-87)), vset(0), y * vpow2(k));
}

/* ---- logarithm --------------------------------------------------------------------------------------------------- */

/* ln x: x = 2^k (1 + f), f in [-1/3, 1/3). */
LONG_FUNCTION vf vlog(vf x)
{
    vm tiny = vlt(x, vset(0x1p-126f));
    vf scaled = vselect(tiny, x * vset(0x1p24f), x);
    vi k = (vbits(scaled) - viset(0x3f2aaaab)) >> 23;       /* the bits of 2/3 */
    vf f = vfrom_bits(vbits(scaled) - (k << 23)) - vset(1);
    vf n = vtof(k) - vselect(tiny, vset(24), vset(0));
    vf p = VPOLY(f, 0x1.555506p-2f, -0x1.fffefp-3f, 0x1.99d028p-3f, -0x1.559dccp-3f, 0x1.1ed716p-3f, -0x1.f3114p-4f,
                 0x1.1e66bep-3f, -0x1.080586p-3f);
    vf ff = f * f;
    vf y = vfma(p, f * ff, vset(-0.5f) * ff) + f;
    y = vfma(n, vset(0x1.62e43p-1f), y);
    y = vselect(vlt(x, vset(INFINITY)), y, x);              /* infinity and NaN are their own */
    y = vselect(vlt(x, vset(0)), vset(NAN), y);
    return vselect(veq(x, vset(0)), vset(-INFINITY), y);
}

/* ---- the S-shaped ones ------------------------------------------------------------------------------------------- */

/* tanh |x| = (1 - e) / (1 + e) with e = e^-2|x|. Where that is large, it is 1 - 2e / (1 + e). Where it is small, 1 - e is
 * summed without its 1, and the quotient's rounding is made less by putting it into the same equation once more:
 * t = h + h t, h = (1 - e) / 2. */
LONG_FUNCTION vf vtanh(vf x)
{
    vi k;
    vf r = vexp_reduce(vmax(vset(-20), vset(-2) * vabs(x)), &k), scale = vpow2(k);
    vf p = VPOLY(r, 0.5f, 0x1.555556p-3f, 0x1.5554f2p-5f, 0x1.1110a2p-7f, 0x1.6d417p-10f, 0x1.a18a02p-13f);
    p = vfma(p, r * r, r);                                  /* e = scale (1 + p) */
    vf e = vfma(scale, p, scale), less = vfnma(scale, p, vset(1) - scale);
    vm large = vlt(vset(0.75f), vabs(x));
    vf t = vselect(large, e + e, less) / (vset(1) + e), h = vset(0.5f) * less;
    return vcopysign(vselect(large, vset(1) - t, vfma(h, t, h)), x);
}

/* 1 / (1 + e^|x|), in 0..1/2: e / (1 + e) with e = e^-|x|, put once more into t = e - e t. */
LONG_FUNCTION vf vsigmoid_lower(vf x)
{
    vf e = vexp(vneg(vabs(x)));
    return vfnma(e, e / (vset(1) + e), e);
}

/* 1 / (1 + e^-x) */
INLINE vf vsigmoid(vf x)
{
    vf lower = vsigmoid_lower(x);
    return vselect(vlt(x, vset(0)), lower, vset(1) - lower);
}

/* s = 1 / (1 + e) with e = e^-x, for x in -87..87, where none of them is infinite or subnormal. */
LONG_FUNCTION vf vsigmoid_between(vf x, vf *e)
{
    vi k;
    *e = vexp_small(vexp_reduce(vneg(x), &k)) * vpow2(k);
    return vset(1) / (vset(1) + *e);
}

/* x s with s = sigmoid(x) in fewer steps; 0 below -87, and within 3 ulp. In *slope: s (1 + x (1 - s)). */
LONG_FUNCTION vf vsilu_and_slope(vf x, vf *slope)
{
    vf e, held = vclamp(x, -87, 87), s = vsigmoid_between(held, &e);
    vm tiny = vlt(x, vset(-87));
    *slope = vselect(tiny, vset(0), s * vfma(held, e * s, vset(1)));
    return vselect(tiny, vset(-0.0f), x * s);
}

INLINE vf vsilu(vf x)
{
    vf slope;
    return vsilu_and_slope(x, &slope);
}

INLINE vf vsilu_slope(vf x)
{
    vf slope;
    vsilu_and_slope(x, &slope);
    return slope;
}

/* ln(1 + e^x) = max(x, 0) + ln(1 + e) with e = e^-|x|. What 1 + e loses by rounding is added to the logarithm. */
LONG_FUNCTION vf vsoftplus(vf x)
{
    vf e = vexp(vneg(vabs(x))), sum = vset(1) + e;
    vf log = vlog(sum) + (e - (sum - vset(1))) / sum;
    return vmax(vset(0), x) + log;
}

/* erf t for |t| <= 1. */
LONG_FUNCTION vf verf_small(vf t)
{
    vf p = VPOLY(t * t, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90ep-6f, 0x1.5405b2p-8f,
                 -0x1.a3f7p-11f, 0x1.496a3p-14f);
    return vfma(p, t, t);
}

/* erfc t = e^(-t^2) q P(q), q = 1 / (1 + 0.4 t), for t in 0.9..10; `gauss` receives e^(-t^2). */
LONG_FUNCTION vf verfc_large(vf t, vf *gauss)
{
    vf q = vset(1) / vfma(t, vset(0.4f), vset(1));
    vf p = VPOLY(q, 0x1.ce14cp-3f, 0x1.d050a8p-3f, 0x1.96cc4p-3f, 0x1.b5562ap-3f, 0x1.e3f2dap-8f, 0x1.f48f8ep-3f,
                 -0x1.dd7034p-4f);
    vf tt = t * t, lost = vfma(t, t, vneg(tt));
    vf e = vexp(vneg(tt));
    *gauss = vfma(vneg(e), lost, e);
    return *gauss * (q * p);
}

LONG_FUNCTION vf verf(vf x)
{
    vf gauss, t = vmin(vset(10), vabs(x));
    vf large = vset(1) - verfc_large(t, &gauss);
    return vselect(vlt(t, vset(1)), verf_small(x), vcopysign(large, x));
}

/* ---- GELU -------------------------------------------------------------------------------------------------------- */

/* GPT's form: x/2 (1 + tanh u) = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3). */
#define GELU_A 0x1.988454p+0f           /* 2 sqrt(2/pi) */
#define GELU_B 0x1.2444f2p-4f           /* 0.044715 times that */

/* Beyond 16 the sigmoid is 0 or 1; held there, it meets no infinity. */
LONG_FUNCTION vf vgelu(vf x)
{
    vf low = vmax(vset(-16), x);
    return low * vsigmoid(low * vfma(low * low, vset(GELU_B), vset(GELU_A)));
}

LONG_FUNCTION vf vgelu_slope(vf x)
{
    x = vclamp(x, -16, 16);
    vf xx = x * x, lower = vsigmoid_lower(x * vfma(xx, vset(GELU_B), vset(GELU_A)));
    vf sigmoid = vselect(vlt(x, vset(0)), lower, vset(1) - lower);
    vf inner_slope = vfma(xx, vset(3 * GELU_B), vset(GELU_A));
    return vfma(x * inner_slope, vfnma(lower, lower, lower), sigmoid);
}

/* Phi(x) = (1 + erf(x / sqrt 2)) / 2 and, in *gauss, e^(-x^2/2); |x| <= 13. */
LONG_FUNCTION vf vnormal_below(vf x, vf *gauss)
{
    vf t = vabs(x) * vset(0x1.6a09e6p-1f);
    vf above = vselect(vlt(t, vset(1)), vfma(vset(-0.5f), verf_small(t), vset(0.5f)), verfc_large(t, gauss) * vset(0.5f));
    return vselect(vlt(x, vset(0)), above, vset(1) - above);
}

/* The erf form: x Phi(x). Below -13 it is 0, and so is its derivative: at -13.2 they would be subnormal. */
INLINE vf vgelu_erf(vf x)
{
    vf gauss, below = vnormal_below(vclamp(x, -13, 13), &gauss);
    return vselect(vlt(x, vset(-13)), vset(-0.0f), x * below);
}

INLINE vf vgelu_erf_slope(vf x)
{
    vf gauss, held = vclamp(x, -13, 13), below = vnormal_below(held, &gauss);
    vf slope = vfma(held * vset(0x1.988454p-2f), gauss, below);                 /* 1 / sqrt(2 pi) */
    return vselect(vlt(x, vset(-13)), vset(0), slope);
}

/* ---- sine and cosine --------------------------------------------------------------------------------------------- */

/* Of quadrant + f quarter turns, f in -1/2..1/2. */
LONG_FUNCTION void vsincos_quarters(vi quadrant, vf f, vf *sine, vf *cosine)
{
    vf ff = f * f;
    vf s = VPOLY(ff, -0x1.4abbcep-1f, 0x1.466bbcp-4f, -0x1.32cb0ep-8f, 0x1.4be09ep-13f);
    s = vfma(f, vset(0x1.921fb6p+0f), f * vfma(s, ff, vset(-0x1.777a5cp-25f)));             /* pi/2 in two parts */
    vf c = VPOLY(ff, -0x1.3bd3ccp+0f, 0x1.03c1fp-2f, -0x1.55d3bap-6f, 0x1.e1e7f6p-11f, -0x1.a0f36ap-16f);
    c = vfma(c, ff, vset(1));
    vm swap = vieq(quadrant & viset(1), viset(1));
    vi sine_sign = (quadrant & viset(2)) << 30, cosine_sign = ((quadrant + viset(1)) & viset(2)) << 30;
    *sine = vfrom_bits(vbits(vselect(swap, c, s)) ^ sine_sign);
    *cosine = vfrom_bits(vbits(vselect(swap, s, c)) ^ cosine_sign);
}

/* Of u turns, u in [0, 1). */
INLINE void vsincos_turns(vf u, vf *sine, vf *cosine)
{
    vi quadrant;
    vf f = vset(4) * u;
    f = f - vnearest(f, &quadrant);                         /* exact */
    vsincos_quarters(quadrant, f, sine, cosine);
}

/* Of the angle x, |x| <= 1e5: x = n pi/2 + r with pi/2 in three parts. The first difference is exact, and |r| exceeds pi/4 by a
 * hundredth at most. */
INLINE void vsincos(vf x, vf *sine, vf *cosine)
{
    vi quadrant;
    vf n = vnearest(x * vset(0x1.45f306p-1f), &quadrant);
    vf r = vfma(n, vset(-0x1.921fb6p+0f), x);
    r = vfma(n, vset(0x1.777a5cp-25f), r);
    r = vfma(n, vset(0x1.ee59dap-50f), r);
    vsincos_quarters(quadrant, r * vset(0x1.45f306p-1f), sine, cosine);
}

INLINE vf vsin(vf x)
{
    vf sine, cosine;
    vsincos(x, &sine, &cosine);
    return sine;
}

INLINE vf vcos(vf x)
{
    vf sine, cosine;
    vsincos(x, &sine, &cosine);
    return cosine;
}

#endif
