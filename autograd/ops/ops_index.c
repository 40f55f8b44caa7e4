/* ops_index.c: looking entries up by number. Ids are AG_INT and are checked before they are used. */
#include "internal.h"

static void check_ids(Site at, const char *what, const Tensor *ids, int64_t below)
{
    for (int64_t i = 0; i < ids->numel; i++)
        if (ints(ids)[i] < 0 || ints(ids)[i] >= below)
            ag_usage_error(at, what, "id %d at item %lld is out of range: expected 0..%lld", ints(ids)[i], (long long)i,
                      (long long)below - 1);
}

/* ---- embedding: y[..] = table[ids[..]]                       dtable[ids[..]] += dy[..] --------------------------- */

Tensor *ag_embedding_at(Site at, Tensor *table, Tensor *ids)
{
    check_tensor(at, "embedding", "table", table, AG_REAL);
    check_tensor(at, "embedding", "ids", ids, AG_INT);
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    if (table->shape.ndim != 2 || ids->shape.ndim == AG_MAX_DIMS)
        ag_usage_error(at, "embedding", "table %s and ids %s: expected a table (V,D)", shape_text(table->shape, a),
                  shape_text(ids->shape, b));
    check_ids(at, "embedding", ids, table->shape.dim[0]);
    Shape shape = ids->shape;
    shape.dim[shape.ndim++] = table->shape.dim[1];
    Tensor *y = op_new(at, OP_embedding, &shape, table, ids, NULL);
    k_gather_rows(ids->numel, table->shape.dim[1], reals(y), reals(table), ints(ids));
    return op_done(y);
}

void embedding_backward(Tensor *y)
{
    Tensor *table = y->in[0], *ids = y->in[1];
    Grad g = grad_into(table);
    if (!g.data) return;
    if (!g.add) k_fill(table->numel, g.data, 0);
    k_scatter_add_rows(ids->numel, table->shape.dim[1], g.data, grad_of(y), ints(ids));
}

Tensor *embedding_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_embedding(sample_in(s, 0, SHAPE(1, 1)), sample_ids(SCALAR, 1));
    case 1: return ag_embedding(sample_in(s, 0, SHAPE(5, 3)), sample_ids(SHAPE(4), 5));
    case 2: return ag_embedding(sample_in(s, 0, SHAPE(5, 3)), sample_ids(SHAPE(2, 7), 5));
    case 3: return ag_embedding(sample_in(s, 0, SHAPE(2, 4)), sample_ids(SHAPE(9), 2));
    case 4: return ag_embedding(sample_in(s, 0, SHAPE(3, 17)), sample_ids(SHAPE(2, 1, 3), 3));
    case 5: return ag_embedding(sample_in(s, 0, SHAPE(3, 2)), sample_ids(SHAPE(0), 3));
    case 6: return ag_embedding(sample_in(s, 0, SHAPE(3, 0)), sample_ids(SHAPE(2), 3));
    case 7: return ag_embedding(sample_in(s, 0, SHAPE(40, 1)), sample_ids(SHAPE(6, 6), 40));
    default: return NULL;
    }
}

/* ---- gather: y[o,i] = x[o, ids[o,i], i]                        dx = dy at the picked entry, else 0 ----------------- */

/* x seen as (outer, n, inner) around dim. */
typedef struct { int64_t outer, n, inner; } Around;

static Around around(const Shape *x, int d)
{
    Around a = { 1, x->dim[d], 1 };
    for (int i = 0; i < d; i++) a.outer *= x->dim[i];
    for (int i = d + 1; i < x->ndim; i++) a.inner *= x->dim[i];
    return a;
}

Tensor *ag_gather_at(Site at, Tensor *x, int dim, Tensor *ids)
{
    check_tensor(at, "gather", "x", x, AG_REAL);
    check_tensor(at, "gather", "ids", ids, AG_INT);
    int d = check_dim(at, "gather", x, dim);
    Shape shape = { x->shape.ndim - 1, { 0 } };
    for (int i = 0, j = 0; i < x->shape.ndim; i++)
        if (i != d) shape.dim[j++] = x->shape.dim[i];
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    if (!shape_equal(shape, ids->shape))
        ag_usage_error(at, "gather", "ids %s do not fit x %s without dimension %d", shape_text(ids->shape, a),
                  shape_text(x->shape, b), dim);
    check_ids(at, "gather", ids, x->shape.dim[d]);
    Tensor *y = op_new(at, OP_gather, &shape, x, ids, NULL);
    Around v = around(&x->shape, d);
    if (y->op) *(Around *)op_args(y, sizeof v) = v;
    for (int64_t i = 0; i < y->numel; i++)
        reals(y)[i] = reals(x)[(i / v.inner * v.n + ints(ids)[i]) * v.inner + i % v.inner];
    return op_done(y);
}

void gather_backward(Tensor *y)
{
    Tensor *x = y->in[0], *ids = y->in[1];
    Around v = *(Around *)y->args;
    Grad g = grad_into(x);
    if (!g.add) k_fill(x->numel, g.data, 0);
    for (int64_t i = 0; i < y->numel; i++)
        g.data[(i / v.inner * v.n + ints(ids)[i]) * v.inner + i % v.inner] += grad_of(y)[i];
}

Tensor *gather_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_gather(sample_in(s, 0, SHAPE(1)), 0, sample_ids(SCALAR, 1));
    case 1: return ag_gather(sample_in(s, 0, SHAPE(7)), 0, sample_ids(SCALAR, 7));
    case 2: return ag_gather(sample_in(s, 0, SHAPE(3, 5)), 1, sample_ids(SHAPE(3), 5));
    case 3: return ag_gather(sample_in(s, 0, SHAPE(3, 5)), 0, sample_ids(SHAPE(5), 3));
    case 4: return ag_gather(sample_in(s, 0, SHAPE(2, 3, 4)), 1, sample_ids(SHAPE(2, 4), 3));
    case 5: return ag_gather(sample_in(s, 0, SHAPE(2, 3, 4)), -1, sample_ids(SHAPE(2, 3), 4));
    case 6: return ag_gather(sample_in(s, 0, SHAPE(0, 3)), 1, sample_ids(SHAPE(0), 3));
    case 7: return ag_gather(sample_in(s, 0, SHAPE(2, 1, 3)), 1, sample_ids(SHAPE(2, 3), 1));
    default: return NULL;
    }
}
