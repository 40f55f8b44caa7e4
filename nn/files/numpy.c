/* numpy.c: reads and writes NumPy's files. An .npy file is the bytes "\x93NUMPY", a version, the size of the header, the header
 * (a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }), then the values. An .npz file is a
 * ZIP archive of them, here without compression: for each a local header and the file, at the end a directory of all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stored.h"
#include "utf8.h"

static uint32_t get16(const char *p)
{
    return (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8;
}

static uint32_t get32(const char *p)
{
    return get16(p) | get16(p + 2) << 16;
}

static uint64_t get64(const char *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* ---- .npy -------------------------------------------------------------------------------------------------------- */

static const char MAGIC[] = "\x93NUMPY";
enum { MAX_NPY_HEADER = 65536, MAX_NUMPY_DIMS = 64 };

/* Rewrites a header as JSON, in place: quotes, brackets, truth values, and no comma before a closing bracket. An L behind a
 * number, which Python 2 writes, becomes a space. What is JSON but no tuple or truth value of Python becomes what is no JSON:
 * square brackets, true, false, null, and parentheses around one value without a comma. */
static void python_to_json(char *text)
{
    static const char python[] = "'()TF[]tfn", json[] = "\"[]tf?????";
    char quote = '\0', *comma = NULL, *open = NULL;              /* open: the last parenthesis, while no comma is behind it */
    for (char *p = text; *p; p++) {
        bool ends = *p == quote, closes = *p == ')' || *p == '}';
        if (quote && !ends) continue;
        if (ends) quote = '\0';
        else if (*p == '\'' || *p == '"') quote = *p;
        if (closes && comma) *comma = ' ';
        bool one = *p == ')' && open && open + 1 + strspn(open + 1, " \n") < p;
        if (*p == '(' || *p == ',' || closes) open = *p == '(' ? p : NULL;
        if (!strchr(" \n", *p)) comma = *p == ',' ? p : NULL;
        if (*p == 'L' && p > text && p[-1] >= '0' && p[-1] <= '9') *p = ' ';
        const char *found = strchr(python, *p);
        if (found) *p = json[found - python];
        if (one) *p = '?';
    }
}

/* Reads the .npy file of `size` bytes at `offset` as the tensor of that name. Its header belongs to `work`. */
static bool read_npy(NnTensorFile *f, void *work, const char *name, uint64_t offset, uint64_t size, StTensor *t)
{
    enum { BEFORE = 12 };                                           /* bytes before the header; 10 in version 1 */
    char text[BEFORE + MAX_NPY_HEADER + 1];
    if (size < BEFORE) return st_tensor_error(f->file, name, "expected an .npy file, found %" PRIu64 " bytes", size);
    if (!file_read_bytes(f->file, offset, text, BEFORE)) return false;
    if (memcmp(text, MAGIC, 6) != 0) return st_tensor_error(f->file, name, "expected the start of an .npy file");
    int version = text[6];
    if (version < 1 || version > 3)
        return st_tensor_error(f->file, name, "expected version 1, 2 or 3 of .npy, found %d", version);
    uint32_t length = version == 1 ? get16(text + 8) : get32(text + 8), before = version == 1 ? 10 : BEFORE;
    if (length > MAX_NPY_HEADER || length > size - before)
        return st_tensor_error(f->file, name, "expected a header of at most %d bytes within the file, found %" PRIu32,
                               MAX_NPY_HEADER, length);
    char *header = text + before;
    if (!file_read_bytes(f->file, offset + before, header, length)) return false;
    char *json = ag_strndup_in(work, header, length);
    python_to_json(json);
    const Json *root = json_parse(work, name, json, length), *descr = json_get(root, "descr");
    const Json *fortran = json_get(root, "fortran_order"), *shape = json_get(root, "shape");
    if (!descr || descr->type != JSON_STRING || !fortran || fortran->type != JSON_BOOL || !shape ||
        shape->type != JSON_ARRAY || root->count != 3)
        return st_tensor_error(f->file, name, "expected a header as {'descr': '<f4', 'fortran_order': False, "
                               "'shape': (3, 4), }, found %s", QUOTED_BYTES(header, length));
    if (shape->count > MAX_NUMPY_DIMS)
        return st_tensor_error(f->file, name, "expected at most %d dimensions, as NumPy, found %" PRIu32, MAX_NUMPY_DIMS,
                               shape->count);
    const FileType *type = file_type(descr, true);
    const char *quoted = QUOTED_BYTES(descr->as.text, descr->count);
    if (!type) return st_tensor_error(f->file, name, "expected %s, found %s", *descr->as.text == '>' ?
                                      "little-endian numbers" : "numbers of a known type", quoted);
    if (fortran->as.truth)
        return st_tensor_error(f->file, name, "is in Fortran's order; save np.ascontiguousarray(x) instead of x");
    *t = (StTensor){ .item.name = name, .offset = offset + before + length, .size = size - before - length, .file = f->file,
                     .checksum_before = crc32_add(0, text, before + length) };
    return st_set_shape(t, type, shape);
}

