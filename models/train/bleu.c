/* bleu.c: corpus BLEU. A sentence is split into tokens as the script mteval-v13a.pl does: around punctuation, but not
 * around a period, comma or dash between digits. Then n-grams of one to four tokens are counted. */
#include <stdlib.h>
#include <string.h>

#include "kaeru/translation.h"
#include "unicode.h"
#include "utf8.h"

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
        c.code[c.n++] = length ? (lower ? unicode_lower(code) : code) : 0xfffd;
        i += length ? (size_t)length : 1;
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

/* A sentence as tokens: token i is code[start[i]..start[i]+size[i]-1]. */
typedef struct { uint32_t *code; size_t *start, *size; size_t n; } Tokens;

static Tokens tokenize(void *r, const char *text, size_t n, bool lower)
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

    Tokens t = { .code = spaced.code };
    t.start = ag_alloc_in(r, spaced.n, sizeof *t.start);
    t.size = ag_alloc_in(r, spaced.n, sizeof *t.size);
    for (size_t i = 0; i < spaced.n; i++) {
        if (is_space(spaced.code[i])) continue;
        size_t first = i;
        while (i < spaced.n && !is_space(spaced.code[i])) i++;
        t.start[t.n] = first;
        t.size[t.n++] = i - first;
    }
    return t;
}

/* ---- n-grams ----------------------------------------------------------------------------------------------------- */

/* n tokens from `first` on. */
typedef struct { const Tokens *tokens; size_t first; int n; } Gram;

static int compare_tokens(const Tokens *a, size_t i, const Tokens *b, size_t j)
{
    size_t size = a->size[i] < b->size[j] ? a->size[i] : b->size[j];
    int order = memcmp(a->code + a->start[i], b->code + b->start[j], size * sizeof *a->code);
    return order ? order : (a->size[i] > b->size[j]) - (a->size[i] < b->size[j]);
}

static int compare_grams(const void *left, const void *right)
{
    const Gram *a = left, *b = right;
    int order = 0;
    for (int i = 0; i < a->n && order == 0; i++)
        order = compare_tokens(a->tokens, a->first + (size_t)i, b->tokens, b->first + (size_t)i);
    return order;
}

/* All n-grams, sorted, and in *count their number. */
static Gram *grams_of(void *r, const Tokens *t, int n, size_t *count)
{
    *count = t->n >= (size_t)n ? t->n - (size_t)n + 1 : 0;
    Gram *gram = ag_alloc_in(r, *count, sizeof *gram);
    for (size_t i = 0; i < *count; i++) gram[i] = (Gram){ t, i, n };
    if (*count > 0) qsort(gram, *count, sizeof *gram, compare_grams);
    return gram;
}

/* The number of n-grams that a and b have in common. One that is in both several times counts the smaller number of times.
 * Both are sorted. */
static int64_t count_common(const Gram *a, size_t n_a, const Gram *b, size_t n_b)
{
    int64_t found = 0;
    for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
        int order = compare_grams(&a[i], &b[j]);
        found += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return found;
}

void bleu_add(Bleu *b, const char *translation, size_t n, const char *reference, size_t reference_n)
{
    void *r = ag_alloc(1, 1);
    Tokens found = tokenize(r, translation, n, b->lower_case);
    Tokens expected = tokenize(r, reference, reference_n, b->lower_case);
    for (int order = 1; order <= ORDERS; order++) {
        size_t n_found, n_expected;
        Gram *found_grams = grams_of(r, &found, order, &n_found);
        Gram *expected_grams = grams_of(r, &expected, order, &n_expected);
        b->correct[order - 1] += count_common(found_grams, n_found, expected_grams, n_expected);
        b->total[order - 1] += (int64_t)n_found;
    }
    b->length += (int64_t)found.n;
    b->reference_length += (int64_t)expected.n;
    ag_free(r);
}

double bleu_score(const Bleu *b)
{
    double log_precision = 0, smoothed = 1;             /* exponential smoothing: 0 n-grams count as 1/2, 1/4, ... */
    bool any = false;
    for (int i = 0; i < ORDERS; i++) any = any || b->correct[i] > 0;
    if (!any || b->total[ORDERS - 1] == 0) return 0;
    for (int i = 0; i < ORDERS; i++) {
        double correct = (double)b->correct[i];
        if (b->correct[i] == 0) correct = smoothed /= 2;
        log_precision += ag_math_log(100 * correct / (double)b->total[i]) / ORDERS;
    }
    bool brief = b->length < b->reference_length;
    double brevity = brief ? 1 - (double)b->reference_length / (double)b->length : 0;
    return ag_math_exp(brevity + log_precision);
}
