/* attention.c: softmax(scale Q K^T) V for every head of every sentence, and its backward, without ever holding the T x S
 * weights of more than a few rows.
 *
 * The queries of a head are taken in blocks of rows. A block's scores are one matrix product, its weights a softmax over
 * whole rows (keys beyond what a causal block can see are left out of the products altogether), its result another
 * product. Backward makes a block's weights anew, which costs one product of five and saves keeping them:
 *     dV += W^T dY,  dW = dY V^T,  dScores = W (dW - rowsum(dW W)),  dQ = dScores K scale,  dK += dScores^T Q scale.
 * dK and dV gather from all blocks of a head, in order, so a head stays with one thread on the way back; forward, every
 * block is work of its own. The arithmetic is k_gemm and k_softmax on pieces that fit the second-level cache. */
#include <math.h>
#include <string.h>

#include "kernels.h"

#define BLOCK_ITEMS 32768               /* scores of a block: 128 KiB */
#define BLOCK_ROWS 64

/* Rows of a block; a multiple of nothing in particular, at least 1. */
static int64_t block_rows(const KAttention *a)
{
    int64_t rows = a->s > 0 ? BLOCK_ITEMS / a->s : BLOCK_ROWS;
    rows = rows < 1 ? 1 : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
    return rows < a->t ? rows : a->t;
}

/* One worker's memory: weights, their gradient, and the block's scaled queries. */
static int64_t worker_items(const KAttention *a)
{
    return block_rows(a) * (2 * a->s + a->k);
}

static int64_t workers(const KAttention *a, int64_t tasks)
{
    int64_t n = k_threads();
    if (a->b * a->h * a->t * a->s * a->k < 65536) n = 1;        /* waking a thread would cost more than it does */
    return n < tasks ? n : tasks > 0 ? tasks : 1;
}

int64_t k_attention_work(const KAttention *a)
{
    return worker_items(a) * workers(a, a->b * a->h * a->t);
}

/* The part of the work that one block is: rows t0..t0+rows of a head, and the keys that some of them can see. */
typedef struct { int64_t b, h, t0, rows, seen; const real *q, *k, *v; } Block;

static Block block_at(const KAttention *a, const real *q, const real *k, const real *v, int64_t head, int64_t number)
{
    Block block = { .b = head / a->h, .h = head % a->h, .t0 = number * block_rows(a) };
    block.rows = a->t - block.t0 < block_rows(a) ? a->t - block.t0 : block_rows(a);
    int64_t last = block.t0 + block.rows + a->s - a->t;         /* causal: the last row sees keys 0..last-1 */
    block.seen = !a->causal || last > a->s ? a->s : last < 0 ? 0 : last;
    block.q = q + block.b * a->q.b + block.h * a->q.h + block.t0 * a->q.t;
    block.k = k + block.b * a->kv.b + block.h * a->kv.h;
    block.v = v + block.b * a->kv.b + block.h * a->kv.h;
    return block;
}

/* Hides what may not be seen: minus infinity, of which the softmax makes exactly 0. */
static void hide(const KAttention *a, const Block *block, real *scores)
{
    for (int64_t i = 0; i < block->rows; i++) {
        real *row = scores + i * block->seen;
        int64_t t = block->t0 + i, limit = t + 1 + a->s - a->t;
        const uint8_t *seen = a->mask + block->b * a->mask_b + block->h * a->mask_h + t * a->mask_t;
        for (int64_t j = 0; a->mask && j < block->seen; j++)
            if (!seen[j * a->mask_s]) row[j] = (real)-INFINITY;
        for (int64_t j = limit > 0 ? limit : 0; a->causal && j < block->seen; j++) row[j] = (real)-INFINITY;
    }
}

/* w = softmax of the block's scores; scaled = scale Q. */
static void block_weights(const KAttention *a, const Block *block, real *w, real *scaled)
{
    for (int64_t i = 0; i < block->rows; i++)
        k_unary(K_SCALE, a->k, scaled + i * a->k, block->q + i * a->q.t, a->scale, 0);
    KGemm scores = { .tb = true, .m = block->rows, .n = block->seen, .k = a->k, .lda = a->k, .ldb = a->kv.t,
                     .ldc = block->seen, .batch = 1 };
    k_gemm(&scores, w, scaled, block->k);
    hide(a, block, w);
    k_softmax(block->rows, block->seen, w, w);
}

/* y = (in place) dropout of the block's rows; row t of head h has random numbers of its own. */
static void drop(const KAttention *a, const Block *block, real *y)
{
    if (a->dropout == 0) return;
    uint64_t per_row = ((uint64_t)a->s + 3) / 4;
    uint64_t row = (uint64_t)((block->b * a->h + block->h) * a->t + block->t0);
    for (int64_t i = 0; i < block->rows; i++)
        k_dropout(block->seen, y + i * block->seen, y + i * block->seen, a->dropout, a->seed,
                  a->counter + (row + (uint64_t)i) * per_row, false);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const KAttention *a;
    real *y, *dq, *dk, *dv, *work;
    const real *q, *k, *v, *dy;
    bool add_q, add_k, add_v;
    int64_t workers, blocks;
} Job;

