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

#endif
