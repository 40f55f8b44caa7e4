/* functions.c: see functions.h.
 *
 * The first part has the cores, once for floats and once for doubles. A core for floats brings its
 * argument to a small range by exact steps, and sums a polynomial there; all constants are fitted.
 * The second part has the functions that are made of cores. It is the same for both. */
#include "functions.h"

#include <stdbool.h>

#ifdef KAERU_DOUBLE

/* ---- cores: doubles -------------------------------------------------------------------------- */

real real_exp(real x)
{
    return exp(x);
}

real real_expm1(real x)
{
    return expm1(x);
}

real real_log(real x)
{
    return log(x);
}

real real_pow(real x, real y)
{
    return pow(x, y);
}

real real_tanh(real x)
{
    return tanh(x);
}

real real_erf(real x)
{
    return erf(x);
}

/* Returns 1 - erf(t) for t >= 0; in *gauss e^(-t^2). */
static real erf_rest(real t, real *gauss)
{
    *gauss = exp(-t * t);
    return erfc(t);
}

real real_sine(real x, int quarters)
{
    return quarters == 0 ? sin(x) : cos(x);
}

void real_turns(real u, real *sine, real *cosine)
{
    const double angle = 6.283185307179586 * u;
    *sine = sin(angle);
    *cosine = cos(angle);
}

#else

#include "sine_of_large.h"

/* ---- cores: floats --------------------------------------------------------------------------- */

/* Returns c[0] + c[1] x + ... + c[n-1] x^(n-1), by Horner's rule. */
static float polynomial(float x, int n, const float *c)
{
    float y = c[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        y = fmaf(y, x, c[i]);
    }
    return y;
}
#define POLYNOMIAL(x, ...)                                                                         \
    polynomial(x, sizeof((float[]){ __VA_ARGS__ }) / sizeof(float), (const float[]){ __VA_ARGS__ })

/* Returns r of x = k ln 2 + r with |r| <= ln 2 / 2. x is not NaN. ln 2 is the sum of two floats, of
 * which the first one has 17 bits: its product with k is exact. */
static float reduced(float x, int *k)
{
    const float n = rintf(x * 0x1.715476p+0f);
    *k = (int)n;
    return fmaf(n, -0x1.7f7d1cp-20f, fmaf(n, -0x1.62e4p-1f, x));
}

real real_exp(real x)
{
    int k;
    if (isnan(x)) return x;
    const float r = reduced(fminf(fmaxf(x, -105), 89), &k);             /* beyond: 0, infinity */
    const float p = POLYNOMIAL(r, 0.5f, 0x1.5554a2p-3f, 0x1.55568ap-5f, 0x1.123008p-7f,
                               0x1.6b6de6p-10f);
    return ldexpf(1 + fmaf(p, r * r, r), k);
}

/* Returns e^r - 1 for |r| <= ln 2 / 2. */
static float expm1_small(float r)
{
    const float q = POLYNOMIAL(r, 0.5f, 0x1.555556p-3f, 0x1.5554f2p-5f, 0x1.1110a2p-7f,
                               0x1.6d417p-10f, 0x1.a18a02p-13f);
    return fmaf(q, r * r, r);
}

real real_expm1(real x)
{
    int k;
    if (isnan(x)) return x;
    const float r = reduced(x < -25 ? -25 : x, &k), scale = ldexpf(1, k);
    return fmaf(scale, expm1_small(r), scale - 1);
}

/* Returns ln x = k ln 2 + ln(1 + f) with x = 2^k (1 + f), f in -1/3..1/3. */
real real_log(real x)
{
    int k;
    if (x == 0) return -INFINITY;
    if (!(x > 0) || isinf(x)) return x < 0 ? NAN : x;
    float m = frexpf(x, &k);
    if (m < 0x1.555556p-1f) {                                           /* 2/3 */
        m *= 2;
        k--;
    }
    const float f = m - 1, ff = f * f;
    const float p = POLYNOMIAL(f, 0x1.555506p-2f, -0x1.fffefp-3f, 0x1.99d028p-3f, -0x1.559dccp-3f,
                               0x1.1ed716p-3f, -0x1.f3114p-4f, 0x1.1e66bep-3f, -0x1.080586p-3f);
    return fmaf((float)k, 0x1.62e43p-1f, fmaf(p, f * ff, -0.5f * ff) + f);
}

/* Returns e^(y ln x), computed in double, because the exponential makes the error of y ln x up to
 * 100 times larger. What is not a power of a positive finite number goes to ag_math_pow. */
