/* check.h: how the program grade checks an answer. */
#ifndef KAERU_EXAMPLES_CHECK_H
#define KAERU_EXAMPLES_CHECK_H

#include "kaeru/autograd.h"

/* A usual mistake: its result, and what to do. `why` is NULL after the last one. */
typedef struct { Tensor *result; const char *why; } Mistake;

/* Compares an answer with the library's result. If it is wrong, prints the first wrong number and the likely mistake;
 * `not_finite` if that number is not finite and no mistake has this result. */
void grade(const char *name, const double *got, Tensor *want, const char *not_finite, const Mistake *mistake);

/* A call of an answer that sets the numbers of y, at most MOST_NUMBERS. */
enum { MOST_NUMBERS = 20 };
typedef void Answer(double *y);
/* Whether it computes the library's result, whatever y holds before. */
bool is_right(Answer *answer, Tensor *want);
/* grade() for such an answer. `first`: an exercise that is not right yet, which the answer may call; or NULL. */
void grade_answer(const char *name, Answer *answer, Tensor *want, const char *not_finite, const Mistake *mistake,
                  const char *first);

/* The weight after each of STEPS steps from 1, of the library's Adam and of a wrong one; in RUNS runs. In the second run the
 * gradients are so small that 1e-8 counts. */
enum { RUNS = 2, STEPS = 4 };
double adam_gradient(int run, int step);                                /* step: from 0 */
Tensor *library_adam(double lr);
typedef enum {
    UNCORRECTED, M_UNCORRECTED, V_UNCORRECTED, NOT_SQUARED, NO_AVERAGES, NO_M, UPHILL, NO_ROOT, NO_EPS, EPS_IN_ROOT, EXCHANGED,
    NO_SHARE, FORGETS, ONE_STEP_LATE, ADAM_MISTAKES
} AdamMistake;
extern const char *const adam_mistake[ADAM_MISTAKES];                   /* what to do */
Tensor *wrong_adam(AdamMistake how, double lr);

enum { SYMBOLS = 4 };
/* The start and the length of the coder's interval after each of SYMBOLS symbols, (2 SYMBOLS): right, or with a mistake. */
typedef enum {
    RIGHT_INTERVAL, NOT_MOVED, MOVED_BY_SHARES, LENGTH_FIRST, LENGTH_OF_ONE, ONE_PART_TOO_MANY, LOW_REPLACED, LENGTH_KEPT,
    FIRST_PART_LEFT_OUT
} IntervalMistake;
Tensor *intervals(IntervalMistake how, const double *p, const int *symbol);

#endif
