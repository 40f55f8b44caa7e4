/* gan.c: a generative adversarial network (Goodfellow et al. 2014) with two optimizers learns eight spots on a circle. */
#include <math.h>
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { SPOTS = 8, NOISE = 8, BATCH = 256 };
static const double spread = 0.1;

static Sequential *network(int in, int width, int out)
{
    Sequential *s = nn_sequential_new();
    nn_sequential_add(s, nn_linear_new(in, width));
    nn_sequential_activation(s, AG_SILU);
    nn_sequential_add(s, nn_linear_new(width, width));
    nn_sequential_activation(s, AG_SILU);
    nn_sequential_add(s, nn_linear_new(width, out));
    return s;
}

static void center(int i, double *x, double *y)
{
    *x = ag_math_cos(2 * 3.14159265 * i / SPOTS);
    *y = ag_math_sin(2 * 3.14159265 * i / SPOTS);
}

static Tensor *draw_points(void)                                                        /* -> (BATCH,2) */
{
    Tensor *points = tensor_normal(SHAPE(BATCH, 2), 0, spread);
    ag_real *p = tensor_mutable_data(points);
    for (int i = 0; i < BATCH; i++) {
        double x, y;
        center((int)ag_random_below(SPOTS), &x, &y);
        p[2 * i] += (ag_real)x;
        p[2 * i + 1] += (ag_real)y;
    }
    return points;
}

/* The loss of logits that should all say "real" (1) or "made" (0). */
static Tensor *loss_if(double target, Tensor *logits)
{
    return ag_binary_cross_entropy(logits, tensor_full(tensor_shape(logits), target), AG_MEAN);
}

/* Prints how many of the points are near a spot, and the share of the spot that has the fewest. */
static void judge(Tensor *points)
{
    int64_t n = tensor_dim(points, 0), near[SPOTS] = { 0 }, all = 0, fewest = n;
    const ag_real *p = tensor_data(points);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < SPOTS; k++) {
            double x, y;
            center(k, &x, &y);
            if (hypot((double)p[2 * i] - x, (double)p[2 * i + 1] - y) < 3 * spread) near[k]++;
        }
    for (int k = 0; k < SPOTS; k++) {
        all += near[k];
        if (near[k] < fewest) fewest = near[k];
    }
    printf("made points near a spot %.1f %%\n", 100.0 * (double)all / (double)n);
    printf("made points near the rarest spot %.1f %%\n", 100.0 * (double)fewest / (double)n);
}

int main(void)
{
    Sequential *maker = network(NOISE, 128, 2), *critic = network(2, 128, 1);
    AgAdam how = nn_adam_options(1e-3);
    how.beta1 = 0.5;                                                                    /* Radford et al. 2016 */
    Optimizer *of_maker = nn_adam_new_with(maker, how), *of_critic = nn_adam_new_with(critic, how);
    for (int step = 1; step <= 4000; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *made = nn_sequential(maker, tensor_normal(SHAPE(BATCH, NOISE), 0, 1));
        Tensor *said = nn_sequential(critic, ag_concat((Tensor *[]){ draw_points(), ag_detach(made) }, 2, 0));
        Tensor *of_real = ag_slice(said, 0, 0, BATCH), *of_made = ag_slice(said, 0, BATCH, 2 * BATCH);
        Tensor *critic_loss = ag_add(loss_if(1, of_real), loss_if(0, of_made));
        ag_backward(critic_loss);
        nn_optimizer_step(of_critic);
        Tensor *maker_loss = loss_if(1, nn_sequential(critic, made));
        ag_backward(maker_loss);
        nn_optimizer_step(of_maker);
        nn_zero_grad(critic);                                           /* the maker's loss has a gradient there, too */
        if (step % 1000 == 0)
            printf("step %d: losses %.3f and %.3f\n", step, tensor_item(critic_loss), tensor_item(maker_loss));
        ag_end(scope);
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    judge(nn_sequential(maker, tensor_normal(SHAPE(4000, NOISE), 0, 1)));
    ag_end(scope);
    ag_free(of_maker);
    ag_free(of_critic);
    ag_free(maker);
    ag_free(critic);
    return 0;
}
