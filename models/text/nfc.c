/* nfc.c: the normal form C of Unicode, in which a letter and its accents are one character where there is one (Unicode Standard
 * Annex 15): characters are decomposed, marks sorted by their class, and pairs composed again. */
#include <stdbool.h>
#include <string.h>

#include "kaeru/tensor.h"
#include "nfc_table.h"
#include "unicode.h"
#include "utf8.h"

enum { N_PAIRS = sizeof nfc_pairs / sizeof *nfc_pairs, N_ORDER = sizeof nfc_order / sizeof *nfc_order,
       N_MARKS = sizeof nfc_marks / sizeof *nfc_marks };
/* A byte that is not UTF-8 is kept, as a code after the last one of Unicode. */
enum { BYTE = 0x110000 };
/* Syllables of Korean are composed of a first letter, a vowel and perhaps a last letter, by arithmetic. */
enum { SYLLABLE = 0xac00, FIRST = 0x1100, VOWEL = 0x1161, LAST = 0x11a7, VOWELS = 21, LASTS = 28,
       SYLLABLES = 19 * VOWELS * LASTS };

/* The class of a mark; 0: the code point is not a mark. */
static int mark_of(uint32_t code)
{
    size_t low = 0, high = N_MARKS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (nfc_marks[middle].last < code) low = middle + 1;
        else high = middle;
    }
    return low < N_MARKS && nfc_marks[low].first <= code ? nfc_marks[low].mark : 0;
}

/* Writes what the code point consists of; returns how many. */
static size_t decompose(uint32_t code, uint32_t *out)
{
    if (code >= SYLLABLE && code < SYLLABLE + SYLLABLES) {
        uint32_t i = code - SYLLABLE;
        out[0] = FIRST + i / (VOWELS * LASTS);
        out[1] = VOWEL + i / LASTS % VOWELS;
        out[2] = LAST + i % LASTS;
        return i % LASTS ? 3 : 2;
    }
    size_t low = 0, high = N_PAIRS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (nfc_pairs[middle].code < code) low = middle + 1;
        else high = middle;
    }
    if (low == N_PAIRS || nfc_pairs[low].code != code) {
        *out = code;
        return 1;
    }
    size_t n = decompose(nfc_pairs[low].first, out);
    return nfc_pairs[low].second ? n + decompose(nfc_pairs[low].second, out + n) : n;
}

/* The code point that consists of these two; 0 if there is none. */
static uint32_t compose(uint32_t first, uint32_t second)
{
    if (first - FIRST < SYLLABLES / (VOWELS * LASTS) && second - VOWEL < VOWELS)
        return SYLLABLE + ((first - FIRST) * VOWELS + second - VOWEL) * LASTS;
    if (first - SYLLABLE < SYLLABLES && (first - SYLLABLE) % LASTS == 0 && second - LAST - 1 < LASTS - 1)
        return first + second - LAST;
    size_t low = 0, high = N_ORDER;
    while (low < high) {
        size_t middle = (low + high) / 2, i = nfc_order[middle];
        if (nfc_pairs[i].first < first || (nfc_pairs[i].first == first && nfc_pairs[i].second < second)) low = middle + 1;
        else high = middle;
    }
    size_t i = low < N_ORDER ? nfc_order[low] : 0;
    return low < N_ORDER && nfc_pairs[i].first == first && nfc_pairs[i].second == second ? nfc_pairs[i].code : 0;
}

/* Sorts n marks by class, those of one class in their order. A hostile text may have a million of them. */
static void sort_marks(uint32_t *code, size_t n, uint32_t *room)
{
    size_t start[257] = { 0 };
    for (size_t i = 0; i < n; i++) start[mark_of(code[i]) + 1]++;
    for (int c = 0; c < 256; c++) start[c + 1] += start[c];
    for (size_t i = 0; i < n; i++) room[start[mark_of(code[i])]++] = code[i];
    memcpy(code, room, n * sizeof *code);
}

/* Composes n code points in place; returns how many are left. */
static size_t compose_all(uint32_t *code, size_t n)
{
    size_t starter = n, out = 0;
    int before = -1;                            /* the class of the mark between the starter and this code point; -1: none */
    for (size_t i = 0; i < n; i++) {
        int mark = mark_of(code[i]);
        uint32_t both = starter < n && before < mark ? compose(code[starter], code[i]) : 0;
        if (both) {
            code[starter] = both;
            continue;
        }
        if (mark == 0) starter = out;
        before = mark == 0 ? -1 : mark;
        code[out++] = code[i];
    }
    return out;
}

char *unicode_nfc(const char *text, size_t n, size_t *size)
{
    enum { UNCHANGED = 0xcc };                  /* the first byte of U+0300: what is before is in normal form */
    size_t i = 0, count = 0;
    while (i < n && (unsigned char)text[i] < UNCHANGED) i++;
    if (i == n) return NULL;
    uint32_t *code = ag_alloc(4 * n, sizeof *code), *room = code + 2 * n;           /* 2 bytes give 3 code points at most */
    for (i = 0; i < n; ) {
        uint32_t next = 0;
        int length = utf8_decode(text + i, n - i, &next);
        count += decompose(length ? next : (uint32_t)BYTE + (unsigned char)text[i], code + count);
        i += length ? (size_t)length : 1;
    }
    for (size_t end = i = 0; i < count; i = end + 1) {
        for (end = i; end < count && mark_of(code[end]); end++) { }
        if (end - i > 1) sort_marks(code + i, end - i, room);
    }
    count = compose_all(code, count);
    char *out = ag_alloc(4 * count + 1, 1);
    *size = 0;
    for (i = 0; i < count; i++) {
        if (code[i] < BYTE) *size += (size_t)utf8_encode(code[i], out + *size);
        else out[(*size)++] = (char)(code[i] - BYTE);
    }
    ag_free(code);
    return out;
}
