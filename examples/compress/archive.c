/* archive.c: files of compress, and the head of a compressed one. */
#include "archive.h"

#include <errno.h>
#include <string.h>

#include "common/common.h"
#include "common/host.h"
#include "kaeru/text.h"

/* A compressed file has these 8 bytes, of which the last is the version; 8 bytes each for the hash of all that follows, that of
 * the weights and that of the text; the number of tokens and the settings, in groups of 7 bits, the lowest first, each but the
 * last with a 1 before them; the bytes of the coder. */
static const char magic[] = "kaeru.k1";
enum { MAGIC = 8, HASH = 8, HEAD = MAGIC + 3 * HASH };

/* ---- files ------------------------------------------------------------------------------------------------------- */

Bytes read_file(const char *path)
{
    Bytes b = { 0 };
    unsigned char piece[1 << 14];
    FILE *file = fopen(path, "rb");
    for (size_t n; file && (n = fread(piece, 1, sizeof piece, file)) > 0; ) {
        bytes_append(&b, piece, n);
    }
    if (!file || ferror(file)) {
        example_fail("%s: cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    return b;
}

char *joined(const char *path, const char *ending)
{
    size_t size = strlen(path) + strlen(ending) + 1;
    char *both = ag_alloc(size, 1);
    snprintf(both, size, "%s%s", path, ending);
    return both;
}

void check_output(const char *path, const char *input, bool overwrite)
{
    if (kaeru_text_is_same_file(path, input)) {
        example_usage_error("%s: is the file to read and cannot be the one to write", path);
    }
    if (!overwrite && access(path, F_OK) == 0) {
        example_usage_error("%s exists: expected --overwrite or the name of another file", path);
    }
    example_must_be_output(path);
    char *part = joined(path, ".part");
    example_close(example_create(part), part);
    remove(part);
    ag_free(part);
}

void write_file(const char *path, const Bytes *b)
{
    char *part = joined(path, ".part");
    FILE *file = example_create(part);
    bool good = fwrite(b->byte, 1, b->n, file) == b->n && host_sync(file) == 0;
    int error = errno;
    if (fclose(file) != 0 && good) {
        good = false;
        error = errno;
    }
    if (!good || host_rename(part, path) != 0) {
        error = good ? errno : error;
        remove(part);
        example_fail("cannot write %s: %s", path, strerror(error));
    }
    ag_free(part);
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

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

Head archive_read(const char *path, const Bytes *file)
{
    if (file->n < MAGIC || memcmp(file->byte, magic, MAGIC - 1) != 0) {
        example_fail("%s: is no file of this program: expected %s in its first bytes", path, magic);
    }
    if (file->byte[MAGIC - 1] != magic[MAGIC - 1]) {
        example_fail("%s: has version %c of the format, expected %c", path, file->byte[MAGIC - 1], magic[MAGIC - 1]);
    }
    const unsigned char *rest = file->byte + MAGIC + HASH;
    if (file->n < HEAD || get_hash(file, MAGIC) != data_hash(DATA_HASH_BEGIN, rest, file->n - MAGIC - HASH)) {
        example_fail("%s: is damaged or cut: its bytes do not have their checksum", path);
    }
    Head head = { .weights = get_hash(file, MAGIC + HASH), .text = get_hash(file, MAGIC + 2 * HASH), .coded = HEAD };
    head.count = get_number(file, &head.coded);
    for (const NnField *f = settings_fields.field; f->name; f++) {
        *setting(&head.how, f) = get_number(file, &head.coded);
    }
    if (head.count < 0 || !nn_fields_check(&settings_fields, &head.how)) {
        example_fail("%s: is damaged: %s", path, head.count < 0 ? "it has no number of tokens" : ag_error());
    }
    return head;
}
