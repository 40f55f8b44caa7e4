/* wrong.h: a step of Adam and a step of the arithmetic coder, right and with the usual mistakes. */
#ifndef KAERU_EXAMPLES_WRONG_H
#define KAERU_EXAMPLES_WRONG_H

#include "kaeru/autograd.h"

/* The weight after each of STEPS steps from 1, of the library's Adam and of a wrong one; in RUNS runs. In the second run the
 * gradients are so small that 1e-8 counts, and the learning rate is another one. */
enum { RUNS = 2, STEPS = 4 };
double adam_gradient(int run, int step);                                /* step: from 0 */
double adam_rate(int run);
Tensor *library_adam(void);
typedef enum {
    UNCORRECTED, M_UNCORRECTED, V_UNCORRECTED, NOT_SQUARED, NO_AVERAGES, NO_M, UPHILL, NO_ROOT, NO_EPS, EPS_IN_ROOT, EXCHANGED,
    NO_SHARE, NO_SHARE_M, NO_SHARE_V, FORGETS, ONE_STEP_LATE, STARTS_EXCHANGED, NO_POWER, STORES_CORRECTED, BEFORE_AVERAGES,
    SQUARE_OF_M, EPS_TOO_EARLY, W_REPLACED, DECAYS, SHORT_V, START_OF_M_TWICE, START_OF_V_TWICE,
    STORES_M, STORES_V, ADAM_MISTAKES
} AdamMistake;
extern const char *const adam_mistake[ADAM_MISTAKES];                   /* what to do */
Tensor *wrong_adam(AdamMistake how);
/* A right Adam but for the number that is added to the root. */
Tensor *adam_with_eps(double eps);

/* The start and the length of the coder's interval after each of SYMBOLS symbols, (2 SYMBOLS): right, or with a mistake. */
enum { SYMBOLS = 5 };
extern const double interval_low, interval_length;                      /* at first */
extern const int interval_symbols[SYMBOLS];
enum { KINDS = 4 };
extern const double interval_shares[KINDS];
typedef enum {
    RIGHT_INTERVAL, NOT_MOVED, MOVED_BY_SHARES, LENGTH_FIRST, LENGTH_OF_ONE, ONE_PART_TOO_MANY, LOW_REPLACED, LENGTH_KEPT,
    FIRST_PART_LEFT_OUT, END_FOR_LENGTH, ONLY_ONE_PART, FROM_THE_END, LOW_FOR_LENGTH, LENGTH_DIVIDED, LENGTH_FOR_END,
    EVEN_PARTS, LENGTH_IN_LOOP, DOWNWARD, INTERVAL_MISTAKES
} IntervalMistake;
extern const char *const interval_mistake[INTERVAL_MISTAKES];           /* what to do */
Tensor *intervals(IntervalMistake how);

#endif