real real_pow(real x, real y)
{
    if (!(x > 0 && x < INFINITY && fabsf(y) < INFINITY)) return (float)ag_math_pow(x, y);
    int k;
    double m = frexp(x, &k);
    if (m < 0x1.6a09e667f3bcdp-1) {                                     /* the root of 1/2 */
        m *= 2;
        k--;
    }
    const double s = (m - 1) / (m + 1), z = s * s;
    double series = 1. / 19;                                  /* ln m = 2 s (1 + z/3 + z^2/5 ...) */
    for (int n = 17; n >= 1; n -= 2) {
        series = series * z + 1. / n;
    }
    const double exact = y * (k * 0x1.62e42fefa39efp-1 + (s + s) * series);
    const double t = fmin(fmax(exact, -150), 150);
    const double n = rint(t * 0x1.71547652b82fep+0), r = t - n * 0x1.62e42fefa39efp-1;
    double power = 1;
    for (int i = 11; i >= 1; i--) {
        power = power * r * (1. / i) + 1;
    }
    return (float)ldexp(power, (int)n);
}

/* Returns t with the sign of x, t = tanh |x| = (1 - e) / (1 + e), e = e^-2|x| = scale (1 + p).
 * Where x is small, 1 - e is summed without its 1, and the rounding of the quotient is made less by
 * t = h + h t, h = (1 - e) / 2. */
real real_tanh(real x)
{
    int k;
    if (isnan(x)) return x;
    const float r = reduced(fabsf(x) > 10 ? -20 : -2 * fabsf(x), &k), scale = ldexpf(1, k);
    const float p = expm1_small(r), e = fmaf(scale, p, scale);
    const float less = fmaf(-scale, p, 1 - scale);
    const float h = 0.5f * less;
    const float t = fabsf(x) > 0.75f ? 1 - (e + e) / (1 + e) : fmaf(h, less / (1 + e), h);
    return copysignf(t, x);
}

/* Returns erf(t) for |t| <= 1. */
static float erf_small(float t)
{
    const float p = POLYNOMIAL(t * t, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f,
                               -0x1.b7f90ep-6f, 0x1.5405b2p-8f, -0x1.a3f7p-11f, 0x1.496a3p-14f);
    return fmaf(p, t, t);
}

/* Returns 1 - erf(t) = e^(-t^2) q P(q), q = 1 / (1 + 0.4 t), for t in 1..10. *gauss receives
 * e^(-t^2), for any t >= 0. */
static float erf_rest_large(float t, float *gauss)
{
    const float q = 1 / fmaf(t, 0.4f, 1), tt = t * t, lost = fmaf(t, t, -tt);
    const float p = POLYNOMIAL(q, 0x1.ce14cp-3f, 0x1.d050a8p-3f, 0x1.96cc4p-3f, 0x1.b5562ap-3f,
                               0x1.e3f2dap-8f, 0x1.f48f8ep-3f, -0x1.dd7034p-4f);
    const float e = real_exp(-tt);
    *gauss = fmaf(-e, lost, e);
    return *gauss * (q * p);
}

real real_erf(real x)
{
    float gauss;
    const float t = fabsf(x) > 10 ? 10 : fabsf(x);
    return t < 1 ? erf_small(x) : copysignf(1 - erf_rest_large(t, &gauss), x);
}

/* Returns 1 - erf(t) for t >= 0; in *gauss e^(-t^2). */
static float erf_rest(float t, float *gauss)
{
    const float rest = erf_rest_large(t, gauss);
    return t < 1 ? 1 - erf_small(t) : rest;
}

/* Computes sine and cosine of `quarters` + f right angles, f in -1/2..1/2. */
static void sine_and_cosine(int quarters, float f, float *sine, float *cosine)
{
    const float ff = f * f;
    float s = POLYNOMIAL(ff, -0x1.4abbcep-1f, 0x1.466bbcp-4f, -0x1.32cb0ep-8f, 0x1.4be09ep-13f);
    s = fmaf(f, 0x1.921fb6p+0f, f * fmaf(s, ff, -0x1.777a5cp-25f));     /* pi/2 in two parts */
    float c = POLYNOMIAL(ff, -0x1.3bd3ccp+0f, 0x1.03c1fp-2f, -0x1.55d3bap-6f, 0x1.e1e7f6p-11f,
                         -0x1.a0f36ap-16f);
    c = fmaf(c, ff, 1);
    const float turned[] = { s, c, -s, -c };
    *sine = turned[quarters & 3];
    *cosine = turned[(quarters + 1) & 3];
}

