/* check.h: how the program grade checks an answer. */
#ifndef KAERU_EXAMPLES_CHECK_H
#define KAERU_EXAMPLES_CHECK_H

#include "kaeru/autograd.h"

/* A usual mistake: its result, and what to do. `why` is NULL after the last one. */
typedef struct { Tensor *result; const char *why; } Mistake;

bool same(const double *got, Tensor *want);                             /* up to 1e-4 */
/* Compares an answer with the library's result. If it is wrong, prints the first wrong number and the likely mistake. */
void grade(const char *name, const double *got, Tensor *want, const Mistake *mistake);

enum { STEPS = 4 };
/* The weight after each of STEPS steps from 1 with the gradients dw, of the library's Adam and of a wrong one. */
Tensor *library_adam(const double *dw, double lr);
typedef enum { UNCORRECTED, NOT_SQUARED, NO_AVERAGES, UPHILL } AdamMistake;
Tensor *wrong_adam(AdamMistake how, const double *dw, double lr);

enum { SYMBOLS = 4 };
/* The start and the length of the coder's interval after each of SYMBOLS symbols, (2 SYMBOLS): right, or with a mistake. */
typedef enum { RIGHT_INTERVAL, NOT_MOVED, MOVED_BY_SHARES, LENGTH_FIRST, LENGTH_OF_ONE } IntervalMistake;
Tensor *intervals(IntervalMistake how, const double *p, const int *symbol);

#endif
