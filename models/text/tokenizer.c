/* tokenizer.c: one interface to vocabularies of characters and of byte pairs. */
#include "kaeru/lm.h"

bool tokenizer_open(Tokenizer *t, const char *vocab_path, const char *merges_path)
{
    if (merges_path) {
        *t = (Tokenizer){ .kind = TOKENIZER_BPE, .bpe = bpe_open(vocab_path, merges_path) };
        return t->bpe != NULL;
    }
    *t = (Tokenizer){ .kind = TOKENIZER_CHARS, .chars = char_vocab_open(vocab_path) };
    return t->chars != NULL;
}

bool tokenizer_save(const Tokenizer *t, const char *vocab_path, const char *merges_path)
{
    if (t->kind == TOKENIZER_BPE) return bpe_save(t->bpe, vocab_path, merges_path);
    return char_vocab_save(t->chars, vocab_path);
}

void tokenizer_close(Tokenizer *t)
{
    if (t->kind == TOKENIZER_BPE) bpe_free(t->bpe);
    else char_vocab_free(t->chars);
    *t = (Tokenizer){ 0 };
}

int32_t tokenizer_size(const Tokenizer *t)
{
    return t->kind == TOKENIZER_BPE ? bpe_size(t->bpe) : char_vocab_size(t->chars);
}

int32_t *tokenizer_encode(const Tokenizer *t, const char *text, size_t n, size_t *count)
{
    if (t->kind == TOKENIZER_BPE) return bpe_encode(t->bpe, text, n, BPE_SPECIAL, count);
    return char_vocab_encode(t->chars, text, n, count);
}

char *tokenizer_decode(const Tokenizer *t, const int32_t *ids, size_t count, size_t *n)
{
    if (t->kind == TOKENIZER_BPE) return bpe_decode(t->bpe, ids, count, n);
    return char_vocab_decode(t->chars, ids, count, n);
}

/* The hash FNV-1a (Fowler, Noll and Vo) of all tokens, each followed by the byte 0xFF, which UTF-8 does not have. */
uint64_t tokenizer_fingerprint(const Tokenizer *t)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (int32_t id = 0; id < tokenizer_size(t); id++) {
        size_t n;
        char *text = tokenizer_decode(t, &id, 1, &n);
        for (size_t i = 0; i <= n; i++) hash = (hash ^ (i < n ? (unsigned char)text[i] : 0xff)) * 0x100000001b3;
        ag_free(text);
    }
    return hash;
}
