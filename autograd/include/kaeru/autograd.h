/* autograd.h: tensors, the graph and the operations on them: everything of this floor.
 *
 * The differentiable operations are in ops.h, which headers.py writes from autograd/ops/ops.def and more/more.def.
 *
 * Types: an operation takes reals, besides what is called ids (AG_INT) and mask (AG_BOOL). reshape, permute, slice,
 * index_select, concat, expand, and transpose, split, stack, flip, squeeze and unsqueeze also move ints and bools; compare and
 * cast take any type, `and`, `or`, `not`, any and all take bools. Another type is a usage error: convert it by ag_cast.
 *
 * Memory: a result is a new tensor, with these exceptions. reshape, squeeze, unsqueeze and ag_detach share the memory of their
 * input, so that a write to one of them (tensor_mutable_data) changes both; so does ag_end_return with what outlives the scope.
 * ag_cast to the type that x has, ag_activate with AG_IDENTITY, and the layer Dropout in evaluation or with p = 0 return x
 * itself. */
#ifndef KAERU_AUTOGRAD_H
#define KAERU_AUTOGRAD_H

#include "kaeru/graph.h"
#include "kaeru/ops.h"

AG_PUBLIC_BEGIN

/* ---- compositions of the operations in ops.h ------------------------------------------------------------------------
 * docs/pytorch.md has lines for the norm, the L1 loss, ... */

/* Over all items of x (AG_REAL, of any shape) -> scalar. ag_max: a usage error if x has none. */
Tensor *ag_sum(Tensor *x);
Tensor *ag_mean(Tensor *x);
Tensor *ag_max(Tensor *x);

/* x (any type) with two dimensions exchanged: (2,3,4) with dim0 0 and dim1 2 -> (4,3,2). A copy. */
Tensor *ag_transpose(Tensor *x, int dim0, int dim1);

/* n tensors of one shape (any type) joined along a new dimension: two of (2,3) with dim 0 -> (2,2,3). */
Tensor *ag_stack(Tensor **x, int n, int dim);

/* Divides x (any type) into `parts` copies of equal size along dim, out[0] to out[parts - 1]. Returns out[0]. */
Tensor *ag_split(Tensor *x, int parts, int dim, Tensor **out);

/* x (any type) without a dimension of size 1, and with a new one before dimension dim: (2,3) and dim 0 -> (1,2,3). The result
 * shares x's memory. */
Tensor *ag_squeeze(Tensor *x, int dim);
Tensor *ag_unsqueeze(Tensor *x, int dim);

/* x (any type) with the items along dim in reverse order. A copy. */
Tensor *ag_flip(Tensor *x, int dim);

/* kind(x), of x's shape; AG_IDENTITY returns x. */
Tensor *ag_activate(AgActivation kind, Tensor *x);

/* ag_activate(kind, ag_linear(x, weight, bias)), with the same results and the same graph. ReLU and the GELUs are computed in
 * the same pass as the linear layer. For ReLU its output is then not stored, so ag_explain and drawings do not show it. */
Tensor *ag_linear_activate(Tensor *x, Tensor *weight, Tensor *bias, AgActivation kind);

/* ag_conv2d along one dimension: x (B,C,T), weight (O,C,k), bias (O) or NULL -> (B,O,(T + 2 padding - k)/stride + 1) */
Tensor *ag_conv1d(Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding);

/* Images x (B,C,H,W) resized to (B,C,height,width). Item i of n comes from place (i + 1/2) N / n - 1/2 of N, held at the edges,
 * or for AG_NEAREST from item i N / n, rounded down, in exact arithmetic. PyTorch's with align_corners=False are the same, but
 * its AG_NEAREST multiplies i by the float nearest to N / n: for 156 of the pairs of N and n up to 120 it takes the item before
 * for some i (from 2 to 82: item 41). */
Tensor *ag_interpolate2d(Tensor *x, int64_t height, int64_t width, AgInterpolation mode);

/* x with `before` and `after` zeros along dim. */
Tensor *ag_pad(Tensor *x, int dim, int64_t before, int64_t after);

/* ln(sum(e^x)) along dim, which is removed, or kept with size 1 if `keep`; -infinity where every x is, and along a dimension of
 * size 0. */
Tensor *ag_logsumexp(Tensor *x, int dim, bool keep);

/* Mean of d^2/2 where |d| <= delta, else of delta (|d| - delta/2), d = x - target (Huber 1964). Equal shapes. */
Tensor *ag_huber_loss(Tensor *x, Tensor *target, double delta);

