/* attention_geometry.c: self-attention in the plane: it shrinks the polygon of a sentence. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

enum { N = 4, D = 2, SENTENCES = 1000 };
/* "This is a pen." Each word is a point in the plane; the sentence is a polygon. */
static const char *const token[N] = { "これ", "は", "ペン", "です" };
static const ag_real words[N][D] = { { -1.7, -0.9 }, { -1.0, 1.3 }, { 1.5, 1.2 }, { 1.2, -1.4 } };
/* Queries, keys and values are linear maps of the words. If `value` is not the identity, the polygon first moves and then
 * shrinks: try it. */
static const ag_real query[D][D] = { { 1.1, 0.2 }, { -0.1, 0.9 } }, key[D][D] = { { 0.9, -0.1 }, { 0.2, 1.1 } },
                  value[D][D] = { { 1.0, 0.0 }, { 0.0, 1.0 } };
static const double temperatures[] = { 0.5, 1, 2, 4, 16 };
static int64_t layers = 4;

typedef struct { Tensor *query, *key, *value; } Maps;                   /* (D,D) each */

/* Words are rows, as in the paper: softmax(Q K^T / sqrt(D)) V, where Q = X W_Q^T. x (N,D) -> (N,D) */
static Tensor *attend(Maps w, Tensor *x, double temperature, Tensor **weights)
{
    Tensor *q = ag_linear(x, w.query, NULL), *k = ag_linear(x, w.key, NULL), *v = ag_linear(x, w.value, NULL);
    return nn_attention(ag_scale(q, 1 / temperature), k, v, NULL, NULL, weights);
}

/* Words are columns: V softmax(K^T Q / sqrt(D)), where Q = W_Q X. x (D,N) -> (D,N) */
static Tensor *attend_columns(Maps w, Tensor *x)
{
    Tensor *q = ag_matmul(w.query, x), *k = ag_matmul(w.key, x), *v = ag_matmul(w.value, x);
    return ag_matmul(v, ag_softmax(ag_scale(ag_matmul(ag_transpose(k, 0, 1), q), 1 / sqrt(D)), 0));
}

/* The largest distance of the points from the convex hull of the corners, both (N,2); 0 if all are inside. Each edge of the
 * hull joins two corners, so it is enough to check all pairs of corners. */
static double beyond_hull(Tensor *points, Tensor *corners)
{
    const ag_real *p = tensor_data(points), *c = tensor_data(corners);
    double worst = 0;
    for (int edge = 0; edge < N * N; edge++) {
        const ag_real *from = c + edge / N * D, *to = c + edge % N * D;
        double x = (double)(to[1] - from[1]), y = (double)(from[0] - to[0]), length = sqrt(x * x + y * y);
        double farthest = -INFINITY;
        for (int i = 0; i < N; i++) {
            farthest = fmax(farthest, (double)c[i * D] * x + (double)c[i * D + 1] * y);
        }
        for (int i = 0; i < N && length > 0; i++) {
            worst = fmax(worst, ((double)p[i * D] * x + (double)p[i * D + 1] * y - farthest) / length);
        }
    }
    return worst;
}

static double area(Tensor *polygon)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        const ag_real *a = tensor_data(polygon) + i * D, *b = tensor_data(polygon) + (i + 1) % N * D;
        sum += (double)(a[0] * b[1]) - (double)(a[1] * b[0]);
    }
    return fabs(sum) / 2;
}

static void write_polygon(Csv *csv, double number, Tensor *x)
{
    for (int i = 0; i < N; i++) {
        csv_named_row(csv, token[i], number, (double)tensor_data(x)[i * D], (double)tensor_data(x)[i * D + 1]);
    }
}

static void print_attention(Tensor *scores, Tensor *weights)              /* (N,N) each */
{
    say("Scores q.k / sqrt(D) of each word (row) for これ, は, ペン and です (columns), and their softmax, the weights:\n");
    for (int i = 0; i < N * N; i += N) {
        const ag_real *c = tensor_data(scores) + i, *w = tensor_data(weights) + i;
        say("  %6.3f  %6.3f  %6.3f  %6.3f    %6.3f  %6.3f  %6.3f  %6.3f  %s\n", (double)c[0], (double)c[1], (double)c[2],
            (double)c[3], (double)w[0], (double)w[1], (double)w[2], (double)w[3], token[i / N]);
    }
}

