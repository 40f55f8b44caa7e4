/* unicode.c: the class and the lower case of code points, and the normal forms of texts, by tables of runs of code points. */
#include "unicode.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "kaeru/tensor.h"
#include "unicode_table.h"
#include "utf8.h"

#define COUNT(array) (sizeof (array) / sizeof *(array))

/* ---- expanding the tables ---------------------------------------------------------------------------------------- */

/* What a code point consists of; `second` may be 0. */
typedef struct { uint32_t code, first, second; } Parts;

static uint8_t class_of[UNICODE_END], mark_of_code[MARKS_END];
static int32_t to_lower[LOWER_END];                                     /* what to add to a letter */
static Parts by_code[N_SINGLES + N_APART + N_PAIRS], by_parts[N_PAIRS]; /* by_parts: those that the normal form C composes */
/* What a code point consists of in the forms NFKC and NFKD: n code points, as UTF-8. */
typedef struct { uint32_t code; int n; const char *parts; } CompatibleParts;
static CompatibleParts compatible[N_COMPATIBILITY];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void expand_class(UnicodeClass class, const uint16_t *run, size_t n)
{
    for (size_t i = 0, code = 0; i < n; i += 2) {
        memset(class_of + code + run[i], (int)class, run[i + 1]);
        code += (size_t)run[i] + run[i + 1];
    }
}

static void expand_marks(void)
{
    for (size_t i = 0, code = 0; i < COUNT(mark_runs); i += 3) {
        code += mark_runs[i];
        memset(mark_of_code + code, mark_runs[i + 2], mark_runs[i + 1]);
        code += mark_runs[i + 1];
    }
}

static void expand_lower(void)
{
    int32_t *letter = to_lower;
    for (const int32_t *run = lower_runs, *end = run + COUNT(lower_runs); run < end; run += 4) {
        letter += run[0];
        for (int32_t k = 0; k < run[1]; k++) letter[k * run[2]] = run[3];
        letter += (run[1] - 1) * run[2] + 1;
    }
}

/* Reads a text of characters, each of which is followed by its parts; returns the end of `out`. */
static Parts *read_parts(const char *text, size_t n, int n_parts, Parts *out)
{
    for (size_t i = 0; i < n; out++) {
        i += (size_t)utf8_decode(text + i, n - i, &out->code);
        i += (size_t)utf8_decode(text + i, n - i, &out->first);
        if (n_parts > 1) i += (size_t)utf8_decode(text + i, n - i, &out->second);
    }
    return out;
}

static void expand_compatibility(void)
{
    const size_t n = sizeof unicode_compatibility - 1;
    CompatibleParts *next = compatible;
    for (size_t i = 0; i < n; next++) {
        i += (size_t)utf8_decode(unicode_compatibility + i, n - i, &next->code);
        next->n = unicode_compatibility[i++] - '0';
        next->parts = unicode_compatibility + i;
        for (int k = 0; k < next->n; k++) {
            uint32_t part;
            i += (size_t)utf8_decode(unicode_compatibility + i, n - i, &part);
        }
    }
}

static int compare_codes(const void *left, const void *right)
{
    const Parts *a = left, *b = right;
    return (a->code > b->code) - (a->code < b->code);
}

static int compare_compatible(const void *left, const void *right)
{
    const CompatibleParts *a = left, *b = right;
    return (a->code > b->code) - (a->code < b->code);
}

static int compare_parts(const void *left, const void *right)
{
    const Parts *a = left, *b = right;
    int first = (a->first > b->first) - (a->first < b->first);
    return first ? first : (a->second > b->second) - (a->second < b->second);
}

