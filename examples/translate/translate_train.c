/* translate_train.c: the command train. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "sentence_pairs.h"
#include "translate_commands.h"

enum { POSITIONS = 512, SHOWN = 8 };
static const int64_t most_shards = 8;                                   /* unless --shards is given */
#define EPOCH_KEY "translate.epochs"
#define COUNTER_KEY "translate.epoch.counter"                           /* these five: of a run stopped within an epoch */
#define BATCHES_KEY "translate.epoch.batches"
#define LOSS_KEY "translate.epoch.loss"
#define TOKENS_KEY "translate.epoch.tokens"
#define DIVISION_KEY "translate.epoch.division"
static const char data_name[] = "translate.csv";
static const char translations_name[] = "translate_valid.txt";
static const char data_header[] = "epoch,train_loss,valid_loss,bleu,learning_rate,tokens_per_second";

/* The options. The defaults are for the grammar, unless defaults_for_files sets those for files. */
static const char *train_src, *train_tgt, *valid_src, *valid_tgt, *vocab = "words";
static int64_t vocab_size = 8000, min_count = 2, max_tokens = 100, sentences = 4000, held_out = 300;
static int64_t epochs = 15, warmup = 400, batch_tokens = 800, accumulate = 1, average = 1, beam = 4;
static double factor = 1, smoothing = 0.1, length_penalty = 0.6;
static bool lower_case;
static TransformerOptions sizes;

static void defaults_for_grammar(void)
{
    sizes = transformer_defaults();
    sizes.N = 2;
    sizes.d_model = 128;
    sizes.h = 4;
    sizes.d_ff = 512;
    sizes.max_len = POSITIONS;
}

static void defaults_for_files(void)
{
    vocab = "bpe";
    sizes.N = 3;
    sizes.d_model = 256;
    sizes.d_ff = 1024;
    epochs = 20;
    warmup = 1000;
    factor = 0.7;
    batch_tokens = 2000;
    average = 5;
    sizes.dropout = 0.2;
    sizes.share_embeddings = true;
}

/* ---- vocabularies, model and optimizer --------------------------------------------------------------------------- */

typedef struct {
    TrainingRun run;
    Corpus train, valid;
    Vocabularies vocabularies;
    Transformer *model;
    Optimizer *optimizer;
    NnParallel *parallel;
    int64_t epoch;                      /* number of epochs done */
    int64_t counter;                    /* of the random state before the batches of the current epoch were drawn */
    int64_t batches;                    /* of this epoch, learned before the run was stopped and resumed */
    KaeruTrainState state;
} Training;

static KaeruVocab *learn_vocab(const KaeruLines *texts, int n)
{
    size_t size;
    char *text = kaeru_lines_join(texts, n, &size);
    KaeruVocab *v = strcmp(vocab, "bpe") == 0 ? kaeru_vocab_bpe(KAERU_SENTENCE_BPE, text, size, (int32_t)vocab_size)
                                              : kaeru_vocab_words(text, size, min_count);
    if (!v) {
        example_fail("%s", ag_error());
    }
    ag_free(text);
    return v;
}

static void learn_vocabularies(Training *t)
{
    const KaeruLines both[] = { t->train.src, t->train.tgt };
    t->vocabularies.src = learn_vocab(both, sizes.share_embeddings ? 2 : 1);
    t->vocabularies.tgt = sizes.share_embeddings ? t->vocabularies.src : learn_vocab(both + 1, 1);
}

static void set_epoch(Training *t, int64_t epoch)
{
    t->epoch = epoch;
    nn_settings_set(t->run.settings, EPOCH_KEY, "%" PRId64, epoch);
}

/* The options that divide an epoch into batches. */
static const char *division(char text[100])
{
    snprintf(text, 100, "--batch-tokens %" PRId64 " --max-tokens %" PRId64, batch_tokens, max_tokens);
    return text;
}

static void save_part_of_epoch(const Training *t, int64_t batches)
{
    NnSettings *s = t->run.settings;
    char text[100];
    nn_settings_set(s, DIVISION_KEY, "%s", division(text));
    nn_settings_set(s, COUNTER_KEY, "%" PRId64, t->counter);
    nn_settings_set(s, BATCHES_KEY, "%" PRId64, batches);
    nn_settings_set(s, LOSS_KEY, "%.17g", t->state.epoch_loss);
    nn_settings_set(s, TOKENS_KEY, "%" PRId64, t->state.epoch_tokens);
    checkpoint_must_save(t->run.last, t->model, t->optimizer, s);
}

