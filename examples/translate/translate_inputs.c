/* translate_inputs.c: opens sentences, vocabularies and models; if that fails, ends the program with the reason. */
#include <inttypes.h>
#include <string.h>

#include "kaeru/lm.h"
#include "translate_commands.h"

Corpus corpus_must_open(const char *src_path, const char *tgt_path, bool lower_case)
{
    Corpus c;
    if (!kaeru_lines_open(&c.src, src_path) || !kaeru_lines_open(&c.tgt, tgt_path)) {
        example_fail("%s", ag_error());
    }
    if (c.src.n != c.tgt.n) {
        example_fail("%s has %" PRId64 " lines and %s has %" PRId64 ": expected the same number", src_path,
                     c.src.n, tgt_path, c.tgt.n);
    }
    if (c.src.n == 0) {
        example_fail("%s and %s are empty: expected one sentence in each line", src_path, tgt_path);
    }
    if (lower_case) {
        kaeru_lines_lower(&c.src);
        kaeru_lines_lower(&c.tgt);
    }
    return c;
}

void corpus_close(Corpus *c)
{
    kaeru_lines_close(&c->src);
    kaeru_lines_close(&c->tgt);
}

/* ---- vocabularies ------------------------------------------------------------------------------------------------ */

#define KIND_KEY        "vocabulary"            /* "words" or "bpe" */
#define SHARED_KEY      "vocabulary.shared"
#define FINGERPRINT_KEY "vocabulary.fingerprint"
#define LOWER_KEY       "option.lower-case"

/* The names of the files of one language, and the prefix of its settings. */
typedef struct { const char *vocab, *merges, *prefix; } Names;
static const Names src_names = { "translate_src_vocab.json", "translate_src_merges.txt", KIND_KEY ".src" };
static const Names tgt_names = { "translate_tgt_vocab.json", "translate_tgt_merges.txt", KIND_KEY ".tgt" };

static void save(const KaeruVocab *v, const Names *names)
{
    char *vocab = example_path(names->vocab), *merges = example_path(names->merges);
    if (!kaeru_vocab_save(v, vocab, merges)) {
        example_fail("%s", ag_error());
    }
    ag_free(vocab);
    ag_free(merges);
}

void vocabularies_save(const Vocabularies *v)
{
    save(v->src, &src_names);
    if (v->tgt != v->src) {
        save(v->tgt, &tgt_names);
    }
}

/* Calls a function for each of the files that vocabularies_save does not write. */
static void each_other_file(bool bpe, bool shared, void (*what)(const char *name))
{
    if (!bpe) {
        what(src_names.merges);
    }
    if (shared) {
        what(tgt_names.vocab);
    }
    if (shared || !bpe) {
        what(tgt_names.merges);
    }
}

void vocabularies_results(bool bpe, bool shared)
{
    each_other_file(bpe, shared, training_run_result);
}

void vocabularies_remove_others(const Vocabularies *v)
{
    each_other_file(kaeru_vocab_kind(v->src) == KAERU_SENTENCE_BPE, v->src == v->tgt, training_run_remove);
}

void vocabularies_must_be_outputs(void)
{
    const char *const names[] = { src_names.vocab, src_names.merges, tgt_names.vocab, tgt_names.merges, NULL };
    training_run_writes(names);
}

/* Continues a hash by the tokens of a vocabulary. */
static uint64_t fingerprint(uint64_t hash, const KaeruVocab *v)
{
    if (kaeru_vocab_kind(v) == KAERU_SENTENCE_BPE) {
        uint64_t own = kaeru_vocab_fingerprint(v);
        return data_hash(hash, &own, sizeof own);
    }
    for (int32_t id = 0; id < kaeru_vocab_size(v); id++) {
        size_t n;
        const char *word = kaeru_vocab_token(v, id, &n);
        hash = data_hash(hash, word, n + 1);                            /* with the NUL behind it */
    }
    return hash;
}

static const char *fingerprint_of_both(const Vocabularies *v, char text[24])
{
    snprintf(text, 24, "%016" PRIx64, fingerprint(fingerprint(DATA_HASH_BEGIN, v->src), v->tgt));
    return text;
}

void vocabularies_describe(const Vocabularies *v, NnSettings *s)
{
    char text[24];
    nn_settings_set(s, FINGERPRINT_KEY, "%s", fingerprint_of_both(v, text));
    nn_settings_set(s, KIND_KEY, "%s", kaeru_vocab_kind(v->src) == KAERU_SENTENCE_BPE ? "bpe" : "words");
    nn_settings_set(s, SHARED_KEY, "%d", v->src == v->tgt);
    vocabulary_to_settings(v->src, s, src_names.prefix);
    if (v->tgt != v->src) {
        vocabulary_to_settings(v->tgt, s, tgt_names.prefix);
    }
}

