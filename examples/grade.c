/* grade.c: exercises that grade themselves: softmax, layer norm, attention, the causal mask, a step of Adam, one of a coder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/common.h"
#include "grade/answers.h"
#include "grade/check.h"
#include "grade/wrong.h"
#include "kaeru/attention.h"
#include "kaeru/autograd.h"

static const char *only;

static Tensor *sum_of(Tensor *x) { return ag_sum_dims(x, DIMS(-1), true); }
static Tensor *mean_of(Tensor *x) { return ag_mean_dims(x, DIMS(-1), true); }

static Tensor *tensor_of(int rows, int columns, const double *numbers)
{
    Tensor *t = tensor_zeros(SHAPE(rows, columns));
    for (int i = 0; i < rows * columns; i++) {
        tensor_mutable_data(t)[i] = (ag_real)numbers[i];
    }
    return t;
}

/* Numbers for rows of other sizes. */
enum { MOST_ITEMS = 12 };
static const double numbers[3 * MOST_ITEMS] = {
    0.5, -1.25, 2, 0.75, -0.5, 1.5, -2, 0.25, 1, -0.75, 3, -1, 1.25, 0.5, -1.5, 2.25, -0.25, 1, 0.75, -1, 0.5, -2.5, 1.75, 0.25,
    -1.25, 1, 2.5, -0.5, 0.75, -1.75, 1.5, 0.25, -1, 0.5, 2, -0.75
};
static const int sizes[] = { 1, 2, 7, MOST_ITEMS };
enum { SIZES = sizeof sizes / sizeof *sizes };

static void call_with_sizes(void (*answer)(int n, const double *x, double *y), double *y)
{
    for (int i = 0; i < SIZES; y += sizes[i++]) {
        answer(sizes[i], lend(numbers, sizes[i]), y);
    }
}

static void call_softmax_with_sizes(double *y) { call_with_sizes(answer_softmax, y); }
static void call_layer_norm_with_sizes(double *y) { call_with_sizes(answer_layer_norm, y); }

/* The library's results for these sizes, one after the other. */
static Tensor *results_with_sizes(Tensor *(*f)(Tensor *row))
{
    Tensor *part[SIZES];
    for (int i = 0; i < SIZES; i++) {
        part[i] = f(tensor_of(1, sizes[i], numbers));
    }
    return ag_concat(part, SIZES, -1);
}

/* The whole part of each number, as of a variable of type int. */
static Tensor *whole(Tensor *x)
{
    Tensor *t = tensor_zeros(tensor_shape(x));
    for (int i = 0; i < tensor_numel(x); i++) {
        tensor_mutable_data(t)[i] = (ag_real)trunc((double)tensor_data(x)[i]);
    }
    return t;
}

/* A mask of n columns: 1 in column i, 0 elsewhere. */
static Tensor *only_at(int n, int i)
{
    Tensor *t = tensor_zeros(SHAPE(1, n));
    tensor_mutable_data(t)[i] = 1;
    return t;
}

/* A mask of n columns: 0 in the last one, 1 elsewhere. */
static Tensor *all_but_last(int n)
{
    Tensor *t = tensor_ones(SHAPE(1, n));
    tensor_mutable_data(t)[n - 1] = 0;
    return t;
}

/* ---- softmax ------------------------------------------------------------------------------------------------------ */

/* A row of usual numbers; one whose e^x is infinite, also after a constant or another number of it is subtracted; one of
 * negative numbers whose e^x is 0; one with its largest number last; one whose largest absolute value is that of a negative
 * number. */
enum { ROWS = 5, ITEMS = 5 };
static const double softmax_numbers[ROWS * ITEMS] = { 1.5, 3, -2.25, 6, -0.75, 0, 3000, 3001, 2998, -50,
                                                      -1000, -1001, -1002, -1003, -1001, 1, 2, 0, -3, 3000,
                                                      1.5, -1000, 0.5, -1, 2 };

static void call_softmax(double *y)
{
    for (int r = 0; r < ROWS; r++) {
        answer_softmax(ITEMS, lend(softmax_numbers + r * ITEMS, ITEMS), y + r * ITEMS);
    }
}

/* The first row, moved: its results do not change. A float cannot hold these numbers. */
static void call_softmax_with_large_numbers(double *y)
{
    double moved[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        moved[i] = softmax_numbers[i] + 1e9;
    }
    answer_softmax(ITEMS, lend(moved, ITEMS), y);
}

static Tensor *divided_by_sum(Tensor *x) { return ag_div(x, sum_of(x)); }
static Tensor *softmax_of(Tensor *x) { return ag_softmax(x, -1); }
static const char *const digits_lost = "The last digits are lost: use double, not float.";
static const char *const other_size = "This is for another size than before: do not rely on one size.";

/* Whether the first row has powers e^(c x), divided by some number. */
static void explain_softmax(const double *y)
{
    const double *x = softmax_numbers, c = log(y[1] / y[0]) / (x[1] - x[0]);
    for (int i = 1; i < ITEMS; i++) {
        if (!(fabs(log(y[i] / y[0]) - c * (x[i] - x[0])) < 1e-4)) {
            return;
        }
    }
    if (fabs(c - 1) < 1e-4) {
        say("             The numerators are right, but you do not divide by the sum of all e^x.\n");
    } else {
        say("             These are powers e^(%.3g x): take e^x.\n", c);
    }
}

