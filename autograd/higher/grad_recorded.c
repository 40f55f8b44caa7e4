/* grad_recorded.c: ag_grad_recorded, a backward pass that is a part of the graph.
 *
 * An operation item by item has a diagonal Jacobian, which is its own transpose. So the gradient of
 * an input is the tangent of the result along dy: ordinary operations, most of them one or two. Any
 * other operation gets one node with its gradients (gradient_nodes.h). */
#include "between.h"
#include "checks.h"
#include "gradient_nodes.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/higher.h"
#include "op.h"
#include "scope.h"
#include "shape.h"
#include "tape.h"

/* Returns whether y is computed item by item, with few operations for its tangent. */
static bool is_item_by_item(const Tensor *y)
{
    const Op *op = y->op;
    if (op->backward == unary_backward) {
        return op->kernel != K_GELU && op->kernel != K_GELU_ERF && op->kernel != K_SILU;
    }
    return op->backward == binary_backward || op->backward == dropout_backward ||
           op->backward == masked_fill_backward || op->backward == where_backward;
}

/* Returns x summed to the shape from which it was broadcast. */
static Tensor *summed_to(Tensor *x, AgShape shape)
{
    AgDims dims = { 0, { 0 } };
    for (int i = 0; i < x->shape.ndim; i++) {
        if (x->shape.dim[i] != size_in(&shape, i, x->shape.ndim)) {
            dims.dim[dims.n++] = i;
        }
    }
    if (dims.n > 0) {
        x = ag_sum_dims(x, dims, true);
    }
    return ag_shape_equal(x->shape, shape) ? x : ag_reshape(x, shape);
}

/* Does what gradient_parts does, for an operation item by item. */
static void item_parts(const char *what, Tensor *y, Tensor *dy, const bool *wanted, Tensor **part)
{
    for (int i = 0; i < y->n_in; i++) {
        if (!wanted[i]) continue;
        Tensor **dx = scope_alloc(what, (size_t)y->n_in * sizeof *dx);
        dx[i] = dy;
        Tensor *tangent = tangent_of(y, dx);
        part[i] = tangent ? summed_to(tangent, y->in[i]->shape) : tensor_zeros(y->in[i]->shape);
    }
}

/* Records the gradients of an operation's inputs, and adds them to those from newer operations. */
static void pass_operation(Between *w, const BetweenItem *item)
{
    Tensor *y = item->tensor;
    bool *wanted = scope_alloc(w->what, (size_t)y->n_in * sizeof *wanted), any = false;
    Tensor **part = scope_alloc(w->what, (size_t)y->n_in * sizeof *part);
    for (int i = 0; i < y->n_in; i++) {
        const BetweenItem *x = between_item(w, y->in[i]);
        wanted[i] = x && x->depends;
        any = any || wanted[i];
    }
    if (!any || !item->value) return;
    AgPrecision former = ag_precision((AgPrecision)y->precision);
    if (is_item_by_item(y)) {
        item_parts(w->what, y, item->value, wanted, part);
    } else {
        gradient_parts(w->what, y, item->value, wanted, part);
    }
    ag_precision(former);
    for (int i = 0; i < y->n_in; i++) {
        if (wanted[i]) {
            BetweenItem *x = between_item(w, y->in[i]);
            x->value = sum_of(x->value, part[i]);
        }
    }
}

void record_gradients(const char *what, Tensor *y, Tensor *dy, Tensor *const *in, int n,
                      Tensor **out)
{
    Between w = between_begin(what, y, in, n);
    between_check(&w);
    between_item(&w, y)->value = dy;
    for (uint32_t k = 0; k < w.count; k++) {
        pass_operation(&w, between_operation(&w, k));
    }
    for (int i = 0; i < n; i++) {
        out[i] = between_item(&w, in[i])->value;
    }
    between_end(&w);
}

void ag_grad_recorded(Tensor *y, Tensor *const *in, int n, Tensor **out)
{
    AG_LAYER;
    check_alive(__func__, "y", y);
    check_derivative(__func__, y, in, n);
    check_loss(__func__, y, false);
    ag_check_pointer(__func__, "out", out);
    record_gradients(__func__, y, tensor_ones(y->shape), in, n, out);
}
