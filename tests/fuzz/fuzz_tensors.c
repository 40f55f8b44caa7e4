/* fuzz_tensors.c: every tensor of an accepted .npy or .npz file, or of a model in several files, can be read or is refused. The
 * first byte of the input tells what the rest is: 0, a whole file; 1, the header of an .npy file up to the first newline, then
 * the values; 2, the directory of an archive with two arrays; 3, the index of a model in several files. */
#include <unistd.h>

#include "fuzz.h"
#include "stored.h"

static void read_all(NnTensorFile *st, const char *name)
{
    if (!st) {
        fuzz_check_refusal(name);
        return;
    }
    CHECK(tensor_file_count(st) >= 0);
    for (int i = 0; i < tensor_file_count(st); i++) {
        const NnFileTensor *item = tensor_file_item(st, i);
        CHECK(tensor_file_find(st, item->name) == item);
        CHECK(st->tensor[i].offset + st->tensor[i].size <= st->tensor[i].file->size);
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *t = tensor_file_get(st, item->name);
        if (t) CHECK(ag_shape_equal(tensor_shape(t), item->shape));
        else fuzz_check_refusal(name);
        ag_end(s);
    }
    ag_free(st);
}

/* Bytes in memory of their size, so that sanitizers find a read after the end. */
static void read_bytes(const uint8_t *bytes, size_t n)
{
    uint8_t *exact = malloc(n + !n);
    memcpy(exact, bytes, n);
    read_all(st_new(file_of_bytes("fuzz", exact, n), st_read_any), "fuzz");
    free(exact);
}

static size_t npy_of(uint8_t *out, const uint8_t *data, size_t n)
{
    const uint8_t *line = n ? memchr(data, '\n', n) : NULL;
    size_t header = line ? (size_t)(line - data) + 1 : n;
    memcpy(out, "\x93NUMPY\1", 8);
    out[8] = (uint8_t)header;
    out[9] = (uint8_t)(header >> 8);
    memcpy(out + 10, data, n);
    return n + 10;
}

static uint8_t *put(uint8_t *p, const void *bytes, size_t n)
{
    return (uint8_t *)memcpy(p, bytes, n) + n;
}

/* Two entries of 111 bytes, x.npy and y.npy with two floats each, then this directory. */
static size_t archive_of(uint8_t *out, const uint8_t *directory, size_t n)
{
    static const char npy[] = "\x93NUMPY\1\0\72\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
    uint8_t *p = out;
    for (int i = 0; i < 2; i++) {
        static const char local[30] = { 'P', 'K', 3, 4, 20, 0, [26] = 5 };
        p = put(put(put(put(p, local, 30), i ? "y.npy" : "x.npy", 5), npy, sizeof npy - 1), "\0\0\0\0\0\0\0\0", 8);
    }
    uint32_t start = (uint32_t)(p - out), size = (uint32_t)n;
    p = put(put(p, directory, n), "PK\5\6\0\0\0\0\2\0\2\0", 12);
    p = put(put(put(p, &size, 4), &start, 4), "\0\0", 2);
    return (size_t)(p - out);
}

static char folder[] = "/tmp/kaeru_fuzz_XXXXXX", shard[64], index_path[64];

static void remove_folder(void)
{
    unlink(shard);
    unlink(index_path);
    rmdir(folder);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

/* A folder with a file "s" that has the tensors x and y. */
static void make_folder(void)
{
    static const char header[] = "{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                                 "\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}";
    uint8_t bytes[256] = { sizeof header - 1 };
    CHECK(mkdtemp(folder));
    snprintf(shard, sizeof shard, "%s/s", folder);
    snprintf(index_path, sizeof index_path, "%s/i.json", folder);
    memcpy(bytes + 8, header, sizeof header - 1);
    write_file(shard, bytes, 8 + sizeof header - 1 + 2);
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] > 3) return -1;
    const uint8_t *rest = data + 1;
    size_t n = size - 1;
    uint8_t *bytes = malloc(n + 512);
    switch (data[0]) {
    case 0: read_bytes(rest, n); break;
    case 1: read_bytes(bytes, npy_of(bytes, rest, n)); break;
    case 2: read_bytes(bytes, archive_of(bytes, rest, n)); break;
    default:
        if (!shard[0]) make_folder();
        write_file(index_path, rest, n);
        read_all(st_open(index_path), folder);
    }
    free(bytes);
    return 0;
}
