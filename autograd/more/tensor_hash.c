/* tensor_hash.c: the hash of a tensor's values. */
#include "bf16_weights.h"
#include "checks.h"
#include "hash.h"
#include "kaeru/values.h"
#include "kernels.h"
#include "shape.h"
#include "tensor_struct.h"
#include "threads.h"

typedef struct { const Tensor *t; int64_t bytes; uint64_t *of_row; } RowHashes;

static void hash_rows(void *arg, int64_t begin, int64_t end)
{
    const RowHashes *r = arg;
    for (int64_t i = begin; i < end; i++) {
        uint64_t h = 0;
        const uint32_t *pair = r->t->dtype == AG_PACKED ? packed_row(r->t->data, r->t->shape.dim[1], i) : NULL;
        for (int64_t k = 0; pair && k < r->t->shape.dim[1]; k += 2, pair += K_PANEL)
            h = hash_mix(h, *pair << 16 | (uint64_t)(*pair & 0xffff0000) << 32);         /* as two floats */
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
    for (int64_t i = 0; i < rows; i++) h = hash_mix(h, r.of_row[i]);
    ag_free(r.of_row);
    return h;
}
