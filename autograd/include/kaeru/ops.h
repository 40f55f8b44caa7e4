/* ops.h: the differentiable operations of kaeru. Written by autograd/headers.py from autograd/ops/ops.def and
 * autograd/ops/more/more.def; change these lists instead.
 *
 * y is what the operation returns, dy its gradient; dx is the gradient that an input x gets. Where inputs were
 * broadcast, gradients are summed down to each input's own shape.
 *
 * Tensors are AG_REAL, masks AG_BOOL, ids AG_INT. An operation changes none of its inputs. Its result belongs to the innermost
 * open scope, and has memory of its own, except that of reshape. The operation is recorded if the scope is AG_RECORD and an
 * input requires a gradient. A tensor of another type, and shapes that do not fit, are usage errors. More operations are in
 * more_ops.h. */
#ifndef KAERU_OPS_H
#define KAERU_OPS_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* two tensors, broadcast by NumPy's rules: a and b AG_REAL -> y of the shape that both broadcast to. If there is none, that
 *     is a usage error */

/* y = a + b; da = dy, db = dy */
Tensor *ag_add(Tensor *a, Tensor *b);

/* y = a - b; da = dy, db = -dy */
Tensor *ag_sub(Tensor *a, Tensor *b);

/* y = a b, elementwise; da = dy b, db = dy a */
Tensor *ag_mul(Tensor *a, Tensor *b);

/* y = a / b: db is -(dy / b) (a / b): infinite or NaN where dy / b overflows, in float for dy of 1 at |b| below 2.9e-39
 *     (PyTorch begins with (a / b) / b)
 * da = dy / b, db = -dy a / b^2 */
Tensor *ag_div(Tensor *a, Tensor *b);

/* ---- one tensor and numbers, elementwise: x AG_REAL of any shape -> y of x's shape ------------------------------- */

/* y = -x; dx = -dy */
Tensor *ag_neg(Tensor *x);

/* y = e^x; dx = dy y */
Tensor *ag_exp(Tensor *x);

/* y = ln x: -infinity at 0, NaN below
 * dx = dy / x */
Tensor *ag_log(Tensor *x);

/* y = sqrt(x): NaN below 0; the gradient at 0 is infinite
 * dx = dy / (2 y) */
Tensor *ag_sqrt(Tensor *x);

/* y = tanh x; dx = dy (1 - y^2) */
Tensor *ag_tanh(Tensor *x);

/* y = 1 / (1 + e^-x); dx = dy y (1 - y) */
Tensor *ag_sigmoid(Tensor *x);

/* y = max(0, x): NaN stays NaN, its gradient is 0 (PyTorch: dy); a subnormal dy counts as 0
 * dx = dy where x > 0, else 0 */
Tensor *ag_relu(Tensor *x);

/* y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), GPT's form: 0 at -infinity (PyTorch: NaN), and the gradient 0 there and
 *     1 at infinity (PyTorch: NaN from |x| = 2e19 on)
 * dx = dy y'(x) */
Tensor *ag_gelu(Tensor *x);

/* y = x/2 (1 + erf(x / sqrt 2)) = x Phi(x): Phi is the normal distribution, phi its density; 0 below -13, at -infinity too
 *     (PyTorch: NaN), and the gradient 0 there and 1 at infinity (PyTorch: NaN)
 * dx = dy (Phi(x) + x phi(x)) */
Tensor *ag_gelu_erf(Tensor *x);

/* y = x / (1 + e^-x): 0 at -infinity, and the gradient 0 there and 1 at infinity (PyTorch: NaN); in float 0 below -87
 * dx = dy s (1 + x (1 - s)) with s = 1 / (1 + e^-x) */
Tensor *ag_silu(Tensor *x);

/* y = factor x; dx = factor dy */
Tensor *ag_scale(Tensor *x, double factor);

/* y = x + number; dx = dy */
Tensor *ag_add_scalar(Tensor *x, double number);

/* y = x / (1-p) with probability 1-p, else 0: p in [0, 1); by this thread's generator; nn_dropout does nothing in evaluation
 * dx = dy / (1-p) where kept, else 0 */
Tensor *ag_dropout(Tensor *x, double p);

