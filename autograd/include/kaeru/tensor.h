/* tensor.h: makes, reads and writes tensors. It includes the headers of what a program needs with
 * them: scopes, errors, memory, gradients, random numbers, threads.
 *
 *     AgScope s = ag_begin(AG_NO_GRAD);       all that is made from here on lives until ag_end(s)
 *     Tensor *x = tensor_from(SHAPE(2, 2), (ag_real[]){ 1, 2, 3, 4 });
 *     printf("%g\n", tensor_data(x)[3]);      prints 4
 *     ag_end(s);
 *
 * Operations are in autograd.h, tensor_print in print.h. */
#ifndef KAERU_TENSOR_H
#define KAERU_TENSOR_H

#include "kaeru/errors.h"
#include "kaeru/memory.h"
#include "kaeru/shape.h"
#include "kaeru/scope.h"
#include "kaeru/gradients.h"
#include "kaeru/bf16.h"
#include "kaeru/random.h"
#include "kaeru/threads.h"

AG_PUBLIC_BEGIN

/* Return tensors filled with one value. The innermost open scope of this thread owns them, like
 * every tensor that a function creates. */
Tensor *tensor_zeros(AgShape shape);
Tensor *tensor_ones(AgShape shape);
Tensor *tensor_full(AgShape shape, double value);

/* Returns start, start + step, ... below stop, of shape (ceil((stop - start) / step)). */
Tensor *tensor_arange(double start, double stop, double step);

/* Return tensors with copies of these values, in row-major order. In the last two functions, NULL
 * gives zeros or false. */
Tensor *tensor_from(AgShape shape, const ag_real *values);
Tensor *tensor_ints(AgShape shape, const int32_t *values);
Tensor *tensor_bools(AgShape shape, const uint8_t *values);

/* Return random tensors, from this thread's generator. */
Tensor *tensor_uniform(AgShape shape, double low, double high);     /* in [low, high) */
Tensor *tensor_normal(AgShape shape, double mean, double deviation);
Tensor *tensor_randint(AgShape shape, int32_t low, int32_t high);   /* AG_INT in low..high-1 */

/* Return the shape and the type of a tensor, also if its values were released. */
AgShape tensor_shape(const Tensor *t);
int     tensor_ndim(const Tensor *t);
int64_t tensor_numel(const Tensor *t);                              /* the number of items */
AgDType tensor_dtype(const Tensor *t);
int64_t tensor_dim(const Tensor *t, int dim);                       /* a size; dim -1: the last */

/* Return the values in row-major order, to read. It is a usage error if t has another type, or if
 * backward has released its values (see ag_retain). */
const ag_real *tensor_data(const Tensor *t);
const int32_t *tensor_int_data(const Tensor *t);
const uint8_t *tensor_bool_data(const Tensor *t);

/* Return the values of a leaf (data, parameters), to write. Each call counts as a write. If an
 * operation that was recorded before has read the values, ag_backward reports a usage error. Call
 * the function again for each write; do not keep the pointer. */
ag_real *tensor_mutable_data(Tensor *t);
int32_t *tensor_mutable_int_data(Tensor *t);
uint8_t *tensor_mutable_bool_data(Tensor *t);

/* Returns the value of a tensor of one item, of any type. */
double tensor_item(const Tensor *t);

/* Copies the values of src, of the same shape and type, into the leaf dst. */
void tensor_copy(Tensor *dst, const Tensor *src);

/* Names t in messages, graphs and printed text. The name is copied. Returns t. */
Tensor *tensor_name(Tensor *t, const char *name);
/* Returns the name of t, "" if it has none. */
const char *tensor_get_name(const Tensor *t);

/* Returns a number that changes with each write to the values of t that the library counts. */
uint32_t tensor_version(const Tensor *t);

#include "kaeru/calls/tensor.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/print.h"
#include "kaeru/values.h"
#endif

#endif
