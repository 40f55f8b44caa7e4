/* layer_norm.c: layer normalization in a deep network: the distribution of its activations, and how fast it learns. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/init.h"
#include "kaeru/nn.h"

enum { ROWS = 400, WIDTH = 32, BINS = 80, REACH = 4, MAX_DEPTH = 100 };
static int64_t depth = 12, steps = 100, runs = 5;
static double lr = 0.003;
static bool he;

typedef struct { Module module; bool normalized; ModuleList *linears, *norms; Linear *out; } Deep;

static Deep *deep_new(bool normalized)
{
    Deep *d = nn_new(Deep);
    d->normalized = normalized;
    nn_child(d, linears, nn_list_new());
    nn_child(d, norms, nn_list_new());
    for (int64_t i = 0; i < depth; i++) {
        Linear *linear = nn_linear_new(i == 0 ? 2 : WIDTH, WIDTH);
        if (he) {
            nn_init_kaiming_uniform(linear->weight, 0);
        }
        nn_list_add(d->linears, linear);
        if (normalized) nn_list_add(d->norms, nn_layer_norm_new(WIDTH));
    }
    nn_child(d, out, nn_linear_new(WIDTH, 2));
    return d;
}

/* (B,2) -> (B,2): scores for "different" and "same". `before`, unless NULL, gets the input of each ReLU. */
static Tensor *deep(Deep *d, Tensor *x, Tensor **before)
{
    for (int i = 0; i < depth; i++) {
        Tensor *f = nn_linear(nn_item(Linear, d->linears, i), x);
        f = d->normalized ? nn_layer_norm(nn_item(LayerNorm, d->norms, i), f) : f;
        if (before) {
            before[i] = f;
        }
        x = ag_relu(f);
    }
    return nn_linear(d->out, x);
}

static void draw_rows(Tensor *x, Tensor *same)
{
    ag_fill_uniform(x, -1, 1);
    for (int i = 0; i < ROWS; i++) {
        tensor_mutable_int_data(same)[i] = tensor_data(x)[2 * i] * tensor_data(x)[2 * i + 1] > 0;
    }
}

static double train_step(Deep *d, Optimizer *adam, Tensor *x, Tensor *same)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *loss = nn_cross_entropy(deep(d, x, NULL), same);
    double value = tensor_item(loss);
    ag_backward(loss);
    nn_optimizer_step(adam);
    ag_end(scope);
    return value;
}

/* Prints the mean and standard deviation of all numbers in x, and sets the share of them in each bin of -REACH..REACH. */
static void print_distribution(Tensor *x, double share[BINS])
{
    for (int64_t i = 0, n = tensor_numel(x); i < n; i++) {
        double bin = floor(((double)tensor_data(x)[i] / REACH + 1) * BINS / 2);
        if (bin >= 0 && bin < BINS) {
            share[(int)bin] += 1 / (double)n;
        }
    }
    double mean = round(1000 * tensor_item(ag_mean(x))) / 1000 + 0.0;                   /* 0, not -0 */
    printf("  %9.3f %9.3f", mean, sqrt(tensor_item(ag_var_dims(x, DIMS(0, 1), false, false))));
}

static void write_layers(Csv *csv, int64_t step, Deep *d[2], Tensor *x)
{
    Tensor *before[2][MAX_DEPTH];
    deep(d[0], x, before[0]);
    deep(d[1], x, before[1]);
    say("Inputs of the ReLU of each layer after %lld steps:\n               plain              normalized\n"
        "layer       mean deviation       mean deviation\n", (long long)step);
    for (int layer = 0; layer < depth; layer++) {
        double share[2][BINS] = { { 0 } };
        printf("%5d", layer + 1);
        print_distribution(before[0][layer], share[0]);
        print_distribution(before[1][layer], share[1]);
        printf("\n");
        for (int i = 0; i < BINS; i++) {
            csv_row(csv, (double)step, layer + 1, ((2 * i + 1.0) / BINS - 1) * REACH, share[0][i], share[1][i]);
        }
    }
}

/* Trains two networks with new weights, plain [0] and normalized [1]. */
static void run(int64_t number, Csv *losses, Csv *layers)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(ROWS, 2)), *same = tensor_ints(SHAPE(ROWS), NULL);
    Deep *d[2] = { deep_new(false), deep_new(true) };
    Optimizer *adam[2] = { nn_adam_new(d[0], lr), nn_adam_new(d[1], lr) };
    char learned[2][24] = { "-", "-" };                                 /* the first step with a loss below 0.1 */
    for (int64_t step = 0; step < steps; step++) {
        draw_rows(x, same);
        if (number == 1 && step == 0) {
            write_layers(layers, 0, d, x);
        }
        double loss[2] = { train_step(d[0], adam[0], x, same), train_step(d[1], adam[1], x, same) };
        csv_row(losses, (double)number, (double)step, loss[0], loss[1]);
        for (int k = 0; k < 2; k++) {
            if (loss[k] < 0.1 && learned[k][0] == '-') {
                snprintf(learned[k], sizeof learned[k], "%lld", (long long)step);
            }
        }
    }
    if (number == 1) {
        write_layers(layers, steps, d, x);
        say("\nSteps until the loss is below 0.1 (-: not reached):\n  run    plain normalized\n");
    }
    say("%5lld %8s %10s\n", (long long)number, learned[0], learned[1]);
    for (int k = 0; k < 2; k++) {
        ag_free(adam[k]);
        ag_free(d[k]);
    }
    ag_end(scope);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("depth", depth, 1, MAX_DEPTH, "layers"),
        NN_OPTION("steps", steps, 1, 1000000, "training steps"),
        NN_OPTION("runs", runs, 1, 1000, "networks of each kind, each with new weights"),
        NN_OPTION("lr", lr, 0, 1000, "learning rate of Adam"),
        NN_FLAG_OPTION("he", he, "He's first weights, which keep the size of the signal through ReLU"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "layer_norm",
        "Shows what layer normalization does. Two deep networks learn whether the two numbers of a row have the same\n"
        "sign. In the plain network the activations shrink from layer to layer, and their distribution changes during\n"
        "training. In the normalized network they have mean 0 and deviation 1 in each layer, and at the default rate it\n"
        "learns faster.\n\n"
        "Writes layer_norm.csv (run,step,plain,normalized: the losses) and layer_norm_layers.csv\n"
        "(step,layer,value,plain,normalized: the share of numbers around each value), and draws them.", options });
    Csv *losses = csv_open("layer_norm.csv", "run,step,plain,normalized");
    Csv *layers = csv_open("layer_norm_layers.csv", "step,layer,value,plain,normalized");
    for (int64_t i = 1; i <= runs; i++) {
        run(i, losses, layers);
    }
    csv_close(losses);
    csv_close(layers);
    picture_draw("layer_norm");
    picture_draw("layer_norm_layers");
    return example_end();
}
