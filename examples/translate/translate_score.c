/* translate_score.c: the commands that use a trained model: translate, score, show. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bleu.h"
#include "common/host.h"
#include "translate_commands.h"

static const char *checkpoint, *src_path, *tgt_path, *sentence;
static int64_t beam = 4;
static double length_penalty = 0.6;

#define CHECKPOINT_OPTION \
    NN_TEXT_OPTION("checkpoint", "FILE", checkpoint, "of translate train; without: " MODEL_FILE " in the output folder")
#define BEAM_OPTIONS \
    NN_OPTION("beam", beam, 1, 1000, "hypotheses of beam search; 1: greedy decoding"), \
    NN_OPTION("length-penalty", length_penalty, 0, 10, "a: scores are divided by ((5 + length) / 6)^a")

void put_bytes(FILE *file, const char *text, size_t n)
{
    KaeruTextStream stream = { .out = file };
    kaeru_text_stream_put(&stream, text, n);
    kaeru_text_stream_end(&stream);
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

typedef struct { Progress progress; int64_t beam; } Watch;

static void show_progress(void *arg, int64_t lines)
{
    Watch *w = arg;
    progress_show(&w->progress, lines, "beam %" PRId64, w->beam);
}

Quality corpus_score(const Translator *t, const Corpus *c, int64_t width, double penalty, bool lower_case,
                     KaeruLines *out)
{
    Watch watch = { progress_begin("translating", c->src.n), width };
    TranslateOptions how = { .beam = (int)width, .length_penalty = penalty, .done = show_progress, .arg = &watch };
    KaeruLines translations;
    bool good = translate_lines(t, &c->src, &how, &translations);
    progress_end(&watch.progress);
    if (!good) {
        example_fail("%s", ag_error());
    }
    if (lower_case) {
        kaeru_lines_lower(&translations);
    }
    Bleu bleu = { .length = 0 };
    Quality score = { 0, 0, 0 };
    for (int64_t i = 0; i < translations.n; i++) {
        KaeruLine a = translations.line[i], b = c->tgt.line[i];
        bleu_add(&bleu, a, b);
        score.n += b.size > 0;
        score.exact += b.size > 0 && a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
    }
    score.bleu = bleu_score(&bleu);
    if (out) {
        *out = translations;
    } else {
        kaeru_lines_close(&translations);
    }
    return score;
}

static void print_score(const char *method, Quality q)
{
    say("%s: BLEU %.2f, %" PRId64 " of %" PRId64 " sentences exactly right (%.1f %%)\n", method, q.bleu, q.exact, q.n,
        100 * (double)q.exact / (double)(q.n > 0 ? q.n : 1));
}

void print_scores(const Translator *t, const Corpus *c, int64_t width, double penalty, bool lower_case,
                  KaeruLines *out)
{
    print_score("greedy", corpus_score(t, c, 1, penalty, lower_case, width > 1 ? NULL : out));
    if (width > 1) {
        char method[32];
        snprintf(method, sizeof method, tr("beam %" PRId64), width);
        print_score(method, corpus_score(t, c, width, penalty, lower_case, out));
    }
}

int translate_score(int argc, char **argv)
{
    const NnField options[] = {
        CHECKPOINT_OPTION, NN_TEXT_OPTION("src", "FILE", src_path, "sentences to translate, one in each line"),
        NN_TEXT_OPTION("tgt", "FILE", tgt_path, "their reference translations"), BEAM_OPTIONS, NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "translate score",
        "Shows how good the translations of a model are: translates a file by greedy decoding and by beam search, and\n"
        "measures corpus BLEU against another file. BLEU is that of sacrebleu for plain text (with -lc if the model was\n"
        "trained with --lower-case).", options });
    if (!src_path || !tgt_path) {
        example_usage_error("expected --src and --tgt");
    }
    TrainedModel m = trained_model_of_checkpoint(checkpoint);
    Corpus corpus = corpus_must_open(src_path, tgt_path, m.lower_case);
    Translator t = translator_of(m.model, &m.vocabularies);
    print_scores(&t, &corpus, beam, length_penalty, m.lower_case, NULL);
    corpus_close(&corpus);
    trained_model_close(&m);
    return example_end();
}

/* ---- translations ------------------------------------------------------------------------------------------------ */

