/* word_vocab.c: a vocabulary with one id for each frequent word. */
#include "word_vocab.h"

#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "unicode.h"
#include "utf8.h"
#include "vocab_file.h"

struct KaeruWordVocab { VocabKind kind; WordTable *table; };

const char *const special_tokens[N_SPECIAL_TOKENS] = { "<s>", "</s>", "<blank>", "<unk>" };

/* Finds the next word from offset *at on, and moves *at past it; false if there is none. A byte that is not UTF-8 is part
 * of a word. */
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

/* Orders words by falling count, words of equal count by their bytes. */
static int compare_counts(const void *left, const void *right)
{
    const Word *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return compare_words(a, b);
}

KaeruWordVocab *kaeru_word_vocab_new_at(AgSite at, const char *text, size_t n, int64_t min_count)
{
    AG_LAYER(at);
    check_text(at, __func__, "text", text, n);
    if (min_count < 0) ag_usage_error(at, __func__, "min_count is %lld, expected 0 or more", (long long)min_count);
    if (!kaeru_text_check("the text", text, n)) return NULL;
    KaeruWordVocab *v = ag_object_new(sizeof *v);
    v->kind = VOCAB_WORDS;
    v->table = word_table_new(v);
    for (int i = 0; i < N_SPECIAL_TOKENS; i++)
        word_table_add(v->table, special_tokens[i], strlen(special_tokens[i]));
    WordTable *found = word_table_new(v);
    Word word;
    for (size_t i = 0; next_word(text, n, &i, &word);) word_table_add(found, word.text, word.size);
    qsort(found->word, (size_t)found->n, sizeof *found->word, compare_counts);
    for (int32_t i = 0; i < found->n && found->word[i].count >= min_count; i++)
        word_table_add(v->table, found->word[i].text, found->word[i].size);
    ag_free(found);
    return v;
}

KaeruWordVocab *kaeru_word_vocab_open_at(AgSite at, const char *path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "path", path);
    KaeruWordVocab *v = ag_object_new(sizeof *v);
    v->kind = VOCAB_WORDS;
    v->table = vocab_read(v, path);
    bool good = v->table != NULL;
    for (int32_t i = 0; good && i < N_SPECIAL_TOKENS; i++) {
        const char *expected = special_tokens[i];
        if (word_table_find(v->table, expected, strlen(expected)) == i) continue;
        const char *found = kaeru_word_vocab_word(v, i, NULL);
        char quoted[UTF8_QUOTE] = "nothing";
        if (found) utf8_quote(found, v->table->word[i].size, quoted);
        good = ag_set_error("%s: expected \"%s\" as token %d, found %s", path, expected, (int)i, quoted);
    }
    if (good) return v;
    ag_free(v);
    return NULL;
}

bool kaeru_word_vocab_save_at(AgSite at, const KaeruWordVocab *v, const char *path)
{
    AG_LAYER(at);
    check_vocab(at, __func__, "v", v, VOCAB_WORDS);
    ag_check_pointer_at(at, __func__, "path", path);
    return vocab_write(path, v->table);
}

void kaeru_word_vocab_free_at(AgSite at, KaeruWordVocab *v)
{
    ag_free_at(at, v);
}

int32_t kaeru_word_vocab_size_at(AgSite at, const KaeruWordVocab *v)
{
    check_vocab(at, __func__, "v", v, VOCAB_WORDS);
    return v->table->n;
}

int32_t kaeru_word_vocab_find_at(AgSite at, const KaeruWordVocab *v, const char *word, size_t n)
{
    check_vocab(at, __func__, "v", v, VOCAB_WORDS);
    check_text(at, __func__, "word", word, n);
    int32_t id = word_table_find(v->table, word, n);
    return id < 0 ? KAERU_WORD_UNKNOWN : id;
}

const char *kaeru_word_vocab_word_at(AgSite at, const KaeruWordVocab *v, int32_t id, size_t *n)
{
    check_vocab(at, __func__, "v", v, VOCAB_WORDS);
    bool found = id >= 0 && id < v->table->n;
    if (n) *n = found ? v->table->word[id].size : 0;
    return found ? v->table->word[id].text : NULL;
}

char *kaeru_word_vocab_unknown_at(AgSite at, const KaeruWordVocab *v, const char *text, size_t n)
{
    check_vocab(at, __func__, "v", v, VOCAB_WORDS);
    check_text(at, __func__, "text", text, n);
    void *owner = ag_alloc(1, 1);
    WordTable *unknown = word_table_new(owner);
    Word word;
    for (size_t i = 0; next_word(text, n, &i, &word);)
        if (word_table_find(v->table, word.text, word.size) < 0) word_table_add(unknown, word.text, word.size);
    char *list = unknown->n ? ag_alloc((size_t)unknown->n, UTF8_QUOTE + 2) : NULL, *end = list, quoted[UTF8_QUOTE];
    for (int32_t i = 0; i < unknown->n; i++)
        end += sprintf(end, "%s%s", i ? ", " : "", utf8_quote(unknown->word[i].text, unknown->word[i].size, quoted));
    ag_free(owner);
    return list;
}

int32_t *kaeru_word_vocab_encode_at(AgSite at, const KaeruWordVocab *v, const char *text, size_t n, size_t *count)
{
    check_vocab(at, __func__, "v", v, VOCAB_WORDS);
    check_text(at, __func__, "text", text, n);
    ag_check_pointer_at(at, __func__, "count", count);
    Word word;
    size_t words = 0, k = 0;
    for (size_t i = 0; next_word(text, n, &i, &word);) words++;
    int32_t *ids = ag_alloc(words, sizeof *ids);
    for (size_t i = 0; next_word(text, n, &i, &word);) ids[k++] = kaeru_word_vocab_find(v, word.text, word.size);
    *count = words;
    return ids;
}

char *kaeru_word_vocab_decode_at(AgSite at, const KaeruWordVocab *v, const int32_t *ids, size_t count, size_t *n)
{
    check_vocab(at, __func__, "v", v, VOCAB_WORDS);
    if (count > 0) ag_check_pointer_at(at, __func__, "ids", ids);
    ag_check_pointer_at(at, __func__, "n", n);
    return word_table_join(v->table, "words", " ", ids, count, n);
}