/* Reduces x to r = x - n pi/2, with pi/2 in three parts. */
real real_sine(real x, int quarters)
{
    if (!(fabsf(x) <= (float)K_MOST_ANGLE)) return k_sine_of_large(x, quarters);
    const float n = rintf(x * 0x1.45f306p-1f);
    float r = fmaf(n, -0x1.921fb6p+0f, x), sine, cosine;
    r = fmaf(n, 0x1.777a5cp-25f, r);
    r = fmaf(n, 0x1.ee59dap-50f, r);
    sine_and_cosine((int)n, r * 0x1.45f306p-1f, &sine, &cosine);
    return quarters == 0 ? sine : cosine;
}

void real_turns(real u, real *sine, real *cosine)
{
    const float n = rintf(4 * u);
    sine_and_cosine((int)n, 4 * u - n, sine, cosine);
}

#endif

/* ---- functions made of cores ----------------------------------------------------------------- */

/* Beyond these numbers, SiLU and both forms of GELU are 0 or x: the sigmoid, or what is in the
 * place of it, is 0 or 1, and held there, it meets no infinity and no subnormal number. */
#ifdef KAERU_DOUBLE
enum { SILU_FAR = 700, GELU_FAR = 37, GELU_ERF_FAR = 37 };
#else
enum { SILU_FAR = 87, GELU_FAR = 16, GELU_ERF_FAR = 13 };
#endif

/* Returns x, or the nearest number in low..high; NaN for NaN. */
static real held(real x, real low, real high)
{
    if (x < low) return low;
    return x > high ? high : x;
}

real real_exp_negative(real x)
{
    return x < -87 ? 0 : real_exp(x);
}

/* Returns the smaller one of sigmoid(x) and sigmoid(-x): t = e / (1 + e) with e = e^-|x|, put once
 * more into t = e - e t. */
static real sigmoid_lower(real x)
{
    const real e = real_exp(-REAL(fabs)(x));
    return REAL(fma)(-e, e / (1 + e), e);
}

real real_sigmoid(real x)
{
    const real lower = sigmoid_lower(x);
    return x < 0 ? lower : 1 - lower;
}

/* Computes x s and the slope s (1 + x (1 - s)) with s = 1 / (1 + e), 1 - s = e s. */
real real_silu(real x, real *slope)
{
    const real h = held(x, -SILU_FAR, SILU_FAR), e = real_exp(-h), s = 1 / (1 + e);
    if (slope) {
        *slope = x < -SILU_FAR ? 0 : s * REAL(fma)(h, e * s, 1);
    }
    return x < -SILU_FAR ? (real)-0.0 : x * s;
}

/* Returns ln(1 + e^x) = max(x, 0) + ln(1 + e) with e = e^-|x|. What 1 + e loses by
 * rounding is added. */
real real_softplus(real x)
{
    const real e = real_exp(-REAL(fabs)(x)), sum = 1 + e;
    return held(x, 0, (real)INFINITY) + (real_log(sum) + (e - (sum - 1)) / sum);
}

/* x/2 (1 + tanh u) = x sigmoid(2 u) with 2 u = A x + B x^3 = 2 sqrt(2/pi) (x + 0.044715 x^3). */
static const real GELU_A = (real)1.5957691216057308, GELU_B = (real)0.07135481627260025;

real real_gelu(real x)
{
    const real h = x < -GELU_FAR ? -GELU_FAR : x;
    return h * real_sigmoid(h * REAL(fma)(h * h, GELU_B, GELU_A));
}

real real_gelu_slope(real x)
{
    const real h = held(x, -GELU_FAR, GELU_FAR), hh = h * h;
    const real lower = sigmoid_lower(h * REAL(fma)(hh, GELU_B, GELU_A));
    const real inner_slope = REAL(fma)(hh, 3 * GELU_B, GELU_A);
    return REAL(fma)(h * inner_slope, REAL(fma)(-lower, lower, lower), h < 0 ? lower : 1 - lower);
}

/* Returns (1 + erf(x / sqrt 2)) / 2; in *gauss e^(-x^2/2). */
static real normal_below(real x, real *gauss)
{
    const real above = erf_rest(REAL(fabs)(x) * (real)0.7071067811865476, gauss) * (real)0.5;
    return x < 0 ? above : 1 - above;
}

/* Returns x times normal_below. */
real real_gelu_erf(real x)
{
    real gauss;
    const real below = normal_below(held(x, -GELU_ERF_FAR, GELU_ERF_FAR), &gauss);
    return x < -GELU_ERF_FAR ? (real)-0.0 : x * below;
}

real real_gelu_erf_slope(real x)
{
    real gauss;
    const real h = held(x, -GELU_ERF_FAR, GELU_ERF_FAR), below = normal_below(h, &gauss);
    const real density = (real)0.3989422804014327;                      /* 1 / sqrt(2 pi) */
    return x < -GELU_ERF_FAR ? 0 : REAL(fma)(h * density, gauss, below);
}
