/* seq2seq.c: three models learn to spell words backwards: with one fixed vector, with attention, with attention only. */
#include <math.h>
#include <time.h>

#include "common/common.h"
#include "seq2seq/letter_model.h"
#include "kaeru/autograd.h"

enum { ROWS = 48, TESTED = 200, TIMED_LETTERS = 1024 };
static int64_t steps = 600, length = 16, timed = LONGEST;
static const char *score = "dot", *word = "backpropagation";
static bool lstm;

static void train(const LetterModel *m)
{
    Optimizer *optimizer = nn_adam_new(m->module, 0.005);
    Progress progress = progress_begin(m->name, steps);
    ag_seed((uint64_t)example_seed());                                  /* all three learn the same words */
    for (int64_t step = 0; step < steps; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        TransformerBatch batch = random_words(ROWS, 1, length);
        Tensor *loss = letter_model_loss(m, &batch);
        ag_backward(loss);
        nn_clip_grad_norm(m->module, 1);
        nn_optimizer_set_lr(optimizer, nn_schedule_cosine(step, 0.005, 0.0005, steps / 10, steps));
        nn_optimizer_step(optimizer);
        progress_show(&progress, step + 1, "loss %.2f", tensor_item(loss));
        ag_end(scope);
    }
    progress_end(&progress);
    ag_free(optimizer);
}

/* The share of correct letters over words of n letters. */
static double share_right(const LetterModel *m, int64_t n)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    TransformerBatch batch = random_words(TESTED, n, n);
    const int32_t *output = tensor_int_data(letter_model_decode(m, &batch)), *expected = tensor_int_data(batch.tgt_y);
    int64_t right = 0;
    for (int64_t i = 0; i < TESTED * n; i++) {
        right += output[i / n * (n + 2) + 1 + i % n] == expected[i / n * (n + 1) + i % n];
    }
    ag_end(scope);
    return (double)right / (double)(TESTED * n);
}

/* Milliseconds of processor time of a training step on TIMED_LETTERS letters in words of n: the shortest of ten. */
static double step_time(const LetterModel *m, int64_t n)
{
    double best = INFINITY;
    for (int i = 0; i < 10; i++) {
        AgScope scope = ag_begin(AG_RECORD);
        TransformerBatch batch = random_words(TIMED_LETTERS / n, n, n);
        clock_t start = clock();
        ag_backward(letter_model_loss(m, &batch));
        best = fmin(best, 1000 * (double)(clock() - start) / CLOCKS_PER_SEC);
        nn_zero_grad(m->module);
        ag_end(scope);
    }
    return best;
}

/* Measures each model at each length and shows the results as data and as a chart. The length grows by 1 or doubles. */
static void compare(const LetterModel *m, const char *file, const char *title, bool doubles, int64_t from, int64_t to,
                    double (*measure)(const LetterModel *m, int64_t n))
{
    Csv *csv = csv_open(file, "length,fixed,attention,transformer");
    for (int64_t n = from; n <= to; n = doubles ? 2 * n : n + 1) {
        csv_row(csv, (double)n, measure(&m[FIXED], n), measure(&m[ATTENTION], n), measure(&m[TRANSFORMER], n));
    }
    chart_print(csv, &(Chart){ title, "length", doubles,
        { { "fixed", m[FIXED].name }, { "attention", m[ATTENTION].name }, { "transformer", m[TRANSFORMER].name } } });
    csv_close(csv);
}

/* Prints the model's output and, in a row for each letter of it, the attention to the letters of the word. The attention is
 * also written as data. */
static void show_alignment(const LetterModel *m)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    TransformerBatch batch = one_word(word);
    int64_t n = tensor_dim(batch.src, 1);
    Tensor *output = letter_model_decode(m, &batch);
    batch.tgt = ag_slice(output, 1, 0, n + 1);                            /* the decoder reads its own output */
    Tensor *weights = letter_model_attention(m, &batch);
    char header[2 * LONGEST + 8] = "said";
    for (int64_t j = 0; j < n; j++) {
        snprintf(header + 4 + 2 * j, 3, ",%c", word[j]);
    }
    say("%-13s output: ", m->name);
    for (int64_t i = 1; i < n + 2; i++) {
        putchar(letter(tensor_int_data(output)[i]));
    }
    Csv *csv = weights ? csv_open(m->transformer ? "seq2seq_transformer.csv" : "seq2seq_attention.csv", header) : NULL;
    printf(csv ? "\n\n  %s\n" : "\n", word);
    for (int64_t i = 0; csv && i <= n; i++) {
        char name[2] = { letter(tensor_int_data(output)[i + 1]), '\0' };
        double weight[LONGEST];
        say("%s ", name);
        for (int64_t j = 0; j < n; j++) {
            weight[j] = (double)tensor_data(weights)[i * n + j];
            putchar(weight[j] >= 0.5 ? '#' : weight[j] >= 0.2 ? '+' : weight[j] >= 0.05 ? '.' : ' ');
        }
        printf("\n");
        csv_numbers(csv, name, (int)n, weight);
    }
    if (csv) {
        csv_close(csv);
    }
    ag_end(scope);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 1000000, "training steps of each model"),
        NN_OPTION("length", length, 1, LONGEST, "letters of the longest words"),
        NN_TEXT_OPTION("score", "NAME", score, "score function of the attention: dot, general or additive"),
        NN_FLAG_OPTION("lstm", lstm, "LSTM cells in the recurrent models instead of GRU"),
        NN_TEXT_OPTION("word", "WORD", word, "letters from a to z; the attention of the models for this word is shown"),
        NN_OPTION("timed", timed, 8, LONGEST, "letters of the longest words for which the time is measured"), NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "seq2seq",
        "Shows why Transformers replaced recurrent models. Three models learn to spell words of random letters backwards.\n"
        "The first one is recurrent: it reads the word into a vector of fixed size, which is hard for a long word. The second\n"
        "one also has attention to all states of its encoder. The Transformer has only attention, and no steps in a row.\n\n"
        "Writes seq2seq.csv (length,fixed,attention,transformer: share of correct letters), seq2seq_time.csv (the same\n"
        "columns: milliseconds), seq2seq_attention.csv, seq2seq_transformer.csv (a row for each output letter).", options });
    NnScoreKind by = score_named(score);
    LetterModel m[LETTER_MODELS];
    check_word(word);
    ag_free(example_path("seq2seq.csv"));           /* makes the folder before the training */
    for (int k = 0; k < LETTER_MODELS; k++) {
        m[k] = letter_model_new((LetterModelKind)k, lstm ? NN_LSTM : NN_GRU, by);
        train(&m[k]);
    }
    say("Three models learned in %lld steps to spell words backwards.\n", (long long)steps);
    compare(m, "seq2seq.csv", "share of correct letters, in new words", false, 1, length, share_right);
    for (int k = 0; k < LETTER_MODELS; k++) {
        show_alignment(&m[k]);
    }
    ag_set_threads(1);                                                  /* processor time without the waiting of threads */
    compare(m, "seq2seq_time.csv", "milliseconds of processor time to learn 1024 letters", true, 8, timed, step_time);
    picture_draw("seq2seq");
    picture_draw("seq2seq_alignment");
    for (int k = 0; k < LETTER_MODELS; k++) {
        ag_free(m[k].module);
    }
    return example_end();
}
