/* temperature.c: softmax at several temperatures, and why attention divides scores by the square root of the width. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

/* Scores of the words of "This is a pen." for the query これ ("this"), made up. */
enum { WORDS = 4 };
static const char *const token[WORDS] = { "これ", "は", "ペン", "です" };
static const ag_real word_scores[WORDS] = { 1.5, 0.5, 2.0, -1.0 };
static const double temperatures[] = { 0.1, 0.25, 0.5, 1, 2, 4, 10 };
static int64_t queries = 512, keys = 32, widest = 1024;

/* Mean over rows of -sum of p ln p, where p is the softmax of each row: from 0 (one weight is 1) to ln(columns) (all equal). */
static double mean_entropy(Tensor *scores)
{
    Tensor *log_p = ag_log_softmax(scores, -1);
    return -tensor_item(ag_mean(ag_sum_dims(ag_mul(ag_exp(log_p), log_p), DIMS(-1), false)));
}

static void show_temperatures(void)
{
    Csv *csv = csv_open("temperature.csv", "token,score,temperature,weight");
    say("softmax(scores / temperature): the scores are 1.5, 0.5, 2 and -1\n\ntemperature  weights%28s entropy\n", "");
    for (size_t t = 0; t < sizeof temperatures / sizeof *temperatures; t++) {
        Tensor *scores = ag_scale(tensor_from(SHAPE(WORDS), word_scores), 1 / temperatures[t]);
        Tensor *weights = ag_softmax(scores, -1);
        printf("%11g", temperatures[t]);
        for (int i = 0; i < WORDS; i++) {
            double weight = (double)tensor_data(weights)[i];
            csv_named_row(csv, token[i], (double)word_scores[i], temperatures[t], weight);
            printf("  %.4f", weight);
        }
        printf("  %9.4f\n", mean_entropy(scores));
    }
    csv_close(csv);
}

/* The variance of scores (queries,keys), the entropy of their softmax, and the mean norm of a query's gradient at the scores
 * for a given gradient at the weights. */
typedef struct { double variance, entropy, gradient; } Effect;

static Effect effect(Tensor *scores, Tensor *gradient)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *s = tensor_set_requires_grad(ag_detach(scores), true);
    Effect e = { tensor_item(ag_mean(ag_var_dims(s, DIMS(-1), true, false))), mean_entropy(s), 0 };
    ag_backward_from(ag_softmax(s, -1), gradient);
    Tensor *ds = tensor_grad(s);
    Tensor *norm = ag_sqrt(ag_sum_dims(ag_mul(ds, ds), DIMS(-1), false));
    e.gradient = tensor_item(ag_mean(norm));
    ag_end(scope);
    return e;
}

/* Queries and keys of K standard normal numbers each: their inner products have variance K. Each query has keys of its own. */
static void show_widths(void)
{
    Csv *csv = csv_open("temperature_width.csv",
                        "width,variance,variance_scaled,entropy,entropy_scaled,gradient,gradient_scaled");
    say("\n%lld queries with %lld keys each: scores q.k and q.k / sqrt(K)\n\n"
        "         variance of scores   entropy of weights   gradient at the scores\n"
        "    K       q.k     scaled       q.k     scaled       q.k     scaled\n",
        (long long)queries, (long long)keys);
    for (int64_t width = 1; width <= widest; width *= 2) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        Tensor *q = tensor_normal(SHAPE(queries, width, 1), 0, 1), *k = tensor_normal(SHAPE(queries, keys, width), 0, 1);
        Tensor *gradient = tensor_normal(SHAPE(queries, keys), 0, 1), *scores = ag_squeeze(ag_matmul(k, q), 2);
        Effect raw = effect(scores, gradient), scaled = effect(ag_scale(scores, 1 / sqrt((double)width)), gradient);
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
    const NnField options[] = {
        NN_OPTION("queries", queries, 1, 100000, "queries"),
        NN_OPTION("keys", keys, 2, 10000, "keys of each query"),
        NN_OPTION("widest", widest, 1, 4096, "the largest K"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "temperature",
        "Shows the effect of the temperature on softmax. With a low temperature, nearly all weight goes to the largest\n"
        "score; with a high one, all weights are nearly equal. Inner products of K numbers grow like sqrt(K), which acts\n"
        "like a low temperature: a few keys share the weight, which makes the gradient larger at first; then one key gets\n"
        "all the weight, and the gradient vanishes. Attention divides the scores by sqrt(K), so none of this depends on K.\n\n"
        "Writes temperature.csv (token,score,temperature,weight) and temperature_width.csv\n"
        "(width,variance,variance_scaled,entropy,entropy_scaled,gradient,gradient_scaled), and draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    show_temperatures();
    show_widths();
    picture_draw("temperature");
    picture_draw("temperature_width");
    ag_end(scope);
    return example_end();
}
