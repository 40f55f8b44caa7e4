/* curvature.c: second derivatives: Newton's step, and the curvature of a loss while a network trains. */
#include <math.h>

#include "common/common.h"
#include "common/loss_shape.h"
#include "kaeru/kaeru.h"

enum { PARAMETERS = 6, ROWS = 64, RATES = 3, STARTS = 2, DESCENT = 60, NEWTON = 6, POINTS = 100 };
static int64_t steps = 4000, width = 32;
static double given_rate = 0.1, gain = 0.5;

/* ---- two weights: f = a^4 / 4 - a^2 / 2 + b^2, with bowls at a = -1 and a = 1, and a saddle at 0 ----------------- */

typedef struct { double value, slope[2], second[2][2]; } Place;

/* The value, the gradient and the Hessian, which is the derivative of the gradient along each weight. */
static Place look(const double w[2])
{
    Place at;
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *x = tensor_from(SHAPE(2), (ag_real[]){ (ag_real)w[0], (ag_real)w[1] }), *slope, *second;
    tensor_set_requires_grad(x, true);
    Tensor *a = ag_slice(x, 0, 0, 1), *b = ag_slice(x, 0, 1, 2), *square = ag_mul(a, a);
    Tensor *f = ag_sub(ag_scale(ag_mul(square, square), 0.25), ag_scale(square, 0.5));
    f = ag_sum(ag_add(f, ag_mul(b, b)));
    at.value = tensor_item(f);
    ag_grad(f, &x, 1, &slope);
    for (int i = 0; i < 2; i++) {
        Tensor *direction = tensor_from(SHAPE(2), (ag_real[]){ i == 0, i == 1 });
        ag_grad(ag_jvp(f, &x, &direction, 1), &x, 1, &second);
        at.slope[i] = (double)tensor_data(slope)[i];
        for (int j = 0; j < 2; j++) {
            at.second[j][i] = (double)tensor_data(second)[j];
        }
    }
    ag_end(scope);
    return at;
}

static void show_second(void)
{
    const double w[2] = { 0.3, 1 }, h = 0.01, left[2] = { w[0] - h, w[1] }, right[2] = { w[0] + h, w[1] };
    Place at = look(w);
    say("Two weights, f = a^4 / 4 - a^2 / 2 + b^2. At a = %g, b = %g the gradient is (%.4f, %.4f).\n", w[0], w[1],
        at.slope[0], at.slope[1]);
    say("Second derivatives, the Hessian: [[%.4f, %.4f], [%.4f, %.4f]]\n", at.second[0][0], at.second[0][1],
        at.second[1][0], at.second[1][1]);
    say("From two gradients at a - %g and a + %g: %.4f\n", h, h,
        (look(right).slope[0] - look(left).slope[0]) / (2 * h));
}

/* Solves second step = slope. */
static void newton_step(const Place *at, double step[2])
{
    const double (*h)[2] = at->second;
    double determinant = h[0][0] * h[1][1] - h[0][1] * h[1][0];
    step[0] = (at->slope[0] * h[1][1] - at->slope[1] * h[0][1]) / determinant;
    step[1] = (at->slope[1] * h[0][0] - at->slope[0] * h[1][0]) / determinant;
}

/* Goes by gradient descent or by Newton's step, and returns where it ends. */
static Place go(Csv *csv, double w[2], bool newton)
{
    double start = w[0], step[2];
    int n = newton ? NEWTON : DESCENT;
    Place at = look(w);
    for (int i = 0; i <= n; i++) {
        csv_row(csv, newton, start, i, w[0], w[1], at.value);
        if (i == n) break;
        if (newton) {
            newton_step(&at, step);
        }
        for (int k = 0; k < 2; k++) {
            w[k] -= newton ? step[k] : 0.1 * at.slope[k];
        }
        at = look(w);
    }
    return at;
}

static void show_steps(void)
{
    static const double start[STARTS] = { 1.7, 0.3 };
    Csv *csv = csv_open("curvature.csv", "newton,start,step,a,b,f");
    for (int i = 0; i < STARTS; i++) {
        for (int newton = 0; newton < 2; newton++) {
            double w[2] = { start[i], 1 };
            Place end = go(csv, w, newton);
            if (newton) {
                say("  %d of Newton's steps:         ", NEWTON);
            } else {
                say("From a = %g, b = 1:\n  %d of gradient descent:      ", start[i], DESCENT);
            }
            say("a = %.4f, b = %.4f, f = %.4f; second derivatives %.2f and %.2f\n", w[0], w[1], end.value,
                end.second[0][0], end.second[1][1]);
        }
    }
    csv_close(csv);
}