static void forward_block(const Job *job, int64_t task, real *work)
{
    const KAttention *a = job->a;
    Block block = block_at(a, job->q, job->k, job->v, task / job->blocks, task % job->blocks);
    real *w = work, *scaled = work + 2 * block_rows(a) * a->s;
    block_weights(a, &block, w, scaled);
    drop(a, &block, w);
    real *y = job->y + block.b * a->y.b + block.h * a->y.h + block.t0 * a->y.t;
    KGemm sum = { .m = block.rows, .n = a->k, .k = block.seen, .lda = block.seen, .ldb = a->kv.t, .ldc = a->y.t, .batch = 1 };
    k_gemm(&sum, y, w, block.v);
}

/* Worker w takes tasks w, w + workers, ...: long and short causal blocks alternate. */
static void forward_worker(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    for (int64_t w = begin; w < end; w++)
        for (int64_t task = w; task < job->a->b * job->a->h * job->blocks; task += job->workers)
            forward_block(job, task, job->work + w * worker_items(job->a));
}

void k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v, real *work)
{
    if (a->t == 0) return;
    int64_t blocks = (a->t + block_rows(a) - 1) / block_rows(a);
    Job job = { .a = a, .y = y, .q = q, .k = k, .v = v, .work = work, .blocks = blocks,
                .workers = workers(a, a->b * a->h * blocks) };
    k_parallel(job.workers, 1, forward_worker, &job);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

static void backward_block(const Job *job, const Block *block, bool first, real *work)
{
    const KAttention *a = job->a;
    int64_t items = block_rows(a) * a->s, seen = block->seen;
    real *w = work, *dw = work + items, *scaled = work + 2 * items;
    const real *dy = job->dy + block->b * a->y.b + block->h * a->y.h + block->t0 * a->y.t;
    int64_t own = block->b * a->kv.b + block->h * a->kv.h;
    block_weights(a, block, w, scaled);

    KGemm to_weights = { .tb = true, .m = block->rows, .n = seen, .k = a->k, .lda = a->y.t, .ldb = a->kv.t, .ldc = seen, .batch = 1 };
    KGemm to_keys = { .ta = true, .add = job->add_k || !first, .m = seen, .n = a->k, .k = block->rows, .lda = seen,
                      .ldb = a->k, .ldc = a->kv.t, .batch = 1 };
    KGemm to_values = to_keys;
    to_values.ldb = a->y.t;
    to_values.add = job->add_v || !first;
    k_gemm(&to_weights, dw, dy, block->v);
    if (a->dropout > 0) {
        drop(a, block, dw);
        if (job->dv) {                                          /* the values saw the weights that were left */
            real *kept = work + 2 * items + block_rows(a) * a->k;
            memcpy(kept, w, (size_t)(block->rows * seen) * sizeof *w);
            drop(a, block, kept);
            k_gemm(&to_values, job->dv + own, kept, dy);
        }
    } else if (job->dv) k_gemm(&to_values, job->dv + own, w, dy);
    k_softmax_backward(block->rows, seen, dw, dw, w, false);
    if (job->dk) k_gemm(&to_keys, job->dk + own, dw, scaled);
    if (!job->dq) return;
    k_unary(K_SCALE, block->rows * seen, dw, dw, a->scale, 0);
    KGemm to_queries = { .add = job->add_q, .m = block->rows, .n = a->k, .k = seen, .lda = seen, .ldb = a->kv.t, .ldc = a->q.t,
                         .batch = 1 };
    k_gemm(&to_queries, job->dq + (block->q - job->q), dw, block->k);
}

/* Zero gradients for keys that the causal blocks so far leave out, so that all of them can be added to. */
static void clear_head(const Job *job, int64_t head)
{
    const KAttention *a = job->a;
    int64_t own = head / a->h * a->kv.b + head % a->h * a->kv.h;
    for (int64_t i = 0; i < a->s; i++) {
        if (job->dk && !job->add_k) k_fill(a->k, job->dk + own + i * a->kv.t, 0);
        if (job->dv && !job->add_v) k_fill(a->k, job->dv + own + i * a->kv.t, 0);
    }
}

static void backward_worker(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    const KAttention *a = job->a;
    for (int64_t w = begin; w < end; w++)
        for (int64_t head = w; head < a->b * a->h; head += job->workers) {
            bool partial = a->causal || job->blocks == 0;       /* the first block does not reach every key */
            if (partial) clear_head(job, head);
            for (int64_t i = 0; i < job->blocks; i++) {
                Block block = block_at(a, job->q, job->k, job->v, head, i);
                backward_block(job, &block, i == 0 && !partial, job->work + w * (worker_items(a) + block_rows(a) * a->s));
            }
        }
}

int64_t k_attention_backward_work(const KAttention *a)
{
    return (worker_items(a) + block_rows(a) * a->s) * workers(a, a->b * a->h);
}

void k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv, bool add_v,
                          const real *dy, const real *q, const real *k, const real *v, real *work)
{
    int64_t rows = block_rows(a);
    Job job = { .a = a, .dq = dq, .dk = dk, .dv = dv, .add_q = add_q, .add_k = add_k, .add_v = add_v, .dy = dy, .q = q,
                .k = k, .v = v, .work = work, .blocks = rows ? (a->t + rows - 1) / rows : 0, .workers = workers(a, a->b * a->h) };
    k_parallel(job.workers, 1, backward_worker, &job);
}
