/* grade.c: exercises that grade themselves: softmax, layer norm, attention, the causal mask, a step of Adam, one of a coder. */
#include <math.h>
#include <string.h>

#include "common/common.h"
#include "grade/answers.h"
#include "grade/check.h"
#include "kaeru/attention.h"
#include "kaeru/autograd.h"

enum { N = 3, K = 2, POSITIONS = 5 };
static const char *only = "";

static Tensor *sum_of(Tensor *x) { return ag_sum_dims(x, DIMS(-1), true); }
static Tensor *mean_of(Tensor *x) { return ag_mean_dims(x, DIMS(-1), true); }

/* A row of usual numbers; one whose e^x is infinite, also after a constant or another number of it is subtracted; one of
 * negative numbers whose e^x is 0; one with its largest number last. */
enum { ROWS = 4, ITEMS = 5 };
static const ag_real softmax_numbers[ROWS * ITEMS] = { 1, 3, -2, 6, -1, 0, 3000, 3001, 2998, -50,
                                                       -1000, -1001, -1002, -1003, -1001, 1, 2, 0, -3, 3000 };

static void call_softmax(double *y)
{
    for (int r = 0; r < ROWS; r++) {
        double x[ITEMS];
        for (int i = 0; i < ITEMS; i++) {
            x[i] = (double)softmax_numbers[r * ITEMS + i];
        }
        answer_softmax(ITEMS, x, y + r * ITEMS);
    }
}

static Tensor *divided_by_sum(Tensor *x) { return ag_div(x, sum_of(x)); }

static void grade_softmax(void)
{
    Tensor *t = tensor_from(SHAPE(ROWS, ITEMS), softmax_numbers), *largest = ag_max_dim(t, -1, true);
    Tensor *shifted = ag_sub(t, largest), *e = ag_exp(shifted), *all_but_last = sum_of(ag_slice(e, -1, 0, ITEMS - 1));
    Tensor *largest_but_last = ag_max_dim(ag_slice(t, -1, 0, ITEMS - 1), -1, true);
    grade_answer("softmax", call_softmax, ag_softmax(t, -1), "e^x of a large x is infinite: subtract the largest x first.",
                 (const Mistake[]){
        { divided_by_sum(ag_exp(ag_sub(t, ag_relu(largest)))),
          "All numbers may be negative: start the maximum at x[0], not at 0." },
        { divided_by_sum(ag_exp(ag_sub(t, largest_but_last))), "The search for the largest x leaves out the last number." },
        { ag_div(e, sum_of(ag_exp(t))), "Subtract the largest x in the sum, too." },
        { ag_div(ag_exp(t), sum_of(e)), "Subtract the largest x in the numerator, too." },
        { e, "Divide by the sum: the weights must add up to 1." },
        { ag_exp(t), "Divide by the sum: the weights must add up to 1." },
        { divided_by_sum(t), "You divided x itself by its sum: take e^x." },
        { ag_softmax(ag_neg(t), -1), "The sign is wrong: a larger x gets a larger weight." },
        { divided_by_sum(ag_exp(ag_neg(t))), "The sign is wrong: a larger x gets a larger weight." },
        { divided_by_sum(ag_exp(ag_neg(shifted))), "The sign is wrong: a larger x gets a larger weight." },
        { ag_div(e, ag_scale(sum_of(e), ITEMS)), "The sum is not divided by n: the weights must add up to 1." },
        { ag_div(e, all_but_last), "The sum leaves out the last number." },
        { ag_softmax(ag_scale(shifted, log(2)), -1), "These are powers of 2: take e^x." }, { NULL, NULL } }, NULL);
}

static Tensor *plus_eps(Tensor *x) { return ag_add(x, tensor_full(AG_SCALAR, 1e-5)); }

static Tensor *normalized(Tensor *centered, Tensor *variance)
{
    return ag_div(centered, ag_sqrt(plus_eps(variance)));
}

/* In the second row eps counts. */
enum { NORM_ROWS = 2, NORM_ITEMS = 4 };
static const double norm_numbers[NORM_ROWS * NORM_ITEMS] = { 1, 2, 3, 6, 0.001, 0.004, 0.002, 0.005 };

static void call_layer_norm(double *y)
{
    for (int r = 0; r < NORM_ROWS; r++) {
        answer_layer_norm(NORM_ITEMS, norm_numbers + r * NORM_ITEMS, y + r * NORM_ITEMS);
    }
}

static Tensor *tensor_of(int rows, int columns, const double *numbers)
{
    Tensor *t = tensor_zeros(SHAPE(rows, columns));
    for (int i = 0; i < rows * columns; i++) {
        tensor_mutable_data(t)[i] = (ag_real)numbers[i];
    }
    return t;
}