static void expand_all(void)
{
    expand_class(UNICODE_LETTER, unicode_letters, COUNT(unicode_letters));
    expand_class(UNICODE_NUMBER, unicode_numbers, COUNT(unicode_numbers));
    expand_class(UNICODE_SPACE, unicode_spaces, COUNT(unicode_spaces));
    expand_marks();
    expand_lower();
    Parts *apart = read_parts(unicode_singles, sizeof unicode_singles - 1, 1, by_code);
    Parts *pairs = read_parts(unicode_apart, sizeof unicode_apart - 1, 2, apart);
    read_parts(unicode_pairs, sizeof unicode_pairs - 1, 2, pairs);
    memcpy(by_parts, pairs, sizeof by_parts);
    expand_compatibility();
    qsort(by_code, COUNT(by_code), sizeof *by_code, compare_codes);
    qsort(by_parts, COUNT(by_parts), sizeof *by_parts, compare_parts);
}

/* ---- classes and lower case -------------------------------------------------------------------------------------- */

UnicodeClass unicode_class(uint32_t code)
{
    pthread_once(&once, expand_all);
    return code < UNICODE_END ? (UnicodeClass)class_of[code] : UNICODE_OTHER;
}

uint32_t unicode_lower(uint32_t code)
{
    pthread_once(&once, expand_all);
    return code < LOWER_END ? code + (uint32_t)to_lower[code] : code;
}

/* Whether a code point is in a set of unicode_table.h. */
static bool in_runs(const uint16_t *run, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i += 2) {
        if (code < run[i]) return false;
        code -= run[i];
        if (code < run[i + 1]) return true;
        code -= run[i + 1];
    }
    return false;
}

#define IN_SET(set, code) in_runs(set, COUNT(set), code)

bool unicode_is_word(uint32_t code)
{
    return IN_SET(unicode_word, code);
}

bool unicode_is_unclean(uint32_t code)
{
    return code == 0 || IN_SET(unicode_unclean, code);
}

bool unicode_is_accent(uint32_t code)
{
    return IN_SET(unicode_accents, code);
}

bool unicode_is_alone(uint32_t code)
{
    return IN_SET(unicode_alone, code);
}

/* The same as unicode_lower, with the letters of newer_lower_runs. */
static uint32_t newest_lower(uint32_t code)
{
    int64_t first = 0;
    for (size_t i = 0; i < COUNT(newer_lower_runs); i += 4) {
        const int32_t *run = newer_lower_runs + i;
        first += run[0];
        int64_t last = first + (int64_t)(run[1] - 1) * run[2], at = code;
        if (at >= first && at <= last && (at - first) % run[2] == 0) return (uint32_t)(at + run[3]);
        first = last + 1;
    }
    return unicode_lower(code);
}

char *unicode_lower_each(const char *text, size_t n, size_t *size)
{
    char *out = ag_alloc(2 * n + 1, 1), *end = out;         /* 1 byte remains 1, 2 may become 3 */
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        int length = utf8_decode(text + i, n - i, &code);
        if (code == 0x130) {
            *end++ = 'i';
            end += utf8_encode(0x307, end);
        } else if (length) {
            end += utf8_encode(newest_lower(code), end);
        } else {
            *end++ = text[i];
        }
        i += length ? (size_t)length : 1;
    }
    *size = (size_t)(end - out);
    return out;
}

/* ---- the normal forms -------------------------------------------------------------------------------------------- */

/* In the normal form C, a letter and its accents are one character where there is one (Unicode Standard Annex 15): characters
 * are decomposed, marks sorted by their class, and pairs composed. The form D leaves out the last step. The forms KC and KD
 * also replace characters that are another form of usual ones, such as a ligature or a letter of full width. */

/* A byte that is not UTF-8 is kept, as a code after the last one of Unicode. */
enum { ONE_BYTE = 0x110000 };
/* Syllables of Korean are composed of a first letter, a vowel and perhaps a last letter, by arithmetic. */
enum { SYLLABLE = 0xac00, FIRST = 0x1100, VOWEL = 0x1161, LAST = 0x11a7, VOWELS = 21, LASTS = 28,
       SYLLABLES = 19 * VOWELS * LASTS };

/* The class of a mark; 0: the code point is not a mark. */
static int mark_of(uint32_t code)
{
    return code < MARKS_END ? mark_of_code[code] : 0;
}

