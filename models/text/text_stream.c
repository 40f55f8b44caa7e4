/* text_stream.c: prints text that arrives in pieces, one complete character at a time. */
#include <string.h>

#include "vocab.h"

static const char replacement[] = "\xEF\xBF\xBD";              /* U+FFFD */

/* Whether the bytes held, which are not a character, are the beginning of one. It is enough to try the lowest and the
 * highest bytes that can follow. */
static bool begins_character(const KaeruTextStream *s)
{
    for (int high = 0; high < 2; high++) {
        char whole[4];
        uint32_t code;
        memset(whole, high ? 0xBF : 0x80, sizeof whole);
        memcpy(whole, s->held, s->n);
        if (kaeru_text_next(whole, sizeof whole, &code)) return true;
    }
    return false;
}

/* Prints the complete characters of the bytes held; at the end, all of them. */
static void print_held(KaeruTextStream *s, bool end)
{
    uint32_t code;
    while (s->n > 0) {
        size_t length = (size_t)kaeru_text_next(s->held, s->n, &code);
        if (!length && !end && begins_character(s)) return;
        if (length) fwrite(s->held, 1, length, s->out);
        else fputs(replacement, s->out);
        length = length ? length : 1;
        s->n -= length;
        memmove(s->held, s->held + length, s->n);
    }
}

static void check_held(AgSite at, const char *what, const KaeruTextStream *s)
{
    if (s->n >= sizeof s->held)
        ag_usage_error(at, what, "s holds %zu bytes, expected less than a character: initialize it with { .out = file }", s->n);
}

void kaeru_text_stream_put_at(AgSite at, KaeruTextStream *s, const char *bytes, size_t n)
{
    ag_check_pointer_at(at, __func__, "s", s);
    check_held(at, __func__, s);
    check_text(at, __func__, "bytes", bytes, n);
    ag_check_pointer_at(at, __func__, "the file of s", s->out);
    for (size_t i = 0; i < n; i++) {
        s->held[s->n++] = bytes[i];
        print_held(s, false);
    }
}

void kaeru_text_stream_end_at(AgSite at, KaeruTextStream *s)
{
    ag_check_pointer_at(at, __func__, "s", s);
    check_held(at, __func__, s);
    ag_check_pointer_at(at, __func__, "the file of s", s->out);
    print_held(s, true);
}