/* products, attention: of AG_REAL tensors; they and linear_cross_entropy compute in the numbers that ag_precision set */

/* y = a b: (..,n,k) (..,k,m) -> (..,n,m), batch dimensions broadcast
 * da = dy b^T, db = a^T dy */
Tensor *ag_matmul(Tensor *a, Tensor *b);

/* y = x weight^T + bias: x (..,in), weight (out,in), bias (out) or NULL -> (..,out)
 * dx = dy weight, dweight = dy^T x, dbias = sum of dy over rows */
Tensor *ag_linear(Tensor *x, Tensor *weight, Tensor *bias);

/* y = softmax(q k^T / sqrt(K)) v in each of options.heads parts of the last dimension: q (B,T,D), k and v (B,S,D), mask
 *     AG_BOOL broadcast to (B,heads,T,S) or NULL -> (B,T,D), where K = D/heads. With fewer heads of keys and values, k and v
 *     are (B,S,kv_heads K). A mask of reals is added to q k^T / sqrt(K) instead (ALiBi, T5); its -infinity hides.
 *     AgAttention in types.h has the options. A query that sees no key gets 0. NaN or infinity in the key or the value of a
 *     position that no query sees, or in a query that sees no key, changes no value and no gradient (PyTorch: NaN)
 * with W the weights and dW = dy v^T: dv = W^T dy, dmask = W (dW - sum(dW W)), ds = dmask / sqrt(K), dq = ds k, dk = ds^T q */
Tensor *ag_attention(Tensor *q, Tensor *k, Tensor *v, Tensor *mask, AgAttention options);

/* y = attention of a sequence to itself: queries, keys and values side by side in qkv (B,T,3D), or (B,T,(heads + 2 kv_heads)
 *     K) -> (B,T,D)
 * as attention */
Tensor *ag_self_attention(Tensor *qkv, Tensor *mask, AgAttention options);

/* over dimensions: x AG_REAL. dims and dim count from 0, negative ones from the last. These dimensions are removed, or kept
 *     with size 1 if `keep`. One that x does not have, or that is named twice, is a usage error. A scalar counts as a vector
 *     of one item */

/* y = sum of x over dims: 0 if there is nothing to add
 * dx = dy, repeated */
Tensor *ag_sum_dims(Tensor *x, AgDims dims, bool keep);

/* y = mean of x over dims: NaN if there are no items. The mean is right even if the sum is beyond the range of AG_REAL, as
 *     long as double can hold it (PyTorch: infinite)
 * dx = dy / n, repeated */
Tensor *ag_mean_dims(Tensor *x, AgDims dims, bool keep);

/* along a dimension: x AG_REAL -> y of x's shape. dim counts from 0, a negative one from the last. A scalar counts as a
 *     vector of one item */

/* y = e^x / sum(e^x) along dim: 0 where every x is -infinity (PyTorch: NaN); NaN where one x is infinity
 * dx = y (dy - sum(dy y)) */
Tensor *ag_softmax(Tensor *x, int dim);

/* y = x - ln sum(e^x) along dim: -infinity where every x is (PyTorch: NaN); NaN where one x is infinity
 * dx = dy - e^y sum of dy */
Tensor *ag_log_softmax(Tensor *x, int dim);

/* ---- over the last dimension: x AG_REAL (..,D) -> y of x's shape ------------------------------------------------- */

/* y = softmax of scale x along the last dimension among the entries where mask is true: mask AG_BOOL, broadcast to x, or
 *     NULL; the other entries are exactly 0, and so is a row without any
 * dx = scale y (dy - sum(dy y)) */
Tensor *ag_masked_softmax(Tensor *x, Tensor *mask, double scale);

/* y = gamma x / r over the last dimension, r = sqrt(mean(x^2) + eps): gamma (D) or NULL; 0 where r is (PyTorch: NaN), also
 *     below 2^-126; rows of up to 3.4e38 have finite values (PyTorch: 0 from 1e19 on) (Zhang and Sennrich 2019)
 * dx = (g - n mean(g n)) / r with g = dy gamma, n = x / r; dgamma = sum dy n */
Tensor *ag_rms_norm(Tensor *x, Tensor *gamma, double eps);

