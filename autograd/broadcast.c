/* broadcast.c: NumPy's rules for operands of different shapes.
 *
 * Shapes are compared from the last dimension; sizes fit if they are equal or one is 1, and a missing dimension counts
 * as 1. A repeated dimension is walked with stride 0. What is repeated on the way forward is summed on the way back. */
#include "tensor.h"

#include <string.h>

/* Size of dimension i (of ndim) in a shape that may have fewer. */
static int64_t size_in(const Shape *s, int i, int ndim)
{
    int own = i - (ndim - s->ndim);
    return own < 0 ? 1 : s->dim[own];
}

Shape broadcast_shape(Site at, const char *what, const Tensor *a, const Tensor *b)
{
    Shape y = { a->shape.ndim > b->shape.ndim ? a->shape.ndim : b->shape.ndim, { 0 } };
    for (int i = 0; i < y.ndim; i++) {
        int64_t m = size_in(&a->shape, i, y.ndim), n = size_in(&b->shape, i, y.ndim);
        char ta[AG_SHAPE_TEXT], tb[AG_SHAPE_TEXT];
        if (m != n && m != 1 && n != 1)
            ag_misuse(at, what, "shapes %s and %s do not fit: %lld against %lld", shape_text(a->shape, ta),
                      shape_text(b->shape, tb), (long long)m, (long long)n);
        y.dim[i] = m == 1 ? n : m;
    }
    return y;
}

void broadcast_strides(const Shape *t, const Shape *to, int64_t stride[AG_MAX_DIMS])
{
    int64_t step = 1;
    for (int i = to->ndim - 1; i >= 0; i--) {
        int64_t size = size_in(t, i, to->ndim);
        stride[i] = size == 1 ? 0 : step;
        step *= size;
    }
}

KWalk walk_over(const Shape *shape, const Shape *a, const Shape *b)
{
    KWalk w = { .ndim = shape->ndim };
    memcpy(w.dim, shape->dim, sizeof w.dim);
    broadcast_strides(a, shape, w.a);
    broadcast_strides(b, shape, w.b);
    return w;
}

/* Sums `from` down to x's shape, one run of repeated dimensions after another, from the last to the first. */
void grad_sum_to(Tensor *x, const real *dy, const Shape *from)
{
    Grad g = grad_into(x);
    if (!g.data) return;
    int ndim = from->ndim;
    int64_t dim[AG_MAX_DIMS];
    memcpy(dim, from->dim, sizeof dim);
    Buffer *partial = NULL;
    for (int last = ndim - 1; last >= 0;) {
        if (dim[last] == size_in(&x->shape, last, ndim)) {
            last--;
            continue;
        }
        int first = last;
        while (first > 0 && dim[first - 1] != size_in(&x->shape, first - 1, ndim)) first--;
        int64_t outer = 1, n = 1, inner = 1;
        bool more = false;
        for (int i = 0; i < ndim; i++) {
            if (i < first) {
                outer *= dim[i];
                more = more || dim[i] != size_in(&x->shape, i, ndim);
            } else if (i <= last) n *= dim[i];
            else inner *= dim[i];
        }
        Buffer *sums = more ? buffer_new(x->site, "backward", (size_t)(outer * inner) * sizeof(real)) : NULL;
        k_sum(outer, n, inner, more ? buffer_data(sums) : g.data, dy, 1, more ? false : g.add);
        buffer_release(partial);
        partial = sums;
        if (!more) return;
        dy = buffer_data(sums);
        for (int i = first; i <= last; i++) dim[i] = 1;
        last = first - 1;
    }
    if (g.add) k_axpy(x->numel, g.data, 1, dy);
    else memcpy(g.data, dy, (size_t)x->numel * sizeof(real));
}
