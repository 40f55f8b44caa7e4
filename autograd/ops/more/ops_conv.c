/* ops_conv.c: convolution, resizing and pooling of images (B,C,H,W). The loops are in conv_blocks.c. */
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "op.h"
#include "conv_blocks.h"
#include "more_table.h"
#include "shape.h"
#include "tape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* How many windows of `size` items there are along n items with padding on both sides; below 1 if none fits. */
static int64_t windows(int64_t n, int64_t size, int64_t stride, int64_t padding)
{
    int64_t last = n + 2 * padding - size;              /* where the last one can begin */
    return last < 0 ? 0 : last / stride + 1;
}

/* ---- conv2d: y = bias + weight * x                           dx = weight^T dy, dweight = dy x^T, dbias = sum dy ---- */

/* Fills in how the windows lie, with 1 for what is 0 in `options`. */
static void set_windows(const char *what, KConv *a, const AgConv *options)
{
    a->channel_groups = options->groups ? options->groups : 1;
    for (int i = 0; i < 2; i++) {
        a->stride[i] = options->stride[i] ? options->stride[i] : 1;
        a->padding[i] = options->padding[i];
        a->dilation[i] = options->dilation[i] ? options->dilation[i] : 1;
        if (a->channel_groups < 0 || a->stride[i] < 0 || a->padding[i] < 0 || a->dilation[i] < 0)
            ag_usage_error(what, "stride %d, padding %d, dilation %d, groups %d: expected 0 or more", options->stride[i],
                           options->padding[i], options->dilation[i], options->groups);
    }
}

static Tensor *convolve(const char *what, const Op *op, Tensor *x, Tensor *weight, Tensor *bias, const AgConv *options)
{
    KConv a;
    set_windows(what, &a, options);
    check_tensor(what, "x", x, AG_REAL);
    check_tensor(what, "weight", weight, AG_REAL);
    const int64_t *dx = x->shape.dim, *dw = weight->shape.dim, groups = a.channel_groups;
    if (x->shape.ndim != 4 || weight->shape.ndim != 4 || dx[1] != dw[1] * groups || dw[0] % groups != 0)
        ag_usage_error(what, "x %s and weight %s do not fit: expected (B,C,H,W) and (O,C%s,h,w)", shape_text(x->shape),
                       shape_text(weight->shape), groups > 1 ? "/groups" : "");
    if (bias) check_vector(what, "bias", bias, dw[0], "(O)", "weight", weight);
    a.b = dx[0] * groups, a.c = dw[1], a.h = dx[2], a.w = dx[3], a.o = dw[0] / groups, a.kh = dw[2], a.kw = dw[3];
    a.oh = windows(a.h, (a.kh - 1) * a.dilation[0] + 1, a.stride[0], a.padding[0]);
    a.ow = windows(a.w, (a.kw - 1) * a.dilation[1] + 1, a.stride[1], a.padding[1]);
    if (a.kh < 1 || a.kw < 1 || a.oh < 1 || a.ow < 1)
        ag_usage_error(what, "weight %s is empty, or larger than x %s with padding %d and %d, and dilation %d and %d",
                       shape_text(weight->shape), shape_text(x->shape), options->padding[0], options->padding[1],
                       (int)a.dilation[0], (int)a.dilation[1]);
    Tensor *y = op_new(op, &SHAPE(dx[0], dw[0], a.oh, a.ow), x, weight, bias);
    a.bf16 = y->precision == AG_BF16;
    if (y->op) *(KConv *)op_args(y, sizeof a) = a;
    real *work = op_scratch(what, k_conv2d_work(&a), sizeof *work);
    if (y->numel > 0) k_conv2d(&a, reals(y), reals(x), reals(weight), bias ? reals(bias) : NULL, work);
    return op_done(y);
}

Tensor *ag_conv2d(Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding)
{
    if (stride < 1 || padding < 0)
        ag_usage_error(__func__, "stride %d and padding %d, expected 1 or more and 0 or more", stride, padding);
    AgConv options = { .stride = { stride, stride }, .padding = { padding, padding } };
    return convolve(__func__, &op_table[OP_conv2d], x, weight, bias, &options);
}

Tensor *ag_conv2d_with(Tensor *x, Tensor *weight, Tensor *bias, AgConv options)
{
    return convolve(__func__, &op_table[OP_conv2d_with], x, weight, bias, &options);
}

/* dbias = sum of dy over images and places. */
static void add_bias_gradient(Tensor *y)
{
    const int64_t *d = y->shape.dim;
    if (y->n_in < 3 || !y->in[2] || !y->in[2]->requires_grad) return;
    real *sums = op_scratch(y->op->function, d[0] * d[1], sizeof *sums);
    Grad dbias = grad_into(y->in[2]);
    k_sum(d[0] * d[1], d[2] * d[3], 1, sums, grad_of(y), 1, false);
    k_sum(1, d[0], d[1], dbias.data, sums, 1, dbias.add);
}

