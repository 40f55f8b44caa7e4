/* bpe_words.c: applies normalizers, and splits text into words by the rules of GPT-2, of Llama 3 and of simpler pre-tokenizers.
 * The originals are regular expressions. The first alternative that matches is taken. GPT-2:
 *
 *     's|'t|'re|'ve|'m|'ll|'d          the end of a contraction
 *     | ?\p{L}+                        letters, and one space before them if there is one
 *     | ?\p{N}+                        numbers, likewise
 *     | ?[^\s\p{L}\p{N}]+              other symbols, likewise
 *     |\s+(?!\S)                       white space, without its last character if a word follows
 *     |\s+                             that last character, if it is not a space, which belongs to the next word
 *
 * Llama 3, and Qwen2 with \p{N} for \p{N}{1,3}:
 *
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d)     the end of a contraction, in capitals or not
 *     |[^\r\n\p{L}\p{N}]?\p{L}+        letters, and one other character before them
 *     |\p{N}{1,3}                      numbers
 *     | ?[^\s\p{L}\p{N}]+[\r\n]*      other symbols, one space before them, and line ends after them
 *     |\s*[\r\n]+                     white space up to its last line end
 *     |\s+(?!\S)|\s+                  other white space, as above */
#include <limits.h>
#include <string.h>

#include "bpe_parts.h"
#include "unicode.h"
#include "utf8.h"

/* The class of the character at text[at], and in *length its number of bytes. A byte that is not UTF-8 is a symbol. */
static UnicodeClass char_class(const char *text, size_t n, size_t at, size_t *length)
{
    uint32_t code = UNICODE_OTHER;
    *length = (size_t)utf8_decode(text + at, n - at, &code);
    if (*length) return unicode_class(code);
    *length = 1;
    return UNICODE_OTHER;
}

/* The length of the contraction's end, in capitals as well if any_case; 0 if there is none. */
static size_t contraction(const char *text, size_t n, bool any_case)
{
    static const char *const ends[] = { "'s", "'t", "'re", "'ve", "'m", "'ll", "'d" };
    static const char long_s[] = "'\u017f";                             /* equals 's if case is ignored */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t length = strlen(ends[i]), k = 1;
        while (k < length && k < n && (text[k] == ends[i][k] || (any_case && text[k] == (ends[i][k] & ~0x20)))) k++;
        if (n > 0 && text[0] == '\'' && k == length) return length;
    }
    return any_case && n >= 3 && memcmp(text, long_s, 3) == 0 ? 3 : 0;
}

/* The end of the characters of a class that begin at `at`, at most `most` of them; in *last the start of the last one. */
static size_t end_of_class(const char *text, size_t n, size_t at, UnicodeClass kind, int most, size_t *last)
{
    size_t length;
    for (*last = at; at < n && most > 0 && char_class(text, n, at, &length) == kind; at += length, most--) *last = at;
    return at;
}

size_t bpe_word(const char *text, size_t n)
{
    size_t length = contraction(text, n, false);
    if (length) return length;
    size_t at = text[0] == ' ' && n > 1;
    UnicodeClass kind = char_class(text, n, at, &length);
    if (kind == UNICODE_SPACE) at = 0;
    size_t last, end = end_of_class(text, n, at, kind, INT_MAX, &last);
    return kind == UNICODE_SPACE && end < n && last > 0 ? last : end;
}

static bool is_line_end(char c)
{
    return c == '\r' || c == '\n';
}

/* The first word by the rule of Llama 3 or Qwen2, which differ in the digits of a number. */
static size_t word_llama(const char *text, size_t n, int digits)
{
    size_t length = contraction(text, n, true), second = 0, last;
    if (length) return length;
    UnicodeClass kind = char_class(text, n, 0, &length);
    UnicodeClass next = length < n ? char_class(text, n, length, &second) : UNICODE_SPACE;
    if (kind == UNICODE_LETTER) return end_of_class(text, n, 0, kind, INT_MAX, &last);
    if (kind == UNICODE_NUMBER) return end_of_class(text, n, 0, kind, digits, &last);
    if (next == UNICODE_LETTER && !is_line_end(text[0])) return end_of_class(text, n, length, next, INT_MAX, &last);
    size_t symbols = text[0] == ' ';
    if (kind == UNICODE_OTHER || (symbols && next == UNICODE_OTHER)) {
        size_t end = end_of_class(text, n, symbols, UNICODE_OTHER, INT_MAX, &last);
        while (end < n && is_line_end(text[end])) end++;
        return end;
    }
    size_t end = end_of_class(text, n, 0, UNICODE_SPACE, INT_MAX, &last);
    for (size_t i = end; i > 0; i--)
        if (is_line_end(text[i - 1])) return i;
    return end < n && last > 0 ? last : end;
}

