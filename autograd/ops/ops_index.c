/* ops_index.c: rows of a table chosen by number: embedding. Forward copies rows; the rule adds each
 * row of dy to the gradient of the row that it was copied from. Ids are AG_INT, and all are checked
 * before the first one is used. */
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

void check_ids(const char *what, const Tensor *ids, int64_t below)
{
    for (int64_t i = 0; i < ids->numel; i++) {
        int32_t id = ints(ids)[i];
        if (id < 0 || id >= below) {
            ag_usage_error(what, "id %d at item %lld is out of range: expected %s", id,
                           (long long)i, range_text(below));
        }
    }
}

/* ---- sums over equal ids: to[ids[j]] += from[j] -------------------------------------------------
 * The terms are added in the order of j. A float that gets many terms loses digits, and no longer
 * grows when a term is less than half of its last digit. So the rows of ids that occur more than
 * MANY times are summed in double. */

/* Stops a count at MANY + 1: nobody asks for more. */
bool count_ids(int64_t m, const int32_t *ids, int32_t *count)
{
    for (int64_t j = 0; j < m; j++) {
        count[ids[j]] = 0;
    }
    bool any = false;
    for (int64_t j = 0; j < m; j++) {
        int32_t *c = &count[ids[j]];
        if (*c <= MANY) {
            (*c)++;
        }
        any = any || *c > MANY;
    }
    return any;
}

/* The ids that occur more than MANY times: there are n of them. place[id] is the index of an id in
 * this list, and -1 for the other ids that occur. */
typedef struct { int32_t n, *id, *place; } Frequent;

/* Returns those among the m ids, which are below n. The pointers are NULL if there are none. */
static Frequent frequent_ids(const Tensor *y, int64_t n, int64_t m, const int32_t *ids)
{
    Frequent none = { 0, NULL, NULL };
    if (m <= MANY) return none;
    int32_t *place = op_scratch(function_of(y), n, sizeof *place);
    if (!count_ids(m, ids, place)) return none;
    Frequent f = { 0, op_scratch(function_of(y), m / MANY, sizeof *f.id), place };
    for (int64_t j = 0; j < m; j++) {
        if (place[ids[j]] > MANY) {
            f.id[f.n++] = ids[j];
            place[ids[j]] = 0;
        }
    }
    for (int64_t j = 0; j < m; j++) {
        place[ids[j]] = -1;
    }
    for (int32_t k = 0; k < f.n; k++) {
        place[f.id[k]] = k;
    }
    return f;
}

void add_rows(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids)
{
    Frequent f = frequent_ids(y, a.n, m, ids);
    double *sums = f.n > 0 ? op_scratch(function_of(y), f.n * a.inner, sizeof *sums) : NULL;
    for (int64_t o = 0; o < a.outer; o++) {
        for (int64_t k = 0; k < f.n; k++) {
            for (int64_t i = 0; i < a.inner; i++) {
                sums[k * a.inner + i] = (double)to[f.id[k] * a.inner + i];
            }
        }
        k_scatter_add_rows(m, a.inner, to, from, ids, f.place, sums);
        for (int64_t k = 0; k < f.n; k++) {
            for (int64_t i = 0; i < a.inner; i++) {
                to[f.id[k] * a.inner + i] = (real)sums[k * a.inner + i];
            }
        }
        to += a.n * a.inner;
        from += m * a.inner;
    }
}

/* ---- embedding: y[..] = table[ids[..]]                       dtable[ids[..]] += dy[..] ------- */

void embedding_values(Tensor *y, const OpCall *c)
{
    const Tensor *table = c->in[0], *ids = c->in[1];
    int64_t width = table->shape.dim[1];
    if (table->dtype == AG_REAL) {
        k_gather_rows(ids->numel, width, reals(y), reals(table), ints(ids));
        return;
    }
    for (int64_t i = 0; i < ids->numel; i++) {
        unpack_row_as_reals(table, ints(ids)[i], reals(y) + i * width);
    }
}

Tensor *ag_embedding(Tensor *table, Tensor *ids)
{
    check_weight(__func__, "table", table);
    check_tensor(__func__, "ids", ids, AG_INT);
    if (table->shape.ndim != 2 || ids->shape.ndim == AG_MAX_DIMS) {
        ag_usage_error(__func__, "table %s and ids %s: expected a table (V,D)",
                       shape_text(table->shape), shape_text(ids->shape));
    }
    check_ids(__func__, ids, table->shape.dim[0]);
    AgShape shape = ids->shape;
    shape.dim[shape.ndim++] = table->shape.dim[1];
    return op_run(&op_table[OP_embedding], &shape, (Tensor *[]){ table, ids }, 2, NULL, 0);
}

void embedding_backward(Tensor *y)
{
    Tensor *table = y->in[0], *ids = y->in[1];
    real *dtable = grad_to_add(table);
    if (!dtable) return;
    Along rows = { .outer = 1, .n = table->shape.dim[0], .inner = table->shape.dim[1] };
    add_rows(y, rows, ids->numel, dtable, grad_of(y), ints(ids));
}
