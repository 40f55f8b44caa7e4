/* more_ops.h: more differentiable operations: functions of a number, convolutions, choices, sums, copies, losses. Written by
 * autograd/headers.py from autograd/ops/more/more.def; change this list instead.
 *
 * ops.h says what all operations have in common. */
#ifndef KAERU_PUBLIC_MORE_OPS_H
#define KAERU_PUBLIC_MORE_OPS_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* ---- two tensors, elementwise, broadcast by NumPy's rules: a and b AG_REAL --------------------------------------- */

/* y = a^b: NaN where a is below 0, but not -infinity, and b is not whole
 * da = dy b a^(b-1), db = dy y ln a */
Tensor *ag_pow(Tensor *a, Tensor *b);

/* y = the larger of a and b: NaN where either is NaN, with no gradient to either (PyTorch: dy to both)
 * dy goes to the larger, half to each where they are equal */
Tensor *ag_maximum(Tensor *a, Tensor *b);

/* y = the smaller of a and b: NaN where either is NaN, with no gradient to either (PyTorch: dy to both)
 * dy goes to the smaller, half to each where they are equal */
Tensor *ag_minimum(Tensor *a, Tensor *b);

/* ---- one tensor and numbers, elementwise: x AG_REAL of any shape -> y of x's shape ------------------------------- */

/* y = |x|: the gradient at 0 and at NaN is 0
 * dx = dy sign(x) */
Tensor *ag_abs(Tensor *x);

/* y = ln(1 + e^x); dx = dy / (1 + e^-x) */
Tensor *ag_softplus(Tensor *x);

/* y = -ln(1 + e^-x); dx = dy / (1 + e^x) */
Tensor *ag_log_sigmoid(Tensor *x);

/* y = erf x; dx = dy 2 / sqrt(pi) e^(-x^2) */
Tensor *ag_erf(Tensor *x);

/* y = sin x, x in radians: 0 of -0 (PyTorch: -0)
 * dx = dy cos x */
Tensor *ag_sin(Tensor *x);

/* y = cos x, x in radians; dx = -dy sin x */
Tensor *ag_cos(Tensor *x);

/* y = 1 where x > 0, -1 where x < 0, else x: NaN stays NaN (PyTorch: 0)
 * dx = 0 */
Tensor *ag_sign(Tensor *x);

/* y = x^exponent: x^0.5 is infinity at -infinity and 0 at -0, and x^-0.5 is 0 and infinity there, as other powers (PyTorch:
 *     NaN and -0, NaN and -infinity, as of a square root). The exponent is rounded to AG_REAL; whether it is whole and odd
 *     is decided before that, by which a negative x has a power and its sign
 * dx = dy exponent x^(exponent - 1) */
Tensor *ag_pow_scalar(Tensor *x, double exponent);

/* y = x where x > 0, else slope x; dx = dy where x > 0, else slope dy */
Tensor *ag_leaky_relu(Tensor *x, double slope);

/* y = x where x > 0, else alpha (e^x - 1); dx = dy where x > 0, else dy alpha e^x */
Tensor *ag_elu(Tensor *x, double alpha);

/* y = x limited to low..high: low above high is a usage error (PyTorch: high)
 * dx = dy where low <= x <= high, else 0 */
Tensor *ag_clamp(Tensor *x, double low, double high);

/* rotations, convolutions, pooling: of AG_REAL tensors; convolutions compute in the numbers that ag_precision set */

/* y = x with the pairs of entries (a, b) of each of `heads` parts of the last dimension turned: x (B,T,D); a pair becomes a
 *     cos - b sin, b cos + a sin, with row t of the table (T,D/heads) of ag_rope_table; pair i is entries i and i+K/2 of a
 *     part of width K, as in Hugging Face's files, or 2i and 2i+1 if `adjacent` (Su et al. 2021)
 * dx = dy turned by the negative angles */
Tensor *ag_rope(Tensor *x, Tensor *table, int heads, bool adjacent);

