/* answers.c: write these functions, then run: sh examples/run.sh grade */
#include "answers.h"

#include <math.h>

/* Lesson 9. y[i] = e^x[i] / (the sum of all e^x[j]), i = 0 ... n - 1. exp(1000) is infinite, so subtract the largest x from all
 * of them first; the result is the same. */
void answer_softmax(int n, const double *x, double *y)
{
    (void)n, (void)x, (void)y;                                          /* no warning while they are unused */
}

/* Lessons 5 and 7. y[i] = (x[i] - mean) / sqrt(variance + 1e-5), i = 0 ... n - 1; the variance divides by n. */
void answer_layer_norm(int n, const double *x, double *y)
{
    (void)n, (void)x, (void)y;
}

/* Lesson 10. n words, each with a query, a key and a value of k numbers; query[i * k + d] is number d of word i's query.
 * y, of the same shape: the mean of the values, weighted by the softmax of the scores q.k / sqrt(k). You can call
 * answer_softmax. */
void answer_attention(int n, int k, const double *query, const double *key, const double *value, double *y)
{
    (void)n, (void)k, (void)query, (void)key, (void)value, (void)y;
}

/* Lesson 14. Whether position i of a decoder may see position j. */
bool answer_sees(int i, int j)
{
    (void)i, (void)j;
    return false;
}

/* Lesson 3. Step number `step` of Adam (1, 2, ...) for one weight *w with the gradient dw:
 *     m = 0.9 m + 0.1 dw                  running average of the gradients, 0 at first
 *     v = 0.999 v + 0.001 dw^2            running average of their squares, 0 at first
 *     w = w - lr (m / (1 - 0.9^step)) / (sqrt(v / (1 - 0.999^step)) + 1e-8)
 * The divisions by 1 - 0.9^step and 1 - 0.999^step make up for the start at 0. */
void answer_adam(double *w, double *m, double *v, double dw, int step, double lr)
{
    (void)w, (void)m, (void)v, (void)dw, (void)step, (void)lr;
}

/* Lesson 18. A step of the arithmetic coder. Its interval begins at *low and is *length long. It is divided among the symbols
 * 0, 1, 2, ... in this order; the part of symbol i is p[i] of it. Make the interval the part of `symbol`. */
void answer_interval(double *low, double *length, const double *p, int symbol)
{
    (void)low, (void)length, (void)p, (void)symbol;
}
