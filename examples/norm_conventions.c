/* norm_conventions.c: four definitions of layer normalization on the same numbers. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

static const struct { const char *name, *formula; AgNorm kind; } norms[] = {
    { "PyTorch", "(x - mean) / sqrt(variance + 1e-5)", AG_NORM_PYTORCH },
    { "annotated", "(x - mean) / (deviation + 1e-6), the variance divided by n - 1", AG_NORM_ANNOTATED },
    { "std + eps", "(x - mean) / (deviation + 1e-6)", AG_NORM_STD_EPS },
    { "std", "(x - mean) / deviation", AG_NORM_STD },
};
enum { N_NORMS = sizeof norms / sizeof *norms, WIDTH = 4 };

static double deviation(Tensor *x)
{
    return sqrt(tensor_item(ag_var_dims(x, DIMS(-1), false, false)));
}

/* gamma and beta, (WIDTH) each, or NULL: 1 and 0. */
static void print_normalized(const char *what, Tensor *x, Tensor *gamma, Tensor *beta)
{
    say("%s\n", what);
    for (int k = 0; k < N_NORMS; k++) {
        const ag_real *y = tensor_data(ag_layer_norm(x, gamma, beta, norms[k].kind));
        say("  %-10s", norms[k].name);
        for (int i = 0; i < WIDTH; i++) {
            printf(" %9.5f", (double)y[i]);
        }
        say("   %s\n", norms[k].formula);
    }
}

/* The deviation after each norm, by the deviation of the row before. */
static void write_deviations(Tensor *x)
{
    Csv *csv = csv_open("norm_conventions.csv", "deviation,pytorch,annotated,std_eps,std");
    for (int i = -32; i <= 8; i++) {
        Tensor *small = ag_scale(x, ag_math_pow(10, i / 4.0) / deviation(x));
        double out[N_NORMS];
        for (int k = 0; k < N_NORMS; k++) {
            out[k] = deviation(ag_layer_norm(small, NULL, NULL, norms[k].kind));
        }
        csv_row(csv, deviation(small), out[0], out[1], out[2], out[3]);
    }
    csv_close(csv);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "norm_conventions",
        "Shows four definitions of layer normalization, which gives each row mean 0 and deviation 1. They differ in two\n"
        "details: whether the variance is divided by n or n - 1, and where a small number is added to avoid a division\n"
        "by zero. The small number has no visible effect on ordinary rows, but a large one on nearly constant rows.\n"
        "n - 1 instead of n changes the result for short rows only.\n\n"
        "Writes norm_conventions.csv (deviation,pytorch,annotated,std_eps,std: the deviation of a row before, and\n"
        "after each of the four norms), and draws it.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_from(SHAPE(WIDTH), (const ag_real[]){ 1, 2, 3, 6 });
    print_normalized("The row 1, 2, 3, 6:", x, NULL, NULL);
    print_normalized("The same, a million times smaller:", ag_scale(x, 1e-6), NULL, NULL);
    print_normalized("A row of equal numbers, 3, 3, 3, 3:", tensor_full(SHAPE(WIDTH), 3), NULL, NULL);
    say("Here std divides 0 by 0. kaeru returns 0; without such a rule the result is NaN, not a number.\n"
        "annotated gives an ordinary row the deviation sqrt((n - 1) / n): 0.866 for n = 4, 0.999 for n = 512.\n");
    LayerNorm *norm = nn_layer_norm_new(WIDTH);
    say("Before training gamma is %g and beta is %g everywhere. With others, gamma * (...) + beta:\n",
        (double)tensor_data(norm->gamma)[0], (double)tensor_data(norm->beta)[0]);
    ag_free(norm);
    print_normalized("The row 1, 2, 3, 6, gamma 2, 1, 1, 0.5 and beta 0, 10, 0, 0:", x,
                     tensor_from(SHAPE(WIDTH), (const ag_real[]){ 2, 1, 1, 0.5 }),
                     tensor_from(SHAPE(WIDTH), (const ag_real[]){ 0, 10, 0, 0 }));
    write_deviations(x);
    picture_draw("norm_conventions");
    ag_end(scope);
    return example_end();
}
