/* char_vocab.c: a vocabulary with one id for each character of a text. */
#include <stdlib.h>

#include "checks.h"
#include "kaeru/text.h"
#include "utf8.h"
#include "vocab_file.h"

struct KaeruCharVocab { VocabKind kind; WordTable *table; };

KaeruCharVocab *kaeru_char_vocab_new_at(AgSite at, const char *text, size_t n)
{
    AG_LAYER(at);
    check_text(at, __func__, "text", text, n);
    if (!kaeru_text_check("the text", text, n)) return NULL;
    KaeruCharVocab *v = ag_object_new(sizeof *v);
    v->kind = VOCAB_CHARS;
    WordTable *found = word_table_new(v);
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = (size_t)utf8_decode(text + i, n - i, &code);
        word_table_add(found, text + i, length);
    }
    /* UTF-8 has the order of the code points. */
    qsort(found->word, (size_t)found->n, sizeof *found->word, compare_words);
    v->table = word_table_of(v, found->word, found->n);
    ag_free(found);
    return v;
}

KaeruCharVocab *kaeru_char_vocab_open_at(AgSite at, const char *path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "path", path);
    KaeruCharVocab *v = ag_object_new(sizeof *v);
    v->kind = VOCAB_CHARS;
    v->table = vocab_read(v, path);
    bool good = v->table != NULL;
    for (int32_t i = 0; good && i < v->table->n; i++) {
        const Word *token = &v->table->word[i];
        uint32_t code;
        char quoted[UTF8_QUOTE];
        if (token->size && (size_t)utf8_decode(token->text, token->size, &code) == token->size) continue;
        good = ag_set_error("%s: expected single characters, found %s", path, utf8_quote(token->text, token->size, quoted));
    }
    if (good) return v;
    ag_free(v);
    return NULL;
}

bool kaeru_char_vocab_save_at(AgSite at, const KaeruCharVocab *v, const char *path)
{
    AG_LAYER(at);
    check_vocab(at, __func__, "v", v, VOCAB_CHARS);
    ag_check_pointer_at(at, __func__, "path", path);
    return vocab_write(path, v->table);
}

void kaeru_char_vocab_free_at(AgSite at, KaeruCharVocab *v)
{
    ag_free_at(at, v);
}

int32_t kaeru_char_vocab_size_at(AgSite at, const KaeruCharVocab *v)
{
    check_vocab(at, __func__, "v", v, VOCAB_CHARS);
    return v->table->n;
}

/* The id of the first character of n >= 1 bytes, and its length; -1 if the vocabulary does not have it, or if it is not
 * UTF-8. */
static int32_t id_at(const KaeruCharVocab *v, const char *text, size_t n, size_t *length)
{
    uint32_t code;
    *length = (size_t)utf8_decode(text, n, &code);
    return *length ? word_table_find(v->table, text, *length) : -1;
}

/* Sets the error for the character at byte `at`. The name of the text may be NULL. */
static bool unknown_character(const char *name, const char *text, size_t n, size_t at)
{
    uint32_t code;
    char quoted[UTF8_QUOTE], place[KAERU_TEXT_PLACE];
    size_t length = (size_t)utf8_decode(text + at, n - at, &code);
    if (!length) return kaeru_text_check(name ? name : "the text", text, n);
    return ag_set_error("%s%s%s (U+%04X) at %s is not in the vocabulary", name ? name : "", name ? ": " : "",
                        utf8_quote(text + at, length, quoted), (unsigned)code, kaeru_text_place(1, text, at, place));
}

bool kaeru_char_vocab_check_at(AgSite at, const KaeruCharVocab *v, const char *name, const char *text, size_t n)
{
    check_vocab(at, __func__, "v", v, VOCAB_CHARS);
    ag_check_pointer_at(at, __func__, "name", name);
    check_text(at, __func__, "text", text, n);
    for (size_t i = 0, length; i < n; i += length)
        if (id_at(v, text + i, n - i, &length) < 0) return unknown_character(name, text, n, i);
    return true;
}

int32_t *kaeru_char_vocab_encode_at(AgSite at, const KaeruCharVocab *v, const char *text, size_t n, size_t *count)
{
    check_vocab(at, __func__, "v", v, VOCAB_CHARS);
    check_text(at, __func__, "text", text, n);
    ag_check_pointer_at(at, __func__, "count", count);
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

char *kaeru_char_vocab_decode_at(AgSite at, const KaeruCharVocab *v, const int32_t *ids, size_t count, size_t *n)
{
    check_vocab(at, __func__, "v", v, VOCAB_CHARS);
    if (count > 0) ag_check_pointer_at(at, __func__, "ids", ids);
    ag_check_pointer_at(at, __func__, "n", n);
    return word_table_join(v->table, "characters", "", ids, count, n);
}
