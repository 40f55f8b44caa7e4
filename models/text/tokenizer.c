/* tokenizer.c: one interface to vocabularies of characters and of byte pairs. */
#include "checks.h"
#include "kaeru/lm.h"

/* A usage error unless the tokenizer is open. */
static void check_open(AgSite at, const char *what, const KaeruTokenizer *t)
{
    ag_check_pointer_at(at, what, "t", t);
    if (!(t->kind == KAERU_TOKENIZER_BPE ? (const void *)t->bpe : t->chars))
        ag_usage_error(at, what, "the tokenizer is not open");
}

bool kaeru_tokenizer_open_at(AgSite at, KaeruTokenizer *t, const char *vocab_path, const char *merges_path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "t", t);
    ag_check_pointer_at(at, __func__, "vocab_path", vocab_path);
    if (merges_path) {
        *t = (KaeruTokenizer){ .kind = KAERU_TOKENIZER_BPE, .bpe = kaeru_bpe_open(vocab_path, merges_path) };
        return t->bpe != NULL;
    }
    *t = (KaeruTokenizer){ .kind = KAERU_TOKENIZER_CHARS, .chars = kaeru_char_vocab_open(vocab_path) };
    return t->chars != NULL;
}

bool kaeru_tokenizer_save_at(AgSite at, const KaeruTokenizer *t, const char *vocab_path, const char *merges_path)
{
    AG_LAYER(at);
    check_open(at, __func__, t);
    ag_check_pointer_at(at, __func__, "vocab_path", vocab_path);
    if (t->kind == KAERU_TOKENIZER_BPE) ag_check_pointer_at(at, __func__, "merges_path", merges_path);
    if (t->kind == KAERU_TOKENIZER_BPE) return kaeru_bpe_save(t->bpe, vocab_path, merges_path);
    return kaeru_char_vocab_save(t->chars, vocab_path);
}

void kaeru_tokenizer_close_at(AgSite at, KaeruTokenizer *t)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "t", t);
    if (t->kind == KAERU_TOKENIZER_BPE) kaeru_bpe_free(t->bpe);
    else kaeru_char_vocab_free(t->chars);
    *t = (KaeruTokenizer){ 0 };
}

int32_t kaeru_tokenizer_size_at(AgSite at, const KaeruTokenizer *t)
{
    check_open(at, __func__, t);
    return t->kind == KAERU_TOKENIZER_BPE ? kaeru_bpe_size_at(at, t->bpe) : kaeru_char_vocab_size_at(at, t->chars);
}

int32_t *kaeru_tokenizer_encode_at(AgSite at, const KaeruTokenizer *t, const char *text, size_t n, size_t *count)
{
    AG_LAYER(at);
    check_open(at, __func__, t);
    check_text(at, __func__, "text", text, n);
    ag_check_pointer_at(at, __func__, "count", count);
    if (t->kind == KAERU_TOKENIZER_BPE) return kaeru_bpe_encode(t->bpe, text, n, KAERU_BPE_SPECIAL, count);
    return kaeru_char_vocab_encode(t->chars, text, n, count);
}

char *kaeru_tokenizer_decode_at(AgSite at, const KaeruTokenizer *t, const int32_t *ids, size_t count, size_t *n)
{
    AG_LAYER(at);
    check_open(at, __func__, t);
    if (count > 0) ag_check_pointer_at(at, __func__, "ids", ids);
    ag_check_pointer_at(at, __func__, "n", n);
    if (t->kind == KAERU_TOKENIZER_BPE) return kaeru_bpe_decode(t->bpe, ids, count, n);
    return kaeru_char_vocab_decode(t->chars, ids, count, n);
}

/* The hash FNV-1a (Fowler, Noll and Vo) of all tokens, each followed by the byte 0xFF, which UTF-8 does not have. */
uint64_t kaeru_tokenizer_fingerprint_at(AgSite at, const KaeruTokenizer *t)
{
    AG_LAYER(at);
    check_open(at, __func__, t);
    uint64_t hash = 0xcbf29ce484222325;
    for (int32_t id = 0; id < kaeru_tokenizer_size(t); id++) {
        size_t n;
        char *text = kaeru_tokenizer_decode(t, &id, 1, &n);
        for (size_t i = 0; i <= n; i++) hash = (hash ^ (i < n ? (unsigned char)text[i] : 0xff)) * 0x100000001b3;
        ag_free(text);
    }
    return hash;
}
