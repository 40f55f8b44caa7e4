/* word_vectors.c: an embedding learned from the words nearby, as Word2Vec does: words that are used alike come together. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

enum { WORDS = 11, LENGTH = 3, BATCH = 64 };
enum { PEOPLE = 0, ANIMALS = 3, FOOD = 6, HAS = 9, EATS };
static const char *const word[WORDS] = { "井上", "大森", "田中", "犬", "猫", "鳥", "パン", "魚", "米",
                                         "飼う", "食べる" };
static int64_t steps = 400, width = 2;

typedef struct { Module module; Embedding *table; Linear *context; } WordVectors;

/* "X は Y を 飼う" or "X は Y を 食べる" with random words, without the particles は and を. */
static void write_sentence(int32_t s[LENGTH])
{
    bool has = ag_random_below(2) == 0;
    s[0] = (int32_t)(PEOPLE + ag_random_below(3));
    s[1] = (int32_t)((has ? ANIMALS : FOOD) + ag_random_below(3));
    s[2] = has ? HAS : EATS;
}

/* From a word the model predicts another word of its sentence: the cross-entropy of a pair from each of BATCH sentences. */
static Tensor *loss_of_neighbors(WordVectors *m)
{
    Tensor *from = tensor_ints(SHAPE(BATCH), NULL), *to = tensor_ints(SHAPE(BATCH), NULL);
    for (int k = 0; k < BATCH; k++) {
        int32_t s[LENGTH];
        int64_t i = ag_random_below(LENGTH);
        write_sentence(s);
        tensor_mutable_int_data(from)[k] = s[i];
        tensor_mutable_int_data(to)[k] = s[(i + 1 + ag_random_below(LENGTH - 1)) % LENGTH];
    }
    return nn_cross_entropy(nn_linear(m->context, nn_embedding(m->table, from)), to);
}

static void write_vectors(Csv *csv, WordVectors *m, int64_t step)
{
    const ag_real *v = tensor_data(m->table->weight);
    for (int i = 0; i < WORDS; i++) {
        csv_named_row(csv, word[i], (double)step, (double)v[i * width], (double)v[i * width + 1]);
    }
}

/* The cosine of the angle between the vectors of two words: 1 in the same direction, 0 at a right angle. */
static double cosine(WordVectors *m, int i, int j)
{
    const ag_real *a = tensor_data(m->table->weight) + i * width, *b = tensor_data(m->table->weight) + j * width;
    double ab = 0, aa = 0, bb = 0;
    for (int64_t d = 0; d < width; d++) {
        ab += (double)(a[d] * b[d]), aa += (double)(a[d] * a[d]), bb += (double)(b[d] * b[d]);
    }
    return ab / sqrt(aa * bb);
}

static void print_cosines(WordVectors *m, const char *when)
{
    static const int pair[][2] = { { 0, 1 }, { 3, 4 }, { 6, 8 }, { 4, 6 }, { 0, 3 } };
    say("%-17s", when);
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        say("  %s %s %5.2f", word[pair[i][0]], word[pair[i][1]], cosine(m, pair[i][0], pair[i][1]));
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 1000000, "training steps"),
        NN_OPTION("width", width, 2, 1000, "numbers in the vector of a word; the picture shows the first two"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "word_vectors",
        "Shows how an embedding gets its meaning. Sentences like 井上 は 犬 を 飼う and 大森 は パン を 食べる; from the\n"
        "vector of each word, a linear layer predicts the other words. Words that are used alike get similar vectors.\n\n"
        "Writes word_vectors.csv (word,step,x,y: before and after training) and word_vectors_loss.csv (step,loss), and\n"
        "draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    WordVectors *m = nn_new(WordVectors);
    nn_child(m, table, nn_embedding_new(WORDS, width));
    nn_child(m, context, nn_linear_new(width, WORDS));
    Optimizer *adam = nn_adam_new(m, 0.02);
    Csv *csv = csv_open("word_vectors.csv", "word,step,x,y"), *losses = csv_open("word_vectors_loss.csv", "step,loss");
    write_vectors(csv, m, 0);
    print_cosines(m, "cosines before:");
    for (int64_t step = 1; step <= steps; step++) {
        AgScope inner = ag_begin(AG_RECORD);
        Tensor *loss = loss_of_neighbors(m);
        ag_backward(loss);
        nn_optimizer_step(adam);
        csv_row(losses, (double)step, tensor_item(loss));
        ag_end(inner);
    }
    write_vectors(csv, m, steps);
    print_cosines(m, "cosines after:");
    chart_print(losses, &(Chart){ "cross-entropy", "step", false, { { "loss", "of another word" } } });
    csv_close(losses);
    csv_close(csv);
    picture_draw("word_vectors");
    ag_free(adam);
    ag_free(m);
    ag_end(scope);
    return example_end();
}
