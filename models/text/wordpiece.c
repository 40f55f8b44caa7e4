/* wordpiece.c: WordPiece and what comes before it in BERT (Devlin et al. 2019): the parts of its
 * normalizer, the characters that are words of their own, and the pieces of a word. */
#include <string.h>

#include "bpe_parts.h"
#include "unicode.h"
#include "utf8.h"

/* ---- the normalizer -------------------------------------------------------------------------- */

/* The ideographs that BERT makes words of their own; kana and Hangul are not among them. */
static bool is_ideograph(uint32_t code)
{
    static const uint32_t runs[][2] = {
        { 0x3400, 0x4dbf }, { 0x4e00, 0x9fff }, { 0xf900, 0xfaff }, { 0x20000, 0x2a6df },
        { 0x2a700, 0x2b81f }, { 0x2b920, 0x2ceaf }, { 0x2f800, 0x2fa1f }
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (code >= runs[i][0] && code <= runs[i][1]) {
            return true;
        }
    }
    return false;
}

/* Writes what becomes of a code point by a rule, in at most 6 bytes; returns their number. */
static int replaced(BpeNormal rule, uint32_t code, char *out)
{
    switch (rule) {
    case BPE_CLEAN:
        if (unicode_is_unclean(code)) {
            return 0;
        }
        return utf8_encode(unicode_class(code) == UNICODE_SPACE ? ' ' : code, out);
    case BPE_NO_ACCENTS:
        return unicode_is_accent(code) ? 0 : utf8_encode(code, out);
    default:
        if (is_ideograph(code)) {
            int n = utf8_encode(code, out + 1);
            out[0] = out[n + 1] = ' ';
            return n + 2;
        }
        return utf8_encode(code, out);
    }
}

char *wordpiece_normalize(BpeNormal rule, const char *text, size_t n, size_t *size)
{
    char *out = ag_alloc(3 * n + 1, 1), *end = out;     /* an ideograph gets two spaces */
    for (size_t i = 0; i < n;) {
        uint32_t code;
        int length = utf8_decode(text + i, n - i, &code);
        if (length) {
            end += replaced(rule, code, end);
        } else {
            *end++ = text[i];
        }
        i += length ? (size_t)length : 1;
    }
    *size = (size_t)(end - out);
    return out;
}

/* ---- words ----------------------------------------------------------------------------------- */

size_t wordpiece_part(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n) {
        uint32_t code;
        int length = utf8_decode(text + at, n - at, &code);
        if (length && unicode_is_alone(code)) {
            return at > 0 ? at : (size_t)length;
        }
        at += length ? (size_t)length : 1;
    }
    return n;
}

/* The longest token with which a text begins, behind the prefix unless it is the word's start; -1:
 * there is none. */
static int32_t longest_token(const Bpe *b, const char *text, size_t n, bool start, size_t *size)
{
    const WordPiece *p = &b->pieces;
    size_t before = start ? 0 : p->prefix_size;
    char *word = p->buffer;
    size_t end = n + before < p->longest ? n : p->longest - before;
    memcpy(word, p->prefix, before);
    memcpy(word + before, text, end);
    for (; end > 0; end--) {
        bool whole = end == n || ((unsigned char)text[end] & 0xc0) != 0x80;
        int32_t id = whole ? word_table_find(b->tokens, word, before + end) : -1;
        if (id >= 0 && id < b->n_vocab) {
            *size = end;
            return id;
        }
    }
    return -1;
}

size_t wordpiece_encode(Bpe *b, const char *text, size_t n, int32_t *ids)
{
    size_t characters = 0, count = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        characters += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    ids[0] = b->unknown;
    if (characters > (size_t)b->pieces.most) {
        return 1;
    }
    for (size_t i = 0; i < n; i += length) {
        int32_t id = longest_token(b, text + i, n - i, i == 0, &length);
        if (id < 0) {
            ids[0] = b->unknown;
            return 1;
        }
        ids[count++] = id;
    }
    return count;
}

/* ---- files ----------------------------------------------------------------------------------- */

bool wordpiece_check(const char *path, const Json *model)
{
    static const JsonMember members[] = {
        { "unk_token", JSON_STRING, JSON_REQUIRED },
        { "continuing_subword_prefix", JSON_STRING, JSON_REQUIRED },
        { "max_input_chars_per_word", JSON_NUMBER, JSON_REQUIRED },
        { "vocab", JSON_OBJECT, JSON_REQUIRED }, { .name = NULL }
    };
    enum { MOST_CHARACTERS = 1000, MOST_PREFIX = 100 };     /* time grows by their cube, at worst */
    const Json *prefix = json_get(model, "continuing_subword_prefix");
    const Json *most = json_get(model, "max_input_chars_per_word");
    int64_t number;
    if (!json_is(json_get(model, "type"), "WordPiece")) {
        return bpe_unsupported(path, "model", json_get(model, "type"), "WordPiece");
    }
    if (!json_check(path, "model WordPiece", model, members)) {
        return false;
    }
    if (!json_int(most, &number) || number < 0 || number > MOST_CHARACTERS) {
        return ag_set_error("%s: model WordPiece: max_input_chars_per_word: expected a whole "
                            "number from 0 to %d", path, MOST_CHARACTERS);
    }
    return prefix->count <= MOST_PREFIX ||
           ag_set_error("%s: model WordPiece: continuing_subword_prefix: expected at most %d "
                        "bytes, found %zu", path, MOST_PREFIX, (size_t)prefix->count);
}

void wordpiece_begin(Bpe *b, const Json *model)
{
    const Json *prefix = json_get(model, "continuing_subword_prefix");
    WordPiece *p = &b->pieces;
    json_int(json_get(model, "max_input_chars_per_word"), &p->most);
    p->prefix = ag_strndup_in(b, prefix->as.text, prefix->count);
    p->prefix_size = p->longest = prefix->count;
    for (int32_t id = 0; id < b->n_vocab; id++) {
        p->longest = b->tokens->word[id].size > p->longest ? b->tokens->word[id].size : p->longest;
    }
    p->buffer = ag_alloc_in(b, p->longest + 1, 1);
}
