/* utf8.h: characters in bytes (RFC 3629: at most four bytes, shortest form, no surrogates, up to U+10FFFF). */
#ifndef KAERU_UTF8_H
#define KAERU_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The character at s, where n >= 1 bytes are left: its length, 1 to 4, and code point; 0 if this is not UTF-8. */
int utf8_decode(const char *s, size_t n, uint32_t *code);
/* Writes a code point (a valid one); returns its length. */
int utf8_encode(uint32_t code, char out[4]);
/* How many bytes at the start are valid: n if all are. */
size_t utf8_valid(const char *s, size_t n);
/* Text for a message of one line: in double quotes, bytes that are not plain printable text as \xNN, a long one cut.
 * Returns out. */
#define UTF8_QUOTE 80
const char *utf8_quote(const char *s, size_t n, char out[UTF8_QUOTE]);

#endif