bool st_read_npy(NnTensorFile *f)
{
    f->tensor = ag_alloc_in(f, 1, sizeof *f->tensor);
    f->n_tensors = 1;
    void *work = ag_alloc(1, 1);
    bool good = read_npy(f, work, st_the_array, 0, f->file->size, &f->tensor[0]);
    ag_free(work);
    return good && st_sort_names(f);
}

/* ---- .npz -------------------------------------------------------------------------------------------------------- */

enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50 };        /* what the parts of an archive begin with */
enum { LOCAL_SIZE = 30, CENTRAL_SIZE = 46, END_SIZE = 22, MAX_COMMENT = 65535 };
/* ZIP64, from 2 GiB on in np.savez: the end as a record with numbers of 64 bits, and where that is. */
enum { END64 = 0x06064b50, END64_SIZE = 56, LOCATOR = 0x07064b50, LOCATOR_SIZE = 20 };
static const char SUFFIX[] = ".npy";
enum { SUFFIX_SIZE = sizeof SUFFIX - 1 };

/* An entry of the directory. Its data is in the archive from `offset` to less than `end`, where the next entry or the directory
 * begins, so that no byte of a file is read for two entries. */
typedef struct {
    const char *record;                                             /* in the directory */
    uint64_t size, unpacked, offset, end;
} Entry;

/* Each of the numbers that has all bits set stands in the extra field of ZIP64, which is number 1, of the entry's record, in
 * this order. Without the field it stays. */
static void read_zip64(Entry *e)
{
    uint64_t *number[] = { &e->unpacked, &e->size, &e->offset };
    const char *extra = e->record + CENTRAL_SIZE + get16(e->record + 28);
    size_t n = get16(e->record + 30), at = 0;
    while (at + 4 <= n && get16(extra + at) != 1) at += 4 + get16(extra + at + 2);
    if (at + 4 > n) return;
    size_t end = at + 4 + get16(extra + at + 2);
    at += 4;
    for (int i = 0; i < 3 && end <= n; i++) {
        if (*number[i] != UINT32_MAX || at + 8 > end) continue;
        *number[i] = get64(extra + at);
        at += 8;
    }
}

