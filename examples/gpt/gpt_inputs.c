/* gpt_inputs.c: models, vocabularies and texts from files, or an end of the program with the reason. */
#include <inttypes.h>
#include <string.h>

#include "gpt_commands.h"

void tokenizer_must_open(Tokenizer *t, const char *vocab, const char *merges)
{
    if (!tokenizer_open(t, vocab, merges)) {
        example_fail("%s", ag_error());
    }
}

LmData *data_must_open(const char *path, const Tokenizer *t)
{
    bool bundled = !path || !*path;
    LmData *data = bundled ? lm_data_of_text("the bundled sources", corpus, corpus_size, t) : lm_data_open(path, t);
    if (!data) {
        example_fail("%s", ag_error());
    }
    return data;
}

/* ---- the vocabulary of a checkpoint ------------------------------------------------------------------------------ */

void describe_tokenizer(const Tokenizer *t, Settings *s)
{
    nn_settings_set(s, VOCABULARY_KEY, "%s", t->bpe ? "bpe" : "characters");
    nn_settings_set(s, FINGERPRINT_KEY, "%016" PRIx64, tokenizer_fingerprint(t));
}

static bool is_setting(const Settings *s, const char *key, const char *value)
{
    const char *found = nn_settings_get(s, key);
    return found && strcmp(found, value) == 0;
}

void tokenizer_of_checkpoint(Tokenizer *t, const char *checkpoint, const Settings *s)
{
    bool bpe = is_setting(s, VOCABULARY_KEY, "bpe");
    if (!bpe && !is_setting(s, VOCABULARY_KEY, "characters")) {
        example_fail("%s: does not say what its vocabulary is", checkpoint);
    }
    char *vocab = example_path_beside(checkpoint, VOCAB_FILE), *merges = example_path_beside(checkpoint, MERGES_FILE);
    char fingerprint[24];
    tokenizer_must_open(t, vocab, bpe ? merges : NULL);
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, tokenizer_fingerprint(t));
    if (!is_setting(s, FINGERPRINT_KEY, fingerprint)) {
        example_fail("%s: is not the vocabulary that %s was trained with", vocab, checkpoint);
    }
    ag_free(merges);
    ag_free(vocab);
}

/* ---- models that write ------------------------------------------------------------------------------------------- */

/* Ids that the model does not know would be misuse of it. */
static Writer ready(Writer w)
{
    if (tokenizer_size(&w.tokenizer) > w.model->options.vocab) {
        example_fail("the vocabulary has %d tokens, the model only %" PRId64, (int)tokenizer_size(&w.tokenizer),
                     w.model->options.vocab);
    }
    nn_eval(w.model);
    return w;
}

Writer writer_of_checkpoint(const char *checkpoint)
{
    Writer w = { .settings = nn_settings_new() };
    char *path = checkpoint ? ag_strdup(checkpoint) : example_path(BEST_FILE);
    w.model = gpt_load(path);
    if (!w.model && !checkpoint) {
        example_fail("%s (gpt train makes it)", ag_error());
    }
    if (!w.model || !nn_checkpoint_settings(path, w.settings)) {
        example_fail("%s", ag_error());
    }
    tokenizer_of_checkpoint(&w.tokenizer, path, w.settings);
    ag_free(path);
    return ready(w);
}

Writer writer_of_files(const char *weights, const char *config, const char *vocab, const char *merges)
{
    Writer w = { .settings = nn_settings_new() };
    tokenizer_must_open(&w.tokenizer, vocab, merges);
    w.model = gpt_open(weights, config);
    if (!w.model) {
        example_fail("%s", ag_error());
    }
    return ready(w);
}

void writer_end(Writer *w)
{
    tokenizer_close(&w->tokenizer);
    nn_settings_free(w->settings);
    nn_free(w->model);
}