enum { MOST_PARTS = 18 };                       /* of a code point: U+FDFA */

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
    const Parts *parts = bsearch(&(Parts){ .code = code }, by_code, COUNT(by_code), sizeof *by_code, compare_codes);
    if (!parts) {
        *out = code;
        return 1;
    }
    size_t n = decompose(parts->first, out);
    return parts->second ? n + decompose(parts->second, out + n) : n;
}

/* The same in the forms NFKC and NFKD. */
static size_t decompose_more(uint32_t code, uint32_t *out)
{
    const CompatibleParts key = { .code = code }, *found;
    found = bsearch(&key, compatible, COUNT(compatible), sizeof key, compare_compatible);
    if (!found) return decompose(code, out);
    const char *part = found->parts;
    for (int i = 0; i < found->n; i++) part += utf8_decode(part, 4, &out[i]);
    return (size_t)found->n;
}

/* The code point that consists of these two; 0 if there is none. */
static uint32_t compose(uint32_t first, uint32_t second)
{
    if (first - FIRST < SYLLABLES / (VOWELS * LASTS) && second - VOWEL < VOWELS)
        return SYLLABLE + ((first - FIRST) * VOWELS + second - VOWEL) * LASTS;
    if (first - SYLLABLE < SYLLABLES && (first - SYLLABLE) % LASTS == 0 && second - LAST - 1 < LASTS - 1)
        return first + second - LAST;
    const Parts *parts = bsearch(&(Parts){ 0, first, second }, by_parts, COUNT(by_parts), sizeof *by_parts, compare_parts);
    return parts ? parts->code : 0;
}

/* Sorts n marks by class, those of one class in their order. A hostile text may have a million of them. */
static void sort_marks(uint32_t *code, size_t n, uint32_t *sorted)
{
    size_t start[257] = { 0 };
    for (size_t i = 0; i < n; i++) start[mark_of(code[i]) + 1]++;
    for (int c = 0; c < 256; c++) start[c + 1] += start[c];
    for (size_t i = 0; i < n; i++) sorted[start[mark_of(code[i])]++] = code[i];
    memcpy(code, sorted, n * sizeof *code);
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

char *unicode_normal_form(UnicodeForm form, const char *text, size_t n, size_t *size)
{
    const bool composes = form == UNICODE_NFC || form == UNICODE_NFKC, more = form == UNICODE_NFKC || form == UNICODE_NFKD;
    const unsigned char unchanged = form == UNICODE_NFC ? 0xcc : 0x80;  /* bytes below: U+0300 begins with 0xcc */
    size_t i = 0, count = 0, capacity = 0;
    while (i < n && (unsigned char)text[i] < unchanged) i++;
    if (i == n) return NULL;
    pthread_once(&once, expand_all);
    uint32_t *code = array_for(NULL, NULL, n + MOST_PARTS, &capacity, sizeof *code);
    for (i = 0; i < n; ) {
        uint32_t next = 0;
        int length = utf8_decode(text + i, n - i, &next);
        if (!length) next = (uint32_t)ONE_BYTE + (unsigned char)text[i];
        code = array_for(NULL, code, count + MOST_PARTS, &capacity, sizeof *code);
        count += more ? decompose_more(next, code + count) : decompose(next, code + count);
        i += length ? (size_t)length : 1;
    }
    uint32_t *sorted = ag_alloc(count, sizeof *sorted);
    for (size_t end = i = 0; i < count; i = end + 1) {
        for (end = i; end < count && mark_of(code[end]); end++) { }
        if (end - i > 1) sort_marks(code + i, end - i, sorted);
    }
    ag_free(sorted);
    if (composes) count = compose_all(code, count);
    char *out = ag_alloc(4 * count + 1, 1);
    *size = 0;
    for (i = 0; i < count; i++) {
        if (code[i] < ONE_BYTE) *size += (size_t)utf8_encode(code[i], out + *size);
        else out[(*size)++] = (char)(code[i] - ONE_BYTE);
    }
    ag_free(code);
    return out;
}
