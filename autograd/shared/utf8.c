/* utf8.c: decodes, encodes, checks and quotes UTF-8. */
#include "utf8.h"

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

bool utf8_is_printable(uint32_t c)
{
    bool control = c < 0x20 || (c >= 0x7f && c <= 0x9f), ends_line = c == 0x2028 || c == 0x2029;
    bool turns = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    bool tag = c >= 0xe0001 && c <= 0xe007f;              /* which no terminal shows */
    return !control && !ends_line && !turns && !tag;
}

enum { MOST_PRINTED = 5 };                  /* bytes of one character, and the NUL */

/* Writes the first character of n >= 1 bytes to out, without a NUL; if it is not printable, \xNN for its first byte. Returns
 * the number of bytes read; *written: that of bytes written. */
static size_t print_one(const char *s, size_t n, char out[MOST_PRINTED], size_t *written)
{
    uint32_t code;
    size_t length = (size_t)utf8_decode(s, n, &code);
    if (length == 0 || !utf8_is_printable(code)) {
        *written = (size_t)snprintf(out, MOST_PRINTED, "\\x%02X", (unsigned char)*s);
        return 1;
    }
    memcpy(out, s, length);
    return *written = length;
}

size_t utf8_printable(const char *s, size_t n, char *out, size_t size)
{
    size_t used = 0, more;
    for (size_t i = 0; i < n; used += more) {
        char one[MOST_PRINTED];
        i += print_one(s + i, n - i, one, &more);
        if (more >= size - used) break;
        memcpy(out + used, one, more);
    }
    out[used] = '\0';
    return used;
}

void utf8_print(FILE *out, const char *text)
{
    for (size_t i = 0, n = strlen(text), length; i < n;) {
        char one[MOST_PRINTED];
        i += print_one(text + i, n - i, one, &length);
        fwrite(one, 1, length, out);
    }
}

const char *utf8_quote(const char *s, size_t n, char out[UTF8_QUOTE])
{
    size_t i = 0, used = 0, more;
    out[used++] = '"';
    for (; i < n && used < UTF8_QUOTE - 20; used += more) i += print_one(s + i, n - i, out + used, &more);
    snprintf(out + used, UTF8_QUOTE - used, i < n ? "...\"" : "\"");
    return out;
}
