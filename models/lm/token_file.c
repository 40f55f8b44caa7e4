/* token_file.c: reads and writes token files. */
#include <inttypes.h>
#include <string.h>

#include "stored.h"
#include "lm_parts.h"
#include "unicode.h"
#include "utf8.h"

enum { WITHOUT_HASH = 1, VERSION = 2 };
static const char magic[8] = { 'k', 'a', 'e', 'r', 'u', 't', 'o', 'k' };
typedef struct { char magic[8]; uint32_t version, width, vocab, zero; uint64_t fingerprint; } Header;
/* The size of a file without ids: the header, the hash, and the number of ids at the end. */
enum { HASH_BYTES = sizeof(uint64_t), OVERHEAD = sizeof(Header) + HASH_BYTES + sizeof(uint64_t) };

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool is_token_file(const File *map)
{
    return map->size >= sizeof magic && memcmp(map->bytes, magic, sizeof magic) == 0;
}

bool lm_is_token_file(const char *path)
{
    ag_check_pointer(__func__, "path", path);
    File *map = file_open(path, true);
    bool is = map && is_token_file(map);
    ag_free(map);
    return is;
}

void tokens_copy(const Tokens *tokens, int64_t at, int64_t n, int32_t *out)
{
    const char *from = tokens->bytes + at * tokens->width;
    if (tokens->width == 4) memcpy(out, from, (size_t)n * 4);
    for (int64_t i = 0; tokens->width == 2 && i < n; i++) {
        uint16_t id;
        memcpy(&id, from + i * 2, 2);
        out[i] = id;
    }
}

static bool check_ids(const Tokens *tokens, const char *path, int32_t size)
{
    for (int64_t at = 0, n; at < tokens->count; at += n) {
        int32_t id[1024];
        n = tokens->count - at < 1024 ? tokens->count - at : 1024;
        tokens_copy(tokens, at, n, id);
        for (int64_t i = 0; i < n; i++)
            if (id[i] < 0 || id[i] >= size)
                return ag_set_error("%s: token %" PRId64 " has id %" PRIu32 ", expected ids below %d", path, at + i,
                                    (uint32_t)id[i], (int)size);
    }
    return true;
}

/* Whether the file has the hash of its other bytes before the number of ids. */
static bool check_hash(const File *map, const char *path)
{
    const char *count = map->bytes + map->size - sizeof(uint64_t);
    uint64_t hash;
    memcpy(&hash, count - HASH_BYTES, HASH_BYTES);
    StHash found = { 0 };
    st_hash_add(&found, map->bytes, (size_t)map->size - HASH_BYTES - sizeof(uint64_t));
    st_hash_add(&found, count, sizeof(uint64_t));
    return st_hash_end(&found) == hash || ag_set_error("%s: is damaged: it does not have its hash", path);
}

