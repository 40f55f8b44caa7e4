/* stored.c: the tensors of an open file, of whatever format, and the conversion of their numbers, which are little-endian. */
#include "stored.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "utf8.h"

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
#define CONVERTERS_OF_INTEGER(name, type, fits)                         \
    CONVERTER(name##_real, type, ag_real, true, x)                      \
    CONVERTER(name##_int, type, int32_t, fits, x)
CONVERTERS_OF_INTEGER(i8, int8_t, true)
CONVERTERS_OF_INTEGER(i16, int16_t, true)
CONVERTERS_OF_INTEGER(i32, int32_t, true)
CONVERTERS_OF_INTEGER(i64, int64_t, x >= INT32_MIN && x <= INT32_MAX)
CONVERTERS_OF_INTEGER(u8, uint8_t, true)
CONVERTERS_OF_INTEGER(u16, uint16_t, true)
CONVERTERS_OF_INTEGER(u32, uint32_t, x <= INT32_MAX)
CONVERTERS_OF_INTEGER(u64, uint64_t, x <= INT32_MAX)
CONVERTER(bool_real, uint8_t, ag_real, true, x != 0)
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
    { "F8_E4M3FNUZ", NULL, 8, AG_REAL, { NULL } },
    { "F8_E5M2FNUZ", NULL, 8, AG_REAL, { NULL } },
    { "F8_E8M0", NULL, 8, AG_REAL, { NULL } },
    { "F6_E2M3", NULL, 6, AG_REAL, { NULL } },
    { "F6_E3M2", NULL, 6, AG_REAL, { NULL } },
    { "F4", NULL, 4, AG_REAL, { NULL } },
};
enum { N_TYPES = sizeof types / sizeof *types };

const FileType *file_type(const Json *text, bool of_numpy)
{
    const char *name = text->as.text;
    if (strlen(name) != text->count) return NULL;               /* a NUL in it */
    for (size_t i = 0; i < N_TYPES; i++) {
        const char *other = of_numpy ? types[i].numpy : types[i].name;
        const bool any_order = of_numpy && types[i].bits == 8 && *name && strchr("<>=|", *name);    /* of one byte */
        if (other && strcmp(other + any_order, name + any_order) == 0) return &types[i];
    }
    return NULL;
}

const FileType *file_type_of(AgDType dtype)
{
    static const int place[] = { sizeof(ag_real) == 4 ? 0 : 1, 2, 3, 5 };       /* by AgDType */
    return &types[place[dtype]];
}

size_t dtype_bytes(AgDType dtype)
{
    return (size_t)file_type_of(dtype)->bits / 8;
}

/* ---- the tensors of a file --------------------------------------------------------------------------------------- */

NnTensorFile *st_new(File *file, bool (*read)(NnTensorFile *f))
{
    if (!file) return NULL;
    NnTensorFile *f = ag_object_new(sizeof *f);
    f->file = file;
    ag_set_owner(file, f);
    if (read(f)) return f;
    ag_free(f);
    return NULL;
}

bool st_ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), size = strlen(end);
    return n >= size && strcmp(name + n - size, end) == 0;
}

const char st_the_array[1] = "";

bool st_tensor_error(const File *file, const char *name, const char *format, ...)
{
    char message[400];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    if (name == st_the_array) return ag_set_error("%s: %s", file->name, message);
    return ag_set_error("%s: tensor %s: %s", file->name, QUOTED(name), message);
}

bool st_set_shape(StTensor *t, const FileType *type, const Json *shape)
{
    const char *name = t->item.name;
    uint64_t numel = 1, bits;                   /* without sizes of 0: no AgShape can have sizes of a larger product */
    bool empty = false;
    AgShape *out = &t->item.shape;
    for (uint32_t i = 0; i < shape->count; i++) {
        int64_t size;
        if (!json_int(&shape->as.item[i], &size) || size < 0)
            return st_tensor_error(t->file, name, "expected whole numbers of 0 or more in shape, found another value");
        if (i < AG_MAX_DIMS) out->dim[i] = size;
        if (size == 0) empty = true;
        else if (__builtin_mul_overflow(numel, (uint64_t)size, &numel) || numel > INT64_MAX)
            return st_tensor_error(t->file, name, "the product of its shape is too large");
    }
    t->type = type;
    t->item.type = type->name;
    t->numel = empty ? 0 : numel;
    if (__builtin_mul_overflow(t->numel, type->bits, &bits))
        return st_tensor_error(t->file, name, "the product of its shape is too large");
    if (bits % 8) return st_tensor_error(t->file, name, "expected whole bytes, found %" PRIu64 " bits", bits);
    if (t->size != bits / 8)
        return st_tensor_error(t->file, name, "expected %" PRIu64 " bytes for its shape and dtype, found %" PRIu64, bits / 8,
                               t->size);
    out->ndim = shape->count > AG_MAX_DIMS ? -1 : (int)shape->count;
    if (out->ndim < 0) {
        st_tensor_error(t->file, name, "expected at most %d dimensions, found %" PRIu32, AG_MAX_DIMS, shape->count);
        t->unreadable = ag_strndup_in(t->file, ag_error(), strlen(ag_error()));
    }
    return true;
}

