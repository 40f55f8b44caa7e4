/* op.h: what an operation is: its rule, and what the rule reads. */
#ifndef KAERU_OP_H
#define KAERU_OP_H

#include "kaeru/tensor.h"
#include "tensor_struct.h"

/* The values that a rule reads: a bit for each input, up to NEEDS_INPUTS, and one for the
 * result. */
enum { NEEDS_INPUTS = 16 };
enum {
    NEEDS_NONE = 0,
    NEEDS_X0 = 1 << 0,
    NEEDS_X1 = 1 << 1,
    NEEDS_X2 = 1 << 2,
    NEEDS_X3 = 1 << 3,
    NEEDS_Y = 1 << NEEDS_INPUTS
};

/* A call of an operation: its n inputs, and its own numbers. */
typedef struct { const struct Op *op; Tensor *const *in; int n; const void *args; } OpCall;

typedef struct Op {
    const char *name;           /* "add" */
    const char *function;       /* that the program calls, for messages: "ag_add"; the name of an
                                   operation of its own */
    const char *forward_text, *backward_text;
    const char *const *inputs, *const *numbers;     /* names of the parameters that are tensors and
                                                       of those that are doubles; NULL for an
                                                       operation of the program's own */
    void (*backward)(Tensor *y);
    /* Sets y's value. NULL: the operation's function does it, and ag_recompute keeps the value. */
    void (*compute)(Tensor *y, const OpCall *c);
    bool is_product;            /* recomputing takes long: only AG_PRODUCTS does it */
    bool shares;                /* `compute` gives y the memory of its input */
    int needs;
    bool bilinear;              /* in inputs 0 and 1: each is read for the gradient of the other one
                                   alone */
    int kernel;                 /* of unary_backward: a KUnary; of binary_backward: a KBinary */
} Op;
/* What messages call the function that made y. */
static inline const char *function_of(const Tensor *y)
{
    return y->op ? y->op->function : y->origin.made_by;
}
/* Whether y's rule reads the value of input i. */
static inline bool reads_input(const Tensor *y, int i)
{
    return i < NEEDS_INPUTS && (y->op->needs & NEEDS_X0 << i) && !(i < 2 && y->release.unread[i]);
}
/* Input i of y, or y itself for i = n_in, if y's rule reads its values; else NULL. */
static inline Tensor *read_by_rule(Tensor *y, int i)
{
    return i < y->n_in ? (reads_input(y, i) ? y->in[i] : NULL) : y->op->needs & NEEDS_Y ? y : NULL;
}

#endif