static void grade_softmax(void)
{
    Tensor *t = tensor_of(ROWS, ITEMS, softmax_numbers), *largest = ag_max_dim(t, -1, true);
    Tensor *shifted = ag_sub(t, largest), *e = ag_exp(shifted), *but_last = ag_mul(e, all_but_last(ITEMS));
    Tensor *largest_but_last = ag_max_dim(ag_slice(t, -1, 0, ITEMS - 1), -1, true);
    static const char of_each[] =
        "This is the sigmoid of each number alone: divide e^x by the sum of all e^x.";
    grade(&(Exercise){ .name = "softmax", .answer = call_softmax, .want = softmax_of(t), .explain = explain_softmax,
                       .not_finite = "e^x of a large x is infinite: subtract the largest x first.",
                       .mistakes = (const Mistake[]){
        { divided_by_sum(ag_exp(ag_sub(t, ag_relu(largest)))),
          "All numbers may be negative: start the maximum at x[0], not at 0." },
        { divided_by_sum(ag_exp(ag_sub(t, ag_max_dim(ag_abs(t), -1, true)))),
          "Subtract the largest x, not the largest absolute value." },
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
        { ag_div(e, mean_of(e)), "Divide by the sum of all e^x, not by their mean." },
        { ag_div(e, sum_of(but_last)), "The sum leaves out the last number." },
        { ag_div(but_last, sum_of(but_last)), "The last number is left out: the loop must reach it." },
        { ag_div(e, ag_cumsum(e, -1)), "Compute the whole sum first, then divide by it in a second loop." },
        { ag_log_softmax(t, -1), "This is the logarithm of the weights: take e^x of it." },
        { ag_div(e, ag_add(sum_of(e), tensor_full(AG_SCALAR, 1e-5))), "Add nothing to the sum: it is at least 1." },
        { ag_softmax(whole(t), -1), "The numbers have fractions, which an int cuts off: use double." },
        { ag_softmax(ag_scale(shifted, log(2)), -1), "These are powers of 2: take e^x." },
        { ag_sigmoid(t), of_each }, { ag_sigmoid(shifted), of_each },
        { divided_by_sum(ag_sigmoid(t)), of_each },
        { ag_softmax(ag_scale(shifted, 1e6), -1),
          "The largest x gets 1, all others 0: take e^x, which gives each a share." },
        { NULL, NULL } },
                       .more = (const MoreCalls[]){
        { call_softmax_with_sizes, results_with_sizes(softmax_of), other_size },
        { call_softmax_with_large_numbers, softmax_of(ag_slice(t, 0, 0, 1)), digits_lost }, { NULL, NULL, NULL } } });
}

/* ---- layer norm --------------------------------------------------------------------------------------------------- */

static Tensor *plus_eps(Tensor *x) { return ag_add(x, tensor_full(AG_SCALAR, 1e-5)); }

static Tensor *normalized(Tensor *centered, Tensor *variance)
{
    return ag_div(centered, ag_sqrt(plus_eps(variance)));
}

/* In the second row eps counts. */
enum { NORM_ROWS = 2, NORM_ITEMS = 4 };
static const double norm_numbers[NORM_ROWS * NORM_ITEMS] = { 1, 2, 3, 7, 0.001, 0.004, 0.002, 0.005 };
/* The first row, moved: its results do not change. A float cannot hold these numbers. */
static const double large_numbers[NORM_ITEMS] = { 100000001, 100000002, 100000003, 100000007 };

static void call_layer_norm(double *y)
{
    for (int r = 0; r < NORM_ROWS; r++) {
        answer_layer_norm(NORM_ITEMS, lend(norm_numbers + r * NORM_ITEMS, NORM_ITEMS), y + r * NORM_ITEMS);
    }
}

static void call_layer_norm_with_large_numbers(double *y)
{
    answer_layer_norm(NORM_ITEMS, lend(large_numbers, NORM_ITEMS), y);
}

static Tensor *layer_norm_of(Tensor *x) { return ag_layer_norm(x, NULL, NULL, AG_NORM_PYTORCH); }

/* The sum of x, from a loop that divides what it has so far by n in each pass. */
static Tensor *divided_in_loop(Tensor *x)
{
    Tensor *weights = tensor_zeros(SHAPE(1, NORM_ITEMS));
    for (int i = 0; i < NORM_ITEMS; i++) {
        tensor_mutable_data(weights)[i] = (ag_real)pow(NORM_ITEMS, i - NORM_ITEMS);
    }
    return sum_of(ag_mul(x, weights));
}

/* x minus the mean, and the mean of its square, from a loop that computes both at once. */
static Tensor *normalized_at_once(Tensor *x)
{
    Tensor *running = ag_scale(ag_cumsum(x, -1), 1.0 / NORM_ITEMS), *centered = ag_sub(x, running);
    return normalized(ag_sub(x, mean_of(x)), mean_of(ag_mul(centered, centered)));
}

static Tensor *normalized_without_last(Tensor *x)
{
    Tensor *used = all_but_last(NORM_ITEMS), *centered = ag_sub(x, mean_of(ag_mul(x, used)));
    return normalized(centered, mean_of(ag_mul(used, ag_mul(centered, centered))));
}

