/* optimizer.h: the members of an optimizer, for the files of nn. */
#ifndef KAERU_OPTIMIZER_H
#define KAERU_OPTIMIZER_H

#include "kaeru/optim.h"
#include "walk.h"

/* The state of one parameter. */
typedef struct {
    int n;                      /* state tensors; 0 if the parameter is not trained */
    Tensor *tensor[NN_STATES];  /* they, once optimizer_make_state has made them; NULL behind the
                                   last */
    int64_t first, count;       /* the items that this optimizer updates and has state of: all, or a
                                   part */
    bool is_part;
    int64_t steps;              /* its updates: fewer than the optimizer's steps if it got no
                                   gradient in some */
    int group;
} ParameterState;

typedef struct { double weight_decay, lr_factor; } Group;

/* Who has the other parts of the state, for files. All of them write a file together: they call
 * the same functions. */
typedef struct Sharing Sharing;
struct Sharing {
    /* Returns state tensor k of parameter i, whole, where the file is written, else NULL. It is
     * valid until the next call. */
    const ag_real *(*collect)(Sharing *s, int i, int k);
    bool is_writer;             /* whether the file is written here */
    /* Whether `good` was true for all of them; if not, ag_error() tells why. */
    bool (*all_good)(Sharing *s, bool good);
};

struct Optimizer {
    unsigned magic;             /* OPTIMIZER, in no other object */
    Module *module;             /* whose parameters it updates */
    const OptimizerKind *kind;
    void *options;              /* a copy of the caller's */
    size_t options_size;
    double lr;                  /* the only place; weight decay is in the groups */
    NnParameters *parameters;
    ParameterState *state;      /* one for each item of `parameters` */
    Group *group;
    int n_groups;
    int64_t steps;
    const char *refusal;        /* why nn_optimizer_step takes no step; NULL: it does */
    Sharing *sharing;           /* NULL: the whole state is here, or the other parts are lost */
    AgScope update;             /* around the last call of the kind's update */
};

/* Makes the state tensors, zeroed, unless they exist: before a step, or for a file. */
void optimizer_make_state(Optimizer *o);
/* A usage error if o has a part of the state only, and the others are lost. */
void check_whole(const char *what, const Optimizer *o);
/* A usage error if a step of o runs, if a field of the module was replaced, or if a parameter has a
 * gradient but no state in o. Also if no parameter has a gradient; `trained` is the number of those
 * whose gradients were taken. */
void optimizer_check(const char *what, const Optimizer *o, int trained);
/* Updates the items of parameter i by its gradient, a tensor of its shape. Call it in a scope that
 * does not record. Afterwards the program may have freed o. */
void optimizer_update(const char *what, Optimizer *o, int i, Tensor *gradient, double grad_scale);
/* Returns what gradients of this norm are multiplied by, so that it is at most max_norm (0 or
 * infinity: 1). As in PyTorch, it is 0 for an infinite norm, and NaN for NaN. */
double clip_factor(double norm, double max_norm);
/* A usage error unless o is an optimizer that was not freed, on a module that was not freed and
 * still has all parameters. */
void check_optimizer(const char *what, const Optimizer *o);

#endif
