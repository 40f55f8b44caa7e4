/* linear_loss_parts.c: the cross-entropy of a linear layer, whose logits do not all exist at a time. */
#include <string.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "linear_loss_parts.h"
#include "more_table.h"
#include "ops/linear.h"
#include "ops/loss.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

/* ---- linear_cross_entropy: y = cross_entropy(x W^T + b, target) ----------------------------------------------------
 * Few logits are kept, and backward overwrites them by their gradient. Of more, only a part exists at a time: forward computes
 * the gradients of each part at once, for dy = 1, and backward multiplies them by dy (Liger Kernel, Hsu et al. 2024). A part is
 * some rows. If dW is computed, their number is a multiple of K_GEMM_BLOCK, so its terms are added in the same order as in one
 * product (kernels.h). */

typedef struct { ClassArgs classes; int64_t kept; } LinearLossArgs;       /* kept: the number of logits; 0: gradients at once */

/* A part has at most so many logits, but at least one row, or K_GEMM_BLOCK rows for dW. GPT-2 124M with 1024 tokens (51 million
 * logits) on an AMD EPYC: 4 to 16 million differ by 2 % at most. The tests set a smaller number. */
int64_t most_logits = 1 << 23;

/* x (rows, in), or a copy with 0 in ignored rows if one of them has NaN or infinity. Their gradient is 0, and 0 times that
 * would be NaN in dW. */
static const real *without_ignored(const Tensor *y, const real *x, int64_t in, const ClassArgs *c, const int32_t *target)
{
    bool all_finite = true;
    for (int64_t i = 0; i < c->rows && all_finite; i++)
        all_finite = target[i] != c->ignore || k_all_finite(in, x + i * in);
    if (all_finite) return x;
    real *copy = op_scratch(function_of(y), c->rows * in, sizeof *copy);
    memcpy(copy, x, (size_t)(c->rows * in) * sizeof *copy);
    for (int64_t i = 0; i < c->rows; i++)
        if (target[i] == c->ignore) k_fill(in, copy + i * in, 0);
    return copy;
}

/* How many rows of n logits a part has: `rows` are cut into parts of about the same size, whole multiples of `unit`. */
static int64_t rows_of_part(int64_t rows, int64_t n, int64_t unit)
{
    int64_t most = most_logits / n > 0 ? most_logits / n : 1, parts = (rows + most - 1) / most;
    int64_t size = ((rows + parts - 1) / parts + unit - 1) / unit * unit;
    return size < rows ? size : rows;
}

Tensor *linear_loss(const char *what, Tensor *x, Tensor *weight, Tensor *bias, Tensor *target, AgReduce reduce, int ignore,
                    double smoothing)
{
    ClassArgs c = class_args(what, weight->shape.dim[0], target, ignore, reduce, smoothing);
    Tensor *in[] = { x, weight, bias, target };
    Tensor *y = op_new_n(&op_table[OP_linear_cross_entropy], &AG_SCALAR, in, 4);
    bool few = c.rows == 0 || c.n <= most_logits / c.rows, at_once = y->op && !few;
    int64_t kept = y->op && few ? c.rows * c.n : 0, unit = at_once && weight->requires_grad ? K_GEMM_BLOCK : 1;
    int64_t step = few ? c.rows : rows_of_part(c.rows, c.n, unit);
    if (y->op) *(LinearLossArgs *)op_args(y, sizeof(LinearLossArgs)) = (LinearLossArgs){ c, kept };
    real *logits = op_save(y, kept + 2 * c.rows), *top = logits + kept, *log_sum = top + c.rows;
    real *losses = op_scratch(what, c.rows, sizeof *losses);
    if (kept == 0) logits = op_scratch(what, step * c.n, sizeof *logits);
    Grad grad[3] = { { NULL, false } };                         /* of x, weight and bias */
    for (int i = 0; at_once && i < 3; i++) grad[i].data = op_save_gradient(y, i);
    LinearSize part = linear_size(y, x, weight);
    const real *all_x = y->op ? without_ignored(y, reals(x), part.in, &c, ints(target)) : reals(x);
    for (int64_t row = 0; row < c.rows; row += step) {
        const real *part_x = all_x + row * part.in;
        const int32_t *part_target = ints(target) + row;
        part.rows = c.rows - row < step ? c.rows - row : step;
        linear_product(&part, logits, NULL, part_x, weight_reals(weight), bias ? reals(bias) : NULL, K_IDENTITY);
        k_cross_entropy(part.rows, c.n, losses + row, top + row, log_sum + row, logits, part_target, ignore, smoothing);
        if (!at_once) continue;
        k_cross_entropy_backward(part.rows, c.n, logits, logits, top + row, log_sum + row, part_target, ignore, smoothing,
                                 1 / (real)c.divisor, false);
        Grad part_dx = { grad[0].data ? grad[0].data + row * part.in : NULL, false };
        linear_gradients(&part, part_dx, grad[1], grad[2], logits, part_x, weight_reals(weight));
        grad[1].add = grad[2].add = true;
    }
    *reals(y) = mean_loss(&c, losses);
    return op_done(y);
}

/* Gives input i the gradient that forward computed, times dy. In the last run of the rule, the memory is passed on, too. */
static void use_gradient(Tensor *y, int i, bool is_last)
{
    Tensor *x = y->in[i];
    if (!x || !x->requires_grad) return;
    Buffer *saved = y->saved_gradient[i];
    real dy = *grad_of(y);
    if (!saved) usage_error_of(y, y->op->name, "input %d requires a gradient, but did not when the loss was computed", i);
    if (is_last && !x->grad) {
        if (dy != 1) k_unary(K_SCALE, x->numel, buffer_data(saved), buffer_data(saved), (double)dy, 0);
        x->grad = saved;
        y->saved_gradient[i] = NULL;
        return;
    }
    Grad g = grad_into(x);
    if (g.add) k_axpy(x->numel, g.data, dy, buffer_data(saved));
    else k_unary(K_SCALE, x->numel, g.data, buffer_data(saved), (double)dy, 0);
}

void linear_cross_entropy_backward(Tensor *y)
{
    const LinearLossArgs *args = y->args;
    const ClassArgs *c = &args->classes;
    Tensor *x = y->in[0], *weight = y->in[1];
    /* the rule runs again if the graph is kept, if another loss uses y, or if a trace shares what is saved */
    bool is_last = !graph_kept() && y->release.users == 0 && y->saved->refs == 1;
    if (args->kept == 0 && c->rows * c->n > 0) {
        for (int i = 0; i < 3; i++) use_gradient(y, i, is_last);
        return;
    }
    real *logits = buffer_data(y->saved), *dlogits = logits;
    const real *top = logits + args->kept, *log_sum = top + c->rows;
    if (!is_last) dlogits = op_scratch(y->op->function, args->kept, sizeof *dlogits);
    LinearSize size = linear_size(y, x, weight);
    const real *used_x = without_ignored(y, reals(x), size.in, c, ints(y->in[3]));
    Grad dbias = grad_into(y->in[2]), dweight = grad_into(weight), dx = grad_into(x);   /* may fail: nothing has changed yet */
    k_cross_entropy_backward(c->rows, c->n, dlogits, logits, top, log_sum, ints(y->in[3]), c->ignore, c->smoothing,
                             *grad_of(y) / (real)c->divisor, false);
    linear_gradients(&size, dx, dweight, dbias, dlogits, used_x, weight_reals(weight));
}
