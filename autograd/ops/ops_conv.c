/* ops_conv.c: convolution and pooling of images (B,C,H,W). The loops are in kernels/conv_blocks.c. */
#include "kaeru/autograd.h"
#include "blocks.h"
#include "ops/table.h"

/* How many windows of `size` items there are along n items with padding on both sides; below 1 if none fits. */
static int64_t windows(int64_t n, int64_t size, int64_t stride, int64_t padding)
{
    int64_t last = n + 2 * padding - size;              /* where the last one can begin */
    return last < 0 ? 0 : last / stride + 1;
}

/* ---- conv2d: y = bias + weight * x                           dx = weight^T dy, dweight = dy x^T, dbias = sum dy ---- */

Tensor *ag_conv2d_at(AgSite at, Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding)
{
    check_tensor(at, __func__, "x", x, AG_REAL);
    check_tensor(at, __func__, "weight", weight, AG_REAL);
    const int64_t *dx = x->shape.dim, *dw = weight->shape.dim;
    if (x->shape.ndim != 4 || weight->shape.ndim != 4 || dx[1] != dw[1])
        ag_usage_error(at, __func__, "x %s and weight %s do not fit: expected (B,C,H,W) and (O,C,h,w)",
                       shape_text(x->shape), shape_text(weight->shape));
    if (bias) check_vector(at, __func__, "bias", bias, dw[0], "(O)", "weight", weight);
    if (stride < 1 || padding < 0)
        ag_usage_error(at, __func__, "stride %d and padding %d, expected 1 or more and 0 or more", stride, padding);
    KConv a = { dx[0], dx[1], dx[2], dx[3], dw[0], dw[2], dw[3], windows(dx[2], dw[2], stride, padding),
                windows(dx[3], dw[3], stride, padding), stride, padding, false };
    if (a.kh < 1 || a.kw < 1 || a.oh < 1 || a.ow < 1)
        ag_usage_error(at, __func__, "weight %s is empty, or larger than x %s with padding %d",
                       shape_text(weight->shape), shape_text(x->shape), padding);
    Tensor *y = op_new(at, OP_conv2d, &SHAPE(a.b, a.o, a.oh, a.ow), x, weight, bias);
    a.bf16 = y->precision == AG_BF16;
    if (y->op) *(KConv *)op_args(y, sizeof a) = a;
    real *work = scratch_new(at, __func__, k_conv2d_work(&a), sizeof *work);
    k_conv2d(&a, reals(y), reals(x), reals(weight), bias ? reals(bias) : NULL, work);
    return op_done(y);
}

void conv2d_backward(Tensor *y)
{
    const KConv *a = y->args;
    Tensor *x = y->in[0], *weight = y->in[1];
    Grad dbias = grad_into(y->n_in > 2 ? y->in[2] : NULL);
    if (dbias.data) {
        real *sums = scratch_new(y->site, y->op->name, a->b * a->o, sizeof *sums);
        k_sum(a->b * a->o, a->oh * a->ow, 1, sums, grad_of(y), 1, false);
        k_sum(1, a->b, a->o, dbias.data, sums, 1, dbias.add);
    }
    Grad dweight = grad_into(weight);
    real *work = scratch_new(y->site, y->op->name, k_conv2d_backward_work(a), sizeof *work);
    if (x == weight) {                          /* one tensor is both: the gradients must be added one after the other */
        k_conv2d_backward(a, NULL, false, dweight.data, dweight.add, grad_of(y), reals(x), reals(weight), work);
        dweight.data = NULL;
    }
    Grad dx = grad_into(x);
    k_conv2d_backward(a, dx.data, dx.add, dweight.data, dweight.add, grad_of(y), reals(x), reals(weight), work);
}

/* ---- one dimension, zeros around --------------------------------------------------------------------------------- */

