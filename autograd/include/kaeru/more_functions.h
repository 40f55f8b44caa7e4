/* more_functions.h: functions beside those of autograd.h: shapes, sorting, norms, images, ints,
 * choices, rotary positions. What they compute with is in ops.h and more_ops.h.
 *
 *     Tensor *batch = ag_stack((Tensor *[]){ a, b }, 2, 0);
 *     Tensor *best = ag_argmax(logits, -1, false);
 */
#ifndef KAERU_PUBLIC_MORE_FUNCTIONS_H
#define KAERU_PUBLIC_MORE_FUNCTIONS_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* ---- compositions of the operations in ops.h and more_ops.h ------------------------------------ */

/* Returns the largest of all items of x (AG_REAL, of any shape) as a scalar. An x without items is a
 * usage error. */
Tensor *ag_max(Tensor *x);

/* Joins n tensors of one shape (any type) along a new dimension: two of (2,3) with dim 0 ->
 * (2,2,3). */
Tensor *ag_stack(Tensor **x, int n, int dim);

/* Returns a copy of x (any type) with the items along dim in reverse order. */
Tensor *ag_flip(Tensor *x, int dim);

/* Adds `before` and `after` zeros to x (any type) at the two ends of dim. */
Tensor *ag_pad(Tensor *x, int dim, int64_t before, int64_t after);
/* Does the same with another value, which x's type must hold: a finite one must be finite in it. */
Tensor *ag_pad_with(Tensor *x, int dim, int64_t before, int64_t after, double value);

/* Returns a copy of item i of x (any type) along dim, which is removed: NumPy's x[:, i] is
 * ag_select(x, 1, i). A negative i counts from the end. */
Tensor *ag_select(Tensor *x, int dim, int64_t i);
/* Sets out[0] to out[n - 1] to the n items of x along dim, each as ag_select returns it. n is
 * the size of dim, 1 or more. Returns out[0]. */
Tensor *ag_unbind(Tensor *x, int n, int dim, Tensor **out);

/* Returns x times a number: another name of ag_scale, beside ag_add_scalar and ag_pow_scalar. */
Tensor *ag_mul_scalar(Tensor *x, double number);

/* Returns ln(sum(e^x)) along dim, which is removed, or kept with size 1 if `keep`. It is -infinity
 * where every x is -infinity, with a gradient of 0 (PyTorch: NaN), and along a dimension of size
 * 0. */
Tensor *ag_logsumexp(Tensor *x, int dim, bool keep);

/* Returns ln(e^a + e^b), broadcast. Where both are -infinity, the gradient is 0, and where both are
 * +infinity, it is 0.5 for each (PyTorch: NaN). Where one is NaN, both gradients are NaN. */
Tensor *ag_logaddexp(Tensor *a, Tensor *b);

/* Returns the Euclidean norm sqrt(sum(x^2)) over dims, which are removed, or kept with size 1 if
 * `keep`. Where it is 0, so is its gradient. The sum of the squares must neither overflow nor
 * underflow: in float, numbers of 1e-19 to 1e18. */
Tensor *ag_norm_dims(Tensor *x, AgDims dims, bool keep);
/* Returns x divided by its norm along dim or, where that is larger, by eps, which is above 0
 * in x's type, too. */
Tensor *ag_normalize(Tensor *x, int dim, double eps);

/* Returns the mean of the Huber loss (Huber 1964) of d = x - target, of equal shapes: d^2/2 where
 * |d| <= delta, else delta (|d| - delta/2). */
Tensor *ag_huber_loss(Tensor *x, Tensor *target, double delta);

/* Sorts x along dim. Equal items stay in their order, and NaN counts as the largest. If `ids` is
 * not NULL, *ids receives the numbers of the items in x (AG_INT): ag_gather(x, dim, *ids) is the
 * result. */
Tensor *ag_sort(Tensor *x, int dim, bool descending, Tensor **ids);
/* Returns the k largest items along dim, the largest first; ids as in ag_sort. */
Tensor *ag_topk(Tensor *x, int64_t k, int dim, Tensor **ids);

/* Convolves along one dimension, as ag_conv2d does along two: x (B,C,T), weight (O,C,k), bias (O)
 * or NULL -> (B,O,(T + 2 padding - k)/stride + 1). */
Tensor *ag_conv1d(Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding);

/* How an image is resized. A new item is the nearest one, or a weighted mean of the four nearest
 * ones. */
typedef enum { AG_NEAREST, AG_BILINEAR } AgInterpolation;

/* Resizes images x (B,C,H,W) to (B,C,height,width). Along a dimension, item i of n comes from place
 * (i + 1/2) N / n - 1/2 of N, and from the first or last item outside of these. With AG_NEAREST it
 * comes from item i N / n, rounded down, in exact arithmetic.
 *
 * PyTorch with align_corners=False does the same. But its nearest mode multiplies i by the float
 * nearest to N / n: for 156 of the pairs of N and n up to 120, it takes the item before for some i
 * (from 2 to 82: item 41). */
Tensor *ag_interpolate2d(Tensor *x, int64_t height, int64_t width, AgInterpolation mode);

/* ---- ints, which have no gradients. ag_compare and ag_compare_scalar take them, too ------------ */

/* Returns ints (AG_INT) of one value. */
Tensor *tensor_int_full(AgShape shape, int32_t value);
/* Returns start, start + step, ... before stop, as AG_INT. */
Tensor *tensor_int_arange(int32_t start, int32_t stop, int32_t step);

/* Return a + b and a b of ints (AG_INT), broadcast. A number beyond 32 bits is a usage error. For a
 * number of the program: ag_int_mul(ids, tensor_int_full(AG_SCALAR, 8)). */
Tensor *ag_int_add(Tensor *a, Tensor *b);
Tensor *ag_int_mul(Tensor *a, Tensor *b);

/* Returns the numbers (AG_INT) of the items of a mask (AG_BOOL) that are true: 0 is the first item,
 * and the last dimension is counted first. For a mask (n), ag_index_select(x, 0, ids) takes these
 * rows of x. */
Tensor *ag_nonzero(Tensor *mask);

/* ---- without gradients ----------------------------------------------------------------------- */

/* Returns the number (AG_INT) of the first largest item of x (AG_REAL) along dim, which is removed,
 * or kept with size 1 if `keep`. NaN counts as the largest. */
Tensor *ag_argmax(Tensor *x, int dim, bool keep);

/* Draws n items of each row of p (..,V), with replacement, with probabilities in proportion to p ->
 * AG_INT (..,n). This thread's generator gives 24 bits, so items below a millionth of the largest
 * are drawn too rarely. It computes n V numbers for each row. */
Tensor *ag_multinomial(Tensor *p, int64_t n);

/* Returns reals (..,classes) for ids (..): 1 at the id, else 0. An id outside 0..classes-1 is a
 * usage error. */
Tensor *ag_one_hot(Tensor *ids, int64_t classes);

/* Return whether at least one item of the mask (AG_BOOL) over dims is true, and whether all are.
 * dims are removed, or kept with size 1 if `keep`. Over no items, the results are false and
 * true. */
Tensor *ag_any(Tensor *mask, AgDims dims, bool keep);
Tensor *ag_all(Tensor *mask, AgDims dims, bool keep);

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

#include "kaeru/calls/more_functions.h"

AG_PUBLIC_END

#endif
