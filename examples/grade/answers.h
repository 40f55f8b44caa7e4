/* answers.h: the functions that the exercises ask for. */
#ifndef KAERU_EXAMPLES_ANSWERS_H
#define KAERU_EXAMPLES_ANSWERS_H

#include <stdbool.h>

void answer_softmax(int n, const double *x, double *y);
void answer_layer_norm(int n, const double *x, double *y);
void answer_attention(int n, int k, const double *query, const double *key, const double *value, double *y);
bool answer_sees(int i, int j);
void answer_interval(double *low, double *length, const double *p, int symbol);
void answer_adam(double *w, double *m, double *v, double dw, int step, double lr);

#endif
