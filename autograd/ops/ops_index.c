/* ops_index.c: looking entries up by number. Ids are AG_INT and are checked before they are used. */
#include "bf16_weights.h"
#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "op.h"
#include "ops/index.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

#include <string.h>

void check_ids(const char *what, const Tensor *ids, int64_t below)
{
    for (int64_t i = 0; i < ids->numel; i++)
        if (ints(ids)[i] < 0 || ints(ids)[i] >= below)
            ag_usage_error(what, "id %d at item %lld is out of range: expected %s", ints(ids)[i], (long long)i,
                           range_text(below));
}

/* ---- sums over equal ids: y[ids[j]] += x[j] ------------------------------------------------------------------------
 * In the order of j, one addition of reals after the other. A long chain of them loses digits, and stops at 2^24 times its
 * terms: what is added to one place more than MANY times is summed in double. */

enum { MANY = 4096 };

/* Sets count[id] to how often id, which is below n, is in ids, for those that are; after PART ids, to MANY + 1 at most. Returns
 * whether one is there more than MANY times. */
static bool count_ids(int64_t n, int64_t m, const int32_t *ids, int32_t *count)
{
    enum { PART = 1 << 24 };
    const bool all = n / 8 < m;                         /* to walk through all counts takes less time */
    int32_t most = 0;
    if (all) memset(count, 0, (size_t)n * sizeof *count);
    for (int64_t j = 0; !all && j < m; j++) count[ids[j]] = 0;
    for (int64_t first = 0, last; first < m; first = last) {
        last = m - first < PART ? m : first + PART;
        for (int64_t j = first; j < last; j++) count[ids[j]]++;
        for (int64_t j = first; last < m && j < last; j++)
            if (count[ids[j]] > MANY) count[ids[j]] = MANY + 1;
    }
    for (int64_t i = 0; all && i < n; i++) most = count[i] > most ? count[i] : most;
    for (int64_t j = 0; !all && j < m; j++) most = count[ids[j]] > most ? count[ids[j]] : most;
    return most > MANY;
}

void add_rows(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids)
{
    int32_t *place = NULL, *frequent = NULL, often = 0;
    double *sums = NULL;
    if (m > MANY) place = scratch_new(function_of(y), a.n, sizeof *place);
    if (m > MANY && count_ids(a.n, m, ids, place)) {
        frequent = scratch_new(function_of(y), m / MANY, sizeof *frequent);
        for (int64_t j = 0; j < m; j++) {
            int32_t *p = &place[ids[j]];
            if (*p > MANY) {
                frequent[often] = ids[j];
                *p = -2 - often++;                      /* no count any more */
            } else if (*p >= 0) *p = -1;
        }
        sums = scratch_new(function_of(y), often * a.inner, sizeof *sums);
    }
    for (int32_t k = 0; k < often; k++) place[frequent[k]] = k;
    for (int64_t o = 0; o < a.outer; o++, to += a.n * a.inner, from += m * a.inner) {
        for (int64_t k = 0; k < often; k++)
            for (int64_t i = 0; i < a.inner; i++) sums[k * a.inner + i] = (double)to[frequent[k] * a.inner + i];
        k_scatter_add_rows(m, a.inner, to, from, ids, often > 0 ? place : NULL, sums);
        for (int64_t k = 0; k < often; k++)
            for (int64_t i = 0; i < a.inner; i++) to[frequent[k] * a.inner + i] = (real)sums[k * a.inner + i];
    }
}

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
    int32_t *count = scratch_new(function_of(y), a.n, sizeof *count);
    int32_t *own = scratch_new(function_of(y), m, sizeof *own);
    double *sum = scratch_new(function_of(y), a.n, sizeof *sum);
    for (int64_t line = 0; line < a.outer * a.inner; line++) {
        real *item = to + line / a.inner * a.n * a.inner + line % a.inner;
        const int64_t first = line / a.inner * m * a.inner + line % a.inner;
        for (int64_t j = 0; j < m; j++) own[j] = ids[first + j * a.inner];
        bool any = count_ids(a.n, m, own, count);
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

/* ---- embedding: y[..] = table[ids[..]]                       dtable[ids[..]] += dy[..] --------------------------- */

void embedding_values(Tensor *y, const OpCall *c)
{
    const Tensor *table = c->in[0], *ids = c->in[1];
    for (int64_t i = 0; table->dtype == AG_PACKED && i < ids->numel; i++)
        unpack_row_as_reals(table, ints(ids)[i], reals(y) + i * table->shape.dim[1]);
    if (table->dtype == AG_REAL) k_gather_rows(ids->numel, table->shape.dim[1], reals(y), reals(table), ints(ids));
}

Tensor *ag_embedding(Tensor *table, Tensor *ids)
{
    check_weight(__func__, "table", table);
    check_tensor(__func__, "ids", ids, AG_INT);
    if (table->shape.ndim != 2 || ids->shape.ndim == AG_MAX_DIMS)
        ag_usage_error(__func__, "table %s and ids %s: expected a table (V,D)", shape_text(table->shape),
                       shape_text(ids->shape));
    check_ids(__func__, ids, table->shape.dim[0]);
    AgShape shape = ids->shape;
    shape.dim[shape.ndim++] = table->shape.dim[1];
    return op_run(&op_table[OP_embedding], &shape, (Tensor *[]){ table, ids }, 2, NULL, 0);
}

void embedding_backward(Tensor *y)
{
    Tensor *table = y->in[0], *ids = y->in[1];
    real *dtable = grad_to_add(table);
    Along rows = { 1, table->shape.dim[0], table->shape.dim[1] };
    if (dtable) add_rows(y, rows, ids->numel, dtable, grad_of(y), ints(ids));
}

/* ---- gather: y[o,j,i] = x[o, ids[o,j,i], i]                  dx = dy at the items taken, else 0 ------------------ */

void grad_scatter(Tensor *y, Along x, int64_t m, const int32_t *ids)
{
    add_items(y, x, m, grad_to_add(y->in[0]), grad_of(y), ids);
}

typedef struct { Along x; int64_t m; } GatherArgs;

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
