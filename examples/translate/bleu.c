/* bleu.c: corpus BLEU. A sentence is split into tokens as the script mteval-v13a.pl does: around punctuation, but not
 * around a period, comma or dash between digits. Then n-grams of one to four tokens are counted.
 *
 * The rules ask for ASCII characters and for white space. So they read bytes: no byte of another character is ASCII. */
#include "bleu.h"

#include <string.h>

/* ---- characters -------------------------------------------------------------------------------------------------- */

/* The bytes of a sentence. */
typedef struct {
    char *byte;
    size_t n;
} Bytes;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Tells whether c is one of the punctuation and symbols of ASCII, without the period, comma, dash and apostrophe. */
static bool is_sign(char c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* Returns the size of the white space character with which n > 0 bytes begin; 0 if they begin with another one. */
static size_t space_size(const char *text, size_t n)
{
    static const char *const wide[] = {
        "\xc2\x85", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
        "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"
    };
    if (*text == ' ' || (*text >= '\t' && *text <= '\r') || (*text >= 0x1c && *text <= 0x1f)) {
        return 1;
    }
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        size_t size = strlen(wide[i]);
        if (size <= n && memcmp(text, wide[i], size) == 0) {
            return size;
        }
    }
    return 0;
}

/* Replaces each `what` by the byte `with`, or removes it if `with` is 0, in place. */
static void replace(Bytes *b, const char *what, char with)
{
    size_t length = strlen(what), out = 0;
    for (size_t i = 0; i < b->n;) {
        if (b->n - i < length || memcmp(b->byte + i, what, length) != 0) {
            b->byte[out++] = b->byte[i++];
            continue;
        }
        if (with) {
            b->byte[out++] = with;
        }
        i += length;
    }
    b->n = out;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------
 * Each rule of the script reads from left to right and matches one or two characters. It does not read the characters of
 * a match, or the spaces that it inserts, again. */

typedef enum { AROUND_SIGN, POINT_AFTER_NO_DIGIT, POINT_BEFORE_NO_DIGIT, DASH_AFTER_DIGIT, N_RULES } Rule;

static bool is_point(char c)
{
    return c == '.' || c == ',';
}

static bool matches_pair(Rule rule, char a, char b)
{
    switch (rule) {
    case POINT_AFTER_NO_DIGIT:  return !is_digit(a) && is_point(b);
    case POINT_BEFORE_NO_DIGIT: return is_point(a) && !is_digit(b);
    case DASH_AFTER_DIGIT:      return is_digit(a) && b == '-';
    default:                    return false;
    }
}

/* Returns the sentence with the spaces that a rule inserts; `owner` owns it. */
static Bytes apply(void *owner, Rule rule, Bytes in)
{
    Bytes out = { ag_alloc_in(owner, 3 * in.n + 1, 1), 0 };
    for (size_t i = 0; i < in.n; i++) {
        char a = in.byte[i], b = i + 1 < in.n ? in.byte[i + 1] : 0;
        if (rule == AROUND_SIGN && is_sign(a)) {
            out.byte[out.n++] = ' ';
            out.byte[out.n++] = a;
            out.byte[out.n++] = ' ';
        } else if (i + 1 < in.n && matches_pair(rule, a, b)) {
            if (rule == POINT_BEFORE_NO_DIGIT) {
                out.byte[out.n++] = ' ';
            }
            out.byte[out.n++] = a;
            out.byte[out.n++] = ' ';
            out.byte[out.n++] = b;
            if (rule != POINT_BEFORE_NO_DIGIT) {
                out.byte[out.n++] = ' ';
            }
            i++;
        } else {
            out.byte[out.n++] = a;
        }
    }
    return out;
}

typedef struct {
    Bytes *token;
    size_t n;
} Tokens;

/* Splits a sentence into tokens; `owner` owns them. */
static Tokens tokenize(void *owner, KaeruLine line)
{
    Bytes b = { ag_alloc_in(owner, line.size + 2, 1), line.size + 2 };
    b.byte[0] = b.byte[line.size + 1] = ' ';
    if (line.size > 0) {
        memcpy(b.byte + 1, line.text, line.size);
    }
    replace(&b, "<skipped>", 0);
    replace(&b, "&quot;", '"');
    replace(&b, "&amp;", '&');
    replace(&b, "&lt;", '<');
    replace(&b, "&gt;", '>');
    for (Rule rule = AROUND_SIGN; rule < N_RULES; rule++) {
        b = apply(owner, rule, b);
    }

    Tokens t = { ag_alloc_in(owner, b.n, sizeof *t.token), 0 };
    for (size_t i = 0; i < b.n;) {
        size_t space = space_size(b.byte + i, b.n - i), first = i;
        if (space > 0) {
            i += space;
            continue;
        }
        while (i < b.n && space_size(b.byte + i, b.n - i) == 0) {
            i++;
        }
        t.token[t.n++] = (Bytes){ b.byte + first, i - first };
    }
    return t;
}

/* ---- n-grams ----------------------------------------------------------------------------------------------------- */

/* Tells whether the n tokens from a on are those from b on. */
static bool same_tokens(const Bytes *a, const Bytes *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i].n != b[i].n || memcmp(a[i].byte, b[i].byte, a[i].n) != 0) {
            return false;
        }
    }
    return true;
}

/* Counts the n-grams of a that are in b, each of which is found as often as it is there. `used` has an item for each token of
 * b. */
static int64_t count_common(const Tokens *a, const Tokens *b, size_t n, bool *used)
{
    int64_t common = 0;
    memset(used, 0, b->n * sizeof *used);
    for (size_t i = 0; i + n <= a->n; i++) {
        size_t j = 0;
        while (j + n <= b->n && (used[j] || !same_tokens(a->token + i, b->token + j, n))) {
            j++;
        }
        if (j + n <= b->n) {
            used[j] = true;
            common++;
        }
    }
    return common;
}

void bleu_add(Bleu *b, KaeruLine translation, KaeruLine reference)
{
    void *owner = ag_alloc(1, 1);
    Tokens found = tokenize(owner, translation), expected = tokenize(owner, reference);
    bool *used = ag_alloc_in(owner, expected.n + 1, sizeof *used);
    for (size_t n = 1; n <= BLEU_ORDERS; n++) {
        b->correct[n - 1] += count_common(&found, &expected, n, used);
        b->total[n - 1] += found.n >= n ? (int64_t)(found.n - n + 1) : 0;
    }
    b->length += (int64_t)found.n;
    b->reference_length += (int64_t)expected.n;
    ag_free(owner);
}

double bleu_score(const Bleu *b)
{
    double log_precision = 0, smoothed = 1;             /* exponential smoothing: 0 n-grams count as 1/2, 1/4, ... */
    bool any = false;
    for (int i = 0; i < BLEU_ORDERS; i++) {
        any = any || b->correct[i] > 0;
    }
    if (!any || b->total[BLEU_ORDERS - 1] == 0) {
        return 0;
    }
    for (int i = 0; i < BLEU_ORDERS; i++) {
        double correct = (double)b->correct[i];
        if (b->correct[i] == 0) {
            smoothed /= 2;
            correct = smoothed;
        }
        log_precision += ag_math_log(100 * correct / (double)b->total[i]) / BLEU_ORDERS;
    }
    double brevity = b->length < b->reference_length ? 1 - (double)b->reference_length / (double)b->length : 0;
    return ag_math_exp(brevity + log_precision);
}
