/* attention_blocks.c: softmax(scale Q K^T) V for every head of every sentence, and its backward.
 * The weights (T x S) are computed for a few rows at a time, and never stored in full.
 *
 * The queries of a head are taken in blocks of rows. A block's scores are one matrix product, its
 * weights a softmax of whole rows (keys beyond what a causal block can see are left out of the
 * products altogether), its result another product. Backward makes a block's weights anew, which
 * costs one product of five and saves keeping them:
 *     dV += W^T dY,  dW = dY V^T,  dScores = W (dW - rowsum(dW W)),  dQ = dScores K scale,
 *     dK += dScores^T Q scale.
 * dK and dV gather from all blocks of all heads that share them, in order, so these stay with one
 * thread on the way back; forward, every block is work of its own. The arithmetic is k_gemm and
 * k_softmax on one block. */
#include <math.h>
#include <string.h>

#include "attention_blocks.h"

/* Rows of a block. Each block packs K and V anew, so fewer rows are slower: 32 rows 1.1 times with
 * 1024 keys, 8 rows twice with 4096 keys (AVX2, Zen 3). */
#define BLOCK_ROWS 64

static int64_t block_rows(const KAttention *a) { return a->t < BLOCK_ROWS ? a->t : BLOCK_ROWS; }
static int64_t blocks_of(const KAttention *a)
{
    return a->t > 0 ? (a->t + block_rows(a) - 1) / block_rows(a) : 0;
}

/* Rows of weights are filled up to whole blocks of random numbers, so that dropout of a block is
 * one call. */
static int64_t padded(int64_t keys) { return (keys + 3) / 4 * 4; }

/* One worker's memory: weights, their gradient, and the block's scaled queries. */
static int64_t worker_items(const KAttention *a)
{
    return block_rows(a) * (2 * padded(a->s) + a->k);
}

static int64_t workers(const KAttention *a, int64_t tasks)
{
    int64_t n = k_threads();
    /* waking a thread would cost more than it does */
    if (a->b * a->h * a->t * a->s * a->k < 65536) {
        n = 1;
    }
    return n < tasks ? n : tasks > 0 ? tasks : 1;
}

int64_t k_attention_work(const KAttention *a)
{
    return worker_items(a) * workers(a, a->b * a->h * a->t);
}

/* A call; all workers read it. */
typedef struct {
    const KAttention *a;
    real *y, *dq, *dk, *dv, *work;
    const real *q, *k, *v, *dy;
    bool add_q, add_k, add_v;
    int64_t workers, blocks;
} Job;

/* The part of the work that one block is: rows t0..t0+rows of a head, and the `seen` keys, of
 * number `from` on, that some of them can see. Its rows of weights have `width` items; those beyond
 * the keys are 0. kv: where K and V have the first key. */
typedef struct {
    int64_t b, h, t0, rows, from, seen, width, kv;
    const real *q, *k, *v;
    const uint32_t *k_pairs, *v_pairs;
} Block;

static Block block_of_head(const Job *job, int64_t head, int64_t number)
{
    const KAttention *a = job->a;
    Block block = { .b = head / a->h, .h = head % a->h, .t0 = number * block_rows(a) };
    block.rows = a->t - block.t0 < block_rows(a) ? a->t - block.t0 : block_rows(a);
    /* causal: the last row sees keys 0..last-1 */
    int64_t last = block.t0 + block.rows + a->s - a->t;
    block.seen = !a->causal || last > a->s ? a->s : last < 0 ? 0 : last;
    /* the first row's window; at a block of random numbers */
    int64_t from = block.t0 + 1 + a->s - a->t - a->window;
    if (a->window > 0 && from > 0) {
        block.from = from / 4 * 4;
    }
    block.seen -= block.from;
    block.width = padded(block.seen);
    block.q = job->q + block.b * a->q.b + block.h * a->q.h + block.t0 * a->q.t;
    block.kv = block.b * a->kv.b + block.h / a->group * a->kv.h + block.from * a->kv.t;
    if (a->k_pairs) {
        block.k_pairs = a->k_pairs + block.kv / 2;
        block.v_pairs = a->v_pairs + block.kv / 2;
        return block;
    }
    block.k = job->k + block.kv;
    block.v = job->v + block.kv;
    return block;
}

