/* between.h: the part of the graph between some tensors and a result that depends on them. */
#ifndef KAERU_HIGHER_BETWEEN_H
#define KAERU_HIGHER_BETWEEN_H

#include "tensor_struct.h"

typedef struct {
    Tensor *tensor;
    Tensor *value;              /* what the caller computes for the tensor; NULL at first */
    bool is_start;              /* it is one of the tensors that the walk starts from */
    bool depends;               /* it depends on one of these, or is one */
    uint32_t former;            /* its number before the walk */
    uint32_t order;             /* item i: the index of the operation that is number i from y on */
} BetweenItem;
/* The tensors that y depends on, up to the oldest tensor of `in`. */
typedef struct {
    const char *what;           /* the function that the program has called */
    BetweenItem *item;
    uint32_t n, most;           /* the number of items, and how many there is room for */
    uint32_t count;             /* the number of operations among them */
} Between;

/* Lists the tensors between in[0], ..., in[n - 1] and y. Their numbers (TensorOrigin) are indexes
 * of the list until between_end. One walk within another one is possible. */
Between between_begin(const char *what, Tensor *y, Tensor *const *in, int n);
/* Gives the tensors their former numbers. */
void between_end(Between *w);
/* Returns the item of a tensor, or NULL if it is not listed. */
BetweenItem *between_item(const Between *w, const Tensor *t);
/* Returns operation i from y on: those with higher numbers are older. */
static inline BetweenItem *between_operation(const Between *w, uint32_t i)
{
    return &w->item[w->item[i].order];
}
/* Checks the arguments of a function that computes derivatives of y: y requires a gradient, and so
 * does each in[i]. */
void check_derivative(const char *what, const Tensor *y, Tensor *const *in, int n);
/* Checks that each operation which depends on `in` has a tangent rule, and that its values are
 * there and unchanged. Values that ag_recompute has released are computed again. */
void between_check(const Between *w);

#endif
