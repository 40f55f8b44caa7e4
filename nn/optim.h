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
    int64_t first, count;       /* its items that this optimizer updates: all, or the part of this process (parallel.c) */
} ParameterState;

typedef struct { double weight_decay, lr_factor; } Group;

struct Optimizer {
    unsigned magic;             /* tells whether it is alive */
    bool is_adam;               /* else SGD */
    double lr;
    AdamOptions adam;           /* update() replaces lr and weight_decay of both options */
    SgdOptions sgd;
    Parameters *parameters;
    ParameterState *state;      /* one for each item of `parameters` */
    int n_tensors;              /* state tensors of a parameter: 0 to 2 */
    bool has_state;             /* they have been made */
    Group *group;
    int n_groups;
    int64_t steps;
};

/* Makes the state tensors, zeroed, unless they exist: before the first step, or for a file. */
void optimizer_make_state(Optimizer *o);
/* From now on, o updates only items first..first+count-1 of parameter i, and has state for them alone. */
void optimizer_keep_part(Optimizer *o, int i, int64_t first, int64_t count);
/* Updates these items: grad has `count` numbers. */
void optimizer_update(Optimizer *o, int i, const real *grad, double grad_scale);
/* Counts a step; optimizer_update of each parameter with a gradient follows. */
void optimizer_begin_step(Optimizer *o);
/* Of the kind, the options and the groups. */
uint64_t optimizer_hash(const Optimizer *o, uint64_t hash(uint64_t h, const void *bytes, size_t n));
/* A usage error unless o is an optimizer that was not freed, on a module that was not freed. */
void check_optimizer(Site at, const char *what, const Optimizer *o);

#endif
