/* unicode.c: the class and the lower-case letter of a code point, by table. The table of classes has two levels: equal
 * blocks of code points are stored once, and four classes share a byte. */
#include "unicode.h"

#include <stddef.h>

#include "lower_table.h"
#include "unicode_table.h"

UnicodeClass unicode_class(uint32_t code)
{
    if (code >= UNICODE_END) return UNICODE_OTHER;
    uint32_t at = unicode_index[code / UNICODE_BLOCK] * (uint32_t)UNICODE_BLOCK + code % UNICODE_BLOCK;
    return (UnicodeClass)(unicode_classes[at / 4] >> 2 * (at % 4) & 3);
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