/* Adds the bias. What may not be seen, and what fills up the rows, becomes minus infinity, whose
 * softmax is exactly 0. */
static void hide(const KAttention *a, const Block *block, real *scores)
{
    for (int64_t i = 0; i < block->rows; i++) {
        real *row = scores + i * block->width;
        int64_t t = block->t0 + i, limit = t + 1 + a->s - a->t - block->from, end = block->seen;
        int64_t first_mask = block->b * a->mask_b + block->h * a->mask_h + t * a->mask_t +
                             block->from * a->mask_s;
        if (a->causal && limit < end) {
            end = limit > 0 ? limit : 0;
        }
        const real *bias = a->bias ? a->bias + first_mask : NULL;
        for (int64_t j = 0; bias && j < end; j++, bias += a->mask_s) {
            row[j] = *bias == (real)-INFINITY ? *bias : row[j] + *bias;
        }
        for (int64_t j = 0; a->window > 0 && j < limit - a->window; j++) {
            row[j] = (real)-INFINITY;
        }
        if (a->mask) {
            const uint8_t *seen = a->mask + first_mask;
            const uint8_t *first = end > 0 && a->mask_s == 1 ? memchr(seen, 0, (size_t)end) : NULL;
            /* padding is mostly at the end */
            int64_t j = first ? first - seen : a->mask_s == 1 ? end : 0;
            for (; j < end; j++) {
                if (!seen[j * a->mask_s]) {
                    row[j] = (real)-INFINITY;
                }
            }
        }
        for (int64_t j = end; j < block->width; j++) {
            row[j] = (real)-INFINITY;
        }
    }
}

/* w = softmax of the block's scores; scaled = scale Q. */
static void block_weights(const KAttention *a, const Block *block, real *w, real *scaled)
{
    const real scale = (real)a->scale;
    for (int64_t i = 0; i < block->rows; i++) {
        for (int64_t j = 0; j < a->k; j++) {
            scaled[i * a->k + j] = block->q[i * a->q.t + j] * scale;
        }
    }
    KGemm scores = { .tb = true, .m = block->rows, .n = block->seen, .k = a->k, .lda = a->k,
                     .ldb = a->kv.t, .ldc = block->width, .batch = 1, .bf16 = a->bf16,
                     .b_pairs = block->k_pairs };
    k_gemm(&scores, w, scaled, block->k);
    hide(a, block, w);
    k_softmax(block->rows, block->width, w, w);
}

/* y = (in place) dropout of the block's rows. Each row t of head h has random numbers of its own,
 * behind those of row t - 1. */
static void drop(const KAttention *a, const Block *block, real *y)
{
    if (a->dropout == 0) return;
    uint64_t per_row = (uint64_t)padded(a->s) / 4;
    uint64_t row = (uint64_t)((block->b * a->h + block->h) * a->t + block->t0),
             from = (uint64_t)block->from / 4;
    bool together = block->width == padded(a->s);
    int64_t calls = together ? 1 : block->rows,
            n = together ? block->rows * block->width : block->width;
    for (int64_t i = 0; i < calls; i++) {
        k_dropout(n, y + i * n, y + i * n, a->dropout, a->seed,
                  a->counter + (row + (uint64_t)i) * per_row + from, false);
    }
}

static void fetch_rows(const void *x, int64_t rows, int64_t step, int64_t bytes)
{
    enum { LINE = 64 };
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < bytes; j += LINE) {
            __builtin_prefetch((const char *)x + i * step + j, 0, 2);
        }
    }
}

/* A head's rows lie apart, so that the processor does not foresee them: asks for those of the next
 * head if a head is one block. */
