/* boundary.c: a classifier while it learns: the boundary between two classes moves, by three optimizers. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

enum { FRAMES = 6, GRID = 61, KINDS = 3, SHOWN = 200 };
static const double edge = 1.15;                                        /* the picture shows -edge to edge */
static const int64_t frame[FRAMES] = { 0, 20, 60, 120, 250, 500 };
static const char *const name[KINDS] = { "gradient descent", "momentum", "Adam" };
static int64_t batch = 400, width = 64;
static double rates[KINDS] = { 0.5, 0.1, 0.02 };

/* `batch` random points of two spirals: x (batch,2), *arm (batch): which of the two. */
static Tensor *spirals(int64_t count, Tensor **arm)
{
    Tensor *x = tensor_zeros(SHAPE(count, 2));
    *arm = tensor_ints(SHAPE(count), NULL);
    for (int64_t i = 0; i < count; i++) {
        double radius = 0.1 + 0.9 * ag_random_uniform(), angle = 6 * radius + 3.14159265 * (double)(i % 2);
        tensor_mutable_int_data(*arm)[i] = i % 2;
        tensor_mutable_data(x)[2 * i] = (ag_real)(radius * ag_math_cos(angle));
        tensor_mutable_data(x)[2 * i + 1] = (ag_real)(radius * ag_math_sin(angle));
    }
    return x;
}

static Sequential *network(void)
{
    Sequential *net = nn_sequential_new();
    nn_sequential_add(net, nn_linear_new(2, width));
    nn_sequential_activation(net, AG_TANH);
    nn_sequential_add(net, nn_linear_new(width, 2));
    return net;
}

static Optimizer *optimizer(int kind, Sequential *net)
{
    switch (kind) {
    case 0: return nn_sgd_new(net, rates[0]);
    case 1: return nn_sgd_new_with(net, ((AgSgd){ rates[1], 0.9, 0, false }));
    default: return nn_adam_new(net, rates[2]);
    }
}

/* The probability of arm 1 at each point of a grid. */
static void write_frame(Csv *csv, Sequential *net, int64_t step)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(GRID * GRID, 2));
    for (int i = 0; i < GRID * GRID; i++) {
        tensor_mutable_data(x)[2 * i] = (ag_real)(edge * (2.0 * (i % GRID) / (GRID - 1) - 1));
        tensor_mutable_data(x)[2 * i + 1] = (ag_real)(edge * (2.0 * (i / GRID) / (GRID - 1) - 1));
    }
    const ag_real *at = tensor_data(x), *p = tensor_data(ag_softmax(nn_sequential(net, x), -1));
    for (int i = 0; i < GRID * GRID; i++) {
        csv_row(csv, (double)step, (double)at[2 * i], (double)at[2 * i + 1], (double)p[2 * i + 1]);
    }
    ag_end(scope);
}

/* Cross-entropy by hand for a few points: the loss is the mean of -ln p(the correct arm). */
static void show_cross_entropy(Sequential *net)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *arm, *x = spirals(3, &arm), *scores = nn_sequential(net, x), *p = ag_softmax(scores, -1);
    double sum = 0;
    say("Cross-entropy of three points before training:\n");
    for (int i = 0; i < 3; i++) {
        int correct = tensor_int_data(arm)[i];
        double right = (double)tensor_data(p)[2 * i + correct];
        say("  point (%5.2f, %5.2f), arm %d: the network gives it the probability %.4f, -ln of it is %.4f\n",
            (double)tensor_data(x)[2 * i], (double)tensor_data(x)[2 * i + 1], correct, right, -ag_math_log(right));
        sum -= ag_math_log(right);
    }
    say("  their mean: %.4f; nn_cross_entropy: %.4f; a coin would have ln 2 = %.4f\n\n", sum / 3,
        tensor_item(nn_cross_entropy(scores, arm)), ag_math_log(2));
    ag_end(scope);
}

/* The loss of one batch, and a learning step. */
static double learn(Sequential *net, Optimizer *o)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *arm, *x = spirals(batch, &arm), *loss = nn_cross_entropy(nn_sequential(net, x), arm);
    ag_backward(loss);
    nn_optimizer_step(o);
    double value = tensor_item(loss);
    ag_end(scope);
    return value;
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("batch", batch, 1, 100000, "new points in each step"),
        NN_OPTION("width", width, 1, 10000, "width of the hidden layer"),
        NN_OPTION("sgd-lr", rates[0], 0, 100, "learning rate of gradient descent"),
        NN_OPTION("adam-lr", rates[2], 0, 100, "learning rate of Adam"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "boundary",
        "Shows a network while it learns to tell two spirals apart: the boundary between the two classes at six moments,\n"
        "with Adam, and the loss (cross-entropy) with gradient descent, momentum and Adam. Each step takes a batch of\n"
        "new random points.\n\n"
        "Writes boundary.csv (step,x,y,p: the probability of arm 1), boundary_points.csv (x,y,arm) and\n"
        "boundary_loss.csv (step,sgd,momentum,adam), and draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *arm, *x = spirals(SHOWN, &arm);
    Csv *points = csv_open("boundary_points.csv", "x,y,arm");
    for (int i = 0; i < SHOWN; i++) {
        csv_row(points, (double)tensor_data(x)[2 * i], (double)tensor_data(x)[2 * i + 1], tensor_int_data(arm)[i]);
    }
    csv_close(points);

    Sequential *first = network(), *net[KINDS];
    Optimizer *o[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        net[kind] = nn_clone(first);                                    /* all start from the same weights */
        o[kind] = optimizer(kind, net[kind]);
    }
    show_cross_entropy(first);
    Csv *csv = csv_open("boundary.csv", "step,x,y,p"), *losses = csv_open("boundary_loss.csv", "step,sgd,momentum,adam");
    for (int64_t step = 0, shown = 0; step <= frame[FRAMES - 1]; step++) {
        if (step == frame[shown]) {
            write_frame(csv, net[KINDS - 1], step);
            shown++;
        }
        double loss[KINDS] = { learn(net[0], o[0]), learn(net[1], o[1]), learn(net[2], o[2]) };
        csv_row(losses, (double)step, loss[0], loss[1], loss[2]);
    }
    chart_print(losses, &(Chart){ "cross-entropy", "step", true,
                                  { { "sgd", name[0] }, { "momentum", name[1] }, { "adam", name[2] } } });
    csv_close(losses);
    csv_close(csv);
    picture_draw("boundary");
    picture_draw("boundary_loss");
    for (int kind = 0; kind < KINDS; kind++) {
        ag_free(o[kind]);
        ag_free(net[kind]);
    }
    ag_free(first);
    ag_end(scope);
    return example_end();
}
