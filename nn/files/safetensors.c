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

#define MAX_HEADER 100000000                /* bytes, the limit of the original library */
static const char METADATA[] = "__metadata__";

/* ---- tensors ------------------------------------------------------------------------------------------------------ */

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

bool st_tensor_error(const File *file, const char *name, const char *format, ...)
{
    char quoted[UTF8_QUOTE], message[256];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return ag_set_error("%s: tensor %s: %s", file_name(file), utf8_quote(name, strlen(name), quoted), message);
}

bool tensor_set_type(StTensor *t, const FileType *type)
{
    uint64_t bits;
    t->dtype = type->name;
    if (!multiply_sizes(t->dim, t->ndim, &t->numel) || __builtin_mul_overflow(t->numel, type->bits, &bits))
        return st_tensor_error(t->file, t->name, "the product of its shape is too large");
    if (bits % 8) return st_tensor_error(t->file, t->name, "expected whole bytes, found %" PRIu64 " bits", bits);
    if (t->size != bits / 8) {
        return st_tensor_error(t->file, t->name, "expected %" PRIu64 " bytes for its shape and dtype, found %" PRIu64, bits / 8,
                               t->size);
    }
    t->item = (NnFileTensor){ t->name, t->dtype, { .ndim = t->ndim > AG_MAX_DIMS ? -1 : (int)t->ndim } };
    for (int i = 0; i < t->item.shape.ndim; i++) t->item.shape.dim[i] = (int64_t)t->dim[i];
    return true;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

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
            return st_tensor_error(st->file, name, "expected whole numbers of 0 or more in %s, found another value", what);
        out[i] = (uint64_t)size;
    }
    return true;
}

static bool read_tensor(SafeTensors *st, const Json *key, const Json *value, uint64_t data_size, StTensor *t)
{
    const char *name = key->as.text;
    const Json *dtype = json_get(value, "dtype"), *shape = json_get(value, "shape");
    const Json *place = json_get(value, "data_offsets");
    if (!is_text(key)) return st_tensor_error(st->file, name, "expected a name without NUL characters");
    if (value->type != JSON_OBJECT)
        return st_tensor_error(st->file, name, "expected an object, found %s", json_type_name(value));
    if (!is_text(dtype)) return st_tensor_error(st->file, name, "expected a string as dtype, found %s", json_type_name(dtype));
    if (!shape || shape->type != JSON_ARRAY)
        return st_tensor_error(st->file, name, "expected an array as shape, found %s", json_type_name(shape));
    if (!place || place->type != JSON_ARRAY || place->count != 2)
        return st_tensor_error(st->file, name, "expected an array of two numbers as data_offsets");
    const FileType *type = file_type(dtype->as.text);
    char quoted[UTF8_QUOTE];
    utf8_quote(dtype->as.text, dtype->count, quoted);
    if (!type) return st_tensor_error(st->file, name, "expected a known dtype, found %s", quoted);

    uint64_t *dim = ag_alloc_in(st, shape->count, sizeof *dim), range[2];
    if (!read_sizes(st, name, "shape", shape, dim) || !read_sizes(st, name, "data_offsets", place, range)) return false;
    if (range[0] > range[1] || range[1] > data_size) {
        return st_tensor_error(st->file, name, "expected data_offsets that rise within the file's %" PRIu64 " bytes of values, "
                               "found %" PRIu64 " and %" PRIu64, data_size, range[0], range[1]);
    }
    *t = (StTensor){ .name = name, .ndim = shape->count, .dim = dim, .offset = range[0], .size = range[1] - range[0],
                     .file = st->file };
    return tensor_set_type(t, type);
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

bool st_sort_names(SafeTensors *st)
{
    st->by_name = ag_alloc_in(st, st->n_tensors, sizeof *st->by_name);
    for (size_t i = 0; i < st->n_tensors; i++) st->by_name[i] = &st->tensor[i];
    if (st->n_tensors) qsort(st->by_name, st->n_tensors, sizeof *st->by_name, compare_names);
    for (size_t i = 1; i < st->n_tensors; i++) {
        const char *name = st->by_name[i]->name;
        if (strcmp(st->by_name[i - 1]->name, name) == 0) return st_tensor_error(st->file, name, "expected each name once");
    }
    return true;
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
            return st_tensor_error(st->file, tensor[i].name, "expected its values at offset %" PRIu64 ", without a gap or an "
                                   "overlap, found %" PRIu64, end, tensor[i].offset);
        }
        end += tensor[i].size;
        tensor[i].offset += 8 + size;
    }
    if (end != data_size)
        return ag_set_error("%s: expected %" PRIu64 " bytes of values, found %" PRIu64, file_name(st->file), end,
                            data_size);
    return st_sort_names(st);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool st_read_file(SafeTensors *st)
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

