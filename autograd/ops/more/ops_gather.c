/* ops_gather.c: items chosen along a dimension, each by a number of its own. */
#include <math.h>
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

/* Returns where the part of x (outer, n, inner) begins to which row `row` of an array (outer, m, inner) belongs: the items at
 * its number `outer`. */
static int64_t items_of(Along x, int64_t m, int64_t row) { return row / m * x.n * x.inner; }

/* Returns the number of rows of such an array, 0 if they have no items. */
static int64_t rows_of(Along x, int64_t m) { return x.inner > 0 ? x.outer * m : 0; }

/* The next functions treat one `outer`: to is (n, inner), from and ids are (m, inner). */

static void add_in_order(Along a, int64_t m, real *to, const real *from, const int32_t *ids)
{
    for (int64_t row = 0; row < m; row++, from += a.inner, ids += a.inner)
        for (int64_t i = 0; i < a.inner; i++) to[ids[i] * a.inner + i] += from[i];
}

/* Whether an item of `to` gets more than MANY terms. count: memory for (n, inner) numbers. */
static bool has_many(Along a, int64_t m, const int32_t *ids, int32_t *count)
{
    bool any = false;
    memset(count, 0, (size_t)(a.n * a.inner) * sizeof *count);
    for (int64_t row = 0; row < m && !any; row++, ids += a.inner)
        for (int64_t i = 0; i < a.inner; i++) any = ++count[ids[i] * a.inner + i] > MANY || any;
    return any;
}

/* Sums in double what an item gets beyond MANY terms. own, count and sum: memory for m, n and n numbers. */
static void add_many(Along a, int64_t m, real *to, const real *from, const int32_t *ids, int32_t *own, int32_t *count,
                     double *sum)
{
    for (int64_t line = 0; line < a.inner; line++) {
        real *item = to + line;
        for (int64_t j = 0; j < m; j++) own[j] = ids[line + j * a.inner];
        bool any = count_ids(m, own, count);
        for (int64_t j = 0; any && j < m; j++) sum[own[j]] = (double)item[own[j] * a.inner];
        for (int64_t j = 0; j < m; j++) {
            const real x = from[line + j * a.inner];
            if (any && count[own[j]] > MANY) sum[own[j]] += (double)x;
            else item[own[j] * a.inner] += x;
        }
        for (int64_t j = 0; any && j < m; j++)
            if (count[own[j]] > MANY) item[own[j] * a.inner] = (real)sum[own[j]];
    }
}

