/* fuzz_safetensors.c: every tensor of an accepted file can be read. After an even first byte the input is a whole file, after
 * an odd one it is a header up to the first newline, then the values. */
#include "fuzz.h"
#include "stored.h"

/* The number of items must be the product of the sizes without overflow in 64 bits. */
static bool numel_is_right(const StTensor *t)
{
    double product = 1;
    for (int i = 0; i < t->item.shape.ndim; i++) {
        if (t->item.shape.dim[i] == 0) return t->numel == 0;
        product *= (double)t->item.shape.dim[i];
    }
    return product == (double)t->numel;
}

static void read_all(const NnTensorFile *st, size_t size)
{
    uint64_t total = 0;
    for (size_t i = 0; i < st->n_tensors; i++) {
        const StTensor *t = &st->tensor[i];
        CHECK(st_find(st, t->item.name) == t);
        CHECK(t->unreadable || numel_is_right(t));
        CHECK(t->offset + t->size <= size);
        total += t->size;
        CHECK(t->numel <= 2 * t->size);                         /* no type has less than four bits */
        ag_real *values = malloc((size_t)t->numel * sizeof *values + 1);
        if (!st_read(t, AG_REAL, 0, t->numel, values)) fuzz_check_refusal("fuzz: tensor ");
        free(values);
    }
    CHECK(total <= size);
    for (uint32_t i = 0; st->metadata && i < st->metadata->count; i++)
        CHECK(tensor_file_metadata(st, st->metadata->as.item[2 * i].as.text) == st->metadata->as.item[2 * i + 1].as.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    uint8_t *bytes = malloc(size + 8);
    size_t n = size - 1;
    if (data[0] % 2 == 0) memcpy(bytes, data + 1, n);
    else {
        const uint8_t *line = memchr(data + 1, '\n', n);
        size_t header = line ? (size_t)(line - data) : n;        /* the newline is white space of the JSON */
        for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)header >> 8 * i);
        memcpy(bytes + 8, data + 1, n);
        n += 8;
    }
    uint8_t *exact = malloc(n + !n);                            /* exact size: sanitizers find a read after the end */
    memcpy(exact, bytes, n);
    NnTensorFile *st = st_new(file_of_bytes("fuzz", exact, n), st_read_any);
    if (st) read_all(st, n);
    else fuzz_check_refusal("fuzz");
    ag_free(st);
    free(exact);
    free(bytes);
    return 0;
}
