/* grad_recorded.c: ag_grad_recorded, a backward pass that is a part of the graph: for each
 * operation between `in` and y one node with its gradients (gradient_nodes.h). */
#include "between.h"
#include "checks.h"
#include "gradient_nodes.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/higher.h"
#include "op.h"
#include "scope.h"
#include "tape.h"

/* Records the gradients of an operation's inputs, and adds them to those from newer operations. */
static void pass_operation(Walk *w, const WalkItem *item)
{
    Tensor *y = item->tensor;
    bool *wanted = scope_alloc(w->what, (size_t)y->n_in * sizeof *wanted), any = false;
    Tensor **part = scope_alloc(w->what, (size_t)y->n_in * sizeof *part);
    for (int i = 0; i < y->n_in; i++) {
        const WalkItem *x = walk_item(w, y->in[i]);
        wanted[i] = x && x->depends;
        any = any || wanted[i];
    }
    if (!any || !item->value) return;
    AgPrecision former = ag_precision((AgPrecision)y->precision);
    gradient_parts(w->what, y, item->value, wanted, part);
    ag_precision(former);
    for (int i = 0; i < y->n_in; i++) {
        if (wanted[i]) {
            WalkItem *x = walk_item(w, y->in[i]);
            x->value = sum_of(x->value, part[i]);
        }
    }
}

void record_gradients(const char *what, Tensor *y, Tensor *dy, Tensor *const *in, int n,
                      Tensor **out)
{
    Walk w = walk_begin(what, y, in, n);
    walk_check(&w);
    walk_item(&w, y)->value = dy;
    for (uint32_t k = 0; k < w.count; k++) {
        pass_operation(&w, walk_operation(&w, k));
    }
    for (int i = 0; i < n; i++) {
        out[i] = walk_item(&w, in[i])->value;
    }
    walk_end(&w);
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
