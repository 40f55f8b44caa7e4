/* safetensors.c: reads, checks and writes the files of Hugging Face's safetensors library. Such a file is eight bytes with the
 * size of the header, the header in JSON, which gives each tensor's type, shape and offsets, then the values. The header is
 * checked completely, against the size of the file, before anything uses it: each name is unique, each tensor's size agrees
 * with its shape and type, and the tensors fill the file without gap or overlap. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/values.h"
#include "numbers.h"
#include "settings.h"
#include "stored.h"
#include "utf8.h"

#define MAX_HEADER 100000000                /* bytes, the limit of the original library */
static const char METADATA[] = "__metadata__";

/* A file that this library writes has hashes in its metadata, sixteen hexadecimal digits each: first that of the header,
 * in which these digits count as zeros, then those of the tensors' values, in their order. The text begins with a mark:
 * a header in which the key is damaged is not taken for one without hashes. */
static const char HASHES[] = "kaeru.hash", MARK[] = "kaeru-hash 1 ";
static const char HASHED[] = "{\"__metadata__\":{\"format\":\"pt\",\"kaeru.hash\":\"kaeru-hash 1 ";   /* begins the header */
enum { DIGITS = 16, PLACE = sizeof HASHED - 1 };

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
    if (!dtype || dtype->type != JSON_STRING)
        return st_tensor_error(f->file, name, "expected a string as dtype, found %s", json_type_name(dtype));
    if (!shape || shape->type != JSON_ARRAY)
        return st_tensor_error(f->file, name, "expected an array as shape, found %s", json_type_name(shape));
    if (!place || place->type != JSON_ARRAY || place->count != 2)
        return st_tensor_error(f->file, name, "expected an array of two numbers as data_offsets");
    const FileType *type = file_type(dtype, false);
    if (!type) return st_tensor_error(f->file, name, "expected a known dtype, found %s",
                                      QUOTED_BYTES(dtype->as.text, dtype->count));

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
    if (value->type == JSON_NULL) return true;
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

static bool damaged_header(const NnTensorFile *f)
{
    return ag_set_error("%s: its header is damaged, or another program has changed the file and kept its old hash: such a "
                        "program "
                        "must leave out %s of the metadata", f->file->name, HASHES);
}

/* Whether the metadata have hashes, as many as the file has tensors, in their place. False with ag_error() if only a part of
 * that is so. */
static bool find_hashes(const NnTensorFile *f, const char *text, size_t size, bool *found)
{
    *found = false;
    for (uint32_t i = 0; f->metadata && i < f->metadata->count; i++) {
        const Json *key = &f->metadata->as.item[2 * i];
        bool named = json_is(key, HASHES), marked = strncmp(key[1].as.text, MARK, sizeof MARK - 1) == 0;
        if (named != marked) return damaged_header(f);
        if (!named) continue;
        size_t digits = DIGITS + f->n_tensors * (DIGITS + 1);
        if (key[1].count != sizeof MARK - 1 + digits || size < PLACE + digits || memcmp(text, HASHED, PLACE) != 0)
            return damaged_header(f);
        *found = true;
    }
    return true;
}

