/* exploding.c: gradients that vanish or explode in a deep network, and what clipping does. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

enum { WIDTH = 64, ROWS = 32, GAINS = 3, MOST_LAYERS = 200 };
static const double gain[GAINS] = { 0.7, 1, 1.4 };
static int64_t layers = 30;

/* Layers whose weights have the deviation gain / sqrt(WIDTH): each multiplies the size of its input by about `gain`. */
static Sequential *stack_new(double g)
{
    Sequential *s = nn_sequential_new();
    for (int64_t i = 0; i < layers; i++) {
        Linear *l = nn_linear_new_no_bias(WIDTH, WIDTH);
        ag_fill_normal(l->weight, 0, g / sqrt(WIDTH));
        nn_sequential_add(s, l);
    }
    return s;
}

/* norm[i]: of the gradient at the input of layer i; norm[layers]: at the output. */
static void measure(double g, double norm[MOST_LAYERS + 1])
{
    Sequential *s = stack_new(g);
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *x[MOST_LAYERS + 1] = { tensor_set_requires_grad(tensor_normal(SHAPE(ROWS, WIDTH), 0, 1), true) };
    for (int64_t i = 0; i < layers; i++) {
        x[i + 1] = ag_retain(nn_linear(nn_item(Linear, s, (int)i), x[i]));
    }
    ag_backward(ag_mean(ag_mul(x[layers], tensor_normal(SHAPE(ROWS, WIDTH), 0, 1))));
    for (int64_t i = 0; i <= layers; i++) {
        norm[i] = sqrt(ag_grad_sum_squares(x[i]));
    }
    double all = nn_clip_grad_norm(s, 1);
    printf("  %4.1f   %11.3g   %24.3g   %17.3g   %10.3g\n", g, pow(g, (double)layers), norm[0] / norm[layers], all,
           nn_grad_norm(s));
    ag_end(scope);
    ag_free(s);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_OPTION("layers", layers, 2, MOST_LAYERS, "layers of the network"), NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "exploding",
        "Shows vanishing and exploding gradients: in a deep network each layer multiplies the gradient by some factor. With\n"
        "a factor below 1 nothing arrives at the first layers; with a factor above 1 the gradient becomes huge. Clipping\n"
        "limits its norm.\n\n"
        "Writes exploding.csv (layer,gain_0.7,gain_1,gain_1.4: norms of gradients), and draws it.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    double norm[GAINS][MOST_LAYERS + 1];
    say("%lld layers, each of which multiplies by about the gain. The gradient:\n"
        "  gain   gain^layers   at the input / at the end   of all parameters   clipped to 1\n", (long long)layers);
    for (int i = 0; i < GAINS; i++) {
        measure(gain[i], norm[i]);
    }
    Csv *csv = csv_open("exploding.csv", "layer,gain_0.7,gain_1,gain_1.4");
    for (int64_t i = 0; i <= layers; i++) {
        csv_row(csv, (double)i, norm[0][i], norm[1][i], norm[2][i]);
    }
    csv_close(csv);
    picture_draw("exploding");
    ag_end(scope);
    return example_end();
}