Tensor *ag_pad_at(AgSite at, Tensor *x, int dim, int64_t before, int64_t after)
{
    check_tensor(at, __func__, "x", x, AG_REAL);
    int d = check_dim(at, __func__, x, dim);
    if (before < 0 || after < 0)
        ag_usage_error(at, __func__, "%lld and %lld zeros, expected 0 or more", (long long)before, (long long)after);
    AgShape left = x->shape, right = x->shape;
    left.dim[d] = before;
    right.dim[d] = after;
    return ag_concat_at(at, ((Tensor *[]){ tensor_zeros_at(at, left), x, tensor_zeros_at(at, right) }), 3, d);
}

Tensor *ag_conv1d_at(AgSite at, Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding)
{
    check_tensor(at, __func__, "x", x, AG_REAL);
    check_tensor(at, __func__, "weight", weight, AG_REAL);
    const int64_t *dx = x->shape.dim, *dw = weight->shape.dim;
    if (x->shape.ndim != 3 || weight->shape.ndim != 3 || dx[1] != dw[1])
        ag_usage_error(at, __func__, "x %s and weight %s do not fit: expected (B,C,T) and (O,C,k)", shape_text(x->shape),
                       shape_text(weight->shape));
    if (bias) check_vector(at, __func__, "bias", bias, dw[0], "(O)", "weight", weight);
    if (stride < 1 || padding < 0)
        ag_usage_error(at, __func__, "stride %d and padding %d, expected 1 or more and 0 or more", stride, padding);
    if (dw[2] < 1 || windows(dx[2], dw[2], stride, padding) < 1)
        ag_usage_error(at, __func__, "weight %s is empty, or longer than x %s with padding %d", shape_text(weight->shape),
                       shape_text(x->shape), padding);
    if (padding != 0) x = ag_pad_at(at, x, -1, padding, padding);
    Tensor *y = ag_conv2d_at(at, ag_unsqueeze_at(at, x, 2), ag_unsqueeze_at(at, weight, 2), bias, stride, 0);
    return ag_squeeze_at(at, y, 2);
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

static Tensor *pool2d(AgSite at, const char *what, int op, Tensor *x, int size, int stride, int padding)
{
    check_tensor(at, what, "x", x, AG_REAL);
    const int64_t *d = x->shape.dim;
    if (x->shape.ndim != 4) ag_usage_error(at, what, "x %s, expected (B,C,H,W)", shape_text(x->shape));
    if (size < 1 || stride < 1 || padding < 0 || padding > size / 2)
        ag_usage_error(at, what, "size %d, stride %d and padding %d: expected 1 or more, 1 or more, and 0 to size / 2", size,
                       stride, padding);
    KPool p = { d[0] * d[1], d[2], d[3], windows(d[2], size, stride, padding), windows(d[3], size, stride, padding), size,
                stride, padding, op == OP_max_pool2d };
    if (p.oh < 1 || p.ow < 1 || p.h < 1 || p.w < 1 || p.h > INT32_MAX / p.w)
        ag_usage_error(at, what, "windows of size %d, padding %d: x %s is too small or too large", size, padding,
                       shape_text(x->shape));
    Tensor *y = op_new(at, op, &SHAPE(d[0], d[1], p.oh, p.ow), x, NULL, NULL);
    if (y->op) *(KPool *)op_args(y, sizeof p) = p;
    int32_t *index = p.max && y->op ? (int32_t *)(void *)op_save(y, y->numel) : NULL;
    k_pool2d(&p, reals(y), index, reals(x));
    return op_done(y);
}

void pool2d_backward(Tensor *y)
{
    k_pool2d_backward(y->args, grad_to_add(y->in[0]), grad_of(y), y->saved ? buffer_data(y->saved) : NULL);
}

Tensor *ag_max_pool2d_at(AgSite at, Tensor *x, int size, int stride, int padding)
{
    return pool2d(at, __func__, OP_max_pool2d, x, size, stride, padding);
}

Tensor *ag_mean_pool2d_at(AgSite at, Tensor *x, int size, int stride, int padding)
{
    return pool2d(at, __func__, OP_mean_pool2d, x, size, stride, padding);
}
