/* differential_equation.c: a network solves u'' = -pi^2 sin(pi x), with u = 0 at both ends, by its own second derivative. */
#include <math.h>

#include "common/common.h"
#include "kaeru/kaeru.h"

enum { POINTS = 64 };                                   /* where the equation must hold, from 0 to 1 */
static const double pi = 3.14159265358979323846;
static int64_t steps = 3000, width = 32;
static double lr = 3e-3, ends_weight = 1000;

static Tensor *points(void)                                             /* -> (POINTS,1) */
{
    return ag_reshape(ag_scale(tensor_arange(0, POINTS, 1), 1.0 / (POINTS - 1)), SHAPE(POINTS, 1));
}

static Tensor *solution(Tensor *x)
{
    return ag_sin(ag_scale(x, pi));
}

/* The mean square of u'' + pi^2 sin(pi x), and of u at both ends: no value of the solution inside is used. */
static Tensor *loss_of(Sequential *net)
{
    Tensor *x = tensor_set_requires_grad(points(), true), *one = tensor_ones(SHAPE(POINTS, 1));
    Tensor *u = nn_sequential(net, x), *slope = ag_jvp(u, &x, &one, 1), *second = ag_jvp(slope, &x, &one, 1);
    Tensor *rest = ag_add(second, ag_scale(solution(x), pi * pi));
    Tensor *ends = ag_concat((Tensor *[]){ ag_slice(u, 0, 0, 1), ag_slice(u, 0, POINTS - 1, POINTS) }, 2, 0);
    return ag_add(ag_mean(ag_mul(rest, rest)), ag_scale(ag_mean(ag_mul(ends, ends)), ends_weight));
}

/* Returns the largest difference between u and the solution; writes the values, if csv is not NULL. */
static double largest_error(Sequential *net, Csv *csv)
{
    double most = 0;
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = points(), *u = nn_sequential(net, x), *expected = solution(x);
    for (int i = 0; i < POINTS; i++) {
        double value = (double)tensor_data(u)[i], sine = (double)tensor_data(expected)[i];
        most = fmax(most, fabs(value - sine));
        if (csv) {
            csv_row(csv, (double)tensor_data(x)[i], value, sine);
        }
    }
    ag_end(scope);
    return most;
}

static void train(Sequential *net)
{
    Optimizer *adam = nn_adam_new(net, lr);
    for (int64_t step = 1; step <= steps; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *loss = loss_of(net);
        ag_backward(loss);                              /* gradients of a loss that has a second derivative in it */
        nn_optimizer_set_lr(adam, nn_schedule_cosine(step, lr, 0, steps / 50, steps));
        nn_optimizer_step(adam);
        if (step % 500 == 0 || step == steps) {
            say("step %4lld: loss %.6f, largest error of u %.5f\n", (long long)step, tensor_item(loss),
                largest_error(net, NULL));
        }
        ag_end(scope);
    }
    ag_free(adam);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 1000000, "training steps"),
        NN_OPTION("width", width, 1, 4096, "units of each hidden layer"),
        NN_OPTION("lr", lr, 1e-9, 1, "learning rate"),
        NN_OPTION("ends", ends_weight, 0, 1e9, "weight of the two ends in the loss"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "differential_equation",
        "Shows a physics-informed network. It learns the function u with u'' = -pi^2 sin(pi x) and u = 0 at 0 and 1. Its\n"
        "loss has its own second derivative, which ag_jvp makes a part of the graph. The solution is sin(pi x).\n\n"
        "Writes differential_equation.csv (x,u,solution), and draws it.", options });
    Sequential *net = nn_sequential_new();
    for (int i = 0; i < 3; i++) {
        nn_sequential_add(net, nn_linear_new(i == 0 ? 1 : width, i == 2 ? 1 : width));
        if (i < 2) {
            nn_sequential_activation(net, AG_TANH);
        }
    }
    Csv *csv = csv_open("differential_equation.csv", "x,u,solution");
    train(net);
    largest_error(net, csv);
    csv_close(csv);
    ag_free(net);
    picture_draw("differential_equation");
    return example_end();
}
