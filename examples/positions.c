/* positions.c: positional encoding: the position of a word as a vector of sines and cosines. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

static int64_t width = 128, length = 100;
static double base = 10000;                                             /* of the paper, and of the library */
static bool learned;

/* The angle per position of pair k: dimensions 2k (sine) and 2k+1 (cosine). */
static double frequency(int64_t k)
{
    return ag_math_pow(base, -2 * (double)k / (double)width);
}

/* Replaces the library's table (length,width) by one with another base. */
static void fill_with_base(Tensor *pe)
{
    for (int64_t i = 0; i < length; i++) {
        for (int64_t d = 0; d < width; d++) {
            double angle = (double)i * frequency(d / 2);
            double value = d % 2 == 0 ? ag_math_sin(angle) : ag_math_cos(angle);
            tensor_mutable_data(pe)[i * width + d] = (ag_real)value;
        }
    }
}

static void print_waves(void)
{
    say("dimensions   wave of sine and cosine\n");
    for (int64_t k = 0; k < width / 2; k += width / 2 > 8 ? width / 16 : 1) {
        say("%4lld, %-5lld  repeats after %.5g positions\n", (long long)(2 * k), (long long)(2 * k + 1),
            2 * 3.14159265358979 / frequency(k));
    }
}

static void write_table(Tensor *pe)
{
    Csv *csv = csv_open("positions.csv", "position,dimension,value");
    for (int64_t i = 0; i < length; i++) {
        for (int64_t d = 0; d < width; d++) {
            csv_row(csv, (double)i, (double)d, (double)tensor_data(pe)[i * width + d]);
        }
    }
    csv_close(csv);
}

/* PE_i . PE_j = sum over k of cos((i - j) frequency(k)), since sin a sin b + cos a cos b = cos(a - b). */
static double theory(int64_t distance)
{
    double sum = 0;
    for (int64_t k = 0; k < width / 2; k++) {
        sum += ag_math_cos((double)distance * frequency(k));
    }
    return sum;
}

/* products (length,length); returns the largest difference from the theory. */
static double write_products(Tensor *products)
{
    Csv *csv = csv_open("positions_products.csv", "i,j,product");
    double worst = 0;
    for (int64_t i = 0; i < length; i++) {
        for (int64_t j = 0; j < length; j++) {
            double product = (double)tensor_data(products)[i * length + j];
            csv_row(csv, (double)i, (double)j, product);
            worst = fmax(worst, fabs(product - theory(i - j)));
        }
    }
    csv_close(csv);
    return worst;
}

static void compare(Tensor *products)
{
    Csv *csv = csv_open("positions_theory.csv", "distance,theory,measured");
    for (int64_t d = 0; d < length; d++) {
        csv_row(csv, (double)d, theory(d), (double)tensor_data(products)[d]);
    }
    say("\ndistance   sum of cosines   PE_0 . PE_distance%s\n", learned ? ": learned, not sinusoids" : "");
    for (int64_t d = 0; d < length; d = d < 4 ? d + 1 : 2 * d) {
        printf("%8lld %16.6f %20.6f\n", (long long)d, csv_get(csv, d, 1), csv_get(csv, d, 2));
    }
    chart_print(csv, &(Chart){ "inner product", "distance", false, { { "measured", "PE_0 . PE_distance" } } });
    csv_close(csv);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("width", width, 2, 1024, "D, the width of a position's vector; even"),
        NN_OPTION("length", length, 2, 1000, "positions"),
        NN_OPTION("base", base, 1, 1e12, "of the frequencies; a hyperparameter"),
        NN_FLAG_OPTION("learned", learned, "the vectors of a model that learns its positions, before training"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "positions",
        "Shows how positions become vectors. Attention does not depend on the order of the words, so a vector for the\n"
        "position is added to each word: sines and cosines of the position, with high frequencies first. The inner\n"
        "product of two such vectors depends only on the distance of the positions, and is largest at distance 0.\n\n"
        "Writes positions.csv (position,dimension,value), positions_products.csv (i,j,product: PE_i . PE_j) and\n"
        "positions_theory.csv (distance,theory,measured), and draws them.", options });
    if (width % 2 != 0) {
        example_usage_error("--width %lld: expected an even number", (long long)width);
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    PositionalEncoding *positions = nn_positional_encoding_new_with(width, 0, length, learned);
    Tensor *pe = ag_reshape(positions->pe, SHAPE(length, width));
    if (!learned && base != 10000) {
        fill_with_base(pe);
    }
    Tensor *products = ag_matmul(pe, ag_transpose(pe, 0, 1));

    say("%lld positions as vectors of %lld numbers%s\n", (long long)length, (long long)width,
        learned ? ": random ones, from which a model begins to learn." : " between -1 and 1.\n");
    if (!learned) {
        print_waves();
    }
    compare(products);
    double worst = write_products(products);
    if (!learned) {
        say("Over all %lld pairs, the sum of cosines and the inner product differ by at most %.2g.\n",
            (long long)(length * length), worst);
    }
    write_table(pe);
    picture_draw("positions");
    picture_draw("positions_products");
    ag_free(positions);
    ag_end(scope);
    return example_end();
}