static bool load_part_of_epoch(Training *t)
{
    const NnSettings *s = t->run.saved;
    char text[100];
    const char *before = nn_settings_get(s, DIVISION_KEY);
    if (before && strcmp(before, division(text)) != 0) {
        example_usage_error("the run was stopped within an epoch, which ends with %s", before);
    }
    return !nn_settings_get(s, BATCHES_KEY) ||
        (nn_settings_int(s, COUNTER_KEY, &t->counter) && nn_settings_int(s, BATCHES_KEY, &t->batches) &&
         nn_settings_real(s, LOSS_KEY, &t->state.epoch_loss) && nn_settings_int(s, TOKENS_KEY, &t->state.epoch_tokens));
}

/* Makes or loads the vocabularies, the model and the optimizer, and sets the settings that describe them. */
static void make_all(Training *t)
{
    const TrainingRun *run = &t->run;
    if (run->resumed) {
        vocabularies_open(&t->vocabularies, run->last, run->saved);
    } else {
        learn_vocabularies(t);
    }
    vocabularies_describe(&t->vocabularies, run->settings);
    int64_t src_vocab = kaeru_vocab_size(t->vocabularies.src);
    int64_t tgt_vocab = kaeru_vocab_size(t->vocabularies.tgt);
    transformer_to_settings(src_vocab, tgt_vocab, &sizes, run->settings);
    t->model = run->resumed ? transformer_load(run->last) : transformer_new(src_vocab, tgt_vocab, sizes);
    if (!t->model) {
        example_fail("%s", ag_error());
    }
    AgAdam adam = nn_adam_options(0);                           /* transformer_run_epoch sets the learning rate of each step */
    adam.beta2 = 0.98;
    adam.eps = 1e-9;
    t->optimizer = nn_adam_new_with(t->model, adam);
    t->parallel = nn_parallel_new(t->optimizer, example_shards() * accumulate, example_processes());
    if (run->resumed && !nn_checkpoint_load(run->last, t->model, t->optimizer, NULL)) {
        example_fail("%s", ag_error());
    }
    if (run->resumed && (!nn_settings_int(run->saved, EPOCH_KEY, &t->epoch) || !load_part_of_epoch(t))) {
        example_fail("%s", ag_error());
    }
    set_epoch(t, t->epoch);
    t->state.accum_step = nn_optimizer_steps(t->optimizer);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

enum { EPOCH_NAME = 64 };

/* Writes the name of the file with the weights after an epoch, of which the result is a mean. Returns `name`. */
static const char *epoch_name(int64_t epoch, char name[EPOCH_NAME])
{
    snprintf(name, EPOCH_NAME, "translate_epoch_%02" PRId64 ".safetensors", epoch);
    return name;
}

static char *epoch_path(int64_t epoch)
{
    char name[EPOCH_NAME];
    return example_path(epoch_name(epoch, name));
}

/* The epoch of the next such file in the folder; 0: there is none. */
static int64_t next_epoch_file(DIR *folder)
{
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        char name[EPOCH_NAME];
        int64_t epoch;
        if (sscanf(entry->d_name, "translate_epoch_%" SCNd64, &epoch) == 1 && epoch > 0 &&
            strcmp(entry->d_name, epoch_name(epoch, name)) == 0) {
            return epoch;
        }
    }
    return 0;
}

/* Ends the program if the run would remove files of an earlier one, of which no checkpoint is left, without --overwrite, or if
 * one of these files is no output. */
static void check_epoch_files(void)
{
    DIR *folder = opendir(example_out());
    for (int64_t epoch; (epoch = next_epoch_file(folder)) > 0; ) {
        char name[EPOCH_NAME];
        const char *const names[] = { epoch_name(epoch, name), NULL };
        training_run_writes(names);
        training_run_result(name);
    }
    if (folder) {
        closedir(folder);
    }
}

/* Removes the files of epochs before the last ones, and of epochs that this run will not have. Those that it will have, of an
 * earlier run or from before a kill, are replaced when it has them: so they keep their permissions, and links stay. */
