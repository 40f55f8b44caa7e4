/* heads.c: multi-head attention step by step with shapes, and what several heads can do that one cannot. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

enum { D = 512, H = 8, K = D / H, WORDS = 5 };                           /* of the first Transformer; "This is a pen ." */
enum { LENGTH = 8, LETTERS = 10, BATCH = 64, WIDTH = 32, MODELS = 4 };    /* of the task */
static const int heads[MODELS] = { 1, 2, 4, 8 };
static int64_t steps = 500;
static bool with_feed_forward;

static Tensor *show(const char *step, Tensor *t)
{
    char text[AG_SHAPE_TEXT];
    say("  %-44s %s\n", step, ag_shape_text(tensor_shape(t), text));
    return t;
}

/* (1,WORDS,D) -> (1,H,WORDS,K): head i gets the columns i K to (i + 1) K - 1. */
static Tensor *split(Tensor *x)
{
    return ag_transpose(ag_reshape(x, SHAPE(1, WORDS, H, K)), 1, 2);
}

static void show_steps(void)
{
    MultiHeadAttention *a = nn_multi_head_attention_new(H, D, 0);
    Linear *w_q = nn_item(Linear, a->linears, 0), *w_k = nn_item(Linear, a->linears, 1),
           *w_v = nn_item(Linear, a->linears, 2), *w_o = nn_item(Linear, a->linears, 3);
    say("Multi-head attention with D = %d, %d heads, %d / %d = %d numbers for each:\n", D, H, D, H, K);
    Tensor *x = show("x: five words", tensor_normal(SHAPE(1, WORDS, D), 0, 1));
    Tensor *q = split(show("queries Q = x W_Q", nn_linear(w_q, x)));
    Tensor *k = show("keys K = x W_K, split into heads", split(nn_linear(w_k, x)));
    Tensor *v = show("values V = x W_V, split into heads", split(nn_linear(w_v, x)));
    Tensor *scores = show("scores Q_i K_i' / sqrt(64)", ag_scale(ag_matmul(q, ag_transpose(k, 2, 3)), 1 / sqrt(K)));
    Tensor *weights = show("weights, softmax over the last dimension", ag_softmax(scores, -1));
    Tensor *z = show("Z_i: weighted means of the values", ag_matmul(weights, v));
    Tensor *joined = show("concatenated: all Z_i of a word side by side",
                          ag_reshape(ag_transpose(z, 1, 2), SHAPE(1, WORDS, D)));
    Tensor *y = show("times W_O", nn_linear(w_o, joined));
    Tensor *layer = nn_multi_head_attention(a, x, x, x, NULL);
    say("  nn_multi_head_attention differs by at most %.1g\n", tensor_item(ag_max(ag_abs(ag_sub(y, layer)))));

    /* The split is only a way to write eight matrices as one: head 3 has the columns 192 to 255. */
    Tensor *own = ag_linear(x, ag_slice(w_q->weight, 0, 3 * K, 4 * K), ag_slice(w_q->bias, 0, 3 * K, 4 * K));
    Tensor *third = ag_reshape(ag_slice(q, 1, 3, 4), SHAPE(1, WORDS, K)), *error = ag_max(ag_abs(ag_sub(third, own)));
    say("  the queries of head 3 by its own matrix (%d, %d) differ by at most %.1g\n", D, K, tensor_item(error));
    say("  parameters: %lld, with any number of heads\n", (long long)nn_count(a));
    ag_free(a);
}

/* Learns to name at each position the letter before, and the first letter of the word. */
typedef struct {
    Module module;
    Embedding *letters;
    PositionalEncoding *positions;
    MultiHeadAttention *attention;
    PositionwiseFeedForward *feed_forward;                                /* NULL without --feed-forward */
    Linear *before, *first;
} Reader;

static Reader *reader_new(int number)
{
    Reader *r = nn_new(Reader);
    nn_child(r, letters, nn_embedding_new(LETTERS, WIDTH));
    nn_child(r, positions, nn_positional_encoding_new(WIDTH, 0, LENGTH));
    nn_child(r, attention, nn_multi_head_attention_new(number, WIDTH, 0));
    if (with_feed_forward) {
        nn_child(r, feed_forward, nn_positionwise_feed_forward_new(WIDTH, 4 * WIDTH, 0, AG_RELU));
    }
    nn_child(r, before, nn_linear_new(WIDTH, LETTERS));
    nn_child(r, first, nn_linear_new(WIDTH, LETTERS));
    r->attention->keep_weights = true;
    return r;
}