/* For random sentences and maps, the outputs are inside the hull of the values. Returns the largest distance from it. */
static double try_random_sentences(void)
{
    double worst = 0;
    for (int i = 0; i < SENTENCES; i++) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        AgShape square = SHAPE(D, D);
        Maps w = { tensor_normal(square, 0, 1), tensor_normal(square, 0, 1), tensor_normal(square, 0, 1) };
        Tensor *x = tensor_normal(SHAPE(N, D), 0, 1);
        worst = fmax(worst, beyond_hull(attend(w, x, 1, NULL), ag_linear(x, w.value, NULL)));
        ag_end(scope);
    }
    return worst;
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_OPTION("layers", layers, 1, 100, "layers of attention"), NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "attention_geometry",
        "Shows self-attention as geometry. Words are points in the plane; a sentence is a polygon. Each word becomes a\n"
        "weighted mean of the values, so the polygon shrinks: more at a higher temperature, and again in every layer. No\n"
        "point leaves the convex hull of the values. The formulas with words as rows and with words as columns give the\n"
        "same numbers.\n\n"
        "Writes attention_geometry.csv (token,temperature,x,y: temperature 0 is before attention) and\n"
        "attention_layers.csv (token,layer,x,y), and draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    AgShape square = SHAPE(D, D);
    Maps w = { tensor_from(square, query[0]), tensor_from(square, key[0]), tensor_from(square, value[0]) };
    Tensor *x = tensor_from(SHAPE(N, D), words[0]), *v = ag_linear(x, w.value, NULL), *weights;

    Tensor *rows = attend(w, x, 1, &weights), *columns = attend_columns(w, ag_transpose(x, 0, 1));
    Tensor *products = ag_linear(ag_linear(x, w.query, NULL), ag_linear(x, w.key, NULL), NULL);         /* Q K^T */
    print_attention(ag_scale(products, 1 / sqrt(D)), weights);
    say("Words as rows, softmax(QK'/sqrt(D))V, and as columns, V softmax(K'Q/sqrt(D)), differ by at most %.2g.\n\n",
        tensor_item(ag_max(ag_abs(ag_sub(rows, ag_transpose(columns, 0, 1))))));

    double worst = 0;
    Csv *csv = csv_open("attention_geometry.csv", "token,temperature,x,y");
    write_polygon(csv, 0, v);
    for (size_t i = 0; i < sizeof temperatures / sizeof *temperatures; i++) {
        Tensor *y = attend(w, x, temperatures[i], NULL);
        write_polygon(csv, temperatures[i], y);
        worst = fmax(worst, beyond_hull(y, v));
        say("temperature %5g: the polygon keeps %5.1f %% of its area\n", temperatures[i], 100 * area(y) / area(v));
    }
    csv_close(csv);

    csv = csv_open("attention_layers.csv", "token,layer,x,y");
    double before = area(x), share = 100;
    write_polygon(csv, 0, x);
    for (int64_t i = 1; i <= layers && share >= 1e-4; i++) {
        v = ag_linear(x, w.value, NULL);
        x = attend(w, x, 1, NULL);
        write_polygon(csv, (double)i, x);
        worst = fmax(worst, beyond_hull(x, v));
        share = 100 * area(x) / before;
        say("layer %2lld: the polygon keeps %8.4f %% of its area%s\n", (long long)i, share,
            share < 1e-4 ? ": it is a point, also in all later layers" : "");
    }
    csv_close(csv);
    worst = fmax(worst, try_random_sentences());
    say("In all these and %d random sentences, no point lies more than %.1g beyond the hull of the values.\n",
        SENTENCES, worst);
    picture_draw("attention_geometry");
    ag_end(scope);
    return example_end();
}
