/* moons.c: diffusion: a network learns to see noise in points of two moons; then it makes such points from noise alone. */
#include <math.h>

#include "common/common.h"
#include "kaeru/kaeru.h"

enum { TIMES = 40, BATCH = 256, POINTS = 1000 };         /* levels of noise; points in a step; points to make */
static int64_t steps = 5000;

/* The share of the data in the variance at level t: from nearly 1 to nearly 0 (Nichol and Dhariwal 2021). */
static double kept_at(int64_t t)
{
    return 0.5 + 0.5 * ag_math_cos(3.1416 * (double)(t + 1) / (TIMES + 1));
}

static Tensor *noise_in(Sequential *net, Tensor *x, Tensor *t)              /* in points x (B,2) at levels t (B) -> (B,2) */
{
    return nn_sequential(net, ag_concat((Tensor *[]){ x, ag_one_hot(t, TIMES) }, 2, 1));
}

/* The upper half of a circle around (0, 0), and the lower half of one around (1, 1/2) -> (n,2) */
static Tensor *draw_moons(int64_t n)
{
    Tensor *moons = tensor_normal(SHAPE(n, 2), 0, 0.05);
    for (int64_t i = 0; i < n; i++) {
        double lower = (double)(i % 2), angle = 3.1416 * (ag_random_uniform() - lower);
        tensor_mutable_data(moons)[2 * i] += (ag_real)(ag_math_cos(angle) + lower);
        tensor_mutable_data(moons)[2 * i + 1] += (ag_real)(ag_math_sin(angle) + lower / 2);
    }
    return moons;
}

/* The network sees points with noise of random levels, and learns which noise it is (Ho et al. 2020). */
static void train(Sequential *net)
{
    Optimizer *adam = nn_adam_new(net, 0);
    for (int64_t step = 1; step <= steps; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *x = draw_moons(BATCH), *noise = tensor_normal(SHAPE(BATCH, 2), 0, 1);
        Tensor *t = tensor_randint(SHAPE(BATCH), 0, TIMES), *kept = tensor_zeros(SHAPE(BATCH, 1));
        for (int64_t i = 0; i < BATCH; i++) tensor_mutable_data(kept)[i] = (ag_real)kept_at(tensor_int_data(t)[i]);
        x = ag_add(ag_mul(ag_sqrt(kept), x), ag_mul(ag_sqrt(ag_sub(tensor_ones(AG_SCALAR), kept)), noise));
        Tensor *loss = nn_mse_loss(noise_in(net, x, t), noise);
        ag_backward(loss);
        nn_optimizer_set_lr(adam, nn_schedule_cosine(step, 1e-2, 0, steps / 50, steps));
        nn_optimizer_step(adam);
        if (step % 1000 == 0 || step == steps) say("step %4lld: loss %.3f\n", (long long)step, tensor_item(loss));
        ag_end(scope);
    }
    ag_free(adam);
}

/* One step from level t to the level before: removes the noise that the network sees, and adds a smaller one. */
static Tensor *denoise(Sequential *net, Tensor *x, int64_t t)
{
    double kept = kept_at(t), before = t > 0 ? kept_at(t - 1) : 1, beta = 1 - kept / before;
    Tensor *seen = noise_in(net, x, ag_cast(tensor_full(SHAPE(POINTS), (double)t), AG_INT));
    Tensor *mean = ag_scale(ag_sub(x, ag_scale(seen, beta / sqrt(1 - kept))), 1 / sqrt(1 - beta));
    return ag_add(mean, tensor_normal(SHAPE(POINTS, 2), 0, sqrt(beta * (1 - before) / (1 - kept))));
}

/* Writes the points, and prints their mean distance from the nearest moon: from its arc, or from one of its ends. */
static void show(Csv *csv, int left, Tensor *x)
{
    double sum = 0;
    for (const ag_real *p = tensor_data(x), *end = p + 2 * POINTS; p < end; p += 2) {
        double a = (double)p[0], b = (double)p[1], upper = b < 0 ? hypot(fabs(a) - 1, b) : fabs(hypot(a, b) - 1);
        double lower = b > 0.5 ? hypot(fabs(a - 1) - 1, b - 0.5) : fabs(hypot(a - 1, b - 0.5) - 1);
        sum += fmin(upper, lower);
        csv_row(csv, left, a, b);
    }
    say("%2d levels left: distance from the moons %.3f\n", left, sum / POINTS);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_OPTION("steps", steps, 1, 1000000, "training steps"), NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "moons",
        "Shows how a diffusion model makes data from noise: a network learns to see the noise in points of two moons. Then\n"
        "it starts from noise alone and removes some of it 40 times: points of the moons remain.\n\n"
        "Writes moons.csv (left,x,y: the points when `left` levels are left) and draws it.", options });
    Sequential *net = nn_sequential_new();
    for (int i = 0; i < 5; i++) {
        nn_sequential_add(net, nn_linear_new(i == 0 ? 2 + TIMES : 64, i == 4 ? 2 : 64));
        if (i < 4) nn_sequential_activation(net, AG_SILU);
    }
    Csv *csv = csv_open("moons.csv", "left,x,y");
    train(net);
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(POINTS, 2), 0, 1);
    for (int left = TIMES; left >= 0; left--) {
        if (left % (TIMES / 4) == 0) show(csv, left, x);
        if (left > 0) x = denoise(net, x, left - 1);
    }
    ag_end(scope);
    ag_free(net);
    csv_close(csv);
    picture_draw("moons");
    return example_end();
}
