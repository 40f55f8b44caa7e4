/* safetensors.c: reads, checks and writes safetensors files. The header is checked completely, against the size of the
 * file, before anything uses it. */
#include "safetensors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "utf8.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the format is little-endian, and this code copies values without a change of byte order"
#endif

#define MAX_HEADER 100000000                /* bytes, the limit of the original library */
static const char METADATA[] = "__metadata__";

/* ---- types ------------------------------------------------------------------------------------------------------- */

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

/* Defines a function that converts n values at `from`, which need not be aligned, to reals. */
#define CONVERTER(name, type, expression)                           \
    static void name(real *to, const char *from, size_t n)          \
    {                                                               \
        for (size_t i = 0; i < n; i++) {                            \
            type x;                                                 \
            memcpy(&x, from + i * sizeof x, sizeof x);              \
            to[i] = (real)(expression);                             \
        }                                                           \
    }
CONVERTER(from_f16, uint16_t, float_of_half(x))
CONVERTER(from_bf16, uint16_t, float_of_bits((uint32_t)x << 16))
CONVERTER(from_f32, float, x)
CONVERTER(from_f64, double, x)
CONVERTER(from_i32, int32_t, x)
CONVERTER(from_i64, int64_t, x)
CONVERTER(from_u8, uint8_t, x)

typedef struct {
    const char *name;
    uint64_t bits;
    void (*convert)(real *to, const char *from, size_t n);          /* NULL: not supported */
} StType;
static const StType types[] = {
    { "F16", 16, from_f16 }, { "BF16", 16, from_bf16 }, { "F32", 32, from_f32 }, { "F64", 64, from_f64 },
    { "I32", 32, from_i32 }, { "I64", 64, from_i64 },   { "U8", 8, from_u8 },    { "BOOL", 8, from_u8 },
    { "I8", 8, NULL },       { "I16", 16, NULL },       { "U16", 16, NULL },     { "U32", 32, NULL },
    { "U64", 64, NULL },     { "C64", 64, NULL },       { "F8_E4M3", 8, NULL },  { "F8_E5M2", 8, NULL },
    { "F8_E8M0", 8, NULL },  { "F6_E2M3", 6, NULL },    { "F6_E3M2", 6, NULL },  { "F4", 4, NULL },
};

static const StType *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

/* Sets *numel to the product of the sizes. False if the product of those that are not 0 exceeds INT64_MAX, because then no
 * Shape can have them. */
