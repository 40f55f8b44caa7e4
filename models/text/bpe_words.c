/* bpe_words.c: splits text into words by the rule of GPT-2. The original is a regular expression. The first alternative
 * that matches is taken:
 *
 *     's|'t|'re|'ve|'m|'ll|'d          the end of a contraction
 *     | ?\p{L}+                        letters, and one space before them if there is one
 *     | ?\p{N}+                        numbers, likewise
 *     | ?[^\s\p{L}\p{N}]+              other symbols, likewise
 *     |\s+(?!\S)                       white space, without its last character if a word follows
 *     |\s+                             that last character, if it is not a space, which belongs to the next word */
#include <string.h>

#include "bpe_parts.h"
#include "unicode.h"
#include "utf8.h"

/* The class of the character at text[at], and in *length its number of bytes. A byte that is not UTF-8 is a symbol. */
static UnicodeClass class_at(const char *text, size_t n, size_t at, size_t *length)
{
    uint32_t code = UNICODE_OTHER;
    *length = (size_t)utf8_decode(text + at, n - at, &code);
    if (*length) return unicode_class(code);
    *length = 1;
    return UNICODE_OTHER;
}

static size_t contraction(const char *text, size_t n)
{
    static const char *const ends[] = { "'s", "'t", "'re", "'ve", "'m", "'ll", "'d" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t length = strlen(ends[i]);
        if (n >= length && memcmp(text, ends[i], length) == 0) return length;
    }
    return 0;
}

size_t bpe_word(const char *text, size_t n)
{
    size_t length = text[0] == '\'' ? contraction(text, n) : 0;
    if (length) return length;
    size_t at = text[0] == ' ' && n > 1;
    UnicodeClass kind = class_at(text, n, at, &length);
    if (kind == UNICODE_SPACE) at = 0;
    size_t last = at;                                   /* start of the last character of this class */
    while (at < n && class_at(text, n, at, &length) == kind) {
        last = at;
        at += length;
    }
    return kind == UNICODE_SPACE && at < n && last > 0 ? last : at;
}

size_t bpe_find_end_of_text(const char *text, size_t n)
{
    size_t size = strlen(BPE_END_OF_TEXT);
    const char *end = text + n;
    for (const char *p = text; (size_t)(end - p) >= size && (p = memchr(p, '<', (size_t)(end - p))); p++)
        if ((size_t)(end - p) >= size && memcmp(p, BPE_END_OF_TEXT, size) == 0) return (size_t)(p - text);
    return n;
}
