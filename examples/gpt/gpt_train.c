/* gpt_train.c: the command train. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "gpt_commands.h"

static const char *data_path, *vocab, *merges, *weights, *config;
static GPTOptions size = { .layers = 4, .heads = 4, .width = 128, .context = 64, .eps = 1e-5 };
static LmOptions how;
static int64_t sample_tokens = 500;
static bool resume, overwrite;

/* ---- what the run shows ------------------------------------------------------------------------------------------ */

static const char data_name[] = "gpt.csv", data_header[] = "step,train_loss,valid_loss,learning_rate,tokens_per_second";
typedef struct { Csv *csv; Progress progress; int64_t first, since; double since_time, speed; } Watch;

/* Speed counts the time of steps alone, not that of evaluations and checkpoints. */
static void start_clock(Watch *w, int64_t step)
{
    w->since = step;
    w->since_time = example_seconds();
}

static void started(LmTraining *t, void *arg)
{
    Watch *w = arg;
    if (resume && t->step < t->options.steps) {
        printf("goes on at step %" PRId64 " of %" PRId64 ", from %s\n", t->step, t->options.steps, t->last);
    } else if (resume) {
        printf("all %" PRId64 " steps have been taken, says %s\n", t->options.steps, t->last);
    }
    w->first = t->step;
    w->csv = resume ? csv_resume(data_name, data_header, (double)t->step) : csv_open(data_name, data_header);
    w->progress = progress_begin("step", t->options.steps - t->step);
    start_clock(w, t->step);
}

static void stepped(LmTraining *t, void *arg)
{
    Watch *w = arg;
    const LmOptions *o = &t->options;
    double tokens = (double)((t->step - w->since) * o->batch * o->accumulate * lm_window(t));
    double spent = example_seconds() - w->since_time;
    w->speed = spent > 0 && tokens > 0 ? tokens / spent : 0;
    progress_show(&w->progress, t->step - w->first, "loss %.3f, %.0f tokens/s", t->loss, w->speed);
}

/* The row is on the disk before the checkpoint is: resuming drops rows that come too early, and can make none. */
static void evaluated(LmTraining *t, void *arg)
{
    Watch *w = arg;
    csv_row(w->csv, t->step, t->train_loss, t->valid_loss, t->lr, w->speed);
    progress_end(&w->progress);
    printf("step %" PRId64 " of %" PRId64 ": loss %.3f, held out %.3f, %.0f tokens/s\n", t->step, t->options.steps,
           t->train_loss, t->valid_loss, w->speed);
    start_clock(w, t->step);
}

static void show_losses(Watch *w)
{
    if (csv_rows(w->csv) > 1) {
        chart_print(w->csv, &(Chart){ "loss", "step", false,
                                      { { "train_loss", "training" }, { "valid_loss", "held out" } } });
    }
    csv_close(w->csv);
    picture_draw("gpt");
}

/* ---- what it begins with ----------------------------------------------------------------------------------------- */

static bool is_token_file(const char *path)
{
    char begin[8] = "";
    FILE *file = fopen(path, "rb");
    bool is = file && fread(begin, 1, sizeof begin, file) == sizeof begin &&
        memcmp(begin, "kaerutok", sizeof begin) == 0;
    if (file) {
        fclose(file);
    }
    return is;
}

/* The characters of the text. */
static CharVocab *characters(void)
{
    Text text = { 0 };
    if (!data_path) {
        return char_vocab_new(corpus, corpus_size);
    }
    if (is_token_file(data_path)) {
        example_usage_error("%s is a file of tokens: expected --vocab (and --merges)", data_path);
    }
    bool opened = text_open(&text, data_path);
    if (opened && text.size == 0) {
        example_fail("%s: is empty, expected a text to learn from", data_path);
    }
    CharVocab *found = opened ? char_vocab_new(text.bytes, text.size) : NULL;
    text_close(&text);
    return found;
}

static Tokenizer first_tokenizer(void)
{
    Tokenizer t = { NULL, NULL };
    if (vocab) {
        tokenizer_must_open(&t, vocab, merges);
    } else {
        t.chars = characters();
    }
    if (!t.bpe && !t.chars) {
        example_fail("%s", ag_error());
    }
    return t;
}

