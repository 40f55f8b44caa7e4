/* solution.c: answers to the exercises of the example grade. */
#include "answers.h"

#include <math.h>

void answer_softmax(int n, const double *x, double *y)
{
    double largest = x[0], sum = 0;
    for (int i = 1; i < n; i++) largest = fmax(largest, x[i]);
    for (int i = 0; i < n; i++) sum += y[i] = exp(x[i] - largest);
    for (int i = 0; i < n; i++) y[i] /= sum;
}

void answer_layer_norm(int n, const double *x, double *y)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++) mean += x[i] / n;
    for (int i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++) y[i] = (x[i] - mean) / sqrt(variance + 1e-5);
}

void answer_attention(int n, int k, const double *query, const double *key, const double *value, double *y)
{
    for (int i = 0; i < n; i++) {
        double score[16], weight[16];
        for (int j = 0; j < n; j++) {
            score[j] = 0;
            for (int d = 0; d < k; d++) score[j] += query[i * k + d] * key[j * k + d] / sqrt(k);
        }
        answer_softmax(n, score, weight);
        for (int d = 0; d < k; d++) {
            y[i * k + d] = 0;
            for (int j = 0; j < n; j++) y[i * k + d] += weight[j] * value[j * k + d];
        }
    }
}

bool answer_sees(int i, int j)
{
    return j <= i;
}

void answer_adam(double *w, double *m, double *v, double dw, int step, double lr)
{
    *m = 0.9 * *m + 0.1 * dw;
    *v = 0.999 * *v + 0.001 * dw * dw;
    *w -= lr * (*m / (1 - pow(0.9, step))) / (sqrt(*v / (1 - pow(0.999, step))) + 1e-8);
}

void answer_interval(double *low, double *length, const double *p, int symbol)
{
    for (int i = 0; i < symbol; i++) *low += p[i] * *length;
    *length *= p[symbol];
}