/* Whether a row of y is (x - subtracted) / divisor. Prints which of the two is wrong. */
static bool explain_row(int row, const double *y, double mean, double divisor)
{
    const double *x = norm_numbers + row * NORM_ITEMS, slope = (y[1] - y[0]) / (x[1] - x[0]), subtracted = x[0] - y[0] / slope;
    bool wrong_mean = fabs(subtracted - mean) > 1e-4 * fabs(mean), wrong_divisor = fabs(1 / slope - divisor) > 1e-6 * divisor;
    for (int i = 2; i < NORM_ITEMS; i++) {
        if (!(fabs(y[i] - (x[i] - subtracted) * slope) <= 1e-5 * fabs(y[i]))) {
            return false;
        }
    }
    if (wrong_mean) {
        say("             From row %d you subtract %.4g, but the mean is %.4g.\n", row, subtracted, mean);
    }
    if (wrong_divisor) {
        say("             You divide row %d by %.7g, but sqrt(variance + 1e-5) is %.7g.\n", row, 1 / slope, divisor);
    }
    return wrong_mean || wrong_divisor;
}

/* With how many digits a number is written. */
static int digits_of(double number)
{
    enum { MOST = 8 };
    char text[32];
    int digits = 1;
    for (; digits < MOST; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, number);
        if (fabs(strtod(text, NULL) - number) <= 1e-4 * number) {
            break;
        }
    }
    return digits;
}

/* Prints the number that the answer adds to the variance, or to the deviation. Both explain a small
 * one: it is the one with fewer digits. Returns whether one of them explains the result. */
static bool explain_eps(const double *y, Tensor *centered, Tensor *variance)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < NORM_ITEMS; i++) {
        sum += norm_numbers[NORM_ITEMS + i];
        squares += norm_numbers[NORM_ITEMS + i] * norm_numbers[NORM_ITEMS + i];
    }
    double mean = sum / NORM_ITEMS, true_variance = squares / NORM_ITEMS - mean * mean;
    double ratio = (norm_numbers[NORM_ITEMS] - mean) / y[NORM_ITEMS];
    double inside = ratio * ratio - true_variance, outside = ratio - sqrt(true_variance);
    if (!(inside > 0) || fabs(inside - 1e-5) <= 1e-6) {
        return false;
    }
    Tensor *added = tensor_full(AG_SCALAR, inside);
    bool is_inside = same_mistake(y, ag_div(centered, ag_sqrt(ag_add(variance, added))));
    added = tensor_full(AG_SCALAR, outside);
    bool is_outside = same_mistake(y, ag_div(centered, ag_add(ag_sqrt(variance), added)));
    if (is_outside && (!is_inside || digits_of(outside) < digits_of(inside))) {
        say("             You add %.3g to the deviation: add 1e-5 to the variance, "
            "inside of the square root.\n", outside);
    } else if (is_inside) {
        say("             You add %.3g to the variance, not 1e-5.\n", inside);
    }
    return is_inside || is_outside;
}

/* Prints the number that the answer adds to the variance or to the deviation, or what it subtracts
 * and divides by. */
static void explain_layer_norm(const double *y)
{
    Tensor *t = tensor_of(NORM_ROWS, NORM_ITEMS, norm_numbers), *centered = ag_sub(t, mean_of(t));
    Tensor *variance = mean_of(ag_mul(centered, centered));
    if (explain_eps(y, centered, variance)) {
        return;
    }
    Tensor *mean = mean_of(t), *divisor = ag_sqrt(plus_eps(variance));
    for (int r = 0; r < NORM_ROWS; r++) {
        if (explain_row(r, y + r * NORM_ITEMS, (double)tensor_data(mean)[r], (double)tensor_data(divisor)[r])) {
            return;
        }
    }
}

static void grade_layer_norm(void)
{
    Tensor *t = tensor_of(NORM_ROWS, NORM_ITEMS, norm_numbers), *mean = mean_of(t);
    Tensor *centered = ag_sub(t, mean), *variance = mean_of(ag_mul(centered, centered)), *deviation = ag_sqrt(variance);
    Tensor *from_loop = ag_sub(t, divided_in_loop(t)), *loop_square = ag_mul(from_loop, from_loop);
    static const char whole_part[] =
        "In C, 1/n divides integers and is 0: divide by n, or write 1.0 / n.";
    static const char in_loop[] = "Divide by n once, after the loop that adds up, not in each pass.";
    Tensor *absolute = mean_of(ag_abs(centered)), *from_sum = ag_sub(t, sum_of(t)), *from_whole = ag_sub(t, whole(mean));
    Tensor *from_middle = ag_sub(t, ag_slice(t, -1, NORM_ITEMS / 2, NORM_ITEMS / 2 + 1));
    grade(&(Exercise){ .name = "layer_norm", .answer = call_layer_norm, .want = layer_norm_of(t),
                       .explain = explain_layer_norm, .not_finite = "The divisor must not be 0.",
                       .mistakes = (const Mistake[]){
        { ag_div(centered, variance), "You divided by the variance: divide by its square root, the deviation." },
        { ag_div(centered, plus_eps(variance)), "You divided by the variance: divide by its square root, the deviation." },
        { normalized(centered, ag_scale(variance, NORM_ITEMS / (NORM_ITEMS - 1.0))),
          "The variance divides by n here, not by n - 1." },
        { normalized(centered, ag_scale(variance, NORM_ITEMS)),
          "The variance is the mean of the squares: divide their sum by n." },
        { normalized(centered, mean_of(ag_mul(t, t))), "The variance is the mean of (x - mean)^2, not of x^2." },
        { normalized(centered, absolute), "The variance is the mean of the squares (x - mean)^2." },
        { ag_div(centered, absolute), "The variance is the mean of the squares (x - mean)^2." },
        { ag_div(centered, plus_eps(absolute)), "The variance is the mean of the squares (x - mean)^2." },
        { normalized(t, variance), "Subtract the mean first." },
        { normalized(t, mean_of(ag_mul(t, t))), "Subtract the mean first." },
        { normalized(from_sum, mean_of(ag_mul(from_sum, from_sum))), "Subtract the mean, not the sum." },
        { normalized(from_whole, mean_of(ag_mul(from_whole, from_whole))),
          "The mean has a fraction, which an int cuts off: use double." },
        { normalized(from_middle, mean_of(ag_mul(from_middle, from_middle))),
          "Subtract the mean, not the number in the middle." },
        { ag_sub(t, ag_div(mean, ag_sqrt(plus_eps(variance)))),
          "Divide the whole difference: put x[i] - mean in parentheses." },
        { normalized(from_loop, mean_of(loop_square)), in_loop },
        { normalized(from_loop, divided_in_loop(loop_square)), in_loop },
        { normalized(centered, divided_in_loop(ag_mul(centered, centered))), in_loop },
        { normalized_at_once(t), "Compute the whole mean first, then the variance in a second loop." },
        { normalized_without_last(t), "The sums leave out the last number." },
        { ag_div(centered, plus_eps(deviation)), "1e-5 is added to the variance, inside of the square root." },
        { ag_div(centered, deviation), "1e-5 is missing: add it to the variance." },
        { ag_mul(centered, ag_sqrt(plus_eps(variance))), "Divide by the deviation: you multiplied by it." },
        { ag_scale(t, 1 / sqrt(1e-5)), whole_part },
        { ag_scale(centered, 1 / sqrt(1e-5)), whole_part },
        { centered, "Divide by the deviation." }, { NULL, NULL } },
                       .more = (const MoreCalls[]){
        { call_layer_norm_with_sizes, results_with_sizes(layer_norm_of), other_size },
        { call_layer_norm_with_large_numbers, layer_norm_of(ag_slice(t, 0, 0, 1)),
          "Large numbers lose their last digits: subtract the mean before you square, and use double, not float." },
        { NULL, NULL, NULL } } });
}