static void warn_of_unknown_words(const Translator *t, const char *name, KaeruLine line)
{
    char *words = kaeru_vocab_unknown(t->src, line.text, line.size);
    if (words) {
        example_warn("%s: not in the vocabulary, read as <unk>: %s", name, words);
    }
    ag_free(words);
}

/* Translates one line. If that fails, prints the error and an empty line, so that line i of the output is the translation of
 * line i of the input. */
static void translate_line(const Translator *t, const char *text, size_t size, int64_t number, bool lower_case)
{
    KaeruLines line, translation;
    char name[48];
    snprintf(name, sizeof name, "line %" PRId64, number);
    TranslateOptions how = { .beam = (int)beam, .length_penalty = length_penalty };
    bool good = kaeru_lines_of_text(&line, "standard input", number, text, size);
    if (good && lower_case) {
        kaeru_lines_lower(&line);
    }
    if (good && translate_lines(t, &line, &how, &translation)) {
        warn_of_unknown_words(t, name, line.line[0]);
    } else {
        example_complain("%s", ag_error());
        good = false;
    }
    kaeru_lines_close(&line);
    if (good && translation.n > 0) {
        put_bytes(stdout, translation.line[0].text, translation.line[0].size);
    }
    putchar('\n');
    if (good) {
        kaeru_lines_close(&translation);
    }
}

int translate_translate(int argc, char **argv)
{
    const NnField options[] = { CHECKPOINT_OPTION, BEAM_OPTIONS, NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "translate translate",
        "Translates standard input, one sentence in each line, with a model of translate train. Words outside the\n"
        "vocabulary are listed on stderr; the model reads <unk> in their place.", options });
    TrainedModel m = trained_model_of_checkpoint(checkpoint);
    Translator t = translator_of(m.model, &m.vocabularies);
    char *line = NULL;
    size_t capacity = 0;
    int64_t number = 0;
    for (ptrdiff_t size; (size = host_read_line(&line, &capacity, stdin)) > 0;) {
        translate_line(&t, line, (size_t)size, ++number, m.lower_case);
    }
    if (!feof(stdin)) {                                                 /* it fails without memory, too */
        example_complain("cannot read standard input: %s", strerror(errno));
    }
    free(line);
    trained_model_close(&m);
    return example_end();
}

int translate_show(int argc, char **argv)
{
    const NnField options[] = {
        CHECKPOINT_OPTION, NN_TEXT_OPTION("sentence", "TEXT", sentence, "the sentence to translate"), NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "translate show",
        "Shows the attention of a trained model. Translates a sentence and draws, for each layer and head, the attention\n"
        "weights of each word: within the source, within the translation, and from the translation to the source.\n"
        "Writes translate_attention.csv.", options });
    if (!sentence) {
        example_usage_error("expected --sentence");
    }
    TrainedModel m = trained_model_of_checkpoint(checkpoint);
    KaeruLines line;
    if (!kaeru_lines_of_text(&line, "--sentence", 1, sentence, strlen(sentence))) {
        example_fail("%s", ag_error());
    }
    if (line.n != 1) {
        example_usage_error("--sentence: expected one line, found %" PRId64, line.n);
    }
    if (m.lower_case) {
        kaeru_lines_lower(&line);
    }
    Translator t = translator_of(m.model, &m.vocabularies);
    warn_of_unknown_words(&t, "--sentence", line.line[0]);
    show_attention(&t, line.line[0]);
    kaeru_lines_close(&line);
    trained_model_close(&m);
    return example_end();
}
