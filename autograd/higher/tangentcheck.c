/* tangentcheck.c: compares tangent rules with backward rules (ag_tangentcheck).
 *
 * They are two ways to the same derivative: for a function with the Jacobian J, u (J v) = (J^T u) v
 * for all u and v. The check takes random ones. It has no step size, so it finds a factor of 1.001,
 * where a check by differences cannot. */
#include <math.h>

#include "between.h"
#include "kaeru/autograd.h"
#include "kaeru/higher.h"
#include "scope.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* An error is relative to the sum of the terms, but to least_size if they are smaller: the
 * derivatives of x / x are rounding errors alone. */
#ifdef KAERU_DOUBLE
static const double most_error = 1e-9, least_size = 1e-4;
#else
static const double most_error = 1e-3, least_size = 1e-1;
#endif

enum { MAX_ORDERS = 8 };        /* each takes some times as long as the one before */

typedef struct {
    const char *what;
    Tensor *const *in;
    int n, orders;
    FILE *report;
} TangentCheck;

static Tensor *random_like(const Tensor *t)
{
    return tensor_normal(t->shape, 0, 1);
}

/* Returns the sum of a b, and sets *size to that of |a b|. NULL stands for zeros. */
static double dot(const Tensor *a, const Tensor *b, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t i = 0; a && b && i < a->numel; i++) {
        double product = (double)reals(a)[i] * (double)reals(b)[i];
        sum += product;
        *size += fabs(product);
    }
    return sum;
}

/* Checks the derivative `tangent` of y along v, where u y has the gradient for in[i]. */
static bool is_right(const TangentCheck *c, int order, int i, const Tensor *tangent,
                     const Tensor *u, const Tensor *gradient, const Tensor *v)
{
    double size_left, size_right;
    double left = dot(tangent, u, &size_left), right = dot(gradient, v, &size_right);
    double error = fabs(left - right) / fmax(fmax(size_left, size_right), least_size);
    if (error < most_error) return true;
    if (c->report) {
        fprintf(c->report, "order %d, input %d %s: %.9g by tangent rules, %.9g by backward rules\n",
                order, i, shape_text(c->in[i]->shape), left, right);
    }
    return false;
}

/* Checks the derivatives of y for each input, and then those of the last derivative that depends on
 * the inputs. */
static bool derivatives_agree(const TangentCheck *c, Tensor *y, int order)
{
    bool right = true;
    Tensor *u = random_like(y), *next = NULL;
    Tensor **gradient = scope_alloc(c->what, (size_t)c->n * sizeof *gradient);
    ag_grad(ag_sum(ag_mul(y, u)), c->in, c->n, gradient);
    for (int i = 0; i < c->n; i++) {
        Tensor *v = random_like(c->in[i]), *tangent = ag_jvp(y, &c->in[i], &v, 1);
        if (!is_right(c, order, i, tangent, u, gradient[i], v)) {
            right = false;
        } else if (tangent->requires_grad) {
            next = tangent;
        }
    }
    if (!next || order == c->orders) return right;
    return derivatives_agree(c, next, order + 1) && right;
}

bool ag_tangentcheck(Tensor *y, Tensor *const *in, int n, int orders, FILE *report)
{
    AG_LAYER;
    check_derivative(__func__, y, in, n);
    if (orders < 1 || orders > MAX_ORDERS) {
        ag_usage_error(__func__, "orders is %d, expected 1 to %d", orders, MAX_ORDERS);
    }
    AgRandom random = ag_random_state();
    AgScope scope = ag_begin(AG_RECORD);
    bool right = derivatives_agree(&(TangentCheck){ __func__, in, n, orders, report }, y, 1);
    ag_end(scope);
    ag_set_random_state(random);
    return right;
}
