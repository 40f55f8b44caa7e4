/* types.c: conversion of the numbers in files, which are little-endian. */
#include "types.h"

#include <math.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the formats are little-endian, and this code copies values without a change of byte order"
#endif

static float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* IEEE 754 half precision: 1 sign bit, 5 of exponent (bias 15), 10 of fraction. */
static float float_of_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ffu;
    if (exponent == 31) return float_of_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent > 0) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float small = (float)fraction / 16777216.0f;                    /* subnormal: fraction * 2^-24 */
    return sign ? -small : small;
}

#define CONVERTER(name, from_type, to_type, fits, value)                \
    static size_t name(void *to, const char *from, size_t n)            \
    {                                                                   \
        to_type *out = to;                                              \
        for (size_t i = 0; i < n; i++) {                                \
            from_type x;                                                \
            memcpy(&x, from + i * sizeof x, sizeof x);                  \
            if (!(fits)) return i;                                      \
            out[i] = (to_type)(value);                                  \
        }                                                               \
        return n;                                                       \
    }
CONVERTER(f16_real, uint16_t, ag_real, true, float_of_half(x))
CONVERTER(bf16_real, uint16_t, ag_real, true, float_of_bits((uint32_t)x << 16))
CONVERTER(f32_real, float, ag_real, true, x)
CONVERTER(f64_real, double, ag_real, !isinf((ag_real)x) || isinf(x), x)
CONVERTER(i8_real, int8_t, ag_real, true, x)
CONVERTER(i16_real, int16_t, ag_real, true, x)
CONVERTER(i32_real, int32_t, ag_real, true, x)
CONVERTER(i64_real, int64_t, ag_real, true, x)
CONVERTER(u8_real, uint8_t, ag_real, true, x)
CONVERTER(u16_real, uint16_t, ag_real, true, x)
CONVERTER(u32_real, uint32_t, ag_real, true, x)
CONVERTER(u64_real, uint64_t, ag_real, true, x)
CONVERTER(bool_real, uint8_t, ag_real, true, x != 0)
CONVERTER(i8_int, int8_t, int32_t, true, x)
CONVERTER(i16_int, int16_t, int32_t, true, x)
CONVERTER(i32_int, int32_t, int32_t, true, x)
CONVERTER(i64_int, int64_t, int32_t, x >= INT32_MIN && x <= INT32_MAX, x)
CONVERTER(u8_int, uint8_t, int32_t, true, x)
CONVERTER(u16_int, uint16_t, int32_t, true, x)
CONVERTER(u32_int, uint32_t, int32_t, x <= INT32_MAX, x)
CONVERTER(u64_int, uint64_t, int32_t, x <= INT32_MAX, x)
CONVERTER(bool_int, uint8_t, int32_t, true, x != 0)
CONVERTER(bool_bool, uint8_t, uint8_t, true, x != 0)

static const FileType types[] = {
    { "F32", "<f4", 32, AG_REAL, { f32_real } },
    { "F64", "<f8", 64, AG_REAL, { f64_real } },
    { "I32", "<i4", 32, AG_INT, { i32_real, i32_int } },
    { "BOOL", "|b1", 8, AG_BOOL, { bool_real, bool_int, bool_bool } },
    { "F16", "<f2", 16, AG_REAL, { f16_real } },
    { "BF16", NULL, 16, AG_REAL, { bf16_real } },
    { "I8", "|i1", 8, AG_INT, { i8_real, i8_int } },
    { "I16", "<i2", 16, AG_INT, { i16_real, i16_int } },
    { "I64", "<i8", 64, AG_INT, { i64_real, i64_int } },
    { "U8", "|u1", 8, AG_INT, { u8_real, u8_int } },
    { "U16", "<u2", 16, AG_INT, { u16_real, u16_int } },
    { "U32", "<u4", 32, AG_INT, { u32_real, u32_int } },
    { "U64", "<u8", 64, AG_INT, { u64_real, u64_int } },
    { "C64", "<c8", 64, AG_REAL, { NULL } },
    { "F8_E4M3", NULL, 8, AG_REAL, { NULL } },
    { "F8_E5M2", NULL, 8, AG_REAL, { NULL } },
    { "F8_E8M0", NULL, 8, AG_REAL, { NULL } },
    { "F6_E2M3", NULL, 6, AG_REAL, { NULL } },
    { "F6_E3M2", NULL, 6, AG_REAL, { NULL } },
    { "F4", NULL, 4, AG_REAL, { NULL } },
};
enum { N_TYPES = sizeof types / sizeof *types };

const FileType *file_type(const char *name)
{
    for (size_t i = 0; i < N_TYPES; i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

const FileType *file_type_of_numpy(const char *name)
{
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].numpy && strcmp(types[i].numpy, name) == 0) return &types[i];
    return NULL;
}

const FileType *file_type_of(AgDType dtype)
{
    return dtype == AG_INT ? &types[2] : dtype == AG_BOOL ? &types[3] : sizeof(ag_real) == 4 ? &types[0] : &types[1];
}

size_t dtype_bytes(AgDType dtype)
{
    return (size_t)file_type_of(dtype)->bits / 8;
}