static bool multiply_sizes(const uint64_t *dim, size_t ndim, uint64_t *numel)
{
    bool empty = false;
    *numel = 1;
    for (size_t i = 0; i < ndim; i++) {
        if (dim[i] == 0) empty = true;
        else if (__builtin_mul_overflow(*numel, dim[i], numel) || *numel > INT64_MAX) return false;
    }
    if (empty) *numel = 0;
    return true;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

/* Sets the error 'PATH: tensor "NAME": MESSAGE'. */
AG_PRINTF(3, 4)
static bool tensor_error(const SafeTensors *st, const char *name, const char *format, ...)
{
    char quoted[UTF8_QUOTE], message[256];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return ag_set_error("%s: tensor %s: %s", file_name(st->file), utf8_quote(name, strlen(name), quoted), message);
}

static bool is_text(const Json *value)
{
    return value && value->type == JSON_STRING && strlen(value->as.text) == value->count;
}

/* Reads the items of an array, which must be whole numbers of 0 or more. */
static bool read_sizes(const SafeTensors *st, const char *name, const char *what, const Json *value, uint64_t *out)
{
    for (uint32_t i = 0; i < value->count; i++) {
        int64_t size;
        if (!json_int(&value->as.item[i], &size) || size < 0)
            return tensor_error(st, name, "expected whole numbers of 0 or more in %s, found another value", what);
        out[i] = (uint64_t)size;
    }
    return true;
}

static bool read_tensor(SafeTensors *st, const Json *key, const Json *value, uint64_t data_size, StTensor *t)
{
    const char *name = key->as.text;
    const Json *dtype = json_get(value, "dtype"), *shape = json_get(value, "shape");
    const Json *place = json_get(value, "data_offsets");
    if (!is_text(key)) return tensor_error(st, name, "expected a name without NUL characters");
    if (value->type != JSON_OBJECT)
        return tensor_error(st, name, "expected an object, found %s", json_type_name(value));
    if (!is_text(dtype)) return tensor_error(st, name, "expected a string as dtype, found %s", json_type_name(dtype));
    if (!shape || shape->type != JSON_ARRAY)
        return tensor_error(st, name, "expected an array as shape, found %s", json_type_name(shape));
    if (!place || place->type != JSON_ARRAY || place->count != 2)
        return tensor_error(st, name, "expected an array of two numbers as data_offsets");
    const StType *type = find_type(dtype->as.text);
    char quoted[UTF8_QUOTE];
    utf8_quote(dtype->as.text, dtype->count, quoted);
    if (!type) return tensor_error(st, name, "expected a known dtype, found %s", quoted);

    uint64_t *dim = ag_alloc_in(st, shape->count, sizeof *dim), range[2], bits;
    if (!read_sizes(st, name, "shape", shape, dim) || !read_sizes(st, name, "data_offsets", place, range)) return false;
    *t = (StTensor){ .name = name, .dtype = type->name, .ndim = shape->count, .dim = dim };
    if (!multiply_sizes(dim, t->ndim, &t->numel) || __builtin_mul_overflow(t->numel, type->bits, &bits))
        return tensor_error(st, name, "the product of its shape is too large");
    if (bits % 8) return tensor_error(st, name, "expected whole bytes, found %" PRIu64 " bits", bits);
    if (range[0] > range[1] || range[1] > data_size) {
        return tensor_error(st, name, "expected data_offsets that rise within the file's %" PRIu64 " bytes of values, "
                            "found %" PRIu64 " and %" PRIu64, data_size, range[0], range[1]);
    }
    t->offset = range[0];
    t->size = range[1] - range[0];
    if (t->size == bits / 8) return true;
    return tensor_error(st, name, "expected %" PRIu64 " bytes for its shape and dtype, found %" PRIu64, bits / 8,
                        t->size);
}

static bool read_metadata(SafeTensors *st, const Json *value)
{
    char quoted[UTF8_QUOTE];
    if (value->type != JSON_OBJECT)
        return ag_set_error("%s: %s: expected an object, found %s", file_name(st->file), METADATA, json_type_name(value));
    StText *text = ag_alloc_in(st, value->count, sizeof *text);
    for (uint32_t i = 0; i < value->count; i++) {
        const Json *key = &value->as.item[2 * i], *item = key + 1;
        if (!is_text(key) || !is_text(item))
            return ag_set_error("%s: %s: expected strings without NUL characters, found another value at %s",
                                file_name(st->file), METADATA, utf8_quote(key->as.text, key->count, quoted));
        text[i] = (StText){ key->as.text, item->as.text };
    }
    st->metadata = text;
    st->n_metadata = value->count;
    return true;
}

/* An empty tensor has the same offset as the next one and comes before it. */
static int compare_offsets(const void *left, const void *right)
{
    const StTensor *a = left, *b = right;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_names(const void *left, const void *right)
{
    const StTensor *a = *(const StTensor *const *)left, *b = *(const StTensor *const *)right;
    return strcmp(a->name, b->name);
}

/* Fills st from the header, `size` bytes of text, which data_size bytes of values follow. */
static bool read_header(SafeTensors *st, const char *text, size_t size, uint64_t data_size)
{
    if (size == 0 || text[0] != '{') return ag_set_error("%s: expected '{' as the header's start", file_name(st->file));
    const Json *root = json_parse(st, st_join(st, file_name(st->file), " (header)"), text, size);
    if (!root) return false;
    StTensor *tensor = ag_alloc_in(st, root->count, sizeof *tensor);
    for (uint32_t i = 0; i < root->count; i++) {
        const Json *name = &root->as.item[2 * i];
        if (json_is(name, METADATA)) {
            if (!read_metadata(st, name + 1)) return false;
        } else if (!read_tensor(st, name, name + 1, data_size, &tensor[st->n_tensors++])) {
            return false;
        }
    }
    st->tensor = tensor;
    if (st->n_tensors) qsort(tensor, st->n_tensors, sizeof *tensor, compare_offsets);
    uint64_t end = 0;
    for (size_t i = 0; i < st->n_tensors; i++) {
        if (tensor[i].offset != end) {
            return tensor_error(st, tensor[i].name, "expected its values at offset %" PRIu64 ", without a gap or an "
                                "overlap, found %" PRIu64, end, tensor[i].offset);
        }
        end += tensor[i].size;
        tensor[i].offset += 8 + size;
    }
    if (end != data_size)
        return ag_set_error("%s: expected %" PRIu64 " bytes of values, found %" PRIu64, file_name(st->file), end,
                            data_size);
    st->by_name = ag_alloc_in(st, st->n_tensors, sizeof *st->by_name);
    for (size_t i = 0; i < st->n_tensors; i++) st->by_name[i] = &tensor[i];
    if (st->n_tensors) qsort(st->by_name, st->n_tensors, sizeof *st->by_name, compare_names);
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool read_file(SafeTensors *st)
{
    uint64_t size, total = file_size(st->file);
    if (total < 8) return ag_set_error("%s: expected at least 8 bytes, found %" PRIu64, file_name(st->file), total);
    if (!file_read_at(st->file, 0, &size, sizeof size)) return false;
    if (size > MAX_HEADER)
        return ag_set_error("%s: expected a header of at most %d bytes, found %" PRIu64 ": is this a safetensors file?",
                            file_name(st->file), MAX_HEADER, size);
    if (size > total - 8)
        return ag_set_error("%s: expected a header of %" PRIu64 " bytes, found the end after %" PRIu64,
                            file_name(st->file), size, total - 8);
    char *text = ag_alloc_in(st, (size_t)size, 1);
    return file_read_at(st->file, 8, text, (size_t)size) && read_header(st, text, (size_t)size, total - 8 - size);
}

static SafeTensors *open_file(File *file)
{
    if (!file) return NULL;
    SafeTensors *st = ag_alloc(1, sizeof *st);
    st->file = file;
    ag_set_owner(file, st);
    if (read_file(st)) return st;
    st_close(st);
    return NULL;
}

SafeTensors *st_open(const char *path)
{
    return open_file(file_open(path));
}

SafeTensors *st_open_bytes(const char *name, const void *bytes, size_t size)
{
    return open_file(file_of_bytes(name, bytes, size));
}

void st_close(SafeTensors *st)
{
    ag_free(st);
}

char *st_join(void *owner, const char *prefix, const char *name)
{
    size_t length = strlen(prefix), size = strlen(name) + 1;
    char *text = ag_alloc_in(owner, length + size, 1);
    memcpy(text, prefix, length);
    memcpy(text + length, name, size);
    return text;
}

const StTensor *st_find(const SafeTensors *st, const char *name)
{
    StTensor key = { .name = name };
    const StTensor *wanted = &key, **found = NULL;
    if (st->n_tensors) found = bsearch(&wanted, st->by_name, st->n_tensors, sizeof *st->by_name, compare_names);
    return found ? *found : NULL;
}

const char *st_metadata(const SafeTensors *st, const char *key)
{
    for (size_t i = 0; i < st->n_metadata; i++)
        if (strcmp(st->metadata[i].key, key) == 0) return st->metadata[i].value;
    return NULL;
}

bool st_shape(const SafeTensors *st, const StTensor *t, Shape *shape)
{
    if (t->ndim > AG_MAX_DIMS)
        return tensor_error(st, t->name, "expected at most %d dimensions, found %zu", AG_MAX_DIMS, t->ndim);
    *shape = (Shape){ .ndim = (int)t->ndim };
    for (size_t i = 0; i < t->ndim; i++) shape->dim[i] = (int64_t)t->dim[i];
    return true;
}

bool st_read_reals(const SafeTensors *st, const StTensor *t, real *out)
{
    const StType *type = find_type(t->dtype);
    char chunk[16384];
    if (!type->convert) return tensor_error(st, t->name, "expected numbers of a common type, found %s", t->dtype);
    if (t->numel > SIZE_MAX / sizeof(real))
        return tensor_error(st, t->name, "%" PRIu64 " numbers are too many for this machine", t->numel);
    if (type->convert == (sizeof(real) == 4 ? from_f32 : from_f64))
        return file_read_at(st->file, t->offset, out, (size_t)t->size);
    size_t width = type->bits / 8;
    for (size_t i = 0, n; i < t->numel; i += n) {
        n = sizeof chunk / width;
        if (n > t->numel - i) n = (size_t)t->numel - i;
        if (!file_read_at(st->file, t->offset + i * width, chunk, n * width)) return false;
        type->convert(out + i, chunk, n);
    }
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static const char *write_header(void *owner, const StEntry *entry, size_t n, const StText *metadata,
                                size_t n_metadata, uint64_t *data_size, size_t *size)
{
    JsonWriter *w = json_writer(owner, 0);
    json_open(w, '{');
    if (n_metadata) {
        json_write_name(w, METADATA, strlen(METADATA));
        json_open(w, '{');
        for (size_t i = 0; i < n_metadata; i++) {
            json_write_name(w, metadata[i].key, strlen(metadata[i].key));
            json_write_text(w, metadata[i].value, strlen(metadata[i].value));
        }
        json_close(w, '}');
    }
    uint64_t offset = 0;
    for (size_t i = 0; i < n; i++) {
        const char *dtype = sizeof(real) == 4 ? "F32" : "F64";
        json_write_name(w, entry[i].name, strlen(entry[i].name));
        json_open(w, '{');
        json_write_name(w, "dtype", 5);
        json_write_text(w, dtype, strlen(dtype));
        json_write_name(w, "shape", 5);
        json_open(w, '[');
        for (int k = 0; k < entry[i].shape.ndim; k++) json_write_int(w, entry[i].shape.dim[k]);
        json_close(w, ']');
        json_write_name(w, "data_offsets", 12);
        json_open(w, '[');
        json_write_int(w, (int64_t)offset);
        offset += (uint64_t)shape_numel(entry[i].shape) * sizeof(real);
        json_write_int(w, (int64_t)offset);
        json_close(w, ']');
        json_close(w, '}');
    }
    json_close(w, '}');
    *data_size = offset;
    return json_written(w, size);
}

static bool write_file(void *owner, const char *path, const StEntry *entry, size_t n, const char *header,
                       size_t size, uint64_t data_size)
{
    SafeTensors *check = ag_alloc_in(owner, 1, sizeof *check);
    check->file = file_of_bytes(path, "", 0);
    ag_set_owner(check->file, check);
    FileWriter *w = read_header(check, header, size, data_size) ? file_replace(path) : NULL;
    if (!w) return false;
    size_t padding = (8 - size % 8) % 8;                    /* the offset of the values is a multiple of 8 */
    uint64_t length = size + padding;
    file_write(w, &length, sizeof length);
    file_write(w, header, size);
    file_write(w, "       ", padding);
    for (size_t i = 0; i < n; i++) file_write(w, entry[i].values, (size_t)shape_numel(entry[i].shape) * sizeof(real));
    return file_commit(w);
}

bool st_write(const char *path, const StEntry *entry, size_t n, const StText *metadata, size_t n_metadata)
{
    void *owner = ag_alloc(1, 1);
    uint64_t data_size;
    size_t size;
    const char *header = write_header(owner, entry, n, metadata, n_metadata, &data_size, &size);
    bool done = header && write_file(owner, path, entry, n, header, size, data_size);
    ag_free(owner);
    return done;
}
