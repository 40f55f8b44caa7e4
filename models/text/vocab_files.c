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
    if (merges.name) {
        KaeruVocab *v = bpe_parse(work, vocab.name, root, merges);
        if (v) v->kind = kind;
        return v;
    }
    if (is_bpe(kind) || kind == KAERU_WORDPIECE) return bpe_parse_json(work, kind, vocab.name, root);
    int32_t n;
    const Word *token = vocab_tokens(work, vocab.name, root, &n);
    if (!token || !(kind == KAERU_CHARS ? are_characters : begin_with_special)(vocab.name, token, n)) return NULL;
    WordTable *tokens = word_table_new(work);
    for (int32_t i = 0; i < n; i++) word_table_add(tokens, token[i].text, token[i].size);
    return vocab_new(kind, &units_functions, tokens);
}

static void check_kind(const char *what, KaeruVocabKind kind)
{
    if ((unsigned)kind > KAERU_WORDPIECE) ag_usage_error(what, "%d is not a KaeruVocabKind", (int)kind);
}

KaeruVocab *kaeru_vocab_open(KaeruVocabKind kind, const char *vocab_path, const char *merges_path)
{
    AG_LAYER;
    check_kind(__func__, kind);
    ag_check_pointer(__func__, "vocab_path", vocab_path);
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

KaeruVocab *kaeru_vocab_of_text(KaeruVocabKind kind, const char *name, const char *vocab, const char *merges)
{
    AG_LAYER;
    check_kind(__func__, kind);
    ag_check_pointer(__func__, "name", name);
    ag_check_pointer(__func__, "vocab", vocab);
    void *work = ag_alloc(1, 1);
    VocabFile second = { 0 };
    if (merges && is_bpe(kind)) {
        second = (VocabFile){ name, merges, strlen(merges) };
    }
    KaeruVocab *v = vocab_parse(work, kind, (VocabFile){ name, vocab, strlen(vocab) }, second);
    ag_free(work);
    return v;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Sets the content of the files, owned by `work`; merges->text is NULL if there is one file. False with ag_error(), which
 * begins with `name`, if they cannot hold this vocabulary. */
static bool texts_of(void *work, const char *name, const KaeruVocab *v, VocabFile *vocab, VocabFile *merges)
{
    if (v->bpe) {
        return bpe_texts(work, name, v, vocab, merges);
    }
    vocab->text = vocab_text(work, v->tokens->word, v->tokens->n, &vocab->size);
    return vocab->text != NULL;
}

bool vocab_replace_both(const char *vocab_path, VocabFile vocab, const char *merges_path, VocabFile merges)
{
    FileWriter *first = file_replace(vocab_path);
    FileWriter *second = first && merges.text ? file_replace(merges_path) : NULL;
    if (!first || (merges.text && !second)) {
        ag_free(first);
        return false;
    }
    file_write(first, vocab.text, vocab.size);
    if (!second) {
        return file_commit(first);
    }
    file_write(second, merges.text, merges.size);
    return file_commit_both(first, second);
}

bool kaeru_vocab_save(const KaeruVocab *v, const char *vocab_path, const char *merges_path)
{
    AG_LAYER;
    ag_check_object(__func__, "v", v);
    ag_check_pointer(__func__, "vocab_path", vocab_path);
    if (v->bpe && v->kind != KAERU_WORDPIECE) ag_check_pointer(__func__, "merges_path", merges_path);
    void *work = ag_alloc(1, 1);
    VocabFile vocab = { 0 }, merges = { 0 };
    bool done = texts_of(work, vocab_path, v, &vocab, &merges);
    if (done && v->bpe && strcmp(vocab_path, merges_path) == 0) {
        done = ag_set_error("%s: is the path of both files, expected two paths", vocab_path);
    }
    done = done && vocab_replace_both(vocab_path, vocab, merges_path, merges);
    ag_free(work);
    return done;
}

static char *copy_of(VocabFile file)
{
    return file.text ? memcpy(ag_alloc(file.size + 1, 1), file.text, file.size) : NULL;
}

char *kaeru_vocab_to_text(const KaeruVocab *v, char **merges)
{
    AG_LAYER;
    ag_check_object(__func__, "v", v);
    ag_check_pointer(__func__, "merges", merges);
    void *work = ag_alloc(1, 1);
    VocabFile first = { 0 }, second = { 0 };
    bool good = texts_of(work, "the vocabulary", v, &first, &second);
    char *text = good ? copy_of(first) : NULL;
    *merges = good ? copy_of(second) : NULL;
    ag_free(work);
    return text;
}
