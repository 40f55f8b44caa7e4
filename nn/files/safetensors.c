/* safetensors.c: reads, checks and writes the files of Hugging Face's safetensors library. Such a file is eight bytes with the
 * size of the header, the header in JSON, which gives each tensor's type, shape and offsets, then the values. The header is
 * checked completely, against the size of the file, before anything uses it: each name is unique, each tensor's size agrees
 * with its shape and type, and the tensors fill the file without gap or overlap. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "number.h"
#include "stored.h"
#include "utf8.h"

#define MAX_HEADER 100000000                /* bytes, the limit of the original library */
static const char METADATA[] = "__metadata__";

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool is_text(const Json *value)
{
    return value && value->type == JSON_STRING && strlen(value->as.text) == value->count;
}

static bool read_tensor(NnTensorFile *f, const Json *key, const Json *value, uint64_t data_size, StTensor *t)
{
    const char *name = key->as.text;
    const Json *dtype = json_get(value, "dtype"), *shape = json_get(value, "shape");
    const Json *place = json_get(value, "data_offsets");
    if (!is_text(key)) return st_tensor_error(f->file, name, "expected a name without NUL characters");
    if (value->type != JSON_OBJECT)
        return st_tensor_error(f->file, name, "expected an object, found %s", json_type_name(value));
    if (!is_text(dtype)) return st_tensor_error(f->file, name, "expected a string as dtype, found %s", json_type_name(dtype));
    if (!shape || shape->type != JSON_ARRAY)
        return st_tensor_error(f->file, name, "expected an array as shape, found %s", json_type_name(shape));
    if (!place || place->type != JSON_ARRAY || place->count != 2)
        return st_tensor_error(f->file, name, "expected an array of two numbers as data_offsets");
    const FileType *type = file_type(dtype->as.text, false);
    if (!type) return st_tensor_error(f->file, name, "expected a known dtype, found %s", QUOTED(dtype->as.text));

    int64_t start, end;
    if (!json_int(&place->as.item[0], &start) || !json_int(&place->as.item[1], &end) || start < 0 || end < 0)
        return st_tensor_error(f->file, name, "expected whole numbers of 0 or more in data_offsets, found another value");
    if (start > end || (uint64_t)end > data_size)
        return st_tensor_error(f->file, name, "expected data_offsets that rise within the file's %" PRIu64 " bytes of values, "
                               "found %" PRId64 " and %" PRId64, data_size, start, end);
    *t = (StTensor){ .item.name = name, .offset = (uint64_t)start, .size = (uint64_t)(end - start), .file = f->file };
    return st_set_shape(t, type, shape);
}

static bool read_metadata(NnTensorFile *f, const Json *value)
{
    if (value->type != JSON_OBJECT)
        return ag_set_error("%s: %s: expected an object, found %s", f->file->name, METADATA, json_type_name(value));
    for (uint32_t i = 0; i < value->count; i++) {
        const Json *key = &value->as.item[2 * i];
        if (!is_text(key) || !is_text(key + 1))
            return ag_set_error("%s: %s: expected strings without NUL characters, found another value at %s",
                                f->file->name, METADATA, QUOTED_BYTES(key->as.text, key->count));
    }
    f->metadata = value;
    return true;
}

/* An empty tensor has the same offset as the next one and comes before it. */
static int compare_offsets(const void *left, const void *right)
{
    const StTensor *a = left, *b = right;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return strcmp(a->item.name, b->item.name);
}

/* Fills f from the header, `size` bytes of text, which data_size bytes of values follow. */
static bool read_header(NnTensorFile *f, const char *text, size_t size, uint64_t data_size)
{
    const char *path = f->file->name;
    if (size == 0 || text[0] != '{') return ag_set_error("%s: expected '{' as the header's start", path);
    const Json *root = json_parse(f, text_printf(f, "%s (header)", path), text, size);
    if (!root) return false;
    size_t most = 0;                            /* a description of a tensor has three members or more */
    for (uint32_t i = 0; i < root->count; i++) {
        const Json *value = &root->as.item[2 * i + 1];
        most += value->type == JSON_OBJECT && value->count >= 3;
    }
    StTensor *tensor = f->tensor = ag_alloc_in(f, most, sizeof *tensor);
    for (uint32_t i = 0; i < root->count; i++) {
        const Json *name = &root->as.item[2 * i];
        bool metadata = json_is(name, METADATA);
        if (!(metadata ? read_metadata(f, name + 1) : read_tensor(f, name, name + 1, data_size, &tensor[f->n_tensors])))
            return false;
        f->n_tensors += !metadata;
    }
    if (f->n_tensors) qsort(tensor, f->n_tensors, sizeof *tensor, compare_offsets);
    uint64_t end = 0;
    for (size_t i = 0; i < f->n_tensors; i++) {
        if (tensor[i].offset != end)
            return st_tensor_error(f->file, tensor[i].item.name, "expected its values at offset %" PRIu64 ", without a gap "
                                   "or an overlap, found %" PRIu64, end, tensor[i].offset);
        end += tensor[i].size;
        tensor[i].offset += 8 + size;
    }
    if (end != data_size)
        return ag_set_error("%s: expected %" PRIu64 " bytes of values, found %" PRIu64, path, end, data_size);
    return st_sort_names(f);
}