/* y = gamma (x - mean) / deviation + beta over the last dimension: gamma, beta (D) or NULL. Where the deviation is 0 (below
 *     2^-126), as in a row of equal numbers with eps 0, y is beta and dx is 0 (PyTorch: NaN). Rows of up to 3.4e38 have
 *     finite values (PyTorch: 0 from 1e19 on). Rows with a mean of up to 1e6 deviations have values as exact as those of
 *     mean 0
 * dx = (g - mean g - n mean(g n)) / deviation with g = dy gamma, n = (x - mean) / deviation; dgamma = sum dy n; dbeta = sum
 *     dy */
Tensor *ag_layer_norm(Tensor *x, Tensor *gamma, Tensor *beta, AgNorm kind);

/* rows and entries by number: ids AG_INT, all else AG_REAL. An id out of range is a usage error. If an id occurs more than
 *     4096 times, its gradients are summed in double */

/* y = rows of table: table (V,D), ids (..) -> (..,D)
 * dtable[id] = sum of dy over the places where ids is id */
Tensor *ag_embedding(Tensor *table, Tensor *ids);

/* ---- shapes: x of any type, of which AG_REAL alone has gradients; reshape shares x's memory, the others copy ----- */

/* y = the same values in another shape: one size may be -1
 * dx = dy in x's shape */
Tensor *ag_reshape(Tensor *x, AgShape shape);

/* y = dimension i of y is dimension order[i] of x: a copy (PyTorch: a view)
 * dx = dy permuted back */
Tensor *ag_permute(Tensor *x, AgDims order);

/* y = items start..stop-1 along dim, negative ones counted from the end: a copy (PyTorch: a view); a range beyond x is a
 *     usage error (PyTorch cuts it off)
 * dx = dy there, else 0 */
Tensor *ag_slice(Tensor *x, int dim, int64_t start, int64_t stop);

/* losses: each a scalar; AG_MEAN divides by n, the number of items, or of the targets that count if they are ids (AG_INT);
 *     with AG_SUM n is 1 */

/* y = mean of (x - target)^2: x and target of one shape (PyTorch broadcasts); 2 dy / n is rounded first, and loses digits
 *     where it is subnormal
 * dx = dy 2 (x - target) / n */
Tensor *ag_mse_loss(Tensor *x, Tensor *target);

/* y = -log softmax(logits)[target]: logits (..,V), target (..) ids. Targets equal to `ignore` (e.g. -100) are left out;
 *     their gradient is 0 even in a row of NaN (PyTorch: NaN). `smoothing` of the weight is spread evenly over all V. If no
 *     target counts, the loss is 0 (PyTorch: NaN). A row of -infinity has an infinite loss and a softmax of 0 (PyTorch: NaN)
 * dlogits = dy (softmax - target) / n */
Tensor *ag_cross_entropy(Tensor *logits, Tensor *target, AgReduce reduce, int ignore, double smoothing);

/* y = sum over rows of KL(t || p): log_p (..,V), target (..) ids. t is 1-s at the target, 0 at `padding`, s/(V-2) elsewhere.
 *     A row whose target is `padding` adds nothing. Where t is 0, the item adds 0, even if log_p is -infinity
 * dlog_p = -dy t */
Tensor *ag_label_smoothing(Tensor *log_p, Tensor *target, int padding, double smoothing);

/* y = -log softmax(x weight^T + bias)[target]: cross_entropy of linear: x (..,in), weight (V,in), bias (V) or NULL, target
 *     (..) ids; NaN in an ignored row of x reaches no gradient (PyTorch: each); up to 2^23 logits are kept, and all bits are
 *     those of cross_entropy of linear; of more, only a part exists at a time, and forward computes the gradients at once
 *     for dy = 1: backward multiplies them by dy, with AG_BF16 after they were rounded
 * with d = dy (softmax - target) / n: dx = d weight, dweight = d^T x, dbias = sum of d over rows */
Tensor *ag_linear_cross_entropy(Tensor *x, Tensor *weight, Tensor *bias, Tensor *target, AgReduce reduce, int ignore,
                                double smoothing);

#include "kaeru/calls/ops.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/more_ops.h"
#endif

#endif
