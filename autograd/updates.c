/* updates.c: updates the values of leaves in place, outside any graph, as optimizers do.
 *
 * The functions check their arguments, count the write and call a kernel. By the count, backward
 * finds a value that was changed after an operation had read it. nn/adam.c calls the functions. */
#include "checks.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "kernels.h"
#include "tensor_struct.h"

/* Checks the arguments of an update of the items first..first+n-1 of leaf w. Returns the first of
 * these items, to be written. */
static real *items_to_write(const char *what, Tensor *w, int64_t first, int64_t n, const real *grad,
                            double grad_scale)
{
    check_number(what, "grad_scale", grad_scale, true, "a finite number");
    if (n > 0) {
        ag_check_pointer(what, "grad", grad);
    }
    real *values = values_to_write(what, "w", w, AG_REAL);
    if (first < 0 || n < 0 || first > w->numel - n) {
        ag_usage_error(what, "%lld items from %lld on, of a tensor with %lld", (long long)n,
                       (long long)first, (long long)w->numel);
    }
    return values + first;
}

void ag_adam_update_part(Tensor *w, int64_t first, int64_t n, const real *grad, real *exp_avg,
                         real *exp_avg_sq, const AgAdam *o, int64_t step, double grad_scale)
{
    ag_check_pointer(__func__, "o", o);
    if (n > 0) {
        ag_check_pointer(__func__, "exp_avg", exp_avg);
        ag_check_pointer(__func__, "exp_avg_sq", exp_avg_sq);
    }
    if (step < 1) {
        ag_usage_error(__func__, "step is %lld, expected 1 or more", (long long)step);
    }
    real *items = items_to_write(__func__, w, first, n, grad, grad_scale);
    k_adam(n, items, exp_avg, exp_avg_sq, grad, o, step, grad_scale);
}

void ag_sgd_update_part(Tensor *w, int64_t first, int64_t n, const real *grad, real *momentum,
                        const AgSgd *o, bool is_first, double grad_scale)
{
    ag_check_pointer(__func__, "o", o);
    real *items = items_to_write(__func__, w, first, n, grad, grad_scale);
    k_sgd(n, items, momentum, grad, o, is_first, grad_scale);
}
