/* translate_score.c: the commands translate, score and show, which use a trained model. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "translate_commands.h"

static const char *checkpoint, *src_path, *tgt_path, *sentence;
static int64_t beam = 4;
static double length_penalty = 0.6;

static Option checkpoint_option(void)
{
    return option_text("checkpoint", "FILE", &checkpoint,
                       "of translate train; without: " MODEL_FILE " in the output folder");
}
static Option beam_option(void)
{
    return option_int("beam", &beam, 1, 1000, "translations that are held in parallel; 1: greedily");
}
static Option penalty_option(void)
{
    return option_real("length-penalty", &length_penalty, 0, 10, "a: scores are divided by ((5 + length) / 6)^a");
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static void show_progress(void *arg, int64_t lines)
{
    progress_show(arg, lines, "beam %" PRId64, beam);
}

Quality corpus_score(const Translator *t, const Corpus *c, int width, double penalty, bool lower_case, Lines *out)
{
    Progress progress = progress_begin("translating", c->src.n);
    beam = width;
    TranslateOptions how = { .beam = width, .length_penalty = penalty, .done = show_progress, .arg = &progress };
    Lines said;
    if (!translate_lines(t, &c->src, &how, &said)) {
        example_fail("%s", ag_error());
    }
    progress_end(&progress);
    Bleu bleu = { .lower_case = lower_case };
    Quality score = { 0, 0 };
    for (int64_t i = 0; i < said.n; i++) {
        Line a = said.line[i], b = c->tgt.line[i];
        bleu_add(&bleu, a.text, a.size, b.text, b.size);
        score.exact += a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
    }
    score.bleu = bleu_score(&bleu);
    if (out) {
        *out = said;
    } else {
        lines_close(&said);
    }
    return score;
}

int translate_score(int argc, char **argv)
{
    const Option options[] = {
        checkpoint_option(), option_text("src", "FILE", &src_path, "sentences to translate, one a line"),
        option_text("tgt", "FILE", &tgt_path, "what they should become"), beam_option(), penalty_option(), OPTIONS_END
    };
    example_begin(argc, argv, &(Program){ "translate score",
        "Translates a file, greedily and with a beam, and measures corpus BLEU against another file: the number that\n"
        "sacrebleu gives for plain text (with -lc, if the model was trained with --lower-case).", options });
    if (!src_path || !tgt_path) {
        example_usage_error("expected --src and --tgt");
    }
    int64_t width = beam;
    Interpreter p = interpreter_open(checkpoint);
    Corpus corpus = corpus_must_open(src_path, tgt_path, p.lower_case);
    Translator t = interpreter_translator(&p);
    Quality greedy = corpus_score(&t, &corpus, 1, length_penalty, p.lower_case, NULL);
    printf("greedy: BLEU %.2f, %" PRId64 " of %" PRId64 " exactly right\n", greedy.bleu, greedy.exact, corpus.src.n);
    if (width > 1) {
        Quality best = corpus_score(&t, &corpus, (int)width, length_penalty, p.lower_case, NULL);
        printf("beam %" PRId64 ": BLEU %.2f, %" PRId64 " of %" PRId64 " exactly right\n", width, best.bleu, best.exact,
               corpus.src.n);
    }
    corpus_close(&corpus);
    interpreter_close(&p);
    return example_end();
}

/* ---- translating ------------------------------------------------------------------------------------------------- */

/* Words that the model has never seen. */
static void tell_unknown(const Translator *t, const char *name, Line line)
{
    char *words = sentence_unknown(t->src, line);
    if (words) {
        example_warn("%s: not in the vocabulary, read as <unk>: %s", name, words);
    }
    ag_free(words);
}

/* One line; one that cannot be translated is told and stays empty, so that line i of the output belongs to line i of
 * the input. */
static void translate_line(const Translator *t, const char *text, size_t size, int64_t number, bool lower_case)
{
    Lines line, said;
    char name[48];
    snprintf(name, sizeof name, "line %" PRId64, number);
    TranslateOptions how = { .beam = (int)beam, .length_penalty = length_penalty };
    bool good = lines_of_part(&line, "standard input", number, text, size);
    if (good && lower_case) {
        lines_lower(&line);
    }
    if (good && translate_lines(t, &line, &how, &said)) {
        tell_unknown(t, name, line.line[0]);
    } else {
        example_complain("%s", ag_error());
        good = false;
    }
    lines_close(&line);
    TextStream stream = { .out = stdout };
    for (int64_t i = 0; good && i < said.n; i++) {
        text_stream_put(&stream, said.line[i].text, said.line[i].size);
    }
    text_stream_end(&stream);
    putchar('\n');
    if (good) {
        lines_close(&said);
    }
}

int translate_translate(int argc, char **argv)
{
    const Option options[] = { checkpoint_option(), beam_option(), penalty_option(), OPTIONS_END };
    example_begin(argc, argv, &(Program){ "translate translate",
        "Translates standard input, a sentence a line, with a model that translate train has made. Words that its\n"
        "vocabulary does not know are named on stderr; the model reads <unk> in their place.", options });
    Interpreter p = interpreter_open(checkpoint);
    Translator t = interpreter_translator(&p);
    char *line = NULL;
    size_t room = 0;
    int64_t number = 0;
    for (ssize_t size; (size = getline(&line, &room, stdin)) > 0;) {
        translate_line(&t, line, (size_t)size, ++number, p.lower_case);
    }
    if (ferror(stdin)) {
        example_complain("cannot read standard input");
    }
    free(line);
    interpreter_close(&p);
    return example_end();
}

int translate_show(int argc, char **argv)
{
    const Option options[] = {
        checkpoint_option(), option_text("sentence", "TEXT", &sentence, "what to translate"), OPTIONS_END
    };
    example_begin(argc, argv, &(Program){ "translate show",
        "Translates a sentence and draws, for each layer and head, where the attention of each word went: within the\n"
        "source, within the translation, and from the translation to the source. Writes\n"
        "translate_attention.csv.", options });
    if (!sentence) {
        example_usage_error("expected --sentence");
    }
    Interpreter p = interpreter_open(checkpoint);
    Lines line;
    if (!lines_of_text(&line, "--sentence", sentence, strlen(sentence))) {
        example_fail("%s", ag_error());
    }
    if (p.lower_case) {
        lines_lower(&line);
    }
    Translator t = interpreter_translator(&p);
    tell_unknown(&t, "--sentence", line.line[0]);
    show_attention(&t, line.line[0]);
    lines_close(&line);
    interpreter_close(&p);
    return example_end();
}
