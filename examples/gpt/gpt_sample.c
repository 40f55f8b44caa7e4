/* gpt_sample.c: the commands that use a trained model: sample, generate, eval, export. */
#include <inttypes.h>

#include "common/host.h"
#include "gpt_commands.h"

static const char *checkpoint, *weights, *config, *vocab, *merges, *data_path;
static int64_t batch = 12, window = 0;
static Writing writing = { .tokens = 500, .how = { .temperature = 0.8, .top_k = 0, .top_p = 0.95 } };

#define CHECKPOINT_OPTION \
    NN_TEXT_OPTION("checkpoint", "FILE", checkpoint, "of gpt train; without: " BEST_FILE " in the output folder")
#define FILE_OPTIONS \
    NN_TEXT_OPTION("weights", "FILE", weights, "model.safetensors"), \
    NN_TEXT_OPTION("config", "FILE", config, "config.json"), \
    NN_TEXT_OPTION("vocab", "FILE", vocab, "vocab.json"), \
    NN_TEXT_OPTION("merges", "FILE", merges, "merges.txt; without: a vocabulary of characters")

/* The model of a checkpoint, or of files in Hugging Face's layout. */
static TrainedModel open_model(void)
{
    if (!weights && !config && !vocab && !merges) {
        return trained_model_of_checkpoint(checkpoint);
    }
    if (checkpoint) {
        example_usage_error("--checkpoint is a complete model: expected no --weights, --config, --vocab or --merges");
    }
    if (!weights || !config || !vocab) {
        example_usage_error("expected --weights, --config and --vocab (and --merges) together");
    }
    return trained_model_of_files(weights, config, vocab, merges);
}

int gpt_sample(int argc, char **argv)
{
    const NnField options[] = { CHECKPOINT_OPTION, WRITING_OPTIONS(writing), PRECISION_OPTION, NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "gpt sample",
        "Shows what a model of gpt train writes. The same seed gives the same text. When the context is full, the model\n"
        "continues from the last half of it.", options });
    TrainedModel m = open_model();
    Writer w = writer_of(&m);
    write_text(&w, &writing);
    trained_model_close(&m);
    return example_end();
}

int gpt_generate_command(int argc, char **argv)
{
    const NnField options[] = { FILE_OPTIONS, WRITING_OPTIONS(writing), PRECISION_OPTION, NN_FIELDS_END };
    writing.tokens = 100;
    example_begin(argc, argv, &(Program){ "gpt generate",
        "Shows what GPT-2 writes, or any model in the same format. Needs --weights, --config and --vocab, and --merges if\n"
        "tokens are byte pairs: the files of GPT-2 in Hugging Face's layout. The same seed gives the same text.", options });
    if (!weights) {
        example_usage_error("expected --weights, --config and --vocab (and --merges) together");
    }
    TrainedModel m = open_model();
    Writer w = writer_of(&m);
    write_text(&w, &writing);
    trained_model_close(&m);
    return example_end();
}

int gpt_eval(int argc, char **argv)
{
    const NnField options[] = {
        CHECKPOINT_OPTION, FILE_OPTIONS,
        NN_TEXT_OPTION("data", "FILE", data_path,
                       "text or file of tokens; without: the data that the checkpoint was trained on"),
        NN_OPTION("window", window, 0, 1 << 24, "tokens of a window; 0: the model's context"),
        NN_OPTION("batch", batch, 1, 1 << 20, "windows in a batch; the result does not depend on it"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "gpt eval",
        "Shows how well a model predicts a text: a checkpoint of gpt train, or GPT-2's files, on the last tenth of the\n"
        "text. The loss is the mean of -log p over all tokens there; the perplexity is exp(loss).", options });
    if (weights && config && vocab && !data_path) {
        example_usage_error("--weights needs --data");
    }
    TrainedModel m = open_model();
    const char *trained_on = nn_settings_get(m.settings, DATA_KEY);
    LmData *data = data_must_open(data_path ? data_path : trained_on, m.vocab);
    if (!lm_data_fits(data, m.model, window)) {
        example_fail("%s", ag_error());
    }
    if (!data_path) {
        uint64_t hash = trained_on ? data_hash_file(trained_on) : data_hash(DATA_HASH_BEGIN, corpus, corpus_size);
        say_if_other_data(m.settings, hash);
    }
    int64_t counted;
    double loss = lm_evaluate(m.model, data, batch, window, 0, &counted);
    say("loss %.4f, perplexity %.3f, over %" PRId64 " held-out tokens\n", loss, ag_math_exp(loss), counted);
    ag_free(data);
    trained_model_close(&m);
    return example_end();
}

int gpt_export(int argc, char **argv)
{
    bool overwrite = false;
    const NnField options[] = {
        CHECKPOINT_OPTION,
        NN_FLAG_OPTION("overwrite", overwrite, "replace the files of a model in the output folder"), NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "gpt export",
        "Writes a model of gpt train in GPT-2's format: model.safetensors, config.json, tokenizer.json and\n"
        "tokenizer_config.json, which Hugging Face's library opens (AutoModelForCausalLM, AutoTokenizer), and for\n"
        "gpt generate vocab.json and, for BPE, merges.txt. They are in the output folder.", options });
    TrainedModel m = trained_model_of_checkpoint(checkpoint);
    enum { CONFIG, WEIGHTS, TOKENIZER, TOKENIZER_CONFIG, VOCAB, MERGES, FILES };
    static const char *const names[FILES] = { "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
                                              "vocab.json", "merges.txt" };
    char *new[FILES], *written[FILES];
    for (int i = 0; i < FILES; i++) {
        written[i] = example_path(names[i]);
        if (!overwrite && access(written[i], F_OK) == 0) {
            example_fail("%s exists: expected --overwrite, or another folder as --out", written[i]);
        }
    }
    FileGroup g = file_group_begin(example_out(), names, FILES);
    for (int i = 0; i < FILES; i++) {
        new[i] = file_group_path(&g, i);
    }
    if (!gpt_write(m.model, new[WEIGHTS], new[CONFIG]) ||
        !kaeru_vocab_export(m.vocab, new[TOKENIZER], new[TOKENIZER_CONFIG]) ||
        !kaeru_vocab_save(m.vocab, new[VOCAB], new[MERGES])) {
        file_group_fail(&g);
    }
    file_group_replace(&g);                             /* also removes another model's merges, for characters */
    for (int i = 0; i < FILES; i++) {
        if (access(written[i], F_OK) == 0) {
            say("wrote:   %s\n", written[i]);
        }
        ag_free(written[i]);
        ag_free(new[i]);
    }
    trained_model_close(&m);
    return example_end();
}
