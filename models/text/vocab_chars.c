/* vocab_chars.c: vocabularies with one id for each character of a text. */
#include <stdlib.h>

#include "utf8.h"
#include "vocab.h"

KaeruVocab *kaeru_vocab_chars_at(AgSite at, const char *text, size_t n)
{
    AG_LAYER(at);
    check_text(at, __func__, "text", text, n);
    if (!kaeru_text_check("the text", 1, text, n)) return NULL;
    void *work = ag_alloc(1, 1);
    WordTable *found = word_table_new(work);
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = (size_t)utf8_decode(text + i, n - i, &code);
        word_table_add(found, text + i, length);
    }
    /* UTF-8 has the order of the code points. */
    qsort(found->word, (size_t)found->n, sizeof *found->word, compare_words);
    KaeruVocab *v = vocab_new(KAERU_CHARS, word_table_of(work, found->word, found->n));
    ag_free(work);
    return v;
}

/* The id of the first character of n >= 1 bytes, and its length; -1 if the vocabulary does not have it, or if it is not
 * UTF-8. */
static int32_t id_at(const KaeruVocab *v, const char *text, size_t n, size_t *length)
{
    uint32_t code;
    *length = (size_t)utf8_decode(text, n, &code);
    return *length ? word_table_find(v->tokens, text, *length) : -1;
}

/* Sets the error for the character at byte `at`. The name of the text may be NULL. */
static bool unknown_character(const char *name, const char *text, size_t n, size_t at)
{
    uint32_t code;
    char place[TEXT_PLACE];
    size_t length = (size_t)utf8_decode(text + at, n - at, &code);
    if (!length) return kaeru_text_check(name ? name : "the text", 1, text, n);
    return ag_set_error("%s%s%s (U+%04X) at %s is not in the vocabulary", name ? name : "", name ? ": " : "",
                        QUOTED_BYTES(text + at, length), (unsigned)code, text_place(1, text, at, place));
}

bool kaeru_vocab_check_at(AgSite at, const KaeruVocab *v, const char *name, const char *text, size_t n)
{
    AG_LAYER(at);
    ag_check_object_at(at, __func__, "v", v);
    ag_check_pointer_at(at, __func__, "name", name);
    check_text(at, __func__, "text", text, n);
    for (size_t i = 0, length; v->kind == KAERU_CHARS && i < n; i += length)
        if (id_at(v, text + i, n - i, &length) < 0) return unknown_character(name, text, n, i);
    return true;
}

int32_t *chars_encode(const KaeruVocab *v, const char *text, size_t n, size_t *count)
{
    size_t characters = 0, k = 0;
    for (size_t i = 0; i < n; i++) characters += !utf8_continues(text[i]);
    int32_t *ids = ag_alloc(characters, sizeof *ids);
    for (size_t i = 0, length; i < n; i += length) {
        int32_t id = id_at(v, text + i, n - i, &length);
        if (id < 0) {
            unknown_character(NULL, text, n, i);
            ag_free(ids);
            return NULL;
        }
        ids[k++] = id;
    }
    *count = k;
    return ids;
}
