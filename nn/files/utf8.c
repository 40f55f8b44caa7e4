/* utf8.c: decodes, encodes, checks and quotes UTF-8. */
#include "utf8.h"

#include <stdio.h>
#include <string.h>

int utf8_decode(const char *text, size_t n, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    static const uint32_t smallest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    int length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc0 || s[0] > 0xf7 || n < (size_t)length) return 0;
    uint32_t c = s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if (!utf8_continues(text[i])) return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    *code = c;
    return length;
}

int utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> length & 0xff) | c);
    return length;
}

size_t utf8_valid(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint32_t code;
        int length = utf8_decode(s + i, n - i, &code);
        if (!length) break;
        i += (size_t)length;
    }
    return i;
}

size_t utf8_mark(const char *s, size_t n)
{
    enum { SIZE = 3 };
    return n >= SIZE && memcmp(s, "\xef\xbb\xbf", SIZE) == 0 ? SIZE : 0;      /* U+FEFF */
}

void utf8_position(const char *text, size_t at, size_t *line, size_t *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < at; i++) {
        *column += !utf8_continues(text[i]);
        if (text[i] != '\n') continue;
        ++*line;
        *column = 1;
    }
}

const char *utf8_quote(const char *s, size_t n, char out[UTF8_QUOTE])
{
    size_t i = 0, used = 0;
    out[used++] = '"';
    while (i < n && used < UTF8_QUOTE - 20) {
        uint32_t code;
        int length = utf8_decode(s + i, n - i, &code);
        if (length && code >= 0x20 && (code < 0x7f || code > 0x9f) && code != 0x2028 && code != 0x2029) {
            memcpy(out + used, s + i, (size_t)length);
            used += (size_t)length;
            i += (size_t)length;
        } else {
            used += (size_t)snprintf(out + used, UTF8_QUOTE - used, "\\x%02X", (unsigned char)s[i++]);
        }
    }
    snprintf(out + used, UTF8_QUOTE - used, i < n ? "...\"" : "\"");
    return out;
}
