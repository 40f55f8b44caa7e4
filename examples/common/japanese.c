/* japanese.c: printed text in two languages. A program has its texts in English, as formats of printf; examples/ja/ has a
 * Japanese format for each, which say() and tr() look up with --language ja. */
#include "japanese.h"
#include "common.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const Pair pairs[] = {
#include "ja/common.def"
#include "ja/ablations.def"
#include "ja/architectures.def"
#include "ja/attention_by_hand.def"
#include "ja/attention_geometry.def"
#include "ja/backprop.def"
#include "ja/block.def"
#include "ja/boundary.def"
#include "ja/compress.def"
#include "ja/copy_task.def"
#include "ja/digits.def"
#include "ja/exploding.def"
#include "ja/families.def"
#include "ja/feed_forward.def"
#include "ja/gpt.def"
#include "ja/grade.def"
#include "ja/heads.def"
#include "ja/knobs.def"
#include "ja/layer_norm.def"
#include "ja/learning_step.def"
#include "ja/library.def"
#include "ja/llama.def"
#include "ja/moons.def"
#include "ja/norm_conventions.def"
#include "ja/page.def"
#include "ja/positions.def"
#include "ja/score_width.def"
#include "ja/seq2seq.def"
#include "ja/shards.def"
#include "ja/skip_connection.def"
#include "ja/temperature.def"
#include "ja/text_to_numbers.def"
#include "ja/translate.def"
#include "ja/vectors.def"
#include "ja/word_vectors.def"
#include "ja/write_backward.def"
    { NULL, NULL }
};
/* Lines that the library prints, with %s for any text. */
static const Pair lines[] = {
#include "ja/lines.def"
    { NULL, NULL }
};

const char *tr(const char *english)
{
    for (const Pair *p = pairs; example_japanese() && p->english; p++) {
        if (strcmp(p->english, english) == 0) {
            return p->japanese;
        }
    }
    return english;
}

/* ---- width in a terminal ----------------------------------------------------------------------------------------- */

/* Letters of Japanese and full-width signs take two columns. */
static bool is_wide(uint32_t c)
{
    return (c >= 0x2e80 && c < 0xa4d0) || (c >= 0xf900 && c < 0xfb00) || (c >= 0xfe30 && c < 0xfe50) ||
           (c >= 0xff00 && c < 0xff61) || (c >= 0xffe0 && c < 0xffe7);
}

/* The columns that a text in UTF-8 takes. */
static int columns_of(const char *text)
{
    int columns = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if ((*p & 0xc0) == 0x80) {
            continue;                                                   /* not the first byte of a character */
        }
        bool three = *p >= 0xe0 && *p < 0xf0 && p[1] && p[2];           /* the bytes of all wide characters */
        columns += three && is_wide((*p & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u)) ? 2 : 1;
    }
    return columns;
}

/* ---- say --------------------------------------------------------------------------------------------------------- */

typedef struct { int width, precision; bool left; char size, kind; } Conversion;        /* precision: -1 if there is none */

/* `word` in `width` columns. */
static void put_padded(FILE *out, const char *word, const Conversion *c)
{
    int pad = c->width - columns_of(word);
    pad = pad > 0 ? pad : 0;
    fprintf(out, "%*s%s%*s", c->left ? 0 : pad, "", word, c->left ? pad : 0, "");
}