/* to[o, ids[o,j,i], i] += from[o,j,i]: `to` (outer, n, inner), from and ids (outer, m, inner). */
static void add_items(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids)
{
    const int64_t size = m * a.inner;
    int32_t *count = m > MANY ? op_scratch(function_of(y), a.n * a.inner, sizeof *count) : NULL, *own = NULL;
    double *sum = NULL;
    for (int64_t o = 0; size > 0 && o < a.outer; o++, to += a.n * a.inner, from += size, ids += size) {
        if (m <= MANY || !has_many(a, m, ids, count)) {
            add_in_order(a, m, to, from, ids);
            continue;
        }
        if (!own) own = op_scratch(function_of(y), m, sizeof *own);
        if (!sum) sum = op_scratch(function_of(y), a.n, sizeof *sum);
        add_many(a, m, to, from, ids, own, count, sum);
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

/* to[o,j,i] (+)= from[o, ids[o,j,i], i] */
static void take_items(GatherArgs args, Grad to, const real *from, const int32_t *ids)
{
    const int64_t inner = args.x.inner;
    for (int64_t row = 0; to.data && row < rows_of(args.x, args.m); row++, to.data += inner, ids += inner) {
        const real *items = from + items_of(args.x, args.m, row);
        for (int64_t i = 0; i < inner; i++) {
            const real item = items[ids[i] * inner + i];
            to.data[i] = to.add ? to.data[i] + item : item;
        }
    }
}

Tensor *ag_gather(Tensor *x, int dim, Tensor *ids)
{
    GatherArgs args = gather_args(__func__, x, dim, ids);
    Tensor *y = op_new(&op_table[OP_gather], &ids->shape, x, ids, NULL);
    if (y->op) *(GatherArgs *)op_args(y, sizeof args) = args;
    take_items(args, (Grad){ reals(y), false }, reals(x), ints(ids));
    return op_done(y);
}

void gather_backward(Tensor *y)
{
    const GatherArgs *args = y->args;
    grad_scatter(y, args->x, args->m, ints(y->in[1]));
}

/* ---- scatter_add: y = x, y[o, ids[o,j,i], i] += src[o,j,i]   dx = dy, dsrc = the items of dy at ids -------------- */

/* Checks src, too, whose shape is that of ids. */
static GatherArgs scatter_args(const char *what, const Tensor *x, int dim, const Tensor *ids, const Tensor *src)
{
    GatherArgs args = gather_args(what, x, dim, ids);
    check_tensor(what, "src", src, AG_REAL);
    if (!ag_shape_equal(src->shape, ids->shape))
        ag_usage_error(what, "src %s and ids %s differ in shape", shape_text(src->shape), shape_text(ids->shape));
    return args;
}

Tensor *ag_scatter_add(Tensor *x, int dim, Tensor *ids, Tensor *src)
{
    GatherArgs args = scatter_args(__func__, x, dim, ids, src);
    Tensor *y = op_new(&op_table[OP_scatter_add], &x->shape, x, ids, src);
    if (y->op) *(GatherArgs *)op_args(y, sizeof args) = args;
    memcpy(reals(y), reals(x), (size_t)x->numel * sizeof(real));
    add_items(y, args.x, args.m, reals(y), reals(src), ints(ids));
    return op_done(y);
}

void scatter_add_backward(Tensor *y)
{
    take_items(*(const GatherArgs *)y->args, grad_into(y->in[2]), grad_of(y), ints(y->in[1]));
    grad_pass(y->in[0], y);
}

/* ---- scatter_max: y = x, y[o, ids[o,j,i], i] = the largest of it and src[o,j,i]   dy goes to the first largest --- */

Tensor *ag_scatter_max(Tensor *x, int dim, Tensor *ids, Tensor *src)
{
    GatherArgs args = scatter_args(__func__, x, dim, ids, src);
    const int64_t inner = args.x.inner;
    Tensor *y = op_new(&op_table[OP_scatter_max], &x->shape, x, ids, src);
    if (y->op) *(GatherArgs *)op_args(y, sizeof args) = args;
    int32_t *place = (int32_t *)(void *)op_save(y, y->numel);       /* j of the largest; -1: it is from x */
    memcpy(reals(y), reals(x), (size_t)x->numel * sizeof(real));
    for (int64_t i = 0; i < y->numel; i++) place[i] = -1;
    for (int64_t row = 0; row < rows_of(args.x, args.m); row++)
        for (int64_t i = 0; i < inner; i++) {
            const int64_t at = items_of(args.x, args.m, row) + ints(ids)[row * inner + i] * inner + i;
            const real item = reals(src)[row * inner + i];
            if (!(item > reals(y)[at]) && !(isnan(item) && !isnan(reals(y)[at]))) continue;
            reals(y)[at] = item;
            place[at] = (int32_t)(row % args.m);
        }
    return op_done(y);
}

void scatter_max_backward(Tensor *y)
{
    const GatherArgs *args = y->args;
    const int64_t inner = args->x.inner, slab = args->x.n * inner;
    const int32_t *place = buffer_data(y->saved);
    real *dx = grad_to_add(y->in[0]), *dsrc = grad_to_add(y->in[2]);
    for (int64_t i = 0; i < y->numel; i++) {
        if (place[i] < 0 && dx) dx[i] += grad_of(y)[i];
        if (place[i] >= 0 && dsrc) dsrc[(i / slab * args->m + place[i]) * inner + i % inner] += grad_of(y)[i];
    }
}
