/* unicode.c: the class and the lower-case letter of a code point, by table. The table of classes lists runs of code points;
 * the first call expands it to one byte for each code point. */
#include "unicode.h"

#include <pthread.h>
#include <stddef.h>
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
