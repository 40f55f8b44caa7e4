/* fuzz_bpe.c: decoding restores any bytes with any vocabulary whose rules do not change a text. The first byte modulo 4 selects
 * the vocabulary:
 *   0   the input has vocab.json up to a NUL byte and merges.txt up to the next one
 *   1   the tokens are the bytes and all pairs of the letters a to h; the input has merges.txt up to a NUL byte
 *   2   it is learned from the text, with 257 tokens plus the second byte
 *   3   the tokens are those of 1; the input has the rest of a tokenizer.json, which follows its vocabulary, up to a NUL byte
 * The rest of the input is the text. */
#include "bpe_parts.h"
#include "fuzz.h"

/* Takes a file up to the next NUL byte, and the NUL byte. */
static VocabFile take_file(const char *name, const char **text, size_t *n)
{
    const char *end = memchr(*text, '\0', *n);
    VocabFile file = { name, *text, end ? (size_t)(end - *text) : *n };
    *text += file.size + (end != NULL);
    *n -= file.size + (end != NULL);
    return file;
}

/* vocab.json of mode 1. */
static VocabFile letters(void)
{
    static char text[20000];
    static char *end;
    if (!end) {
        BpeBytes bytes = bpe_bytes();
        int id = 0;
        end = text;
        for (int code = 0; code < BPE_CODES; code++) {
            if (bytes.byte[code] < 0) continue;
            end += sprintf(end, "%c\"\\u%04x\":%d", id ? ',' : '{', (unsigned)code, id);
            id++;
        }
        for (char a = 'a'; a <= 'h'; a++)
            for (char b = 'a'; b <= 'h'; b++) end += sprintf(end, ",\"%c%c\":%d", a, b, id++);
        end += sprintf(end, ",\"<|endoftext|>\":%d}", id);
    }
    return (VocabFile){ "vocab", text, (size_t)(end - text) };
}

static KaeruVocab *parse(VocabFile vocab, VocabFile merges)
{
    void *work = ag_alloc(1, 1);
    KaeruVocab *v = vocab_parse(work, KAERU_BPE, vocab, merges);
    ag_free(work);
    return v;
}

static bool keeps_text(const BpeRules *rules)
{
    for (int i = 0; i < rules->n_split; i++)
        if (rules->split[i] >= BPE_WORD_CHARACTERS) return false;
    return rules->n_normal == 0 && !rules->characters;
}

static void use(KaeruVocab *bpe, const char *text, size_t n)
{
    bool keeps = keeps_text(&bpe->bpe->rules);
    for (int round = 0; round < 3; round++) {
        size_t count, back;
        int32_t *ids = kaeru_vocab_encode(bpe, text, n, round == 2 ? KAERU_WITH_SPECIAL : KAERU_AS_TEXT, &count);
        CHECK(!keeps || count <= n);
        for (size_t i = 0; i < count; i++) CHECK(ids[i] >= 0 && ids[i] < kaeru_vocab_size(bpe));
        char *again = kaeru_vocab_decode(bpe, ids, count, &back);
        CHECK(again && (!keeps || (back == n && memcmp(again, text, n) == 0)));
        ag_free(again);
        ag_free(ids);
    }
    ag_free(bpe);
}

static void use_tokenizer(VocabFile rest, const char *text, size_t n)
{
    static const char start[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":";
    VocabFile vocab = letters(), file = { .name = "tokenizer" };
    char *whole = malloc(sizeof start + vocab.size + rest.size);
    memcpy(whole, start, sizeof start - 1);
    memcpy(whole + sizeof start - 1, vocab.text, vocab.size);
    whole[sizeof start - 1 + vocab.size] = ',';
    memcpy(whole + sizeof start + vocab.size, rest.text, rest.size);
    file.text = whole;
    file.size = sizeof start + vocab.size + rest.size;
    KaeruVocab *bpe = parse(file, (VocabFile){ 0 });
    if (bpe) use(bpe, text, n);
    else fuzz_check_refusal("tokenizer: ");
    free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const char *text = (const char *)data + 1;
    size_t n = size - 1;
    if (data[0] % 4 == 2) {
        KaeruVocab *bpe = kaeru_vocab_bpe(KAERU_BPE, text + 1, n - 1, 257 + data[1]);
        CHECK(bpe && kaeru_vocab_size(bpe) <= 257 + data[1]);
        use(bpe, text + 1, n - 1);
        return 0;
    }
    if (data[0] % 4 == 3) {
        use_tokenizer(take_file("rest", &text, &n), text, n);
        return 0;
    }
    VocabFile vocab = data[0] % 4 == 0 ? take_file("vocab", &text, &n) : letters();
    VocabFile merges = take_file("merges", &text, &n);
    KaeruVocab *bpe = parse(vocab, merges);
    if (bpe) use(bpe, text, n);
    else fuzz_check_refusal(strncmp(ag_error(), "vocab", 5) == 0 ? "vocab: " : "merges: line ");
    return 0;
}
