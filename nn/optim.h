/* optim.h: the members of an optimizer, for the files of nn. */
#ifndef KAERU_OPTIM_H
#define KAERU_OPTIM_H

#include "slots.h"

/* The state of one parameter. Parameters that are not trained have no tensors here. */
typedef struct {
    Tensor *exp_avg;            /* Adam: the moving average of the gradient; SGD with momentum: the momentum buffer */
    Tensor *exp_avg_sq;         /* Adam: the moving average of the squared gradient */
    int64_t steps;              /* its updates: fewer than the optimizer's steps if it got no gradient in some */
    int group;
} ParameterState;

typedef struct { double weight_decay, lr_factor; } Group;

struct Optimizer {
    unsigned magic;             /* tells whether it is alive */
    Module *module;             /* whose parameters it updates */
    bool is_adam;               /* else SGD */
    double lr;
    AdamOptions adam;           /* update() replaces lr and weight_decay of both options */
    SgdOptions sgd;
    Parameters *parameters;
    ParameterState *state;      /* one for each item of `parameters` */
    Group *group;
    int n_groups;
    int64_t steps;
};

/* A usage error unless o is an optimizer that was not freed, on a module that was not freed. */
void check_optimizer(Site at, const char *what, const Optimizer *o);

#endif
