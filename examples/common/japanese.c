/* japanese.c: printed text in two languages. A program has its texts in English, as formats of printf; examples/ja/ has a
 * Japanese format for each, which say() and tr() look up with --language ja. */
#include "japanese.h"
#include "common.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
#include "ja/curvature.def"
#include "ja/differential_equation.def"
#include "ja/digits.def"
#include "ja/embed.def"
#include "ja/exploding.def"
#include "ja/families.def"
#include "ja/feed_forward.def"
#include "ja/gpt.def"
#include "ja/gradient_penalty.def"
#include "ja/grade.def"
#include "ja/heads.def"
#include "ja/knobs.def"
#include "ja/landscape.def"
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
#include "ja/skip_lab.def"
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

typedef struct { va_list list; } Arguments;
/* A conversion of printf; `format` is that of printf with the width and the precision as arguments: "%-*.*lld". */
typedef struct { int width, precision; bool left; char size, kind, format[24]; } Conversion;    /* precision -1: none */

/* Reads the number at *at, or that of the arguments for a *, and moves *at behind it. */
static int read_number(const char **at, Arguments *args)
{
    if (**at == '*') {
        ++*at;
        return va_arg(args->list, int);
    }
    char *end;
    int number = (int)strtol(*at, &end, 10);
    *at = end;
    return number;
}

/* Reads the conversion after a %; returns what follows it. */
static const char *read_conversion(const char *at, Arguments *args, Conversion *c)
{
    size_t flags = strspn(at, "-+0"), sizes;
    *c = (Conversion){ .precision = -1, .left = memchr(at, '-', flags) != NULL };
    const char *first_flag = at;
    at += flags;
    c->width = *at == '*' || (*at >= '0' && *at <= '9') ? read_number(&at, args) : 0;
    if (*at == '.') {
        at++;
        c->precision = read_number(&at, args);
    }
    sizes = strspn(at, "lz");
    c->size = sizes == 2 ? 'L' : sizes == 1 ? *at : ' ';
    c->kind = at[sizes];
    snprintf(c->format, sizeof c->format, "%%%.*s*.*%.*s", (int)flags, first_flag, (int)sizes + 1, at);
    return at + sizes + 1;
}

static void put_whole_number(FILE *out, const Conversion *c, Arguments *args)
{
    switch (c->size) {
    case 'L': fprintf(out, c->format, c->width, c->precision, va_arg(args->list, long long)); break;
    case 'l': fprintf(out, c->format, c->width, c->precision, va_arg(args->list, long)); break;
    case 'z': fprintf(out, c->format, c->width, c->precision, va_arg(args->list, size_t)); break;
    default: fprintf(out, c->format, c->width, c->precision, va_arg(args->list, int));
    }
}

/* A word may be a name of the user's or a text of a file, which must not command a terminal. */
static void put_text(FILE *out, const char *text, size_t n)
{
    if (isatty(fileno(out))) {
        KaeruTextStream stream = { .out = out };
        kaeru_text_stream_put(&stream, text, n);
        kaeru_text_stream_end(&stream);
    } else {
        fwrite(text, 1, n, out);
    }
}

static void put_word(FILE *out, const char *word, const Conversion *c)
{
    const char *shown = c->precision < 0 ? tr(word) : word;
    size_t n = 0;
    while ((c->precision < 0 || n < (size_t)c->precision) && shown[n]) {
        n++;
    }
    int pad = c->width - (c->precision < 0 ? columns_of(shown) : (int)n);
    pad = pad > 0 ? pad : 0;
    fprintf(out, "%*s", c->left ? 0 : pad, "");
    put_text(out, shown, n);
    fprintf(out, "%*s", c->left ? pad : 0, "");
}

static void put_conversion(FILE *out, const Conversion *c, Arguments *args)
{
    switch (c->kind) {
    case '%': fputc('%', out); break;
    case 'c': fputc(va_arg(args->list, int), out); break;
    case 's': put_word(out, va_arg(args->list, const char *), c); break;
    case 'e': case 'f': case 'g': fprintf(out, c->format, c->width, c->precision, va_arg(args->list, double)); break;
    default: put_whole_number(out, c, args);
    }
}

/* As vfprintf, but its words in Japanese with --language ja, and harmless on a terminal. */
static void say_by_words(FILE *out, const char *format, va_list list)
{
    Arguments args;
    Conversion c;
    va_copy(args.list, list);
    while (*format) {
        size_t literal = strcspn(format, "%");
        fwrite(format, 1, literal, out);
        format += literal;
        if (*format) {
            format = read_conversion(format + 1, &args, &c);
            put_conversion(out, &c, &args);
        }
    }
    va_end(args.list);
}

static void say_list(FILE *out, const char *format, va_list args)
{
    if (example_japanese() || isatty(fileno(out))) {
        say_by_words(out, tr(format), args);
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
