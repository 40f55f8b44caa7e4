/* vocab_words.c: vocabularies with one id for each frequent word of a text. */
#include <stdio.h>
#include <stdlib.h>

#include "unicode.h"
#include "utf8.h"
#include "vocab.h"

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

KaeruVocab *kaeru_vocab_words_at(AgSite at, const char *text, size_t n, int64_t min_count)
{
    AG_LAYER(at);
    check_text(at, __func__, "text", text, n);
    if (min_count < 0) ag_usage_error(at, __func__, "min_count is %lld, expected 0 or more", (long long)min_count);
    if (!kaeru_text_check("the text", 1, text, n)) return NULL;
    void *work = ag_alloc(1, 1);
    WordTable *tokens = word_table_new(work), *found = word_table_new(work);
    for (int i = 0; i < N_SPECIAL; i++) word_table_add(tokens, special_tokens[i], strlen(special_tokens[i]));
    Word word;
    for (size_t i = 0; next_word(text, n, &i, &word);) word_table_add(found, word.text, word.size);
    qsort(found->word, (size_t)found->n, sizeof *found->word, compare_counts);
    for (int32_t i = 0; i < found->n && found->word[i].count >= min_count; i++)
        word_table_add(tokens, found->word[i].text, found->word[i].size);
    KaeruVocab *v = vocab_new(KAERU_WORDS, tokens);
    ag_free(work);
    return v;
}

int32_t *words_encode(const KaeruVocab *v, const char *text, size_t n, size_t *count)
{
    Word word;
    *count = 0;
    for (size_t i = 0; next_word(text, n, &i, &word);) ++*count;
    int32_t *ids = ag_alloc(*count, sizeof *ids);
    for (size_t i = 0, k = 0; next_word(text, n, &i, &word); k++) {
        int32_t id = word_table_find(v->tokens, word.text, word.size);
        ids[k] = id < 0 ? KAERU_UNKNOWN : id;
    }
    return ids;
}

char *kaeru_vocab_unknown_at(AgSite at, const KaeruVocab *v, const char *text, size_t n)
{
    AG_LAYER(at);
    ag_check_object_at(at, __func__, "v", v);
    check_text(at, __func__, "text", text, n);
    if (v->kind != KAERU_WORDS) return NULL;
    void *work = ag_alloc(1, 1);
    WordTable *unknown = word_table_new(work);
    Word word;
    for (size_t i = 0; next_word(text, n, &i, &word);)
        if (word_table_find(v->tokens, word.text, word.size) < 0) word_table_add(unknown, word.text, word.size);
    char *list = unknown->n ? ag_alloc((size_t)unknown->n, UTF8_QUOTE + 2) : NULL, *end = list;
    for (int32_t i = 0; i < unknown->n; i++)
        end += sprintf(end, "%s%s", i ? ", " : "", QUOTED_BYTES(unknown->word[i].text, unknown->word[i].size));
    ag_free(work);
    return list;
}