/* ---- attention ---------------------------------------------------------------------------------------------------- */

enum { N = 3, K = 5 };
static const double query[N * K] = { 1, 2, 0.5, -1, 1.5, -1, 0.5, 2, 1, -0.5, 0, 1, -1.5, 2, 0.25 },
                    key[N * K] = { 1, 0, -0.5, 0.5, 1, 0.5, 2, 1, -1, 0.25, -1, 1, 1.5, 0.5, 2 },
                    value[N * K] = { 1, 5, -2, 0.5, 3, 2, 7, 1.5, -1, 4, 4, -3, 0.25, 6, -5 };

static void call_attention(double *y)
{
    answer_attention(N, K, lend(query, N * K), lend(key, N * K), lend(value, N * K), y);
}

/* Words and numbers of a word. */
static const int attention_sizes[][2] = { { 1, 1 }, { 2, 3 }, { 4, 1 }, { MOST_ITEMS, 3 } };
enum { ATTENTION_SIZES = sizeof attention_sizes / sizeof *attention_sizes };

static void call_attention_with_sizes(double *y)
{
    for (int i = 0; i < ATTENTION_SIZES; i++) {
        int n = attention_sizes[i][0], k = attention_sizes[i][1], all = n * k;
        double turned[3 * MOST_ITEMS];
        for (int j = 0; j < all; j++) {
            turned[j] = numbers[all - 1 - j];
        }
        answer_attention(n, k, lend(numbers, all), lend(turned, all), lend(numbers, all), y);
        y += all;
    }
}

static Tensor *attention_with_sizes(void)
{
    Tensor *part[ATTENTION_SIZES];
    for (int i = 0; i < ATTENTION_SIZES; i++) {
        int n = attention_sizes[i][0], k = attention_sizes[i][1];
        Tensor *q = tensor_of(n, k, numbers), *keys = ag_reshape(ag_flip(ag_reshape(q, SHAPE(n * k)), 0), SHAPE(n, k));
        part[i] = ag_reshape(nn_attention(q, keys, q, NULL, NULL, NULL), SHAPE(n * k));
    }
    return ag_concat(part, ATTENTION_SIZES, 0);
}

/* Scores whose e^x is infinite. */
static const double far_query[4] = { 60, 0, 0, 60 }, far_key[4] = { 50, 0, 0, 50 };

static void call_attention_far(double *y)
{
    answer_attention(2, 2, lend(far_query, 4), lend(far_key, 4), lend(value, 4), y);
}

/* The rows (n,k) as somebody reads them who takes number d of word i at d * n + i. */
static Tensor *misread(Tensor *rows)
{
    return ag_transpose(ag_reshape(rows, SHAPE(K, N)), 0, 1);
}

/* The same for i * n + d. */
static Tensor *overlapping(Tensor *rows)
{
    Tensor *t = tensor_zeros(SHAPE(N, K));
    for (int i = 0; i < N * K; i++) {
        tensor_mutable_data(t)[i] = tensor_data(rows)[i / K * N + i % K];
    }
    return t;
}

static Tensor *attend(Tensor *scores, Tensor *values)
{
    return ag_matmul(ag_softmax(scores, -1), values);
}

static Tensor *scores_of(Tensor *queries, Tensor *keys)
{
    return ag_scale(ag_matmul(queries, ag_transpose(keys, 0, 1)), 1 / sqrt(K));
}

/* The scores of an answer whose sum goes on from the key before, also from the query before, and is
 * divided by sqrt(k) at the end or in between. */
