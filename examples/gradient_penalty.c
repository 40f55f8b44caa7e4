/* gradient_penalty.c: a generator learns points of a ring from a critic whose gradient is kept near 1 (WGAN-GP). */
#include <math.h>

#include "common/common.h"
#include "kaeru/kaeru.h"

enum { BATCH = 128, CRITIC_STEPS = 5, POINTS = 1000 };
static int64_t steps = 1000;
static double weight = 1;

static Sequential *network(int out)
{
    Sequential *net = nn_sequential_new();
    for (int i = 0; i < 2; i++) {
        nn_sequential_add(net, nn_linear_new(i == 0 ? 2 : 64, 64));
        nn_sequential_activation(net, AG_GELU);
    }
    nn_sequential_add(net, nn_linear_new(64, out));
    return net;
}

static Tensor *ring(void)                                               /* -> (BATCH,2), on a circle of radius 1 */
{
    Tensor *angle = tensor_uniform(SHAPE(BATCH, 1), 0, 2 * 3.14159265358979);
    return ag_concat((Tensor *[]){ ag_cos(angle), ag_sin(angle) }, 2, 1);
}

/* The mean of (|gradient| - 1)^2 at points between real and made ones (Gulrajani et al. 2017); *norm: that of |gradient|. */
static Tensor *penalty(Sequential *critic, Tensor *real, Tensor *made, double *norm)
{
    Tensor *share = tensor_uniform(SHAPE(BATCH, 1), 0, 1), *g;
    Tensor *x = tensor_set_requires_grad(ag_detach(ag_add(made, ag_mul(share, ag_sub(real, made)))), true);
    ag_grad_recorded(ag_sum(nn_sequential(critic, x)), &x, 1, &g);      /* a part of the graph: backward goes through it */
    Tensor *length = ag_sqrt(ag_add_scalar(ag_sum_dims(ag_mul(g, g), DIMS(-1), false), 1e-12));
    *norm = tensor_item(ag_mean(length));
    return ag_mean(ag_pow_scalar(ag_add_scalar(length, -1), 2));
}

/* The critic's loss: it holds real points as far above made ones as it can. */
static void critic_step(Sequential *critic, Optimizer *adam, Sequential *generator, bool print)
{
    double norm;
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *real = ring(), *made = ag_detach(nn_sequential(generator, tensor_normal(SHAPE(BATCH, 2), 0, 1)));
    Tensor *distance = ag_sub(ag_mean(nn_sequential(critic, real)), ag_mean(nn_sequential(critic, made)));
    Tensor *loss = ag_sub(ag_scale(penalty(critic, real, made, &norm), weight), distance);
    if (print) {
        say("distance %.3f, norm of the critic's gradient %.3f\n", tensor_item(distance), norm);
    }
    ag_backward(loss);
    nn_optimizer_step(adam);
    ag_end(scope);
}

/* Makes points, writes them, and prints their mean distance from the circle. */
static void show(Sequential *generator)
{
    Csv *csv = csv_open("gradient_penalty.csv", "x,y");
    double sum = 0;
    const ag_real *p = tensor_data(nn_sequential(generator, tensor_normal(SHAPE(POINTS, 2), 0, 1)));
    for (int i = 0; i < POINTS; i++, p += 2) {
        csv_row(csv, (double)p[0], (double)p[1]);
        sum += fabs(hypot((double)p[0], (double)p[1]) - 1);
    }
    csv_close(csv);
    say("%d points: mean distance from the circle %.3f\n", POINTS, sum / POINTS);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_OPTION("steps", steps, 1, 1000000, "training steps of the generator"),
        NN_OPTION("penalty", weight, 0, 1e6, "weight of the penalty in the critic's loss"), NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "gradient_penalty",
        "Shows a gradient penalty. A critic holds points of a ring and points of a generator apart, and the norm of its\n"
        "gradient near 1. The penalty is computed from a gradient (ag_grad_recorded), and has a gradient itself.\n\n"
        "Writes gradient_penalty.csv (x,y: points that the generator has made), and draws it.", options });
    AgScope data = ag_begin(AG_NO_GRAD);
    Sequential *generator = network(2), *critic = network(1);
    Optimizer *of_generator = nn_adam_new(generator, 0), *of_critic = nn_adam_new(critic, 0);
    for (int64_t step = 1; step <= steps; step++) {
        nn_optimizer_set_lr(of_generator, nn_schedule_cosine(step, 1e-3, 0, 0, steps));
        nn_optimizer_set_lr(of_critic, nn_schedule_cosine(step, 1e-3, 0, 0, steps));
        for (int i = 1; i <= CRITIC_STEPS; i++) {
            critic_step(critic, of_critic, generator, i == CRITIC_STEPS && (step % 200 == 0 || step == steps));
        }
        AgScope scope = ag_begin(AG_RECORD);
        ag_backward(ag_neg(ag_mean(nn_sequential(critic, nn_sequential(generator, tensor_normal(SHAPE(BATCH, 2), 0, 1))))));
        nn_optimizer_step(of_generator);
        nn_zero_grad(critic);                                           /* the generator's loss has a gradient there, too */
        ag_end(scope);
    }
    show(generator);
    ag_free(of_generator);
    ag_free(of_critic);
    ag_free(generator);
    ag_free(critic);
    ag_end(data);
    picture_draw("gradient_penalty");
    return example_end();
}
