/* sine_of_large.c: the sine of any float, rounded once. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kaeru/types.h"
#include "sine_of_large.h"

static const double HALF_PI = 0x1.921fb54442d18p+0;

/* |x| is m 2^e with 24 bits in m. |x| 2/pi modulo 4 is the product of m with those bits of 2/pi
 * that count: the ones of more weight make multiples of 4 (Payne and Hanek 1983). Of the product,
 * 62 bits after the point are kept. A float is at least 2^-30 away from a multiple of pi/2, so 32
 * bits of the rest are correct. */
float k_sine_of_large(float x, int quarters)
{
    /* 32 bits before the point, 256 after it */
    static const uint32_t two_over_pi[] = { 0,          0xa2f9836e, 0x4e441529,
                                            0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                            0x3c439041, 0xfe5163ab, 0xdebbc561 };
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int exponent = bits >> 23 & 0xff, e = exponent - 150;
    if (exponent == 255) return NAN;
    const uint64_t m = (bits & 0x7fffff) | 0x800000;
    /* the first bit that counts, of weight 2 in the product with m */
    const int first = 32 + e - 2, skip = first % 32;
    uint32_t word[3];
    for (int i = 0; i < 3; i++) {
        const uint32_t *from = two_over_pi + first / 32 + i;
        word[i] = (uint32_t)((((uint64_t)from[0] << 32 | from[1]) << skip) >> 32);
    }
    const uint64_t middle = m * word[1] + (m * word[2] >> 32), turns = (m * word[0] << 32) + middle;
    const uint64_t fraction = turns << 2;
    const bool up = fraction >> 63;             /* to the nearest multiple: the rest is negative */
    const double rest = up ? -(double)(0 - fraction) : (double)fraction;
    const double angle = rest * 0x1p-64 * HALF_PI;          /* at most pi/4 */
    const int n = quarters + (int)(turns >> 62) + up;
    const double y = n & 1 ? ag_math_cos(angle) : ag_math_sin(angle);
    const bool flip = quarters == 0 && bits >> 31;          /* sin(-x) = -sin x, cos(-x) = cos x */
    const bool minus = (n & 2) != 0;
    return (float)(minus != flip ? -y : y);
}
