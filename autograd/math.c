/* math.c: exponential, logarithm, power, sine and cosine of doubles.
 *
 * The functions of libm give other bits on other systems. These consist of additions,
 * multiplications and divisions, so IEEE arithmetic gives the same bits everywhere. The error is at
 * most 1 unit in the last place, in ag_math_pow 2.
 *
 * Each function reduces the argument to a small range by exact steps. There it sums a series whose
 * first term is exact, and adds the pieces, the smallest first. Where a double is not exact enough,
 * a number is a sum of two doubles, a Pair: the logarithm in ag_math_pow, because e^t multiplies
 * the error of t by t, and the reduced argument of sine and cosine. */
#include "kaeru/types.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ln 2 in two parts: k LN2_HI is exact for every exponent k of a double. */
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

/* Returns 2^k for k in -1022..1023. */
static double pow2(int k)
{
    return from_bits((uint64_t)(k + 1023) << 52);
}

/* Splits x into m 2^k with m in [1/sqrt 2, sqrt 2), and returns m. x is positive and finite. */
static double split(double x, int *k)
{
    const uint64_t mantissa_bits = 0xfffffffffffff, mantissa_of_sqrt_2 = 0x6a09e667f3bcd;
    int shift = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        shift = -54;
    }
    uint64_t b = bits_of(x), mantissa = b & mantissa_bits;
    int above = mantissa >= mantissa_of_sqrt_2;
    *k = (int)(b >> 52) - 1023 + above + shift;
    return from_bits(mantissa | (uint64_t)(1023 - above) << 52);
}

/* Returns e^(hi + lo), where lo is a small correction. With k the integer nearest to hi / ln 2, it
 * is 2^k e^r for a small r. The result is rounded once even where it is subnormal. */
static double exp_of_sum(double hi, double lo)
{
    static const double inverse_factorial[] = {
        1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
        1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800,
    };
    if (hi > 709.79) return INFINITY;
    if (hi < -745.14) return 0;
    int k = (int)(hi * INV_LN2 + (hi < 0 ? -0.5 : 0.5));
    double a = hi - k * LN2_HI, b = k * LN2_LO - lo, r = a - b;
    double rest = (a - r) - b;          /* the rounding error of r */
    double p = 0;                       /* (e^r - 1 - r) / r^2 */
    for (int n = 13; n >= 2; n--) {
        p = p * r + inverse_factorial[n];
    }
    double y = 1 + (r + (r * r * p + rest));
    if (k < -1021) return y * pow2(k + 600) * 0x1p-600;
    if (k > 1023) return y * pow2(k - 1) * 2;
    return y * pow2(k);
}

double ag_math_exp(double x)
{
    return isnan(x) ? x : exp_of_sum(x, 0);
}

/* Computes ln x = k ln 2 + ln m. With f = m - 1 and s = f / (2 + f),
 *
 *     ln m = 2 (s + s^3/3 + s^5/5 + ...) = f - (f^2/2 - s (f^2/2 + R))
 *     R = 2/3 s^2 + 2/5 s^4 + ...
 *
 * f is exact, and the other terms are small. */
double ag_math_log(double x)
{
    if (isnan(x) || x == INFINITY) return x;
    if (x <= 0) return x == 0 ? -INFINITY : NAN;
    int k;
    double f = split(x, &k) - 1, s = f / (2 + f), z = s * s;
    double half = f * f / 2, series = 0;
    for (int n = 23; n >= 3; n -= 2) {
        series = (series + 2. / n) * z;
    }
    return k * LN2_HI - ((half - (s * (half + series) + k * LN2_LO)) - f);
}

/* ---- sums of two doubles --------------------------------------------------------------------- */

typedef struct { double hi, lo; } Pair;

/* Returns a + b, exactly. */
static Pair sum_of(double a, double b)
{
    double s = a + b, from_b = s - a;
    return (Pair){ s, (a - (s - from_b)) + (b - from_b) };
}

