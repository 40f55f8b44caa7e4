/* unicode.c: the class and the lower case of code points, by tables of runs of code points. The first call expands the table of
 * classes to one byte for each code point. */
#include "unicode.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "lower_table.h"
#include "unicode_table.h"

static uint8_t class_of[UNICODE_END];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Expands n lengths of runs, in turn of code points of another class and of this class. */
static void expand(UnicodeClass class, const uint16_t *length, size_t n)
{
    for (size_t i = 0, code = 0; i < n; i += 2) {
        memset(class_of + code + length[i], (int)class, length[i + 1]);
        code += (size_t)length[i] + length[i + 1];
    }
}

static void expand_all(void)
{
    expand(UNICODE_LETTER, unicode_letters, sizeof unicode_letters / sizeof *unicode_letters);
    expand(UNICODE_NUMBER, unicode_numbers, sizeof unicode_numbers / sizeof *unicode_numbers);
    expand(UNICODE_SPACE, unicode_spaces, sizeof unicode_spaces / sizeof *unicode_spaces);
}

UnicodeClass unicode_class(uint32_t code)
{
    pthread_once(&once, expand_all);
    return code < UNICODE_END ? (UnicodeClass)class_of[code] : UNICODE_OTHER;
}

uint32_t unicode_lower(uint32_t code)
{
    size_t low = 0, high = sizeof lower_runs / sizeof *lower_runs;     /* find the first run that ends at `code` or later */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (lower_runs[middle].last < code) low = middle + 1;
        else high = middle;
    }
    if (low == sizeof lower_runs / sizeof *lower_runs || code < lower_runs[low].first) return code;
    if ((code - lower_runs[low].first) % lower_runs[low].step != 0) return code;
    return (uint32_t)((int32_t)code + lower_runs[low].distance);
}

/* Whether the code point is in one of the second runs of each pair. */
static bool in_runs(const uint16_t *length, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i += 2) {
        if (code < length[i]) return false;
        code -= length[i];
        if (code < length[i + 1]) return true;
        code -= length[i + 1];
    }
    return false;
}

static bool is_cased(uint32_t code)
{
    return in_runs(unicode_cased, sizeof unicode_cased / sizeof *unicode_cased, code);
}

static bool is_ignorable(uint32_t code)
{
    return in_runs(unicode_case_ignorable, sizeof unicode_case_ignorable / sizeof *unicode_case_ignorable, code);
}

/* Whether the capital sigma at i ends a word: a cased letter is before it and none after it. Characters without a case of
 * their own, such as accents and apostrophes, are skipped. */
static bool is_final(const uint32_t *code, size_t n, size_t i)
{
    size_t before = i, after = i + 1;
    while (before > 0 && is_ignorable(code[before - 1])) before--;
    while (after < n && is_ignorable(code[after])) after++;
    return before > 0 && is_cased(code[before - 1]) && !(after < n && is_cased(code[after]));
}

size_t unicode_lower_text(const uint32_t *code, size_t n, uint32_t *out)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        bool dotted_i = code[i] == 0x130, final_sigma = code[i] == 0x3a3 && is_final(code, n, i);
        out[size++] = dotted_i ? 'i' : final_sigma ? 0x3c2 : unicode_lower(code[i]);
        if (dotted_i) out[size++] = 0x307;
    }
    return size;
}
