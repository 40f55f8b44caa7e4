/* feed_forward.c: what each position works out alone: the feed-forward layer and layer normalization. */
#include <math.h>

#include "common/common.h"
#include "feed_forward/parameters.h"
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

enum { LENGTH = 10, WIDTH = 512, HIDDEN = 2048, PARTS = 4 };
static PositionwiseFeedForward *ffn;
static MultiHeadAttention *attention;

/* Four layers, each (1,LENGTH,WIDTH) -> (1,LENGTH,WIDTH). */

static Tensor *feed_forward(Tensor *x)
{
    return nn_positionwise_feed_forward(ffn, x);
}

static Tensor *attend(Tensor *x)
{
    return nn_multi_head_attention(attention, x, x, x, NULL);
}

/* Mean 0 and variance 1 over some dimensions; eps as in the library's layer norm. */
static Tensor *normalize(Tensor *x, AgDims over)
{
    Tensor *variance = ag_var_dims(x, over, false, true);
    return ag_div(ag_sub(x, ag_mean_dims(x, over, true)), ag_sqrt(ag_add(variance, tensor_full(AG_SCALAR, 1e-5))));
}

static Tensor *layer_norm(Tensor *x)
{
    return normalize(x, DIMS(-1));                                      /* over the numbers of one vector */
}

static Tensor *batch_norm(Tensor *x)
{
    return normalize(x, DIMS(0, 1));                                    /* over all vectors, each number by itself */
}

static const struct { const char *name; Tensor *(*f)(Tensor *x); } part[PARTS] = {
    { "feed-forward", feed_forward }, { "layer norm", layer_norm }, { "attention", attend }, { "batch norm", batch_norm },
};

/* Replaces the vector at one position after the other, and measures the change of the results at all positions. */
static void show_influence(void)
{
    Csv *csv = csv_open("feed_forward.csv", "part,changed,position,change");
    Tensor *x = tensor_normal(SHAPE(1, LENGTH, WIDTH), 0, 1);
    char from[AG_SHAPE_TEXT], to[AG_SHAPE_TEXT];
    say("Feed-forward: %s -> %s. If the vector at one position is replaced, how many of the %d results change?\n",
        ag_shape_text(tensor_shape(x), from), ag_shape_text(tensor_shape(feed_forward(x)), to), LENGTH);
    for (int k = 0; k < PARTS; k++) {
        const ag_real *before = tensor_data(part[k].f(x));
        int changes = 0;
        for (int j = 0; j < LENGTH; j++) {
            Tensor *other = tensor_normal(SHAPE(1, LENGTH, WIDTH), 0, 1);
            for (int i = 0; i < LENGTH * WIDTH; i++) {
                tensor_mutable_data(other)[i] = i / WIDTH == j ? tensor_data(other)[i] : tensor_data(x)[i];
            }
            const ag_real *after = tensor_data(part[k].f(other));
            for (int i = 0; i < LENGTH; i++) {
                double sum = 0;
                for (int d = i * WIDTH; d < (i + 1) * WIDTH; d++) {
                    sum += fabs((double)(after[d] - before[d])) / WIDTH;
                }
                csv_named_row(csv, part[k].name, j, i, sum);
                changes += sum > 0;
            }
        }
        say("  %-14s %4.1f\n", part[k].name, (double)changes / LENGTH);
    }
    csv_close(csv);
}

static void print_moments(const char *name, Tensor *x)
{
    Tensor *v = ag_slice(ag_slice(x, 0, 3, 4), 1, 2, 3);                 /* x[3][2], counted from 0 */
    double mean = tensor_item(ag_mean(v)), variance = tensor_item(ag_var_dims(v, DIMS(0, 1, 2), false, false));
    say("  %-46s mean %6.4f, deviation %6.4f\n", name, fabs(mean) < 1e-6 ? 0 : mean, sqrt(variance));
}

static void print_row(const char *name, Tensor *t)
{
    say("  %-22s", name);
    for (int i = 0; i < tensor_numel(t); i++) {
        printf(" %7.4f", (double)tensor_data(t)[i]);
    }
    printf("\n");
}

static void show_activations(void)
{
    Tensor *x = tensor_from(SHAPE(5), (const ag_real[]){ -2, -0.5, 0, 0.5, 2 });
    printf("\n");
    print_row("x", x);
    print_row("ReLU(x) = max(0, x)", ag_relu(x));
    print_row("GELU(x), used by GPT", ag_gelu(x));
}

static void show_norms(void)
{
    Tensor *x = tensor_normal(SHAPE(20, 5, 10), 0, 1), *center = ag_sub(x, ag_mean_dims(x, DIMS(-1), true));
    say("\nAn array (20, 5, 10): 20 sentences, 5 words, 10 numbers. The vector [3, 2]:\n");
    print_moments("as it is", x);
    print_moments("layer norm, (x - mean) / deviation", layer_norm(x));
    print_moments("divided by the variance, (x - mean) / variance", ag_div(center, ag_var_dims(x, DIMS(-1), false, true)));
    print_moments("batch norm", batch_norm(x));
    print_moments("instance norm: over the words of one sentence", normalize(x, DIMS(1)));
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, &(Program){ "feed_forward",
        "Shows what a Transformer computes at each position alone: the feed-forward layer, 512 -> 2048 -> 512 numbers, and\n"
        "layer normalization, with attention and batch normalization beside them. Then the share of a model's parameters\n"
        "that is in its feed-forward layers.\n\n"
        "Writes feed_forward.csv (part,changed,position,change) and feed_forward_parameters.csv\n"
        "(model,feed_forward,attention,other: millions), and draws them.", (const NnField[]){ NN_FIELDS_END } });
    AgScope scope = ag_begin(AG_NO_GRAD);
    ffn = nn_positionwise_feed_forward_new(WIDTH, HIDDEN, 0, AG_RELU);
    attention = nn_multi_head_attention_new(8, WIDTH, 0);
    show_influence();
    show_activations();
    show_norms();
    show_parameters();
    picture_draw("feed_forward");
    ag_free(ffn);
    ag_free(attention);
    ag_end(scope);
    return example_end();
}
