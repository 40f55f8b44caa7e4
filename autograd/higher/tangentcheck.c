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

/* Two sums that should be equal, and the sums of the sizes of their terms. */
typedef struct { double tangent, backward, tangent_size, backward_size; } Sides;

/* Compares the sides. `input` names the input that moved. */
static bool are_equal(const TangentCheck *c, int order, const char *input, Sides s)
{
    double size = fmax(fmax(s.tangent_size, s.backward_size), least_size);
    if (fabs(s.tangent - s.backward) / size < most_error) return true;
    if (c->report) {
        fprintf(c->report, "order %d, %s: %.9g by tangent rules, %.9g by backward rules\n", order,
                input, s.tangent, s.backward);
    }
    return false;
}

/* Checks the derivative of y when all inputs move at once: a rule may take one input's for
 * another's where both move. u y has the gradients. */
static bool is_right_for_all(const TangentCheck *c, int order, Tensor *y, const Tensor *u,
                             Tensor *const *gradient, Tensor *const *v)
{
    Sides s = { .backward = 0 };
    s.tangent = dot(ag_jvp(y, c->in, v, c->n), u, &s.tangent_size);
    for (int i = 0; i < c->n; i++) {
        double size;
        s.backward += dot(gradient[i], v[i], &size);
        s.backward_size += size;
    }
    return are_equal(c, order, "all inputs", s);
}

/* Checks the derivatives of y for each input and for all, and then those of the last derivative
 * that depends on the inputs. */
static bool derivatives_agree(const TangentCheck *c, Tensor *y, int order)
{
    bool right = true;
    Tensor *u = random_like(y), *next = NULL;
    Tensor **gradient = scope_alloc(c->what, (size_t)c->n * sizeof *gradient);
    Tensor **v = scope_alloc(c->what, (size_t)c->n * sizeof *v);
    ag_grad(ag_sum(ag_mul(y, u)), c->in, c->n, gradient);
    for (int i = 0; i < c->n; i++) {
        v[i] = random_like(c->in[i]);
        Tensor *tangent = ag_jvp(y, &c->in[i], &v[i], 1);
        Sides s;
        s.tangent = dot(tangent, u, &s.tangent_size);
        s.backward = dot(gradient[i], v[i], &s.backward_size);
        char input[100];
        snprintf(input, sizeof input, "input %d %s", i, shape_text(c->in[i]->shape));
        if (!are_equal(c, order, input, s)) {
            right = false;
        } else if (tangent->requires_grad) {
            next = tangent;
        }
    }
    if (c->n > 1 && right) {
        right = is_right_for_all(c, order, y, u, gradient, v);
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
