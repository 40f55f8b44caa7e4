/* ops_gather.c: items chosen along a dimension, each by a number of its own. */
#include <string.h>

#include "buffers.h"
#include "checks.h"
#include "gather.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "more_table.h"
#include "ops/index.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

/* ---- sums over equal ids: y[o, ids[o,j,i], i] += x[o,j,i], as in ops_index.c ------------------------------------- */

/* Where x (outer, n, inner) has item i of an array (outer, m, inner) whose place along n is `id`. */
static int64_t item_along(Along x, int64_t m, int64_t i, int32_t id)
{
    int64_t outer = i / (m * x.inner), inner = i % x.inner;
    return (outer * x.n + id) * x.inner + inner;
}

/* to[o, ids[o,j,i], i] += from[o,j,i]: `to` (outer, n, inner), from and ids (outer, m, inner). */
static void add_items(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids)
{
    const int64_t items = a.outer * m * a.inner;
    if (m <= MANY) {
        for (int64_t i = 0; i < items; i++) to[item_along(a, m, i, ids[i])] += from[i];
        return;
    }
    int32_t *count = op_scratch(function_of(y), a.n, sizeof *count);
    int32_t *own = op_scratch(function_of(y), m, sizeof *own);
    double *sum = op_scratch(function_of(y), a.n, sizeof *sum);
    for (int64_t line = 0; line < a.outer * a.inner; line++) {
        real *item = to + line / a.inner * a.n * a.inner + line % a.inner;
        const int64_t first = line / a.inner * m * a.inner + line % a.inner;
        for (int64_t j = 0; j < m; j++) own[j] = ids[first + j * a.inner];
        bool any = count_ids(m, own, count);
        for (int64_t j = 0; any && j < m; j++) sum[own[j]] = (double)item[own[j] * a.inner];
        for (int64_t j = 0; j < m; j++) {
            const real x = from[first + j * a.inner];
            if (any && count[own[j]] > MANY) sum[own[j]] += (double)x;
            else item[own[j] * a.inner] += x;
        }
        for (int64_t j = 0; any && j < m; j++)
            if (count[own[j]] > MANY) item[own[j] * a.inner] = (real)sum[own[j]];
    }
}

void grad_scatter(Tensor *y, Along x, int64_t m, const int32_t *ids)
{
    add_items(y, x, m, grad_to_add(y->in[0]), grad_of(y), ids);
}

/* ---- gather: y[o,j,i] = x[o, ids[o,j,i], i]                  dx = dy at the items taken, else 0 ------------------ */

/* Checks ids, whose sizes are those of x except along dim, and that each is an item of x along dim. */
static GatherArgs gather_args(const char *what, const Tensor *x, int dim, const Tensor *ids)
{
    check_tensor(what, "x", x, AG_REAL);
    check_tensor(what, "ids", ids, AG_INT);
    int d = check_along(what, x, dim);
    bool fit = ids->shape.ndim == x->shape.ndim;
    for (int i = 0; fit && i < x->shape.ndim; i++) fit = i == d || ids->shape.dim[i] == x->shape.dim[i];
    if (!fit)
        ag_usage_error(what, "ids %s do not fit x %s: sizes must be equal except along dimension %d", shape_text(ids->shape),
                       shape_text(x->shape), dim);
    GatherArgs args = { shape_along(&x->shape, d, d), shape_along(&ids->shape, d, d).n };
    check_ids(what, ids, args.x.n);
    return args;
}

Tensor *ag_gather(Tensor *x, int dim, Tensor *ids)
{
    GatherArgs args = gather_args(__func__, x, dim, ids);
    Tensor *y = op_new(&op_table[OP_gather], &ids->shape, x, ids, NULL);
    if (y->op) *(GatherArgs *)op_args(y, sizeof args) = args;
    for (int64_t i = 0; i < y->numel; i++) reals(y)[i] = reals(x)[item_along(args.x, args.m, i, ints(ids)[i])];
    return op_done(y);
}

void gather_backward(Tensor *y)
{
    const GatherArgs *args = y->args;
    grad_scatter(y, args->x, args->m, ints(y->in[1]));
}

/* ---- scatter_add: y = x, y[o, ids[o,j,i], i] += src[o,j,i]   dx = dy, dsrc = the items of dy at ids -------------- */

Tensor *ag_scatter_add(Tensor *x, int dim, Tensor *ids, Tensor *src)
{
    GatherArgs args = gather_args(__func__, x, dim, ids);
    check_tensor(__func__, "src", src, AG_REAL);
    if (!ag_shape_equal(src->shape, ids->shape))
        ag_usage_error(__func__, "src %s and ids %s differ in shape", shape_text(src->shape), shape_text(ids->shape));
    Tensor *y = op_new(&op_table[OP_scatter_add], &x->shape, x, ids, src);
    if (y->op) *(GatherArgs *)op_args(y, sizeof args) = args;
    memcpy(reals(y), reals(x), (size_t)x->numel * sizeof(real));
    add_items(y, args.x, args.m, reals(y), reals(src), ints(ids));
    return op_done(y);
}

void scatter_add_backward(Tensor *y)
{
    const GatherArgs *args = y->args;
    Tensor *x = y->in[0], *ids = y->in[1], *src = y->in[2];
    Grad g = grad_into(src);
    for (int64_t i = 0; g.data && i < src->numel; i++) {
        real dy = grad_of(y)[item_along(args->x, args->m, i, ints(ids)[i])];
        g.data[i] = g.add ? g.data[i] + dy : dy;
    }
    grad_pass(x, y);
}
