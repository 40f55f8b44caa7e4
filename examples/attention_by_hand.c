/* attention_by_hand.c: softmax in numbers, weighted sums, "bank" in two sentences, the next word by inner products. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/transformer.h"

enum { SCORES = 5, D = 2, WORDS = 4, VOCAB = 7, LENGTH = 6 };
static int64_t steps = 150;

static void show_softmax(void)
{
    static const ag_real score[SCORES] = { 1, 3, -2, 6, -1 };
    const ag_real *w = tensor_data(ag_softmax(tensor_from(SHAPE(SCORES), score), -1));
    double sum = 0, total = 0;
    Csv *csv = csv_open("attention_by_hand_softmax.csv", "score,exponential,weight");
    for (int i = 0; i < SCORES; i++) {
        sum += ag_math_exp((double)score[i]);
    }
    say("softmax([1, 3, -2, 6, -1]): each e^x divided by their sum, %.4f; e = %.12f\n", sum, ag_math_exp(1));
    for (int i = 0; i < SCORES; i++) {
        double e = ag_math_exp((double)score[i]);
        csv_row(csv, (double)score[i], e, (double)w[i]);
        say("  x = %2g   e^x = %8.4f   e^x / sum = %.6f   ag_softmax: %.6f\n", (double)score[i], e, e / sum, (double)w[i]);
        total += (double)w[i];
    }
    csv_close(csv);
    say("  The weights add up to %.6f. If a mask hides the 6, its score becomes minus infinity, and e^-inf = 0:\n  ", total);
    static const ag_real hidden[2][SCORES] = { { 1, 3, -2, -INFINITY, -1 }, { 1, 3, -2, (ag_real)-1e9, -1 } };
    const ag_real *left = tensor_data(ag_softmax(tensor_from(SHAPE(2, SCORES), hidden[0]), -1));
    double most = 0;
    for (int i = 0; i < SCORES; i++) {
        say("%s%.6f", i ? ", " : "", (double)left[i]);
        most = fmax(most, fabs((double)(left[i] - left[SCORES + i])));
    }
    say("\n  With -1e9 in place of minus infinity, as some programs have it, the weights differ by at most %.2g.\n", most);
}

/* 0.6 これ + 0.2 は + 0.8 ペン + 0.1 です, and the same with weights that add up to 1. */
static void show_sum(void)
{
    static const double weight[WORDS] = { 0.6, 0.2, 0.8, 0.1 };
    static const double word[WORDS][D] = { { -1.7, -0.9 }, { -1.0, 1.3 }, { 1.5, 1.2 }, { 1.2, -1.4 } };
    double x = 0, y = 0, sum = 0;
    for (int i = 0; i < WORDS; i++) {
        x += weight[i] * word[i][0];
        y += weight[i] * word[i][1];
        sum += weight[i];
    }
    say("\nx' = 0.6 これ + 0.2 は + 0.8 ペン + 0.1 です, with the points of the program vectors: (%.3f, %.3f)\n"
        "  These weights add up to %.1f: they only show the idea. Those of softmax add up to 1. Divided by %.1f:\n"
        "  x' = %.3f これ + %.3f は + %.3f ペン + %.3f です = (%.3f, %.3f)\n", x, y, sum, sum, weight[0] / sum,
        weight[1] / sum, weight[2] / sum, weight[3] / sum, x / sum, y / sum);
}

/* ---- "bank" in two sentences ------------------------------------------------------------------------------------- */

/* Made-up vectors: the first number stands for water, the second for money. */
static const char *const vocabulary[VOCAB] = { "the", "bank", "of", "river", "money", "in", "." };
static const ag_real meaning[VOCAB][D] = { { 0, 0 }, { 1, 1 }, { 0, 0 }, { 3, 0 }, { 0, 3 }, { 0, 0 }, { 0, 0 } };
static const int32_t sentence[2][LENGTH] = { { 0, 1, 2, 0, 3, 6 }, { 4, 5, 0, 1, 6, -100 } };      /* -100: none */
static const int length[2] = { 6, 5 }, bank[2] = { 1, 3 };

