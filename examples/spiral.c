/* spiral.c: your own model in one file: a network of two layers learns on which arm of a spiral a point is. */
#include <stdio.h>
#include <kaeru/kaeru.h>

static const char path[] = "spiral.safetensors";

typedef struct { Module module; Linear *hidden, *out; } Net;

static Net *net_new(int width)
{
    Net *n = nn_new(Net);
    nn_child(n, hidden, nn_linear_new(2, width));
    nn_child(n, out, nn_linear_new(width, 2));
    return n;
}

static Tensor *net(Net *n, Tensor *x)                                   /* (B,2) -> (B,2): a score for each arm */
{
    return nn_linear(n->out, ag_tanh(nn_linear(n->hidden, x)));
}

static void draw_points(Tensor *x, Tensor *arm)                         /* (B,2) points, (B) the arm of each: 0 or 1 */
{
    for (int64_t i = 0; i < tensor_dim(x, 0); i++) {
        double radius = 0.1 + 0.9 * ag_random_uniform(), angle = 6 * radius + 3.14159265 * (i % 2);
        tensor_mutable_int_data(arm)[i] = i % 2;
        tensor_mutable_data(x)[2 * i] = (ag_real)(radius * ag_math_cos(angle));
        tensor_mutable_data(x)[2 * i + 1] = (ag_real)(radius * ag_math_sin(angle));
    }
}

int main(void)
{
    AgScope data = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(400, 2)), *arm = tensor_ints(SHAPE(400), NULL);
    Net *model = net_new(64), *copy = net_new(64);
    Optimizer *adam = nn_adam_new(model, 0.02);
    for (int step = 0; step <= 500; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        draw_points(x, arm);
        Tensor *loss = nn_cross_entropy(net(model, x), arm);
        ag_backward(loss);
        nn_optimizer_step(adam);
        double value = tensor_item(loss);
        ag_end(scope);
        if (step % 100 == 0)
            printf("step %3d: loss %.4f\n", step, value);
    }
    if (!nn_save(path, model) || !nn_load(path, copy)) {
        fprintf(stderr, "%s\n", ag_error());
        return 1;
    }
    draw_points(x, arm);
    Tensor *right = ag_compare(AG_EQ, ag_argmax(net(copy, x), -1, false), arm);
    Tensor *share = ag_mean(ag_where(right, tensor_ones(AG_SCALAR), tensor_zeros(AG_SCALAR)));
    printf("loaded from %s: %.1f %% of new points right\n", path, 100 * tensor_item(share));
    ag_free(adam);
    ag_free(model);
    ag_free(copy);
    ag_end(data);
    return 0;
}
