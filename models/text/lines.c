/* lines.c: splits a text into lines, and converts them to lower case. */
#include <inttypes.h>
#include <string.h>

#include "kaeru/text.h"
#include "unicode.h"
#include "utf8.h"
#include "vocab.h"

enum { MAX_LINE = 1000000 };        /* bytes; no sentence is longer, and encoding takes eight times that memory */

bool kaeru_lines_of_text(KaeruLines *l, const char *name, int64_t first, const char *text, size_t size)
{
    AG_LAYER;
    ag_check_pointer(__func__, "l", l);
    ag_check_pointer(__func__, "name", name);
    check_text(__func__, "text", text, size);
    *l = (KaeruLines){ 0 };
    if (!kaeru_text_check(name, first, text, size)) return false;
    void *r = ag_alloc(1, 1);
    size_t most = 1;
    for (size_t i = 0; i < size; i++) most += text[i] == '\n';
    KaeruLines found = { .line = ag_alloc_in(r, most, sizeof *found.line), .owner = r, .first = first };
    size_t mark = first == 1 ? utf8_mark(text, size) : 0;
    size -= mark;
    for (const char *rest = ag_strndup_in(r, text + mark, size), *end = rest + size, *stop; rest < end; rest = stop + 1) {
        stop = memchr(rest, '\n', (size_t)(end - rest));
        if (!stop) stop = end;
        size_t length = (size_t)(stop - rest);
        if (stop < end && length > 0 && rest[length - 1] == '\r') length--;
        if (length > MAX_LINE) {
            ag_free(r);
            return ag_set_error("%s: line %" PRId64 ": expected at most %d bytes, found %zu", name, first + found.n, MAX_LINE,
                                length);
        }
        found.line[found.n++] = (KaeruLine){ rest, length };
    }
    *l = found;
    return true;
}

bool kaeru_lines_open(KaeruLines *l, const char *path)
{
    AG_LAYER;
    ag_check_pointer(__func__, "l", l);
    ag_check_pointer(__func__, "path", path);
    KaeruText text;
    *l = (KaeruLines){ 0 };
    if (!kaeru_text_open(&text, path)) return false;
    bool good = kaeru_lines_of_text(l, path, 1, text.bytes, text.size);
    kaeru_text_close(&text);
    return good;
}

/* Writes a line in lower case; returns its size in bytes, which a few letters change. */
static size_t lower_line(KaeruLine line, char *out)
{
    char *p = out;
    for (size_t i = 0; i < line.size;) {
        uint32_t code;
        int length = utf8_decode(line.text + i, line.size - i, &code);
        if (length > 0) p += utf8_encode(unicode_lower(code), p);
        else *p++ = line.text[i];                               /* not UTF-8: stays as it is */
        i += length > 0 ? (size_t)length : 1;
    }
    return (size_t)(p - out);
}

void kaeru_lines_lower(KaeruLines *l)
{
    ag_check_pointer(__func__, "l", l);
    size_t size = 1;
    for (int64_t i = 0; i < l->n; i++) size += 2 * l->line[i].size;     /* 1 byte remains 1, 2 may become 3 */
    char *out = l->owner ? ag_alloc_in(l->owner, size, 1) : NULL;
    for (int64_t i = 0; i < l->n; i++) {
        l->line[i] = (KaeruLine){ out, lower_line(l->line[i], out) };
        out += l->line[i].size;
    }
}

char *kaeru_lines_join(const KaeruLines *texts, int n, size_t *size)
{
    if (n < 1) ag_usage_error(__func__, "%d texts, expected 1 or more", n);
    ag_check_pointer(__func__, "texts", texts);
    ag_check_pointer(__func__, "size", size);
    *size = 0;
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < texts[i].n; j++) *size += texts[i].line[j].size + 2;
    char *all = ag_alloc(*size + 1, 1), *end = all;
    for (int i = 0; i < n; i++) {
        for (int64_t j = 0; j < texts[i].n; j++) {
            KaeruLine line = texts[i].line[j];
            *end++ = ' ';
            if (line.size > 0) memcpy(end, line.text, line.size);
            end += line.size;
            *end++ = '\n';
        }
    }
    return all;
}

void kaeru_lines_close(KaeruLines *l)
{
    ag_check_pointer(__func__, "l", l);
    ag_free(l->owner);
    *l = (KaeruLines){ 0 };
}