/* Returns a b, exactly (Dekker 1971), for |a|, |b| < 2^995. A product with 2^27 + 1 splits a number
 * of 53 bits into two of 26 bits, whose products are exact. */
static Pair product_of(double a, double b)
{
    const double splitter = 0x1p27 + 1;
    double a_big = a * splitter, b_big = b * splitter;
    double a_hi = a_big - (a_big - a), a_lo = a - a_hi;
    double b_hi = b_big - (b_big - b), b_lo = b - b_hi;
    double p = a * b;
    return (Pair){ p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo };
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

/* Returns ln x for positive finite x. With f = m - 1, s = f / (m + 1) and z = s^2 <= 0.03,
 *
 *     ln m = 2 s (1 + z (1/3 + z (1/5 + z (1/7 + ...))))
 *
 * where the sum from 1/7 on is a double. */
static Pair log_pair(double x)
{
    static const Pair third = { 0x1.5555555555555p-2, 0x1.5555555555555p-56 };
    static const Pair fifth = { 0x1.999999999999ap-3, -0x1.999999999999ap-57 };
    static const Pair ln2 = { 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56 };
    int k;
    double m = split(x, &k), f = m - 1;
    Pair divisor = sum_of(m, 1), s;
    s.hi = f / divisor.hi;
    Pair back = product_of(s.hi, divisor.hi);
    s.lo = (((f - back.hi) - back.lo) - s.hi * divisor.lo) / divisor.hi;
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

/* Returns x^y = e^(y ln x) for x >= 0, with the limits at 0 and infinity. */
static double power(double x, double y)
{
    if (isinf(y) && x == 1) return 1;
    if (isinf(y)) return (x > 1) == (y > 0) ? INFINITY : 0;
    if (x == 0 || isinf(x)) return (x == 0) == (y < 0) ? INFINITY : 0;
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
    bool is_large = fabs(y) >= 0x1p53;          /* then y is an even integer, or infinite */
    bool is_whole = is_large || y == (double)(int64_t)y;
    bool is_odd = !is_large && is_whole && ((int64_t)y & 1);
    if (x < 0 && !isinf(x) && !is_whole) return NAN;
    double result = power(fabs(x), y);
    return signbit(x) && is_odd ? -result : result;
}

/* ---- sine and cosine ------------------------------------------------------------------------- */

static const double TWO_OVER_PI = 0x1.45f306dc9c883p-1, PI_4 = 0x1.921fb54442d18p-1;
static const double SIN_LIMIT = 1e8;            /* sine and cosine of more are NaN */

/* Finds r with x = k pi/2 + r and |r| <= pi/4, for x in pi/4..SIN_LIMIT (Cody and Waite 1980), and
 * returns k mod 4. The four parts of pi/2 have 139 bits together. Products of k with the first
 * three are exact, because k has at most 26 bits and each of them 27. So r has 55 correct bits even
 * where x is closest to a multiple of pi/2. */
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

/* Returns sin r for |r| <= pi/4: the series in r.hi, plus r.lo times the derivative. */
static double sine(Pair r)
{
    double z = r.hi * r.hi, series = 0;
    for (int n = 17; n >= 3; n -= 2) {
        series = (1 + series) * -z / (n * (n - 1));
    }
    return r.hi + (r.hi * series + r.lo * (1 - z / 2));
}

/* Returns cos r, in the same way. */
static double cosine(Pair r)
{
    double z = r.hi * r.hi, series = 0;
    for (int n = 18; n >= 4; n -= 2) {
        series = (1 + series) * -z / (n * (n - 1));
    }
    /* The first two terms, 1 - z/2, then their rounding error and the other terms. */
    double half = z / 2, first = 1 - half;
    return first + (((1 - first) - half) - half * series - r.hi * r.lo);
}

/* Returns sin(x + quarters pi/2) for x >= 0. */
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
