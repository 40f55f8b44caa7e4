/* measure.c: the gradient and the signal at each block, and the largest eigenvalue of the Hessian
 * of the loss. */
#include <math.h>
#include <string.h>

#include "common/loss_shape.h"
#include "kaeru/kaeru.h"
#include "lab.h"

/* ---- blocks ---------------------------------------------------------------------------------- */

static struct { bool measuring; int n; Tensor *at[MAX_BRANCHES + 1]; } noted;

Tensor *note(Tensor *x)
{
    if (!noted.measuring) {
        return x;
    }
    x = tensor_requires_grad(x) ? ag_retain(x) : tensor_set_requires_grad(ag_detach(x), true);
    noted.at[noted.n++] = x;
    return x;
}

void measure_blocks(Model *m, const Batch *b, Blocks *blocks)
{
    AgScope scope = ag_begin(AG_RECORD);
    noted.n = 0;
    noted.measuring = true;
    Tensor *loss = model_loss(m, b);
    noted.measuring = false;
    ag_backward(loss);
    blocks->n = noted.n - 1;
    for (int i = 0; i < noted.n; i++) {
        Tensor *x = noted.at[i];
        blocks->gradient[i] = sqrt(ag_grad_sum_squares(x));
        blocks->signal[i] = sqrt(tensor_item(ag_mean(ag_mul(x, x))));
    }
    nn_zero_grad(m);
    ag_end(scope);
}

/* ---- the largest eigenvalue ------------------------------------------------------------------ */

/* The trained parameters of a model, and how many numbers they have. */
typedef struct { Tensor **p; int n; int64_t numbers; } Weights;

static Weights weights_of(Model *m)
{
    NnParameters *all = nn_parameters(m);
    Weights w = { ag_alloc((size_t)all->n, sizeof *w.p), 0, 0 };
    for (int i = 0; i < all->n; i++) {
        w.p[w.n++] = all->item[i].tensor;
        w.numbers += tensor_numel(all->item[i].tensor);
    }
    ag_free(all);
    return w;
}

/* out = H v, with the Hessian H of the loss. */
static void hessian_product(Model *m, const Batch *b, const Weights *w, const double *v,
                            double *out)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor **direction = ag_alloc((size_t)w->n, sizeof *direction);
    Tensor **product = ag_alloc((size_t)w->n, sizeof *product);
    for (int i = 0; i < w->n; i++) {
        direction[i] = tensor_zeros(tensor_shape(w->p[i]));
        ag_real *to = tensor_mutable_data(direction[i]);
        for (int64_t k = 0; k < tensor_numel(w->p[i]); k++) {
            to[k] = (ag_real)*v++;
        }
    }
    hessian_times(model_loss(m, b), w->p, direction, w->n, product);
    for (int i = 0; i < w->n; i++) {
        for (int64_t k = 0; k < tensor_numel(w->p[i]); k++) {
            *out++ = product[i] ? (double)tensor_data(product[i])[k] : 0;
        }
    }
    ag_free(product);
    ag_free(direction);
    ag_end(scope);
}

static double inner(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void add(double *a, double factor, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] += factor * b[i];
    }
}

/* Divides a by its length, and returns the length. */
static double normalize(double *a, int64_t n)
{
    double length = sqrt(inner(a, a, n));
    for (int64_t i = 0; i < n; i++) {
        a[i] /= length;
    }
    return length;
}

/* Returns whether no eigenvalue of a symmetric tridiagonal matrix is above x: all pivots of the
 * matrix less x on its diagonal are negative. beside[i]: the item between i - 1 and i. */
static bool all_below(const double *diagonal, const double *beside, int n, double x)
{
    double pivot = diagonal[0] - x;
    for (int i = 1; i < n && pivot < 0; i++) {
        pivot = diagonal[i] - x - beside[i] * beside[i] / pivot;
    }
    return pivot < 0;
}

/* Returns its largest eigenvalue, by bisection. */
static double tridiagonal_largest(const double *diagonal, const double *beside, int n)
{
    double low = -INFINITY, high = -INFINITY;
    for (int i = 0; i < n; i++) {
        double around = (i > 0 ? fabs(beside[i]) : 0) + (i < n - 1 ? fabs(beside[i + 1]) : 0);
        low = fmax(low, diagonal[i]);
        high = fmax(high, diagonal[i] + around);
    }
    for (int round = 0; round < 60; round++) {
        double middle = low + (high - low) / 2;
        if (all_below(diagonal, beside, n, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

/* Lanczos' method: in the basis v, H v, H H v, ... made orthogonal, H is tridiagonal. Its largest
 * eigenvalue there approaches that of H from below. Power iteration needs many more products. */
double largest_eigenvalue(Model *m, const Batch *b, int products)
{
    Weights w = weights_of(m);
    double diagonal[MOST_PRODUCTS], beside[MOST_PRODUCTS], largest = NAN;
    double *basis = ag_alloc((size_t)((products + 1) * w.numbers), sizeof *basis);
    AgRandom state = ag_random_state();
    ag_seed(1);
    for (int64_t i = 0; i < w.numbers; i++) {
        basis[i] = ag_random_uniform() - 0.5;
    }
    ag_set_random_state(state);
    beside[0] = normalize(basis, w.numbers);
    for (int n = 0; n < products; n++) {
        double *v = basis + n * w.numbers, *next = v + w.numbers;
        hessian_product(m, b, &w, v, next);
        diagonal[n] = inner(v, next, w.numbers);
        if (!isfinite(diagonal[n])) {
            largest = NAN;
            break;
        }
        for (int k = n; k >= 0; k--) {
            const double *before = basis + k * w.numbers;
            add(next, -inner(before, next, w.numbers), before, w.numbers);
        }
        largest = tridiagonal_largest(diagonal, beside, n + 1);
        double length = normalize(next, w.numbers);
        if (!(length > 1e-6 * fabs(largest)) || n + 1 == products) break;
        beside[n + 1] = length;
    }
    ag_free(basis);
    ag_free(w.p);
    return largest;
}