static void fetch_ahead(const Job *job, int64_t head)
{
    if (job->blocks != 1) return;
    const KAttention *a = job->a;
    Block next = block_of_head(job, head, 0);
    const int64_t number = a->k_pairs ? sizeof(uint32_t) / 2 : sizeof(real);
    fetch_rows(next.q, next.rows, a->q.t * (int64_t)sizeof(real), a->k * (int64_t)sizeof(real));
    fetch_rows(a->k_pairs ? (const void *)next.k_pairs : next.k, next.seen, a->kv.t * number,
               a->k * number);
    fetch_rows(a->k_pairs ? (const void *)next.v_pairs : next.v, next.seen, a->kv.t * number,
               a->k * number);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Does a task, and prepares for the next one (that may be the same). */
static void forward_block(const Job *job, int64_t task, int64_t next, real *work)
{
    const KAttention *a = job->a;
    Block block = block_of_head(job, task / job->blocks, task % job->blocks);
    fetch_ahead(job, next);
    real *w = work, *scaled = work + 2 * block_rows(a) * padded(a->s);
    block_weights(a, &block, w, scaled);
    drop(a, &block, w);
    real *y = job->y + block.b * a->y.b + block.h * a->y.h + block.t0 * a->y.t;
    KGemm sum = { .m = block.rows, .n = a->k, .k = block.seen, .lda = block.width, .ldb = a->kv.t,
                  .ldc = a->y.t, .batch = 1, .bf16 = a->bf16, .b_pairs = block.v_pairs };
    k_gemm(&sum, y, w, block.v);
}

/* Many heads: a worker takes neighbors, whose rows are near each other and mostly its own already.
 * Few: the workers take blocks in turn, in every second round from the last worker to the first,
 * because later causal blocks are longer. */
static void forward_worker(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    const int64_t heads = job->a->b * job->a->h, tasks = heads * job->blocks,
                  workers = job->workers;
    const bool neighbors = job->blocks == 1 || heads >= 4 * workers;
    for (int64_t w = begin; w < end; w++) {
        real *work = job->work + w * worker_items(job->a);
        const int64_t last = (w + 1) * tasks / workers;
        for (int64_t task = w * tasks / workers; neighbors && task < last; task++) {
            forward_block(job, task, task + 1 < last ? task + 1 : task, work);
        }
        for (int64_t round = 0; !neighbors && round * workers < tasks; round++) {
            const int64_t task = round * workers + (round % 2 == 0 ? w : workers - 1 - w);
            if (task < tasks) {
                forward_block(job, task, task, work);
            }
        }
    }
}

void k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v,
                 real *work)
{
    Job job = { .a = a, .y = y, .q = q, .k = k, .v = v, .work = work, .blocks = blocks_of(a),
                .workers = workers(a, a->b * a->h * blocks_of(a)) };
    k_parallel(job.workers, 1, forward_worker, &job);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* A worker's memory, the weights that dropout left among it. */
static int64_t backward_items(const KAttention *a)
{
    return worker_items(a) + block_rows(a) * padded(a->s);
}

static void backward_block(const Job *job, const Block *block, bool first, real *work)
{
    const KAttention *a = job->a;
    int64_t items = block_rows(a) * padded(a->s), seen = block->seen, width = block->width;
    real *w = work, *dw = work + items, *scaled = work + 2 * items;
    const real *dy = job->dy + block->b * a->y.b + block->h * a->y.h + block->t0 * a->y.t;
    block_weights(a, block, w, scaled);

    KGemm to_weights = { .tb = true, .m = block->rows, .n = seen, .k = a->k, .lda = a->y.t,
                         .ldb = a->kv.t, .ldc = width, .batch = 1, .bf16 = a->bf16 };
    KGemm to_keys = { .ta = true, .add = job->add_k || !first, .m = seen, .n = a->k,
                      .k = block->rows, .lda = width, .ldb = a->k, .ldc = a->kv.t, .batch = 1,
                      .bf16 = a->bf16 };
    KGemm to_values = to_keys;
    to_values.ldb = a->y.t;
    to_values.add = job->add_v || !first;
    k_gemm(&to_weights, dw, dy, block->v);
    for (int64_t i = 0; i < block->rows; i++) {
        for (int64_t j = seen; j < width; j++) {
            dw[i * width + j] = 0;
        }
    }
    drop(a, block, dw);
    real *kept = w;                                 /* the values saw the weights that were left */
    if (a->dropout > 0 && job->dv) {
        kept = work + 2 * items + block_rows(a) * a->k;
        memcpy(kept, w, (size_t)(block->rows * width) * sizeof *w);
        drop(a, block, kept);
    }
    if (job->dv) {
        k_gemm(&to_values, job->dv + block->kv, kept, dy);
    }
    k_softmax_backward(block->rows, width, dw, dw, w, false);
    real *dbias = a->dbias ? a->dbias + ((block->b * a->h + block->h) * a->t + block->t0) * a->s +
                                 block->from
                           : NULL;
    for (int64_t i = 0; dbias && i < block->rows; i++) {
        memcpy(dbias + i * a->s, dw + i * width, (size_t)seen * sizeof *dw);
    }
    if (job->dk) {
        k_gemm(&to_keys, job->dk + block->kv, dw, scaled);
    }
    if (!job->dq) return;
    k_unary(K_SCALE, block->rows * width, dw, dw, a->scale, 0);
    KGemm to_queries = { .add = job->add_q, .m = block->rows, .n = a->k, .k = seen, .lda = width,
                         .ldb = a->kv.t, .ldc = a->q.t, .batch = 1, .bf16 = a->bf16 };
    k_gemm(&to_queries, job->dq + (block->q - job->q), dw, block->k);
}

/* Zero gradients for keys that the causal blocks so far leave out, so that all of them can be added
 * to. `head`: of keys. */
static void clear_head(const Job *job, int64_t head)
{
    const KAttention *a = job->a;
    int64_t heads = a->h / a->group, own = head / heads * a->kv.b + head % heads * a->kv.h;
    for (int64_t i = 0; i < a->s; i++) {
        if (job->dk && !job->add_k) {
            k_fill(a->k, job->dk + own + i * a->kv.t, 0);
        }
        if (job->dv && !job->add_v) {
            k_fill(a->k, job->dv + own + i * a->kv.t, 0);
        }
    }
}

static void backward_worker(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    const KAttention *a = job->a;
    int64_t groups = a->b * a->h / a->group;
    bool partial = a->causal || job->blocks == 0;   /* the first block does not reach every key */
    for (int64_t w = begin; w < end; w++) {
        int64_t last = (w + 1) * groups / job->workers * a->group;
        for (int64_t head = w * groups / job->workers * a->group; head < last; head++) {
            bool first = head % a->group == 0;
            fetch_ahead(job, head + 1 < last ? head + 1 : head);
            if (partial && first) {
                clear_head(job, head / a->group);
            }
            for (int64_t i = 0; i < job->blocks; i++) {
                Block block = block_of_head(job, head, i);
                backward_block(job, &block, i == 0 && first && !partial,
                               job->work + w * backward_items(a));
            }
        }
    }
}

int64_t k_attention_backward_work(const KAttention *a)
{
    return backward_items(a) * workers(a, a->b * a->h / a->group);
}

void k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv,
                          bool add_v, const real *dy, const real *q, const real *k, const real *v,
                          real *work)
{
    Job job = { .a = a, .dq = dq, .dk = dk, .dv = dv, .add_q = add_q, .add_k = add_k,
                .add_v = add_v, .dy = dy, .q = q, .k = k, .v = v, .work = work,
                .blocks = blocks_of(a), .workers = workers(a, a->b * a->h / a->group) };
    k_parallel(job.workers, 1, backward_worker, &job);
}
