/* gpt_sample.c: the commands sample and generate, which let a model write, and eval, which measures it. */
#include <inttypes.h>

#include "gpt_commands.h"

static const char *prompt, *checkpoint, *weights, *config, *vocab, *merges, *data_path;
static int64_t tokens = 500, batch = 12, window = 0;
static Sampling how = { .temperature = 0.8, .top_k = 0, .top_p = 0.95 };

static Option prompt_option(void) { return option_text("prompt", "TEXT", &prompt, "what to go on from"); }
static Option tokens_option(void) { return option_int("tokens", &tokens, 0, INT64_C(1) << 40, "how many to write"); }
static Option temperature_option(void)
{
    return option_real("temperature", &how.temperature, 0, 1000, "0: always the likeliest token; higher: bolder");
}
static Option top_k_option(void)
{
    return option_int("top-k", &how.top_k, 0, INT32_MAX, "choose among the k likeliest; 0: all");
}
static Option top_p_option(void)
{
    return option_real("top-p", &how.top_p, 0, 1, "choose among the likeliest that have this share together; 0: all");
}
static Option checkpoint_option(void)
{
    return option_text("checkpoint", "FILE", &checkpoint, "of gpt train; without: " BEST_FILE " in the output folder");
}
static Option weights_option(void) { return option_text("weights", "FILE", &weights, "model.safetensors"); }
static Option config_option(void)  { return option_text("config", "FILE", &config, "config.json"); }
static Option vocab_option(void)   { return option_text("vocab", "FILE", &vocab, "vocab.json"); }
static Option merges_option(void)
{
    return option_text("merges", "FILE", &merges, "merges.txt; without: the vocabulary is one of characters");
}

/* The model from either kind of files. */
static Writer open_writer(void)
{
    if (!weights && !config && !vocab && !merges) {
        return writer_of_checkpoint(checkpoint);
    }
    if (checkpoint) {
        example_usage_error("--checkpoint names a whole model: expected it without --weights, --config, --vocab and "
                        "--merges");
    }
    if (!weights || !config || !vocab) {
        example_usage_error("expected --weights, --config and --vocab (and --merges) together");
    }
    return writer_of_files(weights, config, vocab, merges);
}

int gpt_sample(int argc, char **argv)
{
    const Option options[] = { checkpoint_option(), prompt_option(), tokens_option(), temperature_option(),
                               top_k_option(), top_p_option(), OPTIONS_END };
    example_begin(argc, argv, &(Program){ "gpt sample",
        "Lets a model that gpt train has made write. The same seed gives the same text. When the context is full, the\n"
        "model goes on from its last half.", options });
    Writer w = open_writer();
    write_text(&w, prompt, tokens, &how);
    writer_end(&w);
    return example_end();
}

int gpt_generate_command(int argc, char **argv)
{
    const Option options[] = { weights_option(), config_option(), vocab_option(), merges_option(), prompt_option(),
                               tokens_option(), temperature_option(), top_k_option(), top_p_option(), OPTIONS_END };
    tokens = 100;
    example_begin(argc, argv, &(Program){ "gpt generate",
        "Lets GPT-2, or any model in its files' layout, write: needs --weights, --config, --vocab and --merges, the\n"
        "four files of a GPT-2 as Hugging Face has them. The same seed gives the same text.", options });
    if (!weights) {
        example_usage_error("expected --weights, --config and --vocab (and --merges) together");
    }
    Writer w = open_writer();
    write_text(&w, prompt, tokens, &how);
    writer_end(&w);
    return example_end();
}

int gpt_eval(int argc, char **argv)
{
    const Option options[] = {
        checkpoint_option(), weights_option(), config_option(), vocab_option(), merges_option(),
        option_text("data", "FILE", &data_path, "text or file of tokens; without: what the checkpoint was trained on"),
        option_int("window", &window, 0, 1 << 24, "tokens that are looked at together; 0: the model's context"),
        option_int("batch", &batch, 1, 1 << 20, "windows at a time; the result does not depend on it"),
        OPTIONS_END
    };
    example_begin(argc, argv, &(Program){ "gpt eval",
        "Measures a model, from a checkpoint of gpt train or from GPT-2's files, on the last tenth of a text: the\n"
        "mean of -log p over all its tokens, and its exponential, the perplexity.", options });
    Writer w = open_writer();
    const char *trained_on = nn_settings_get(w.settings, DATA_KEY);
    LmData *data = data_must_open(data_path ? data_path : trained_on, &w.tokenizer);
    if (!lm_data_fits(data, w.model, window)) {
        example_fail("%s", ag_error());
    }
    int64_t counted;
    double loss = lm_evaluate(w.model, data, batch, window, 0, &counted);
    printf("loss %.4f, perplexity %.3f, over %" PRId64 " tokens held out\n", loss, ag_math_exp(loss), counted);
    lm_data_close(data);
    writer_end(&w);
    return example_end();
}

int gpt_export(int argc, char **argv)
{
    const Option options[] = { checkpoint_option(), OPTIONS_END };
    example_begin(argc, argv, &(Program){ "gpt export",
        "Writes a model that gpt train has made as model.safetensors, config.json, vocab.json and, for BPE,\n"
        "merges.txt into the output folder: GPT-2's files as Hugging Face's library and gpt generate open\n"
        "them.", options });
    Writer w = writer_of_checkpoint(checkpoint);
    char *path[4] = { example_path("model.safetensors"), example_path("config.json"), example_path("vocab.json"),
                      example_path("merges.txt") };
    if (!gpt_write(w.model, path[0], path[1]) || !tokenizer_save(&w.tokenizer, path[2], path[3])) {
        example_fail("%s", ag_error());
    }
    for (int i = 0; i < 4; i++) {
        if (i < 3 || w.tokenizer.bpe) {
            printf("wrote:   %s\n", path[i]);
        }
        ag_free(path[i]);
    }
    writer_end(&w);
    return example_end();
}