/* Of two at one place, the later one in the directory has its bytes, as in Python's zipfile. */
static int compare_entries(const void *left, const void *right)
{
    const Entry *a = *(Entry *const *)left, *b = *(Entry *const *)right;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

/* Reads a directory of `size` bytes, which begins at offset `start`, into entry[count]. */
static bool read_directory(NnTensorFile *f, const char *directory, size_t size, uint64_t start, Entry *entry, size_t count)
{
    const char *p = directory, *stop = directory + size;
    Entry **by_offset = ag_alloc_in(f, count, sizeof *by_offset);
    for (size_t i = 0; i < count; i++) {
        size_t left = (size_t)(stop - p);
        if (left < CENTRAL_SIZE || get32(p) != CENTRAL ||
            get16(p + 28) + get16(p + 30) + get16(p + 32) > left - CENTRAL_SIZE)
            return ag_set_error("%s: expected a directory of %zu more bytes with an entry for each array", f->file->name, left);
        entry[i] = (Entry){ p, get32(p + 20), get32(p + 24), get32(p + 42), 0 };
        read_zip64(&entry[i]);
        by_offset[i] = &entry[i];
        p += CENTRAL_SIZE + get16(p + 28) + get16(p + 30) + get16(p + 32);
    }
    if (p != stop) return ag_set_error("%s: expected %zu entries in the directory, found more", f->file->name, count);
    if (count) qsort(by_offset, count, sizeof *by_offset, compare_entries);
    for (size_t i = 0; i < count; i++) by_offset[i]->end = i + 1 < count ? by_offset[i + 1]->offset : start;
    ag_free(by_offset);
    return true;
}

/* Whether the local header at the entry's offset has the same name. Moves the offset to the data behind it. */
static bool read_local(NnTensorFile *f, const char *name, uint64_t directory, Entry *e)
{
    const char *before = e->end < directory ? "the next entry" : "the directory";
    uint64_t left = e->offset < e->end && e->end <= directory ? e->end - e->offset : 0;
    char local[LOCAL_SIZE], local_name[UINT16_MAX];
    if (left < LOCAL_SIZE) return st_tensor_error(f->file, name, "expected its data before %s", before);
    if (!file_read_bytes(f->file, e->offset, local, sizeof local)) return false;
    if (get32(local) != LOCAL)
        return st_tensor_error(f->file, name, "expected the start of an entry at offset %" PRIu64, e->offset);
    size_t length = get16(local + 26), header = LOCAL_SIZE + length + get16(local + 28);
    if (header > left || e->size > left - header)
        return st_tensor_error(f->file, name, "expected its data before %s", before);
    if (!file_read_bytes(f->file, e->offset + LOCAL_SIZE, local_name, length)) return false;
    if (length != strlen(name) || memcmp(local_name, name, length) != 0)
        return st_tensor_error(f->file, name, "expected this name before its data, too, found %s",
                               QUOTED_BYTES(local_name, length));
    e->offset += header;
    return true;
}

/* Reads the array of the entry of that name. The directory is at that offset. */
static bool read_array(NnTensorFile *f, void *work, Entry *e, const char *name, uint64_t directory, StTensor *t)
{
    enum { ENCRYPTED = 1, PATCHED = 32 };
    uint32_t flags = get16(e->record + 8), method = get16(e->record + 10);
    if (!st_ends_in(name, SUFFIX))
        return st_tensor_error(f->file, name, "expected a name that ends in .npy: was this archive made by np.savez?");
    if (flags & ENCRYPTED) return st_tensor_error(f->file, name, "is encrypted");
    if (method != 0 || flags & PATCHED)
        return st_tensor_error(f->file, name, "is compressed; np.savez writes arrays that are not");
    if (e->size != e->unpacked)
        return st_tensor_error(f->file, name, "expected one size without compression, found %" PRIu64 " and %" PRIu64, e->size,
                               e->unpacked);
    if (!read_local(f, name, directory, e) || !read_npy(f, work, t->item.name, e->offset, e->size, t)) return false;
    t->has_checksum = true;
    t->checksum = get32(e->record + 16);
    return true;
}

/* Reads an entry. One that is no array, or that cannot be read, is a tensor with the reason. */
static bool read_entry(NnTensorFile *f, Entry *e, uint64_t directory, StTensor *t)
{
    void *work = ag_alloc(1, 1);
    size_t length = get16(e->record + 28);
    const char *name = ag_strndup_in(work, e->record + CENTRAL_SIZE, length);
    bool good = (strlen(name) == length && utf8_valid(name, length) == length) ||
                st_tensor_error(f->file, name, "expected a name in UTF-8 without NUL characters");
    t->item.name = ag_strndup_in(f, name, strlen(name) - (st_ends_in(name, SUFFIX) ? SUFFIX_SIZE : 0));
    if (good && !read_array(f, work, e, name, directory, t))
        *t = (StTensor){ .item = { t->item.name, "", { .ndim = -1 } }, .file = f->file,
                         .unreadable = ag_strndup_in(f, ag_error(), strlen(ag_error())) };
    ag_free(work);
    return good;
}

/* The offset in the last `n` bytes of the end's record, which a comment may follow; n if there is none. */
static size_t find_end(const char *tail, size_t n)
{
    for (size_t i = n < END_SIZE ? 0 : n - END_SIZE + 1; i > 0; i--)
        if (get32(tail + i - 1) == END && get16(tail + i - 1 + 20) == n - (i - 1) - END_SIZE) return i - 1;
    return n;
}

bool st_read_npz(NnTensorFile *f)
{
    const char *archive = f->file->name;
    uint64_t total = f->file->size;
    enum { MAX_TAIL = LOCATOR_SIZE + END_SIZE + MAX_COMMENT };
    size_t n = total < MAX_TAIL ? (size_t)total : MAX_TAIL;
    char *tail = ag_alloc_in(f, n, 1);
    if (!file_read_bytes(f->file, total - n, tail, n)) return false;
    size_t at = find_end(tail, n);
    if (at == n) return ag_set_error("%s: expected the end of a ZIP archive: is the file complete?", archive);
    uint64_t count = get16(tail + at + 10), size = get32(tail + at + 12), start = get32(tail + at + 16), end = total - n + at;
    if (at >= LOCATOR_SIZE && get32(tail + at - LOCATOR_SIZE) == LOCATOR) {
        char record[END64_SIZE];
        end = get64(tail + at - LOCATOR_SIZE + 8);
        if (!file_read_bytes(f->file, end, record, sizeof record)) return false;
        if (get32(record) != END64)
            return ag_set_error("%s: expected the end's record of ZIP64 at offset %" PRIu64, archive, end);
        count = get64(record + 32), size = get64(record + 40), start = get64(record + 48);
    }
    if (start > end || size != end - start || size > SIZE_MAX)
        return ag_set_error("%s: expected a directory at the end, found %" PRIu64 " bytes at offset %" PRIu64, archive, size,
                            start);
    if (count > size / CENTRAL_SIZE)
        return ag_set_error("%s: expected a directory with an entry for each of %" PRIu64 " arrays, found %" PRIu64 " bytes",
                            archive, count, size);
    char *directory = ag_alloc_in(f, (size_t)size, 1);
    if (!file_read_bytes(f->file, start, directory, (size_t)size)) return false;
    f->tensor = ag_alloc_in(f, (size_t)count, sizeof *f->tensor);
    Entry *entry = ag_alloc_in(f, (size_t)count, sizeof *entry);
    if (!read_directory(f, directory, (size_t)size, start, entry, (size_t)count)) return false;
    size_t unreadable = 0;
    while (f->n_tensors < count) {
        size_t i = f->n_tensors++;
        if (!read_entry(f, &entry[i], start, &f->tensor[i])) return false;
        unreadable += f->tensor[i].unreadable != NULL;
    }
    ag_free(entry);
    ag_free(directory);
    if (count && unreadable == count) return ag_set_error("%s", f->tensor[0].unreadable);
    return st_sort_names(f);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum { MOST_WRITTEN = 320 };                                        /* bytes of an .npy header that is written here */

/* The header of an entry's .npy file with what is before it, padded so that the values begin at a multiple of 64. */
static size_t npy_header(const StEntry *entry, char out[MOST_WRITTEN])
{
    size_t n = 10;
    n += (size_t)snprintf(out + n, MOST_WRITTEN - n, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          file_type_of(entry->dtype)->numpy);
    for (int i = 0; i < entry->shape.ndim; i++)
        n += (size_t)snprintf(out + n, MOST_WRITTEN - n, i ? " %" PRId64 "," : "%" PRId64 ",", entry->shape.dim[i]);
    if (entry->shape.ndim > 1) n--;                                 /* (3,) needs its comma, (3, 4) does not */
    n += (size_t)snprintf(out + n, MOST_WRITTEN - n, "), }");
    size_t whole = (n + 1 + 63) / 64 * 64;
    memset(out + n, ' ', whole - n);
    out[whole - 1] = '\n';
    memcpy(out, MAGIC, 6);
    memcpy(out + 6, (char[]){ 1, 0, (char)((whole - 10) & 255), (char)((whole - 10) >> 8) }, 4);
    return whole;
}

bool npy_write(const char *path, const StEntry *entry)
{
    char header[MOST_WRITTEN];
    size_t n = npy_header(entry, header);
    FileWriter *w = file_replace(path);
    if (!w) return false;
    file_write(w, header, n);
    file_write(w, entry->values, st_entry_bytes(entry));
    return file_commit(w);
}

static char *put16(char *p, uint32_t value)
{
    p[0] = (char)(value & 255);
    p[1] = (char)(value >> 8 & 255);
    return p + 2;
}

static char *put32(char *p, uint32_t value)
{
    return put16(put16(p, value), value >> 16);
}

/* What the local header and the directory's entry have in common: version 2.0, names in UTF-8, stored, 1 January 1980. */
static char *put_common(char *p, uint32_t crc, uint32_t size, size_t length)
{
    p = put32(put16(put16(put16(put16(put16(p, 20), 0x800), 0), 0), 0x21), crc);
    return put16(put16(put32(put32(p, size), size), (uint32_t)length), 0);
}

/* Writes an entry at *offset, which it moves behind the entry, and at p the directory's record of it. Returns p behind that. */
static char *write_entry(FileWriter *w, const StEntry *entry, uint32_t *offset, char *p)
{
    char npy[MOST_WRITTEN], local[LOCAL_SIZE];
    size_t n = npy_header(entry, npy), bytes = st_entry_bytes(entry), length = strlen(entry->name) + SUFFIX_SIZE;
    uint32_t crc = crc32_add(crc32_add(0, npy, n), entry->values, bytes), size = (uint32_t)(n + bytes);
    put_common(put16(put32(p, CENTRAL), 20), crc, size, length);
    put32(p + 42, *offset);
    p += CENTRAL_SIZE;
    memcpy(p, entry->name, length - SUFFIX_SIZE);
    memcpy(p + length - SUFFIX_SIZE, SUFFIX, SUFFIX_SIZE);
    put_common(put32(local, LOCAL), crc, size, length);
    file_write(w, local, sizeof local);
    file_write(w, p, length);
    file_write(w, npy, n);
    file_write(w, entry->values, bytes);
    *offset += LOCAL_SIZE + (uint32_t)length + size;
    return p + length;
}

/* Whether an archive can have these entries. Sets *directory to the size of what its directory says of them. */
static bool check_entries(const char *path, const StEntry *entry, size_t n, size_t *directory)
{
    uint64_t size = END_SIZE;
    char header[MOST_WRITTEN];
    if (n >= 65535) return ag_set_error("%s: expected less than 65535 arrays, found %zu", path, n);
    *directory = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(entry[i].name);
        const char *quoted = QUOTED(entry[i].name);
        if (length > 65535 - SUFFIX_SIZE || utf8_valid(entry[i].name, length) < length)
            return ag_set_error("%s: expected names in UTF-8 of at most 65531 bytes, found %s", path, quoted);
        for (size_t k = 0; k < i; k++)
            if (strcmp(entry[k].name, entry[i].name) == 0)
                return ag_set_error("%s: expected each name once, found %s again", path, quoted);
        *directory += CENTRAL_SIZE + length + SUFFIX_SIZE;
        size += LOCAL_SIZE + length + SUFFIX_SIZE + npy_header(&entry[i], header) + (uint64_t)st_entry_bytes(&entry[i]);
        if (size + *directory >= UINT32_MAX)
            return ag_set_error("%s: expected less than 4 GiB in an .npz file; a .safetensors file can be larger", path);
    }
    return true;
}

bool npz_write(const char *path, const StEntry *entry, size_t n)
{
    size_t size = 0;
    FileWriter *w = check_entries(path, entry, n, &size) ? file_replace(path) : NULL;
    if (!w) return false;
    char *directory = ag_alloc_in(w, size, 1), *p = directory, end[END_SIZE] = { 0 };
    uint32_t start = 0;
    for (size_t i = 0; i < n; i++) p = write_entry(w, &entry[i], &start, p);
    file_write(w, directory, size);
    put32(put32(put16(put16(put32(put32(end, END), 0), (uint32_t)n), (uint32_t)n), (uint32_t)size), start);
    file_write(w, end, sizeof end);
    return file_commit(w);
}
