/* check.h: how the program grade checks an answer. */
#ifndef KAERU_EXAMPLES_CHECK_H
#define KAERU_EXAMPLES_CHECK_H

#include "kaeru/autograd.h"

/* A usual mistake: its result, and what to do. `why` is NULL after the last one. */
typedef struct { Tensor *result; const char *why; } Mistake;

/* Calls an answer, which sets the numbers of y, at most MOST_NUMBERS. */
enum { MOST_NUMBERS = 160 };
typedef void Answer(double *y);
/* A copy of `numbers` for such a call to give to the answer, which must not change it. */
const double *lend(const double *numbers, int n);

/* More calls of an answer, whose first ones were right: other sizes, or large numbers. `why` says what is wrong if their
 * results are. `answer` is NULL after the last one. */
typedef struct { Answer *answer; Tensor *want; const char *why; } MoreCalls;

typedef struct {
    const char *name;
    Answer *answer;
    Tensor *want;                       /* the library's result */
    const Mistake *mistakes;
    void (*explain)(const double *y);   /* prints what it finds in wrong results that no mistake of the list has; or NULL */
    const char *not_finite;             /* what to do if a result is not finite, and no mistake has this result */
    const char *first;                  /* an exercise that is not right yet, which the answer may call; or NULL */
    const MoreCalls *more;              /* or NULL */
} Exercise;

/* Compares an answer with the library's result. If it is wrong, prints how, and the likely mistake. */
void grade(const Exercise *e);
/* Whether the answer computes the library's result, whatever y holds before. */
bool is_right(Answer *answer, Tensor *want);
/* Whether these are the numbers of the tensor, as an answer with a mistake computes them. */
bool same_mistake(const double *got, const Tensor *result);
/* Reports that a second call with the same input has another result. */
void report_other_result(void);
/* Reports that an exercise is not right, after its mistakes. */
void complain(const char *name);

#endif
