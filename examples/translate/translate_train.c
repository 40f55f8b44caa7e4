/* translate_train.c: the command train. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "translate_commands.h"

enum { POSITIONS = 512, SHOWN = 8 };
#define EPOCH_KEY "translate.epochs"
static const char data_name[] = "translate.csv";
static const char data_header[] = "epoch,train_loss,valid_loss,bleu,learning_rate,tokens_per_second";

/* What the options say. The defaults are for the grammar; those for files stand in defaults_for_files. */
static const char *train_src, *train_tgt, *valid_src, *valid_tgt, *vocab = "words";
static int64_t vocab_size = 8000, min_count = 2, max_tokens = 100, sentences = 4000, held_out = 300;
static int64_t layers = 2, width = 128, heads = 4, hidden = 512, epochs = 15, warmup = 400, batch_tokens = 800;
static int64_t accumulate = 1, average = 1, beam = 4;
static double dropout = 0.1, factor = 1, smoothing = 0.1, length_penalty = 0.6;
static bool shared, lower_case, resume, overwrite;

static void defaults_for_files(void)
{
    vocab = "bpe";
    layers = 3;
    width = 256;
    hidden = 1024;
    epochs = 20;
    warmup = 1000;
    factor = 0.7;
    batch_tokens = 2000;
    average = 5;
    dropout = 0.2;
    shared = true;
}

/* ---- what a run consists of -------------------------------------------------------------------------------------- */

typedef struct {
    Corpus train, valid;
    Vocabularies vocabularies;
    EncoderDecoder *model;
    Optimizer *optimizer;
    Settings *settings;
    int64_t epoch;                      /* how many have been done */
} Run;

static SentenceVocab learn_vocab(const Lines *texts, int n)
{
    return strcmp(vocab, "bpe") == 0 ? sentence_vocab_of_bpe(texts, n, (int32_t)vocab_size)
                                     : sentence_vocab_of_words(texts, n, min_count);
}

static void learn_vocabularies(Run *run)
{
    const Lines both[] = { run->train.src, run->train.tgt };
    run->vocabularies.shared = shared;
    run->vocabularies.src = learn_vocab(both, shared ? 2 : 1);
    if (!shared) {
        run->vocabularies.tgt = learn_vocab(both + 1, 1);
    }
    vocabularies_describe(&run->vocabularies, run->settings);
}

/* An earlier run in the output folder is not lost by a slip. */
static void check_free(const char *last)
{
    if (access(last, F_OK) == 0 && !overwrite) {
        example_fail("%s is there from an earlier run: --resume goes on with it, --overwrite starts anew", last);
    }
}

static void begin_run(Run *run)
{
    learn_vocabularies(run);
    TransformerOptions o = transformer_defaults();
    o.N = (int)layers;
    o.d_model = width;
    o.d_ff = hidden;
    o.h = (int)heads;
    o.dropout = dropout;
    o.max_len = POSITIONS;
    o.share_embeddings = shared;
    int64_t src_vocab = sentence_vocab_size(&run->vocabularies.src);
    int64_t tgt_vocab = sentence_vocab_size(target_vocab(&run->vocabularies));
    run->model = make_model(src_vocab, tgt_vocab, o);
    transformer_to_settings(src_vocab, tgt_vocab, &o, run->settings);
}

static void new_optimizer(Run *run)
{
    AdamOptions adam = nn_adam_options(0);
    adam.beta2 = 0.98;
    adam.eps = 1e-9;
    run->optimizer = nn_adam_new_with(run->model, adam);
}