/* y = bias[o] + sum over c,p,q of weight[o,c,p,q] x[b,c,i stride+p-padding,j stride+q-padding] at (b,o,i,j): x (B,C,H,W), 0
 *     outside, weight (O,C,h,w), bias (O) or NULL -> (B,O,(H+2 padding-h)/stride+1,(W+2 padding-w)/stride+1)
 * dx = each dy[b,o,i,j] times weight[o], added at its place; dweight = each dy times the part of x under its window; dbias =
 *     sum of dy over b, i, j */
Tensor *ag_conv2d(Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding);

/* y = conv2d with groups, and a stride, padding and dilation of height and of width: weight (O,C/groups,h,w); AgConv in
 *     types.h has the options. Depthwise: groups C
 * as conv2d */
Tensor *ag_conv2d_with(Tensor *x, Tensor *weight, Tensor *bias, AgConv options);

/* y = bias[o] + each x[b,c,i,j] times weight[c,o], added at (b,o,i stride+p-padding,j stride+q-padding): the transposed
 *     function of conv2d in x, which makes images larger: x (B,C,H,W), weight (C,O,h,w), bias (O) or NULL -> (B,O,(H-1)
 *     stride-2 padding+h+output_padding,..); output_padding < stride
 * dx = conv2d of dy with weight; dweight = each x times the part of dy under its window; dbias = sum of dy over b, i, j */
Tensor *ag_conv_transpose2d(Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding, int output_padding);

/* y = largest item of x in windows of size x size, `stride` apart: x (B,C,H,W) -> (B,C,(H+2 padding-size)/stride+1,..); the
 *     padding, at most size/2, counts as -infinity; NaN if there is one
 * dy goes to the first largest, or to the first NaN (PyTorch: the last NaN) */
Tensor *ag_max_pool2d(Tensor *x, int size, int stride, int padding);

/* y = sum of x in windows of size x size, divided by size^2: shapes as in max_pool2d; the padding counts as zeros
 * dx = sum of dy / size^2 over the windows that have it */
Tensor *ag_mean_pool2d(Tensor *x, int size, int stride, int padding);

/* ---- tensors and a mask: AG_REAL and AG_BOOL, broadcast by NumPy's rules ----------------------------------------- */

/* y = a where mask (AG_BOOL) is true, else b: -0 becomes 0 (PyTorch: -0)
 * da = dy where mask, else 0; db = 0 where mask, else dy */
Tensor *ag_where(Tensor *mask, Tensor *a, Tensor *b);

/* y = value where mask (AG_BOOL, broadcast to x) is true, else x
 * dx = 0 where mask, else dy */
Tensor *ag_masked_fill(Tensor *x, Tensor *mask, double value);

/* over a dimension, or several: x AG_REAL; dims and dim count from 0, negative ones from the last; they are removed, or kept
 *     with size 1 if `keep`; a scalar is a vector of one item */

/* y = largest of x along dim: NaN if there is one, as in PyTorch
 * dy goes to the first largest */
Tensor *ag_max_dim(Tensor *x, int dim, bool keep);

/* y = smallest of x along dim: NaN if there is one, as in PyTorch
 * dy goes to the first smallest */
Tensor *ag_min_dim(Tensor *x, int dim, bool keep);

/* y = mean of (x - mean)^2 over dims, n-1 for n if unbiased: n is the number of items; the default of PyTorch is unbiased;
 *     the gradient is exact where the mean is large, too, and where the sum of the items is beyond the range of AG_REAL, but
 *     not the sum in double (PyTorch: infinite). The mean of mean_dims is one float: x less that is off by its rounding,
 *     6e-8 of the mean. layer_norm has no such error
 * dx = dy 2 (x - mean) / n */
Tensor *ag_var_dims(Tensor *x, AgDims dims, bool unbiased, bool keep);

/* ---- along a dimension: x AG_REAL -> y of x's shape -------------------------------------------------------------- */

/* y = sum of the items of x along dim up to this one
 * dx = sum of dy from this item on */
Tensor *ag_cumsum(Tensor *x, int dim);

/* ---- over the last dimension: x AG_REAL (..,D) -> y of x's shape ------------------------------------------------- */

