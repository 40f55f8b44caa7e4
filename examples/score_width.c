/* score_width.c: dot product, scaled dot product and additive scores as queries and keys become wider. */
#include <math.h>
#include <time.h>

#include "common/common.h"
#include "kaeru/attention.h"
#include "kaeru/autograd.h"

enum { LENGTH = 8, LETTERS = 16, BATCH = 32, TESTED = 500, SEEDS = 3, KINDS = 3, WIDTH = 32 };
static const struct { const char *name; NnScoreKind kind; } scores[KINDS] = {
    { "dot product", NN_SCORE_DOT }, { "scaled dot product", NN_SCORE_SCALED_DOT }, { "additive", NN_SCORE_ADDITIVE },
};
static int64_t steps = 150, widest = 1024;
static double lr = 5e-3;

/* Attention with queries and keys of any width K: the letters at all positions are compared, and the one at the wanted position
 * is passed on. */
typedef struct { Module module; Embedding *letters, *positions; Linear *query, *key, *value, *out; NnScore *score; } Reader;

static Reader *reader_new(NnScoreKind kind, int64_t k)
{
    Reader *r = nn_new(Reader);
    nn_child(r, letters, nn_embedding_new(LETTERS, WIDTH));
    nn_child(r, positions, nn_embedding_new(LENGTH, WIDTH));
    nn_child(r, query, nn_linear_new(WIDTH, k));
    nn_child(r, key, nn_linear_new(WIDTH, k));
    nn_child(r, value, nn_linear_new(WIDTH, WIDTH));
    nn_child(r, out, nn_linear_new(WIDTH, LETTERS));
    nn_child(r, score, nn_score_new(kind, k, k, k));
    ag_fill_normal(r->query->weight, 0, 1 / sqrt(WIDTH));       /* variance 1; of keys, from a letter and a position, 2 */
    ag_fill_normal(r->key->weight, 0, 1 / sqrt(WIDTH));
    return r;
}

/* letters (B,LENGTH), wanted (B,1): position -> (B,1,LETTERS): scores of the letter at that position */
static Tensor *read_letter(Reader *r, Tensor *letters, Tensor *wanted)
{
    Tensor *place = ag_cast(tensor_arange(0, LENGTH, 1), AG_INT), *x = nn_embedding(r->letters, letters);
    Tensor *q = nn_linear(r->query, nn_embedding(r->positions, wanted));
    Tensor *k = nn_linear(r->key, ag_add(x, nn_embedding(r->positions, place)));
    return nn_linear(r->out, ag_matmul(ag_softmax(nn_score(r->score, q, k), -1), nn_linear(r->value, x)));
}

/* Trains and returns the share of right letters in %. */
static double train(NnScoreKind kind, int64_t k, uint64_t seed)
{
    ag_seed(seed);
    Reader *r = reader_new(kind, k);
    Optimizer *adam = nn_adam_new(r, lr);
    double right = 0;
    for (int64_t step = 0; step <= steps; step++) {
        AgScope scope = ag_begin(step < steps ? AG_RECORD : AG_NO_GRAD);
        int64_t rows = step < steps ? BATCH : TESTED;
        Tensor *letters = tensor_randint(SHAPE(rows, LENGTH), 0, LETTERS), *wanted = tensor_randint(SHAPE(rows, 1), 0, LENGTH);
        Tensor *target = ag_cast(ag_gather(ag_cast(letters, AG_REAL), 1, wanted), AG_INT), *y = read_letter(r, letters, wanted);
        if (step < steps) {
            ag_backward(nn_cross_entropy(y, target));
            nn_optimizer_step(adam);
        } else {
            right = tensor_item(ag_mean(ag_cast(ag_compare(AG_EQ, ag_argmax(y, -1, false), target), AG_REAL)));
        }
        ag_end(scope);
    }
    ag_free(adam);
    ag_free(r);
    return 100 * right;
}

/* "(56.6 to 98.0)" */
static const char *range(double least, double most)
{
    static char text[32];
    snprintf(text, sizeof text, tr("(%.1f to %.1f)"), least, most);
    return text;
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 100000, "training steps"),
        NN_OPTION("widest", widest, 4, 4096, "the largest K"),
        NN_OPTION("lr", lr, 0, 1, "learning rate of Adam"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "score_width",
        "Trains attention with three kinds of scores, for queries and keys of more and more numbers K: the dot product, the\n"
        "dot product divided by sqrt(K), and the additive score. The task is to read the letter at a given position. Each\n"
        "is trained with three seeds.\n\n"
        "Writes score_width.csv\n"
        "(k,dot,dot_least,dot_most,scaled,scaled_least,scaled_most,additive,additive_least,additive_most: % of right\n"
        "letters), and draws it.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    Csv *csv = csv_open("score_width.csv",
                        "k,dot,dot_least,dot_most,scaled,scaled_least,scaled_most,additive,additive_least,additive_most");
    say("Right letters in %%, mean of %d seeds (least to most)\n      K   %-22s   %-22s   %s\n", SEEDS, scores[0].name,
        scores[1].name, scores[2].name);
    double seconds[KINDS];                                              /* of the processor, with the last K */
    int64_t last = 0;
    for (int64_t k = 4; k <= widest; k *= 4) {
        double row[1 + 3 * KINDS] = { (double)k };
        printf("  %5lld", (long long)k);
        for (int i = 0; i < KINDS; i++) {
            double sum = 0, least = 100, most = 0;
            clock_t start = clock();
            for (int seed = 0; seed < SEEDS; seed++) {
                double right = train(scores[i].kind, k, (uint64_t)(example_seed() + seed));
                sum += right, least = fmin(least, right), most = fmax(most, right);
            }
            seconds[i] = (double)(clock() - start) / CLOCKS_PER_SEC / SEEDS;
            say("   %5.1f %-16s", sum / SEEDS, range(least, most));
            row[1 + 3 * i] = sum / SEEDS, row[2 + 3 * i] = least, row[3 + 3 * i] = most;
        }
        csv_numbers(csv, NULL, 1 + 3 * KINDS, row);
        printf("\n");
        last = k;
    }
    say("At K = %lld a training takes %.2f, %.2f and %.2f seconds of processor time.\n", (long long)last, seconds[0],
        seconds[1], seconds[2]);
    csv_close(csv);
    picture_draw("score_width");
    ag_end(scope);
    return example_end();
}
