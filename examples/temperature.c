/* temperature.c: how sharply softmax chooses, and why attention divides by the square root of its width. */
#include <math.h>

#include "common/common.h"
#include "kaeru/attention.h"

/* How well これ ("this") fits the words of "This is a pen.": made up. */
enum { WORDS = 4 };
static const char *const token[WORDS] = { "これ", "は", "ペン", "です" };
static const real fits[WORDS] = { 1.5, 0.5, 2.0, 0.0 };
static const double temperatures[] = { 0.1, 0.25, 0.5, 1, 2, 4, 10 };
static int64_t queries = 512, keys = 32, widest = 1024;

/* Mean over rows of -sum of p ln p, where p is the softmax of each row: how undecided it is, from 0 to ln(columns). */
static double mean_entropy(Tensor *scores)
{
    Tensor *log_p = ag_log_softmax(scores, -1);
    return -tensor_item(ag_mean(ag_sum_dims(ag_mul(ag_exp(log_p), log_p), DIMS(-1), false)));
}

static void show_temperatures(void)
{
    Csv *csv = csv_open("temperature.csv", "token,score,temperature,weight");
    printf("softmax(scores / temperature): the scores are 1.5, 0.5, 2 and 0\n\ntemperature  weights%28s entropy\n", "");
    for (size_t t = 0; t < sizeof temperatures / sizeof *temperatures; t++) {
        Tensor *scores = ag_scale(tensor_from(SHAPE(WORDS), fits), 1 / temperatures[t]);
        Tensor *weights = ag_softmax(scores, -1);
        printf("%11g", temperatures[t]);
        for (int i = 0; i < WORDS; i++) {
            double weight = (double)tensor_data(weights)[i];
            csv_named_row(csv, token[i], (double)fits[i], temperatures[t], weight);
            printf("  %.4f", weight);
        }
        printf("  %9.4f\n", mean_entropy(scores));
    }
    csv_close(csv);
}

/* What softmax makes of scores (queries,keys), and how much passes through it of a gradient that arrives at the
 * weights: the mean norm of a query's gradient. */
typedef struct { double variance, entropy, gradient; } Effect;

static Effect effect(Tensor *scores, Tensor *arriving)
{
    Scope scope = ag_begin(AG_RECORD);
    Tensor *s = tensor_set_requires_grad(ag_detach(scores), true);
    Effect e = { tensor_item(ag_mean(ag_var_dims(s, DIMS(-1), true, false))), mean_entropy(s), 0 };
    ag_backward_from(ag_softmax(s, -1), arriving);
    Tensor *ds = tensor_grad(s);
    Tensor *norm = ag_sqrt(ag_sum_dims(ag_mul(ds, ds), DIMS(-1), false));
    e.gradient = tensor_item(ag_mean(norm));
    ag_end(scope);
    return e;
}

/* Queries and keys of K standard normal numbers each: their inner products have variance K. */
static void show_widths(void)
{
    Csv *csv = csv_open("temperature_width.csv",
                        "width,variance,variance_scaled,entropy,entropy_scaled,gradient,gradient_scaled");
    printf("\n%lld queries look at %lld keys: scores q.k and q.k / sqrt(K)\n\n"
           "         variance of scores   entropy of weights   gradient at the scores\n"
           "    K       q.k     scaled       q.k     scaled       q.k     scaled\n",
           (long long)queries, (long long)keys);
    for (int64_t width = 1; width <= widest; width *= 2) {
        Scope scope = ag_begin(AG_NO_GRAD);
        Tensor *q = tensor_normal(SHAPE(queries, width), 0, 1), *k = tensor_normal(SHAPE(keys, width), 0, 1);
        Tensor *arriving = tensor_normal(SHAPE(queries, keys), 0, 1), *scores = ag_matmul(q, ag_transpose(k, 0, 1));
        Effect raw = effect(scores, arriving), scaled = effect(ag_scale(scores, 1 / sqrt((double)width)), arriving);
        csv_row(csv, (double)width, raw.variance, scaled.variance, raw.entropy, scaled.entropy, raw.gradient,
                scaled.gradient);
        printf("%5lld %9.3f %10.3f %9.3f %10.3f %9.4f %10.4f\n", (long long)width, raw.variance, scaled.variance,
               raw.entropy, scaled.entropy, raw.gradient, scaled.gradient);
        ag_end(scope);
    }
    csv_close(csv);
}

int main(int argc, char **argv)
{
    const Option options[] = {
        option_int("queries", &queries, 1, 100000, "queries for the measurements"),
        option_int("keys", &keys, 2, 10000, "keys that each query looks at"),
        option_int("widest", &widest, 1, 4096, "the largest K"),
        OPTIONS_END
    };
    example_begin(argc, argv, &(Program){ "temperature",
        "Teaches how sharply softmax chooses. Divided by a low temperature, scores give nearly all the weight to the\n"
        "largest; by a high one, the same to all. Inner products of K numbers grow like sqrt(K), which works like a\n"
        "low temperature: the weights fall on one key, and softmax lets no gradient pass. Attention divides by\n"
        "sqrt(K), so that none of this depends on K.\n\n"
        "Writes temperature.csv (token,score,temperature,weight) and temperature_width.csv\n"
        "(width,variance,variance_scaled,entropy,entropy_scaled,gradient,gradient_scaled), and draws them.", options });
    Scope scope = ag_begin(AG_NO_GRAD);
    show_temperatures();
    show_widths();
    picture_draw("temperature");
    picture_draw("temperature_width");
    ag_end(scope);
    return example_end();
}
