/* vocab.c: what all kinds of vocabularies have in common: tokens and their ids, text to ids and back, sentences. */
#include "vocab.h"

#include <string.h>

const char *const special_tokens[N_SPECIAL] = { "<s>", "</s>", "<blank>", "<unk>" };

KaeruVocab *vocab_new(KaeruVocabKind kind, const VocabFunctions *f, WordTable *tokens)
{
    KaeruVocab *v = ag_object_new(sizeof *v);
    *v = (KaeruVocab){ .kind = kind, .f = f, .tokens = tokens };
    ag_set_owner(tokens, v);
    return v;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* The id of the first token in v->tokens. */
static int32_t first_id(const KaeruVocab *v)
{
    return v->kind == KAERU_SENTENCE_BPE ? N_SPECIAL : 0;
}

static int32_t size_of(const KaeruVocab *v)
{
    return first_id(v) + v->tokens->n;
}

static bool has_special_tokens(const KaeruVocab *v)
{
    return v->kind == KAERU_WORDS || v->kind == KAERU_SENTENCE_BPE;
}

KaeruVocabKind kaeru_vocab_kind(const KaeruVocab *v)
{
    ag_check_object(__func__, "v", v);
    return v->kind;
}

int32_t kaeru_vocab_size(const KaeruVocab *v)
{
    ag_check_object(__func__, "v", v);
    return size_of(v);
}

/* The hash FNV-1a (Fowler, Noll and Vo) of all tokens, each followed by the byte 0xFF, which UTF-8 does not have. */
uint64_t kaeru_vocab_fingerprint(const KaeruVocab *v)
{
    ag_check_object(__func__, "v", v);
    uint64_t hash = 0xcbf29ce484222325;
    for (const Word *token = v->tokens->word, *end = token + v->tokens->n; token < end; token++)
        for (size_t i = 0; i <= token->size; i++)
            hash = (hash ^ (i < token->size ? (unsigned char)token->text[i] : 0xff)) * 0x100000001b3;
    return hash;
}

int32_t kaeru_vocab_special(const KaeruVocab *v, KaeruSpecial which)
{
    ag_check_object(__func__, "v", v);
    if ((unsigned)which >= N_SPECIAL) ag_usage_error(__func__, "%d is not a KaeruSpecial", (int)which);
    return has_special_tokens(v) ? (int32_t)which : v->f->special(v, which);
}

int32_t kaeru_vocab_find(const KaeruVocab *v, const char *token, size_t n)
{
    AG_LAYER;
    ag_check_object(__func__, "v", v);
    check_text(__func__, "token", token, n);
    int32_t found = word_table_find(v->tokens, token, n);
    if (found >= 0) return first_id(v) + found;
    for (int32_t id = 0; id < first_id(v); id++)
        if (strlen(special_tokens[id]) == n && memcmp(special_tokens[id], token, n) == 0) return id;
    return kaeru_vocab_special(v, KAERU_UNKNOWN);
}

/* The token of an id; without a text if the id is out of range. */
static Word token_of(const KaeruVocab *v, int32_t id)
{
    int32_t first = first_id(v);
    if (id < 0 || id >= size_of(v)) return (Word){ 0 };
    return id < first ? (Word){ special_tokens[id], strlen(special_tokens[id]), 0 } : v->tokens->word[id - first];
}

const char *kaeru_vocab_token(const KaeruVocab *v, int32_t id, size_t *n)
{
    ag_check_object(__func__, "v", v);
    Word token = token_of(v, id);
    if (n) *n = token.size;
    return token.text;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

int32_t *kaeru_vocab_encode(const KaeruVocab *v, const char *text, size_t n, KaeruEncoding how, size_t *count)
{
    AG_LAYER;
    ag_check_object(__func__, "v", v);
    check_text(__func__, "text", text, n);
    ag_check_pointer(__func__, "count", count);
    if (how != KAERU_AS_TEXT && how != KAERU_WITH_SPECIAL) ag_usage_error(__func__, "%d is not a KaeruEncoding", (int)how);
    int32_t *ids = v->f->encode(v, text, n, how == KAERU_WITH_SPECIAL, count);
    for (size_t i = 0; first_id(v) > 0 && i < *count; i++) ids[i] += first_id(v);
    return ids;
}

/* The same in a decoded text. */
static Word decoded_token(const KaeruVocab *v, int32_t id, bool first)
{
    int32_t least = first_id(v);
    return id >= least && id < size_of(v) ? v->f->decoded(v, id - least, first) : token_of(v, id);
}

/* Whether this token has a space before it, unless it is the first one. */
static bool follows_space(const KaeruVocab *v, int32_t id)
{
    int32_t least = first_id(v);
    return v->f->is_spaced(v, id < least ? 0 : id - least) || (v->kind == KAERU_SENTENCE_BPE && id == KAERU_UNKNOWN);
}

char *kaeru_vocab_decode(const KaeruVocab *v, const int32_t *ids, size_t count, size_t *n)
{
    AG_LAYER;
    ag_check_object(__func__, "v", v);
    if (count > 0) ag_check_pointer(__func__, "ids", ids);
    ag_check_pointer(__func__, "n", n);
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        Word token = decoded_token(v, ids[i], i == 0);
        if (!token.text) {
            ag_set_error("id %d at place %zu is not in the vocabulary of %d tokens", (int)ids[i], i, (int)size_of(v));
            return NULL;
        }
        if (token.size >= SIZE_MAX - 1 - size) ag_usage_error(__func__, "the text is too long");
        size += token.size + (i > 0 && follows_space(v, ids[i]));
    }
    char *text = ag_alloc(size + 1, 1), *end = text;
    for (size_t i = 0; i < count; i++) {
        Word token = decoded_token(v, ids[i], i == 0);
        if (i > 0 && follows_space(v, ids[i])) *end++ = ' ';
        memcpy(end, token.text, token.size);
        end += token.size;
    }
    *n = size;
    return text;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

static void check_sentences(const char *what, const KaeruVocab *v)
{
    ag_check_object(what, "v", v);
    if (!has_special_tokens(v)) ag_usage_error(what, "v is not of KAERU_WORDS or KAERU_SENTENCE_BPE");
}

int32_t *kaeru_sentence_encode(const KaeruVocab *v, const char *text, size_t n, size_t *count)
{
    AG_LAYER;
    check_sentences(__func__, v);
    check_text(__func__, "text", text, n);
    ag_check_pointer(__func__, "count", count);
    char *spaced = ag_alloc(n + 1, 1);                              /* a vocabulary of words ignores the space */
    spaced[0] = ' ';
    if (n > 0) memcpy(spaced + 1, text, n);
    int32_t *ids = kaeru_vocab_encode(v, spaced, n + 1, KAERU_AS_TEXT, count);
    ag_free(spaced);
    ids = ag_resize(ids, *count, *count + 2, sizeof *ids);
    memmove(ids + 1, ids, *count * sizeof *ids);
    ids[0] = KAERU_START;
    ids[*count + 1] = KAERU_END;
    *count += 2;
    return ids;
}

char *kaeru_sentence_decode(const KaeruVocab *v, const int32_t *ids, size_t count, size_t *n)
{
    AG_LAYER;
    check_sentences(__func__, v);
    if (count > 0) ag_check_pointer(__func__, "ids", ids);
    ag_check_pointer(__func__, "n", n);
    int32_t *shown = ag_alloc(count, sizeof *shown);
    size_t n_shown = 0;
    for (size_t i = 0; i < count && ids[i] != KAERU_END; i++) {
        if (ids[i] < 0 || ids[i] >= size_of(v))
            ag_usage_error(__func__, "id %d of a vocabulary of %d", (int)ids[i], (int)size_of(v));
        if (ids[i] != KAERU_START && ids[i] != KAERU_BLANK) shown[n_shown++] = ids[i];
    }
    char *text = kaeru_vocab_decode(v, shown, n_shown, n);
    ag_free(shown);
    for (size_t i = 0; i < *n; i++)
        if (text[i] == '\n' || text[i] == '\r' || text[i] == '\0') text[i] = ' ';
    if (v->kind == KAERU_SENTENCE_BPE && text[0] == ' ') memmove(text, text + 1, (*n)--);   /* with the NUL */
    return text;
}