static void remove_other_epochs(const Training *t)
{
    DIR *folder = example_writes() ? opendir(example_out()) : NULL;
    for (int64_t epoch; (epoch = next_epoch_file(folder)) > 0; ) {
        if (epoch > (t->epoch > epochs ? t->epoch : epochs) || epoch <= t->epoch - average) {
            char *path = epoch_path(epoch);
            unlink(path);
            ag_free(path);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

static void save_epoch(const Training *t)
{
    char *path = epoch_path(t->epoch);
    checkpoint_must_save(path, t->model, NULL, t->run.settings);
    checkpoint_must_save(t->run.last, t->model, t->optimizer, t->run.settings);
    remove_other_epochs(t);
    ag_free(path);
}

static int64_t first_averaged(int64_t last)
{
    return last > average ? last - average + 1 : 1;
}

/* Ends the program unless the file has the weights after that epoch of this run. The files of early versions name no epoch. */
static void check_epoch(const Training *t, const char *path, int64_t epoch)
{
    NnSettings *found = nn_settings_new();
    int64_t number = epoch;
    training_run_must_own(&t->run, path, found);
    if (nn_settings_get(found, EPOCH_KEY) && !nn_settings_int(found, EPOCH_KEY, &number)) {
        example_fail("%s", ag_error());
    }
    if (number != epoch) {
        example_fail("%s: has the weights after epoch %" PRId64 ", expected those after epoch %" PRId64, path, number, epoch);
    }
    ag_free(found);
}

/* A resumed run may average more epochs than it has kept files for: ends the program before it trains. */
static void check_epochs(const Training *t)
{
    int64_t last = t->epoch > epochs ? t->epoch : epochs;
    for (int64_t epoch = first_averaged(last); epoch <= t->epoch; epoch++) {
        char *path = epoch_path(epoch);
        if (access(path, R_OK) != 0) {
            example_fail("%s: %s, but --average %" PRId64 " needs the weights after epochs %" PRId64 " to %" PRId64
                         ": expected a smaller --average or more --epochs", path, strerror(errno), average,
                         first_averaged(last), last);
        }
        check_epoch(t, path, epoch);
        ag_free(path);
    }
}

/* Makes the mean of the last epochs' weights the model's weights and saves it as the result. */
static void save_result(const Training *t)
{
    int64_t first = first_averaged(t->epoch), n = t->epoch - first + 1;
    average_epochs(t->model, epoch_path, first, n);
    char *result = example_path(MODEL_FILE);
    example_must_have_folder();
    if (!nn_checkpoint_save(result, t->model, NULL, t->run.settings)) {
        example_fail("%s", ag_error());
    }
    say("model:   %s", result);
    if (n > 1) {
        say(", the mean of the last %" PRId64 " epochs", n);
    }
    putchar('\n');
    ag_free(result);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct { Progress progress; int64_t before; } Watch;

static void show_progress(void *arg, const KaeruTrainState *state, double loss, double lr)
{
    Watch *w = arg;
    (void)lr;
    progress_show(&w->progress, state->step - w->before, "loss %.3f", loss);
}

static SentencePairs *pairs_of(const Training *t, const Corpus *c, int64_t most, const char *what)
{
    const Vocabularies *v = &t->vocabularies;
    SentencePairs *pairs = sentence_pairs_new(&c->src, v->src, &c->tgt, v->tgt, most);
    if (!pairs) {
        example_fail("%s", ag_error());
    }
    say("%" PRId64 " pairs of sentences %s", sentence_pairs_count(pairs), what);
    if (sentence_pairs_left_out(pairs) > 0) {
        say(" (%" PRId64 " left out: empty or over %" PRId64 " tokens)", sentence_pairs_left_out(pairs), most);
    }
    putchar('\n');
    return pairs;
}

/* Draws the batches of an epoch. Those that were learned before the run was stopped are left out. */
static void draw_batches(Training *t, SentencePairs *pairs)
{
    AgRandom now = ag_random_state();
    if (t->batches > 0) {
        ag_set_random_state((AgRandom){ now.seed, (uint64_t)t->counter });
    } else {
        t->counter = (int64_t)now.counter;
    }
    sentence_pairs_shuffle(pairs, batch_tokens);
    for (int64_t i = 0; i < t->batches; i++) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        TransformerBatch batch;
        if (!sentence_pairs_next(pairs, &batch)) {
            example_fail("%s was stopped after %" PRId64 " batches of an epoch: these data have %" PRId64, t->run.last,
                         t->batches, i);
        }
        ag_end(scope);
    }
    if (t->batches > 0) {
        ag_set_random_state(now);
    }
}

/* Ends the program before it trains if a held-out sentence is too long to be translated. */
static void check_held_out(const Training *t)
{
    const KaeruLines *src = &t->valid.src;
    for (int64_t i = 0; i < src->n; i++) {
        size_t n;
        ag_free(kaeru_sentence_encode(t->vocabularies.src, src->line[i].text, src->line[i].size, &n));
        if (n > POSITIONS) {
            example_fail("%s: line %" PRId64 ": %zu tokens with start and end, expected at most %d", valid_src, src->first + i,
                         n, POSITIONS);
        }
    }
}

static void train_epochs(Training *t, SentencePairs *pairs, SentencePairs *valid, Csv *csv)
{
    KaeruTrainState *state = &t->state;
    KaeruEpochOptions training = { .criterion = { .padding_idx = KAERU_BLANK, .smoothing = smoothing },
                              .optimizer = t->optimizer, .factor = factor,
                              .model_size = sizes.d_model, .warmup = warmup, .accum_iter = (int)accumulate,
                              .parallel = t->parallel, .done = show_progress, .stop = example_stop() };
    KaeruEpochOptions evaluation = { .criterion = { .padding_idx = KAERU_BLANK, .smoothing = 0 },
                                    .parallel = t->parallel };
    Translator translator = translator_of(t->model, &t->vocabularies);
    while (t->epoch < epochs) {
        char name[64];
        snprintf(name, sizeof name, tr("epoch %" PRId64 " of %" PRId64), t->epoch + 1, epochs);
        draw_batches(t, pairs);
        Watch watch = { progress_begin(name, sentence_pairs_batches(pairs)), state->step - t->batches };
        training.done_arg = &watch;
        double start = example_seconds();
        double lr = nn_schedule_noam(state->accum_step - t->batches / accumulate, sizes.d_model, factor, warmup);
        int64_t tokens = state->tokens;
        double train_loss = transformer_run_epoch(t->model, sentence_pairs_next, pairs, &training, state);
        double speed = (double)(state->tokens - tokens) / (example_seconds() - start);
        progress_end(&watch.progress);
        if (state->stopped) {
            save_part_of_epoch(t, state->step - watch.before);
            example_warn("stopped by a signal in %s: --resume continues", name);
            return;
        }
        t->batches = 0;
        sentence_pairs_sort(valid, batch_tokens);
        double valid_loss = transformer_run_epoch(t->model, sentence_pairs_next, valid, &evaluation, state);
        if (!isfinite(valid_loss)) {
            example_fail("%s: the held-out loss is %g; a smaller --factor may help", name, valid_loss);
        }
        Quality score = corpus_score(&translator, &t->valid, 1, 0, lower_case, NULL);
        set_epoch(t, t->epoch + 1);
        csv_row(csv, t->epoch, train_loss, valid_loss, score.bleu, lr, speed);
        training_run_note_rows(&t->run, csv);
        save_epoch(t);
        say("%s: loss %.3f, held out %.3f, BLEU %.2f, %.0f tokens/s\n", name, train_loss, valid_loss, score.bleu, speed);
    }
}

static void train(Training *t)
{
    SentencePairs *pairs = pairs_of(t, &t->train, max_tokens, "to learn from");
    if (sentence_pairs_count(pairs) < 2) {
        example_fail("%s: too few sentences to learn from, expected 2 or more", train_src ? train_src : "the grammar");
    }
    SentencePairs *valid = pairs_of(t, &t->valid, POSITIONS, "held out");
    check_held_out(t);
    if (!t->run.resumed) {
        checkpoint_must_save(t->run.last, t->model, t->optimizer, t->run.settings);
    } else if (t->epoch < epochs) {
        say("resumes after epoch %" PRId64 " of %" PRId64 ", from %s\n", t->epoch, epochs, t->run.last);
    } else {
        say("all %" PRId64 " epochs are done, from %s\n", epochs, t->run.last);
    }
    if (example_writes()) {
        vocabularies_save(&t->vocabularies);            /* for readers: the checkpoints have them, too, and theirs count */
    }
    if (training_run_removes(&t->run, t->state.accum_step == 0)) {
        vocabularies_remove_others(&t->vocabularies);
    }
    remove_other_epochs(t);
    say("vocabularies of %d and %d tokens; a Transformer of %" PRId64 " parameters\n\n",
        (int)kaeru_vocab_size(t->vocabularies.src), (int)kaeru_vocab_size(t->vocabularies.tgt),
        nn_count(t->model));
    Csv *csv = training_run_csv(&t->run, data_name, data_header, t->epoch);
    train_epochs(t, pairs, valid, csv);
    ag_free(pairs);
    ag_free(valid);
    if (csv_rows(csv) > 1 && !t->state.stopped) {
        chart_print(csv, &(Chart){ "loss per token", "epoch", false,
                                   { { "train_loss", "training" }, { "valid_loss", "held out" } } });
    }
    csv_close(csv);
    if (!t->state.stopped) {
        picture_draw("translate");
    }
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void print_some(const Corpus *c, const KaeruLines *translations)
{
    say("\nTranslations of held-out sentences:\n");
    for (int64_t i = 0; i < SHOWN && i < c->src.n; i++) {
        KaeruLine src = c->src.line[i], expected = c->tgt.line[i], got = translations->line[i];
        bool right = got.size == expected.size && memcmp(got.text, expected.text, got.size) == 0;
        say("  %.*s\n  ", (int)src.size, src.text);
        put_bytes(stdout, got.text, got.size);
        say("%s\n", right ? "   (right)" : "");
        if (!right) {
            say("  %.*s   (expected)\n", (int)expected.size, expected.text);
        }
        putchar('\n');
    }
}

/* The translations of the held-out sentences, for other tools to score. */
static void write_translations(const KaeruLines *translations)
{
    char *path = example_path(translations_name);
    example_must_have_folder();
    KaeruWriter *writer = example_create(path);
    FILE *file = kaeru_writer_stream(writer);
    for (int64_t i = 0; i < translations->n; i++) {
        put_bytes(file, translations->line[i].text, translations->line[i].size);
        fputc('\n', file);
    }
    example_close(writer);
    say("wrote:   %s, the translations with beam %" PRId64 "\n", path, beam);
    ag_free(path);
}

static void finish(Training *t)
{
    save_result(t);
    Translator translator = translator_of(t->model, &t->vocabularies);
    KaeruLines translations;
    print_scores(&translator, &t->valid, beam, length_penalty, lower_case, &translations);
    write_translations(&translations);
    print_some(&t->valid, &translations);
    kaeru_lines_close(&translations);
    int64_t shown = 0;
    while (shown < t->valid.src.n - 1 && t->valid.src.line[shown].size == 0) {
        shown++;
    }
    show_attention(&translator, t->valid.src.line[shown]);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void check_options(void)
{
    if ((train_src || train_tgt || valid_src || valid_tgt) && !(train_src && train_tgt && valid_src && valid_tgt)) {
        example_usage_error("expected --train-src, --train-tgt, --valid-src and --valid-tgt together");
    }
    if (strcmp(vocab, "words") != 0 && strcmp(vocab, "bpe") != 0) {
        example_usage_error("--vocab %s: expected words or bpe", vocab);
    }
    if (sizes.d_model % sizes.h != 0) {
        example_usage_error("--width %" PRId64 " does not divide into --heads %d", sizes.d_model, sizes.h);
    }
    if (sizes.d_model == 1) {
        example_usage_error("--width 1: expected 2 or more, for the norms");
    }
}

/* Ends the program if it would replace what is no output of it. */
static void check_outputs(void)
{
    static const char *const names[] = { LAST_FILE, MODEL_FILE, data_name, "translate.csv.part", translations_name,
                                         ATTENTION_FILE, NULL };
    training_run_writes(names);
    vocabularies_must_be_outputs();
    picture_must_be_output("translate");
    picture_must_be_output("translate_source");
    picture_must_be_output("translate_encoder");
    picture_must_be_output("translate_decoder");
}

static void open_corpora(Training *t)
{
    if (train_src) {
        t->train = corpus_must_open(train_src, train_tgt, lower_case);
        t->valid = corpus_must_open(valid_src, valid_tgt, lower_case);
    } else {
        AgRandom state = ag_random_state();             /* a resumed run has the same sentences */
        ag_seed((uint64_t)sentences);
        corpus_of_grammar(&t->train, sentences, &t->valid, held_out);
        ag_set_random_state(state);
    }
    KaeruLines *const texts[] = { &t->train.src, &t->train.tgt, &t->valid.src, &t->valid.tgt };
    uint64_t hash = DATA_HASH_BEGIN;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!train_src && lower_case) {
            kaeru_lines_lower(texts[i]);
        }
        for (int64_t k = 0; k < texts[i]->n; k++) {
            hash = data_hash(data_hash(hash, texts[i]->line[k].text, texts[i]->line[k].size), "\n", 1);
        }
    }
    training_run_data(&t->run, hash);
}

int translate_train(int argc, char **argv)
{
    const NnField options[] = {
        NN_TEXT_OPTION("train-src", "FILE", train_src, "sentences to learn from, one in each line; without: a small grammar"),
        NN_TEXT_OPTION("train-tgt", "FILE", train_tgt, "translation of each line"),
        NN_TEXT_OPTION("valid-src", "FILE", valid_src, "held-out sentences"),
        NN_TEXT_OPTION("valid-tgt", "FILE", valid_tgt, "translation of each line"),
        NN_FLAG_OPTION("lower-case", lower_case, "make all letters lower case, also for BLEU", .fixed = true),
        NN_TEXT_OPTION("vocab", "KIND", vocab, "words (separated by spaces) or bpe (byte pairs)", .fixed = true),
        NN_OPTION("vocab-size", vocab_size, 300, 1000000, "most tokens of a vocabulary of byte pairs", .fixed = true),
        NN_OPTION("min-count", min_count, 1, 1000000, "words that occur less often become <unk>", .fixed = true),
        NN_OPTION("max-tokens", max_tokens, 3, POSITIONS, "longer sentences are not used for training"),
        NN_OPTION("sentences", sentences, 1, 10000000, "sentences of the grammar to learn from", .fixed = true),
        NN_OPTION("held-out", held_out, 1, 1000000, "held-out sentences of the grammar", .fixed = true),
        NN_OPTION("smoothing", smoothing, 0, 0.99, "label smoothing"),
        NN_OPTION("epochs", epochs, 1, 1000000, "passes over all sentences"),
        NN_OPTION("batch-tokens", batch_tokens, 1, 1 << 24, "most tokens of each side of a batch, with padding"),
        NN_OPTION("accumulate", accumulate, 1, 1 << 20, "batches in a step"),
        NN_OPTION("factor", factor, 1e-6, 1000, "factor of the learning rate"),
        NN_OPTION("warmup", warmup, 1, INT64_C(1) << 40, "steps until the learning rate is highest"),
        NN_OPTION("average", average, 1, 1000, "last epochs; the result is the mean of their weights"),
        NN_OPTION("beam", beam, 2, 1000, "hypotheses of beam search in the last test"),
        NN_OPTION("length-penalty", length_penalty, 0, 10, "a: scores are divided by ((5 + length) / 6)^a"),
        PRECISION_OPTION, SHARDS_OPTION, DEADLINE_OPTION, RUN_OPTIONS, NN_FIELDS_END
    };
    const Program program = { "translate train",
        "Shows how a Transformer learns to translate. Without files it uses English and Japanese sentences of a small\n"
        "grammar: it learns most of them and translates the held-out ones. With --train-src, --train-tgt, --valid-src\n"
        "and --valid-tgt it learns your sentences, with other defaults: --vocab bpe --shared --layers 3 --width 256\n"
        "--hidden 1024 --dropout 0.2 --epochs 20 --batch-tokens 2000 --factor 0.7 --warmup 1000 --average 5.\n"
        "After each epoch it saves a checkpoint and measures loss and BLEU (by greedy decoding): translate.csv\n"
        "(epoch,train_loss,valid_loss,bleu,learning_rate,tokens_per_second). The result is " MODEL_FILE ",\n"
        "for translate translate, score and show. A run that was stopped, even by a kill, resumes with --resume.\n"
        "After Ctrl-C, SIGTERM or SIGUSR1 it saves where it is and ends with status 75 (under mpirun, Ctrl-C ends all).",
        options };
    processes_begin();
    defaults_for_grammar();
    example_add_options(&transformer_fields, &sizes);
    example_begin(argc, argv, &program);
    if (train_src) {
        defaults_for_files();                                           /* training_run_begin reads the options again */
    }
    Training t = { .run = training_run_begin(argc, argv, &program, LAST_FILE, &most_shards) };
    check_options();
    check_outputs();
    training_run_result(MODEL_FILE);
    vocabularies_results(strcmp(vocab, "bpe") == 0, sizes.share_embeddings);
    check_epoch_files();
    open_corpora(&t);
    make_all(&t);
    check_epochs(&t);
    train(&t);
    ag_free(t.parallel);
    if (!processes_end(&t.state.stopped)) {
        processes_exit(t.state.stopped ? EXIT_STOPPED : 0);
    }
    if (!t.state.stopped) {
        finish(&t);
    }
    corpus_close(&t.train);
    corpus_close(&t.valid);
    vocabularies_close(&t.vocabularies);
    ag_free(t.optimizer);
    ag_free(t.model);
    training_run_end(&t.run);
    return t.state.stopped ? EXIT_STOPPED : example_end();
}
