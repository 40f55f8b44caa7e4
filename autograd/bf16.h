/* bf16.h: bfloat16, and the arithmetic of a matrix product in it (see KGemm in kernels.h), for one
 * number at a time.
 *
 * A number in bfloat16 is the upper half of a float: the same range, with 8 bits of precision. The
 * functions keep it in a float whose lower 16 bits are 0, or two of them in an item of an array. In
 * a product, subnormal operands and results become zero, as on the processors that compute it. An
 * array keeps subnormal numbers. */
#ifndef KAERU_BF16_H
#define KAERU_BF16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Rounds x to bfloat16: to the nearest number, ties to even; a NaN to a quiet NaN. */
static inline float bf16_stored(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        bits |= 0x00400000;
    } else {
        bits += 0x7fff + (bits >> 16 & 1);
    }
    bits &= 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns x, but 0 with the sign of x if x is subnormal. Reads the bits, because a comparison may
 * already take a subnormal number for 0. */
static inline float bf16_flush(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000) == 0) {
        bits &= 0x80000000;
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rounds an operand of a product. */
static inline float bf16_round(float x) { return bf16_stored(bf16_flush(x)); }

/* Returns an item of an array: two numbers that are rounded already, the first one in the lower
 * half. */
static inline uint32_t bf16_pair(float first, float second)
{
    uint32_t low, high;
    memcpy(&low, &first, sizeof low);
    memcpy(&high, &second, sizeof high);
    return low >> 16 | high;
}
/* Returns the first or the second number of an item. */
static inline float bf16_of_pair(uint32_t pair, int second)
{
    uint32_t bits = second ? pair & 0xffff0000 : pair << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns the float nearest to x, but 0 if that is subnormal. From 2^-126 - 2^-151 on, the nearest
 * number of 24 bits is 2^-126 or more, which is not subnormal. */
static inline float bf16_result(double x)
{
    return fabs(x) < 0x1p-126 - 0x1p-151 ? copysignf(0, (float)x) : (float)x;
}

/* Returns a b + c, rounded once. The product of two numbers of 8 bits is exact in a double. The sum
 * is rounded to 53 bits and then to 24; this is the same as one rounding, because the terms have at
 * most 24 bits and 53 >= 2 * 24 + 2 (Figueroa 1995). */
static inline float bf16_multiply_add(float a, float b, float c)
{
    return bf16_result((double)a * b + c);
}

/* Returns a + b, rounded once. */
static inline float bf16_add(float a, float b)
{
    return bf16_result((double)a + b);
}

#endif
