/* seq2seq.c: words said backwards: a fixed vector forgets, attention looks back, the Transformer need not wait. */
#include "common/common.h"
#include "seq2seq/rung.h"

enum { ROWS = 48, TESTED = 200, TIMED_LETTERS = 1024 };
static int64_t steps = 600, length = 16, timed = LONGEST;
static const char *score = "dot", *word = "backpropagation";
static bool lstm;

static void train(const Rung *r)
{
    Optimizer *optimizer = nn_adam_new(r->model, 0.005);
    Progress progress = progress_begin(r->name, steps);
    ag_seed((uint64_t)example_seed());                                  /* all three see the same words */
    for (int64_t step = 0; step < steps; step++) {
        Scope scope = ag_begin(AG_RECORD);
        Batch batch = random_words(ROWS, 1, length);
        Tensor *loss = rung_loss(r, &batch);
        ag_backward(loss);
        nn_clip_grad_norm(r->model, 1);
        nn_optimizer_set_lr(optimizer, nn_schedule_cosine(step, 0.005, 0.0005, steps / 10, steps));
        nn_optimizer_step(optimizer);
        progress_show(&progress, step + 1, "loss %.2f", tensor_item(loss));
        ag_end(scope);
    }
    progress_end(&progress);
    ag_free(optimizer);
}

/* The share of letters in the right place, over words of n letters. */
static double share_right(const Rung *r, int64_t n)
{
    Scope scope = ag_begin(AG_NO_GRAD);
    Batch batch = random_words(TESTED, n, n);
    const int32_t *said = tensor_int_data(rung_say(r, &batch)), *wanted = tensor_int_data(batch.tgt_y);
    int64_t right = 0;
    for (int64_t i = 0; i < TESTED * n; i++) {
        right += said[i / n * (n + 2) + 1 + i % n] == wanted[i / n * (n + 1) + i % n];
    }
    ag_end(scope);
    return (double)right / (double)(TESTED * n);
}

/* Milliseconds of forward and backward on TIMED_LETTERS letters in words of n, the best of some. */
static double step_time(const Rung *r, int64_t n)
{
    double best = 0;
    for (int i = 0; i < 10; i++) {
        Scope scope = ag_begin(AG_RECORD);
        Batch batch = random_words(TIMED_LETTERS / n, n, n);
        double start = example_seconds();
        ag_backward(rung_loss(r, &batch));
        double ms = 1000 * (example_seconds() - start);
        best = i == 0 || ms < best ? ms : best;
        nn_zero_grad(r->model);
        ag_end(scope);
    }
    return best;
}

/* One number of each model by length, which grows by 1 or doubles: as data and in the terminal. */
static void compare(const Rung *r, const char *file, const char *title, bool doubles, int64_t from, int64_t to,
                    double (*measure)(const Rung *r, int64_t n))
{
    Csv *csv = csv_open(file, "length,fixed,attention,transformer");
    for (int64_t n = from; n <= to; n = doubles ? 2 * n : n + 1) {
        csv_row(csv, (double)n, measure(&r[FIXED], n), measure(&r[ATTENTION], n), measure(&r[TRANSFORMER], n));
    }
    chart_print(csv, &(Chart){ title, "length", doubles,
        { { "fixed", r[FIXED].name }, { "attention", r[ATTENTION].name }, { "transformer", r[TRANSFORMER].name } } });
    csv_close(csv);
}

/* Prints what the model says and, a row for each letter of it, what it looked at; the same as data. */
static void align(const Rung *r)
{
    Scope scope = ag_begin(AG_NO_GRAD);
    Batch batch = one_word(word);
    int64_t n = tensor_dim(batch.src, 1);
    Tensor *said = rung_say(r, &batch);
    batch.tgt = ag_slice(said, 1, 0, n + 1);                            /* each is said after those before it */
    Tensor *weights = rung_look(r, &batch);
    char header[2 * LONGEST + 8] = "said";
    for (int64_t j = 0; j < n; j++) {
        snprintf(header + 4 + 2 * j, 3, ",%c", word[j]);
    }
    printf("%-13s says ", r->name);
    for (int64_t i = 1; i < n + 2; i++) {
        putchar(letter(tensor_int_data(said)[i]));
    }
    Csv *csv = weights ? csv_open(r->transformer ? "seq2seq_transformer.csv" : "seq2seq_attention.csv", header) : NULL;
    printf(csv ? "\n\n  %s\n" : "\n", word);
    for (int64_t i = 0; csv && i <= n; i++) {
        char name[2] = { letter(tensor_int_data(said)[i + 1]), '\0' };
        double weight[LONGEST];
        printf("%s ", name);
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
    const Option options[] = {
        option_int("steps", &steps, 1, 1000000, "training steps of each model"),
        option_int("length", &length, 1, LONGEST, "letters of the longest words"),
        option_text("score", "NAME", &score, "of attention: dot, general or additive"),
        option_flag("lstm", &lstm, "LSTM cells in the recurrent models, for GRU"),
        option_text("word", "WORD", &word, "a to z; what the models look at while they say it is shown"),
        option_int("timed", &timed, 8, LONGEST, "letters of the longest words that training is timed on"),
        OPTIONS_END
    };
    example_begin(argc, argv, &(Program){ "seq2seq",
        "Teaches why the Transformer came. Three models learn to say words of random letters backwards. In the first,\n"
        "a recurrent network reads the word into one vector, from which another one says it: what the vector has no\n"
        "room for is forgotten. In the second it looks back at all states of the reader; the third does nothing but\n"
        "look, and no letter has to wait for the one before it.\n\n"
        "Writes seq2seq.csv (length,fixed,attention,transformer: the share of letters said right), seq2seq_time.csv\n"
        "(length,fixed,attention,transformer: milliseconds to learn from 1024 letters), seq2seq_attention.csv and\n"
        "seq2seq_transformer.csv (a row for each letter said, a column for each read), and draws them.", options });
    ScoreKind by = score_named(score);
    check_word(word);
    Rung r[RUNGS];
    for (int k = 0; k < RUNGS; k++) {
        r[k] = rung_new((RungKind)k, lstm ? NN_LSTM : NN_GRU, by);
        train(&r[k]);
    }
    printf("Three models learned in %lld steps to say words backwards.\n", (long long)steps);
    compare(r, "seq2seq.csv", "share of letters said right, in words not seen before", false, 1, length, share_right);
    for (int k = 0; k < RUNGS; k++) {
        align(&r[k]);
    }
    compare(r, "seq2seq_time.csv", "milliseconds to learn from 1024 letters", true, 8, timed, step_time);
    picture_draw("seq2seq");
    picture_draw("seq2seq_alignment");
    for (int k = 0; k < RUNGS; k++) {
        nn_free(r[k].model);
    }
    return example_end();
}
