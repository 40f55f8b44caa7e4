/* inplace.c: what optimizers do to leaves, in place and outside any graph; and the small functions that other floors get
 * from the kernels. */
#include "tensor.h"

static real *gradient(Site at, const char *what, const Tensor *w)
{
    check_tensor(at, what, "w", w, AG_REAL);
    check_leaf(at, what, "w", w);
    return w->grad ? buffer_data(w->grad) : NULL;
}

static real *state_of(Site at, const char *what, const char *argument, const Tensor *w, const Tensor *state)
{
    check_tensor(at, what, argument, state, AG_REAL);
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    if (!shape_equal(w->shape, state->shape))
        ag_usage_error(at, what, "%s %s does not fit w %s", argument, shape_text(state->shape, a), shape_text(w->shape, b));
    return reals(state);
}

/* x^n by squaring: whole powers of beta, the same on every machine. */
static double whole_power(double x, int64_t n)
{
    double y = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

void ag_adam_update_at(Site at, Tensor *w, Tensor *m, Tensor *v, const AgAdam *how)
{
    const char *what = "ag_adam_update";
    real *grad = gradient(at, what, w);
    real *first = state_of(at, what, "m", w, m), *second = state_of(at, what, "v", w, v);
    if (how->step < 1) ag_usage_error(at, what, "step is %lld, expected 1 or more", (long long)how->step);
    if (!grad) return;
    KAdam k = { .lr = how->lr, .b1 = how->beta1, .b2 = how->beta2, .eps = how->eps,
                .c1 = 1 - whole_power(how->beta1, how->step), .c2 = 1 - whole_power(how->beta2, how->step),
                .decay = how->weight_decay, .grad_scale = how->grad_scale, .decoupled = how->decoupled };
    k_adam(w->numel, reals(w), first, second, grad, &k);
}

void ag_sgd_update_at(Site at, Tensor *w, Tensor *velocity, const AgSgd *how)
{
    const char *what = "ag_sgd_update";
    real *grad = gradient(at, what, w), *state = velocity ? state_of(at, what, "velocity", w, velocity) : NULL;
    if (!grad) return;
    KSgd k = { .lr = how->lr, .momentum = how->momentum, .decay = how->weight_decay, .grad_scale = how->grad_scale,
               .nesterov = how->nesterov, .first = how->first };
    k_sgd(w->numel, reals(w), state, grad, &k);
}

double ag_grad_sum_squares_at(Site at, Tensor *w)
{
    check_alive(at, "ag_grad_sum_squares", "w", w);
    const real *grad = tensor_grad_data(w);                     /* of leaves and of what ag_retain marked */
    return grad ? k_sum_squares(w->numel, grad) : 0;
}

void ag_grad_scale_at(Site at, Tensor *w, double factor)
{
    real *grad = gradient(at, "ag_grad_scale", w);
    if (grad) k_unary(K_SCALE, w->numel, grad, grad, factor, 0);
}

void ag_set_threads(int n)
{
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
