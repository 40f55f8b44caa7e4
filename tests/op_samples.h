/* op_samples.h: sample calls of every operation in ops.def, for the tests of values, gradients and memory.
 *
 * A sample function NAME_sample makes one call of its operation: case s->number, with inputs from the functions below. It
 * returns NULL if there is no such case. The same number must always make the same call. An operation has at least 8 cases. */
#ifndef KAERU_OP_SAMPLES_H
#define KAERU_OP_SAMPLES_H

#include "more_table.h"

typedef struct { bool apart; double low, high; } SampleRange;
typedef struct Sample Sample;
struct Sample {
    int number;
    Tensor **in;                /* at most MAX_INPUTS; NULL: not made yet */
    bool alias;                 /* input 0 also serves as each later input of its shape */
    Tensor *(*make_input)(Sample *s, int i, AgShape shape, SampleRange range);      /* NULL: op_samples.c makes them */
};
enum { MAX_INPUTS = 4 };

/* Input i of the call; i counts the inputs of reals from 0. */
Tensor *sample_in(Sample *s, int i, AgShape shape);                             /* standard normal */
Tensor *sample_range(Sample *s, int i, AgShape shape, double low, double high);  /* uniform */
Tensor *sample_positive(Sample *s, int i, AgShape shape);                       /* uniform in 0.3..2 */
/* Values that are 0.05 apart or more: from each other, from 0 and from other inputs. */
Tensor *sample_apart(Sample *s, int i, AgShape shape);
double sample_apart_value(int i, int64_t j, int64_t n);                          /* entry j of n of such an input */
Tensor *sample_ids(AgShape shape, int32_t below);                               /* AG_INT, the same each time */
Tensor *sample_mask(AgShape shape);                                             /* AG_BOOL, the same each time */

typedef Tensor *SampleCall(Sample *s);
/* Indexed by OP_add, ... An operation of ops.def without a sample function does not link. */
extern SampleCall *const op_samples[OP_COUNT];

/* Checks the gradients of all cases, without and with `alias`. Returns the number of cases that passed, or
 * -1 - (the first case that failed). `report`: as in ag_gradcheck. */
int check_samples(SampleCall *call, FILE *report);

#define OP(name, ...) Tensor *name##_sample(Sample *s);
#include "ops/ops.def"
#define OP(name, ...) Tensor *name##_sample(Sample *s);
#include "more.def"

#endif