static KaeruVocab *open_one(const char *checkpoint, const NnSettings *s, const Names *names, KaeruVocabKind kind)
{
    KaeruVocab *inside = vocabulary_of_settings(kind, checkpoint, s, names->prefix);
    if (inside) {
        return inside;
    }
    char *vocab = example_path_beside(checkpoint, names->vocab),
        *merges = example_path_beside(checkpoint, names->merges);
    KaeruVocab *v = kaeru_vocab_open(kind, vocab, merges);
    if (!v) {
        example_fail("%s", ag_error());
    }
    ag_free(vocab);
    ag_free(merges);
    return v;
}

static void check_size(const NnSettings *s, const char *key, const KaeruVocab *v, const char *checkpoint)
{
    int64_t size;
    if (!nn_settings_int(s, key, &size) || size != kaeru_vocab_size(v)) {
        example_fail("%s: was trained with another vocabulary than the one in it or in its folder, of %d tokens", checkpoint,
                     (int)kaeru_vocab_size(v));
    }
}

/* Checkpoints of earlier versions have no fingerprint. */
static void check_fingerprint(const NnSettings *s, const Vocabularies *v, const char *checkpoint)
{
    char text[24];
    const char *before = nn_settings_get(s, FINGERPRINT_KEY);
    if (before && strcmp(before, fingerprint_of_both(v, text)) != 0) {
        example_fail("%s: was trained with another vocabulary than the one in it or in its folder", checkpoint);
    }
}

/* The value of a setting that is 0 or 1. */
static bool flag_of_settings(const NnSettings *s, const char *key, const char *checkpoint)
{
    int64_t value;
    if (!nn_settings_int(s, key, &value)) {
        example_fail("%s", ag_error());
    }
    if (value != 0 && value != 1) {
        example_fail("%s: the setting \"%s\" is %" PRId64 ", expected 0 or 1", checkpoint, key, value);
    }
    return value == 1;
}

void vocabularies_open(Vocabularies *v, const char *checkpoint, const NnSettings *s)
{
    const char *kind = nn_settings_get(s, KIND_KEY);
    bool pairs = kind && strcmp(kind, "bpe") == 0;
    if (!pairs && (!kind || strcmp(kind, "words") != 0)) {
        example_fail("%s: has no setting for the kind of its vocabulary", checkpoint);
    }
    bool shared = flag_of_settings(s, SHARED_KEY, checkpoint);
    KaeruVocabKind which = pairs ? KAERU_SENTENCE_BPE : KAERU_WORDS;
    v->src = open_one(checkpoint, s, &src_names, which);
    v->tgt = shared ? v->src : open_one(checkpoint, s, &tgt_names, which);
    check_size(s, "transformer.src_vocab", v->src, checkpoint);
    check_size(s, "transformer.tgt_vocab", v->tgt, checkpoint);
    check_fingerprint(s, v, checkpoint);
}

void vocabularies_close(Vocabularies *v)
{
    if (v->tgt != v->src) {
        ag_free(v->tgt);
    }
    ag_free(v->src);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

TrainedModel trained_model_of_checkpoint(const char *checkpoint)
{
    TrainedModel m = { 0 };
    NnSettings *settings = nn_settings_new();
    char *path = checkpoint ? ag_strdup(checkpoint) : example_input_path(MODEL_FILE);
    m.model = nn_checkpoint_settings(path, settings) ? transformer_load(path) : NULL;
    if (!m.model) {
        example_fail(checkpoint ? "%s" : "%s (translate train writes it)", ag_error());
    }
    must_not_be_replaced(path, settings);
    m.lower_case = flag_of_settings(settings, LOWER_KEY, path);
    vocabularies_open(&m.vocabularies, path, settings);
    char *result = example_path_beside(path, MODEL_FILE);
    if (strcmp(path, result) == 0) {
        warn_if_of_other_run(path, settings, LAST_FILE);
    }
    nn_eval(m.model);
    ag_free(result);
    ag_free(settings);
    ag_free(path);
    return m;
}

void trained_model_close(TrainedModel *m)
{
    vocabularies_close(&m->vocabularies);
    ag_free(m->model);
}

Translator translator_of(Transformer *model, const Vocabularies *v)
{
    return (Translator){ model, v->src, v->tgt };
}