SafeTensors *st_new(File *file, bool (*read)(SafeTensors *st))
{
    if (!file) return NULL;
    SafeTensors *st = ag_object_new(sizeof *st);
    st->file = file;
    ag_set_owner(file, st);
    if (read(st)) return st;
    st_close(st);
    return NULL;
}

SafeTensors *st_open(const char *path)
{
    return st_new(file_open(path), st_read_file);
}

SafeTensors *st_open_bytes(const char *name, const void *bytes, size_t size)
{
    return st_new(file_of_bytes(name, bytes, size), st_read_file);
}

/* Tells the kind by the first bytes. Read as the size of a header, none of them is one that a safetensors file can have. */
static bool read_any(SafeTensors *st)
{
    unsigned char start[6] = { 0 };
    if (file_size(st->file) >= sizeof start && !file_read_at(st->file, 0, start, sizeof start)) return false;
    if (memcmp(start, "\x93NUMPY", 6) == 0) return st_read_npy(st);
    if (memcmp(start, "PK\5\6", 4) == 0 || (memcmp(start, "PK\3\4", 4) == 0 && start[4])) return st_read_npz(st);
    return st_read_file(st);
}

SafeTensors *st_open_any(const char *path, bool map)
{
    size_t n = strlen(path);
    if (n >= 5 && strcmp(path + n - 5, ".json") == 0) return st_open_index(path, map);
    return st_new(map ? file_open_map(path) : file_open(path), read_any);
}

SafeTensors *st_open_any_bytes(const char *name, const void *bytes, size_t size)
{
    return st_new(file_of_bytes(name, bytes, size), read_any);
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

bool st_shape(const SafeTensors *st, const StTensor *t, AgShape *shape)
{
    if (t->unreadable) return ag_set_error("%s", t->unreadable);
    if (t->ndim > AG_MAX_DIMS)
        return st_tensor_error(st->file, t->name, "expected at most %d dimensions, found %zu", AG_MAX_DIMS, t->ndim);
    *shape = (AgShape){ .ndim = (int)t->ndim };
    for (size_t i = 0; i < t->ndim; i++) shape->dim[i] = (int64_t)t->dim[i];
    return true;
}

bool st_can_read(const StTensor *t, AgDType dtype)
{
    static const char *const expected[] = { "numbers of a common type", "whole numbers", "BOOL" };
    if (t->unreadable) return ag_set_error("%s", t->unreadable);
    return file_type(t->dtype)->to[dtype] ||
           st_tensor_error(t->file, t->name, "expected %s, found %s", expected[dtype], t->dtype);
}

bool st_read_items(const StTensor *t, AgDType dtype, uint64_t first, uint64_t n, void *out)
{
    static const char *const range[] = { "is finite, but beyond the range of a float", "is not in -2147483648..2147483647" };
    if (!st_can_read(t, dtype) || (t->npy_start && !npz_check(t))) return false;
    const FileType *type = file_type(t->dtype);
    size_t width = (size_t)type->bits / 8, to_width = dtype_bytes(dtype);
    uint64_t offset = t->offset + first * width;
    char chunk[16384];
    if (n > SIZE_MAX / to_width)
        return st_tensor_error(t->file, t->name, "%" PRIu64 " numbers are too many for this machine", n);
    if (type == file_type_of(dtype) && dtype != AG_BOOL) return file_read_at(t->file, offset, out, (size_t)n * to_width);
    for (uint64_t i = 0, k; i < n; i += k) {
        k = sizeof chunk / width;
        if (k > n - i) k = n - i;
        if (!file_read_at(t->file, offset + i * width, chunk, (size_t)k * width)) return false;
        size_t fit = type->to[dtype]((char *)out + i * to_width, chunk, (size_t)k);
        if (fit < k) return st_tensor_error(t->file, t->name, "item %" PRIu64 " %s", first + i + fit, range[dtype]);
    }
    return true;
}

bool st_read(const StTensor *t, AgDType dtype, void *out)
{
    return st_read_items(t, dtype, 0, t->numel, out);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

size_t st_entry_bytes(const StEntry *entry)
{
    return (size_t)ag_shape_numel(entry->shape) * dtype_bytes(entry->dtype);
}

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
        const char *dtype = file_type_of(entry[i].dtype)->name;
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
        offset += st_entry_bytes(&entry[i]);
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
    for (size_t i = 0; i < n; i++)
        file_write(w, entry[i].values_of ? entry[i].values_of(entry[i].arg) : entry[i].values, st_entry_bytes(&entry[i]));
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