static void grade_layer_norm(void)
{
    Tensor *t = tensor_of(NORM_ROWS, NORM_ITEMS, norm_numbers);
    Tensor *centered = ag_sub(t, mean_of(t)), *variance = mean_of(ag_mul(centered, centered)), *deviation = ag_sqrt(variance);
    Tensor *from_sum = ag_sub(t, sum_of(t));
    Tensor *want = ag_layer_norm(t, NULL, NULL, AG_NORM_PYTORCH);
    grade_answer("layer_norm", call_layer_norm, want, "The divisor must not be 0.", (const Mistake[]){
        { ag_div(centered, variance), "You divided by the variance: divide by its square root, the deviation." },
        { ag_div(centered, plus_eps(variance)), "You divided by the variance: divide by its square root, the deviation." },
        { normalized(centered, ag_scale(variance, NORM_ITEMS / (NORM_ITEMS - 1.0))),
          "The variance divides by n here, not by n - 1." },
        { normalized(centered, ag_scale(variance, NORM_ITEMS)),
          "The variance is the mean of the squares: divide their sum by n." },
        { normalized(centered, mean_of(ag_mul(t, t))), "The variance is the mean of (x - mean)^2, not of x^2." },
        { normalized(centered, mean_of(ag_abs(centered))), "The variance is the mean of the squares (x - mean)^2." },
        { normalized(t, variance), "Subtract the mean first." },
        { normalized(from_sum, mean_of(ag_mul(from_sum, from_sum))), "Subtract the mean, not the sum." },
        { ag_div(centered, plus_eps(deviation)), "1e-5 is added to the variance, inside of the square root." },
        { ag_div(centered, deviation), "1e-5 is missing: add it to the variance." },
        { centered, "Divide by the deviation." }, { NULL, NULL } }, NULL);
}

/* The rows (n,k) as somebody reads them who takes number d of word i at d * n + i. */
static Tensor *misread(Tensor *rows)
{
    return ag_transpose(ag_reshape(rows, SHAPE(K, N)), 0, 1);
}

static const double query[N * K] = { 1, 2, -1, 0.5, 0, 1 }, key[N * K] = { 1, 0, 0.5, 2, -1, 1 },
                    value[N * K] = { 1, 5, 2, 7, 4, -3 };

static void call_attention(double *y)
{
    answer_attention(N, K, query, key, value, y);
}

static void grade_attention(void)
{
    Tensor *t[3] = { tensor_of(N, K, query), tensor_of(N, K, key), tensor_of(N, K, value) };
    Tensor *scores = ag_matmul(t[0], ag_transpose(t[1], 0, 1)), *scaled = ag_scale(scores, 1 / sqrt(K));
    Tensor *weights = ag_softmax(scaled, -1), *uniform = tensor_full(SHAPE(N, N), 1.0 / N);
    Tensor *want = nn_attention(t[0], t[1], t[2], NULL, NULL, NULL);
    bool softmax_right = is_right(call_softmax, ag_softmax(tensor_from(SHAPE(ROWS, ITEMS), softmax_numbers), -1));
    grade_answer("attention", call_attention, want, "The divisor must not be 0.", (const Mistake[]){
        { ag_matmul(ag_softmax(scores, -1), t[2]), "Divide the scores by sqrt(k)." },
        { ag_matmul(ag_softmax(ag_scale(scores, 1.0 / K), -1), t[2]), "Divide the scores by sqrt(k), not by k." },
        { ag_matmul(ag_softmax(ag_scale(scores, sqrt(K)), -1), t[2]), "Divide the scores by sqrt(k): you multiplied by it." },
        { ag_matmul(ag_softmax(ag_scale(scores, 1 / sqrt(N)), -1), t[2]), "Divide the scores by sqrt(k), not by sqrt(n)." },
        { ag_scale(ag_matmul(ag_softmax(scores, -1), t[2]), 1 / sqrt(K)), "Divide the scores by sqrt(k), not the result." },
        { ag_matmul(ag_softmax(scaled, 0), t[2]), "Softmax is over the keys of one query: the weights of a word add up to 1." },
        { ag_matmul(ag_transpose(weights, 0, 1), t[2]), "The weights are exchanged: word i uses those of query i." },
        { ag_matmul(ag_softmax(ag_transpose(scaled, 0, 1), -1), t[2]), "You exchanged queries and keys." },
        { ag_matmul(scaled, t[2]), "The weights are the softmax of the scores." },
        { ag_matmul(ag_exp(scaled), t[2]), "Divide the weights by their sum." },
        { t[2], "Each word gets its own value: the sum over j takes value[j], not value[i]." },
        { ag_matmul(weights, t[1]), "The mean is that of the values, not of the keys." },
        { ag_matmul(weights, t[0]), "The mean is that of the values, not of the queries." },
        { ag_matmul(uniform, t[2]), "All words have the same weight: use the softmax of the scores." },
        { ag_matmul(weights, misread(t[2])), "Number d of word j's value is value[j * k + d]." },
        { ag_scale(ag_matmul(weights, t[2]), 1.0 / N), "The weights add up to 1: do not divide by n again." },
        { ag_matmul(ag_softmax(ag_scale(ag_matmul(misread(t[0]), ag_transpose(t[1], 0, 1)), 1 / sqrt(K)), -1), t[2]),
          "Number d of word i's query is query[i * k + d]." },
        { ag_matmul(ag_softmax(ag_scale(ag_matmul(t[0], ag_transpose(misread(t[1]), 0, 1)), 1 / sqrt(K)), -1), t[2]),
          "Number d of word j's key is key[j * k + d]." }, { NULL, NULL } }, softmax_right ? NULL : "softmax");
}

