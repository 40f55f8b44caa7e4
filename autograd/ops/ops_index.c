/* ops_index.c: looking entries up by number. Ids are AG_INT and are checked before they are
 * used. */
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
    for (int64_t i = 0; i < ids->numel; i++) {
        if (ints(ids)[i] < 0 || ints(ids)[i] >= below) {
            ag_usage_error(what, "id %d at item %lld is out of range: expected %s", ints(ids)[i],
                           (long long)i, range_text(below));
        }
    }
}

/* ---- sums over equal ids: y[ids[j]] += x[j] -----------------------------------------------------
 * In the order of j, one addition of reals after the other. A long chain of them loses digits, and
 * stops at 2^24 times its terms: what is added to one place more than MANY times is summed in
 * double. */

bool count_ids(int64_t n, int64_t m, const int32_t *ids, int32_t *count)
{
    enum { PART = 1 << 24 };
    const bool all = n / 8 < m;                     /* to walk through all counts takes less time */
    int32_t most = 0;
    if (all) {
        memset(count, 0, (size_t)n * sizeof *count);
    }
    for (int64_t j = 0; !all && j < m; j++) {
        count[ids[j]] = 0;
    }
    for (int64_t first = 0, last; first < m; first = last) {
        last = m - first < PART ? m : first + PART;
        for (int64_t j = first; j < last; j++) {
            count[ids[j]]++;
        }
        for (int64_t j = first; last < m && j < last; j++) {
            if (count[ids[j]] > MANY) {
                count[ids[j]] = MANY + 1;
            }
        }
    }
    for (int64_t i = 0; all && i < n; i++) {
        most = count[i] > most ? count[i] : most;
    }
    for (int64_t j = 0; !all && j < m; j++) {
        most = count[ids[j]] > most ? count[ids[j]] : most;
    }
    return most > MANY;
}

void add_rows(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids)
{
    int32_t *place = NULL, *frequent = NULL, often = 0;
    double *sums = NULL;
    if (m > MANY) {
        place = op_scratch(function_of(y), a.n, sizeof *place);
    }
    if (m > MANY && count_ids(a.n, m, ids, place)) {
        frequent = op_scratch(function_of(y), m / MANY, sizeof *frequent);
        for (int64_t j = 0; j < m; j++) {
            int32_t *p = &place[ids[j]];
            if (*p > MANY) {
                frequent[often] = ids[j];
                *p = -2 - often++;                      /* no count any more */
            } else if (*p >= 0) {
                *p = -1;
            }
        }
        sums = op_scratch(function_of(y), often * a.inner, sizeof *sums);
    }
    for (int32_t k = 0; k < often; k++) {
        place[frequent[k]] = k;
    }
    for (int64_t o = 0; o < a.outer; o++, to += a.n * a.inner, from += m * a.inner) {
        for (int64_t k = 0; k < often; k++) {
            for (int64_t i = 0; i < a.inner; i++) {
                sums[k * a.inner + i] = (double)to[frequent[k] * a.inner + i];
            }
        }
        k_scatter_add_rows(m, a.inner, to, from, ids, often > 0 ? place : NULL, sums);
        for (int64_t k = 0; k < often; k++) {
            for (int64_t i = 0; i < a.inner; i++) {
                to[frequent[k] * a.inner + i] = (real)sums[k * a.inner + i];
            }
        }
    }
}

/* ---- embedding: y[..] = table[ids[..]]                       dtable[ids[..]] += dy[..] ------- */

void embedding_values(Tensor *y, const OpCall *c)
{
    const Tensor *table = c->in[0], *ids = c->in[1];
    for (int64_t i = 0; table->dtype == AG_PACKED && i < ids->numel; i++) {
        unpack_row_as_reals(table, ints(ids)[i], reals(y) + i * table->shape.dim[1]);
    }
    if (table->dtype == AG_REAL) {
        k_gather_rows(ids->numel, table->shape.dim[1], reals(y), reals(table), ints(ids));
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
    Along rows = { 1, table->shape.dim[0], table->shape.dim[1] };
    if (dtable) {
        add_rows(y, rows, ids->numel, dtable, grad_of(y), ints(ids));
    }
}
