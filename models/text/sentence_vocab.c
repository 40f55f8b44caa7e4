/* sentence_vocab.c: one interface to vocabularies of words and of byte pairs. The ids of byte pairs follow the four special
 * tokens. A sentence is encoded as byte pairs with a space before it, so that its first word is the same token as
 * elsewhere. */
#include <string.h>

#include "checks.h"
#include "kaeru/translation.h"
#include "word_vocab.h"

/* A usage error unless the vocabulary is open. */
static void check_open(AgSite at, const char *what, const KaeruSentenceVocab *v)
{
    ag_check_pointer_at(at, what, "v", v);
    if (!(v->kind == KAERU_SENTENCE_BPE ? (const void *)v->bpe : v->words))
        ag_usage_error(at, what, "the vocabulary is not open");
}

/* ---- construction, files ----------------------------------------------------------------------------------------- */

/* Joins all lines, each with a space before it and a newline after it. */
static char *join(const KaeruLines *texts, int n, size_t *size)
{
    *size = 0;
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < texts[i].n; j++) *size += texts[i].line[j].size + 2;
    char *all = ag_alloc(*size + 1, 1), *at = all;
    for (int i = 0; i < n; i++) {
        for (int64_t j = 0; j < texts[i].n; j++) {
            KaeruLine line = texts[i].line[j];
            *at++ = ' ';
            if (line.size > 0) memcpy(at, line.text, line.size);
            at += line.size;
            *at++ = '\n';
        }
    }
    return all;
}

static void check_texts(AgSite at, const char *what, const KaeruLines *texts, int n)
{
    if (n < 1) ag_usage_error(at, what, "%d texts, expected 1 or more", n);
    ag_check_pointer_at(at, what, "texts", texts);
}

KaeruSentenceVocab kaeru_sentence_vocab_of_words_at(AgSite at, const KaeruLines *texts, int n, int64_t min_count)
{
    AG_LAYER(at);
    check_texts(at, __func__, texts, n);
    size_t size;
    char *all = join(texts, n, &size);
    KaeruSentenceVocab v = { .kind = KAERU_SENTENCE_WORDS, .words = kaeru_word_vocab_new(all, size, min_count) };
    ag_free(all);
    return v;
}

KaeruSentenceVocab kaeru_sentence_vocab_of_bpe_at(AgSite at, const KaeruLines *texts, int n, int32_t size)
{
    AG_LAYER(at);
    check_texts(at, __func__, texts, n);
    if (size < 300) ag_usage_error(AG_HERE, "kaeru_sentence_vocab_of_bpe", "a size of %d, expected 300 or more", (int)size);
    size_t bytes;
    char *all = join(texts, n, &bytes);
    KaeruSentenceVocab v = { .kind = KAERU_SENTENCE_BPE, .bpe = kaeru_bpe_train(all, bytes, size - N_SPECIAL_TOKENS) };
    ag_free(all);
    return v;
}

bool kaeru_sentence_vocab_open_at(AgSite at, KaeruSentenceVocab *v, const char *vocab_path, const char *merges_path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "v", v);
    ag_check_pointer_at(at, __func__, "vocab_path", vocab_path);
    if (merges_path) {
        *v = (KaeruSentenceVocab){ .kind = KAERU_SENTENCE_BPE, .bpe = kaeru_bpe_open(vocab_path, merges_path) };
        return v->bpe != NULL;
    }
    *v = (KaeruSentenceVocab){ .kind = KAERU_SENTENCE_WORDS, .words = kaeru_word_vocab_open(vocab_path) };
    return v->words != NULL;
}

bool kaeru_sentence_vocab_save_at(AgSite at, const KaeruSentenceVocab *v, const char *vocab_path, const char *merges_path)
{
    AG_LAYER(at);
    check_open(at, __func__, v);
    ag_check_pointer_at(at, __func__, "vocab_path", vocab_path);
    if (v->kind == KAERU_SENTENCE_BPE) ag_check_pointer_at(at, __func__, "merges_path", merges_path);
    if (v->kind == KAERU_SENTENCE_BPE) return kaeru_bpe_save(v->bpe, vocab_path, merges_path);
    return kaeru_word_vocab_save(v->words, vocab_path);
}

void kaeru_sentence_vocab_close_at(AgSite at, KaeruSentenceVocab *v)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "v", v);
    if (v->kind == KAERU_SENTENCE_BPE) kaeru_bpe_free(v->bpe);
    else kaeru_word_vocab_free(v->words);
    *v = (KaeruSentenceVocab){ 0 };
}

