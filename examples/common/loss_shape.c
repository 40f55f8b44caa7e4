/* loss_shape.c: products of the Hessian and a vector, and planes through the weights. */
#include "loss_shape.h"

#include <math.h>

#include "kaeru/autograd.h"
#include "kaeru/higher.h"

double tensors_product(Tensor *const *a, Tensor *const *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += tensor_item(ag_sum(ag_mul(a[i], b[i])));
    }
    return sum;
}

void hessian_times(Tensor *loss, Tensor *const *p, Tensor *const *v, int n, Tensor **hv)
{
    ag_grad(ag_jvp(loss, p, v, n), p, n, hv);
}

double largest_curvature(Tensor *loss, Tensor *const *p, Tensor *const *v, int n, int rounds)
{
    Tensor **hv = ag_alloc((size_t)n, sizeof *hv);
    double curvature = 0;
    for (int round = 0; round < rounds; round++) {
        AgScope scope = ag_begin(AG_RECORD);
        hessian_times(loss, p, v, n, hv);
        double length = sqrt(tensors_product(hv, hv, n));
        curvature = tensors_product(v, hv, n);
        for (int i = 0; i < n; i++) {
            tensor_copy(v[i], ag_scale(hv[i], 1 / length));
        }
        ag_end(scope);
    }
    ag_free(hv);
    return curvature;
}

/* ---- a plane ------------------------------------------------------------------------------------ */

/* A random direction for one weight. */
static void fill_direction(Tensor *direction, Tensor *p)
{
    if (tensor_ndim(p) < 2) {
        ag_fill(direction, 0);
        return;
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    ag_fill_normal(direction, 0, 1);
    Tensor *own = ag_sum_dims(ag_mul(direction, direction), DIMS(-1), true);
    Tensor *wanted = ag_sum_dims(ag_mul(p, p), DIMS(-1), true);
    tensor_copy(direction, ag_mul(direction, ag_sqrt(ag_div(wanted, own))));
    ag_end(scope);
}

Slice *slice_new(void *model, uint64_t seed)
{
    NnParameters *all = nn_parameters(model);
    Slice *s = ag_alloc(1, sizeof *s);
    s->n = all->n;
    Tensor ***lists[] = { &s->p, &s->start, &s->direction[0], &s->direction[1] };
    for (int k = 0; k < 4; k++) {
        *lists[k] = ag_alloc_in(s, (size_t)s->n, sizeof **lists[k]);
    }
    ag_seed(seed);
    for (int i = 0; i < s->n; i++) {
        s->p[i] = all->item[i].tensor;
        for (int k = 1; k < 4; k++) {
            (*lists[k])[i] = tensor_new_owned(tensor_shape(s->p[i]), AG_REAL);
        }
        tensor_copy(s->start[i], s->p[i]);
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < s->n; i++) {
            fill_direction(s->direction[k][i], s->p[i]);
        }
    }
    ag_free(all);
    return s;
}

void slice_free(Slice *s)
{
    for (int i = 0; s && i < s->n; i++) {
        tensor_free(s->start[i]);
        tensor_free(s->direction[0][i]);
        tensor_free(s->direction[1][i]);
    }
    ag_free(s);
}

void slice_move(Slice *s, double a, double b)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < s->n; i++) {
        Tensor *move = ag_add(ag_scale(s->direction[0][i], a), ag_scale(s->direction[1][i], b));
        tensor_copy(s->p[i], ag_add(s->start[i], move));
    }
    ag_end(scope);
}

double slice_curvature(Slice *s, Tensor *loss)
{
    /* Along x d0 + y d1 it is the ratio of two quadratic forms: with H, and of the length. */
    double h[2][2], g[2][2];
    AgScope scope = ag_begin(AG_RECORD);
    Tensor **hv = ag_alloc((size_t)s->n, sizeof *hv);
    for (int i = 0; i < 2; i++) {
        hessian_times(loss, s->p, s->direction[i], s->n, hv);
        for (int k = 0; k < 2; k++) {
            h[i][k] = tensors_product(s->direction[k], hv, s->n);
            g[i][k] = tensors_product(s->direction[k], s->direction[i], s->n);
        }
    }
    ag_free(hv);
    ag_end(scope);
    /* In the basis of d0 / |d0| and what of d1 is orthogonal to it, H is [[a, b], [b, c]]. */
    double share = g[0][1] / g[0][0], rest = g[1][1] - share * g[0][1];
    double a = h[0][0] / g[0][0], b = (h[0][1] - share * h[0][0]) / sqrt(g[0][0] * rest);
    double c = (h[1][1] - 2 * share * h[0][1] + share * share * h[0][0]) / rest;
    return (a + c) / 2 + sqrt((a - c) * (a - c) / 4 + b * b);
}