static int compare_names(const void *left, const void *right)
{
    const StTensor *a = *(const StTensor *const *)left, *b = *(const StTensor *const *)right;
    return strcmp(a->item.name, b->item.name);
}

bool st_sort_names(NnTensorFile *f)
{
    f->by_name = ag_alloc_in(f, f->n_tensors, sizeof *f->by_name);
    for (size_t i = 0; i < f->n_tensors; i++) f->by_name[i] = &f->tensor[i];
    if (f->n_tensors) qsort(f->by_name, f->n_tensors, sizeof *f->by_name, compare_names);
    for (size_t i = 1; i < f->n_tensors; i++)
        if (compare_names(&f->by_name[i - 1], &f->by_name[i]) == 0)
            return st_tensor_error(f->file, f->by_name[i]->item.name, "expected each name once");
    return true;
}

const StTensor *st_find(const NnTensorFile *f, const char *name)
{
    const StTensor key = { .item.name = name }, *to_find = &key, **found = NULL;
    if (f->n_tensors) found = bsearch(&to_find, f->by_name, f->n_tensors, sizeof *f->by_name, compare_names);
    return found ? *found : NULL;
}

/* ---- their values ------------------------------------------------------------------------------------------------ */

uint32_t crc32_add(uint32_t crc, const void *bytes, size_t n)
{
    static const uint32_t table[16] = {                             /* of four bits */
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    crc = ~crc;
    for (const unsigned char *p = bytes, *end = n ? p + n : p; p < end; p++) {
        crc = table[(crc ^ *p) & 15] ^ crc >> 4;
        crc = table[(crc ^ (uint32_t)*p >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Eight words at a time, each into a lane of its own: the processor computes the lanes side by side. */
static void hash_pieces(StHash *h, const char *bytes, size_t pieces)
{
    enum { LANES = sizeof h->lane / sizeof *h->lane };
    uint64_t lane[LANES], word[LANES];
    memcpy(lane, h->lane, sizeof lane);
    for (size_t i = 0; i < pieces; i++, bytes += sizeof word) {
        memcpy(word, bytes, sizeof word);
        for (int k = 0; k < LANES; k++) lane[k] = mix(lane[k], word[k]);
    }
    memcpy(h->lane, lane, sizeof lane);
}

void st_hash_add(StHash *h, const void *bytes, size_t n)
{
    const char *p = bytes;
    h->total += n;
    if (h->n > 0) {
        size_t k = sizeof h->piece - h->n < n ? sizeof h->piece - h->n : n;
        memcpy(h->piece + h->n, p, k);
        h->n += k;
        p += k;
        n -= k;
        if (h->n < sizeof h->piece) return;
        hash_pieces(h, h->piece, 1);
        h->n = 0;
    }
    hash_pieces(h, p, n / sizeof h->piece);
    h->n = n % sizeof h->piece;
    if (h->n) memcpy(h->piece, p + n - h->n, h->n);
}

uint64_t st_hash_end(StHash *h)
{
    memset(h->piece + h->n, 0, sizeof h->piece - h->n);
    if (h->n) hash_pieces(h, h->piece, 1);
    uint64_t all = h->total;
    for (size_t k = 0; k < sizeof h->lane / sizeof *h->lane; k++) all = mix(all, h->lane[k]);
    return all;
}

/* What is computed of a tensor's bytes while they are read, to compare it with what the file says of all of them. */
typedef struct { const StTensor *t; bool all; uint32_t crc; StHash hash; } Check;

static Check check_begin(const StTensor *t, uint64_t n)
{
    return (Check){ .t = t, .all = n == t->numel, .crc = t->checksum_before };
}

static void check_add(Check *c, const void *bytes, size_t n)
{
    if (c->all && c->t->has_checksum) c->crc = crc32_add(c->crc, bytes, n);
    if (c->all && c->t->has_hash) st_hash_add(&c->hash, bytes, n);
}

static bool check_end(Check *c)
{
    const StTensor *t = c->t;
    if (!c->all) return true;
    if (t->has_checksum && c->crc != t->checksum)
        return st_tensor_error(t->file, t->item.name, "expected bytes with the checksum %08" PRIx32 ", found %08" PRIx32
                               ": is the file damaged?", t->checksum, c->crc);
    uint64_t hash = t->has_hash ? st_hash_end(&c->hash) : 0;
    return hash == t->hash || st_tensor_error(t->file, t->item.name, "expected bytes with the hash %016" PRIx64 ", found %016"
                                              PRIx64 ": the file is damaged", t->hash, hash);
}

/* Before a part of a tensor that has item 0 is read, all of it is compared. */
static bool check_before(const StTensor *t, uint64_t first, uint64_t n)
{
    char chunk[16384];
    if (first > 0 || n == t->numel || !(t->has_checksum || t->has_hash)) return true;
    Check check = check_begin(t, t->numel);
    for (uint64_t i = 0, k; i < t->size; i += k) {
        k = t->size - i < sizeof chunk ? t->size - i : sizeof chunk;
        if (!file_read_bytes(t->file, t->offset + i, chunk, (size_t)k)) return false;
        check_add(&check, chunk, (size_t)k);
    }
    return check_end(&check);
}

/* Reads values that have the same bytes in memory. */
static bool read_same(const StTensor *t, uint64_t first, uint64_t n, void *out)
{
    enum { PART = 1 << 20 };                                        /* bytes, which stay in the cache until they are checked */
    const uint64_t width = t->type->bits / 8, bytes = n * width;
    if (!check_before(t, first, n)) return false;
    Check check = check_begin(t, n);
    for (uint64_t i = 0, k; i < bytes; i += k) {
        k = bytes - i < PART ? bytes - i : PART;
        if (!file_read_bytes(t->file, t->offset + first * width + i, (char *)out + i, (size_t)k)) return false;
        check_add(&check, (char *)out + i, (size_t)k);
    }
    return check_end(&check);
}

bool st_can_read(const StTensor *t, AgDType dtype)
{
    static const char *const expected[] = { "numbers of a common type", "whole numbers", "BOOL" };
    if (t->unreadable) return ag_set_error("%s", t->unreadable);
    return t->type->to[dtype] || st_tensor_error(t->file, t->item.name, "expected %s, found %s", expected[dtype], t->item.type);
}

static bool read_rounded(const StTensor *t, uint64_t first, uint64_t n, uint32_t *pairs)
{
    enum { PART = 1 << 16 };
    bool good = true;
    for (uint64_t i = 0, k; good && i < n; i += k) {
        k = n - i < PART ? n - i : PART;
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *part = tensor_zeros(SHAPE((int64_t)k));
        good = st_read(t, AG_REAL, first + i, k, tensor_mutable_data(part));
        if (good) memcpy(pairs + i / 2, tensor_int_data(ag_to_bf16(part)), (size_t)k * 2);
        ag_end(s);
    }
    return good;
}

bool st_read_pairs(const StTensor *t, bool round, uint64_t first, uint64_t n, uint32_t *pairs)
{
    if (t->unreadable) return ag_set_error("%s", t->unreadable);
    if (t->type == file_type_of(AG_PACKED)) return read_same(t, first, n, pairs);
    if (round) return read_rounded(t, first, n, pairs);
    return st_tensor_error(t->file, t->item.name, "expected BF16 for a matrix that is kept in bfloat16, found %s: the option "
                           "`round` rounds it", t->item.type);
}

bool st_read(const StTensor *t, AgDType dtype, uint64_t first, uint64_t n, void *out)
{
    static const char *const range[] = { "is finite, but beyond the range of a float", "is not in -2147483648..2147483647" };
    if (!st_can_read(t, dtype)) return false;
    size_t width = (size_t)t->type->bits / 8, to_width = dtype_bytes(dtype);
    char chunk[16384];
    if (n > SIZE_MAX / to_width)
        return st_tensor_error(t->file, t->item.name, "%" PRIu64 " numbers are too many for this machine", n);
    if (t->type == file_type_of(dtype) && dtype != AG_BOOL) return read_same(t, first, n, out);
    if (!check_before(t, first, n)) return false;
    Check check = check_begin(t, n);
    for (uint64_t i = 0, k; i < n; i += k) {
        k = sizeof chunk / width > n - i ? n - i : sizeof chunk / width;
        if (!file_read_bytes(t->file, t->offset + (first + i) * width, chunk, (size_t)k * width)) return false;
        check_add(&check, chunk, (size_t)k * width);
        size_t fit = t->type->to[dtype]((char *)out + i * to_width, chunk, (size_t)k);
        if (fit < k) return st_tensor_error(t->file, t->item.name, "item %" PRIu64 " %s", first + i + fit, range[dtype]);
    }
    return check_end(&check);
}

/* ---- to write ---------------------------------------------------------------------------------------------------- */

StEntry st_entry(const char *name, const Tensor *t)
{
    AgDType dtype = tensor_dtype(t);
    const void *values = dtype == AG_PACKED ? (const void *)t : dtype == AG_REAL ? (const void *)tensor_data(t)
                         : dtype == AG_INT ? (const void *)tensor_int_data(t) : tensor_bool_data(t);
    return (StEntry){ .name = name, .shape = tensor_shape(t), .values = values, .dtype = dtype };
}

const FileType *st_entry_type(const StEntry *entry)
{
    return file_type_of(entry->round ? AG_PACKED : entry->dtype);
}

size_t st_entry_bytes(const StEntry *entry)
{
    return (size_t)ag_shape_numel(entry->shape) * ((size_t)st_entry_type(entry)->bits / 8);
}