/* Writes a hash as sixteen digits. */
static void put_digits(char *to, uint64_t hash)
{
    for (int i = 0; i < DIGITS; i++) to[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
}

static uint64_t hash_of_digits(const char *text)
{
    uint64_t hash = 0;
    for (int i = 0; i < DIGITS; i++) hash = hash << 4 | (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
    return hash;
}

/* Compares the header's hash, and notes those of the values, which are compared when these are read. */
static bool read_hashes(NnTensorFile *f, char *text, size_t size)
{
    bool found;
    char expected[DIGITS], actual[DIGITS];
    if (!find_hashes(f, text, size, &found)) return false;
    if (!found) return true;
    memcpy(expected, text + PLACE, DIGITS);
    memset(text + PLACE, '0', DIGITS);
    StHash hash = { 0 };
    st_hash_add(&hash, text, size);
    put_digits(actual, st_hash_end(&hash));
    if (memcmp(expected, actual, DIGITS) != 0) return damaged_header(f);
    for (size_t i = 0; i < f->n_tensors; i++) {
        f->tensor[i].has_hash = true;
        f->tensor[i].hash = hash_of_digits(text + PLACE + (i + 1) * (DIGITS + 1));
    }
    return true;
}

bool st_read_safetensors(NnTensorFile *f)
{
    const char *path = f->file->name;
    uint64_t size, total = f->file->size;
    if (total < 8) return ag_set_error("%s: expected at least 8 bytes, found %" PRIu64, path, total);
    if (!file_read_bytes(f->file, 0, &size, sizeof size)) return false;
    if (memcmp(&size, "PK\3\4", 4) == 0 && size > MAX_HEADER)
        return ag_set_error("%s: found a zip file, but not one of NumPy: convert one of torch.save in Python, by "
                            "safetensors.torch.save_file(torch.load(FILE), NEW_FILE)", path);
    if (size > MAX_HEADER)
        return ag_set_error("%s: expected a header of at most %d bytes, found %" PRIu64 ": is this a safetensors file?", path,
                            MAX_HEADER, size);
    if (size > total - 8)
        return ag_set_error("%s: expected a header of %" PRIu64 " bytes, found the end after %" PRIu64, path, size, total - 8);
    char *text = ag_alloc_in(f, (size_t)size, 1);
    return file_read_bytes(f->file, 8, text, (size_t)size) && read_header(f, text, (size_t)size, total - 8 - size) &&
           read_hashes(f, text, (size_t)size);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The text of the metadata for n tensors, with zeros as hashes. */
static char *no_hashes(void *owner, size_t n)
{
    size_t size = sizeof MARK - 1 + DIGITS + n * (DIGITS + 1);
    char *text = ag_alloc_in(owner, size + 1, 1);
    memset(text, '0', size);
    memcpy(text, MARK, sizeof MARK - 1);
    for (size_t i = 0; i < n; i++) text[sizeof MARK - 1 + DIGITS + i * (DIGITS + 1)] = ' ';
    return text;
}

/* The header, of which the size is a multiple of 8, so that the values begin at one. NULL with ag_error() if a name or a
 * setting cannot be written. */
static char *write_header(void *owner, const StEntry *entry, size_t n, const NnSettings *metadata, uint64_t *data_size,
                                size_t *size)
{
    JsonWriter *w = json_writer(owner, 0);
    json_open(w, NULL, '{');
    json_open(w, METADATA, '{');
    json_put_text(w, "format", "pt");
    json_put_text(w, HASHES, no_hashes(owner, n));
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
    const char *text = json_written(w, size);
    if (!text) return NULL;
    size_t padding = (8 - *size % 8) % 8;
    char *header = ag_alloc_in(owner, *size + padding + 1, 1);
    memcpy(header, text, *size);
    memset(header + *size, ' ', padding);
    *size += padding;
    return header;
}

/* A file that is written, and the hash of a tensor's values. */
typedef struct { FileWriter *w; StHash hash; } Output;

static void put(Output *out, const void *bytes, size_t n)
{
    file_write(out->w, bytes, n);
    st_hash_add(&out->hash, bytes, n);
}

enum { PART = 1 << 18 };        /* numbers, even */

static void write_packed(Output *out, const Tensor *t)
{
    const int64_t width = tensor_dim(t, 1), rows = tensor_dim(t, 0), most = PART / (width + 1) + 1;     /* width may be 0 */
    uint32_t *pairs = ag_alloc((size_t)(most * width / 2), sizeof *pairs);
    for (int64_t i = 0, k; i < rows; i += k) {
        k = rows - i < most ? rows - i : most;
        ag_packed_read(t, i, k, pairs);
        put(out, pairs, (size_t)(k * width) * 2);
    }
    ag_free(pairs);
}

static void write_rounded(Output *out, const ag_real *values, int64_t n)
{
    for (int64_t i = 0, k; i < n; i += k) {
        k = n - i < PART ? n - i : PART;
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *part = tensor_zeros(SHAPE(k + k % 2));
        memcpy(tensor_mutable_data(part), values + i, (size_t)k * sizeof *values);
        put(out, tensor_int_data(ag_to_bf16(part)), (size_t)k * 2);
        ag_end(s);
    }
}

static void write_values(Output *out, const StEntry *entry)
{
    const void *values = entry->values_of ? entry->values_of(entry->arg) : entry->values;
    if (entry->dtype == AG_PACKED) write_packed(out, values);
    else if (entry->round) write_rounded(out, values, ag_shape_numel(entry->shape));
    else put(out, values, st_entry_bytes(entry));
}

bool st_write_described(const char *path, const StEntry *entry, size_t n, const NnSettings *metadata, FileWriter *config)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(entry[i].name, METADATA) == 0)
            return ag_set_error("%s: a tensor is named %s, which in a safetensors file is the name of its metadata: expected "
                                "another name", path, METADATA);
    NnTensorFile *check = ag_object_new(sizeof *check);     /* reads the header as a reader of the file would */
    check->file = file_of_bytes(path, "", 0);
    ag_set_owner(check->file, check);
    uint64_t data_size;
    size_t size;
    char *header = write_header(check, entry, n, metadata, &data_size, &size);
    bool good = header ? size <= MAX_HEADER : ag_set_error("%s: a name or a setting: %s", path, ag_error());
    if (header && !good)
        ag_set_error("%s: expected names and settings of at most %d bytes in all, found %zu", path, MAX_HEADER, size);
    bool hashed;
    good = good && read_header(check, header, size, data_size) && find_hashes(check, header, size, &hashed);
    FileWriter *w = good ? file_replace(path) : NULL;
    if (w) {
        uint64_t length = size;
        StHash of_header = { 0 };
        file_write(w, &length, sizeof length);
        file_write(w, header, size);
        for (size_t i = 0; i < n; i++) {
            Output out = { .w = w };
            write_values(&out, &entry[i]);
            put_digits(header + PLACE + (i + 1) * (DIGITS + 1), st_hash_end(&out.hash));
        }
        st_hash_add(&of_header, header, size);
        put_digits(header + PLACE, st_hash_end(&of_header));
        file_write_bytes(w, sizeof length + PLACE, header + PLACE, DIGITS + n * (DIGITS + 1));
    }
    ag_free(check);
    return w && (config ? file_commit_both(w, config) : file_commit(w));
}

bool st_write(const char *path, const StEntry *entry, size_t n, const NnSettings *metadata)
{
    return st_write_described(path, entry, n, metadata, NULL);
}