/* Whether the character at text[at] is a number for the rule of SmolLM, and in *length its number of bytes. There `tokenizers`
 * asks Rust, which knows Unicode 17, while its regular expressions know Unicode 16, without the last two runs here. */
static bool char_is_number(const char *text, size_t n, size_t at, size_t *length)
{
    uint32_t code = 0;
    int size = utf8_decode(text + at, n - at, &code);
    *length = size ? (size_t)size : 1;
    return size && (unicode_class(code) == UNICODE_NUMBER || (code >= 0x11de0 && code <= 0x11de9) ||
                    (code >= 0x16ff4 && code <= 0x16ff6));
}

/* The first number of at most that many digits, or what is before it. */
static size_t digits(const char *text, size_t n, size_t most)
{
    size_t at, length;
    bool first = char_is_number(text, n, 0, &at);
    for (size_t count = 1; at < n && char_is_number(text, n, at, &length) == first && (!first || count < most); count++)
        at += length;
    return at;
}

typedef enum { SPACE_CODE, WORD_CODE, SYMBOL_CODE } Kind;

static Kind char_kind(const char *text, size_t n, size_t at, bool words, size_t *length)
{
    uint32_t code = 0;
    int size = utf8_decode(text + at, n - at, &code);
    *length = size ? (size_t)size : 1;
    if (size && unicode_class(code) == UNICODE_SPACE) return SPACE_CODE;
    return words && size && unicode_is_word(code) ? WORD_CODE : SYMBOL_CODE;
}

/* The first characters of one kind; if not `words`, all but white space are of one. */
static size_t between_spaces(const char *text, size_t n, bool words, bool *kept)
{
    size_t at, length;
    Kind kind = char_kind(text, n, 0, words, &at);
    while (at < n && char_kind(text, n, at, words, &length) == kind) at += length;
    *kept = kind != SPACE_CODE;
    return at;
}

size_t bpe_piece(BpeSplit rule, const char *text, size_t n, bool *kept)
{
    *kept = true;
    switch (rule) {
    case BPE_GPT2: return bpe_word(text, n);
    case BPE_LLAMA3: return word_llama(text, n, 3);
    case BPE_QWEN2: return word_llama(text, n, 1);
    case BPE_DIGITS: return digits(text, n, 1);
    case BPE_NUMBERS: return digits(text, n, SIZE_MAX);
    case BPE_WORD_CHARACTERS: return between_spaces(text, n, true, kept);
    case BPE_NO_SPACE: return between_spaces(text, n, false, kept);
    case BPE_PUNCTUATION: return wordpiece_part(text, n);
    default: return n;
    }
}

/* The number of bytes of white space at the start of a text, or at its end. */
static size_t spaces(const char *text, size_t n, bool at_end)
{
    size_t first = n, at = 0;
    while (at < n) {
        bool kept;
        size_t length = between_spaces(text + at, n - at, false, &kept);
        if (!at_end) return kept ? 0 : length;
        first = kept ? n : at;
        at += length;
    }
    return n - first;
}

char *bpe_normalize(const BpeRules *rules, const char **text, size_t *n)
{
    char *owned = NULL;
    for (int i = 0; i < rules->n_normal; i++) {
        BpeNormal rule = rules->normal[i];
        char *next = NULL;
        size_t size;
        switch (rule) {
        case BPE_NFC: next = unicode_normal_form(UNICODE_NFC, *text, *n, &size); break;
        case BPE_NFD: next = unicode_normal_form(UNICODE_NFD, *text, *n, &size); break;
        case BPE_NFKC: next = unicode_normal_form(UNICODE_NFKC, *text, *n, &size); break;
        case BPE_NFKD: next = unicode_normal_form(UNICODE_NFKD, *text, *n, &size); break;
        case BPE_LOWER_CASE: next = unicode_lower_each(*text, *n, &size); break;
        case BPE_STRIP_LEFT: case BPE_STRIP_RIGHT: size = spaces(*text, *n, rule == BPE_STRIP_RIGHT);
                             *text += rule == BPE_STRIP_LEFT ? size : 0;
                             *n -= size;
                             break;
        case BPE_CLEAN: case BPE_IDEOGRAPHS: case BPE_NO_ACCENTS: next = wordpiece_normalize(rule, *text, *n, &size);
        }
        if (!next) continue;
        ag_free(owned);
        *text = owned = next;
        *n = size;
    }
    return owned;
}

size_t bpe_find_end_of_text(const char *text, size_t n)
{
    size_t size = strlen(BPE_END_OF_TEXT);
    const char *end = text + n;
    for (const char *p = text; (size_t)(end - p) >= size && (p = memchr(p, '<', (size_t)(end - p))); p++)
        if ((size_t)(end - p) >= size && memcmp(p, BPE_END_OF_TEXT, size) == 0) return (size_t)(p - text);
    return n;
}
