/* bleu.c: corpus BLEU. A sentence is split into tokens as the script mteval-v13a.pl does: around punctuation, but not
 * around a period, comma or dash between digits. Then n-grams of one to four tokens are counted. */
#include <string.h>

#include "kaeru/translation.h"
#include "unicode.h"
#include "utf8.h"
#include "vocab.h"

enum { ORDERS = 4 };

/* ---- characters -------------------------------------------------------------------------------------------------- */

/* A sentence as code points. A byte that is not UTF-8 becomes U+FFFD. */
typedef struct { uint32_t *code; size_t n; } Characters;

static bool is_space(uint32_t c)
{
    return unicode_class(c) == UNICODE_SPACE || (c >= 0x1c && c <= 0x1f);
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

/* The punctuation and symbols of ASCII, without the period, comma, dash and apostrophe. */
static bool is_sign(uint32_t c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static Characters read_characters(void *r, const char *text, size_t n, bool lower)
{
    Characters c = { ag_alloc_in(r, n + 1, sizeof *c.code), 0 };
    for (size_t i = 0; i < n;) {
        uint32_t code;
        int length = utf8_decode(text + i, n - i, &code);
        c.code[c.n++] = length ? code : 0xfffd;
        i += length ? (size_t)length : 1;
    }
    if (lower) {
        Characters small = { ag_alloc_in(r, 2 * c.n + 1, sizeof *c.code), 0 };
        small.n = unicode_lower_text(c.code, c.n, small.code);
        c = small;
    }
    while (c.n > 0 && is_space(c.code[c.n - 1])) c.n--;
    return c;
}

/* Replaces each `what` by the code point `with`, or removes it if `with` is 0. In place. */
static void replace(Characters *c, const char *what, uint32_t with)
{
    size_t length = strlen(what), out = 0;
    for (size_t i = 0; i < c->n;) {
        size_t same = 0;
        while (same < length && i + same < c->n && c->code[i + same] == (unsigned char)what[same]) same++;
        if (same < length) {
            c->code[out++] = c->code[i++];
            continue;
        }
        if (with) c->code[out++] = with;
        i += length;
    }
    c->n = out;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------
 * Each rule of the script reads from left to right and matches one or two characters. It does not read the characters of
 * a match, or the spaces that it inserts, again. */

typedef enum { AROUND_SIGN, POINT_AFTER_NO_DIGIT, POINT_BEFORE_NO_DIGIT, DASH_AFTER_DIGIT, N_RULES } Rule;

static bool is_point(uint32_t c)
{
    return c == '.' || c == ',';
}

static bool matches_pair(Rule rule, uint32_t a, uint32_t b)
{
    switch (rule) {
    case POINT_AFTER_NO_DIGIT:  return !is_digit(a) && is_point(b);
    case POINT_BEFORE_NO_DIGIT: return is_point(a) && !is_digit(b);
    case DASH_AFTER_DIGIT:      return is_digit(a) && b == '-';
    default:                    return false;
    }
}

static Characters apply(void *r, Rule rule, Characters in)
{
    Characters out = { ag_alloc_in(r, 3 * in.n + 1, sizeof *out.code), 0 };
    for (size_t i = 0; i < in.n; i++) {
        uint32_t a = in.code[i], b = i + 1 < in.n ? in.code[i + 1] : 0;
        if (rule == AROUND_SIGN && is_sign(a)) {
            out.code[out.n++] = ' ';
            out.code[out.n++] = a;
            out.code[out.n++] = ' ';
        } else if (i + 1 < in.n && matches_pair(rule, a, b)) {
            if (rule == POINT_BEFORE_NO_DIGIT) out.code[out.n++] = ' ';
            out.code[out.n++] = a;
            out.code[out.n++] = ' ';
            out.code[out.n++] = b;
            if (rule != POINT_BEFORE_NO_DIGIT) out.code[out.n++] = ' ';
            i++;
        } else {
            out.code[out.n++] = a;
        }
    }
    return out;
}

/* A sentence as tokens, each by its number in a table of all. */
typedef struct { int32_t *id; size_t n; } Tokens;

static Tokens tokenize(void *r, WordTable *table, const char *text, size_t n, bool lower)
{
    Characters c = read_characters(r, text, n, lower);
    replace(&c, "<skipped>", 0);
    replace(&c, "-\n", 0);
    replace(&c, "\n", ' ');
    replace(&c, "&quot;", '"');
    replace(&c, "&amp;", '&');
    replace(&c, "&lt;", '<');
    replace(&c, "&gt;", '>');
    Characters spaced = { ag_alloc_in(r, c.n + 2, sizeof *spaced.code), c.n + 2 };
    spaced.code[0] = spaced.code[c.n + 1] = ' ';
    if (c.n > 0) memcpy(spaced.code + 1, c.code, c.n * sizeof *c.code);
    for (Rule rule = AROUND_SIGN; rule < N_RULES; rule++) spaced = apply(r, rule, spaced);

    Tokens t = { ag_alloc_in(r, spaced.n, sizeof *t.id), 0 };
    for (size_t i = 0; i < spaced.n; i++) {
        if (is_space(spaced.code[i])) continue;
        size_t first = i;
        while (i < spaced.n && !is_space(spaced.code[i])) i++;
        t.id[t.n++] = word_table_add(table, (const char *)(spaced.code + first), (i - first) * sizeof *spaced.code);
    }
    return t;
}

/* ---- n-grams ----------------------------------------------------------------------------------------------------- */

/* A table of the sentence's n-grams. Its words are the bytes of n ids. */
static WordTable *grams_of(void *r, const Tokens *t, size_t n)
{
    WordTable *grams = word_table_new(r);
    for (size_t i = 0; i + n <= t->n; i++) word_table_add(grams, (const char *)(t->id + i), n * sizeof *t->id);
    return grams;
}

/* The number of n-grams that a and b have in common: of one that is there several times, the smaller number. */
static int64_t count_common(const WordTable *a, const WordTable *b)
{
    int64_t common = 0;
    for (int32_t i = 0; i < a->n; i++) {
        int32_t k = word_table_find(b, a->word[i].text, a->word[i].size);
        if (k >= 0) common += a->word[i].count < b->word[k].count ? a->word[i].count : b->word[k].count;
    }
    return common;
}

void kaeru_bleu_add(KaeruBleu *b, const char *translation, size_t n, const char *reference, size_t reference_n)
{
    AG_LAYER;
    ag_check_pointer(__func__, "b", b);
    check_text(__func__, "translation", translation, n);
    check_text(__func__, "reference", reference, reference_n);
    void *r = ag_alloc(1, 1);
    WordTable *table = word_table_new(r);
    Tokens found = tokenize(r, table, translation, n, b->lower_case);
    Tokens expected = tokenize(r, table, reference, reference_n, b->lower_case);
    for (size_t order = 1; order <= ORDERS; order++) {
        b->correct[order - 1] += count_common(grams_of(r, &found, order), grams_of(r, &expected, order));
        b->total[order - 1] += found.n >= order ? (int64_t)(found.n - order + 1) : 0;
    }
    b->length += (int64_t)found.n;
    b->reference_length += (int64_t)expected.n;
    ag_free(r);
}

double kaeru_bleu_score(const KaeruBleu *b)
{
    ag_check_pointer(__func__, "b", b);
    double log_precision = 0, smoothed = 1;             /* exponential smoothing: 0 n-grams count as 1/2, 1/4, ... */
    bool any = false;
    for (int i = 0; i < ORDERS; i++) any = any || b->correct[i] > 0;
    if (!any || b->total[ORDERS - 1] == 0) return 0;
    for (int i = 0; i < ORDERS; i++) {
        double correct = (double)b->correct[i];
        if (b->correct[i] == 0) correct = smoothed /= 2;
        log_precision += ag_math_log(100 * correct / (double)b->total[i]) / ORDERS;
    }
    double brevity = b->length < b->reference_length ? 1 - (double)b->reference_length / (double)b->length : 0;
    return ag_math_exp(brevity + log_precision);
}
