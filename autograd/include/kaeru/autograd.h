/* autograd.h: the operations on tensors. It includes all headers of tensors and of the graph.
 *
 *     Tensor *y = ag_linear_activate(x, weight, bias, AG_RELU);
 *     Tensor *loss = ag_mean(ag_mul(y, y));
 *     ag_backward(loss);
 *
 * The differentiable operations are in ops.h. This header has functions that combine them, and
 * operations without gradients.
 *
 * Types: an operation takes reals. Parameters with the name ids take AG_INT, and those with the
 * name mask AG_BOOL. reshape, permute, slice, index_select, concat, expand, transpose, split,
 * stack, flip, squeeze and unsqueeze also take ints and bools. compare and cast take any type.
 * `and`, `or`, `not`, any and all take bools. Another type is a usage error: convert it by ag_cast.
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

/* Return the sum, the mean and the largest of all items of x (AG_REAL, of any shape) as a scalar.
 * In ag_max, an x without items is a usage error. */
Tensor *ag_sum(Tensor *x);
Tensor *ag_mean(Tensor *x);
Tensor *ag_max(Tensor *x);

/* Returns a copy of x (any type) with two dimensions exchanged: (2,3,4) with dim0 0 and dim1 2 ->
 * (4,3,2). */
Tensor *ag_transpose(Tensor *x, int dim0, int dim1);

/* Joins n tensors of one shape (any type) along a new dimension: two of (2,3) with dim 0 ->
 * (2,2,3). */
Tensor *ag_stack(Tensor **x, int n, int dim);

/* Divides x (any type) along dim into copies of `parts` parts of equal size, out[0] to
 * out[parts - 1]. Returns out[0]. */
Tensor *ag_split(Tensor *x, int parts, int dim, Tensor **out);

/* Removes dimension dim, of size 1, from x (any type). The result shares x's memory. */
Tensor *ag_squeeze(Tensor *x, int dim);
/* Inserts a dimension of size 1 before dimension dim of x (any type): (2,3) with dim 0 -> (1,2,3).
 * The result shares x's memory. */
Tensor *ag_unsqueeze(Tensor *x, int dim);

/* Returns a copy of x (any type) with the items along dim in reverse order. */
Tensor *ag_flip(Tensor *x, int dim);

/* Applies an activation to each item of x. AG_IDENTITY returns x. */
Tensor *ag_activate(AgActivation kind, Tensor *x);

/* Returns ag_activate(kind, ag_linear(x, weight, bias)), with the same results and the same graph.
 * The same pass computes the linear layer and a ReLU or GELU. With ReLU, the result of the linear
 * layer is then not stored, so ag_explain and drawings do not show it. */
Tensor *ag_linear_activate(Tensor *x, Tensor *weight, Tensor *bias, AgActivation kind);

/* Convolves along one dimension, as ag_conv2d does along two: x (B,C,T), weight (O,C,k), bias (O)
 * or NULL -> (B,O,(T + 2 padding - k)/stride + 1). */
Tensor *ag_conv1d(Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding);

/* Resizes images x (B,C,H,W) to (B,C,height,width). Along a dimension, item i of n comes from place
 * (i + 1/2) N / n - 1/2 of N, and from the first or last item outside of these. With AG_NEAREST it
 * comes from item i N / n, rounded down, in exact arithmetic.
 *
 * PyTorch with align_corners=False does the same. But its nearest mode multiplies i by the float
 * nearest to N / n: for 156 of the pairs of N and n up to 120, it takes the item before for some i
 * (from 2 to 82: item 41). */
Tensor *ag_interpolate2d(Tensor *x, int64_t height, int64_t width, AgInterpolation mode);

/* Adds `before` and `after` zeros to x at the two ends of dim. */
Tensor *ag_pad(Tensor *x, int dim, int64_t before, int64_t after);

/* Returns ln(sum(e^x)) along dim, which is removed, or kept with size 1 if `keep`. It is -infinity
 * where every x is -infinity, and along a dimension of size 0. */
