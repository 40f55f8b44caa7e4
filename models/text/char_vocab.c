/* char_vocab.c: a vocabulary with one id for each character of a text. */
#include <string.h>

#include "kaeru/text.h"
#include "utf8.h"
#include "vocab_file.h"

enum { CODES = 0x110000, PAGE = 256 };

struct CharVocab {
    void *owner;
    int32_t n;
    Word *token;                            /* the text of each id */
    int32_t *page[CODES / PAGE];            /* ids of 256 code points each, -1: none; NULL: no id on this page */
};

static CharVocab *make(void *owner, const Word *token, int32_t n)
{
    CharVocab *v = ag_alloc_in(owner, 1, sizeof *v);
    v->owner = owner;
    v->n = n;
    v->token = ag_alloc_in(owner, (size_t)n, sizeof *v->token);
    for (int32_t id = 0; id < n; id++) {
        uint32_t code = 0;
        v->token[id] = token[id];
        utf8_decode(token[id].text, token[id].size, &code);
        int32_t **page = &v->page[code / PAGE];
        if (!*page) {
            *page = ag_alloc_in(owner, PAGE, sizeof **page);
            for (int i = 0; i < PAGE; i++) (*page)[i] = -1;
        }
        (*page)[code % PAGE] = id;
    }
    return v;
}

CharVocab *char_vocab_new(const char *text, size_t n)
{
    if (!text_check("the text", text, n)) return NULL;
    void *owner = ag_alloc(1, 1);
    uint64_t *seen = ag_alloc_in(owner, CODES / 64, sizeof *seen);        /* a bit for each code point */
    int32_t count = 0, id = 0;
    for (size_t i = 0; i < n;) {
        uint32_t code;
        i += (size_t)utf8_decode(text + i, n - i, &code);
        uint64_t bit = (uint64_t)1 << code % 64;
        count += !(seen[code / 64] & bit);
        seen[code / 64] |= bit;
    }
    Word *token = ag_alloc_in(owner, (size_t)count, sizeof *token);
    for (uint32_t code = 0; id < count; code++) {
        uint64_t from_here = seen[code / 64] >> code % 64;
        if (!from_here) code |= 63;                             /* skip to the next 64 */
        if (!(from_here & 1)) continue;
        char bytes[4];
        size_t size = (size_t)utf8_encode(code, bytes);
        token[id++] = (Word){ ag_strndup_in(owner, bytes, size), size };
    }
    return make(owner, token, count);
}

CharVocab *char_vocab_open(const char *path)
{
    void *owner = ag_alloc(1, 1);
    int32_t n;
    const Word *token = vocab_read(owner, path, &n);
    bool good = token != NULL;
    for (int32_t i = 0; good && i < n; i++) {
        uint32_t code;
        char quoted[UTF8_QUOTE];
        if (token[i].size && (size_t)utf8_decode(token[i].text, token[i].size, &code) == token[i].size) continue;
        good = ag_set_error("%s: expected single characters, found %s", path,
                            utf8_quote(token[i].text, token[i].size, quoted));
    }
    if (good) return make(owner, token, n);
    ag_free(owner);
    return NULL;
}

bool char_vocab_save(const CharVocab *v, const char *path)
{
    return vocab_write(path, v->token, v->n);
}

void char_vocab_free(CharVocab *v)
{
    if (v) ag_free(v->owner);
}

int32_t char_vocab_size(const CharVocab *v)
{
    return v->n;
}

/* The id of the first character of n >= 1 bytes, and its length; -1 if the vocabulary does not have it, or if it is not
 * UTF-8. */
static int32_t id_at(const CharVocab *v, const char *text, size_t n, size_t *length)
{
    uint32_t code;
    *length = (size_t)utf8_decode(text, n, &code);
    return *length && v->page[code / PAGE] ? v->page[code / PAGE][code % PAGE] : -1;
}

/* Sets the error for the character at byte `at`. The name of the text may be NULL. */
static bool unknown_character(const char *name, const char *text, size_t n, size_t at)
{
    uint32_t code;
    char quoted[UTF8_QUOTE], place[TEXT_PLACE];
    size_t length = (size_t)utf8_decode(text + at, n - at, &code);
    if (!length) return text_check(name ? name : "the text", text, n);
    return ag_set_error("%s%s%s (U+%04X) at %s is not in the vocabulary", name ? name : "", name ? ": " : "",
                        utf8_quote(text + at, length, quoted), (unsigned)code, text_place(1, text, at, place));
}

bool char_vocab_check(const CharVocab *v, const char *name, const char *text, size_t n)
{
    for (size_t i = 0, length; i < n; i += length)
        if (id_at(v, text + i, n - i, &length) < 0) return unknown_character(name, text, n, i);
    return true;
}

int32_t *char_vocab_encode(const CharVocab *v, const char *text, size_t n, size_t *count)
{
    size_t characters = 0, k = 0;
    for (size_t i = 0; i < n; i++) characters += !utf8_continues(text[i]);
    int32_t *ids = ag_alloc(characters, sizeof *ids);
    for (size_t i = 0, length; i < n; i += length) {
        int32_t id = id_at(v, text + i, n - i, &length);
        if (id < 0) {
            unknown_character(NULL, text, n, i);
            ag_free(ids);
            return NULL;
        }
        ids[k++] = id;
    }
    *count = k;
    return ids;
}

char *char_vocab_decode(const CharVocab *v, const int32_t *ids, size_t count, size_t *n)
{
    char *text = ag_alloc(count + 1, 4);            /* a character has at most 4 bytes */
    *n = 0;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= v->n) {
            ag_set_error("id %d at place %zu is not in the vocabulary of %d characters", (int)ids[i], i, (int)v->n);
            ag_free(text);
            return NULL;
        }
        memcpy(text + *n, v->token[ids[i]].text, v->token[ids[i]].size);
        *n += v->token[ids[i]].size;
    }
    return text;
}
