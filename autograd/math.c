/* math.c: exponential, logarithm, power, sine and cosine of doubles, by additions, multiplications
 * and divisions alone, so that their bits are the same wherever IEEE arithmetic is. Within 1 ulp
 * (ag_math_pow: 2).
 *
 * Each function reduces the argument to a small range by exact steps, sums a series there whose
 * first term is exact, and adds the pieces, the smallest first. ag_math_pow computes its logarithm
 * as an unevaluated sum of two doubles, because e^t multiplies the error of t by t; so do
 * ag_math_sin and ag_math_cos with the reduced argument. */
#include "kaeru/types.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* k * LN2_HI is exact */
static const double LN2_HI = 0x1.62e42feep-1, LN2_LO = 0x1.a39ef35793c76p-33;
static const double INV_LN2 = 0x1.71547652b82fep+0;

static uint64_t bits_of(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static double from_bits(uint64_t b)
{
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* 2^k, k in -1022..1023. */
static double pow2(int k)
{
    return from_bits((uint64_t)(k + 1023) << 52);
}

/* x = m 2^k with m in [1/sqrt 2, sqrt 2); x is positive and finite. */
static double split(double x, int *k)
{
    int shift = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        shift = -54;
    }
    uint64_t b = bits_of(x);
    int above = (b & 0xfffffffffffff) >= 0x6a09e667f3bcd;               /* the mantissa of sqrt 2 */
    *k = (int)(b >> 52) - 1023 + above + shift;
    return from_bits((b & 0xfffffffffffff) | (uint64_t)(1023 - above) << 52);
}

/* e^(hi + lo), lo a small correction. The result is rounded once even where it is subnormal. */
static double exp_of_sum(double hi, double lo)
{
    if (hi > 709.79) return INFINITY;
    if (hi < -745.14) return 0;
    int k = (int)(hi * INV_LN2 + (hi < 0 ? -0.5 : 0.5));
    double a = hi - k * LN2_HI, b = k * LN2_LO - lo, r = a - b;
    double rest = (a - r) - b;                                      /* the rounding error of r */
    double p = 0;                                                       /* (e^r - 1 - r) / r^2 */
    for (int n = 13; n >= 2; n--) {
        static const double inverse_factorial[] = {
            1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
            1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800,
        };
        p = p * r + inverse_factorial[n];
    }
    double y = 1 + (r + (r * r * p + rest));
    return k < -1021 ? y * pow2(k + 600) * 0x1p-600 : k > 1023 ? y * pow2(k - 1) * 2 : y * pow2(k);
}

double ag_math_exp(double x)
{
    return isnan(x) ? x : exp_of_sum(x, 0);
}

/* With f = m - 1 and s = f / (2 + f): ln m = 2 (s + s^3/3 + ...) = f - (f^2/2 - s (f^2/2 + R)), R =
 * 2/3 s^2 + 2/5 s^4 ...
 * f is exact, and the other terms are small. */
double ag_math_log(double x)
{
    if (isnan(x) || x == INFINITY) return x;
    if (x <= 0) return x == 0 ? -INFINITY : NAN;
    int k;
    double f = split(x, &k) - 1, s = f / (2 + f), z = s * s, half = f * f / 2, series = 0;
    for (int n = 23; n >= 3; n -= 2) {
        series = (series + 2. / n) * z;
    }
    return k * LN2_HI - ((half - (s * (half + series) + k * LN2_LO)) - f);
}

/* ---- sums of two doubles --------------------------------------------------------------------- */

typedef struct { double hi, lo; } Pair;

static Pair sum_of(double a, double b)              /* exact */
{
    double s = a + b, from_b = s - a;
    return (Pair){ s, (a - (s - from_b)) + (b - from_b) };
}

/* Exact (Dekker), for |a|, |b| < 2^995. */
static Pair product_of(double a, double b)
{
    double a_big = a * 134217729, b_big = b * 134217729;  /* 2^27 + 1 cuts 53 bits into 26 and 26 */
    double ah = a_big - (a_big - a), bh = b_big - (b_big - b), al = a - ah, bl = b - bh, p = a * b;
    return (Pair){ p, ((ah * bh - p) + ah * bl + al * bh) + al * bl };
}

static Pair add(Pair a, Pair b)
{
    Pair s = sum_of(a.hi, b.hi);
    return sum_of(s.hi, s.lo + (a.lo + b.lo));
}

static Pair multiply(Pair a, Pair b)
{
    Pair p = product_of(a.hi, b.hi);
    return sum_of(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* ln x for positive finite x: 2 s (1 + z (1/3 + z (1/5 + z (1/7 + ...)))), z = s^2 <= 0.03, the
 * inner part in double. */
static Pair log_pair(double x)
{
    static const Pair third = { 0x1.5555555555555p-2, 0x1.5555555555555p-56 };
    static const Pair fifth = { 0x1.999999999999ap-3, -0x1.999999999999ap-57 };
    static const Pair ln2 = { 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56 };
    int k;
    double m = split(x, &k), f = m - 1;
    Pair below = sum_of(m, 1), s;
    s.hi = f / below.hi;
    Pair back = product_of(s.hi, below.hi);
    s.lo = (((f - back.hi) - back.lo) - s.hi * below.lo) / below.hi;
    Pair z = multiply(s, s), series = { 0, 0 };
    for (int n = 29; n >= 7; n -= 2) {
        series.hi = series.hi * z.hi + 1. / n;
    }
    series = add(multiply(series, z), fifth);
    series = add(multiply(series, z), third);
    series = add(multiply(series, z), (Pair){ 1, 0 });
    series = multiply(series, (Pair){ 2 * s.hi, 2 * s.lo });
    return add(multiply(ln2, (Pair){ k, 0 }), series);
}

/* e^(y ln x) for positive finite x and finite y. */
static double power(double x, double y)
{
    Pair l = log_pair(x);
    if (!(fabs(y * l.hi) < 800)) return y * l.hi > 0 ? INFINITY : 0;
    if (fabs(y) < 0x1p-100) return 1;
    Pair t = product_of(y, l.hi);
    return exp_of_sum(t.hi, t.lo + y * l.lo);
}

double ag_math_pow(double x, double y)
{
    if (y == 0 || x == 1) return 1;
    if (isnan(x) || isnan(y)) return x + y;
    double size = fabs(x);
    bool whole = fabs(y) >= 0x1p53 || y == (double)(int64_t)y;
    bool odd = fabs(y) < 0x1p53 && whole && ((int64_t)y & 1);
    double result;
    if (isinf(y)) {
        result = size == 1 ? 1 : (size > 1) == (y > 0) ? INFINITY : 0;
    } else if (size == 0 || isinf(size)) {
        result = (size == 0) == (y < 0) ? INFINITY : 0;
    } else if (x < 0 && !whole) {
        return NAN;
    } else {
        result = power(size, y);
    }
    return signbit(x) && odd ? -result : result;
}

/* ---- sine and cosine ------------------------------------------------------------------------- */

static const double TWO_OVER_PI = 0x1.45f306dc9c883p-1, PI_4 = 0x1.921fb54442d18p-1;
static const double SIN_LIMIT = 1e8;

/* x = k pi/2 + r, |r| <= pi/4, for x in pi/4..SIN_LIMIT (Cody and Waite 1980). Returns k mod 4. k
 * has at most 26 bits and the first three parts of pi/2 have 27, so their products are exact. The
 * parts and the rest together have 139 bits of pi/2: r has 55 correct bits even where x is closest
 * to a multiple of pi/2. */
static int reduce(double x, Pair *r)
{
    static const double pi_2[] = { 0x1.921fb54p+0, 0x1.10b461p-30, 0x1.a62633p-58,
                                   0x1.45c06e0e68948p-86 };
    int k = (int)(x * TWO_OVER_PI + 0.5);
    *r = (Pair){ x, 0 };
    for (int i = 0; i < 4; i++) {
        *r = add(*r, (Pair){ -k * pi_2[i], 0 });
    }
    return k & 3;
}

/* sin and cos of r, |r| <= pi/4, by their series in r.hi; r.lo times the derivative is added. */
static double sine(Pair r)
{
    double z = r.hi * r.hi, series = 0;
    for (int n = 17; n >= 3; n -= 2) {
        series = (1 + series) * -z / (n * (n - 1));
    }
    return r.hi + (r.hi * series + r.lo * (1 - z / 2));
}

static double cosine(Pair r)
{
    double z = r.hi * r.hi, series = 0;
    for (int n = 18; n >= 4; n -= 2) {
        series = (1 + series) * -z / (n * (n - 1));
    }
    /* 1 - z/2 + (small), with the rounding error of 1 - z/2 */
    double half = z / 2, first = 1 - half;
    return first + (((1 - first) - half) - half * series - r.hi * r.lo);
}

/* sin(x + quarters pi/2) for x >= 0. */
static double sine_shifted(double x, int quarters)
{
    Pair r = { x, 0 };
    if (!(x <= SIN_LIMIT)) return NAN;
    if (x > PI_4) {
        quarters += reduce(x, &r);
    }
    double y = quarters & 1 ? cosine(r) : sine(r);
    return quarters & 2 ? -y : y;
}

double ag_math_sin(double x)
{
    double y = sine_shifted(fabs(x), 0);
    return signbit(x) ? -y : y;
}

double ag_math_cos(double x)
{
    return sine_shifted(fabs(x), 1);
}
