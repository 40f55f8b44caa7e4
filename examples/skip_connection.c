/* skip_connection.c: why the blocks of a Transformer add their input to their output. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

enum { WIDTH = 10, MAX_DEPTH = 100 };
static int64_t steps = 100, rows = 10000, hidden = 128, depth = 16;
static double lr = 1e-3;

typedef struct { Module module; Linear *fc1, *fc2; } FFN;

static FFN *ffn_new(void)
{
    FFN *f = nn_new(FFN);
    nn_child(f, fc1, nn_linear_new(WIDTH, hidden));
    nn_child(f, fc2, nn_linear_new(hidden, WIDTH));
    return f;
}

/* f(x) = ReLU(x W1 + b1) W2 + b2: (N,D) -> (N,D) */
static Tensor *ffn(FFN *f, Tensor *x)
{
    return nn_linear(f->fc2, nn_linear_activate(f->fc1, x, AG_RELU));
}

typedef struct { Module module; ModuleList *blocks; bool skip; } Stack;

static Stack *stack_new(int64_t n, bool skip)
{
    Stack *s = nn_new(Stack);
    s->skip = skip;
    nn_child(s, blocks, nn_list_new());
    for (int64_t i = 0; i < n; i++) {
        nn_list_add(s->blocks, ffn_new());
    }
    return s;
}

/* Each block computes f(x), or x + f(x): (N,D) -> (N,D). `out`, unless NULL, gets the output of each block. */
static Tensor *stack(Stack *s, Tensor *x, Tensor **out)
{
    for (int i = 0; i < s->blocks->n; i++) {
        Tensor *f = ffn(nn_item(FFN, s->blocks, i), x);
        x = s->skip ? ag_add(x, f) : f;
        if (out) {
            out[i] = ag_retain(x);                                      /* so that the backward pass keeps its gradient */
        }
    }
    return x;
}

static double train_step(Stack *s, Optimizer *adam, Tensor *x)
{
    AgScope step = ag_begin(AG_RECORD);
    Tensor *loss = nn_mse_loss(stack(s, x, NULL), x);
    double value = tensor_item(loss);
    ag_backward(loss);
    nn_optimizer_step(adam);
    ag_end(step);
    return value;
}

/* norm[i] = |d loss / d output of block i|, over all rows; block 0 stands for the input. */
static void gradient_norms(Stack *s, Tensor *x, double norm[MAX_DEPTH + 1])
{
    AgScope look = ag_begin(AG_RECORD);
    Tensor *at[MAX_DEPTH + 1] = { tensor_set_requires_grad(ag_detach(x), true) };
    ag_backward(nn_mse_loss(stack(s, at[0], at + 1), x));
    for (int i = 0; i <= s->blocks->n; i++) {
        norm[i] = sqrt(ag_grad_sum_squares(at[i]));
    }
    nn_zero_grad(s);
    ag_end(look);
}

static void write_norms(Csv *csv, int64_t step, Stack *s[2], Tensor *x)
{
    double f[MAX_DEPTH + 1], skip[MAX_DEPTH + 1];
    int n = s[0]->blocks->n, lost = 0;                                  /* blocks that no gradient reaches */
    gradient_norms(s[0], x, f);
    gradient_norms(s[1], x, skip);
    for (int i = 0; i <= n; i++) {
        csv_row(csv, step, i, f[i], skip[i]);
        lost += f[i] == 0;
    }
    printf("step %lld: each block multiplies the gradient's norm by %.3g, with skip connections by %.3g\n",
           (long long)step, pow(f[lost] / f[n], 1.0 / (n - lost)), pow(skip[0] / skip[n], 1.0 / n));
    if (lost > 0) {
        printf("Without skip connections, the gradient is 0 at the blocks 0 to %d.\n", lost - 1);
    }
}

/* The experiment: n blocks, without [0] and with [1] skip connections. */
static void compare(int64_t n, Tensor *x, Csv *losses, Csv *norms)
{
    Stack *s[2] = { stack_new(n, false), stack_new(n, true) };
    Optimizer *adam[2] = { nn_adam_new(s[0], lr), nn_adam_new(s[1], lr) };
    if (norms) {
        write_norms(norms, 0, s, x);
        chart_print(norms, &(Chart){ "norm of the gradient", "block", true, { { "ffn", "f(x)" }, { "skip", "x + f(x)" } } });
    }
    Progress progress = progress_begin("step", steps);
    for (int64_t i = 0; i < steps; i++) {
        double loss[2] = { train_step(s[0], adam[0], x), train_step(s[1], adam[1], x) };
        csv_row(losses, i, loss[0], loss[1]);
        progress_show(&progress, i + 1, "losses %.4f and %.4f", loss[0], loss[1]);
    }
    progress_end(&progress);
    chart_print(losses, &(Chart){ "mean squared error", "step", true, { { "ffn", "f(x)" }, { "skip", "x + f(x)" } } });
    if (norms) {
        write_norms(norms, steps, s, x);
        csv_close(norms);
    }
    csv_close(losses);
    for (int k = 0; k < 2; k++) {
        ag_free(adam[k]);
        ag_free(s[k]);
    }
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 1000000, "training steps"),
        NN_OPTION("rows", rows, 1, 10000000, "rows of data, all of them in each step"),
        NN_OPTION("hidden", hidden, 1, 100000, "width of the hidden layer of f"),
        NN_OPTION("lr", lr, 0, 1000, "learning rate of Adam"), PRECISION_OPTION,
        NN_OPTION("depth", depth, 0, MAX_DEPTH, "blocks of the deep network; 0: no deep network"), NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "skip_connection",
        "Shows the effect of a skip connection. f, two linear layers with a ReLU between them, and x + f(x) learn to\n"
        "return their input x, rows of 10 standard normal numbers. Then the same with many such blocks in a row, and the\n"
        "gradient at each block: the factors f'(x) make it vanish, the factors 1 + f'(x) keep it.\n\n"
        "Writes skip_connection.csv (step,ffn,skip: the losses of f(x) and x + f(x)), skip_deep.csv (the same of many\n"
        "blocks) and skip_gradient.csv (step,block,ffn,skip: the norms of the gradients), and draws them.", options });
    AgScope data = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(rows, WIDTH), 0, 1);
    printf("f(x) and x + f(x) learn to return x: %lld rows of %d numbers.\n", (long long)rows, WIDTH);
    compare(1, x, csv_open("skip_connection.csv", "step,ffn,skip"), NULL);
    picture_draw("skip_connection");
    if (depth > 0) {
        printf("\nThe same with %lld blocks in a row.\n", (long long)depth);
        compare(depth, x, csv_open("skip_deep.csv", "step,ffn,skip"), csv_open("skip_gradient.csv", "step,block,ffn,skip"));
        picture_draw("skip_gradient");
    }
    ag_end(data);
    return example_end();
}
