/* write_backward.c: an exercise: write the backward rule of an operation; the gradient check finds what is wrong. */
#include <stdlib.h>

#include "common/common.h"
#include "write_backward/exercise.h"

enum { ROWS = 2, COLUMNS = 3 };
static const char *file = "examples/write_backward/exercise.c";

static Tensor *call(Tensor **in, void *arg)
{
    (void)arg;
    return ag_custom(&weighted_square, tensor_shape(in[0]), in, 2, NULL, 0);
}

/* Does a pass back leave every entry of in[i]'s gradient at 0? Then its part of the rule is still to be written. */
static bool is_unwritten(Tensor **in, int i)
{
    Scope s = ag_begin(AG_RECORD);
    tensor_zero_grad(in[i]);
    ag_backward(ag_sum(call(in, NULL)));
    double squares = ag_grad_sum_squares(in[i]);
    tensor_zero_grad(in[i]);
    ag_end(s);
    return squares == 0;
}

/* Misuse inside the rule, such as reading a value that the operation does not declare: the message says what. */
static void tell_misuse(const char *message)
{
    printf("\nThe rule stopped: %s\n", message);
    example_complain("the backward rule in %s is not right yet", file);
    exit(example_end());
}

static void show(const char *name, Tensor *t)
{
    printf("%s\n", name);
    tensor_print(t);
}

static void show_forward(Tensor **in)
{
    Scope s = ag_begin(AG_NO_GRAD);
    printf("The operation: y[i][j] = w[j] x[i][j]^2\n\n");
    show("x", ag_detach(in[0]));
    show("w", ag_detach(in[1]));
    show("y", call(in, NULL));
    ag_end(s);
}

/* What the rule makes of a gradient that can be followed by hand. */
static void show_backward(Tensor **in)
{
    Scope s = ag_begin(AG_RECORD);
    Tensor *dy = tensor_from(SHAPE(ROWS, COLUMNS), (real[]){ 1, -1, 2, 0.5f, 3, -2 });
    ag_backward_from(call(in, NULL), dy);
    printf("\nOn the way back your rule is given dy, the derivative of the loss by each entry of y, say\n\n");
    show("dy", dy);
    printf("\nand makes of it\n\n");
    show("dx", tensor_grad(in[0]));
    show("dw", tensor_grad(in[1]));
    for (int i = 0; i < 2; i++) {
        tensor_zero_grad(in[i]);
    }
    ag_end(s);
}

static void show_story(Tensor **in)
{
    Scope s = ag_begin(AG_RECORD);
    Tensor *y = tensor_name(call(in, NULL), "y");
    printf("\nEvery entry is right. Your operation among others, with the loss y[0][0] + y[0][1] + ...:\n\n");
    ag_explain(stdout, tensor_name(ag_sum(y), "loss"));
    if (!weighted_square.backward_text) {
        printf("\nIt has no formula of the rule yet: that is the last field of weighted_square, in %s.\n", file);
    }
    ag_end(s);
}

int main(int argc, char **argv)
{
    const Option options[] = { OPTIONS_END };
    example_begin(argc, argv, &(Program){ "write_backward",
        "An exercise. An operation that the library does not have, y[i][j] = w[j] x[i][j]^2, computes y already; how\n"
        "the gradient of y becomes those of x and w is yours to write, in examples/write_backward/exercise.c. Run\n"
        "this again and again: it compares your rule with what small steps of each entry of x and w do, and says\n"
        "which entries are off, by what factor, and in which way. The status is 0 once all are right, and 1 until\n"
        "then.",
        options });
    ag_on_usage_error(tell_misuse);
    Scope s = ag_begin(AG_NO_GRAD);
    Tensor *in[] = { tensor_from(SHAPE(ROWS, COLUMNS), (real[]){ 0.5f, -1, 1.5f, 1, 0.75f, -0.5f }),
                     tensor_from(SHAPE(COLUMNS), (real[]){ 1, -2, 0.5f }) };
    tensor_set_requires_grad(tensor_name(in[0], "x"), true);
    tensor_set_requires_grad(tensor_name(in[1], "w"), true);
    show_forward(in);
    show_backward(in);
    printf("\nThe gradient check uses the operation twice, with a random dy for each use. The loss is then the sum of\n"
           "all dy[i][j] y[i][j], and what a small step of an entry of x or w does to it (\"numerical\") is compared\n"
           "with what your rule says (\"gradient\").\n\n");
    bool right = ag_gradcheck(call, NULL, in, 2, stdout);
    if (right) {
        show_story(in);
    } else if (is_unwritten(in, 0) && is_unwritten(in, 1)) {
        example_complain("the backward rule in %s is not written yet: nothing arrives at x and w", file);
    } else {
        example_complain("the backward rule in %s is not right yet", file);
    }
    ag_end(s);
    return example_end();
}
