/* learning_step.c: what a learning step is: gradient descent on one weight, and three optimizers in a narrow valley. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/module.h"

enum { RATES = 4, KINDS = 3 };
static double given_rate = 0.9, steepness = 30;
static int64_t steps = 40;

/* ---- one weight: loss = (w - 3)^2 -------------------------------------------------------------------------------- */

/* The gradient by backprop; *loss gets the loss. */
static double gradient(double w, double *loss)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *weight = tensor_set_requires_grad(tensor_full(AG_SCALAR, w), true);
    Tensor *error = ag_sub(weight, tensor_full(AG_SCALAR, 3)), *square = ag_mul(error, error);
    *loss = tensor_item(square);
    ag_backward(square);
    double dw = tensor_item(tensor_grad(weight));
    ag_end(scope);
    return dw;
}

/* The steps of gradient descent from w = -1, until the weight is out of the picture. */
static void descend(Csv *csv, double lr, bool print)
{
    double w = -1, loss, dw = gradient(w, &loss);
    int step = 0;
    for (; step <= 12 && fabs(w) < 1e6; step++) {
        csv_row(csv, lr, step, w, loss);
        if (print && step < 5) {
            say("  step %d: w = %7.4f, loss = %7.4f, dw = %7.4f; then w - %g * dw = %.4f\n",
                step, w, loss, dw, lr, w - lr * dw);
        }
        w -= lr * dw;                                                   /* this line is all of gradient descent */
        dw = gradient(w, &loss);
    }
    say("learning rate %-5g after %d steps: w = %9.4f, loss = %.3g\n", lr, step, w, loss);
}

static void show_rates(void)
{
    double rates[RATES] = { 0.1, 0.5, given_rate, 1.05 };
    Csv *csv = csv_open("learning_step.csv", "rate,step,w,loss");
    say("One weight, loss = (w - 3)^2, gradient dw = 2 (w - 3). From w = -1, with the learning rate 0.1:\n");
    for (int i = 0; i < RATES; i++) {
        descend(csv, rates[i], i == 0);
    }
    csv_close(csv);
}

/* ---- two weights in a valley: loss = (a^2 + steepness b^2) / 2 --------------------------------------------------- */

typedef struct { Module module; Tensor *w; } Valley;

static Optimizer *optimizer(int kind, Valley *v)
{
    switch (kind) {
    case 0: return nn_sgd_new(v, 1.8 / steepness);
    case 1: return nn_sgd_new_with(v, ((AgSgd){ 0.6 / steepness, 0.8, 0, false }));
    default: return nn_adam_new(v, 0.3);
    }
}

static double valley_loss(Valley *v, Csv *csv, const char *name, int64_t step)
{
    Tensor *curve = tensor_from(SHAPE(2), (ag_real[]){ 0.5, (ag_real)(steepness / 2) });
    Tensor *loss = ag_sum(ag_mul(curve, ag_mul(v->w, v->w)));
    const ag_real *w = tensor_data(v->w);
    csv_named_row(csv, name, (double)step, (double)w[0], (double)w[1], tensor_item(loss));
    ag_backward(loss);
    return tensor_item(loss);
}

static void show_optimizers(void)
{
    static const char *const name[KINDS] = { "gradient descent", "momentum", "Adam" };
    Csv *csv = csv_open("learning_step_valley.csv", "optimizer,step,a,b,loss");
    say("\nTwo weights, loss = (a^2 + %g b^2) / 2, from a = -4, b = 1. The loss after\n%-20s", steepness, "");
    for (int64_t step = 0; step <= steps; step += steps < 4 ? 1 : steps / 4) {
        say("%6lld steps", (long long)step);
    }
    printf("\n");
    for (int kind = 0; kind < KINDS; kind++) {
        Valley *v = nn_new(Valley);
        nn_param(v, w, SHAPE(2));
        tensor_copy(v->w, tensor_from(SHAPE(2), (ag_real[]){ -4, 1 }));
        Optimizer *o = optimizer(kind, v);
        say("  %-18s", name[kind]);
        for (int64_t step = 0; step <= steps; step++) {
            AgScope scope = ag_begin(AG_RECORD);
            double loss = valley_loss(v, csv, name[kind], step);
            if (step % (steps < 4 ? 1 : steps / 4) == 0) {
                printf("%12.3g", loss);
            }
            nn_optimizer_step(o);
            ag_end(scope);
        }
        printf("\n");
        ag_free(o);
        ag_free(v);
    }
    csv_close(csv);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("lr", given_rate, 1e-6, 10, "the third of the four learning rates"),
        NN_OPTION("steepness", steepness, 1, 1000, "how many times steeper the valley is across than along"),
        NN_OPTION("steps", steps, 1, 10000, "steps of the optimizers in the valley"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "learning_step",
        "Shows what a learning step is. One weight goes down a parabola by w -= lr dw, with four learning rates: too\n"
        "small, right, zigzag, and too large, where it diverges. Then gradient descent, momentum and Adam go down a\n"
        "valley that is much steeper across than along.\n\n"
        "Writes learning_step.csv (rate,step,w,loss) and learning_step_valley.csv (optimizer,step,a,b,loss), and draws\n"
        "them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    show_rates();
    show_optimizers();
    picture_draw("learning_step");
    ag_end(scope);
    return example_end();
}
