/* unicode.h: what kind of character a code point is, and its small letter. */
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
/* The small letter of a capital one, the code itself of anything else. (U+0130 would become two; it stays.) */
uint32_t unicode_lower(uint32_t code);

#endif
