/* trigonometry.c: sine and cosine of one double, the same bits everywhere and within 1 ulp for every argument.
 *
 * The argument is brought to [-pi/4, pi/4] in whole numbers (Payne and Hanek 1983): x = M 2^e, and x 2/pi = M (2^e 2/pi)
 * needs only those bits of 2/pi that do not make multiples of 4 turns and that reach the result's precision: eight words. */
#include "scalar.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* 2/pi after the point, 32 bits a word. */
static const uint32_t two_over_pi[40] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d,
};
static const double PI_2 = 0x1.921fb54442d18p+0;
static const double PI_2_TOP = 0x1.921fb54p+0, PI_2_REST = 0x1.10b4611a62633p-30;   /* their sum: 80 bits of pi/2 */
static const double PI_4 = 0x1.921fb54442d18p-1;

enum { WORDS = 8 };

/* x = quadrant pi/2 + hi + lo, |hi| <= pi/4; x is finite, |x| > pi/4. Returns the quadrant, 0..3, of |x|. */
static int reduce(double x, double *hi, double *lo)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
    int e = (int)(bits >> 52 & 0x7ff) - 1075;                           /* |x| = mantissa 2^e, e >= -53 */

    /* Word i's last bit is worth 2^(e - 32 (i + 1)) in 2^e 2/pi; the words where that is 4 or more make whole turns. */
    int first = e >= 34 ? (e - 2) / 32 : 0;
    uint32_t product[WORDS + 2] = { 0 };                                /* most significant first */
    uint64_t low = mantissa & 0xffffffff, high = mantissa >> 32, carry_low = 0, carry_high = 0, former = 0;
    for (int i = WORDS - 1; i >= 0; i--) {                              /* mantissa times the words, one by one */
        uint64_t p = two_over_pi[first + i] * low + carry_low;
        uint64_t q = two_over_pi[first + i] * high + carry_high;
        uint64_t sum = (uint32_t)p + former;
        product[i + 2] = (uint32_t)sum;
        carry_low = (p >> 32) + (sum >> 32);
        former = (uint32_t)q;
        carry_high = q >> 32;
    }
    uint64_t sum = carry_low + former;
    product[1] = (uint32_t)sum;
    product[0] = (uint32_t)(carry_high + (sum >> 32));

    /* The point lies after bit 64 - (e - 32 first) of the product. Shift so that two bits stand before it. */
    int before = 62 + e - 32 * first, word = before / 32, bit = before % 32;
    uint32_t fraction[6];
    for (int i = 0; i < 6; i++) {
        uint64_t two = (uint64_t)product[word + i] << 32 | (word + i + 1 < WORDS + 2 ? product[word + i + 1] : 0);
        fraction[i] = (uint32_t)(two << bit >> 32);
    }
    int quadrant = (int)(fraction[0] >> 30);
    bool negative = fraction[0] >> 29 & 1;                              /* beyond the half: count from the next one */
    fraction[0] &= 0x3fffffff;
    if (negative) {
        quadrant = (quadrant + 1) & 3;
        uint64_t borrow = 1;
        for (int i = 5; i >= 0; i--) {
            borrow += (uint32_t)~fraction[i];
            fraction[i] = (uint32_t)borrow;
            borrow >>= 32;
        }
        fraction[0] &= 0x3fffffff;
    }

    double f_hi = 0, f_lo = 0, unit = 0x1p-30;
    for (int i = 0; i < 6; i++, unit *= 0x1p-32) {                      /* smaller and smaller: exact but for the last */
        double part = fraction[i] * unit, s = f_hi + part;
        f_lo += part - (s - f_hi);
        f_hi = s;
    }
    double big = f_hi * 134217729, fh = big - (big - f_hi), fl = f_hi - fh;             /* Dekker's exact product */
    double r = f_hi * PI_2, rest = ((fh * PI_2_TOP - r) + fl * PI_2_TOP) + f_hi * PI_2_REST;
    rest += f_lo * PI_2;
    *hi = r + rest;
    *lo = rest - (*hi - r);
    if (negative) {
        *hi = -*hi;
        *lo = -*lo;
    }
    return quadrant;
}

/* sin and cos of hi + lo, |hi| <= pi/4, by their series; lo times the derivative is added to the first. */
static double sine(double hi, double lo)
{
    double z = hi * hi, series = 0;
    for (int n = 17; n >= 3; n -= 2)
        series = (1 + series) * -z / (n * (n - 1));
    return hi + (hi * series + lo * (1 - z / 2));
}

static double cosine(double hi, double lo)
{
    double z = hi * hi, series = 0;
    for (int n = 18; n >= 4; n -= 2)
        series = (1 + series) * -z / (n * (n - 1));
    double half = z / 2, first = 1 - half;                              /* 1 - z/2 + z/2 (small), with what 1 - z/2 lost */
    return first + (((1 - first) - half) - half * series - hi * lo);
}

/* sin(x) for shift 0, cos(x) for shift 1. */
static double wave(double x, int shift)
{
    double hi = fabs(x), lo = 0;
    if (!(hi <= PI_4)) {
        if (!isfinite(x))
            return NAN;
        shift += reduce(x, &hi, &lo);
    }
    double y = shift & 1 ? cosine(hi, lo) : sine(hi, lo);
    return shift & 2 ? -y : y;
}

double k_sin(double x)
{
    return signbit(x) ? -wave(x, 0) : wave(x, 0);
}

double k_cos(double x)
{
    return wave(x, 1);
}