static Tensor *running(Tensor *scores, bool over_queries, bool divided_between)
{
    Tensor *t = tensor_zeros(SHAPE(N, N));
    double sum = 0;
    for (int i = 0; i < N * N; i++) {
        sum = (i % N == 0 && !over_queries ? 0 : sum) + (double)tensor_data(scores)[i];
        sum /= divided_between ? sqrt(K) : 1;
        tensor_mutable_data(t)[i] = (ag_real)(sum / (divided_between ? 1 : sqrt(K)));
    }
    return t;
}

/* Rows (n,k) as somebody writes them who puts number d of word i at d * n + i. */
static Tensor *in_columns(Tensor *rows)
{
    return ag_reshape(ag_transpose(rows, 0, 1), SHAPE(N, K));
}

/* Each row divided by its length. */
static Tensor *of_length_1(Tensor *rows)
{
    return ag_div(rows, ag_sqrt(sum_of(ag_mul(rows, rows))));
}

/* Minus the squared distance of each query and key, scaled. */
static Tensor *distances_of(Tensor *q, Tensor *k)
{
    Tensor *difference = ag_sub(ag_unsqueeze(q, 1), ag_unsqueeze(k, 0));
    return ag_scale(ag_squeeze(sum_of(ag_mul(difference, difference)), -1), -1 / sqrt(K));
}

/* Scores with -infinity where a row i may not see a column j: behind i, at i, or in the last column. */
typedef enum { LATER, ITSELF, LAST } Hidden;
static Tensor *hide(Tensor *scores, Hidden hidden)
{
    Tensor *t = ag_scale(scores, 1);
    for (int i = 0; i < N * N; i++) {
        int row = i / N, column = i % N;
        if (hidden == LATER ? column > row : hidden == ITSELF ? column == row : column == N - 1) {
            tensor_mutable_data(t)[i] = -INFINITY;
        }
    }
    return t;
}

static double distance(const double *y, Tensor *t)
{
    double sum = 0;
    for (int i = 0; i < N * K; i++) {
        sum += (y[i] - (double)tensor_data(t)[i]) * (y[i] - (double)tensor_data(t)[i]);
    }
    return sum;
}

static double inner_product(const double *a, const double *b)
{
    double sum = 0;
    for (int d = 0; d < K; d++) {
        sum += a[d] * b[d];
    }
    return sum;
}

/* The weights of three values with this result: least squares by Cramer's rule. Returns how far their sum is from the
 * result. */
static double find_weights(const double *result, double weight[N])
{
    double of_values[N][N], right[N], rest[K], whole = 0;
    for (int i = 0; i < N; i++) {
        right[i] = inner_product(value + i * K, result);
        for (int j = 0; j < N; j++) {
            of_values[i][j] = inner_product(value + i * K, value + j * K);
        }
    }
    for (int column = -1; column < N; column++) {
        double m[N][N], determinant = 0;
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                m[i][j] = j == column ? right[i] : of_values[i][j];
            }
        }
        for (int j = 0; j < N; j++) {
            determinant += m[0][j] * (m[1][(j + 1) % N] * m[2][(j + 2) % N] - m[1][(j + 2) % N] * m[2][(j + 1) % N]);
        }
        if (column < 0) {
            whole = determinant;
        } else {
            weight[column] = determinant / whole;
        }
    }
    for (int d = 0; d < K; d++) {
        rest[d] = result[d] - weight[0] * value[d] - weight[1] * value[K + d] - weight[2] * value[2 * K + d];
    }
    return sqrt(inner_product(rest, rest));
}

/* The weights that the answer has given to the values, at the first word for which they are wrong. */
static void explain_weights(const double *y, Tensor *want)
{
    for (int i = 0; i < N; i++) {
        double weight[N], error = 0;
        const ag_real *right = tensor_data(want) + (int64_t)i * N;
        if (find_weights(y + i * K, weight) > 1e-4) {
            say("             The result of word %d is not a weighted mean of the values: look at the last sum.\n", i);
            return;
        }
        for (int j = 0; j < N; j++) {
            error = fmax(error, fabs(weight[j] - (double)right[j]));
        }
        if (error > 1e-5) {
            say("             The weights of word %d are %.3g, %.3g, %.3g, expected %.3g, %.3g, %.3g: look at the scores.\n", i,
                weight[0], weight[1], weight[2], (double)right[0], (double)right[1], (double)right[2]);
            return;
        }
    }
}

/* Prints by what number the answer divides the scores, if it is right but for that: the nearest of many, made exact. Or else
 * the weights that it gives. */
static void explain_attention(const double *y)
{
    Tensor *scores = ag_matmul(tensor_of(N, K, query), ag_transpose(tensor_of(N, K, key), 0, 1)), *v = tensor_of(N, K, value);
    const double factor = 1.05;
    double best = 1, nearest = INFINITY;
    for (double divisor = 0.1; divisor < 100; divisor *= factor) {
        double d = distance(y, attend(ag_scale(scores, 1 / divisor), v));
        best = d < nearest ? divisor : best;
        nearest = fmin(d, nearest);
    }
    double low = best / factor, high = best * factor;
    for (int i = 0; i < 60; i++) {
        double third = (high - low) / 3;
        bool lower = distance(y, attend(ag_scale(scores, 1 / (low + third)), v)) <
                     distance(y, attend(ag_scale(scores, 1 / (high - third)), v));
        low += lower ? 0 : third;
        high -= lower ? third : 0;
    }
    if (same_mistake(y, attend(ag_scale(scores, 1 / low), v))) {
        say("             You divide the scores by %.4g: divide them by sqrt(k), here %.4g.\n", low, sqrt(K));
    } else {
        explain_weights(y, ag_softmax(ag_scale(scores, 1 / sqrt(K)), -1));
    }
}

