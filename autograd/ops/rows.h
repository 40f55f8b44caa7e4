/* rows.h: what operations on rows share. The rows are the items along the last dimension. */
#ifndef KAERU_OPS_ROWS_H
#define KAERU_OPS_ROWS_H

#include "tensor_struct.h"

/* Returns the size of the last dimension; 1 for a scalar. */
int64_t row_size(const Tensor *x);
/* Returns the number of rows; 0 if they have no items. */
int64_t filled_rows(const Tensor *x);
/* Checks the inputs of a norm of the rows of x. gamma and beta may be NULL. */
void check_norm(const char *what, const Tensor *x, const Tensor *gamma, const Tensor *beta,
                double eps);

#endif
