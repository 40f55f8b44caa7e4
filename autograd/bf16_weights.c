/* bf16_weights.c: tensors of type AG_PACKED: matrices whose only values are in bfloat16, in the order of k_pack_b, in which
 * products read them. A panel has K_PANEL rows of the matrix. */
#include <string.h>

#include "bf16.h"
#include "bf16_weights.h"
#include "buffers.h"
#include "checks.h"
#include "kaeru/bf16.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "shape.h"
#include "tensor_struct.h"
#include "threads.h"

size_t value_bytes(const AgShape *shape, AgDType dtype)
{
    if (dtype == AG_PACKED) return (size_t)k_packed_items(shape->dim[0], shape->dim[1]) * sizeof(uint32_t);
    return (size_t)ag_shape_numel(*shape) * dtype_size(dtype);
}

void check_packed_shape(const char *what, const AgShape *shape)
{
    const uint64_t most = SIZE_MAX / 1024;                  /* a small side is filled up in memory */
    if (shape->ndim != 2 || shape->dim[1] % 2 != 0 || (uint64_t)shape->dim[0] > most || (uint64_t)shape->dim[1] > most)
        ag_usage_error(what, "shape %s, expected a matrix with an even number of columns for AG_PACKED", shape_text(*shape));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The pairs of columns 0 and 1 of a row; the next pairs follow at distances of K_PANEL. */
static uint32_t *row_of(const uint32_t *panels, int64_t width, int64_t row)
{
    return (uint32_t *)panels + k_packed_items(row / K_PANEL * K_PANEL, width) + row % K_PANEL;
}

/* Copies rows from `first` on between the panels of a matrix and dense rows. */
typedef struct { uint32_t *panels, *dense; int64_t first, width; bool pack; } RowCopy;

/* Copies rows of one panel. Dense rows are often a power of two apart. Then the same column of all rows falls into few sets of
 * the cache. So 16 pairs of each row are copied at a time, through a block on the stack. */
static void copy_panel(uint32_t *panel, uint32_t *dense, int64_t rows, int64_t pairs, bool pack)
{
    enum { SIDE = 16 };
    uint32_t block[K_PANEL][SIDE];
    for (int64_t p = 0; p < pairs; p += SIDE, panel += SIDE * K_PANEL) {
        const int64_t n = pairs - p < SIDE ? pairs - p : SIDE;
        for (int64_t j = 0; pack && j < rows; j++)
            memcpy(block[j], dense + j * pairs + p, (size_t)n * sizeof **block);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < rows; j++) {
                if (pack) panel[i * K_PANEL + j] = block[j][i];
                else block[j][i] = panel[i * K_PANEL + j];
            }
        for (int64_t j = 0; !pack && j < rows; j++)
            memcpy(dense + j * pairs + p, block[j], (size_t)n * sizeof **block);
    }
}

static void copy_rows(void *arg, int64_t begin, int64_t end)
{
    const RowCopy *c = arg;
    for (int64_t i = begin; i < end; ) {
        const int64_t left = K_PANEL - (c->first + i) % K_PANEL, n = left < end - i ? left : end - i;
        copy_panel(row_of(c->panels, c->width, c->first + i), c->dense + i * (c->width / 2), n, c->width / 2, c->pack);
        i += n;
    }
}

void unpack_row_as_reals(const Tensor *packed, int64_t row, real *out)
{
    const uint32_t *from = row_of(values(packed), packed->shape.dim[1], row);
    for (int64_t p = 0; p < packed->shape.dim[1]; p += 2, from += K_PANEL) {
        out[p] = (real)bf16_of_pair(*from, 0);
        out[p + 1] = (real)bf16_of_pair(*from, 1);
    }
}

static void check_rows(const char *what, const Tensor *t, int64_t first, int64_t n, const void *rows)
{
    check_tensor(what, "t", t, AG_PACKED);
    ag_check_pointer(what, "rows", rows);
    if (first < 0 || n < 0 || n > t->shape.dim[0] - first)
        ag_usage_error(what, "%lld rows from %lld on, of %s", (long long)n, (long long)first, shape_text(t->shape));
}

void ag_packed_read(const Tensor *t, int64_t first, int64_t n, uint32_t *rows)
{
    check_rows(__func__, t, first, n, rows);
    RowCopy copy = { t->data, rows, first, t->shape.dim[1], false };
    k_parallel(n, K_PANEL, copy_rows, &copy);
}

