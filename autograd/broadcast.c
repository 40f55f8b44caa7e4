/* broadcast.c: NumPy's rules for operands of different shapes.
 *
 * Shapes are compared from the last dimension; sizes fit if they are equal or one is 1, and a missing dimension counts
 * as 1. A repeated dimension is walked with stride 0. What is repeated on the way forward is summed on the way back. */
#include "internal.h"
#include "kernels.h"

#include <string.h>

/* Size of dimension i (of ndim) in a shape that may have fewer. */
static int64_t size_in(const AgShape *s, int i, int ndim)
{
    int own = i - (ndim - s->ndim);
    return own < 0 ? 1 : s->dim[own];
}

bool broadcast(const AgShape *a, const AgShape *b, AgShape *y)
{
    *y = (AgShape){ a->ndim > b->ndim ? a->ndim : b->ndim, { 0 } };
    for (int i = 0; i < y->ndim; i++) {
        int64_t m = size_in(a, i, y->ndim), n = size_in(b, i, y->ndim);
        if (m != n && m != 1 && n != 1) return false;
        y->dim[i] = m == 1 ? n : m;
    }
    return true;
}

bool broadcasts_to(const AgShape *from, const AgShape *to)
{
    AgShape both;
    return broadcast(from, to, &both) && ag_shape_equal(both, *to);
}

AgShape broadcast_shape(AgSite at, const char *what, const Tensor *a, const Tensor *b)
{
    AgShape y;
    char ta[AG_SHAPE_TEXT], tb[AG_SHAPE_TEXT];
    if (!broadcast(&a->shape, &b->shape, &y))
        ag_usage_error(at, what, "shapes %s and %s do not fit: sizes must be equal or 1, counted from the last dimension",
                       ag_shape_text(a->shape, ta), ag_shape_text(b->shape, tb));
    return y;
}

void check_mask(AgSite at, const char *what, const Tensor *mask, const char *target, const AgShape *shape)
{
    char from[AG_SHAPE_TEXT], to[AG_SHAPE_TEXT];
    check_tensor(at, what, "mask", mask, AG_BOOL);
    if (!broadcasts_to(&mask->shape, shape))
        ag_usage_error(at, what, "mask %s does not broadcast to %s %s", ag_shape_text(mask->shape, from), target,
                       ag_shape_text(*shape, to));
}

void broadcast_strides(const AgShape *t, const AgShape *to, int64_t stride[AG_MAX_DIMS])
{
    int64_t step = 1;
    for (int i = to->ndim - 1; i >= 0; i--) {
        int64_t size = size_in(t, i, to->ndim);
        stride[i] = size == 1 ? 0 : step;
        step *= size;
    }
}

Along shape_along(const AgShape *shape, int first, int last)
{
    Along a = { 1, 1, 1 };
    for (int i = 0; i < shape->ndim; i++) {
        if (i < first) a.outer *= shape->dim[i];
        else if (i <= last) a.n *= shape->dim[i];
        else a.inner *= shape->dim[i];
    }
    return a;
}

KWalk walk_over(const AgShape *shape, const AgShape *a, const AgShape *b)
{
    KWalk w;                    /* only the first ndim entries are set: this is part of every elementwise operation */
    w.ndim = shape->ndim;
    broadcast_strides(a, shape, w.a);
    broadcast_strides(b, shape, w.b);
    for (int i = 0; i < w.ndim; i++) w.dim[i] = shape->dim[i];
    return w;
}

/* Sums `from` down to x's shape, which has fewer items, one run of repeated dimensions after another, from the last to the
 * first. */
void grad_sum_to(Tensor *x, const real *dy, const AgShape *from)
{
    Grad g = grad_into(x);
    if (!g.data) return;
    AgShape now = *from;                    /* dy's shape so far */
    for (int last = now.ndim - 1;;) {
        if (now.dim[last] == size_in(&x->shape, last, now.ndim)) {
            last--;
            continue;
        }
        int first = last;
        while (first > 0 && now.dim[first - 1] != size_in(&x->shape, first - 1, now.ndim)) first--;
        bool more = false;
        for (int i = 0; i < first; i++) more = more || now.dim[i] != size_in(&x->shape, i, now.ndim);
        Along a = shape_along(&now, first, last);
        real *sums = more ? scratch_new(x->site, "backward", a.outer * a.inner, sizeof(real)) : g.data;
        k_sum(a.outer, a.n, a.inner, sums, dy, 1, more ? false : g.add);
        if (!more) return;
        dy = sums;
        for (int i = first; i <= last; i++) now.dim[i] = 1;
        last = first - 1;
    }
}

Grad grad_broadcast(Tensor *x, const Tensor *y)
{
    if (x->numel == y->numel) return grad_into(x);
    return (Grad){ scratch_new(y->site, y->op->name, y->numel, sizeof(real)), false };
}

void grad_broadcast_done(Tensor *x, const Tensor *y, Grad g)
{
    if (x->numel != y->numel) grad_sum_to(x, g.data, &y->shape);
}

void grad_pass_broadcast(Tensor *x, Tensor *y)
{
    if (x->numel == y->numel) grad_pass(x, y);
    else grad_sum_to(x, grad_of(y), &y->shape);
}
