/* fuzz_text.c: makes vocabularies from any text, encodes and decodes the text with them, and reads it as a vocabulary file. */
#include "fuzz.h"
#include "vocab.h"

static void use_characters(const char *text, size_t n)
{
    size_t count, back;
    KaeruVocab *v = kaeru_vocab_chars(text, n);
    if (!v) {
        fuzz_check_refusal("the text: line ");
        return;
    }
    int32_t *ids = kaeru_vocab_encode(v, text, n, KAERU_AS_TEXT, &count);
    CHECK(ids);
    char *again = kaeru_vocab_decode(v, ids, count, &back);
    CHECK(again && back == n && memcmp(again, text, n) == 0);
    ag_free(again);
    ag_free(ids);
    ag_free(v);
}

static void use_words(const char *text, size_t n)
{
    size_t count, back;
    KaeruVocab *v = kaeru_vocab_words(text, n, 2);
    if (!v) {
        fuzz_check_refusal("the text: line ");
        v = kaeru_vocab_words("a a b b", 7, 1);
    }
    int32_t *ids = kaeru_vocab_encode(v, text, n, KAERU_AS_TEXT, &count);
    for (size_t i = 0; i < count; i++) CHECK(ids[i] >= 0 && ids[i] < kaeru_vocab_size(v));
    char *again = kaeru_vocab_decode(v, ids, count, &back);
    CHECK(again && strlen(again) <= back);
    ag_free(again);
    ag_free(ids);
    ag_free(v);
}

static void parse_vocabulary(const char *text, size_t n)
{
    for (KaeruVocabKind kind = KAERU_CHARS; kind <= KAERU_WORDS; kind++) {
        void *work = ag_alloc(1, 1);
        KaeruVocab *v = vocab_parse(work, kind, (VocabFile){ "fuzz", text, n }, (VocabFile){ 0 });
        ag_free(work);
        if (!v) fuzz_check_refusal("fuzz: ");
        for (int32_t i = 0; v && i < kaeru_vocab_size(v); i++) {
            size_t size;
            const char *token = kaeru_vocab_token(v, i, &size);
            CHECK(token && token[size] == '\0' && kaeru_vocab_find(v, token, size) == i);
        }
        ag_free(v);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    use_characters((const char *)data, size);
    use_words((const char *)data, size);
    parse_vocabulary((const char *)data, size);
    return 0;
}