static void say_in_japanese(FILE *out, const char *format, va_list list)
{
    va_list args;
    va_copy(args, list);
    while (*format) {
        size_t literal = strcspn(format, "%");
        fwrite(format, 1, literal, out);
        format += literal;
        if (*format == '\0') {
            break;
        }
        char spec[32], whole[64];
        size_t flags = 1 + strspn(format + 1, "-+ #0"), end = flags + strspn(format + flags, "0123456789.*");
        Conversion c = { 0, -1, memchr(format, '-', flags) != NULL, format[end], 0 };
        const char *at = format + flags;
        c.width = *at == '*' ? va_arg(args, int) : (int)strtol(at, NULL, 10);
        at += *at == '*' ? 1 : strspn(at, "0123456789");
        if (*at == '.') {
            c.precision = at[1] == '*' ? va_arg(args, int) : (int)strtol(at + 1, NULL, 10);
        }
        size_t sizes = strspn(format + end, "ljz");
        c.kind = format[end + sizes];
        snprintf(spec, sizeof spec, "%.*s*.*", (int)flags, format);
        snprintf(whole, sizeof whole, "%s%.*s", spec, (int)sizes + 1, format + end);
        format += end + sizes + 1;
        switch (c.kind) {
        case '%': fputc('%', out); break;
        case 's': {
            const char *word = va_arg(args, const char *);
            if (c.precision >= 0) {
                fprintf(out, whole, c.width, c.precision, word);
            } else {
                put_padded(out, tr(word), &c);
            }
            break;
        }
        case 'c': fprintf(out, "%*c", c.left ? -c.width : c.width, va_arg(args, int)); break;
        case 'e': case 'f': case 'g': fprintf(out, whole, c.width, c.precision, va_arg(args, double)); break;
        default:
            if (sizes == 0) {
                fprintf(out, whole, c.width, c.precision, va_arg(args, int));
            } else if (sizes == 1 && c.size == 'l') {
                fprintf(out, whole, c.width, c.precision, va_arg(args, long));
            } else if (c.size == 'z') {
                fprintf(out, whole, c.width, c.precision, va_arg(args, size_t));
            } else {
                fprintf(out, whole, c.width, c.precision, va_arg(args, long long));
            }
        }
    }
    va_end(args);
}

static void say_list(FILE *out, const char *format, va_list args)
{
    if (example_japanese()) {
        say_in_japanese(out, tr(format), args);
    } else {
        vfprintf(out, format, args);
    }
}

void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_list(stdout, format, args);
    va_end(args);
}

void say_to(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_list(out, format, args);
    va_end(args);
}

/* ---- texts made by a pattern ------------------------------------------------------------------------------------- */

typedef struct { const char *at; size_t n; } Part;
enum { PARTS = 6 };                                                     /* %s in a pattern, at most */

/* Whether a text fits a pattern, in which %s is any text up to what follows it. */
static bool fits(const char *pattern, const char *text, Part part[PARTS])
{
    int n = 0;
    while (*pattern) {
        if (strncmp(pattern, "%s", 2) != 0) {
            if (*pattern++ != *text++) {
                return false;
            }
            continue;
        }
        if (n == PARTS) {
            return false;
        }
        pattern += 2;
        size_t literal = strcspn(pattern, "%");
        const char *end = text;
        while (*end && (literal == 0 || strncmp(end, pattern, literal) != 0)) {
            end++;
        }
        part[n++] = (Part){ text, (size_t)(end - text) };
        text = end;
    }
    return *text == '\0';
}

/* The Japanese line for a text, which itself counts before a pattern; if there is none, the text. */
static const char *find(const Pair *pair, const char *text, Part part[PARTS])
{
    for (const Pair *p = pair; p->english; p++) {
        if (strcmp(p->english, text) == 0) {
            return p->japanese;
        }
    }
    for (const Pair *p = pair; p->english; p++) {
        if (fits(p->english, text, part)) {
            return p->japanese;
        }
    }
    return text;
}

static void write_part(FILE *out, const Part *part, const Pair *words)
{
    char *text = words ? ag_alloc(part->n + 1, 1) : NULL;
    if (text) {
        memcpy(text, part->at, part->n);
        pairs_write(out, text, words, words);
    } else {
        fwrite(part->at, 1, part->n, out);
    }
    ag_free(text);
}

void pairs_write(FILE *out, const char *text, const Pair *pair, const Pair *words)
{
    Part part[PARTS] = { { NULL, 0 } };
    const char *p = find(pair, text, part);
    for (int n = 0; *p; p++) {
        if (strncmp(p, "%s", 2) == 0 && n < PARTS) {
            write_part(out, &part[n++], words);
            p++;
        } else {
            fputc(*p, out);
        }
    }
}

/* ---- reports of the library -------------------------------------------------------------------------------------- */

FILE *report_begin(void)
{
    FILE *report = example_japanese() ? tmpfile() : NULL;
    return report ? report : stdout;
}

void report_end(FILE *report)
{
    char line[1024];
    if (report == stdout) {
        return;
    }
    rewind(report);
    while (fgets(line, sizeof line, report)) {
        line[strcspn(line, "\n")] = '\0';
        pairs_write(stdout, line, lines, lines);
        putchar('\n');
    }
    fclose(report);
}
