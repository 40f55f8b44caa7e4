/* optimizer.h: the struct of an optimizer, and functions on it, for the files of nn. */
#ifndef KAERU_OPTIMIZER_H
#define KAERU_OPTIMIZER_H

#include "kaeru/optim.h"
#include "walk.h"

/* The state of one parameter. */
typedef struct {
    int n;                      /* the number of state tensors; 0 if the parameter is not trained */
    Tensor *tensor[NN_STATES];  /* the state tensors, which optimizer_make_state makes */
    int64_t first, count;       /* the items that this optimizer updates and has state of */
    bool is_part;               /* whether these are not all items */
    int64_t steps;              /* the number of updates; a step without a gradient is none */
    int group;                  /* the number of its group */
} ParameterState;

typedef struct { double weight_decay, lr_factor; } Group;

/* The other processes, if each of them has a part of the state. They write a file together: all of
 * them call the same functions. */
typedef struct Sharing Sharing;
struct Sharing {
    /* Returns the whole state tensor k of parameter i in the process that writes the file, NULL in
     * the others. It is valid until the next call. */
    const ag_real *(*collect)(Sharing *s, int i, int k);
    bool is_writer;             /* whether this process writes the file */
    /* Returns whether `good` was true in all processes; if not, ag_error() tells why. */
    bool (*all_good)(Sharing *s, bool good);
};

struct Optimizer {
    unsigned magic;             /* OPTIMIZER, which no other object has here */
    Module *module;             /* the module whose parameters are updated */
    const OptimizerKind *kind;
    void *options;              /* a copy of the options that the kind got */
    size_t options_size;
    double lr;                  /* the learning rate, set by nn_optimizer_new and
                                   nn_optimizer_set_lr; weight decay is in the groups */
    NnParameters *parameters;
    ParameterState *state;      /* one for each item of `parameters` */
    Group *group;
    int n_groups;
    int64_t steps;
    const char *refusal;        /* the error of nn_optimizer_step if it cannot be used, or NULL */
    Sharing *sharing;           /* NULL if the whole state is here, or if other parts are lost */
    AgScope update;             /* the scope of the last call of the kind's update */
};

/* Makes the state tensors that do not exist, filled with 0: before a step, or for a file. */
void optimizer_make_state(Optimizer *o);
/* Checks that no part of the state of o is lost. */
void check_whole(const char *what, const Optimizer *o);
/* Checks that o can take a step: no step of o runs, no field of the module was replaced, each
 * parameter with a gradient is one of o, and there is a gradient. `trained` is the number of
 * gradients that the caller has outside the tensors; 0 if it has none. */
void optimizer_check(const char *what, const Optimizer *o, int trained);
/* Updates the items of parameter i by its gradient, a tensor of its shape. The scope must not
 * record. It calls the kind's update, which may be a function of the program and may free o. */
void optimizer_update(const char *what, Optimizer *o, int i, Tensor *gradient, double grad_scale);
/* Returns the factor that makes a norm of all gradients at most max_norm; 1 if max_norm is 0 or
 * infinite. As in PyTorch, it is 0 for an infinite norm, and NaN for NaN. */
double clip_factor(double norm, double max_norm);
/* Checks that o is an optimizer that was not freed, and that its module was not freed and still has
 * all parameters. */
void check_optimizer(const char *what, const Optimizer *o);

#endif
