/* solution.c: answers to the exercises of the example grade; with MISTAKE, answers with one of the usual errors each. */
#include "answers.h"

#include <math.h>

enum { NONE, UNDONE, FIRST, SECOND, THIRD, FOURTH };
#ifndef MISTAKE
#define MISTAKE NONE
#endif

void answer_softmax(int n, const double *x, double *y)
{
    if (MISTAKE == UNDONE) return;
    double largest = x[0], sum = 0;
    for (int i = 1; i < n; i++) largest = fmax(largest, x[i]);
    if (MISTAKE == THIRD) largest = 0;                                          /* overflows */
    for (int i = 0; i < n; i++) sum += y[i] = MISTAKE == SECOND ? x[i] : exp(x[i] - largest);
    if (MISTAKE != FIRST) for (int i = 0; i < n; i++) y[i] /= sum;
}

void answer_layer_norm(int n, const double *x, double *y)
{
    if (MISTAKE == UNDONE) return;
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++) mean += x[i] / n;
    for (int i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean) / (MISTAKE == SECOND ? n - 1 : n);
    if (MISTAKE == THIRD) mean = 0;
    for (int i = 0; i < n; i++) {
        y[i] = (x[i] - mean) / (MISTAKE == FOURTH ? 1 : MISTAKE == FIRST ? variance : sqrt(variance + 1e-5));
    }
}

void answer_attention(int n, int k, const double *query, const double *key, const double *value, double *y)
{
    const double *q = MISTAKE == FOURTH ? key : query, *of = MISTAKE == FOURTH ? query : key;
    for (int i = 0; MISTAKE != UNDONE && i < n; i++) {
        double weight[16], largest = -INFINITY, sum = 0;
        for (int j = 0; j < n; j++) {
            weight[j] = 0;
            for (int d = 0; d < k; d++) weight[j] += q[i * k + d] * of[j * k + d];
            weight[j] /= MISTAKE == FIRST ? 1 : MISTAKE == SECOND ? k : sqrt(k);
            largest = fmax(largest, weight[j]);
        }
        for (int j = 0; j < n; j++) sum += MISTAKE == THIRD ? 0 : (weight[j] = exp(weight[j] - largest));
        for (int d = 0; d < k; d++) {
            y[i * k + d] = 0;
            for (int j = 0; j < n; j++) y[i * k + d] += weight[j] / (MISTAKE == THIRD ? 1 : sum) * value[j * k + d];
        }
    }
}

bool answer_sees(int i, int j)
{
    if (MISTAKE == UNDONE) return false;
    return MISTAKE == FIRST ? j < i : MISTAKE == SECOND ? j >= i : MISTAKE == THIRD ? true : MISTAKE == FOURTH ? j > i : j <= i;
}

void answer_adam(double *w, double *m, double *v, double dw, int step, double lr)
{
    if (MISTAKE == UNDONE) return;
    double start_m = 1 - pow(0.9, step), start_v = 1 - pow(0.999, step);
    *m = 0.9 * *m + 0.1 * dw;
    *v = 0.999 * *v + 0.001 * dw * (MISTAKE == SECOND ? 1 : dw);
    if (MISTAKE == FIRST) start_m = start_v = 1;
    double change = MISTAKE == THIRD ? lr * dw : lr * (*m / start_m) / (sqrt(*v / start_v) + 1e-8);
    *w -= MISTAKE == FOURTH ? -change : change;
}

void answer_interval(double *low, double *length, const double *p, int symbol)
{
    double before = 0, old = *length;
    if (MISTAKE == UNDONE) return;
    for (int i = 0; i < symbol; i++) before += MISTAKE == FIRST ? 0 : p[i];
    *length = (MISTAKE == FOURTH ? 1 : old) * p[symbol];
    *low += before * (MISTAKE == SECOND ? 1 : MISTAKE == THIRD ? *length : old);
}
