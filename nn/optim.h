/* optim.h: what an optimizer is inside, for the files of this floor. */
#ifndef KAERU_OPTIM_H
#define KAERU_OPTIM_H

#include "module.h"

/* What goes with one parameter. Untrained ones have no tensors here. */
typedef struct {
    Tensor *first;              /* Adam: m; SGD with momentum: the velocity */
    Tensor *second;             /* Adam: v */
    int64_t steps;              /* that moved it: fewer than the optimizer's where it got no gradient */
    int group;
} ParameterState;

typedef struct { double weight_decay, lr_factor; } Group;

struct Optimizer {
    AgOwned owned;
    bool is_adam;               /* else SGD */
    AdamOptions adam;
    SgdOptions sgd;
    Parameters *parameters;
    ParameterState *state;      /* one each */
    Group *group;
    int n_groups;
    int64_t steps;
};

#endif