static void show_bank(void)
{
    Csv *csv = csv_open("attention_by_hand_bank.csv", "sentence,x,y,new_x,new_y");
    say("\nThe vector of \"bank\", (water, money), before and after attention. Query q, keys k and values are the vectors:\n");
    for (int k = 0; k < 2; k++) {
        Tensor *x = ag_embedding(tensor_from(SHAPE(VOCAB, D), meaning[0]), tensor_ints(SHAPE(length[k]), sentence[k])), *w;
        const ag_real *q = tensor_data(x) + bank[k] * D;
        const ag_real *after = tensor_data(nn_attention(x, x, x, NULL, NULL, &w)) + bank[k] * D;
        csv_row(csv, k, (double)q[0], (double)q[1], (double)after[0], (double)after[1]);
        double sum = 0;
        for (int i = 0; i < length[k]; i++) {
            const ag_real *key = tensor_data(x) + i * D;
            double product = (double)(q[0] * key[0] + q[1] * key[1]), score = product / sqrt(D);
            say("  %-6s q·k = %.0f   x = q·k / sqrt(%d) = %.3f   e^x = %.3f   weight = %.3f\n", vocabulary[sentence[k][i]],
                product, D, score, ag_math_exp(score), (double)tensor_data(w)[bank[k] * length[k] + i]);
            sum += ag_math_exp(score);
        }
        say("  weight = e^x / %.3f, the sum of all e^x. The sum of weight times vector moves bank:"
            " (%.2f, %.2f) -> (%.2f, %.2f)\n", sum, (double)q[0], (double)q[1], (double)after[0], (double)after[1]);
    }
    csv_close(csv);
}

/* ---- the next word ----------------------------------------------------------------------------------------------- */

static Tensor *loss_of(TransformerEncoderOnly *m, int k)
{
    Tensor *ids = tensor_ints(SHAPE(1, length[k] - 1), sentence[k]);
    Tensor *next = tensor_ints(SHAPE(1, length[k] - 1), sentence[k] + 1);
    return ag_nll_loss(transformer_encoder_only(m, ids, nn_causal_mask(length[k] - 1)), next, AG_MEAN, -100);
}

/* The last vector of "money in the", multiplied by the vector of each word of the vocabulary. */
static void show_next(TransformerEncoderOnly *m)
{
    int known = 3;
    Tensor *ids = tensor_ints(SHAPE(1, known), sentence[1]), *mask = nn_causal_mask(known);
    Tensor *x = transformer_encoder(m->encoder, nn_sequential(m->embed, ids), mask),
           *want = transformer_encoder_only(m, ids, mask);
    Tensor *last = ag_reshape(ag_slice(x, 1, known - 1, known), SHAPE(1, tensor_dim(x, 2)));
    Linear *table = m->generator->proj;
    const ag_real *product = tensor_data(ag_matmul(last, ag_transpose(table->weight, 0, 1))), *bias = tensor_data(table->bias);
    ag_real score[VOCAB];
    for (int i = 0; i < VOCAB; i++) {
        score[i] = product[i] + bias[i];
    }
    const ag_real *p = tensor_data(ag_softmax(tensor_from(SHAPE(VOCAB), score), -1));
    const ag_real *log_p = tensor_data(want) + (known - 1) * VOCAB;
    Csv *csv = csv_open("attention_by_hand_next.csv", "word,score,probability");
    say("\nAfter \"money in the\": the inner product of the last vector with the vector of each word\n");
    for (int i = 0; i < VOCAB; i++) {
        csv_named_row(csv, vocabulary[i], (double)score[i], (double)p[i]);
        say("  %-6s %7.3f   softmax: %.4f   the model: %.4f\n", vocabulary[i], (double)score[i], (double)p[i],
            ag_math_exp((double)log_p[i]));
    }
    csv_close(csv);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_OPTION("steps", steps, 1, 100000, "training steps of the small model"), NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "attention_by_hand",
        "Works out attention in numbers: softmax of [1, 3, -2, 6, -1]; a weighted sum of words; the vector of \"bank\" in\n"
        "\"the bank of the river\" and in \"money in the bank\"; and, in a small trained model, the next word as the inner\n"
        "product of the last vector with the vectors of the vocabulary.\n\n"
        "Writes attention_by_hand_softmax.csv (score,exponential,weight), attention_by_hand_bank.csv\n"
        "(sentence,x,y,new_x,new_y) and attention_by_hand_next.csv (word,score,probability), and draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    show_softmax();
    show_sum();
    show_bank();
    TransformerOptions o = transformer_defaults();
    o.N = 1, o.d_model = 16, o.d_ff = 32, o.h = 2, o.dropout = 0, o.max_len = LENGTH;
    TransformerEncoderOnly *m = transformer_encoder_only_new(VOCAB, o);
    Optimizer *adam = nn_adam_new(m, 0.01);
    for (int64_t step = 0; step < steps; step++) {
        AgScope inner = ag_begin(AG_RECORD);
        ag_backward(ag_add(loss_of(m, 0), loss_of(m, 1)));
        nn_optimizer_step(adam);
        ag_end(inner);
    }
    show_next(m);
    picture_draw("attention_by_hand");
    ag_free(adam);
    ag_free(m);
    ag_end(scope);
    return example_end();
}
