/* unicode.h: what kind of character a code point is. */
#ifndef KAERU_UNICODE_H
#define KAERU_UNICODE_H

#include <stdint.h>

typedef enum {
    UNICODE_OTHER,
    UNICODE_LETTER,             /* general category L */
    UNICODE_NUMBER,             /* general category N */
    UNICODE_SPACE               /* property White_Space */
} UnicodeClass;

UnicodeClass unicode_class(uint32_t code);

#endif
