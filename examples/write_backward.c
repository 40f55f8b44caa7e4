/* write_backward.c: an exercise: write the backward rule of an operation; the gradient check shows the errors in it. */
#include <stdlib.h>

#include "common/common.h"
#include "write_backward/exercise.h"
#include "write_backward/hint.h"

enum { ROWS = 2, COLUMNS = 3 };
static const char *file = "examples/write_backward/exercise.c";

static Tensor *call(Tensor **in, void *arg)
{
    (void)arg;
    return ag_custom(&weighted_square, tensor_shape(in[0]), in, 2, NULL, 0);
}

/* Whether the rule is right for another shape, too. Says so if it is not. */
static bool other_shape_is_right(void)
{
    enum { MORE_ROWS = 4, MORE_COLUMNS = 5 };
    Tensor *in[] = { tensor_uniform(SHAPE(MORE_ROWS, MORE_COLUMNS), -1, 1), tensor_uniform(SHAPE(MORE_COLUMNS), -1, 1) };
    tensor_set_requires_grad(in[0], true);
    tensor_set_requires_grad(in[1], true);
    bool right = ag_gradcheck(call, NULL, in, 2, NULL);
    if (!right) {
        say("  The rule is right for x of %d rows and %d columns, but not for %d and %d: use rows and columns, and\n"
            "  no whole numbers (int) for values.\n",
            ROWS, COLUMNS, MORE_ROWS, MORE_COLUMNS);
    }
    return right;
}

/* A usage error inside the rule, such as reading a value that the operation does not declare. */
static void report_usage_error(const char *message)
{
    say("\nThe rule stopped: ");
    FILE *report = report_begin();
    fprintf(report, "%s\n", message);
    report_end(report);
    example_complain("the backward rule in %s is not right yet", file);
    exit(example_end());
}

static void show(const char *name, Tensor *t)
{
    say("%s\n", name);
    tensor_print(t);
}

static void show_forward(Tensor **in)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    say("The operation: y[i][j] = w[j] x[i][j]^2\n\n");
    show("x", ag_detach(in[0]));
    show("w", ag_detach(in[1]));
    show("y", call(in, NULL));
    ag_end(s);
}

/* The result of the rule for a gradient with simple numbers, to check by hand. */
static void show_backward(Tensor **in)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *dy = tensor_from(SHAPE(ROWS, COLUMNS), (ag_real[]){ 1, -1, 2, 0.5f, 3, -2 });
    ag_backward_from(call(in, NULL), dy);
    say("\nIn the backward pass your rule gets dy, the derivative of the loss by each entry of y, for example\n\n");
    show("dy", dy);
    say("\nand computes from it\n\n");
    show("dx", tensor_grad(in[0]));
    show("dw", tensor_grad(in[1]));
    for (int i = 0; i < 2; i++) {
        tensor_zero_grad(in[i]);
    }
    ag_end(s);
}

static void show_explanation(Tensor **in)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = tensor_name(call(in, NULL), "y");
    say("\nEvery entry is right. The backward pass with your operation, for the loss y[0][0] + y[0][1] + ...:\n\n");
    FILE *report = report_begin();
    ag_explain(report, tensor_name(ag_sum(y), "loss"));
    report_end(report);
    if (!weighted_square.backward_text) {
        say("\nIt has no formula of the rule yet: write it in the last field of weighted_square, in %s.\n", file);
    }
    ag_end(s);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "write_backward",
        "An exercise about backward rules. A new operation, y[i][j] = w[j] x[i][j]^2, already computes y. Write its\n"
        "backward rule, which computes the gradients of x and w from that of y, in\n"
        "examples/write_backward/exercise.c, and run this program after each change. It compares your gradients with\n"
        "numerical gradients and reports which entries are wrong, by what factor, and the likely reason. The exit status\n"
        "is 0 if all entries are right, else 1. A formula of the rule is compared if it is written as x0, x1 and dy with\n"
        "factors and powers, as in dx1 = 3 x0^2 dy; a wrong one also gives 1.", options });
    ag_on_usage_error(report_usage_error);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *in[] = { tensor_from(SHAPE(ROWS, COLUMNS), (ag_real[]){ 0.5f, -1, 1.5f, 1, 0.75f, -0.5f }),
                     tensor_from(SHAPE(COLUMNS), (ag_real[]){ 1, -2, 0.5f }) };
    tensor_set_requires_grad(tensor_name(in[0], "x"), true);
    tensor_set_requires_grad(tensor_name(in[1], "w"), true);
    show_forward(in);
    show_backward(in);
    say("\nThe gradient check uses the operation twice, with a random dy for each use. The loss is the sum of all\n"
        "dy[i][j] y[i][j]. Its derivative by each entry of x and w, the numerical gradient (\"numerical\"), is compared\n"
        "with the result of your rule (\"gradient\").\n\n");
    FILE *report = report_begin();
    bool right = ag_gradcheck(call, NULL, in, 2, report);
    report_end(report);
    if (!right && is_unwritten()) {
        example_complain("the backward rule in %s is not written yet: nothing arrives at x and w", file);
    } else if (print_side_effects()) {
        example_complain("the backward rule in %s is not right yet", file);
    } else if (right && other_shape_is_right()) {
        show_explanation(in);
        if (print_formula_mistake()) {
            example_complain("the formula of the rule in %s is not right yet", file);
        }
    } else {
        if (!right) {
            print_hints();
        }
        example_complain("the backward rule in %s is not right yet", file);
    }
    ag_end(s);
    return example_end();
}
