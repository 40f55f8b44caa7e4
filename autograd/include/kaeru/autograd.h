/* autograd.h: the operations on tensors. It includes all headers of tensors and of the graph.
 *
 *     Tensor *y = ag_linear_activate(x, weight, bias, AG_RELU);
 *     Tensor *loss = ag_mean(ag_mul(y, y));
 *     ag_backward(loss);
 *
 * The differentiable operations are in ops.h. This header has functions that combine them, and
 * operations without gradients. More of both are in more_ops.h and more_functions.h.
 *
 * Types: an operation takes reals. Parameters with the name ids take AG_INT, and those with the
 * name mask AG_BOOL. reshape, permute, slice, transpose, split, squeeze and unsqueeze also take
 * ints and bools; so do index_select, concat and expand in more_ops.h, and stack and flip in
 * more_functions.h. compare and cast take any type. `and`, `or` and `not`, and any and all in
 * more_functions.h, take bools. Another type is a usage error: convert it by ag_cast.
 *
 * Memory: a result is a new tensor, with these exceptions. reshape, squeeze, unsqueeze and
 * ag_detach share the memory of their input: a write to one of the two (tensor_mutable_data)
 * changes both. ag_end_return shares it with what outlives the scope. Some results are x itself:
 * ag_cast to the type of x, ag_activate with AG_IDENTITY, and the layer Dropout in evaluation or
 * with p = 0. */
#ifndef KAERU_AUTOGRAD_H
#define KAERU_AUTOGRAD_H

#include "kaeru/graph.h"
#include "kaeru/ops.h"

AG_PUBLIC_BEGIN

/* ---- compositions of the operations in ops.h ---------------------------------------------------
 * docs/pytorch.md has lines for the norm, the L1 loss, ... */

/* Return the sum and the mean of all items of x (AG_REAL, of any shape) as a scalar. */
Tensor *ag_sum(Tensor *x);
Tensor *ag_mean(Tensor *x);

/* Returns a copy of x (any type) with two dimensions exchanged: (2,3,4) with dim0 0 and dim1 2 ->
 * (4,3,2). */
Tensor *ag_transpose(Tensor *x, int dim0, int dim1);

/* Divides x (any type) along dim into copies of `parts` parts of equal size, out[0] to
 * out[parts - 1]. Returns out[0]. */
Tensor *ag_split(Tensor *x, int parts, int dim, Tensor **out);

/* Removes dimension dim, of size 1, from x (any type). The result shares x's memory. */
Tensor *ag_squeeze(Tensor *x, int dim);
/* Inserts a dimension of size 1 before dimension dim of x (any type): (2,3) with dim 0 -> (1,2,3).
 * The result shares x's memory. */
Tensor *ag_unsqueeze(Tensor *x, int dim);

/* Applies an activation to each item of x. AG_IDENTITY returns x. */
Tensor *ag_activate(AgActivation kind, Tensor *x);

/* Returns ag_activate(kind, ag_linear(x, weight, bias)), with the same results and the same graph.
 * The same pass computes the linear layer and a ReLU or GELU. With ReLU, the result of the linear
 * layer is then not stored, so ag_explain and drawings do not show it. */
Tensor *ag_linear_activate(Tensor *x, Tensor *weight, Tensor *bias, AgActivation kind);

/* ---- without gradients ----------------------------------------------------------------------- */

/* Converts x to another type. Real to int rounds toward zero; NaN and numbers beyond int32 are
 * usage errors. Int to real is a usage error where a real cannot hold the number (float: some above
 * 2^24). A bool is true where the number is not 0. To the type that x has: returns x. */
Tensor *ag_cast(Tensor *x, AgDType dtype);

/* Rounds x (..,D) to bfloat16 (to nearest, ties to even), in half of the memory: AG_INT (..,D/2). D
 * is even. An item holds two numbers, the first one in the lower half. Subnormal numbers are kept;
 * a product with AG_BF16 reads them as 0. */
Tensor *ag_to_bf16(Tensor *x);
/* Returns the rounded numbers as reals. x can also be a matrix of type AG_PACKED. */
Tensor *ag_from_bf16(Tensor *x);

/* Computes ag_attention to the first n positions of k and v, without a copy. k and v are arrays
 * with space for more positions, as in a cache: (B,S,D) with S >= n. They are reals, or both come
 * from ag_to_bf16, (B,S,D/2). With AG_BF16 both give the same bits. In a scope that records, no
 * input may require a gradient. nn_cache_attention passes a gradient to q and the mask. */
Tensor *ag_attention_cached(Tensor *q, Tensor *k, Tensor *v, int64_t n, Tensor *mask,
                            AgAttention options);

/* Return whether a < b, a = b, ... as AG_BOOL, of the shape that both broadcast to. a and b have
 * the same type, which may be any. With NaN, only AG_NE is true. */
Tensor *ag_compare(AgCompare comparison, Tensor *a, Tensor *b);
Tensor *ag_compare_scalar(AgCompare comparison, Tensor *a, double b);

/* Combine masks (AG_BOOL): where both a and b are true, where at least one is true, and where a is
 * false. a and b are broadcast to one shape. */
Tensor *ag_and(Tensor *a, Tensor *b);
Tensor *ag_or(Tensor *a, Tensor *b);
Tensor *ag_not(Tensor *a);

#include "kaeru/calls/autograd.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/more_functions.h"
#endif

#endif
