/* norm_conventions.c: layer normalization as four texts write it, on the same numbers. */
#include <math.h>

#include "common/common.h"
#include "kaeru/nn.h"

static const struct { const char *name, *formula; AgNorm kind; } norms[] = {
    { "PyTorch", "(x - mean) / sqrt(variance + 1e-5)", AG_NORM_PYTORCH },
    { "annotated", "(x - mean) / (deviation + 1e-6), the variance divided by n - 1", AG_NORM_ANNOTATED },
    { "book", "(x - mean) / (deviation + 1e-6)", AG_NORM_STD_EPS },
    { "seminar", "(x - mean) / deviation", AG_NORM_STD },
};
enum { N_NORMS = sizeof norms / sizeof *norms, WIDTH = 4 };

static double deviation(Tensor *x)
{
    return sqrt(tensor_item(ag_var_dims(x, DIMS(-1), false, false)));
}

static void print_normalized(const char *what, Tensor *x)
{
    printf("%s\n", what);
    for (int k = 0; k < N_NORMS; k++) {
        const real *y = tensor_data(ag_layer_norm(x, NULL, NULL, norms[k].kind));
        printf("  %-10s", norms[k].name);
        for (int i = 0; i < WIDTH; i++) {
            printf(" %9.5f", (double)y[i]);
        }
        printf("   %s\n", norms[k].formula);
    }
}

/* The same row with smaller and smaller differences. */
static void write_deviations(Tensor *x)
{
    Csv *csv = csv_open("norm_conventions.csv", "deviation,pytorch,annotated,book,seminar");
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
    const Option options[] = { OPTIONS_END };
    example_begin(argc, argv, &(Program){ "norm_conventions",
        "Teaches layer normalization: each row gets the mean 0 and the deviation 1. Texts disagree in two details:\n"
        "what the variance is divided by, and where the small number stands that saves a row of equal numbers. On\n"
        "ordinary rows the small number does not show; on rows that hardly vary it decides.\n\n"
        "Writes norm_conventions.csv (deviation,pytorch,annotated,book,seminar: the deviation of a row before, and\n"
        "after each of the four), and draws it.", options });
    Scope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_from(SHAPE(WIDTH), (const real[]){ 1, 2, 3, 6 });
    print_normalized("The row 1, 2, 3, 6:", x);
    print_normalized("The same, a million times smaller:", ag_scale(x, 1e-6));
    print_normalized("A row of equal numbers, 3, 3, 3, 3:", tensor_full(SHAPE(WIDTH), 3));
    write_deviations(x);
    picture_draw("norm_conventions");
    ag_end(scope);
    return example_end();
}