static void grade_attention(void)
{
    Tensor *q = tensor_of(N, K, query), *k = tensor_of(N, K, key), *v = tensor_of(N, K, value);
    Tensor *scores = ag_matmul(q, ag_transpose(k, 0, 1)), *scaled = scores_of(q, k), *weights = ag_softmax(scaled, -1);
    Tensor *e = ag_exp(scaled), *uniform = tensor_full(SHAPE(N, N), 1.0 / N), *but_last = all_but_last(K);
    bool softmax_right = is_right(call_softmax, softmax_of(tensor_of(ROWS, ITEMS, softmax_numbers)));
    static const char over_keys[] = "Softmax is over the keys of one query: the weights of a word add up to 1.";
    static const char score[] = "The score is query . key: the inner product of a query and a key.";
    static const char start[] = "Start each score at 0 before you add the products of its numbers.";
    static const char rows[] =
        "Words are rows, not columns: number d of word i is at i * k + d in query, key, value and y.";
    static const char alone[] =
        "y is the mean of the values alone: add nothing to it, there is no skip connection here.";
    Tensor *right = ag_matmul(weights, v), *q_columns = misread(q), *k_columns = misread(k);
    Tensor *from_columns = attend(scores_of(q_columns, k_columns), misread(v));
    Tensor *cosines = scores_of(of_length_1(q), of_length_1(k));
    grade(&(Exercise){ .name = "attention", .answer = call_attention, .want = nn_attention(q, k, v, NULL, NULL, NULL),
                       .explain = explain_attention, .not_finite = "The divisor must not be 0.",
                       .first = softmax_right ? NULL : "softmax", .mistakes = (const Mistake[]){
        { attend(scores, v), "Divide the scores by sqrt(k)." },
        { attend(ag_scale(scores, 1.0 / K), v), "Divide the scores by sqrt(k), not by k." },
        { attend(ag_scale(scores, sqrt(K)), v), "Divide the scores by sqrt(k): you multiplied by it." },
        { attend(ag_scale(scores, 1 / sqrt(N)), v), "Divide the scores by sqrt(k), not by sqrt(n)." },
        { attend(ag_scale(scores, 1 / floor(sqrt(K))), v), "sqrt(k) has a fraction, which an int cuts off: use double." },
        { ag_scale(attend(scores, v), 1 / sqrt(K)), "Divide the scores by sqrt(k), not the result." },
        { ag_matmul(ag_softmax(scaled, 0), v), over_keys },
        { ag_matmul(ag_div(e, ag_sum(e)), v), over_keys },
        { ag_matmul(ag_transpose(weights, 0, 1), v), "The weights are exchanged: word i uses those of query i." },
        { attend(ag_transpose(scaled, 0, 1), v), "You exchanged queries and keys." },
        { attend(ag_matmul(tensor_ones(SHAPE(N, 1)), ag_slice(scaled, 0, 0, 1)), v),
          "Each word has its own query: the score of word i takes query i." },
        { attend(scores_of(q, q), v), score }, { attend(scores_of(k, k), v), score }, { attend(scores_of(q, v), v), score },
        { attend(scores_of(k, v), v), score }, { attend(distances_of(q, k), v), score },
        { attend(scores_of(ag_mul(q, but_last), k), v), "The inner product leaves out the last number: it adds up all k." },
        { attend(scores_of(ag_mul(q, only_at(K, K - 1)), k), v), "The score is only the last product: add up all k (+=)." },
        { attend(scores_of(ag_mul(q, only_at(K, 0)), k), v), "The score is only the first product: add up all k." },
        { ag_matmul(ag_mul(weights, only_at(N, N - 1)), v), "Only the value of the last word counts: add up all words (+=)." },
        { attend(ag_cumsum(scaled, 0), v), start },
        { attend(running(scores, false, false), v), start },
        { attend(running(scores, false, true), v), start },
        { attend(running(scores, true, false), v), start },
        { attend(running(scores, true, true), v), start },
        { attend(hide(scaled, LATER), v), "There is no mask here: each word sees all words." },
        { attend(hide(scaled, ITSELF), v), "A word also sees itself." },
        { attend(hide(scaled, LAST), v), "The last word is left out: the loop over j must reach it." },
        { attend(ag_scale(scaled, 1e6), v), "Each word gets only the value with the largest score: use the softmax." },
        { ag_matmul(scaled, v), "The weights are the softmax of the scores." },
        { ag_matmul(e, v), "Divide the weights by their sum." },
        { v, "Each word gets its own value: the sum over j takes value[j], not value[i]." },
        { ag_matmul(weights, k), "The mean is that of the values, not of the keys." },
        { ag_matmul(weights, q), "The mean is that of the values, not of the queries." },
        { ag_matmul(uniform, v), "All words have the same weight: use the softmax of the scores." },
        { ag_matmul(weights, misread(v)), "Number d of word j's value is value[j * k + d]." },
        { ag_matmul(weights, overlapping(v)), "Number d of word j's value is value[j * k + d]." },
        { ag_scale(ag_matmul(weights, v), 1.0 / N), "The weights add up to 1: do not divide by n again." },
        { attend(scores_of(misread(q), k), v), "Number d of word i's query is query[i * k + d]." },
        { attend(scores_of(overlapping(q), k), v), "Number d of word i's query is query[i * k + d]." },
        { attend(scores_of(q, misread(k)), v), "Number d of word j's key is key[j * k + d]." },
        { attend(scores_of(q, overlapping(k)), v), "Number d of word j's key is key[j * k + d]." },
        { attend(scores_of(overlapping(q), overlapping(k)), v),
          "Number d of word i is at i * k + d in query and key." },
        { from_columns, rows }, { in_columns(from_columns), rows }, { in_columns(right), rows },
        { attend(scores_of(q_columns, k_columns), v),
          "Number d of word i is at i * k + d in query and key." },
        { ag_add(right, v), alone }, { ag_add(right, q), alone }, { ag_add(right, k), alone },
        { attend(cosines, v), score }, { attend(ag_scale(cosines, sqrt(K)), v), score },
        { NULL, NULL } },
                       .more = (const MoreCalls[]){
        { call_attention_with_sizes, attention_with_sizes(), other_size },
        { call_attention_far, nn_attention(tensor_of(2, 2, far_query), tensor_of(2, 2, far_key), tensor_of(2, 2, value), NULL,
                                           NULL, NULL),
          "e^x of a large score is infinite: subtract the largest score first, or call answer_softmax." },
        { NULL, NULL, NULL } } });
}