bool token_file_read(const File *map, const char *path, const KaeruVocab *v, Tokens *tokens)
{
    Header h;
    uint64_t count;
    uint64_t least = OVERHEAD - HASH_BYTES;
    if (map->size >= least) {
        memcpy(&h, map->bytes, sizeof h);
        if (h.version != WITHOUT_HASH) least = OVERHEAD;
    }
    if (map->size < least)
        return ag_set_error("%s: expected a token file of at least %" PRIu64 " bytes, found %" PRIu64, path, least, map->size);
    memcpy(&count, map->bytes + map->size - sizeof count, sizeof count);
    if (h.version != WITHOUT_HASH && h.version != VERSION)
        return ag_set_error("%s: expected version %d or %d of token files, found %" PRIu32, path, WITHOUT_HASH, VERSION,
                            h.version);
    if (h.zero != 0) {
        return ag_set_error("%s: expected 0 behind the number of tokens in the vocabulary, found %" PRIu32, path, h.zero);
    }
    if (h.width != 2 && h.width != 4)
        return ag_set_error("%s: expected ids of 2 or 4 bytes, found %" PRIu32, path, h.width);
    uint64_t size = map->size - least;
    if (size % h.width != 0 || count != size / h.width)
        return ag_set_error("%s: expected %" PRIu64 " tokens of %" PRIu32 " bytes, found %" PRIu64 " bytes", path, count,
                            h.width, size);
    if (h.vocab != (uint32_t)kaeru_vocab_size(v) || h.fingerprint != kaeru_vocab_fingerprint(v))
        return ag_set_error("%s: was made with another vocabulary, of %" PRIu32 " tokens", path, h.vocab);
    *tokens = (Tokens){ map->bytes + sizeof h, (int64_t)count, (int)h.width };
    return check_ids(tokens, path, kaeru_vocab_size(v)) && (h.version == WITHOUT_HASH || check_hash(map, path));
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum { PIECE = 1 << 20 };                       /* the size of a piece of text in bytes, about */

/* Whether the character that has byte `at` is valid and no white space. */
static bool is_visible(const char *text, size_t n, size_t at)
{
    uint32_t code;
    while (at > 0 && utf8_continues(text[at])) at--;
    return utf8_decode(text + at, n - at, &code) > 0 && unicode_class(code) != UNICODE_SPACE;
}

/* The size of a text's first piece. It ends where the ids of the pieces are the same as those of the whole text: for
 * characters, before any character; else before a single space or after a single line break, between two characters that are
 * no white space. All rules for byte pairs begin a new part there. They differ in longer white space, and for Llama 3, ".\n"
 * is one part. */
static size_t first_piece(const KaeruVocab *v, const char *text, size_t n)
{
    size_t end = PIECE;
    if (kaeru_vocab_kind(v) == KAERU_CHARS) {
        while (end < n && utf8_continues(text[end])) end++;
    } else {
        while (end + 1 < n &&
               !(text[end] == ' ' && is_visible(text, n, end - 1) && is_visible(text, n, end + 1)) &&
               !(text[end - 1] == '\n' && is_visible(text, n, end - 2) && is_visible(text, n, end)))
            end++;
    }
    return end + 1 < n ? end : n;
}

static bool write_ids(FileWriter *w, StHash *hash, const KaeruVocab *v, const char *text, size_t n, int width,
                      size_t *count)
{
    int32_t *ids = kaeru_vocab_encode(v, text, n, KAERU_WITH_SPECIAL, count);
    if (!ids) return false;
    if (width == 2) {                           /* in place: an id never moves to the right */
        for (size_t i = 0; i < *count; i++) {
            uint16_t id = (uint16_t)ids[i];
            memcpy((char *)ids + 2 * i, &id, 2);
        }
    }
    file_write(w, ids, *count * (size_t)width);
    st_hash_add(hash, ids, *count * (size_t)width);
    ag_free(ids);
    return true;
}

static bool write_tokens(FileWriter *w, const KaeruText *text, const KaeruVocab *v, int64_t *count)
{
    Header h = { .version = VERSION, .width = kaeru_vocab_size(v) <= 1 << 16 ? 2 : 4,
                 .vocab = (uint32_t)kaeru_vocab_size(v), .fingerprint = kaeru_vocab_fingerprint(v) };
    memcpy(h.magic, magic, sizeof magic);
    StHash hash = { 0 };
    file_write(w, &h, sizeof h);
    st_hash_add(&hash, &h, sizeof h);
    uint64_t total = 0;
    for (size_t at = 0, size, n; at < text->size; at += size) {
        size = first_piece(v, text->bytes + at, text->size - at);
        if (!write_ids(w, &hash, v, text->bytes + at, size, (int)h.width, &n)) return false;
        total += n;
    }
    st_hash_add(&hash, &total, sizeof total);
    uint64_t found = st_hash_end(&hash);
    file_write(w, &found, sizeof found);
    file_write(w, &total, sizeof total);
    *count = (int64_t)total;
    return true;
}

bool lm_tokenize(const char *text_path, const KaeruVocab *v, const char *tokens_path, int64_t *count)
{
    AG_LAYER;
    ag_check_pointer(__func__, "text_path", text_path);
    ag_check_object(__func__, "v", v);
    ag_check_pointer(__func__, "tokens_path", tokens_path);
    ag_check_pointer(__func__, "count", count);
    if (kaeru_text_is_same_file(text_path, tokens_path))
        return ag_set_error("%s: is the file %s, which would be replaced", text_path, tokens_path);
    KaeruText text;
    if (!kaeru_text_open(&text, text_path)) return false;
    bool known = kaeru_vocab_check(v, text_path, text.bytes, text.size);
    FileWriter *w = known ? file_replace(tokens_path) : NULL;
    bool good = w && write_tokens(w, &text, v, count);
    if (good) good = file_commit(w);
    else ag_free(w);
    kaeru_text_close(&text);
    return good;
}
