/* op.h: what an operation is: its name, its rule, and the values that the rule reads.
 *
 * op_table has an Op for each operation (ops/table.c: those of the book). For y = a b, the gradient
 * of a is dy b, and that of b is dy a: the rule reads both inputs (NEEDS_X0 | NEEDS_X1), and not y.
 * For y = e^x, the gradient of x is dy y: the rule reads only y (NEEDS_Y). Backward can release
 * every value that no rule will read. */
#ifndef KAERU_OP_H
#define KAERU_OP_H

#include "kaeru/tensor.h"
#include "tensor_struct.h"

/* The values that a rule reads: one bit for each of the first NEEDS_INPUTS inputs, and one for the
 * result. */
enum { NEEDS_INPUTS = 16 };
enum {
    NEEDS_NONE = 0,
    NEEDS_X0 = 1 << 0, NEEDS_X1 = 1 << 1, NEEDS_X2 = 1 << 2, NEEDS_X3 = 1 << 3,
    NEEDS_Y = 1 << NEEDS_INPUTS
};

/* A call of an operation: its n inputs, and its numbers. */
typedef struct { const struct Op *op; Tensor *const *in; int n; const void *args; } OpCall;

typedef struct Op {
    const char *name;           /* "add" */
    const char *function;       /* the function that the program calls, for messages: "ag_add". For
                                   an operation of the program (ag_custom), its name */
    const char *forward_text, *backward_text;       /* the formulas, for ag_explain */
    const char *const *inputs, *const *numbers;     /* the names of the parameters that are tensors,
                                                       and of those that are doubles. NULL for an
                                                       operation of the program */
    /* The rule: adds to the gradients of the inputs. linear has linear_backward, in the file of
     * ops/ that has ag_linear. */
    void (*backward)(Tensor *y);
    /* Sets y's values. NULL: the operation's function does so, and ag_recompute keeps them. */
    void (*compute)(Tensor *y, const OpCall *c);
    bool is_product;            /* `compute` takes long: only AG_PRODUCTS recomputes the result */
    bool shares;                /* `compute` gives y the memory of its input */
    int needs;                  /* the values that the rule reads: NEEDS_X0 | ... */
    bool bilinear;              /* linear in input 0 and in input 1: the rule reads each of them
                                   only for the gradient of the other one */
    int kernel;                 /* for unary_backward a KUnary, for binary_backward a KBinary */
} Op;

/* Returns the name that messages give to the function that made y. */
static inline const char *function_of(const Tensor *y)
{
    return y->op ? y->op->function : y->origin.made_by;
}

/* Returns whether y's rule reads the value of input i. */
static inline bool reads_input(const Tensor *y, int i)
{
    return i < NEEDS_INPUTS && (y->op->needs & NEEDS_X0 << i) && !(i < 2 && y->release.unread[i]);
}

/* Returns input i of y, or y itself for i = n_in, if y's rule reads its value; else NULL. */
static inline Tensor *read_by_rule(Tensor *y, int i)
{
    if (i < y->n_in) return reads_input(y, i) ? y->in[i] : NULL;
    return y->op->needs & NEEDS_Y ? y : NULL;
}

#endif
