/* gpt_train.c: the command train. */
#include <inttypes.h>
#include <string.h>

#include "common/lm_run.h"
#include "gpt_commands.h"

static const char *data_path, *vocab, *merges, *weights, *config;
static GPTOptions size = { .layers = 4, .heads = 4, .width = 128, .context = 64, .eps = 1e-5 };
static LmOptions how;
static int64_t sample_tokens = 500;
static bool recompute;

/* ---- vocabulary and model ---------------------------------------------------------------------------------------- */

/* The characters of the text. */
static KaeruCharVocab *characters(void)
{
    KaeruText text = { 0 };
    if (!data_path) {
        return kaeru_char_vocab_new(corpus, corpus_size);
    }
    if (lm_is_token_file(data_path)) {
        example_usage_error("%s is a file of tokens: expected --vocab (and --merges)", data_path);
    }
    bool opened = kaeru_text_open(&text, data_path);
    if (opened && text.size == 0) {
        example_fail("%s: is empty, expected a text to learn from", data_path);
    }
    KaeruCharVocab *found = opened ? kaeru_char_vocab_new(text.bytes, text.size) : NULL;
    kaeru_text_close(&text);
    return found;
}

static KaeruTokenizer first_tokenizer(void)
{
    KaeruTokenizer t = { .kind = KAERU_TOKENIZER_CHARS };
    if (vocab) {
        tokenizer_must_open(&t, vocab, merges);
        return t;
    }
    t.chars = characters();
    if (!t.chars) {
        example_fail("%s", ag_error());
    }
    return t;
}

static GPT *first_model(const KaeruTokenizer *t)
{
    if (weights) {
        return gpt_open(weights, config);
    }
    size.vocab = kaeru_tokenizer_size(t);
    if (!gpt_check(&size)) {
        example_usage_error("%s", ag_error());
    }
    return gpt_new(size);
}

/* The options must be those of the model in the checkpoint: it may be another run's. They do not describe GPT-2's weights. */
static void check_sizes(const char *path, const GPTOptions *o)
{
    const struct { const char *name; double option, model; } size_of[] = {
        { "layers", (double)size.layers, (double)o->layers }, { "heads", (double)size.heads, (double)o->heads },
        { "width", (double)size.width, (double)o->width }, { "context", (double)size.context, (double)o->context },
        { "dropout", size.dropout, o->dropout }, { "bias", size.bias, o->bias }
    };
    for (size_t i = 0; i < sizeof size_of / sizeof *size_of && !weights; i++) {
        if (size_of[i].option != size_of[i].model) {
            example_fail("%s: its option --%s is %g, but its model has %g", path, size_of[i].name, size_of[i].option,
                         size_of[i].model);
        }
    }
}

static void save_vocabulary(const KaeruTokenizer *t)
{
    char *vocab_path = example_path(VOCAB_FILE), *merges_path = example_path(MERGES_FILE);
    if (!kaeru_tokenizer_save(t, vocab_path, merges_path)) {
        example_fail("%s", ag_error());
    }
    ag_free(vocab_path);
    ag_free(merges_path);
}

