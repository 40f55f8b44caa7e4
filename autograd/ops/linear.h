/* linear.h: the checks and products of linear, for ops_product.c and for operations that contain
 * linear. */
#ifndef KAERU_OPS_LINEAR_H
#define KAERU_OPS_LINEAR_H

#include "gradients.h"

void check_linear(const char *what, const Tensor *x, const Tensor *weight, const Tensor *bias);

/* x (rows,in), weight (out,in), result (rows,out). packed_weight: the whole weight in bfloat16
 * (ag_pack_weight), or NULL. If the weight is of type AG_PACKED, the functions below get NULL as
 * its reals. */
typedef struct { int64_t rows, in, out; bool bf16; const uint32_t *packed_weight; } LinearSize;
/* That of the operation whose result is y. */
LinearSize linear_size(const Tensor *y, const Tensor *x, const Tensor *weight);
/* y = act(x weight^T + bias). bias may be NULL. If `pre` is not NULL, the values before act are
 * stored there. */
void linear_product(const LinearSize *s, real *y, real *pre, const real *x, const real *weight,
                    const real *bias, KUnary act);
/* The gradients of those whose data is not NULL, in the order bias, weight, x; so several of them
 * may be one tensor's. */
void linear_gradients(const LinearSize *s, Grad dx, Grad dweight, Grad dbias, const real *dy,
                      const real *x, const real *weight);

#endif
