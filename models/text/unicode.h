/* unicode.h: the class of a code point, lower case, and the normal form C. */
#ifndef KAERU_UNICODE_H
#define KAERU_UNICODE_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    UNICODE_OTHER,
    UNICODE_LETTER,             /* general category L */
    UNICODE_NUMBER,             /* general category N */
    UNICODE_SPACE               /* property White_Space */
} UnicodeClass;

UnicodeClass unicode_class(uint32_t code);
/* The lower-case letter of an upper-case one; any other code point unchanged, and U+0130, whose lower case is two code
 * points. */
uint32_t unicode_lower(uint32_t code);
/* Python's str.lower() of n code points, which also knows the final sigma and U+0130. Writes at most 2 n code points to `out`
 * and returns their number. */
size_t unicode_lower_text(const uint32_t *code, size_t n, uint32_t *out);
/* The normal form C of n bytes and, in *size, its size; free it with ag_free. Bytes that are not UTF-8 are kept. NULL:
 * it is the same bytes (other texts may be unchanged, too). */
char *unicode_nfc(const char *text, size_t n, size_t *size);

#endif
