/* grade.c: exercises that grade themselves: softmax, layer norm, attention, the causal mask, a step of Adam, one of a coder. */
#include <math.h>
#include <string.h>

#include "common/common.h"
#include "grade/answers.h"
#include "grade/check.h"
#include "kaeru/attention.h"
#include "kaeru/autograd.h"

enum { MOST = 25, N = 3, K = 2, POSITIONS = 5 };
static const char *only = "";

static Tensor *divide_by_sum(Tensor *x)
{
    return ag_div(x, ag_sum_dims(x, DIMS(-1), true));
}

static void grade_softmax(void)
{
    const double x[] = { 1, 3, -2, 6, -1 }, large[] = { 1000, 1001, 998 };
    double y[MOST] = { 0 };
    Tensor *t = tensor_from(SHAPE(5), (const ag_real[]){ 1, 3, -2, 6, -1 });
    answer_softmax(5, x, y);
    grade("softmax", y, ag_softmax(t, -1), (const Mistake[]){
        { ag_exp(t), "Divide by the sum: the weights must add up to 1." },
        { divide_by_sum(t), "You divided x itself by its sum: take e^x." },
        { ag_exp(ag_sub(t, ag_max(t))), "Divide by the sum: the weights must add up to 1." }, { NULL, NULL } });
    if (same(y, ag_softmax(t, -1))) {
        answer_softmax(3, large, y);
        grade("softmax", y, ag_softmax(tensor_from(SHAPE(3), (const ag_real[]){ 0, 1, -2 }), -1),
              (const Mistake[]){ { NULL, NULL } });
    }
}

static void grade_layer_norm(void)
{
    const double x[] = { 1, 2, 3, 6 };
    double y[MOST] = { 0 };
    Tensor *t = tensor_from(SHAPE(4), (const ag_real[]){ 1, 2, 3, 6 }), *centered = ag_sub(t, ag_mean(t));
    Tensor *variance = ag_mean(ag_mul(centered, centered));
    answer_layer_norm(4, x, y);
    grade("layer_norm", y, ag_layer_norm(t, NULL, NULL, AG_NORM_PYTORCH), (const Mistake[]){
        { ag_div(centered, variance), "You divided by the variance: divide by its square root, the deviation." },
        { ag_layer_norm(t, NULL, NULL, AG_NORM_ANNOTATED), "The variance divides by n here, not by n - 1." },
        { ag_div(t, ag_sqrt(variance)), "Subtract the mean first." },
        { centered, "Divide by the deviation." }, { NULL, NULL } });
}

static void grade_attention(void)
{
    const double q[N * K] = { 1, 2, -1, 0.5, 0, 1 }, k[N * K] = { 1, 0, 0.5, 2, -1, 1 }, v[N * K] = { 1, 5, 2, 7, 4, -3 };
    double y[MOST] = { 0 };
    Tensor *t[3] = { tensor_zeros(SHAPE(N, K)), tensor_zeros(SHAPE(N, K)), tensor_zeros(SHAPE(N, K)) };
    for (int i = 0; i < N * K; i++) {
        tensor_mutable_data(t[0])[i] = (ag_real)q[i];
        tensor_mutable_data(t[1])[i] = (ag_real)k[i];
        tensor_mutable_data(t[2])[i] = (ag_real)v[i];
    }
    Tensor *scores = ag_matmul(t[0], ag_transpose(t[1], 0, 1)), *scaled = ag_scale(scores, 1 / sqrt(K));
    answer_attention(N, K, q, k, v, y);
    grade("attention", y, nn_attention(t[0], t[1], t[2], NULL, NULL, NULL), (const Mistake[]){
        { ag_matmul(ag_softmax(scores, -1), t[2]), "Divide the scores by sqrt(k)." },
        { ag_matmul(ag_softmax(ag_scale(scores, 1.0 / K), -1), t[2]), "Divide the scores by sqrt(k), not by k." },
        { ag_matmul(ag_softmax(scaled, 0), t[2]), "Softmax is over the keys of one query: the weights of a word add up to 1." },
        { ag_matmul(ag_softmax(ag_transpose(scaled, 0, 1), -1), t[2]), "You exchanged queries and keys." },
        { ag_matmul(scaled, t[2]), "The weights are the softmax of the scores." }, { NULL, NULL } });
}

static void grade_mask(void)
{
    double y[MOST];
    Tensor *want = ag_cast(nn_causal_mask(POSITIONS), AG_REAL), *turned = ag_transpose(want, 1, 2),
           *one = tensor_ones(AG_SCALAR);
    for (int i = 0; i < POSITIONS * POSITIONS; i++) {
        y[i] = answer_sees(i / POSITIONS, i % POSITIONS);
    }
    grade("causal_mask", y, want, (const Mistake[]){
        { ag_sub(one, turned), "A position also sees itself." },
        { turned, "This shows the later positions and hides the earlier ones." },
        { ag_sub(one, want), "This shows the later positions and hides the earlier ones." },
        { tensor_ones(SHAPE(1, POSITIONS, POSITIONS)), "No position may see a later one." }, { NULL, NULL } });
}

static void grade_adam(void)
{
    const double dw[STEPS] = { 0.5, 0.2, -0.1, 0.3 }, lr = 0.1;
    double w = 1, m = 0, v = 0, y[MOST];
    for (int i = 0; i < STEPS; i++) {
        answer_adam(&w, &m, &v, dw[i], i + 1, lr);
        y[i] = w;
    }
    bool untouched = w == 1 && m == 0 && v == 0;
    memset(y, 0, untouched ? sizeof y : 0);
    grade("adam", y, library_adam(dw, lr), (const Mistake[]){
        { wrong_adam(UNCORRECTED, dw, lr), "Divide m by 1 - 0.9^step and v by 1 - 0.999^step." },
        { wrong_adam(NOT_SQUARED, dw, lr), "v is the average of the squares, dw * dw." },
        { wrong_adam(NO_AVERAGES, dw, lr), "This is gradient descent: use m and v." },
        { wrong_adam(UPHILL, dw, lr), "Subtract the step: w must go down, against the gradient." }, { NULL, NULL } });
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
    grade("interval", y, intervals(RIGHT_INTERVAL, p, symbol), (const Mistake[]){
        { intervals(NOT_MOVED, p, symbol), "Move low behind the parts of the symbols before this one." },
        { intervals(MOVED_BY_SHARES, p, symbol), "p are shares of the interval: multiply their sum by length, too." },
        { intervals(LENGTH_FIRST, p, symbol), "Move low by parts of the old interval, before length changes." },
        { intervals(LENGTH_OF_ONE, p, symbol), "The part is p of the interval: multiply length by p." }, { NULL, NULL } });
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