/* ---- the causal mask ---------------------------------------------------------------------------------------------- */

enum { POSITIONS = 300 };
typedef struct { bool sees[POSITIONS][POSITIONS]; } Mask;

static void call_sees(Mask *mask)
{
    for (int i = 0; i < POSITIONS; i++) {
        for (int j = 0; j < POSITIONS; j++) {
            mask->sees[i][j] = answer_sees(i, j);
        }
    }
}

/* How many pairs with positions before `n` are wrong and have j - i between `from` and `to`. */
static int count_wrong(const Mask *got, const Mask *want, int n, int from, int to)
{
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        for (int j = i + from < 0 ? 0 : i + from; j < n && j <= i + to; j++) {
            wrong += got->sees[i][j] != want->sees[i][j];
        }
    }
    return wrong;
}

static void print_mask_mistake(const Mask *got, const Mask *want, int first)
{
    enum { FEW = 5, PAIRS = FEW * (FEW - 1) / 2 };
    int earlier = count_wrong(got, want, FEW, -FEW, -1), itself = count_wrong(got, want, FEW, 0, 0);
    int next = count_wrong(got, want, FEW, 1, 1), later = count_wrong(got, want, FEW, 1, FEW);
    if (earlier + itself + later == 0) {
        say("             For the first %d positions it is right: the same rule holds for all.\n", first);
    } else if (earlier == PAIRS && later == PAIRS) {
        say("             This shows the later positions and hides the earlier ones.\n");
    } else {
        if (later > 0) {
            say(later == next ? "             No position may see the next one.\n"
                              : "             No position may see a later one.\n");
        }
        if (itself > 0) say("             A position also sees itself.\n");
        if (earlier == PAIRS) say("             A position also sees the earlier ones, not only itself.\n");
        else if (earlier > 0) say("             A position sees all earlier ones, not only some of them.\n");
    }
}

static void grade_mask(void)
{
    static Mask got, again, want;
    Tensor *mask = ag_cast(nn_causal_mask(POSITIONS), AG_REAL);
    int seen = 0, wrong = -1;
    call_sees(&got);
    call_sees(&again);
    for (int i = POSITIONS * POSITIONS - 1; i >= 0; i--) {
        bool sees = got.sees[i / POSITIONS][i % POSITIONS];
        want.sees[i / POSITIONS][i % POSITIONS] = tensor_data(mask)[i] != 0;
        seen += sees;
        wrong = sees == (tensor_data(mask)[i] != 0) ? wrong : i;
    }
    printf("%-12s ", "causal_mask");
    if (memcmp(&got, &again, sizeof got) != 0) {
        report_other_result();
    } else if (wrong < 0) {
        say("right\n");
        return;
    } else if (seen == 0) {
        say("not written yet\n");
    } else {
        int i = wrong / POSITIONS, j = wrong % POSITIONS;
        say(got.sees[i][j] ? "wrong: answer_sees(%d, %d) is true, expected false\n"
                           : "wrong: answer_sees(%d, %d) is false, expected true\n", i, j);
        print_mask_mistake(&got, &want, i > j ? i : j);
    }
    complain("causal_mask");
}

/* ---- Adam and the coder ------------------------------------------------------------------------------------------- */

/* If the answer does nothing, y stays as it is. */
static void call_adam(double *y)
{
    for (int run = 0; run < RUNS; run++) {
        double w = 1, m = 0, v = 0;
        for (int i = 0; i < STEPS; i++) {
            answer_adam(&w, &m, &v, adam_gradient(run, i), i + 1, adam_rate(run));
            if (w != 1 || m != 0 || v != 0) {
                y[run * STEPS + i] = w;
            }
        }
    }
}

/* Gradients so large that a float cannot hold their squares. The steps are those of the first run: 1e-8 does not count. */
static void call_adam_with_large_gradients(double *y)
{
    double w = 1, m = 0, v = 0;
    for (int i = 0; i < STEPS; i++) {
        answer_adam(&w, &m, &v, 1e30 * adam_gradient(0, i), i + 1, adam_rate(0));
        y[i] = w;
    }
}

/* By what factor all steps of this run are too large; 0 if there is none. */
static double step_factor(const double *y, Tensor *want, int run)
{
    double factor = 0, before = 1, before_right = 1;
    for (int i = run * STEPS; i < (run + 1) * STEPS; i++) {
        double right = (double)tensor_data(want)[i], ratio = (y[i] - before) / (right - before_right);
        if (i > run * STEPS && !(fabs(ratio - factor) <= 1e-3 * fabs(factor))) {
            return 0;
        }
        factor = ratio;
        before = y[i];
        before_right = right;
    }
    return factor;
}

