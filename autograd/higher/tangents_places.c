/* tangents_places.c: tangent rules of operations that move items or choose them. They are linear:
 * the tangent is the same operation of the tangents. */
#include "buffers.h"
#include "conv_blocks.h"
#include "gather.h"
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "scope.h"
#include "shape.h"
#include "tangents.h"
#include "tape.h"

/* ---- copies ---------------------------------------------------------------------------------- */

Tensor *reshape_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_reshape(dx[0], y->shape);
}

Tensor *permute_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *d = op_new_n(y->op, &y->shape, dx, 1);
    d->args = y->args;
    k_copy(y->args, reals(d), reals(dx[0]), sizeof(real));
    return op_done(d);
}

Tensor *slice_tangent(Tensor *y, Tensor *const *dx)
{
    return same_operation(y, dx);
}

Tensor *concat_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor **part = scope_alloc(y->op->function, (size_t)y->n_in * sizeof *part);
    for (int i = 0; i < y->n_in; i++) {
        part[i] = or_zeros(dx[i], y->in[i]->shape);
    }
    return ag_concat(part, y->n_in, *(const int *)y->args);
}

Tensor *expand_tangent(Tensor *y, Tensor *const *dx)
{
    return ag_expand(dx[0], y->shape);
}

Tensor *rope_tangent(Tensor *y, Tensor *const *dx)
{
    return same_operation(y, (Tensor *[]){ dx[0], y->in[1] });
}

/* ---- items by number ------------------------------------------------------------------------- */

Tensor *embedding_tangent(Tensor *y, Tensor *const *dx)
{
    return same_operation(y, (Tensor *[]){ dx[0], y->in[1] });
}

/* Returns x as (outer, n, inner). */
static Tensor *along(Tensor *x, Along a, int64_t n)
{
    return ag_reshape(x, SHAPE(a.outer, n, a.inner));
}

Tensor *index_select_tangent(Tensor *y, Tensor *const *dx)
{
    const Along *a = y->args;
    return ag_reshape(ag_index_select(along(dx[0], *a, a->n), 1, y->in[1]), y->shape);
}

Tensor *gather_tangent(Tensor *y, Tensor *const *dx)
{
    const GatherArgs *g = y->args;
    Tensor *ids = along(y->in[1], g->x, g->m);
    return ag_reshape(ag_gather(along(dx[0], g->x, g->x.n), 1, ids), y->shape);
}

Tensor *scatter_add_tangent(Tensor *y, Tensor *const *dx)
{
    const GatherArgs *g = y->args;
    if (!dx[2]) return dx[0];
    Tensor *x = along(or_zeros(dx[0], y->shape), g->x, g->x.n);
    Tensor *ids = along(y->in[1], g->x, g->m), *src = along(dx[2], g->x, g->m);
    return ag_reshape(ag_scatter_add(x, 1, ids, src), y->shape);
}

Tensor *index_add_tangent(Tensor *y, Tensor *const *dx)
{
    const Along *a = y->args;
    if (!dx[2]) return dx[0];
    Tensor *x = along(or_zeros(dx[0], y->shape), *a, a->n);
    Tensor *src = along(dx[2], *a, y->in[1]->numel);
    return ag_reshape(ag_index_add(x, 1, y->in[1], src), y->shape);
}

/* ---- items that forward has chosen ----------------------------------------------------------- */

/* Returns the items of x (outer, n, inner) at the places that are saved, of which there are m along
 * n. */
static Tensor *saved_items(const Tensor *y, Tensor *x, Along a, int64_t m)
{
    Tensor *ids = tensor_ints(SHAPE(a.outer, m, a.inner), buffer_data(y->saved));
    return ag_reshape(ag_gather(along(x, a, a.n), 1, ids), y->shape);
}

Tensor *max_dim_tangent(Tensor *y, Tensor *const *dx)
{
    return saved_items(y, dx[0], *(const Along *)y->args, 1);
}

Tensor *min_dim_tangent(Tensor *y, Tensor *const *dx)
{
    return max_dim_tangent(y, dx);
}

Tensor *scatter_max_tangent(Tensor *y, Tensor *const *dx)
{
    const GatherArgs *g = y->args;
    Tensor *place = tensor_ints(SHAPE(g->x.outer, g->x.n, g->x.inner), buffer_data(y->saved));
    Tensor *kept = ag_compare_scalar(AG_LT, place, 0);
    for (int64_t i = 0; i < place->numel; i++) {
        if (ints(place)[i] < 0) {
            ints(place)[i] = 0;
        }
    }
    Tensor *x = along(or_zeros(dx[0], y->shape), g->x, g->x.n), *zero = tensor_zeros(AG_SCALAR);
    Tensor *src = dx[2] && g->m > 0 ? ag_gather(along(dx[2], g->x, g->m), 1, place) : zero;
    return ag_reshape(ag_where(kept, x, src), y->shape);
}

Tensor *max_pool2d_tangent(Tensor *y, Tensor *const *dx)
{
    const KPool *p = y->args;
    return saved_items(y, dx[0], (Along){ p->planes, p->h * p->w, 1 }, p->oh * p->ow);
}