bool st_read_safetensors(NnTensorFile *f)
{
    const char *path = f->file->name;
    uint64_t size, total = f->file->size;
    if (total < 8) return ag_set_error("%s: expected at least 8 bytes, found %" PRIu64, path, total);
    if (!file_read_at(f->file, 0, &size, sizeof size)) return false;
    if (memcmp(&size, "PK\3\4", 4) == 0 && size > MAX_HEADER)
        return ag_set_error("%s: found a zip file, but not one of NumPy: convert one of torch.save in Python, by "
                            "safetensors.torch.save_file(torch.load(FILE), NEW_FILE)", path);
    if (size > MAX_HEADER)
        return ag_set_error("%s: expected a header of at most %d bytes, found %" PRIu64 ": is this a safetensors file?", path,
                            MAX_HEADER, size);
    if (size > total - 8)
        return ag_set_error("%s: expected a header of %" PRIu64 " bytes, found the end after %" PRIu64, path, size, total - 8);
    char *text = ag_alloc_in(f, (size_t)size, 1);
    return file_read_at(f->file, 8, text, (size_t)size) && read_header(f, text, (size_t)size, total - 8 - size);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static const char *write_header(void *owner, const StEntry *entry, size_t n, const NnSettings *metadata, uint64_t *data_size,
                                size_t *size)
{
    JsonWriter *w = json_writer(owner, 0);
    json_open(w, NULL, '{');
    json_open(w, METADATA, '{');
    json_put_text(w, "format", "pt");
    for (int i = 0; metadata && i < metadata->n; i++) json_put_text(w, metadata->item[i].key, metadata->item[i].value);
    json_close(w, '}');
    uint64_t offset = 0;
    for (size_t i = 0; i < n; i++) {
        json_open(w, entry[i].name, '{');
        json_put_text(w, "dtype", st_entry_type(&entry[i])->name);
        json_open(w, "shape", '[');
        for (int k = 0; k < entry[i].shape.ndim; k++) json_put_int(w, NULL, entry[i].shape.dim[k]);
        json_close(w, ']');
        json_open(w, "data_offsets", '[');
        json_put_int(w, NULL, (int64_t)offset);
        offset += st_entry_bytes(&entry[i]);
        json_put_int(w, NULL, (int64_t)offset);
        json_close(w, ']');
        json_close(w, '}');
    }
    json_close(w, '}');
    *data_size = offset;
    return json_written(w, size);
}

enum { PART = 1 << 18 };        /* numbers, even */

static void write_packed(FileWriter *w, const Tensor *t)
{
    const int64_t width = tensor_dim(t, 1), rows = tensor_dim(t, 0), most = PART / (width + 1) + 1;     /* width may be 0 */
    uint32_t *pairs = ag_alloc((size_t)(most * width / 2), sizeof *pairs);
    for (int64_t i = 0, k; i < rows; i += k) {
        k = rows - i < most ? rows - i : most;
        ag_packed_read(t, i, k, pairs);
        file_write(w, pairs, (size_t)(k * width) * 2);
    }
    ag_free(pairs);
}

static void write_rounded(FileWriter *w, const ag_real *values, int64_t n)
{
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < PART ? n - i : PART;
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *part = tensor_zeros(SHAPE(k + k % 2));
        memcpy(tensor_mutable_data(part), values + i, (size_t)k * sizeof *values);
        file_write(w, tensor_int_data(ag_to_bf16(part)), (size_t)k * 2);
        ag_end(s);
    }
}

static void write_values(FileWriter *w, const StEntry *entry)
{
    const void *values = entry->values_of ? entry->values_of(entry->arg) : entry->values;
    if (entry->dtype == AG_PACKED) write_packed(w, values);
    else if (entry->round) write_rounded(w, values, ag_shape_numel(entry->shape));
    else file_write(w, values, st_entry_bytes(entry));
}

bool st_write(const char *path, const StEntry *entry, size_t n, const NnSettings *metadata)
{
    NnTensorFile *check = ag_object_new(sizeof *check);     /* reads the header as a reader of the file would */
    check->file = file_of_bytes(path, "", 0);
    ag_set_owner(check->file, check);
    uint64_t data_size;
    size_t size;
    const char *header = write_header(check, entry, n, metadata, &data_size, &size);
    bool good = header ? size <= MAX_HEADER : ag_set_error("%s: a name or a setting: %s", path, ag_error());
    if (header && !good)
        ag_set_error("%s: expected names and settings of at most %d bytes in all, found %zu", path, MAX_HEADER, size);
    FileWriter *w = good && read_header(check, header, size, data_size) ? file_replace(path) : NULL;
    if (w) {
        size_t padding = (8 - size % 8) % 8;                /* the offset of the values is a multiple of 8 */
        uint64_t length = size + padding;
        file_write(w, &length, sizeof length);
        file_write(w, header, size);
        file_write(w, "       ", padding);
        for (size_t i = 0; i < n; i++) write_values(w, &entry[i]);
    }
    ag_free(check);
    return w && file_commit(w);
}
