/* vectors.c: the geometry of attention in the plane: words as points, linear maps, inner products. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"

enum { WORDS = 4, D = 2 };
static const char *const token[WORDS] = { "これ", "は", "ペン", "です" };        /* "This is a pen." */
static const ag_real words[WORDS][D] = { { -1.7, -0.9 }, { -1.0, 1.3 }, { 1.5, 1.2 }, { 1.2, -1.4 } };
/* A linear map that rotates and stretches: its columns are the images of (1, 0) and (0, 1). */
static const ag_real map[D][D] = { { -0.4, -1.3 }, { 1.1, 0.3 } }, center[D] = { 1.2, -0.3 };
static const ag_real a[D] = { 2.0, 0.6 }, b[D] = { 0.9, 1.6 };
static int64_t points = 200;

static void write_words(void)
{
    Csv *csv = csv_open("vectors_words.csv", "token,x,y");
    say("A word is a vector: a list of numbers, an arrow, a point.\n");
    for (int i = 0; i < WORDS; i++) {
        say("  (%4.1f, %4.1f)  %s\n", (double)words[i][0], (double)words[i][1], token[i]);
        csv_named_row(csv, token[i], (double)words[i][0], (double)words[i][1]);
    }
    csv_close(csv);
}

/* Points spread over a disk of radius 0.7, each multiplied by the same matrix. */
static void write_map(void)
{
    Csv *csv = csv_open("vectors_map.csv", "x,y,mapped_x,mapped_y");
    Tensor *before = tensor_zeros(SHAPE(points, D)), *m = tensor_from(SHAPE(D, D), map[0]);
    for (int64_t i = 0; i < points; i++) {
        double radius = 0.7 * sqrt(((double)i + 0.5) / (double)points);
        double angle = 2.399963 * (double)i;                            /* the golden angle spreads them evenly */
        tensor_mutable_data(before)[i * D] = center[0] + (ag_real)(radius * ag_math_cos(angle));
        tensor_mutable_data(before)[i * D + 1] = center[1] + (ag_real)(radius * ag_math_sin(angle));
    }
    Tensor *after = ag_matmul(before, ag_transpose(m, 0, 1));               /* a row x becomes the row (M x)' = x' M' */
    const ag_real *x = tensor_data(before), *y = tensor_data(after);
    for (int64_t i = 0; i < points; i++) {
        csv_row(csv, (double)x[i * D], (double)x[i * D + 1], (double)y[i * D], (double)y[i * D + 1]);
    }
    say("\nA matrix moves all points by one rule: x = (x1, x2) becomes (%.1f x1 %+.1f x2, %.1f x1 %+.1f x2).\n"
        "Areas are multiplied by the determinant, %.2f.\n", (double)map[0][0], (double)map[0][1],
        (double)map[1][0], (double)map[1][1], (double)(map[0][0] * map[1][1]) - (double)(map[0][1] * map[1][0]));
    csv_close(csv);
}

static double length(const ag_real v[D])
{
    return sqrt((double)(v[0] * v[0] + v[1] * v[1]));
}

static void write_projection(void)
{
    Csv *csv = csv_open("vectors_projection.csv", "a_x,a_y,b_x,b_y,foot_x,foot_y");
    double product = tensor_item(ag_matmul(tensor_from(SHAPE(1, D), a), tensor_from(SHAPE(D, 1), b)));
    double w = product / length(a), part = w / length(a);               /* projection of b on a: length, multiple of a */
    csv_row(csv, (double)a[0], (double)a[1], (double)b[0], (double)b[1], part * (double)a[0], part * (double)a[1]);
    say("\nAn inner product is the length of a projection times a length.\n"
        "  sum of products        a.b = %.1f * %.1f + %.1f * %.1f = %.4f\n"
        "  lengths and an angle   |a| |b| cos = %.4f * %.4f * %.4f = %.4f\n"
        "  projection of b on a   w = %.4f, and |a| w = %.4f\n",
        (double)a[0], (double)b[0], (double)a[1], (double)b[1], product, length(a), length(b), w / length(b),
        length(a) * length(b) * (w / length(b)), w, length(a) * w);
    csv_close(csv);
}

/* One matrix product computes the inner products of all pairs. */
static void print_products(void)
{
    Tensor *x = tensor_from(SHAPE(WORDS, D), words[0]), *products = ag_matmul(x, ag_transpose(x, 0, 1));
    say("\nThe inner products of all pairs of words, X X'. The shapes: (%d, %d) times (%d, %d) is (%d, %d).\n",
        WORDS, D, D, WORDS, WORDS, WORDS);
    for (int i = 0; i < WORDS; i++) {
        for (int j = 0; j < WORDS; j++) {
            printf("  %5.2f", (double)tensor_data(products)[i * WORDS + j]);
        }
        say("  %s\n", token[i]);
    }
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_OPTION("points", points, 1, 100000, "points that the matrix moves"), NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "vectors",
        "Shows the geometry of attention in the plane. A word is a point. A matrix moves all points by one rule; this is\n"
        "how words become queries, keys and values. An inner product measures how far one vector goes in the direction\n"
        "of another; this is how a query is compared with keys.\n\n"
        "Writes vectors_words.csv (token,x,y), vectors_map.csv (x,y,mapped_x,mapped_y) and vectors_projection.csv\n"
        "(a_x,a_y,b_x,b_y,foot_x,foot_y: the end of b's projection on a), and draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    write_words();
    write_map();
    write_projection();
    print_products();
    picture_draw("vectors");
    ag_end(scope);
    return example_end();
}
