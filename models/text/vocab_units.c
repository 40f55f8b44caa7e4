/* vocab_units.c: vocabularies with one id for each unit of a text: for each character, or for each frequent word. */
#include <stdlib.h>

#include "unicode.h"
#include "utf8.h"
#include "vocab.h"

/* Finds the next word from offset *at on, and moves *at past it; false: there is none. Bytes that are no UTF-8 are in words. */
static bool next_word(const char *text, size_t n, size_t *at, Word *word)
{
    size_t start = *at;
    bool inside = false;
    while (*at < n) {
        uint32_t code;
        int length = utf8_decode(text + *at, n - *at, &code);
        bool space = length && unicode_class(code) == UNICODE_SPACE;
        if (space && inside) break;
        if (!space && !inside) start = *at;
        inside = !space;
        *at += length ? (size_t)length : 1;
    }
    *word = (Word){ text + start, *at - start, 0 };
    return inside;
}

/* The same for the next character or word. A byte that is not UTF-8 is a character. */
static inline bool next_unit(KaeruVocabKind kind, const char *text, size_t n, size_t *at, Word *unit)
{
    uint32_t code;
    if (kind == KAERU_WORDS) return next_word(text, n, at, unit);
    if (*at >= n) return false;
    int length = utf8_decode(text + *at, n - *at, &code);
    *unit = (Word){ text + *at, length ? (size_t)length : 1, 0 };
    *at += unit->size;
    return true;
}

/* Orders words by falling count, words of equal count by their bytes. */
static int compare_counts(const void *left, const void *right)
{
    const Word *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return compare_words(a, b);
}

/* A vocabulary of the units that occur at least min_count times; NULL if the text is not UTF-8. */
static KaeruVocab *learn(KaeruVocabKind kind, const char *text, size_t n, int64_t min_count)
{
    if (!kaeru_text_check("the text", 1, text, n)) return NULL;
    void *work = ag_alloc(1, 1);
    WordTable *tokens = word_table_new(work), *found = word_table_new(work);
    for (int i = 0; kind == KAERU_WORDS && i < N_SPECIAL; i++)
        word_table_add(tokens, special_tokens[i], strlen(special_tokens[i]));
    Word unit;
    for (size_t i = 0; next_unit(kind, text, n, &i, &unit); ) word_table_add(found, unit.text, unit.size);
    /* the bytes of UTF-8 have the order of the code points */
    qsort(found->word, (size_t)found->n, sizeof *found->word, kind == KAERU_CHARS ? compare_words : compare_counts);
    for (int32_t i = 0; i < found->n && found->word[i].count >= min_count; i++)
        word_table_add(tokens, found->word[i].text, found->word[i].size);
    KaeruVocab *v = vocab_new(kind, &units_functions, tokens);
    ag_free(work);
    return v;
}

KaeruVocab *kaeru_vocab_chars(const char *text, size_t n)
{
    AG_LAYER;
    check_text(__func__, "text", text, n);
    return learn(KAERU_CHARS, text, n, 1);
}

KaeruVocab *kaeru_vocab_words(const char *text, size_t n, int64_t min_count)
{
    AG_LAYER;
    check_text(__func__, "text", text, n);
    if (min_count < 0) ag_usage_error(__func__, "min_count is %lld, expected 0 or more", (long long)min_count);
    return learn(KAERU_WORDS, text, n, min_count);
}

static int32_t id_of(const KaeruVocab *v, Word unit)
{
    return word_table_find(v->tokens, unit.text, unit.size);
}

/* Sets the error for a character of a text of n bytes. The name of the text may be NULL. */
static bool unknown_character(const char *name, const char *text, size_t n, Word character)
{
    uint32_t code;
    char place[TEXT_PLACE];
    if (!utf8_decode(character.text, character.size, &code)) return kaeru_text_check(name ? name : "the text", 1, text, n);
    return ag_set_error("%s%s%s (U+%04X) at %s is not in the vocabulary", name ? name : "", name ? ": " : "",
                        QUOTED_BYTES(character.text, character.size), (unsigned)code,
                        text_place(1, text, (size_t)(character.text - text), place));
}

bool units_lack(const KaeruVocab *v, const char *text, size_t n, Word *unit)
{
    for (size_t i = 0; v->kind == KAERU_CHARS && next_unit(v->kind, text, n, &i, unit); )
        if (id_of(v, *unit) < 0) return true;
    return false;
}

bool kaeru_vocab_check(const KaeruVocab *v, const char *name, const char *text, size_t n)
{
    AG_LAYER;
    ag_check_object(__func__, "v", v);
    ag_check_pointer(__func__, "name", name);
    check_text(__func__, "text", text, n);
    Word unit;
    return !units_lack(v, text, n, &unit) || unknown_character(name, text, n, unit);
}

static int32_t *units_encode(const KaeruVocab *v, const char *text, size_t n, bool special, size_t *count)
{
    (void)special;
    const KaeruVocabKind kind = v->kind;
    Word unit;
    size_t k = 0;
    int32_t *ids = ag_alloc(n, sizeof *ids);
    for (size_t i = 0; next_unit(kind, text, n, &i, &unit); k++) {
        ids[k] = id_of(v, unit);
        if (ids[k] >= 0) continue;
        if (kind == KAERU_CHARS) {
            unknown_character(NULL, text, n, unit);
            ag_free(ids);
            return NULL;
        }
        ids[k] = KAERU_UNKNOWN;
    }
    *count = k;
    return k == n ? ids : ag_resize(ids, k, k, sizeof *ids);        /* without the rest of the memory */
}

static int32_t units_special(const KaeruVocab *v, KaeruSpecial which)
{
    (void)v;
    (void)which;
    return -1;
}

static Word units_decoded(const KaeruVocab *v, int32_t id, bool first)
{
    (void)first;
    return v->tokens->word[id];
}

static bool units_spaced(const KaeruVocab *v, int32_t id)
{
    (void)id;
    return v->kind == KAERU_WORDS;
}

const VocabFunctions units_functions = { units_encode, units_special, units_decoded, units_spaced };

char *kaeru_vocab_unknown(const KaeruVocab *v, const char *text, size_t n)
{
    AG_LAYER;
    ag_check_object(__func__, "v", v);
    check_text(__func__, "text", text, n);
    if (v->kind != KAERU_WORDS) return NULL;
    void *work = ag_alloc(1, 1);
    WordTable *unknown = word_table_new(work);
    Word word;
    for (size_t i = 0; next_word(text, n, &i, &word); )
        if (id_of(v, word) < 0) word_table_add(unknown, word.text, word.size);
    char *list = unknown->n ? ag_alloc((size_t)unknown->n, UTF8_QUOTE + 2) : NULL, *end = list;
    for (int32_t i = 0; i < unknown->n; i++)
        end += sprintf(end, "%s%s", i ? ", " : "", QUOTED_BYTES(unknown->word[i].text, unknown->word[i].size));
    ag_free(work);
    return list;
}