/* The scores of the letter before each position, and of the first letter: (B,LENGTH,LETTERS). */
typedef struct { Tensor *before, *first; } Answers;

static Answers answers(Reader *r, Tensor *ids)
{
    Tensor *x = nn_positional_encoding(r->positions, nn_embedding(r->letters, ids));
    Tensor *y = nn_multi_head_attention(r->attention, x, x, x, NULL);
    if (with_feed_forward) {
        y = nn_positionwise_feed_forward(r->feed_forward, y);
    }
    return (Answers){ nn_linear(r->before, y), nn_linear(r->first, y) };
}

/* ids (BATCH,LENGTH): the mean of the two losses. *right: at how many places both answers are right. */
static Tensor *loss_of_reading(Reader *r, Tensor *ids, double *right)
{
    Tensor *before = tensor_ints(SHAPE(BATCH, LENGTH), NULL), *first = tensor_ints(SHAPE(BATCH, LENGTH), NULL);
    for (int i = 0; i < BATCH * LENGTH; i++) {
        tensor_mutable_int_data(before)[i] = tensor_int_data(ids)[i % LENGTH ? i - 1 : i];
        tensor_mutable_int_data(first)[i] = tensor_int_data(ids)[i - i % LENGTH];
    }
    Answers a = answers(r, ids);
    Tensor *good_before = ag_compare(AG_EQ, ag_argmax(a.before, -1, false), before);
    Tensor *good_first = ag_compare(AG_EQ, ag_argmax(a.first, -1, false), first);
    *right = tensor_item(ag_mean(ag_cast(ag_and(good_before, good_first), AG_REAL)));
    return ag_scale(ag_add(nn_cross_entropy(a.before, before), nn_cross_entropy(a.first, first)), 0.5);
}

/* The attention weights of each head for the first word of the batch: rows are queries. */
static void write_weights(Csv *csv, Reader *r, int number)
{
    const ag_real *w = tensor_data(r->attention->weights);
    for (int i = 0; i < number * LENGTH * LENGTH; i++) {
        csv_row(csv, number, i / (LENGTH * LENGTH), i / LENGTH % LENGTH, i % LENGTH, (double)w[i]);
    }
}

static void train(void)
{
    Reader *r[MODELS];
    Optimizer *adam[MODELS];
    for (int m = 0; m < MODELS; m++) {
        r[m] = reader_new(heads[m]);
        adam[m] = nn_adam_new(r[m], 0.01);
    }
    Csv *csv = csv_open("heads.csv", "step,heads_1,heads_2,heads_4,heads_8");
    Csv *weights = csv_open("heads_weights.csv", "heads,head,query,key,weight");
    double loss[MODELS], right[MODELS];
    for (int64_t step = 1; step <= steps; step++) {
        for (int m = 0; m < MODELS; m++) {
            AgScope scope = ag_begin(AG_RECORD);
            Tensor *ids = tensor_randint(SHAPE(BATCH, LENGTH), 0, LETTERS), *l = loss_of_reading(r[m], ids, &right[m]);
            loss[m] = tensor_item(l);
            if (step == steps && heads[m] <= 2) {
                write_weights(weights, r[m], heads[m]);
            }
            ag_backward(l);
            nn_optimizer_step(adam[m]);
            ag_end(scope);
        }
        csv_row(csv, (double)step, loss[0], loss[1], loss[2], loss[3]);
    }
    chart_print(csv, &(Chart){ "loss", "step", true, { { "heads_1", "1 head" }, { "heads_2", "2 heads" },
                                                        { "heads_4", "4 heads" }, { "heads_8", "8 heads" } } });
    csv_close(csv);
    csv_close(weights);
    for (int m = 0; m < MODELS; m++) {
        say("%d heads of width %2d: %5.1f %% of the places right\n", heads[m], WIDTH / heads[m], 100 * right[m]);
        ag_free(adam[m]);
        ag_free(r[m]);
    }
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 1000000, "training steps"),
        NN_FLAG_OPTION("feed-forward", with_feed_forward, "a feed-forward layer after the attention of the task"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "heads",
        "Shows multi-head attention step by step with the shapes of the first Transformer. Then a task: at each position,\n"
        "name the letter before and the first letter of the word. Two heads look at both places; one head has to mix them.\n\n"
        "Writes heads.csv (step,heads_1,heads_2,heads_4,heads_8: losses) and heads_weights.csv\n"
        "(heads,head,query,key,weight), and draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    show_steps();
    say("\nThe task: name the letter before, and the first letter of the word.\n");
    train();
    picture_draw("heads");
    ag_end(scope);
    return example_end();
}
