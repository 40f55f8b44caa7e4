/* fuzz_text.c: makes vocabularies from any text, encodes and decodes the text with them, and reads it as a vocabulary file. */
#include "fuzz.h"
#include "kaeru/text.h"
#include "vocab_file.h"

static void use_characters(const char *text, size_t n)
{
    size_t count, back;
    KaeruCharVocab *v = kaeru_char_vocab_new(text, n);
    if (!v) {
        fuzz_check_refusal("the text: line ");
        return;
    }
    int32_t *ids = kaeru_char_vocab_encode(v, text, n, &count);
    CHECK(ids);
    char *again = kaeru_char_vocab_decode(v, ids, count, &back);
    CHECK(again && back == n && memcmp(again, text, n) == 0);
    ag_free(again);
    ag_free(ids);
    kaeru_char_vocab_free(v);
}

static void use_words(const char *text, size_t n)
{
    size_t count, back;
    KaeruWordVocab *v = kaeru_word_vocab_new(text, n, 2);
    if (!v) {
        fuzz_check_refusal("the text: line ");
        v = kaeru_word_vocab_new("a a b b", 7, 1);
    }
    int32_t *ids = kaeru_word_vocab_encode(v, text, n, &count);
    for (size_t i = 0; i < count; i++) CHECK(ids[i] >= 0 && ids[i] < kaeru_word_vocab_size(v));
    char *again = kaeru_word_vocab_decode(v, ids, count, &back);
    CHECK(again && strlen(again) <= back);
    ag_free(again);
    ag_free(ids);
    kaeru_word_vocab_free(v);
}

static void parse_vocabulary(const char *text, size_t n)
{
    void *owner = ag_alloc(1, 1);
    int32_t size;
    const Word *token = vocab_parse(owner, "fuzz", text, n, &size);
    if (token) for (int32_t i = 0; i < size; i++) CHECK(token[i].text && token[i].text[token[i].size] == '\0');
    else fuzz_check_refusal("fuzz: ");
    ag_free(owner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    use_characters((const char *)data, size);
    use_words((const char *)data, size);
    parse_vocabulary((const char *)data, size);
    return 0;
}
