/* gpt_train.c: the command train. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/lm_run.h"
#include "gpt_commands.h"

static const char *data_path, *vocab, *merges, *weights, *config;
static const GPTOptions usual_size = { .layers = 4, .heads = 4, .width = 128, .context = 64, .eps = 1e-5 };
static GPTOptions size;
static LmOptions how;
static int64_t sample_tokens = 500;
static bool recompute;

/* ---- vocabulary and model ---------------------------------------------------------------------------------------- */

/* The characters of the text. */
static KaeruVocab *characters(void)
{
    KaeruText text = { 0 };
    if (!data_path) {
        return kaeru_vocab_chars(corpus, corpus_size);
    }
    if (lm_is_token_file(data_path)) {
        example_usage_error("%s is a file of tokens: expected --vocab (and --merges)", data_path);
    }
    bool opened = kaeru_text_open(&text, data_path);
    if (opened && text.size == 0) {
        example_fail("%s: is empty, expected a text to learn from", data_path);
    }
    KaeruVocab *found = opened ? kaeru_vocab_chars(text.bytes, text.size) : NULL;
    kaeru_text_close(&text);
    return found;
}

static KaeruVocab *first_vocab(void)
{
    KaeruVocab *v = vocab ? vocab_must_open(vocab, merges) : characters();
    if (!v) {
        example_fail("%s", ag_error());
    }
    return v;
}

/* Ends the program if an option, other than by its default, asks for another size than the model of --weights has. */
static void check_sizes(const GPT *m)
{
    for (const NnField *f = gpt_fields.field; f->name; f++) {
        char usual[NN_FIELD_BUFFER], wanted[NN_FIELD_BUFFER], found[NN_FIELD_BUFFER];
        const char *ask = nn_field_text(f, &size, wanted), *has = nn_field_text(f, &m->options, found);
        if (f->help && strcmp(ask, nn_field_text(f, &usual_size, usual)) != 0 && strcmp(ask, has) != 0) {
            example_usage_error("--%s %s: the model of --weights has %s", f->option ? f->option : f->name, ask, has);
        }
    }
}

static GPT *first_model(const KaeruVocab *v)
{
    if (weights) {
        GPT *m = gpt_open(weights, config);
        if (m) {
            check_sizes(m);
        }
        return m;
    }
    size.vocab = kaeru_vocab_size(v);
    if (!nn_fields_check(&gpt_fields, &size)) {
        example_usage_error("%s", ag_error());
    }
    return gpt_new(size);
}

typedef struct { const TrainingRun *run; const KaeruVocab *vocab; } Beginning;

/* Writes the vocabulary for its readers: people, gpt tokenize and earlier versions. The checkpoints have it, too, and theirs
 * counts. There is a first checkpoint when lm_train calls this. */
static void save_vocabulary(LmTraining *training, void *arg)
{
    const Beginning *b = arg;
    const KaeruVocab *v = b->vocab;
    if (!example_writes()) {
        return;
    }
    char *vocab_path = example_path(VOCAB_FILE), *merges_path = example_path(MERGES_FILE);
    if (!kaeru_vocab_save(v, vocab_path, merges_path)) {
        example_fail("%s", ag_error());
    }
    if (kaeru_vocab_kind(v) == KAERU_CHARS && training_run_removes(b->run, training->step == 0)) {
        training_run_remove(MERGES_FILE);                               /* of the earlier run: another kind of vocabulary */
    }
    ag_free(vocab_path);
    ag_free(merges_path);
}

/* Ends the program if the vocabulary cannot be written as this file. The same vocabulary may be there and be read from
 * there. */
static void check_vocabulary_file(const char *name, const char *read_from)
{
    char *path = example_path(name);
    if (!read_from || !kaeru_text_is_same_file(read_from, path)) {
        example_must_be_output(path);
    }
    ag_free(path);
}

/* Ends the program if it would replace what is no output of it. */
static void check_outputs(void)
{
    static const char *const names[] = { LAST_FILE, BEST_FILE, "gpt.csv", "gpt.csv.part", NULL };
    training_run_writes(names);
    check_vocabulary_file(VOCAB_FILE, vocab);
    check_vocabulary_file(MERGES_FILE, merges);
    picture_must_be_output("gpt");
}

/* Ends the program if a new run would replace the vocabulary of gpt tokenize, without which gpt.tokens cannot be read. */
static void check_tokens(const KaeruVocab *v)
{
    char *tokens = example_path(TOKENS_FILE), *vocab_path = example_path(VOCAB_FILE), *merges_path = example_path(MERGES_FILE);
    bool bpe = access(merges_path, F_OK) == 0;
    KaeruVocab *before = access(tokens, F_OK) == 0 ? kaeru_vocab_open(bpe ? KAERU_BPE : KAERU_CHARS, vocab_path, merges_path)
                                                   : NULL;
    if (before && kaeru_vocab_fingerprint(before) != kaeru_vocab_fingerprint(v)) {
        example_fail("--out %s: %s has its vocabulary in this folder: expected another folder", example_out(), tokens);
    }
    ag_free(before);
    ag_free(merges_path);
    ag_free(vocab_path);
    ag_free(tokens);
}

