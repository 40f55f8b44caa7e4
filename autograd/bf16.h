/* bf16.h: bfloat16 and the arithmetic of a matrix product in it (kernels.h), one number at a time:
 * for the plain loops in plain/, the emulation of AMX, and arrays in bfloat16. In a product,
 * subnormal operands and results become zero; an array keeps them. */
#ifndef KAERU_BF16_H
#define KAERU_BF16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* As it is stored: the nearest float whose last 16 bits are 0, ties to even; a quiet NaN for a
 * NaN. */
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

/* x, but 0 of its sign for a subnormal number. Compares bits: the processor may flush already. */
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

/* An operand of a product. */
static inline float bf16_round(float x) { return bf16_stored(bf16_flush(x)); }

/* An item of an array in bfloat16: two numbers that are rounded already, the first one in the lower
 * half. */
static inline uint32_t bf16_pair(float first, float second)
{
    uint32_t low, high;
    memcpy(&low, &first, sizeof low);
    memcpy(&high, &second, sizeof high);
    return low >> 16 | high;
}
static inline float bf16_of_pair(uint32_t pair, int second)
{
    uint32_t bits = second ? pair & 0xffff0000 : pair << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The float nearest to x, but 0 if it is subnormal. The nearest number of 24 bits to a result
 * between 2^-126 - 2^-151 and 2^-126 is 2^-126, which is not subnormal. */
static inline float bf16_result(double x)
{
    return fabs(x) < 0x1p-126 - 0x1p-151 ? copysignf(0, (float)x) : (float)x;
}

/* a b + c. The product of two numbers of 8 bits is exact, and rounding the sum to 53 bits first
 * does not change its rounding to 24 bits, because c has 24 bits and the product fewer (Figueroa
 * 1995: 53 >= 2 24 + 2). */
static inline float bf16_multiply_add(float a, float b, float c)
{
    return bf16_result((double)a * b + c);
}
static inline float bf16_add(float a, float b)
{
    return bf16_result((double)a + b);
}

#endif