void conv2d_backward(Tensor *y)
{
    const KConv *a = y->args;
    Tensor *x = y->in[0], *weight = y->in[1];
    real *work = op_scratch(y->op->function, k_conv2d_backward_work(a), sizeof *work);    /* it may fail: first */
    add_bias_gradient(y);
    Grad dweight = grad_into(weight);
    if (x == weight) {                          /* one tensor is both: the gradients must be added one after the other */
        k_conv2d_backward(a, NULL, false, dweight.data, dweight.add, grad_of(y), reals(x), reals(weight), work);
        dweight.data = NULL;
    }
    Grad dx = grad_into(x);
    k_conv2d_backward(a, dx.data, dx.add, dweight.data, dweight.add, grad_of(y), reals(x), reals(weight), work);
}

/* ---- conv_transpose2d: y is dx of the conv2d whose dy is x   dx = conv2d of dy; dweight: x and dy are exchanged ---- */

Tensor *ag_conv_transpose2d(Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding, int output_padding)
{
    check_tensor(__func__, "x", x, AG_REAL);
    check_tensor(__func__, "weight", weight, AG_REAL);
    const int64_t *dx = x->shape.dim, *dw = weight->shape.dim;
    if (x->shape.ndim != 4 || weight->shape.ndim != 4 || dx[1] != dw[0])
        ag_usage_error(__func__, "x %s and weight %s do not fit: expected (B,C,H,W) and (C,O,h,w)", shape_text(x->shape),
                       shape_text(weight->shape));
    if (bias) check_vector(__func__, "bias", bias, dw[1], "(O)", "weight", weight);
    if (stride < 1 || padding < 0 || output_padding < 0 || output_padding >= stride)
        ag_usage_error(__func__, "stride %d, padding %d, output_padding %d: expected 1 or more, 0 or more, 0 to stride - 1",
                       stride, padding, output_padding);
    KConv a = { .b = dx[0], .c = dw[1], .o = dx[1], .kh = dw[2], .kw = dw[3], .oh = dx[2], .ow = dx[3] };
    set_windows(__func__, &a, &(AgConv){ .stride = { stride, stride }, .padding = { padding, padding } });
    a.h = (a.oh - 1) * stride - 2 * (int64_t)padding + a.kh + output_padding;
    a.w = (a.ow - 1) * stride - 2 * (int64_t)padding + a.kw + output_padding;
    if (a.kh < 1 || a.kw < 1 || a.oh < 1 || a.ow < 1 || a.h < 1 || a.w < 1)
        ag_usage_error(__func__, "x %s and weight %s with stride %d and padding %d give no item", shape_text(x->shape),
                       shape_text(weight->shape), stride, padding);
    Tensor *y = op_new(&op_table[OP_conv_transpose2d], &SHAPE(a.b, a.c, a.h, a.w), x, weight, bias);
    a.bf16 = y->precision == AG_BF16;
    if (y->op) *(KConv *)op_args(y, sizeof a) = a;
    real *work = op_scratch(__func__, k_conv2d_backward_work(&a), sizeof *work);
    if (y->numel > 0) k_conv2d_backward(&a, reals(y), false, NULL, false, reals(x), NULL, reals(weight), work);
    if (bias) {
        KWalk walk = { 3, { a.b, a.c, a.h * a.w }, { a.c * a.h * a.w, a.h * a.w, 1 }, { 0, 1, 0 } };
        k_binary(K_ADD, &walk, reals(y), reals(y), reals(bias));
    }
    return op_done(y);
}

void conv_transpose2d_backward(Tensor *y)
{
    const KConv *a = y->args;
    Tensor *x = y->in[0], *weight = y->in[1];
    add_bias_gradient(y);
    Grad dweight = grad_into(weight);
    real *work = op_scratch(y->op->function, k_conv2d_backward_work(a), sizeof *work);
    k_conv2d_backward(a, NULL, false, dweight.data, dweight.add, reals(x), grad_of(y), reals(weight), work);
    if (!x->requires_grad) return;
    real *dx = op_scratch(y->op->function, x->numel, sizeof *dx);
    work = op_scratch(y->op->function, k_conv2d_work(a), sizeof *work);
    k_conv2d(a, dx, grad_of(y), reals(weight), NULL, work);
    grad_add(x, dx);
}

/* ---- one dimension ------------------------------------------------------------------------------------------------ */

