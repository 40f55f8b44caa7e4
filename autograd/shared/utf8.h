/* utf8.h: UTF-8 as RFC 3629 defines it: at most four bytes, shortest form, no surrogates, up to U+10FFFF. */
#ifndef KAERU_UTF8_H
#define KAERU_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Decodes the first character of n >= 1 bytes. Returns its length, 1 to 4; 0 if the bytes are not UTF-8. */
int utf8_decode(const char *s, size_t n, uint32_t *code);
/* Writes a valid code point; returns its length. */
int utf8_encode(uint32_t code, char out[4]);
/* The number of valid bytes at the start: n if all are valid. */
size_t utf8_valid(const char *s, size_t n);
/* Whether a character does not begin with this byte, but continues. */
static inline bool utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}
/* The bytes of the byte order mark with which n bytes begin: 3, or 0. Readers of text skip it: editors and shells of Windows
 * write it. */
size_t utf8_mark(const char *s, size_t n);
/* The line and the column, in characters, of byte `at` of a text. Both count from 1. */
void utf8_position(const char *text, size_t at, size_t *line, size_t *column);
/* Whether a terminal shows the character as itself: it is no control character, does not end a line, does not change the
 * direction of the text around it, and is no tag (U+E0001 to U+E007F), which is not shown. */
bool utf8_is_printable(uint32_t code);
/* Writes as much of n bytes as fits into out[size], and a NUL; returns how much it has written. Characters that are not
 * printable, and bytes that are not UTF-8, are written as \xNN. All text that may come from a file goes through this
 * function or utf8_quote before it is part of a message: a terminal would obey it. */
size_t utf8_printable(const char *s, size_t n, char *out, size_t size);
/* Prints a text in this form. */
void utf8_print(FILE *out, const char *text);
/* Writes a text for a message in this form and in double quotes, a long text cut off. Returns out. */
#define UTF8_QUOTE 80
const char *utf8_quote(const char *s, size_t n, char out[UTF8_QUOTE]);
/* The same text in memory that is valid until the end of the block. */
#define QUOTED_BYTES(s, n) utf8_quote(s, n, (char[UTF8_QUOTE]){ 0 })
#define QUOTED(s) QUOTED_BYTES(s, strlen(s))

#endif
