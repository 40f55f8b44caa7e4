/* linear.h: the checks and products of linear (ops_product.c), for operations that contain it. */
#ifndef KAERU_OPS_LINEAR_H
#define KAERU_OPS_LINEAR_H

#include "gradients.h"

/* Checks that the types and the shapes of x, weight and bias (or NULL) fit. */
void check_linear(const char *what, const Tensor *x, const Tensor *weight, const Tensor *bias);

typedef struct {
    int64_t rows, in, out;              /* x (rows,in), weight (out,in), result (rows,out) */
    bool bf16;                          /* products are in bfloat16 */
    const uint32_t *packed_weight;      /* the weight in bfloat16 (ag_pack_weight), or NULL */
} LinearSize;
/* Returns the sizes for the operation whose result is y. */
LinearSize linear_size(const Tensor *y, const Tensor *x, const Tensor *weight);
/* Computes y = act(x weight^T + bias). bias may be NULL. If `pre` is not NULL, the values before
 * act are stored there. A weight of type AG_PACKED has no reals: `weight` is NULL then. */
void linear_product(const LinearSize *s, real *y, real *pre, const real *x, const real *weight,
                    const real *bias, KUnary act);
/* Computes the gradients whose data is not NULL, one after another: bias, weight, x. So two of them
 * may belong to the same tensor. */
void linear_gradients(const LinearSize *s, Grad dx, Grad dweight, Grad dbias, const real *dy,
                      const real *x, const real *weight);

#endif