/* ---- a network: the largest eigenvalue of the Hessian of its loss ------------------------------------------------ */

typedef struct { Tensor *p[PARAMETERS], *v[PARAMETERS]; int n; } Weights;

static Sequential *network(void)
{
    Sequential *net = nn_sequential_new();
    for (int i = 0; i < 3; i++) {
        Linear *l = nn_linear_new(i == 0 ? 1 : width, i == 2 ? 1 : width);
        ag_fill_normal(l->weight, 0, gain / sqrt(i == 0 ? 1 : (double)width));
        nn_sequential_add(net, l);
        if (i < 2) {
            nn_sequential_activation(net, AG_TANH);
        }
    }
    return net;
}

static Tensor *data_loss(Sequential *net, Tensor *x)
{
    return nn_mse_loss(nn_sequential(net, x), ag_sin(ag_scale(x, 2)));
}

/* Returns the second derivative of the loss along v by three losses, without any derivative. */
static double curvature_by_losses(Sequential *net, Tensor *x, Weights *w)
{
    const double h = 0.02, move[3] = { h, -2 * h, h }, factor[3] = { 1, 1, -2 };
    double sum = 0;
    AgScope scope = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < w->n; k++) {
            tensor_copy(w->p[k], ag_add(w->p[k], ag_scale(w->v[k], move[i])));
        }
        sum += factor[i] * tensor_item(data_loss(net, x));
    }
    ag_end(scope);
    return sum / (h * h);
}

/* Trains by gradient descent on all data, in which nothing is random but the first weights. */
static void train(Csv *csv, double rate)
{
    ag_seed((uint64_t)example_seed());
    Sequential *net = network();
    Optimizer *sgd = nn_sgd_new(net, rate);
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_uniform(SHAPE(ROWS, 1), -3, 3);
    NnParameters *all = nn_parameters(net);
    Weights w = { .n = all->n };
    for (int i = 0; i < w.n; i++) {
        w.p[i] = all->item[i].tensor;
        w.v[i] = tensor_normal(tensor_shape(w.p[i]), 0, 1);
    }
    double curvature = 0, first = 0, loss = 0;
    int64_t every = steps < POINTS ? 1 : steps / POINTS, step = 0;
    for (; step <= steps && isfinite(loss); step++) {
        AgScope inner = ag_begin(AG_RECORD);
        Tensor *y = data_loss(net, x);
        loss = tensor_item(y);
        if (step % every == 0 && isfinite(loss)) {
            curvature = largest_curvature(y, w.p, w.v, w.n, step == 0 ? 100 : 20);
            first = step == 0 ? curvature : first;
            csv_row(csv, rate, step, curvature, loss);
        }
        if (step < steps) {
            ag_backward(y);
            nn_optimizer_step(sgd);
        }
        ag_end(inner);
    }
    say("rate %.4f, 2 / rate = %5.1f: curvature %.2f, ", rate, 2 / rate, first);
    if (isfinite(loss)) {
        say("at last %.2f, by three losses %.2f; loss %.5f\n", curvature, curvature_by_losses(net, x, &w), loss);
    } else {
        say("the loss grows without limit, step %lld\n", (long long)step);
    }
    ag_free(all);
    ag_end(scope);
    ag_free(sgd);
    ag_free(net);
}

static void show_training(void)
{
    Csv *csv = csv_open("curvature_training.csv", "rate,step,curvature,loss");
    say("\nA network of two hidden layers learns sin 2x by gradient descent, %lld steps. Its curvature, the largest\n"
        "eigenvalue of the Hessian of its loss:\n", (long long)steps);
    for (int i = 0; i < RATES; i++) {
        train(csv, given_rate / (1 << i));
    }
    csv_close(csv);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 1000000, "training steps of the network"),
        NN_OPTION("width", width, 1, 4096, "units of each hidden layer"),
        NN_OPTION("rate", given_rate, 1e-6, 10, "the largest learning rate; a half and a quarter of it follow"),
        NN_OPTION("gain", gain, 0.01, 10, "size of the first weights"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "curvature",
        "Shows second derivatives. Two weights go by gradient descent and by Newton's step, which finds a minimum in few\n"
        "steps, or a saddle. Then a network trains, and the largest eigenvalue of the Hessian of its loss is computed by\n"
        "products of the Hessian and a vector, without the Hessian. It says which learning rates are stable.\n\n"
        "Writes curvature.csv (newton,start,step,a,b,f) and curvature_training.csv (rate,step,curvature,loss), and draws\n"
        "them.", options });
    show_second();
    show_steps();
    show_training();
    picture_draw("curvature");
    return example_end();
}
