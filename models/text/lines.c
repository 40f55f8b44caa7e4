/* lines.c: splits a text into lines, and converts them to lower case. */
#include <string.h>

#include "kaeru/translation.h"
#include "unicode.h"
#include "utf8.h"

bool lines_of_text(Lines *l, const char *name, const char *text, size_t size)
{
    return lines_of_part(l, name, 1, text, size);
}

bool lines_of_part(Lines *l, const char *name, int64_t first, const char *text, size_t size)
{
    *l = (Lines){ 0 };
    if (!text_check_part(name, first, text, size)) return false;
    void *r = ag_alloc(1, 1);
    const char *at = ag_strndup_in(r, text, size), *end = at + size;
    int64_t n = 0;
    for (size_t i = 0; i < size; i++) n += at[i] == '\n' || i + 1 == size;
    Line *line = ag_alloc_in(r, (size_t)n, sizeof *line);
    for (int64_t i = 0; i < n; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        size_t length = (size_t)(stop - at);
        if (stop < end && length > 0 && at[length - 1] == '\r') length--;
        line[i] = (Line){ at, length };
        at = stop + 1;
    }
    *l = (Lines){ n, line, r, first };
    return true;
}

bool lines_open(Lines *l, const char *path)
{
    Text text;
    *l = (Lines){ 0 };
    if (!text_open(&text, path)) return false;
    bool good = lines_of_text(l, path, text.bytes, text.size);
    text_close(&text);
    return good;
}

/* Writes a line in lower case; returns its size in bytes, which a few letters change. */
static size_t lower_line(Line line, char *out)
{
    char *p = out;
    for (size_t i = 0; i < line.size;) {
        uint32_t code;
        i += (size_t)utf8_decode(line.text + i, line.size - i, &code);
        p += utf8_encode(unicode_lower(code), p);
    }
    return (size_t)(p - out);
}

void lines_lower(Lines *l)
{
    size_t room = 1;
    for (int64_t i = 0; i < l->n; i++) room += 2 * l->line[i].size;     /* 1 byte stays 1, 2 may become 3 */
    char *at = l->owner ? ag_alloc_in(l->owner, room, 1) : NULL;
    for (int64_t i = 0; i < l->n; i++) {
        size_t size = lower_line(l->line[i], at);
        l->line[i] = (Line){ at, size };
        at += size;
    }
}

void lines_close(Lines *l)
{
    ag_free(l->owner);
    *l = (Lines){ 0 };
}