/* Makes or loads the model and the vocabulary, which it returns, and sets the settings that describe the vocabulary. */
static KaeruVocab *make_model_and_vocabulary(const TrainingRun *run, LmTraining *training)
{
    KaeruVocab *v = run->resumed ? vocab_of_checkpoint(run->last, run->saved) : first_vocab();
    training->model = run->resumed ? gpt_load(run->last) : first_model(v);
    if (!training->model) {
        example_fail("%s", ag_error());
    }
    GPT *m = training->model;
    m->options.recompute = recompute;
    describe_vocab(v, run->settings);
    return v;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void print_sizes(const GPT *m, const LmData *data, const KaeruVocab *v)
{
    const GPTOptions *o = &m->options;
    say("%" PRId64 " tokens to learn from, %" PRId64 " held out, vocabulary of %d\n", lm_data_tokens(data, LM_TRAIN),
        lm_data_tokens(data, LM_HELD_OUT), (int)kaeru_vocab_size(v));
    say("GPT: layers %" PRId64 ", heads %" PRId64 ", width %" PRId64 ", context %" PRId64 ", parameters %.0f\n",
        o->layers, o->heads, o->width, o->context, gpt_size(o));
    if (o->recompute) {
        say("each block is computed again during backward\n");
    }
}

/* Tells where the models are. A resumed run may end without a model that is better than the best one, which may be gone. */
static void say_models(const TrainingRun *run, const char *best)
{
    NnSettings *found = nn_settings_new();
    if (access(best, F_OK) == 0 && training_run_owns(run, best, found)) {
        say("model:   %s (last), %s (best)\n", run->last, best);
    } else {
        say("model:   %s\n", run->last);
        example_warn("the best model of this run is lost, and no later one was better: %s", best);
    }
    ag_free(found);
}

static void finish(LmTraining *training, KaeruVocab *v)
{
    int64_t counted;
    double loss = lm_evaluate(training->model, training->data, how.batch, how.window, 0, &counted);
    say("loss over all %" PRId64 " held-out tokens: %.4f\n", counted, loss);
    if (sample_tokens > 0) {
        say("\nText written by the model:\n");
        TrainedModel m = { training->model, v, training->settings };
        Writer w = writer_of(&m);
        write_text(&w, &(Writing){ .tokens = sample_tokens, .how = { .temperature = 0.8, .top_p = 0.95 } });
    }
}

int gpt_train(int argc, char **argv)
{
    const NnField options[] = {
        NN_TEXT_OPTION("data", "FILE", data_path, "text in UTF-8 or file of tokens; without: kaeru's own sources"),
        NN_TEXT_OPTION("vocab", "FILE", vocab, "vocab.json; without: the characters of the text", .fixed = true),
        NN_TEXT_OPTION("merges", "FILE", merges, "merges.txt; without: a vocabulary of characters", .fixed = true),
        NN_TEXT_OPTION("weights", "FILE", weights, "start from GPT-2's model.safetensors, not random weights", .fixed = true),
        NN_TEXT_OPTION("config", "FILE", config, "config.json of those weights", .fixed = true),
        NN_OPTION("sample", sample_tokens, 0, INT64_C(1) << 40, "tokens to write at the end"),
        NN_FLAG_OPTION("recompute", recompute,
                       "compute each block again during backward: less memory, about a third more time"),
        PRECISION_OPTION, SHARDS_OPTION, DEADLINE_OPTION, RUN_OPTIONS, NN_FIELDS_END
    };
    const Program program = { "gpt train",
        "Shows how a GPT learns a text: it learns to predict each next token, is tested on the last tenth of the text,\n"
        "and writes a text at the end. Each evaluation saves the newest model as " LAST_FILE " and the best\n"
        "one as " BEST_FILE ", both with the vocabulary. This is also " VOCAB_FILE ". The losses are in gpt.csv\n"
        "(step,train_loss,valid_loss,learning_rate,tokens_per_second). A run that was stopped, even by a kill, resumes\n"
        "with --resume and ends with the same weights to the bit. After Ctrl-C, SIGTERM or SIGUSR1 it saves the newest\n"
        "model and ends with status 75. Under mpirun, processes train together (--shards), and\n"
        "Ctrl-C ends them all. A file of tokens is mapped into memory: do not truncate it before the run has ended.", options };
    how = lm_defaults();
    how.evaluate_tokens = 1 << 17;
    size = usual_size;
    example_add_options(&gpt_fields, &size);
    example_add_options(&lm_fields, &how);
    processes_begin();
    TrainingRun run = training_run_begin(argc, argv, &program, LAST_FILE, &how.batch);
    how.shards = example_shards();
    if (merges && !vocab) {
        example_usage_error("--merges needs --vocab");
    }
    if (config && !weights) {
        example_usage_error("--config needs --weights");
    }
    if (weights && (!config || !vocab)) {
        example_usage_error("--weights needs --config and --vocab (and --merges)");
    }
    check_outputs();
    char *best = example_path(BEST_FILE);
    training_run_result(BEST_FILE);
    LmTraining training = { .options = how, .settings = run.settings, .last = run.last, .best = best,
                            .processes = example_processes(), .stop = example_stop(), .started = save_vocabulary };
    KaeruVocab *v = make_model_and_vocabulary(&run, &training);
    Beginning beginning = { &run, v };
    training.arg = &beginning;
    if (!run.resumed) {
        check_tokens(v);
    }
    if (kaeru_vocab_kind(v) == KAERU_CHARS) {
        training_run_result(MERGES_FILE);
    }
    LmData *data = data_must_open(data_path, v);
    training.data = data;
    training_run_data(&run, data_path ? data_hash_file(data_path) : data_hash(DATA_HASH_BEGIN, corpus, corpus_size));
    if (!lm_data_fits(data, training.model, how.window)) {
        example_fail("%s", ag_error());
    }
    print_sizes(training.model, data, v);
    lm_run(&training, "gpt.csv", &run);
    if (!processes_end(&training.stopped)) {
        processes_exit(training.stopped ? EXIT_STOPPED : 0);
    }
    if (!training.stopped) {
        picture_draw("gpt");
        say_models(&run, best);
        finish(&training, v);
    }
    ag_free(data);
    ag_free(v);
    ag_free(training.model);
    ag_free(best);
    training_run_end(&run);
    return training.stopped ? EXIT_STOPPED : example_end();
}