/* Makes or loads the vocabulary and the model, and sets the settings that describe the vocabulary. */
static void make_model_and_vocabulary(const TrainingRun *run, LmTraining *training, KaeruTokenizer *t)
{
    if (run->resumed) {
        tokenizer_of_checkpoint(t, run->last, run->saved);
        training->model = gpt_load(run->last);
    } else {
        *t = first_tokenizer();
        training->model = first_model(t);
    }
    if (!training->model) {
        example_fail("%s", ag_error());
    }
    GPT *m = training->model;
    if (run->resumed) {
        check_sizes(run->last, &m->options);
    }
    m->options.recompute = recompute;
    describe_tokenizer(t, run->settings);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void print_sizes(const GPT *m, const LmData *data, const KaeruTokenizer *t)
{
    const GPTOptions *o = &m->options;
    printf("%" PRId64 " tokens to learn from, %" PRId64 " held out, vocabulary of %d\n", lm_data_tokens(data, LM_TRAIN),
           lm_data_tokens(data, LM_HELD_OUT), (int)kaeru_tokenizer_size(t));
    printf("GPT: layers %" PRId64 ", heads %" PRId64 ", width %" PRId64 ", context %" PRId64 ", parameters %.0f\n",
           o->layers, o->heads, o->width, o->context, gpt_size(o));
    if (o->recompute) {
        printf("each block is computed again during backward\n");
    }
}

static void finish(LmTraining *training, const KaeruTokenizer *t)
{
    int64_t counted;
    double loss = lm_evaluate(training->model, training->data, how.batch, how.window, 0, &counted);
    printf("loss over all %" PRId64 " held-out tokens: %.4f\n", counted, loss);
    if (sample_tokens > 0) {
        printf("\nText written by the model:\n");
        TrainedModel m = { training->model, *t, training->settings };
        Writer w = writer_of(&m);
        write_text(&w, &(Writing){ .tokens = sample_tokens, .how = { .temperature = 0.8, .top_p = 0.95 } });
    }
}

int gpt_train(int argc, char **argv)
{
    const Option options[] = {
        option_text("data", "FILE", &data_path, "text in UTF-8 or file of tokens; without: kaeru's own sources"),
        option_fixed(option_text("vocab", "FILE", &vocab, "vocab.json; without: the characters of the text")),
        option_fixed(option_text("merges", "FILE", &merges, "merges.txt; without: a vocabulary of characters")),
        option_fixed(option_text("weights", "FILE", &weights, "start from GPT-2's model.safetensors, not random weights")),
        option_fixed(option_text("config", "FILE", &config, "config.json of those weights")),
        option_fixed(option_int("layers", &size.layers, 1, 1000, "blocks")),
        option_fixed(option_int("heads", &size.heads, 1, 1000, "attention heads of each block")),
        option_fixed(option_int("width", &size.width, 1, 100000, "width of the model")),
        option_fixed(option_int("context", &size.context, 1, 1 << 24, "tokens that the model can see, at most")),
        option_fixed(option_real("dropout", &size.dropout, 0, 0.99, "share of activations dropped in training")),
        option_fixed(option_flag("bias", &size.bias, "biases in linear layers and norms, as in GPT-2")),
        option_int("steps", &how.steps, 1, INT64_C(1) << 40, "training steps"),
        option_int("batch", &how.batch, 1, 1 << 20, "windows of the text in a batch"),
        option_int("window", &how.window, 0, 1 << 24, "tokens of a window; 0: the context"),
        option_int("accumulate", &how.accumulate, 1, 1 << 20, "batches in a step"),
        option_real("lr", &how.lr, 0, 1000, "highest learning rate of AdamW"),
        option_real("lr-min", &how.lr_min, 0, 1000, "learning rate at the end"),
        option_int("warmup", &how.warmup, 0, INT64_C(1) << 40, "steps until the learning rate is highest"),
        option_real("beta2", &how.beta2, 0, 0.9999, "beta2 of AdamW"),
        option_real("decay", &how.weight_decay, 0, 1000, "weight decay of AdamW, for matrices"),
        option_real("clip", &how.clip, 0, 1e15, "largest norm of all gradients together; 0: no limit"),
        option_int("every", &how.evaluate_every, 1, INT64_C(1) << 40,
                   "steps from one evaluation and checkpoint to the next"),
        option_int("held-out", &how.evaluate_tokens, 0, INT64_C(1) << 40, "most tokens in an evaluation; 0: all"),
        option_int("sample", &sample_tokens, 0, INT64_C(1) << 40, "tokens to write at the end"),
        option_flag("recompute", &recompute,
                    "compute each block again during backward: less memory, about a third more time"),
        option_precision(), option_fixed(option_shards()), option_deadline(), option_resume(), option_other_data(),
        option_overwrite(), OPTIONS_END
    };
    const Program program = { "gpt train",
        "Shows how a GPT learns a text: it learns to predict each next token, is tested on the last tenth of the text,\n"
        "and writes a text at the end. Each evaluation saves the newest model as " LAST_FILE " and the best\n"
        "one as " BEST_FILE ". The vocabulary is saved as " VOCAB_FILE ", the losses as gpt.csv\n"
        "(step,train_loss,valid_loss,learning_rate,tokens_per_second). A run that was stopped, even by a kill, resumes\n"
        "with --resume and ends with the same weights to the bit. After SIGTERM or SIGUSR1 it saves the newest model and\n"
        "ends with status 75. Under mpirun, processes train together (--shards).", options };
    how = lm_defaults();
    how.evaluate_tokens = 1 << 17;
    processes_begin();
    TrainingRun run = training_run_begin(argc, argv, &program, LAST_FILE, &how.batch);
    how.shards = example_shards();
    if (weights && (!config || !vocab)) {
        example_usage_error("--weights needs --config and --vocab (and --merges)");
    }
    char *best = example_path(BEST_FILE);
    example_must_be_output(best);
    LmTraining training = { .options = how, .settings = run.settings, .last = run.last, .best = best,
                            .processes = example_processes(), .stop = example_stop() };
    KaeruTokenizer tokenizer;
    make_model_and_vocabulary(&run, &training, &tokenizer);
    LmData *data = data_must_open(data_path, &tokenizer);
    training.data = data;
    training_run_data(&run, data_path ? data_hash_file(data_path) : data_hash(DATA_HASH_BEGIN, corpus, corpus_size));
    if (!lm_data_fits(data, training.model, how.window)) {
        example_fail("%s", ag_error());
    }
    if (!run.resumed && example_writes()) {
        save_vocabulary(&tokenizer);                                    /* only after all input was read without error */
    }
    print_sizes(training.model, data, &tokenizer);
    lm_run(&training, "gpt.csv", &run);
    if (!processes_end()) {
        processes_exit(training.stopped ? EXIT_STOPPED : 0);
    }
    if (!training.stopped) {
        picture_draw("gpt");
        printf("model:   %s (last), %s (best)\n", training.last, training.best);
        finish(&training, &tokenizer);
    }
    ag_free(data);
    kaeru_tokenizer_close(&tokenizer);
    nn_free(training.model);
    ag_free(best);
    training_run_end(&run);
    return training.stopped ? EXIT_STOPPED : example_end();
}