int32_t kaeru_sentence_vocab_size_at(AgSite at, const KaeruSentenceVocab *v)
{
    check_open(at, __func__, v);
    return v->kind == KAERU_SENTENCE_BPE ? N_SPECIAL_TOKENS + kaeru_bpe_size_at(at, v->bpe)
                                         : kaeru_word_vocab_size_at(at, v->words);
}

/* ---- text to ids ------------------------------------------------------------------------------------------------- */

int32_t *kaeru_sentence_encode_at(AgSite at, const KaeruSentenceVocab *v, const char *text, size_t n, size_t *count)
{
    AG_LAYER(at);
    check_open(at, __func__, v);
    check_text(at, __func__, "text", text, n);
    ag_check_pointer_at(at, __func__, "count", count);
    char *spaced = ag_alloc(n + 1, 1);
    spaced[0] = ' ';
    if (n > 0) memcpy(spaced + 1, text, n);
    bool is_bpe = v->kind == KAERU_SENTENCE_BPE;
    int32_t *ids = is_bpe ? kaeru_bpe_encode(v->bpe, spaced, n + 1, KAERU_BPE_TEXT, count)
                          : kaeru_word_vocab_encode(v->words, text, n, count);
    int32_t *all = ag_alloc(*count + 2, sizeof *all);
    all[0] = KAERU_WORD_START;
    for (size_t i = 0; i < *count; i++) all[i + 1] = is_bpe ? N_SPECIAL_TOKENS + ids[i] : ids[i];
    all[*count + 1] = KAERU_WORD_END;
    *count += 2;
    ag_free(ids);
    ag_free(spaced);
    return all;
}

char *kaeru_sentence_unknown_at(AgSite at, const KaeruSentenceVocab *v, KaeruLine line)
{
    AG_LAYER(at);
    check_open(at, __func__, v);
    check_text(at, __func__, "line.text", line.text, line.size);
    return v->kind == KAERU_SENTENCE_WORDS ? kaeru_word_vocab_unknown(v->words, line.text, line.size) : NULL;
}

/* ---- ids to text ------------------------------------------------------------------------------------------------- */

/* The n bytes of an id; an id out of range is a usage error. */
static const char *bytes_of(const KaeruSentenceVocab *v, int32_t id, size_t *n)
{
    const char *bytes = NULL;
    if (v->kind == KAERU_SENTENCE_WORDS) {
        bytes = kaeru_word_vocab_word(v->words, id, n);
    } else if (id >= N_SPECIAL_TOKENS) {
        bytes = kaeru_bpe_token(v->bpe, id - N_SPECIAL_TOKENS, n);
    } else if (id >= 0) {
        bytes = special_tokens[id];
        *n = strlen(bytes);
    }
    if (!bytes)
        ag_usage_error(AG_HERE, "kaeru_sentence_decode", "id %d of a vocabulary of %d", (int)id,
                       (int)kaeru_sentence_vocab_size(v));
    return bytes;
}

/* Replaces line ends and NULs by spaces. */
static void put_in_one_line(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\n' || text[i] == '\r' || text[i] == '\0') text[i] = ' ';
}

char *kaeru_sentence_decode_at(AgSite at, const KaeruSentenceVocab *v, const int32_t *ids, size_t count, size_t *n)
{
    AG_LAYER(at);
    check_open(at, __func__, v);
    if (count > 0) ag_check_pointer_at(at, __func__, "ids", ids);
    ag_check_pointer_at(at, __func__, "n", n);
    size_t room = 1, length;
    for (size_t i = 0; i < count && ids[i] != KAERU_WORD_END; i++) {
        bytes_of(v, ids[i], &length);
        room += length + 1;
    }
    char *text = ag_alloc(room, 1), *end = text;
    for (size_t i = 0; i < count && ids[i] != KAERU_WORD_END; i++) {
        const char *bytes = bytes_of(v, ids[i], &length);
        if (ids[i] == KAERU_WORD_START || ids[i] == KAERU_WORD_BLANK) continue;
        if (end > text && (v->kind == KAERU_SENTENCE_WORDS || ids[i] == KAERU_WORD_UNKNOWN)) *end++ = ' ';
        memcpy(end, bytes, length);
        end += length;
    }
    *n = (size_t)(end - text);
    put_in_one_line(text, *n);
    if (v->kind == KAERU_SENTENCE_BPE && text[0] == ' ') memmove(text, text + 1, (*n)--);   /* with the NUL */
    return text;
}

char *kaeru_sentence_token_at(AgSite at, const KaeruSentenceVocab *v, int32_t id)
{
    AG_LAYER(at);
    check_open(at, __func__, v);
    size_t n;
    const char *bytes = bytes_of(v, id, &n);
    char *text = ag_alloc(n + 1, 1);
    memcpy(text, bytes, n);
    put_in_one_line(text, n);
    return text;
}