Tensor *ag_conv1d(Tensor *x, Tensor *weight, Tensor *bias, int stride, int padding)
{
    check_tensor(__func__, "x", x, AG_REAL);
    check_tensor(__func__, "weight", weight, AG_REAL);
    const int64_t *dx = x->shape.dim, *dw = weight->shape.dim;
    if (x->shape.ndim != 3 || weight->shape.ndim != 3 || dx[1] != dw[1])
        ag_usage_error(__func__, "x %s and weight %s do not fit: expected (B,C,T) and (O,C,k)", shape_text(x->shape),
                       shape_text(weight->shape));
    if (bias) check_vector(__func__, "bias", bias, dw[0], "(O)", "weight", weight);
    if (stride < 1 || padding < 0)
        ag_usage_error(__func__, "stride %d and padding %d, expected 1 or more and 0 or more", stride, padding);
    if (dw[2] < 1 || windows(dx[2], dw[2], stride, padding) < 1)
        ag_usage_error(__func__, "weight %s is empty, or longer than x %s with padding %d", shape_text(weight->shape),
                       shape_text(x->shape), padding);
    if (padding != 0) x = ag_pad(x, -1, padding, padding);
    Tensor *y = ag_conv2d(ag_unsqueeze(x, 2), ag_unsqueeze(weight, 2), bias, stride, 0);
    return ag_squeeze(y, 2);
}

/* ---- resizing ------------------------------------------------------------------------------------------------------ */

/* x with n items along dim. */
static Tensor *resized(const char *what, Tensor *x, int dim, int64_t n, bool nearest)
{
    int64_t size = x->shape.dim[dim];
    Tensor *low = tensor_new(what, &SHAPE(n), AG_INT), *high = tensor_new(what, &SHAPE(n), AG_INT);
    Tensor *part = tensor_new(what, dim == 3 ? &SHAPE(n) : &SHAPE(n, 1), AG_REAL);
    for (int64_t i = 0; i < n; i++) {
        double place = ((double)i + 0.5) * (double)size / (double)n - 0.5;
        if (place < 0) place = 0;
        ints(low)[i] = (int32_t)(nearest ? i * size / n : (int64_t)place);
        ints(high)[i] = ints(low)[i] + (ints(low)[i] < size - 1);
        reals(part)[i] = (real)(place - (double)ints(low)[i]);
    }
    Tensor *y = ag_index_select(x, dim, low);
    if (nearest) return y;
    return ag_add(y, ag_mul(part, ag_sub(ag_index_select(x, dim, high), y)));
}

Tensor *ag_interpolate2d(Tensor *x, int64_t height, int64_t width, AgInterpolation mode)
{
    check_tensor(__func__, "x", x, AG_REAL);
    if (mode != AG_NEAREST && mode != AG_BILINEAR) ag_usage_error(__func__, "%d is not an AgInterpolation", (int)mode);
    if (x->shape.ndim != 4 || x->shape.dim[2] < 1 || x->shape.dim[3] < 1 || height < 1 || width < 1)
        ag_usage_error(__func__, "x %s to height %lld and width %lld: expected (B,C,H,W), and 1 or more", shape_text(x->shape),
                       (long long)height, (long long)width);
    x = resized(__func__, x, 2, height, mode == AG_NEAREST);
    return resized(__func__, x, 3, width, mode == AG_NEAREST);
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

static Tensor *pool2d(const char *what, const Op *op, Tensor *x, int size, int stride, int padding)
{
    check_tensor(what, "x", x, AG_REAL);
    const int64_t *d = x->shape.dim;
    if (x->shape.ndim != 4) ag_usage_error(what, "x %s, expected (B,C,H,W)", shape_text(x->shape));
    if (size < 1 || stride < 1 || padding < 0 || padding > size / 2)
        ag_usage_error(what, "size %d, stride %d and padding %d: expected 1 or more, 1 or more, and 0 to size / 2", size,
                       stride, padding);
    KPool p = { d[0] * d[1], d[2], d[3], windows(d[2], size, stride, padding), windows(d[3], size, stride, padding), size,
                stride, padding, op == &op_table[OP_max_pool2d] };
    if (p.oh < 1 || p.ow < 1 || p.h < 1 || p.w < 1 || p.h > INT32_MAX / p.w)
        ag_usage_error(what, "windows of size %d, padding %d: x %s is too small or too large", size, padding,
                       shape_text(x->shape));
    Tensor *y = op_new(op, &SHAPE(d[0], d[1], p.oh, p.ow), x, NULL, NULL);
    if (y->op) *(KPool *)op_args(y, sizeof p) = p;
    int32_t *index = p.max && y->op ? (int32_t *)(void *)op_save(y, y->numel) : NULL;
    k_pool2d(&p, reals(y), index, reals(x));
    return op_done(y);
}

void pool2d_backward(Tensor *y)
{
    k_pool2d_backward(y->args, grad_to_add(y->in[0]), grad_of(y), y->saved ? buffer_data(y->saved) : NULL);
}

Tensor *ag_max_pool2d(Tensor *x, int size, int stride, int padding)
{
    return pool2d(__func__, &op_table[OP_max_pool2d], x, size, stride, padding);
}

Tensor *ag_mean_pool2d(Tensor *x, int size, int stride, int padding)
{
    return pool2d(__func__, &op_table[OP_mean_pool2d], x, size, stride, padding);
}
