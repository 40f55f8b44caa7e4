/* backprop.c: backpropagation through a small graph, step by step; why order matters; the gradient check. */
#include "common/common.h"
#include "kaeru/autograd.h"

static double h = 0.01;

typedef Tensor *Function(Tensor **in);

static Tensor *formula(Tensor **in)                                  /* y = u tanh u with u = w x + b */
{
    Tensor *p = tensor_name(ag_mul(in[0], in[1]), "p");
    Tensor *u = tensor_name(ag_add(p, in[2]), "u"), *v = tensor_name(ag_tanh(u), "v");
    return tensor_name(ag_mul(u, v), "y");
}

static Tensor *network(Tensor **in)                                     /* two inputs, two hidden numbers, one output */
{
    Tensor *z = tensor_name(ag_linear(in[0], in[1], in[2]), "z"), *a = tensor_name(ag_tanh(z), "a");
    return tensor_name(ag_mse_loss(tensor_name(ag_linear(a, in[3], in[4]), "out"), in[5]), "loss");
}

/* f's result, without recording a graph. */
static double value(Function *f, Tensor **in)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    double y = tensor_item(f(in));
    ag_end(s);
    return y;
}

/* The derivative of f by one number, from its values at h above and below: a central difference. */
static double slope(Function *f, Tensor **in, ag_real *x)
{
    ag_real before = *x;
    *x = before + (ag_real)h;
    double up = value(f, in), above = (double)*x;
    *x = before - (ag_real)h;
    double down = value(f, in), below = (double)*x;
    *x = before;
    return (up - down) / (above - below);
}

static void compare(Function *f, Tensor **in, int n)
{
    say("\nGradient check: the same by numerical derivatives, with a step of %g:\n"
        "  %-11s%12s%12s%14s\n", h, "", "backward", "numerical", "difference");
    for (int i = 0; i < n; i++) {
        const ag_real *gradient = tensor_grad_data(in[i]);
        for (int64_t j = 0; gradient && j < tensor_numel(in[i]); j++) {
            double numerical = slope(f, in, tensor_mutable_data(in[i]) + j);
            say("  %-4s item %lld%12.5f%12.5f%14.5f\n", tensor_get_name(in[i]), (long long)j, (double)gradient[j],
                numerical, (double)gradient[j] - numerical);
        }
    }
}

static void show(const char *title, const char *picture, Function *f, Tensor **in, int n)
{
    say("%s\n\n", title);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *loss = f(in);
    FILE *report = report_begin();
    ag_explain(report, loss);
    report_end(report);
    ag_backward(loss);
    compare(f, in, n);
    picture_frames(picture, f(in));               /* a new graph, because compare wrote the values that loss was made of */
    ag_end(s);
}

/* ---- why order matters: a = 1, b = a + a, c = b + b -------------------------------------------------------------- */

typedef struct Node { char name; double grad; struct Node *in[2]; } Node;
enum { LINES = 16 };
typedef struct { char line[LINES][64]; int n; } Log;

static void give(Log *log, const Node *from, Node *to, double gradient)
{
    to->grad += gradient;
    if (log->n++ < LINES) {
        snprintf(log->line[log->n - 1], sizeof log->line[0], tr("%c gives %c %g: %c has %g"), from->name, to->name,
                 gradient, to->name, to->grad);
    }
}

/* Each node once, the newest first: a node has received its whole gradient before it passes it on. */
static void in_order(Log *log, Node *node[], int n)
{
    for (int i = n - 1; i >= 0; i--) {
        for (int j = 0; j < 2 && node[i]->in[j]; j++) {
            give(log, node[i], node[i]->in[j], node[i]->grad);
        }
    }
}

/* Depth first: each time a gradient arrives, the node passes on all it has, so earlier gradients are passed on twice. */
static void at_once(Log *log, Node *node)
{
    for (int j = 0; j < 2 && node->in[j]; j++) {
        give(log, node, node->in[j], node->grad);
        at_once(log, node->in[j]);
    }
}

static void why_order_matters(void)
{
    Log right = { .n = 0 }, naive = { .n = 0 };
    Node a = { 'a', 0, { NULL, NULL } }, b = { 'b', 0, { &a, &a } }, c = { 'c', 1, { &b, &b } };
    Node a2 = { 'a', 0, { NULL, NULL } }, b2 = { 'b', 0, { &a2, &a2 } }, c2 = { 'c', 1, { &b2, &b2 } };
    in_order(&right, (Node *[]){ &a, &b, &c }, 3);
    at_once(&naive, &c2);
    say("\n2. Why order matters: a = 1, b = a + a, c = b + b\n\n  %-40s%s\n", "each node once, after all its users",
        "at once, whenever a gradient arrives");
    for (int i = 0; i < LINES && (i < right.n || i < naive.n); i++) {
        say("  %-40s%s\n", right.line[i], naive.line[i]);
    }
    say("  dc/da = %-32gdc/da = %g\n\nc = 4 a, so the left result is right.\n\n", a.grad, a2.grad);
}

static Tensor *leaf(const char *name, Tensor *t)
{
    return tensor_set_requires_grad(tensor_name(t, name), true);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("step", h, 1e-6, 1, "step of the numerical derivatives"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "backprop",
        "Shows how backpropagation computes gradients, in a formula and in a network with nine parameters: the backward\n"
        "rule of each operation, its inputs and the gradients that it passes on. Checks the gradients by numerical\n"
        "derivatives. Shows the error that results if a gradient is passed on before all of it has arrived.\n\n"
        "Draws both graphs, one frame for each step: backprop_formula_00.png to _09.png and backprop_network_00.png to\n"
        "_09.png.", options });
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *scalars[] = { leaf("w", tensor_full(AG_SCALAR, 0.5)), leaf("x", tensor_full(AG_SCALAR, 3)),
                          leaf("b", tensor_full(AG_SCALAR, -1)) };
    show("1. A formula: y = u tanh(u) with u = w x + b", "backprop_formula", formula, scalars, 3);
    why_order_matters();
    Tensor *numbers[] = { tensor_name(tensor_from(SHAPE(1, 2), (ag_real[]){ 1, 2 }), "x"),
                          leaf("W1", tensor_from(SHAPE(2, 2), (ag_real[]){ 0.5f, -0.5f, 1, 0.25f })),
                          leaf("b1", tensor_from(SHAPE(2), (ag_real[]){ 0.1f, -0.2f })),
                          leaf("W2", tensor_from(SHAPE(1, 2), (ag_real[]){ 1, -1.5f })),
                          leaf("b2", tensor_full(SHAPE(1), 0.3)),
                          tensor_name(tensor_ones(SHAPE(1, 1)), "target") };
    show("3. A network: out = tanh(x W1^T + b1) W2^T + b2, loss = (out - target)^2", "backprop_network", network,
         numbers, 6);
    ag_end(s);
    return example_end();
}