static void continue_run(Run *run, const char *last)
{
    run->model = transformer_load(last);
    if (!run->model) {
        example_fail("%s", ag_error());
    }
    new_optimizer(run);
    if (!nn_checkpoint_load(last, run->model, run->optimizer, run->settings) ||
        !nn_settings_int(run->settings, EPOCH_KEY, &run->epoch)) {
        example_fail("%s", ag_error());
    }
    vocabularies_open(&run->vocabularies, last, run->settings);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* The weights after an epoch, for the mean of the last ones. */
static char *epoch_path(int64_t epoch)
{
    char name[64];
    snprintf(name, sizeof name, "translate_epoch_%02" PRId64 ".safetensors", epoch);
    return example_path(name);
}

static void save_epoch(Run *run, const char *last, const Option *options)
{
    options_to_settings(options, run->settings);
    nn_settings_set(run->settings, EPOCH_KEY, "%" PRId64, run->epoch);
    char *path = epoch_path(run->epoch), *old = epoch_path(run->epoch - average);
    if (!nn_checkpoint_save(path, run->model, NULL, run->settings) ||
        !nn_checkpoint_save(last, run->model, run->optimizer, run->settings)) {
        example_fail("%s", ag_error());
    }
    if (run->epoch > average) {
        unlink(old);
    }
    ag_free(path);
    ag_free(old);
}

/* The mean of the last epochs' weights becomes the result. */
static void save_result(Run *run)
{
    int64_t n = run->epoch < average ? run->epoch : average;
    const char **path = ag_alloc((size_t)n, sizeof *path);
    for (int64_t i = 0; i < n; i++) {
        path[i] = epoch_path(run->epoch - n + 1 + i);
    }
    char *result = example_path(MODEL_FILE);
    if (!average_checkpoints(run->model, path, (int)n) ||
        !nn_checkpoint_save(result, run->model, NULL, run->settings)) {
        example_fail("%s", ag_error());
    }
    printf("model:   %s", result);
    if (n > 1) {
        printf(", the mean of the last %" PRId64 " epochs", n);
    }
    putchar('\n');
    for (int64_t i = 0; i < n; i++) {
        ag_free((char *)path[i]);
    }
    ag_free(path);
    ag_free(result);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct { Progress progress; int64_t before; } Watch;

static void show_progress(void *arg, const TrainState *state, double loss, double lr)
{
    Watch *w = arg;
    (void)lr;
    progress_show(&w->progress, state->step - w->before, "loss %.3f", loss);
}

static Translator translator_of(const Run *run)
{
    return (Translator){ run->model, &run->vocabularies.src, target_vocab(&run->vocabularies) };
}

static SentencePairs *pairs_of(const Run *run, const Corpus *c, int64_t most, const char *what)
{
    const Vocabularies *v = &run->vocabularies;
    SentencePairs *pairs = sentence_pairs_new(&c->src, &v->src, &c->tgt, target_vocab(v), most);
    if (!pairs) {
        example_fail("%s", ag_error());
    }
    printf("%" PRId64 " pairs of sentences %s", sentence_pairs_count(pairs), what);
    if (sentence_pairs_left_out(pairs) > 0) {
        printf(" (%" PRId64 " left out: empty or over %" PRId64 " tokens)", sentence_pairs_left_out(pairs), most);
    }
    putchar('\n');
    return pairs;
}

static void train(Run *run, const char *last, const Option *options)
{
    SentencePairs *pairs = pairs_of(run, &run->train, max_tokens, "to learn from");
    SentencePairs *valid = pairs_of(run, &run->valid, POSITIONS, "held out");
    if (run->epoch == 0) {
        vocabularies_save(&run->vocabularies);                         /* now that all there is to read has been read */
    } else if (run->epoch < epochs) {
        printf("goes on after epoch %" PRId64 " of %" PRId64 ", from %s\n", run->epoch, epochs, last);
    } else {
        printf("all %" PRId64 " epochs have been done, says %s\n", epochs, last);
    }
    printf("vocabularies of %d and %d tokens; a Transformer of %" PRId64 " parameters\n\n",
           (int)sentence_vocab_size(&run->vocabularies.src), (int)sentence_vocab_size(target_vocab(&run->vocabularies)),
           nn_count(run->model));
    Csv *csv = run->epoch > 0 ? csv_resume(data_name, data_header, (double)run->epoch)
                              : csv_open(data_name, data_header);
    TrainState state = { .accum_step = nn_optimizer_steps(run->optimizer) };
    EpochOptions training = { .criterion = { .padding_idx = WORD_BLANK, .smoothing = smoothing },
                              .optimizer = run->optimizer, .factor = factor,
                              .model_size = width, .warmup = warmup, .accum_iter = (int)accumulate,
                              .done = show_progress };
    EpochOptions evaluation = { .criterion = { .padding_idx = WORD_BLANK, .smoothing = 0 } };
    Translator translator = translator_of(run);
    while (run->epoch < epochs) {
        char name[64];
        snprintf(name, sizeof name, "epoch %" PRId64 " of %" PRId64, run->epoch + 1, epochs);
        sentence_pairs_shuffle(pairs, batch_tokens);
        Watch watch = { progress_begin(name, sentence_pairs_batches(pairs)), state.step };
        training.done_arg = &watch;
        double start = example_seconds(), lr = rate(state.accum_step, width, factor, warmup);
        int64_t tokens = state.tokens;
        double train_loss = run_epoch(run->model, sentence_pairs_next, pairs, &training, &state);
        double speed = (double)(state.tokens - tokens) / (example_seconds() - start);
        progress_end(&watch.progress);
        sentence_pairs_sort(valid, batch_tokens);
        double valid_loss = run_epoch(run->model, sentence_pairs_next, valid, &evaluation, &state);
        Quality score = corpus_score(&translator, &run->valid, 1, 0, lower_case, NULL);
        run->epoch++;
        csv_row(csv, run->epoch, train_loss, valid_loss, score.bleu, lr, speed);    /* first: see csv_resume */
        save_epoch(run, last, options);
        printf("epoch %" PRId64 " of %" PRId64 ": loss %.3f, held out %.3f, BLEU %.2f, %.0f tokens/s\n", run->epoch,
               epochs, train_loss, valid_loss, score.bleu, speed);
        }
    sentence_pairs_free(pairs);
    sentence_pairs_free(valid);
    if (csv_rows(csv) > 1) {
        chart_print(csv, &(Chart){ "loss per token", "epoch", false,
                                   { { "train_loss", "training" }, { "valid_loss", "held out" } } });
    }
    csv_close(csv);
    picture_draw("translate");
}

/* ---- what it has learned ----------------------------------------------------------------------------------------- */

static void print_some(const Corpus *c, const Lines *said)
{
    printf("\nSentences that it has not seen:\n");
    for (int64_t i = 0; i < SHOWN && i < c->src.n; i++) {
        Line src = c->src.line[i], wanted = c->tgt.line[i], got = said->line[i];
        bool right = got.size == wanted.size && memcmp(got.text, wanted.text, got.size) == 0;
        printf("  %.*s\n  %.*s%s\n", (int)src.size, src.text, (int)got.size, got.text, right ? "   (right)" : "");
        if (!right) {
            printf("  %.*s   (expected)\n", (int)wanted.size, wanted.text);
        }
        putchar('\n');
    }
}

static void print_score(const char *how, Quality s, int64_t n)
{
    printf("%s: BLEU %.2f, %" PRId64 " of %" PRId64 " sentences exactly right (%.1f %%)\n", how, s.bleu, s.exact, n,
           100 * (double)s.exact / (double)n);
}

/* The translations of the held-out sentences, for other tools to measure. */
static void write_translations(const Lines *said)
{
    char *path = example_path("translate_valid.txt");
    FILE *file = fopen(path, "w");
    TextStream stream = { .out = file };
    for (int64_t i = 0; file && i < said->n; i++) {
        text_stream_put(&stream, said->line[i].text, said->line[i].size);
        text_stream_end(&stream);
        fputc('\n', file);
    }
    bool good = file && !ferror(file);
    if ((file && fclose(file) != 0) || !good) {
        example_fail("cannot write %s", path);
    }
    printf("wrote:   %s, the translations with beam %" PRId64 "\n", path, beam);
    ag_free(path);
}

static void finish(Run *run)
{
    save_result(run);
    Translator t = translator_of(run);
    Lines said;
    Quality greedy = corpus_score(&t, &run->valid, 1, length_penalty, lower_case, NULL);
    print_score("greedy", greedy, run->valid.src.n);
    char label[32];
    snprintf(label, sizeof label, "beam %" PRId64, beam);
    int64_t held = beam;
    print_score(label, corpus_score(&t, &run->valid, (int)held, length_penalty, lower_case, &said), run->valid.src.n);
    write_translations(&said);
    print_some(&run->valid, &said);
    lines_close(&said);
    show_attention(&t, run->valid.src.line[0]);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* What cannot be changed in the middle of a run. */
static const char *const fixed[] = { "train-src", "train-tgt", "vocab", "vocab-size", "min-count", "shared",
                                     "lower-case",
                                     "sentences", "held-out", "layers", "width", "heads", "hidden", "dropout" };

static void check_fixed(const Option *options, const Settings *before)
{
    Settings *now = nn_settings_new();
    options_to_settings(options, now);
    options_must_stay("option", fixed, sizeof fixed / sizeof *fixed, before, now);
    nn_settings_free(now);
}

static void check_options(void)
{
    if ((train_src || train_tgt || valid_src || valid_tgt) && !(train_src && train_tgt && valid_src && valid_tgt)) {
        example_usage_error("expected --train-src, --train-tgt, --valid-src and --valid-tgt together");
    }
    if (strcmp(vocab, "words") != 0 && strcmp(vocab, "bpe") != 0) {
        example_usage_error("--vocab: '%s' is neither words nor bpe", vocab);
    }
    if (width % heads != 0) {
        example_usage_error("--width %" PRId64 " does not divide into --heads %" PRId64, width, heads);
    }
    if (average > epochs) {
        average = epochs;
    }
}

static void open_corpora(Run *run)
{
    if (train_src) {
        run->train = corpus_must_open(train_src, train_tgt, lower_case);
        run->valid = corpus_must_open(valid_src, valid_tgt, lower_case);
    } else {
        AgRandom state = ag_random_state();             /* a run that is gone on with has the same sentences */
        ag_seed((uint64_t)sentences);
        corpus_of_grammar(&run->train, sentences, &run->valid, held_out);
        ag_set_random_state(state);
    }
}

int translate_train(int argc, char **argv)
{
    const Option options[] = {
        option_text("train-src", "FILE", &train_src, "sentences to learn from, one a line; without: kaeru's own"),
        option_text("train-tgt", "FILE", &train_tgt, "their translations, line for line"),
        option_text("valid-src", "FILE", &valid_src, "sentences to test with"),
        option_text("valid-tgt", "FILE", &valid_tgt, "their translations"),
        option_flag("lower-case", &lower_case, "make capital letters small, and measure BLEU so"),
        option_text("vocab", "KIND", &vocab, "words, what spaces separate, or bpe, byte pairs"),
        option_int("vocab-size", &vocab_size, 300, 1000000, "tokens of byte pairs, at most"),
        option_int("min-count", &min_count, 1, 1000000, "words that are rarer become <unk>"),
        option_flag("shared", &shared, "one vocabulary and table for both languages and the output"),
        option_int("max-tokens", &max_tokens, 3, POSITIONS, "longer sentences are not learned from"),
        option_int("sentences", &sentences, 1, 10000000, "of the grammar to learn from"),
        option_int("held-out", &held_out, 1, 1000000, "of the grammar to test with"),
        option_int("layers", &layers, 1, 1000, "of encoder and decoder"),
        option_int("width", &width, 1, 1 << 20, "d_model"),
        option_int("heads", &heads, 1, 1 << 20, "of attention"),
        option_int("hidden", &hidden, 1, 1 << 20, "d_ff, between the two layers of a feed-forward"),
        option_real("dropout", &dropout, 0, 0.99, "probability of dropout"),
        option_real("smoothing", &smoothing, 0, 0.99, "of labels"),
        option_int("epochs", &epochs, 1, 1000000, "times through all sentences"),
        option_int("batch-tokens", &batch_tokens, 1, 1 << 24, "in a batch on a side, padding included"),
        option_int("accumulate", &accumulate, 1, 1 << 20, "batches a step"),
        option_real("factor", &factor, 0, 1000, "of the learning rate"),
        option_int("warmup", &warmup, 1, INT64_C(1) << 40, "steps of rising learning rate"),
        option_int("average", &average, 1, 1000, "epochs, the last ones, whose mean weights are the result"),
        option_int("beam", &beam, 2, 1000, "translations that are held in parallel in the last test"),
        option_real("length-penalty", &length_penalty, 0, 10, "a: scores are divided by ((5 + length) / 6)^a"),
        option_flag("resume", &resume, "go on with the run in the output folder; options given now change it"),
        option_flag("overwrite", &overwrite, "start anew where there is a run already"),
        OPTIONS_END
    };
    const Program program = { "translate train",
        "Teaches how a Transformer learns to translate. Without files it makes sentences of a small grammar, English\n"
        "and Japanese, learns from most and translates those that it has not seen; with --train-src and the other\n"
        "three it learns from yours, and then the defaults are other ones: --vocab bpe --shared --layers 3 --width\n"
        "256 --hidden 1024 --dropout 0.2 --epochs 20 --batch-tokens 2000 --factor 0.7 --warmup 1000 --average 5.\n"
        "After each epoch it saves a checkpoint and measures loss and BLEU (greedily): translate.csv\n"
        "(epoch,train_loss,valid_loss,bleu,learning_rate,tokens_per_second). The result, " MODEL_FILE ", is\n"
        "for translate translate, score and show.", options };
    example_begin(argc, argv, &program);
    char *last = example_path(LAST_FILE);
    Run run = { .settings = nn_settings_new() };
    Settings *before = nn_settings_new();               /* the texts of options may be its */
    bool goes_on = resume;
    if (goes_on) {
        if (!nn_checkpoint_settings(last, before) || !options_from_settings(options, before)) {
            example_fail("%s", ag_error());
        }
        example_begin(argc, argv, &program);
    } else if (train_src) {
        defaults_for_files();
        example_begin(argc, argv, &program);
    }
    check_options();
    if (!goes_on) {
        check_free(last);
    }
    resume = overwrite = false;                         /* they belong to this call, not to the run */
    if (goes_on) {
        check_fixed(options, before);
    }
    open_corpora(&run);
    if (goes_on) {
        continue_run(&run, last);
    } else {
        begin_run(&run);
        new_optimizer(&run);
    }
    train(&run, last, options);
    finish(&run);
    corpus_close(&run.train);
    corpus_close(&run.valid);
    vocabularies_close(&run.vocabularies);
    nn_optimizer_free(run.optimizer);
    nn_free(run.model);
    nn_settings_free(run.settings);
    nn_settings_free(before);
    ag_free(last);
    return example_end();
}