/* x sorted along dim, equal items in their order (NaN counts as the largest), and the k first of these. If `ids` is not NULL,
 * *ids receives their numbers in x (AG_INT): ag_gather(x, dim, *ids) is the result. */
Tensor *ag_sort(Tensor *x, int dim, bool descending, Tensor **ids);
Tensor *ag_topk(Tensor *x, int64_t k, int dim, Tensor **ids);             /* the largest, in order */

/* ---- without gradients ----------------------------------------------------------------------------------------------- */

/* x in another type. Real to int: rounded toward zero; NaN and what is beyond int32 are usage errors. Int to real: a usage
 * error where a real cannot hold the number (float: some above 2^24). To bool: whether it is not 0. To its own type: x. */
Tensor *ag_cast(Tensor *x, AgDType dtype);

/* x (..,D), D even, rounded to bfloat16 (to nearest, ties to even) -> AG_INT (..,D/2), half of the memory: an item holds two
 * numbers, the first one in its lower half. The second function gives the rounded numbers back as reals, also those of a
 * matrix of type AG_PACKED. Subnormal numbers are kept; a product with AG_BF16 reads them as 0. No gradient passes through
 * them. */
Tensor *ag_to_bf16(Tensor *x);
Tensor *ag_from_bf16(Tensor *x);

/* ag_attention to the first n positions of k and v, without a copy: k and v are arrays with space for more positions, as in a
 * cache, (B,S,D) with S >= n. They are reals, or both come from ag_to_bf16, (B,S,D/2). With AG_BF16 both give the same bits.
 * In a scope that records, no input may require a gradient; nn_cache_attention passes one to q and the mask. */
Tensor *ag_attention_cached(Tensor *q, Tensor *k, Tensor *v, int64_t n, Tensor *mask, AgAttention options);

/* Rotary positions for ag_rope. The first function gives the (width/2) frequencies base^(-2i/width) in radians a position, of
 * heads of that width; a model may change them (Llama 3). The second one gives the table (count,width) for the positions
 * start..start + count - 1: a row has the cosines of position times frequency, then the sines, of angles up to 1e8. One table
 * serves all layers. Frequencies and angles are rounded to float32, as in the library `transformers`, whose models were trained
 * with them: tables of equal frequencies differ by 6e-8. The frequencies are equal for base 1e4 and 5e5 with width 32, 64, 80
 * and 128. With other sizes a few can differ, by 1.6e-7 of their value, because base^(2i/width) is rounded to the nearest float
 * here, and not always in PyTorch 2.13: 247 of 19,008, for 9 bases from 1e4 to 1e7 and widths up to 256. The angle then differs
 * by 1.6e-7 of its value: tables differ by up to 0.001 at position 8,000 and 0.016 at 131,000. */
Tensor *ag_rope_frequencies(int64_t width, double base);
Tensor *ag_rope_table(Tensor *frequencies, int64_t start, int64_t count);

/* The number (AG_INT) of the first largest item of x (AG_REAL) along dim, which is removed, or kept with size 1 if `keep`. NaN
 * counts as the largest. */
Tensor *ag_argmax(Tensor *x, int dim, bool keep);

/* n items of each row of p (..,V), drawn with replacement with probabilities in proportion to p -> AG_INT (..,n), by this
 * thread's generator with 24 bits: items below a millionth of the largest are drawn too rarely. Computes n V numbers a row. */
Tensor *ag_multinomial(Tensor *p, int64_t n);

/* Whether a < b, a = b, ... -> AG_BOOL of the shape that both broadcast to. a and b have one type, any. With NaN, only AG_NE is
 * true. */
Tensor *ag_compare(AgCompare comparison, Tensor *a, Tensor *b);
Tensor *ag_compare_scalar(AgCompare comparison, Tensor *a, double b);

/* ids (..) -> (..,classes) reals: 1 at the id, else 0. An id outside 0..classes-1 is a usage error. */
Tensor *ag_one_hot(Tensor *ids, int64_t classes);

/* Of masks (AG_BOOL): where both a and b are true, and where one is, of the shape that both broadcast to; where a is not. */
Tensor *ag_and(Tensor *a, Tensor *b);
Tensor *ag_or(Tensor *a, Tensor *b);
Tensor *ag_not(Tensor *a);

/* Whether an item of the mask (AG_BOOL) over dims is true, and whether all are; dims are removed, or kept with size 1 if
 * `keep`. Of no items: false, and true. */
Tensor *ag_any(Tensor *mask, AgDims dims, bool keep);
Tensor *ag_all(Tensor *mask, AgDims dims, bool keep);

#include "kaeru/calls/autograd.h"

AG_PUBLIC_END
#endif