/* An earlier run in the output folder is not lost by a slip. */
static void check_free(const char *last)
{
    if (access(last, F_OK) == 0 && !overwrite) {
        example_fail("%s is there from an earlier run: --resume goes on with it, --overwrite starts anew", last);
    }
}

static GPT *first_model(const Tokenizer *t)
{
    if (weights) {
        GPT *m = gpt_open(weights, config);
        if (!m) {
            example_fail("%s", ag_error());
        }
        return m;
    }
    size.vocab = tokenizer_size(t);
    if (!gpt_check(&size)) {
        example_usage_error("%s", ag_error());
    }
    return gpt_new(size);
}

static void begin_run(LmTraining *run, Tokenizer *t)
{
    if (weights && (!config || !vocab)) {
        example_usage_error("--weights needs --config and --vocab (and --merges)");
    }
    check_free(run->last);
    *t = first_tokenizer();
    run->model = first_model(t);
    describe_tokenizer(t, run->settings);
    nn_settings_set(run->settings, DATA_KEY, "%s", data_path ? data_path : "");
}

static void save_vocabulary(const Tokenizer *t)
{
    char *vocab_path = example_path(VOCAB_FILE), *merges_path = example_path(MERGES_FILE);
    if (!tokenizer_save(t, vocab_path, merges_path)) {
        example_fail("%s", ag_error());
    }
    ag_free(vocab_path);
    ag_free(merges_path);
}

/* The options of the run that is gone on with become the defaults, for those that are given again to change. */
static void take_settings(Settings *s)
{
    char *last = example_path(LAST_FILE);
    if (!nn_checkpoint_settings(last, s) || !lm_from_settings(&how, s) || !gpt_from_settings(&size, s)) {
        example_fail("%s", ag_error());
    }
    data_path = nn_settings_get(s, DATA_KEY);
    ag_free(last);
}

/* A model keeps its shape. */
static void check_shape(const Settings *before)
{
    static const char *const fixed[] = { "layers", "heads", "width", "context", "dropout", "bias" };
    Settings *now = nn_settings_new();
    gpt_to_settings(&size, now);
    options_must_stay("gpt", fixed, sizeof fixed / sizeof *fixed, before, now);
    nn_settings_free(now);
}

