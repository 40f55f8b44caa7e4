/* text.c: opens files of UTF-8, checks texts, and prints a text that arrives in pieces. */
#include "vocab.h"

#include <inttypes.h>
#include <string.h>

#include "file.h"
#include "system.h"
#include "utf8.h"

void check_text(const char *what, const char *name, const char *text, size_t n)
{
    if (n > 0) ag_check_pointer(what, name, text);
    if (n > PTRDIFF_MAX) ag_usage_error(what, "the size of %s is %zd, expected 0 or more", name, (ptrdiff_t)n);
}

const char *text_place(int64_t first, const char *text, size_t byte, char out[TEXT_PLACE])
{
    size_t line, column;
    utf8_position(text, byte, &line, &column);
    snprintf(out, TEXT_PLACE, "line %" PRId64 ", column %zu, byte %zu", first + (int64_t)line - 1, column, byte);
    return out;
}

bool kaeru_text_open(KaeruText *text, const char *path)
{
    AG_LAYER;
    ag_check_pointer(__func__, "text", text);
    ag_check_pointer(__func__, "path", path);
    *text = (KaeruText){ 0 };
    File *file = file_open(path, true);
    if (!file) return false;
    bool good = kaeru_text_check(path, 1, file->bytes, file->size);
    size_t mark = good ? utf8_mark(file->bytes, file->size) : 0;
    if (good) *text = (KaeruText){ file->bytes + mark, file->size - mark, file };
    else ag_free(file);
    return good;
}

void kaeru_text_close(KaeruText *text)
{
    ag_check_pointer(__func__, "text", text);
    ag_free(text->file);
    *text = (KaeruText){ 0 };
}

bool kaeru_text_is_same_file(const char *a, const char *b)
{
    ag_check_pointer(__func__, "a", a);
    ag_check_pointer(__func__, "b", b);
    return file_is_same(a, b);
}

bool kaeru_text_check(const char *name, int64_t first, const char *text, size_t n)
{
    ag_check_pointer(__func__, "name", name);
    check_text(__func__, "text", text, n);
    if (first > INT64_MAX - (int64_t)n)                         /* a byte can be a line */
        ag_usage_error(__func__, "first is %" PRId64 ": the lines behind it have no number", first);
    char place[TEXT_PLACE];
    size_t valid = utf8_valid(text, n);
    if (valid == n) return true;
    return ag_set_error("%s: %s: expected UTF-8, found byte 0x%02X", name, text_place(first, text, valid, place),
                        (unsigned char)text[valid]);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* Whether the bytes held, which are not a character, are the beginning of one. It is enough to try the lowest and the
 * highest bytes that can follow. */
static bool begins_character(const KaeruTextStream *s)
{
    for (int high = 0; high < 2; high++) {
        char whole[4];
        uint32_t code;
        memset(whole, high ? 0xBF : 0x80, sizeof whole);
        memcpy(whole, s->held, s->n);
        if (utf8_decode(whole, sizeof whole, &code)) return true;
    }
    return false;
}

/* Prints a character. On a terminal, one that the terminal would obey is printed as \xNN. */
static void print_character(FILE *out, const char *bytes, size_t n, uint32_t code)
{
    bool harmless = code == '\n' || code == '\t' || utf8_is_printable(code);
    if (harmless || !isatty(fileno(out))) fwrite(bytes, 1, n, out);
    else for (size_t i = 0; i < n; i++) fprintf(out, "\\x%02X", (unsigned char)bytes[i]);
}

/* Prints the complete characters of the bytes held; at the end, all of them. */
static void print_held(KaeruTextStream *s, bool end)
{
    uint32_t code;
    while (s->n > 0) {
        size_t length = (size_t)utf8_decode(s->held, s->n, &code);
        if (!length && !end && begins_character(s)) return;
        if (length) print_character(s->out, s->held, length, code);
        else fputs("\xEF\xBF\xBD", s->out);               /* U+FFFD, the replacement character */
        length = length ? length : 1;
        s->n -= length;
        memmove(s->held, s->held + length, s->n);
    }
}

static void check_stream(const char *what, const KaeruTextStream *s)
{
    ag_check_pointer(what, "s", s);
    if (s->n >= sizeof s->held)
        ag_usage_error(what, "s holds %zu bytes, expected less than a character: initialize it with { .out = file }", s->n);
    ag_check_pointer(what, "the file of s", s->out);
}

void kaeru_text_stream_put(KaeruTextStream *s, const char *bytes, size_t n)
{
    check_stream(__func__, s);
    check_text(__func__, "bytes", bytes, n);
    for (size_t i = 0; i < n; i++) {
        s->held[s->n++] = bytes[i];
        print_held(s, false);
    }
}

void kaeru_text_stream_end(KaeruTextStream *s)
{
    check_stream(__func__, s);
    print_held(s, true);
}
