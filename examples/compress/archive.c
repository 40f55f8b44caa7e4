/* archive.c: the head of a compressed file. */
#include "archive.h"

#include <string.h>

#include "common/data_hash.h"

/* A compressed file has these 8 bytes, of which the last is the version; 8 bytes each for the hash of all that follows, that of
 * the weights and that of the text; the number of tokens and the settings, in groups of 7 bits, the lowest first, each but the
 * last with a 1 before them; the bytes of the coder. */
static const char magic[] = "kaeru.k1";
enum { MAGIC = 8, HASH = 8, HEAD = MAGIC + 3 * HASH };

static void put_hash(Bytes *b, uint64_t hash)
{
    for (int i = 0; i < HASH; i++) {
        bytes_append(b, &(unsigned char){ (unsigned char)(hash >> 8 * i) }, 1);
    }
}

static uint64_t get_hash(const Bytes *b, size_t at)
{
    uint64_t hash = 0;
    for (int i = 0; i < HASH; i++) {
        hash |= (uint64_t)b->byte[at + (size_t)i] << 8 * i;
    }
    return hash;
}

static void put_number(Bytes *b, int64_t number)
{
    for (; number > 127; number >>= 7) {
        bytes_append(b, &(unsigned char){ (unsigned char)(number | 128) }, 1);
    }
    bytes_append(b, &(unsigned char){ (unsigned char)number }, 1);
}

/* Moves *at behind the number; -1 if it is not whole or too large. */
static int64_t get_number(const Bytes *b, size_t *at)
{
    uint64_t number = 0;
    for (int shift = 0; shift < 56 && *at < b->n; shift += 7) {
        unsigned char byte = b->byte[(*at)++];
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            return (int64_t)number;
        }
    }
    return -1;
}

static int64_t *setting(Settings *s, const NnField *f)
{
    return (int64_t *)(void *)((char *)s + f->offset);
}

Bytes archive_make(Head head, const Bytes *coded)
{
    Bytes rest = { 0 }, file = { 0 };
    put_hash(&rest, head.weights);
    put_hash(&rest, head.text);
    put_number(&rest, head.count);
    for (const NnField *f = settings_fields.field; f->name; f++) {
        put_number(&rest, *setting(&head.how, f));
    }
    bytes_append(&rest, coded->byte, coded->n);
    bytes_append(&file, magic, MAGIC);
    put_hash(&file, data_hash(DATA_HASH_BEGIN, rest.byte, rest.n));
    bytes_append(&file, rest.byte, rest.n);
    ag_free(rest.byte);
    return file;
}

bool archive_read(const Bytes *file, Head *head)
{
    if (file->n < MAGIC || memcmp(file->byte, magic, MAGIC - 1) != 0) {
        return ag_set_error("is no file of this program: expected %s in its first bytes", magic);
    }
    if (file->byte[MAGIC - 1] != magic[MAGIC - 1]) {
        return ag_set_error("has version %c of the format, expected %c", file->byte[MAGIC - 1], magic[MAGIC - 1]);
    }
    const unsigned char *rest = file->byte + MAGIC + HASH;
    if (file->n < HEAD || get_hash(file, MAGIC) != data_hash(DATA_HASH_BEGIN, rest, file->n - MAGIC - HASH)) {
        return ag_set_error("is damaged or cut: its bytes do not have their checksum");
    }
    *head = (Head){ .weights = get_hash(file, MAGIC + HASH), .text = get_hash(file, MAGIC + 2 * HASH), .coded = HEAD };
    head->count = get_number(file, &head->coded);
    for (const NnField *f = settings_fields.field; f->name; f++) {
        *setting(&head->how, f) = get_number(file, &head->coded);
    }
    if (head->count < 0) {
        return ag_set_error("is damaged: it has no number of tokens");
    }
    return nn_fields_check(&settings_fields, &head->how);
}
