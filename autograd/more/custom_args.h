/* custom_args.h: what a call of an operation of the program keeps for its rules. */
#ifndef KAERU_CUSTOM_ARGS_H
#define KAERU_CUSTOM_ARGS_H

#include "kaeru/custom.h"
#include "op.h"

/* y->args of a result of ag_custom, in the arena. */
typedef struct {
    Op op;
    const AgCustom *custom;
    void *args;                 /* the program's copy of numbers */
    /* The rule of ag_custom_tangent (higher.h), or NULL. */
    Tensor *(*tangent)(const AgCustomCall *c, Tensor *const *dx);
} CustomArgs;

/* Returns what y keeps if y is the result of ag_custom, else NULL. */
static inline const CustomArgs *custom_args(const Tensor *y)
{
    const CustomArgs *c = y->args;
    return y->op && !y->op->inputs && c && y->op == &c->op ? c : NULL;
}

#endif
