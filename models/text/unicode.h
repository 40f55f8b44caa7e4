/* unicode.h: the class of a code point, lower case, and the normal forms. */
#ifndef KAERU_UNICODE_H
#define KAERU_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    UNICODE_OTHER,
    UNICODE_LETTER,             /* general category L */
    UNICODE_NUMBER,             /* general category N */
    UNICODE_SPACE               /* property White_Space */
} UnicodeClass;

UnicodeClass unicode_class(uint32_t code);
/* Whether the code point is a word character, \w of a regular expression: a letter, a mark, a digit, "_" and some more. */
bool unicode_is_word(uint32_t code);
/* Of BERT's tokenizer: whether its normalizer takes the code point out of a text; whether it is an accent; whether it is a word
 * of its own. */
bool unicode_is_unclean(uint32_t code);
bool unicode_is_accent(uint32_t code);
bool unicode_is_alone(uint32_t code);
/* The lower-case letter of an upper-case one; any other code point unchanged, and U+0130, whose lower case is two code
 * points. */
uint32_t unicode_lower(uint32_t code);
/* The lower case of n bytes, each character by itself, as `tokenizers` has it: it knows newer letters than Python, and U+0130,
 * but not the final sigma. In *size its size; free it with ag_free. Bytes that are not UTF-8 are kept. */
char *unicode_lower_each(const char *text, size_t n, size_t *size);

typedef enum {
    UNICODE_NFC,
    UNICODE_NFD,
    UNICODE_NFKC,
    UNICODE_NFKD
} UnicodeForm;
/* A normal form of n bytes and, in *size, its size; free it with ag_free. Bytes that are not UTF-8 are kept. NULL: it is the
 * same bytes (other texts may be unchanged, too). */
char *unicode_normal_form(UnicodeForm form, const char *text, size_t n, size_t *size);

#endif
