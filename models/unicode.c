/* unicode.c: blocks that look the same are stored once, and four characters share a byte. */
#include "unicode.h"

#include "unicode_table.h"

UnicodeClass unicode_class(uint32_t code)
{
    if (code >= UNICODE_END) return UNICODE_OTHER;
    uint32_t at = unicode_index[code / UNICODE_BLOCK] * (uint32_t)UNICODE_BLOCK + code % UNICODE_BLOCK;
    return (UnicodeClass)(unicode_classes[at / 4] >> 2 * (at % 4) & 3);
}
