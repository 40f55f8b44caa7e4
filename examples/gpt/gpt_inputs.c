/* gpt_inputs.c: opens texts, vocabularies and models; if that fails, ends the program with the reason. */
#include <inttypes.h>
#include <string.h>

#include "gpt_commands.h"

KaeruVocab *vocab_must_open(const char *vocab, const char *merges)
{
    KaeruVocab *v = kaeru_vocab_open(merges ? KAERU_BPE : KAERU_CHARS, vocab, merges);
    if (!v) {
        example_fail("%s", ag_error());
    }
    return v;
}

LmData *data_must_open(const char *path, const KaeruVocab *v)
{
    LmData *data = path ? lm_data_open(path, v) : lm_data_of_text("the library's sources", corpus, corpus_size, v);
    if (!data) {
        example_fail("%s", ag_error());
    }
    return data;
}

/* ---- the vocabulary of a checkpoint ------------------------------------------------------------------------------ */

void describe_vocab(const KaeruVocab *v, NnSettings *s)
{
    nn_settings_set(s, VOCABULARY_KEY, "%s", kaeru_vocab_kind(v) == KAERU_BPE ? "bpe" : "characters");
    nn_settings_set(s, FINGERPRINT_KEY, "%016" PRIx64, kaeru_vocab_fingerprint(v));
    vocabulary_to_settings(v, s, VOCABULARY_KEY);
}

static bool is_setting(const NnSettings *s, const char *key, const char *value)
{
    const char *found = nn_settings_get(s, key);
    return found && strcmp(found, value) == 0;
}

KaeruVocab *vocab_of_checkpoint(const char *checkpoint, const NnSettings *s)
{
    bool bpe = is_setting(s, VOCABULARY_KEY, "bpe");
    if (!bpe && !is_setting(s, VOCABULARY_KEY, "characters")) {
        example_fail("%s: has no setting for the kind of its vocabulary", checkpoint);
    }
    char *vocab = example_path_beside(checkpoint, VOCAB_FILE), *merges = example_path_beside(checkpoint, MERGES_FILE);
    char fingerprint[24];
    KaeruVocab *v = vocabulary_of_settings(bpe ? KAERU_BPE : KAERU_CHARS, checkpoint, s, VOCABULARY_KEY);
    bool inside = v != NULL;
    if (!inside) {
        v = vocab_must_open(vocab, bpe ? merges : NULL);
    }
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, kaeru_vocab_fingerprint(v));
    if (!is_setting(s, FINGERPRINT_KEY, fingerprint)) {
        example_fail("%s: is not the vocabulary that %s was trained with", inside ? "settings." VOCABULARY_KEY : vocab,
                     checkpoint);
    }
    ag_free(merges);
    ag_free(vocab);
    return v;
}

/* ---- trained models ---------------------------------------------------------------------------------------------- */

/* An id beyond the model's vocabulary would be a usage error. */
static TrainedModel checked(TrainedModel m)
{
    if (kaeru_vocab_size(m.vocab) > m.model->options.vocab) {
        example_fail("the vocabulary has %d tokens, the model's vocabulary only %" PRId64,
                     (int)kaeru_vocab_size(m.vocab), m.model->options.vocab);
    }
    nn_eval(m.model);
    return m;
}

TrainedModel trained_model_of_checkpoint(const char *checkpoint)
{
    TrainedModel m = { .settings = nn_settings_new() };
    char *path = checkpoint ? ag_strdup(checkpoint) : example_input_path(BEST_FILE);
    m.model = nn_checkpoint_settings(path, m.settings) ? gpt_load(path) : NULL;
    if (!m.model) {
        example_fail(checkpoint ? "%s" : "%s (gpt train writes it)", ag_error());
    }
    must_not_be_replaced(path, m.settings);
    m.vocab = vocab_of_checkpoint(path, m.settings);
    char *best = example_path_beside(path, BEST_FILE);
    if (strcmp(path, best) == 0) {
        warn_if_of_other_run(path, m.settings, LAST_FILE);
    }
    ag_free(best);
    ag_free(path);
    return checked(m);
}

TrainedModel trained_model_of_files(const char *weights, const char *config, const char *vocab, const char *merges)
{
    TrainedModel m = { .settings = nn_settings_new() };
    m.vocab = vocab_must_open(vocab, merges);
    m.model = gpt_open(weights, config);
    if (!m.model) {
        example_fail("%s", ag_error());
    }
    return checked(m);
}

Writer writer_of(const TrainedModel *m)
{
    Writer w = { .model = m->model, .vocab = m->vocab };
    int32_t end = kaeru_vocab_special(m->vocab, KAERU_END);
    if (end >= 0) {
        w.begin = w.end[w.n_ends++] = end;
        return w;
    }
    size_t n = 0;
    int32_t *ids = kaeru_vocab_encode(m->vocab, "\n", 1, KAERU_AS_TEXT, &n);
    w.begin = ids && n ? ids[0] : 0;
    ag_free(ids);
    return w;
}

void trained_model_close(TrainedModel *m)
{
    ag_free(m->vocab);
    ag_free(m->settings);
    ag_free(m->model);
}
