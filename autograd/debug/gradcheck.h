/* gradcheck.h: what the gradient check finds for one input, for the report. */
#ifndef KAERU_GRADCHECK_H
#define KAERU_GRADCHECK_H

#include "internal.h"

typedef struct {
    double gradient, numerical;
    double by_use[2];           /* the numerical gradient of each of the two uses */
    bool wrong;
    /* Of a wrong entry, if there is a report: */
    int64_t reached;            /* how many entries of the result depend on it */
    double last[2];             /* the part of the numerical gradient that comes from the last of these, by use */
} CheckedEntry;

typedef struct {
    int input;
    const Tensor *x;
    CheckedEntry *entry;
    int64_t wrong;              /* the number of wrong entries */
    double largest;             /* the largest gradient or the largest numerical one, whichever is smaller */
} CheckedInput;

/* Whether the difference is within the tolerance. `largest`: as in CheckedInput. */
bool gradients_agree(double gradient, double numerical, double largest);
/* Prints how many entries are wrong, in which way, and the first few of them. */
void print_wrong_entries(FILE *out, const CheckedInput *c);

#endif
