/* muon.c: an optimizer of one's own, Muon (Jordan et al. 2024), learns what a random network computes, faster than SGD. */
#include <math.h>
#include <stdio.h>
#include <kaeru/kaeru.h>

/* The update of a matrix is its momentum with all singular values moved to about 1, by five steps of Newton and Schulz. */
static Tensor *orthogonal(Tensor *g)
{
    bool tall = tensor_dim(g, 0) > tensor_dim(g, 1);
    Tensor *x = tall ? ag_transpose(g, 0, 1) : g;
    x = ag_scale(x, 1 / (sqrt(tensor_item(ag_sum(ag_mul(x, x)))) + 1e-7));
    for (int i = 0; i < 5; i++) {
        Tensor *a = ag_matmul(x, ag_transpose(x, 0, 1));
        Tensor *b = ag_add(ag_scale(a, -4.7750), ag_scale(ag_matmul(a, a), 2.0315));
        x = ag_add(ag_scale(x, 3.4445), ag_matmul(b, x));
    }
    return tall ? ag_transpose(x, 0, 1) : x;
}

static void muon_update(const OptimizerUpdate *u)
{
    Tensor *w = u->parameter->tensor, *momentum = u->state[0], *g = ag_scale(u->gradient, u->grad_scale);
    tensor_copy(momentum, ag_add(ag_scale(momentum, 0.95), g));
    Tensor *step = ag_add(g, ag_scale(momentum, 0.95));                                 /* Nesterov's */
    double size = 1;
    if (tensor_ndim(w) == 2) {
        step = orthogonal(step);
        size = 0.2 * sqrt((double)(tensor_dim(w, 0) > tensor_dim(w, 1) ? tensor_dim(w, 0) : tensor_dim(w, 1)));
    }
    tensor_copy(w, ag_sub(ag_scale(w, 1 - u->lr * u->weight_decay), ag_scale(step, u->lr * size)));
}

static const OptimizerKind muon = { .name = "muon", .state = { "momentum" }, .update = muon_update };

static Sequential *network(int width)
{
    Sequential *s = nn_sequential_new();
    nn_sequential_add(s, nn_linear_new(16, width));
    nn_sequential_activation(s, AG_TANH);
    nn_sequential_add(s, nn_linear_new(width, width));
    nn_sequential_activation(s, AG_TANH);
    nn_sequential_add(s, nn_linear_new(width, 8));
    return s;
}

/* Takes the steps first..last-1 of a run, whose rate falls to 0 in 400 steps; returns the last loss. */
static double train(Sequential *pupil, Sequential *teacher, Optimizer *o, double lr, int first, int last)
{
    double value = NAN;
    for (int step = first; step < last; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *x = tensor_normal(SHAPE(256, 16), 0, 1), *target = ag_detach(nn_sequential(teacher, x));
        Tensor *loss = nn_mse_loss(nn_sequential(pupil, x), target);
        ag_backward(loss);
        nn_optimizer_set_lr(o, nn_schedule_cosine(step + 1, lr, 0, 0, 400));
        nn_optimizer_step(o);
        value = tensor_item(loss);
        ag_end(scope);
    }
    return value;
}

/* A new network that learns with Muon, saves its run after 200 steps, and goes on; or one that goes on from the file. */
static double run(Sequential *teacher, bool resumed)
{
    Sequential *pupil = network(64);
    Optimizer *o = nn_optimizer_new(pupil, &muon, NULL, 0, 0, 0);
    const char path[] = "muon.safetensors";
    if (!resumed) train(pupil, teacher, o, 0.02, 0, 200);
    bool good = resumed ? nn_checkpoint_load(path, pupil, o, NULL) : nn_checkpoint_save(path, pupil, o, NULL);
    if (!good) fprintf(stderr, "%s\n", ag_error());
    double loss = good ? train(pupil, teacher, o, 0.02, 200, 400) : NAN;
    ag_free(o);
    ag_free(pupil);
    return loss;
}

int main(void)
{
    Sequential *teacher = network(32), *pupil = network(64);
    Optimizer *sgd = nn_sgd_new(pupil, 0);
    for (int i = 0; i < 5; i += 2) ag_fill_normal(nn_item(Linear, teacher, i)->weight, 0, 0.4);
    printf("loss with SGD %.2g\n", train(pupil, teacher, sgd, 1, 0, 400));
    double whole = run(teacher, false), resumed = run(teacher, true);
    printf("loss with Muon %.2g\n", whole);
    printf("resumed from a checkpoint: %s\n", whole == resumed ? "the same loss" : "another loss");
    ag_free(sgd);
    ag_free(pupil);
    ag_free(teacher);
    return 0;
}