static void continue_run(LmTraining *run, Tokenizer *t)
{
    check_shape(run->settings);
    tokenizer_of_checkpoint(t, run->last, run->settings);
    run->model = gpt_load(run->last);
    if (!run->model) {
        example_fail("%s", ag_error());
    }
    const char *before = nn_settings_get(run->settings, DATA_KEY);
    if (data_path && (!before || strcmp(before, data_path) != 0)) {
        nn_settings_set(run->settings, DATA_KEY, "%s", data_path);
    }
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void print_sizes(const GPT *m, const LmData *data, const Tokenizer *t)
{
    const GPTOptions *o = &m->options;
    printf("%" PRId64 " tokens to learn from, %" PRId64 " held out, %d kinds of them\n", lm_data_tokens(data, LM_TRAIN),
           lm_data_tokens(data, LM_HELD_OUT), (int)tokenizer_size(t));
    printf("GPT: layers %" PRId64 ", heads %" PRId64 ", width %" PRId64 ", context %" PRId64 ", parameters %.0f\n",
           o->layers, o->heads, o->width, o->context, gpt_size(o));
}

static void train(LmTraining *run)
{
    Watch watch = { .csv = NULL };
    run->options = how;
    run->started = started;
    run->stepped = stepped;
    run->evaluated = evaluated;
    run->arg = &watch;
    bool good = lm_train(run, resume);
    if (watch.csv) {
        progress_end(&watch.progress);
    }
    if (!good) {
        example_fail("%s", ag_error());
    }
    show_losses(&watch);
    printf("model:   %s (the last), %s (the best)\n", run->last, run->best);
}

static void finish(LmTraining *run, const Tokenizer *t)
{
    int64_t counted;
    double loss = lm_evaluate(run->model, run->data, how.batch, how.window, 0, &counted);
    printf("loss over all %" PRId64 " held-out tokens: %.4f\n", counted, loss);
    if (sample_tokens > 0) {
        printf("\nIt writes:\n");
        Writer w = { run->model, *t, run->settings };
        write_text(&w, NULL, sample_tokens, &(Sampling){ .temperature = 0.8, .top_p = 0.95 });
    }
}

int gpt_train(int argc, char **argv)
{
    const Option options[] = {
        option_text("data", "FILE", &data_path, "text in UTF-8, or file of tokens; without: kaeru's own sources"),
        option_text("vocab", "FILE", &vocab, "vocab.json; without: the characters of the text"),
        option_text("merges", "FILE", &merges, "merges.txt; without: the vocabulary is one of characters"),
        option_text("weights", "FILE", &weights, "begin with GPT-2's model.safetensors instead of random weights"),
        option_text("config", "FILE", &config, "its config.json"),
        option_int("layers", &size.layers, 1, 1000, "blocks"),
        option_int("heads", &size.heads, 1, 1000, "of attention, in each block"),
        option_int("width", &size.width, 1, 100000, "numbers at each position"),
        option_int("context", &size.context, 1, 1 << 24, "positions that the model can look back on"),
        option_real("dropout", &size.dropout, 0, 0.99, "share of activations that are dropped in training"),
        option_flag("bias", &size.bias, "biases in linear layers and norms, as GPT-2 has them"),
        option_int("steps", &how.steps, 1, INT64_C(1) << 40, "training steps"),
        option_int("batch", &how.batch, 1, 1 << 20, "windows of the text at a time"),
        option_int("window", &how.window, 0, 1 << 24, "their tokens; 0: the context"),
        option_int("accumulate", &how.accumulate, 1, 1 << 20, "times as many in a step"),
        option_real("lr", &how.lr, 0, 1000, "learning rate of AdamW at its highest"),
        option_real("lr-min", &how.lr_min, 0, 1000, "at the end"),
        option_int("warmup", &how.warmup, 0, INT64_C(1) << 40, "steps until it is highest"),
        option_real("beta2", &how.beta2, 0, 0.9999, "of AdamW"),
        option_real("decay", &how.weight_decay, 0, 1000, "weight decay of AdamW, on matrices"),
        option_real("clip", &how.clip, 0, 1e15, "most that the norm of all gradients may be; 0: anything"),
        option_int("every", &how.evaluate_every, 1, INT64_C(1) << 40,
                   "steps between evaluations, which save checkpoints"),
        option_int("held-out", &how.evaluate_tokens, 0, INT64_C(1) << 40, "tokens in an evaluation, at most; 0: all"),
        option_int("sample", &sample_tokens, 0, INT64_C(1) << 40, "tokens to write in the end"),
        option_flag("resume", &resume, "go on with the run in the output folder; options given now change how, not the model"),
        option_flag("overwrite", &overwrite, "start anew where there is a run already"),
        OPTIONS_END
    };
    const Program program = { "gpt train",
        "Trains a GPT on a text to predict each next token, tests it on the last tenth, and lets it write. The newest\n"
        "model and the best are saved at each evaluation as " LAST_FILE " and " BEST_FILE ", the vocabulary\n"
        "as " VOCAB_FILE ", losses as gpt.csv (step,train_loss,valid_loss,learning_rate,tokens_per_second). A run\n"
        "that was stopped, even by a kill, goes on with --resume and ends with the same weights to the bit.", options };
    how = lm_defaults();
    how.evaluate_tokens = 1 << 17;
    example_begin(argc, argv, &program);
    LmTraining run = { .settings = nn_settings_new() };
    Tokenizer tokenizer;
    if (resume) {
        take_settings(run.settings);
        example_begin(argc, argv, &program);
    }
    char *last = example_path(LAST_FILE), *best = example_path(BEST_FILE);
    run.last = last;
    run.best = best;
    if (resume) {
        continue_run(&run, &tokenizer);
    } else {
        begin_run(&run, &tokenizer);
    }
    LmData *data = data_must_open(data_path, &tokenizer);
    run.data = data;
    if (!lm_data_fits(data, run.model, how.window)) {
        example_fail("%s", ag_error());
    }
    if (!resume) {
        save_vocabulary(&tokenizer);                                   /* now that all there is to read has been read */
    }
    print_sizes(run.model, data, &tokenizer);
    train(&run);
    finish(&run, &tokenizer);
    lm_data_close(data);
    tokenizer_close(&tokenizer);
    nn_free(run.model);
    nn_settings_free(run.settings);
    ag_free(last);
    ag_free(best);
    return example_end();
}
