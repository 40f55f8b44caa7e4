/* inplace.c: updates of leaves in place, outside any graph: what optimizers do. */
#include "internal.h"
#include "kernels.h"

#include <math.h>

static void check_finite_number(AgSite at, const char *what, const char *name, double x)
{
    if (!isfinite(x)) ag_usage_error(at, what, "%s is %g, expected a finite number", name, x);
}

/* The gradient of leaf w; NULL if it has none. */
static real *gradient(AgSite at, const char *what, const Tensor *w)
{
    check_tensor(at, what, "w", w, AG_REAL);
    check_leaf(at, what, "w", w);
    return w->grad ? buffer_data(w->grad) : NULL;
}

/* The items first..first+n-1 of leaf w, to be written. */
static real *part_of(AgSite at, const char *what, Tensor *w, int64_t first, int64_t n)
{
    real *values = values_to_write(at, what, "w", w, AG_REAL);
    if (first < 0 || n < 0 || first > w->numel - n)
        ag_usage_error(at, what, "%lld items from %lld on, of a tensor with %lld", (long long)n, (long long)first,
                       (long long)w->numel);
    return values + first;
}

static real *state_of(AgSite at, const char *what, const char *argument, const Tensor *w, Tensor *state)
{
    real *values = values_to_write(at, what, argument, state, AG_REAL);
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    if (!ag_shape_equal(w->shape, state->shape))
        ag_usage_error(at, what, "%s %s does not fit w %s", argument, ag_shape_text(state->shape, a),
                       ag_shape_text(w->shape, b));
    return values;
}

void ag_adam_update_at(AgSite at, Tensor *w, Tensor *exp_avg, Tensor *exp_avg_sq, const AgAdam *o, int64_t step,
                       double grad_scale)
{
    const char *what = "ag_adam_update";
    ag_check_pointer_at(at, what, "o", o);
    check_finite_number(at, what, "grad_scale", grad_scale);
    real *grad = gradient(at, what, w);
    real *avg = state_of(at, what, "exp_avg", w, exp_avg), *avg_sq = state_of(at, what, "exp_avg_sq", w, exp_avg_sq);
    if (step < 1) ag_usage_error(at, what, "step is %lld, expected 1 or more", (long long)step);
    if (!grad) return;
    k_adam(w->numel, values_to_write(at, what, "w", w, AG_REAL), avg, avg_sq, grad, o, step, grad_scale);
}

void ag_adam_update_part_at(AgSite at, Tensor *w, int64_t first, int64_t n, const real *grad, real *exp_avg, real *exp_avg_sq,
                            const AgAdam *o, int64_t step, double grad_scale)
{
    const char *what = "ag_adam_update_part";
    ag_check_pointer_at(at, what, "o", o);
    check_finite_number(at, what, "grad_scale", grad_scale);
    if (step < 1) ag_usage_error(at, what, "step is %lld, expected 1 or more", (long long)step);
    k_adam(n, part_of(at, what, w, first, n), exp_avg, exp_avg_sq, grad, o, step, grad_scale);
}

void ag_sgd_update_part_at(AgSite at, Tensor *w, int64_t first, int64_t n, const real *grad, real *momentum, const AgSgd *o,
                           bool is_first, double grad_scale)
{
    const char *what = "ag_sgd_update_part";
    ag_check_pointer_at(at, what, "o", o);
    check_finite_number(at, what, "grad_scale", grad_scale);
    k_sgd(n, part_of(at, what, w, first, n), momentum, grad, o, is_first, grad_scale);
}

double ag_sum_squares(const real *x, int64_t n)
{
    return k_sum_squares(n, x);
}

void ag_add_to(real *y, const real *x, int64_t n)
{
    k_axpy(n, y, 1, x);
}

void ag_sgd_update_at(AgSite at, Tensor *w, Tensor *momentum, const AgSgd *o, bool first, double grad_scale)
{
    const char *what = "ag_sgd_update";
    ag_check_pointer_at(at, what, "o", o);
    check_finite_number(at, what, "grad_scale", grad_scale);
    real *grad = gradient(at, what, w), *state = momentum ? state_of(at, what, "momentum", w, momentum) : NULL;
    if (!grad) return;
    k_sgd(w->numel, values_to_write(at, what, "w", w, AG_REAL), state, grad, o, first, grad_scale);
}

double ag_grad_sum_squares_at(AgSite at, Tensor *w)
{
    check_alive(at, "ag_grad_sum_squares", "w", w);
    const real *grad = tensor_grad_data_at(at, w);                     /* of leaves and retained tensors */
    return grad ? k_sum_squares(w->numel, grad) : 0;
}

void ag_grad_scale_at(AgSite at, Tensor *w, double factor)
{
    check_finite_number(at, "ag_grad_scale", "factor", factor);
    real *grad = gradient(at, "ag_grad_scale", w);
    if (grad) k_unary(K_SCALE, w->numel, grad, grad, factor, 0);
}

void ag_set_threads_at(AgSite at, int n)
{
    if (n < 0 || n > 256) ag_usage_error(at, "ag_set_threads", "%d threads, expected 1 to 256, or 0 for the default", n);
    k_set_threads(n);
}

int ag_threads(void)
{
    return k_threads();
}

double ag_math_exp(double x)
{
    return k_exp(x);
}

double ag_math_log(double x)
{
    return k_log(x);
}

double ag_math_sin(double x)
{
    return k_sin(x);
}

double ag_math_cos(double x)
{
    return k_cos(x);
}

double ag_math_pow(double x, double y)
{
    return k_pow(x, y);
}
