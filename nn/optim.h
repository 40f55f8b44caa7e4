/* optim.h: the members of an optimizer, for the files of nn. */
#ifndef KAERU_OPTIM_H
#define KAERU_OPTIM_H

#include "slots.h"

/* The state of one parameter. */
typedef struct {
    Tensor *tensor[NN_STATES];  /* NULL behind the last; a parameter that is not trained has none */
    int64_t steps;              /* its updates: fewer than the optimizer's steps if it got no gradient in some */
    int group;
} ParameterState;

typedef struct { double weight_decay, lr_factor; } Group;

struct Optimizer {
    unsigned magic;             /* tells whether it is alive */
    const OptimizerKind *kind;
    void *options;              /* a copy of the caller's */
    double lr;
    Parameters *parameters;
    ParameterState *state;      /* one for each item of `parameters` */
    Group *group;
    int n_groups;
    int64_t steps;
};

/* A usage error unless o is an optimizer that was not freed, on a module that was not freed. */
void check_optimizer(Site at, const char *what, const Optimizer *o);

#endif