static void grade_mask(void)
{
    double y[POSITIONS * POSITIONS];
    Tensor *want = ag_cast(nn_causal_mask(POSITIONS), AG_REAL), *turned = ag_transpose(want, 1, 2),
           *one = tensor_ones(AG_SCALAR);
    Tensor *with_next = tensor_zeros(SHAPE(1, POSITIONS, POSITIONS));
    for (int i = 0; i < POSITIONS * POSITIONS; i++) {
        y[i] = answer_sees(i / POSITIONS, i % POSITIONS);
        tensor_mutable_data(with_next)[i] = i % POSITIONS <= i / POSITIONS + 1;
    }
    grade("causal_mask", y, want, "", (const Mistake[]){
        { ag_sub(one, turned), "A position also sees itself." },
        { turned, "This shows the later positions and hides the earlier ones." },
        { ag_sub(one, want), "This shows the later positions and hides the earlier ones." },
        { with_next, "No position may see the next one." },
        { ag_mul(want, turned), "A position also sees the earlier ones, not only itself." },
        { tensor_ones(SHAPE(1, POSITIONS, POSITIONS)), "No position may see a later one." }, { NULL, NULL } });
}

static void grade_adam(void)
{
    const double lr = 0.1;
    double y[RUNS * STEPS];
    bool untouched = true;
    for (int run = 0; run < RUNS; run++) {
        double w = 1, m = 0, v = 0;
        for (int i = 0; i < STEPS; i++) {
            answer_adam(&w, &m, &v, adam_gradient(run, i), i + 1, lr);
            y[run * STEPS + i] = w;
        }
        untouched = untouched && w == 1 && m == 0 && v == 0;
    }
    memset(y, 0, untouched ? sizeof y : 0);
    Mistake mistake[ADAM_MISTAKES + 1];
    for (int how = 0; how < ADAM_MISTAKES; how++) {
        mistake[how] = (Mistake){ wrong_adam(how, lr), adam_mistake[how] };
    }
    mistake[ADAM_MISTAKES] = (Mistake){ NULL, NULL };
    grade("adam", y, library_adam(lr), "The divisor must not be 0: step counts from 1.", mistake);
}

static void grade_interval(void)
{
    static const double p[] = { 0.5, 0.25, 0.25 };
    static const int symbol[SYMBOLS] = { 1, 2, 0, 1 };
    double low = 0, length = 1, y[2 * SYMBOLS];
    for (int i = 0; i < SYMBOLS; i++) {
        answer_interval(&low, &length, p, symbol[i]);
        y[2 * i] = low;
        y[2 * i + 1] = length;
    }
    memset(y, 0, low == 0 && length == 1 ? sizeof y : 0);
    grade("interval", y, intervals(RIGHT_INTERVAL, p, symbol), "The interval is not finite.", (const Mistake[]){
        { intervals(NOT_MOVED, p, symbol), "Move low behind the parts of the symbols before this one." },
        { intervals(MOVED_BY_SHARES, p, symbol), "p are shares of the interval: multiply their sum by length, too." },
        { intervals(LENGTH_FIRST, p, symbol), "Move low by parts of the old interval, before length changes." },
        { intervals(LENGTH_OF_ONE, p, symbol), "The part is p of the interval: multiply length by p." },
        { intervals(ONE_PART_TOO_MANY, p, symbol),
          "low moved past the part of `symbol` itself: skip only the parts before it." },
        { intervals(LOW_REPLACED, p, symbol), "low must move on from where it was: add (+=)." },
        { intervals(LENGTH_KEPT, p, symbol), "length must shrink: multiply it by p of `symbol`." },
        { intervals(FIRST_PART_LEFT_OUT, p, symbol), "The parts begin with symbol 0: start the sum at i = 0." },
        { NULL, NULL } });
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*grade)(void); } exercise[] = {
        { "adam", grade_adam }, { "layer_norm", grade_layer_norm }, { "softmax", grade_softmax },
        { "attention", grade_attention }, { "causal_mask", grade_mask },
        { "interval", grade_interval },
    };
    const NnField options[] = {
        NN_TEXT_OPTION("only", "NAME", only, "one exercise: adam, layer_norm, softmax, attention, causal_mask or interval"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "grade",
        "Exercises that grade themselves. Write the functions in examples/grade/answers.c, which say what they should\n"
        "compute, and run this program after each change. It compares their results with the library's and names usual\n"
        "mistakes. The exit status is 0 if all are right, else 1.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    int graded = 0;
    for (size_t i = 0; i < sizeof exercise / sizeof *exercise; i++) {
        if (!only[0] || strcmp(only, exercise[i].name) == 0) {
            exercise[i].grade();
            graded++;
        }
    }
    if (graded == 0) {
        example_usage_error("--only %s: expected adam, layer_norm, softmax, attention, causal_mask or interval", only);
    }
    ag_end(scope);
    return example_end();
}