void ag_packed_write(Tensor *t, int64_t first, int64_t n, const uint32_t *rows)
{
    check_rows(__func__, t, first, n, rows);
    RowCopy copy = { values_to_write(__func__, "t", t, AG_PACKED), (uint32_t *)rows, first, t->shape.dim[1], true };
    k_parallel(n, K_PANEL, copy_rows, &copy);
}

/* ---- hashes ------------------------------------------------------------------------------------------------------ */

typedef struct { const Tensor *t; int64_t bytes; uint64_t *of_row; } RowHashes;

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

uint64_t hash_bytes(const void *p, size_t bytes, uint64_t h)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)p + i, bytes - i < 8 ? bytes - i : 8);
        h = mix(h, word);
    }
    return h;
}

static void hash_rows(void *arg, int64_t begin, int64_t end)
{
    const RowHashes *r = arg;
    for (int64_t i = begin; i < end; i++) {
        uint64_t h = 0;
        const uint32_t *pair = r->t->dtype == AG_PACKED ? row_of(r->t->data, r->t->shape.dim[1], i) : NULL;
        for (int64_t k = 0; pair && k < r->t->shape.dim[1]; k += 2, pair += K_PANEL)
            h = mix(h, *pair << 16 | (uint64_t)(*pair & 0xffff0000) << 32);         /* as two floats */
        r->of_row[i] = pair ? h : hash_bytes((const char *)r->t->data + i * r->bytes, (size_t)r->bytes, 0);
    }
}

uint64_t tensor_hash(const Tensor *t, uint64_t h)
{
    check_tensor(__func__, "t", t, t ? (AgDType)t->dtype : AG_REAL);
    int64_t rows = t->shape.ndim ? row_count(t) : 1;
    if (t->numel == 0) return h;
    RowHashes r = { t, t->numel / rows * (int64_t)dtype_size(t->dtype), ag_alloc((size_t)rows, sizeof *r.of_row) };
    k_parallel(rows, K_PANEL, hash_rows, &r);
    for (int64_t i = 0; i < rows; i++) h = mix(h, r.of_row[i]);
    ag_free(r.of_row);
    return h;
}

/* ---- copies of weights ------------------------------------------------------------------------------------------- */

void ag_unpack_weight(Tensor *weight)
{
    check_alive(__func__, "weight", weight);
    buffer_drop(&weight->packed.buffer);
}

void ag_pack_weight(Tensor *weight)
{
    check_tensor(__func__, "weight", weight, AG_REAL);
    if (weight->shape.ndim != 2 || !weight->owned)
        ag_usage_error(__func__, "weight %s %s, expected a matrix that no scope owns", shape_text(weight->shape),
                       weight->owned ? "is no matrix" : "belongs to a scope");
    ag_unpack_weight(weight);
    int64_t n = weight->shape.dim[0], k = weight->shape.dim[1];
    weight->packed.buffer = buffer_new(__func__, (size_t)k_packed_items(n, k) * sizeof(uint32_t), true);
    weight->packed.version = weight->buffer->version;
    k_pack_b(&(KPackB){ n, k, k, buffer_data(weight->packed.buffer), reals(weight) });
}

const uint32_t *packed_weight(const Tensor *y, const Tensor *weight)
{
    if (weight->dtype == AG_PACKED) return values(weight);
    const TensorPacked *copy = &weight->packed;
    bool usable = copy->buffer && copy->version == weight->buffer->version && y->precision == AG_BF16 && !y->op;
    return usable ? buffer_data(copy->buffer) : NULL;
}

/* ---- freezing ---------------------------------------------------------------------------------------------------- */

void ag_freeze_bf16(Tensor *weight)
{
    check_leaf(__func__, "weight", weight);
    if (weight->dtype == AG_PACKED) return;
    check_tensor(__func__, "weight", weight, AG_REAL);
    check_packed_shape(__func__, &weight->shape);
    if (!weight->owned)
        ag_usage_error(__func__, "weight %s belongs to a scope, expected a matrix that no scope owns",
                       shape_text(weight->shape));
    ag_pack_weight(weight);
    Buffer *packed = weight->packed.buffer;
    packed->version = weight->buffer->version;
    count_write(__func__, packed);                      /* a graph that has read the reals finds that they changed */
    buffer_release(weight->buffer);
    buffer_drop(&weight->grad);
    weight->packed.buffer = NULL;
    weight->buffer = packed;
    weight->data = buffer_data(packed);
    weight->dtype = AG_PACKED;
    weight->requires_grad = false;
}
