/* vocab_files.c: opens and saves vocabularies of all kinds. */
#include "bpe_parts.h"
#include "file.h"
#include "utf8.h"

enum { MAX_FILE = 1 << 28 };                    /* bytes */

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool are_characters(const char *name, const Word *token, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        uint32_t code;
        if (!token[i].size || (size_t)utf8_decode(token[i].text, token[i].size, &code) != token[i].size)
            return ag_set_error("%s: expected single characters, found %s", name, QUOTED_BYTES(token[i].text, token[i].size));
    }
    return true;
}

static bool begin_with_special(const char *name, const Word *token, int32_t n)
{
    for (int32_t i = 0; i < N_SPECIAL; i++) {
        Word expected = { special_tokens[i], strlen(special_tokens[i]), 0 };
        if (i < n && compare_words(&token[i], &expected) == 0) continue;
        return ag_set_error("%s: expected \"%s\" as token %d, found %s", name, expected.text, (int)i,
                            i < n ? QUOTED_BYTES(token[i].text, token[i].size) : "nothing");
    }
    return true;
}

static bool is_bpe(KaeruVocabKind kind)
{
    return kind == KAERU_BPE || kind == KAERU_SENTENCE_BPE;
}

KaeruVocab *vocab_parse(void *work, KaeruVocabKind kind, VocabFile vocab, VocabFile merges)
{
    const Json *root = json_parse(work, vocab.name, vocab.text, vocab.size);
    if (!root) return NULL;
    if (is_bpe(kind)) {
        KaeruVocab *v = merges.name ? bpe_parse(work, vocab.name, root, merges) : bpe_parse_json(work, vocab.name, root);
        if (v) v->kind = kind;
        return v;
    }
    int32_t n;
    const Word *token = vocab_tokens(work, vocab.name, root, &n);
    if (!token || !(kind == KAERU_CHARS ? are_characters : begin_with_special)(vocab.name, token, n)) return NULL;
    WordTable *tokens = word_table_new(work);
    for (int32_t i = 0; i < n; i++) word_table_add(tokens, token[i].text, token[i].size);
    return vocab_new(kind, tokens);
}

KaeruVocab *kaeru_vocab_open_at(AgSite at, KaeruVocabKind kind, const char *vocab_path, const char *merges_path)
{
    AG_LAYER(at);
    if ((unsigned)kind > KAERU_SENTENCE_BPE) ag_usage_error(at, __func__, "%d is not a KaeruVocabKind", (int)kind);
    ag_check_pointer_at(at, __func__, "vocab_path", vocab_path);
    void *work = ag_alloc(1, 1);
    VocabFile vocab = { .name = vocab_path }, merges = { 0 };
    vocab.text = file_read(work, vocab_path, MAX_FILE, &vocab.size);
    bool good = vocab.text != NULL;
    if (good && merges_path && is_bpe(kind)) {
        merges.name = merges_path;
        merges.text = file_read(work, merges_path, MAX_FILE, &merges.size);
        good = merges.text != NULL;
    }
    KaeruVocab *v = good ? vocab_parse(work, kind, vocab, merges) : NULL;
    ag_free(work);
    return v;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool write_tokens(void *work, const KaeruVocab *v, const char *path)
{
    size_t size;
    const char *text = vocab_text(work, v->tokens->word, v->tokens->n, &size);
    FileWriter *w = text ? file_replace(path) : NULL;
    if (w) file_write(w, text, size);
    return w && file_commit(w);
}

bool kaeru_vocab_save_at(AgSite at, const KaeruVocab *v, const char *vocab_path, const char *merges_path)
{
    AG_LAYER(at);
    ag_check_object_at(at, __func__, "v", v);
    ag_check_pointer_at(at, __func__, "vocab_path", vocab_path);
    if (v->bpe) ag_check_pointer_at(at, __func__, "merges_path", merges_path);
    void *work = ag_alloc(1, 1);
    bool done = v->bpe ? bpe_write(work, v, vocab_path, merges_path) : write_tokens(work, v, vocab_path);
    ag_free(work);
    return done;
}