/* y = gamma x / r over the last dimension, r = sqrt(mean(x^2) + eps): gamma (D) or NULL; 0 where r is (PyTorch: NaN), also
 *     below 2^-126; rows of up to 3.4e38 have finite values (PyTorch: 0 from 1e19 on) (Zhang and Sennrich 2019)
 * dx = (g - n mean(g n)) / r with g = dy gamma, n = x / r; dgamma = sum dy n */
Tensor *ag_rms_norm(Tensor *x, Tensor *gamma, double eps);

/* items by number: ids AG_INT; an id out of range is a usage error. Of an id that occurs more than 4096 times the terms are
 *     summed in double */

/* y = items of x along dim, as torch.gather: y[o,j,i] = x[o, ids[o,j,i], i], where o and i are the dimensions before and
 *     after dim; ids has x's sizes except along dim, and y has ids' shape
 * dx = dy at the items taken, else 0 */
Tensor *ag_gather(Tensor *x, int dim, Tensor *ids);

/* y = x with the items of src added: y[o, ids[o,j,i], i] = x[..] + sum of src[o,j,i], the counterpart of gather; src has
 *     ids' shape
 * dx = dy, dsrc = the items of dy at ids */
Tensor *ag_scatter_add(Tensor *x, int dim, Tensor *ids, Tensor *src);

/* y = the largest of x and of the items of src: y[o, ids[o,j,i], i] = the largest of x[..] and each src[o,j,i], as
 *     torch.scatter_reduce with "amax" (which divides dy among equal ones); src has ids' shape; NaN if there is one
 * dy goes to the first largest, to x before src */
Tensor *ag_scatter_max(Tensor *x, int dim, Tensor *ids, Tensor *src);

/* y = x with the items of src added to items ids[0], ids[1], ... of x along dim: the counterpart of index_select: ids (n),
 *     src (..,n,..) with the other sizes of x
 * dx = dy, dsrc = items ids[0], ids[1], ... of dy */
Tensor *ag_index_add(Tensor *x, int dim, Tensor *ids, Tensor *src);

/* ---- copies of items: x of any type, of which AG_REAL alone has gradients ---------------------------------------- */

/* y = items ids[0], ids[1], ... of x along dim: ids (n), AG_INT: x (..,D,..) -> (..,n,..); an id out of range is a usage
 *     error. Mini-batches: docs/data.md
 * dx = sum of dy over the places where the item was taken */
Tensor *ag_index_select(Tensor *x, int dim, Tensor *ids);

/* y = n tensors joined along dim: the other sizes and the types must be equal
 * each gets its part of dy */
Tensor *ag_concat(Tensor **x, int n, int dim);

/* y = x repeated to a shape it broadcasts to: a copy (PyTorch: a view)
 * dx = sum of dy over the repeats */
Tensor *ag_expand(Tensor *x, AgShape shape);

/* losses: each a scalar; AG_MEAN divides by n, the number of items, or of the targets that count if they are ids (AG_INT);
 *     with AG_SUM n is 1 */

/* y = -target ln s - (1 - target) ln(1 - s) with s = 1 / (1 + e^-logits): target in 0..1, of logits' shape; 0 or infinite at
 *     an infinite logit (PyTorch: mostly NaN)
 * dlogits = dy (s - target) / n, dtarget = -dy logits / n */
Tensor *ag_binary_cross_entropy(Tensor *logits, Tensor *target, AgReduce reduce);

/* y = -log_p[target]: log_p (..,V), target (..) ids; without a target that counts the loss is 0 (PyTorch: NaN)
 * dlog_p = -dy / n at the target, else 0 */
Tensor *ag_nll_loss(Tensor *log_p, Tensor *target, AgReduce reduce, int ignore);

/* y = target (ln target - log_p): target, of log_p's shape, is a probability and not its logarithm; AG_MEAN divides by all
 *     items, not by the rows. Where target is 0, the item adds 0, also if log_p is -infinity (PyTorch: NaN), and dtarget is
 *     -infinity, or NaN if log_p is -infinity (PyTorch: NaN)
 * dlog_p = -dy target / n, dtarget = dy (ln target + 1 - log_p) / n */
Tensor *ag_kl_div(Tensor *log_p, Tensor *target, AgReduce reduce);

#include "kaeru/calls/more_ops.h"

AG_PUBLIC_END

#endif
