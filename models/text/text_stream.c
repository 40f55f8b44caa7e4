/* text_stream.c: prints characters, not parts of them. */
#include <string.h>

#include "kaeru/lm.h"

static const char replacement[] = "\xEF\xBF\xBD";              /* U+FFFD */

/* How many bytes the character has that begins with this one; 1 for what begins none. */
static size_t expected_length(unsigned char first)
{
    return first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 && first < 0xF0 ? 3
         : first >= 0xC2 && first < 0xE0 ? 2 : 1;
}

/* Whether what is held, which is no character yet, may become one: with the least bytes that can follow, or the
 * largest. */
static bool may_become_one(const TextStream *s)
{
    size_t length = expected_length((unsigned char)s->held[0]);
    for (int high = 0; high < 2; high++) {
        char whole[4];
        uint32_t code;
        memset(whole, high ? 0xBF : 0x80, sizeof whole);
        memcpy(whole, s->held, s->n);
        if (s->n < length && text_next(whole, length, &code)) return true;
    }
    return false;
}

static void put(TextStream *s, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, s->out);
}

/* Prints what of the held bytes is certain. */
static void settle(TextStream *s, bool end)
{
    uint32_t code;
    while (s->n > 0) {
        size_t length = (size_t)text_next(s->held, s->n, &code);
        if (!length && !end && may_become_one(s)) return;
        if (length) put(s, s->held, length);
        else put(s, replacement, strlen(replacement));
        length = length ? length : 1;
        s->n -= length;
        memmove(s->held, s->held + length, s->n);
    }
}

void text_stream_put(TextStream *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->held[s->n++] = bytes[i];
        settle(s, false);
    }
}

void text_stream_end(TextStream *s)
{
    settle(s, true);
}