/* Which of m, v and w is wrong first. */
static void explain_line_of_adam(void)
{
    double w = 1, m = 0, v = 0, right_m = 0, right_v = 0;
    for (int i = 0; i < STEPS; i++) {
        double dw = adam_gradient(0, i);
        answer_adam(&w, &m, &v, dw, i + 1, adam_rate(0));
        right_m = 0.9 * right_m + 0.1 * dw;
        right_v = 0.999 * right_v + 0.001 * dw * dw;
        if (!(fabs(m - right_m) <= 1e-5 * fabs(right_m))) {
            say("             After step %d, m is %.5g, expected %.5g.\n", i + 1, m, right_m);
            return;
        }
        if (!(fabs(v - right_v) <= 1e-5 * right_v)) {
            say("             After step %d, v is %.5g, expected %.5g.\n", i + 1, v, right_v);
            return;
        }
    }
    say("             m and v are right: look at the line that changes w.\n");
}

/* Prints what the answer adds in place of 1e-8, a factor of all steps, or the learning rate, if it is right but for that. Or
 * else which of m, v and w is wrong. */
static void explain_adam(const double *y)
{
    Tensor *want = library_adam();
    double dw = adam_gradient(1, 0), eps = adam_rate(1) * dw / (1 - y[STEPS]) - dw;
    double factor[RUNS] = { step_factor(y, want, 0), step_factor(y, want, 1) }, rate = factor[0] * adam_rate(0);
    if (eps > 0 && same_mistake(y, adam_with_eps(eps))) {
        say("             You add %.3g to the root, not 1e-8.\n", eps);
    } else if (factor[0] != 0 && fabs(factor[1] - factor[0]) <= 1e-3 * fabs(factor[0])) {
        say("             Each step is %.4g times as large as it should be.\n", factor[0]);
    } else if (rate != 0 && fabs(factor[1] * adam_rate(1) - rate) <= 1e-3 * fabs(rate)) {
        say("             The learning rate is %.3g in each call: multiply the step by lr.\n", rate);
    } else {
        explain_line_of_adam();
    }
}

static void grade_adam(void)
{
    Mistake mistake[ADAM_MISTAKES + 1];
    for (int how = 0; how < ADAM_MISTAKES; how++) {
        mistake[how] = (Mistake){ wrong_adam(how), adam_mistake[how] };
    }
    mistake[ADAM_MISTAKES] = (Mistake){ NULL, NULL };
    grade(&(Exercise){ .name = "adam", .answer = call_adam, .want = library_adam(), .mistakes = mistake,
                       .explain = explain_adam, .not_finite = "The divisor must not be 0: step counts from 1.",
                       .more = (const MoreCalls[]){
        { call_adam_with_large_gradients, ag_slice(library_adam(), 0, 0, STEPS), "dw^2 is too large for a float: use double." },
        { NULL, NULL, NULL } } });
}

/* If the answer does nothing, y stays as it is. */
static void call_interval(double *y)
{
    double low = interval_low, length = interval_length;
    for (int i = 0; i < SYMBOLS; i++) {
        answer_interval(&low, &length, lend(interval_shares, KINDS), interval_symbols[i]);
        if (low != interval_low || length != interval_length) {
            y[2 * i] = low;
            y[2 * i + 1] = length;
        }
    }
}

/* The last symbol again and again: its interval ends where the first one does. y: the error of this end, a million times. */
static void call_interval_to_the_end(double *y)
{
    double low = 0, length = 1;
    for (int i = 0; i < SYMBOLS; i++) {
        answer_interval(&low, &length, lend(interval_shares, KINDS), KINDS - 1);
        y[i] = 1e6 * (low + length - 1);
    }
}

/* Which of low and length is wrong first. */
static void explain_interval(const double *y)
{
    Tensor *want = intervals(RIGHT_INTERVAL);
    for (int i = 0; i < SYMBOLS; i++) {
        const ag_real *right = tensor_data(want) + (int64_t)2 * i;
        bool low = fabs(y[2 * i] - (double)right[0]) > 1e-6, length = fabs(y[2 * i + 1] - (double)right[1]) > 1e-6;
        if (low) {
            say("             After symbol %d low is wrong: it moves by length times the sum of p of the symbols before.\n",
                interval_symbols[i]);
        }
        if (length) {
            say("             After symbol %d length is wrong: it is multiplied by p of `symbol`.\n", interval_symbols[i]);
        }
        if (low || length) {
            return;
        }
    }
}

static void grade_interval(void)
{
    Mistake mistake[INTERVAL_MISTAKES];
    for (int how = RIGHT_INTERVAL + 1; how < INTERVAL_MISTAKES; how++) {
        mistake[how - 1] = (Mistake){ intervals(how), interval_mistake[how] };
    }
    mistake[INTERVAL_MISTAKES - 1] = (Mistake){ NULL, NULL };
    grade(&(Exercise){ .name = "interval", .answer = call_interval, .want = intervals(RIGHT_INTERVAL), .mistakes = mistake,
                       .explain = explain_interval, .not_finite = "The interval is not finite.", .more = (const MoreCalls[]){
        { call_interval_to_the_end, tensor_zeros(SHAPE(SYMBOLS)), digits_lost },
        { NULL, NULL, NULL } } });
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
        if (!only || strcmp(only, exercise[i].name) == 0) {
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