Tensor *ag_logsumexp(Tensor *x, int dim, bool keep);

/* Returns the mean of the Huber loss (Huber 1964) of d = x - target, of equal shapes: d^2/2 where
 * |d| <= delta, else delta (|d| - delta/2). */
Tensor *ag_huber_loss(Tensor *x, Tensor *target, double delta);

/* Sorts x along dim. Equal items stay in their order, and NaN counts as the largest. If `ids` is
 * not NULL, *ids receives the numbers of the items in x (AG_INT): ag_gather(x, dim, *ids) is the
 * result. */
Tensor *ag_sort(Tensor *x, int dim, bool descending, Tensor **ids);
/* Returns the k largest items along dim, the largest first; ids as in ag_sort. */
Tensor *ag_topk(Tensor *x, int64_t k, int dim, Tensor **ids);

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

/* Returns the frequencies of rotary positions for heads of this width: (width/2) numbers
 * base^(-2i/width), in radians for each position. A model may change them (Llama 3). */
Tensor *ag_rope_frequencies(int64_t width, double base);
/* Returns the table of rotary positions for ag_rope, (count,width), for the positions start..start
 * + count - 1. A row has the cosines of position times frequency, then the sines, of angles up to
 * 1e8. One table serves all layers.
 *
 * Frequencies and angles are rounded to float32, as in the library `transformers`, whose models
 * were trained with them: tables of equal frequencies differ by 6e-8. The frequencies are equal for
 * base 1e4 and 5e5 with width 32, 64, 80 and 128. With other sizes a few can differ, by 1.6e-7 of
 * their value: here, base^(2i/width) is rounded to the nearest float, but not always in PyTorch
 * 2.13 (247 of 19,008 differ, for 9 bases from 1e4 to 1e7 and widths up to 256). The angle then
 * differs by 1.6e-7 of its value: tables differ by up to 0.001 at position 8,000 and 0.016 at
 * 131,000. */
Tensor *ag_rope_table(Tensor *frequencies, int64_t start, int64_t count);

/* Returns the number (AG_INT) of the first largest item of x (AG_REAL) along dim, which is removed,
 * or kept with size 1 if `keep`. NaN counts as the largest. */
Tensor *ag_argmax(Tensor *x, int dim, bool keep);

/* Draws n items of each row of p (..,V), with replacement, with probabilities in proportion to p ->
 * AG_INT (..,n). This thread's generator gives 24 bits, so items below a millionth of the largest
 * are drawn too rarely. It computes n V numbers for each row. */
Tensor *ag_multinomial(Tensor *p, int64_t n);

/* Return whether a < b, a = b, ... as AG_BOOL, of the shape that both broadcast to. a and b have
 * the same type, which may be any. With NaN, only AG_NE is true. */
Tensor *ag_compare(AgCompare comparison, Tensor *a, Tensor *b);
Tensor *ag_compare_scalar(AgCompare comparison, Tensor *a, double b);

/* Returns reals (..,classes) for ids (..): 1 at the id, else 0. An id outside 0..classes-1 is a
 * usage error. */
Tensor *ag_one_hot(Tensor *ids, int64_t classes);

/* Combine masks (AG_BOOL): where both a and b are true, where at least one is true, and where a is
 * false. a and b are broadcast to one shape. */
Tensor *ag_and(Tensor *a, Tensor *b);
Tensor *ag_or(Tensor *a, Tensor *b);
Tensor *ag_not(Tensor *a);

/* Return whether at least one item of the mask (AG_BOOL) over dims is true, and whether all are.
 * dims are removed, or kept with size 1 if `keep`. Over no items, the results are false and
 * true. */
Tensor *ag_any(Tensor *mask, AgDims dims, bool keep);
Tensor *ag_all(Tensor *mask, AgDims dims, bool keep);

#include "kaeru/calls/autograd.h"

AG_PUBLIC_END
#endif
