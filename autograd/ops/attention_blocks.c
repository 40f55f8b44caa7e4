/* attention_blocks.c: softmax(scale Q K^T) V for every head of every sentence, and its gradients.
 *
 * The first part of this file has the mathematics. The queries of a head are taken in blocks of
 * rows, so that the weights (T x S) exist for a few rows at a time, and are never stored in full.
 * Forward, a block needs three steps: its scores are a matrix product, its weights W a softmax of
 * whole rows (block_weights), and its result is another product (forward_block). Backward computes
 * the weights of a block again, which costs one product of five and saves the memory for them
 * (backward_block):
 *
 *     dV += W^T dY,  dW = dY V^T,  dScores = W (dW - rowsum(dW W)),  dQ = dScores K scale,
 *     dK += dScores^T Q scale
 *
 * The second part divides the blocks among threads: k_attention and k_attention_backward begin
 * there. It changes no numbers, and a first reading can leave it out. */
#include <math.h>
#include <string.h>

#include "attention_blocks.h"

/* ---- the mathematics: a block ---------------------------------------------------------------- */

/* The rows of a block. k_gemm reorders K and V for each block, so smaller blocks are slower: 32
 * rows take 1.1 times as long with 1024 keys, 8 rows twice as long with 4096 keys (AVX2, Zen 3). */
#define BLOCK_ROWS 64

static int64_t block_rows(const KAttention *a) { return a->t < BLOCK_ROWS ? a->t : BLOCK_ROWS; }

/* Returns the length of a row of weights: the keys, filled up to whole blocks of four random
 * numbers, so that one call does the dropout of all rows. */
static int64_t padded(int64_t keys) { return (keys + 3) / 4 * 4; }

/* Returns the number of weights of a block, at most. */
static int64_t weight_items(const KAttention *a) { return block_rows(a) * padded(a->s); }

/* A call of k_attention or k_attention_backward. All workers read it. */
typedef struct {
    const KAttention *a;
    real *y, *dq, *dk, *dv;
    real *work;                         /* the memory of the workers, one after another */
    const real *q, *k, *v, *dy;
    bool add_q, add_k, add_v;
    int64_t workers;                    /* the number of threads that share the work */
    int64_t blocks;                     /* the number of blocks of a head */
} Job;

/* A few queries of a head, and the keys that they can see. Keys that no query of a causal block can
 * see are left out of its products. */
typedef struct {
    int64_t b, h;                       /* the sentence and the head */
    int64_t t0, rows;                   /* the block's first query, and how many it has */
    int64_t from, seen;                 /* the keys that some of its queries can see: the first one,
                                           and how many there are */
    int64_t width;                      /* the length of a row of weights: `seen`, then zeros */
    int64_t kv;                         /* where the first key is in K, and its value in V */
    const real *q, *k, *v;              /* at the first query and key */
    const uint32_t *k_pairs, *v_pairs;
} Block;

/* Returns block `number` of a head. Head i is head i % h of sentence i / h. */
static Block block_of_head(const Job *job, int64_t head, int64_t number)
{
    const KAttention *a = job->a;
    Block block = { .b = head / a->h, .h = head % a->h, .t0 = number * block_rows(a) };
    block.rows = a->t - block.t0 < block_rows(a) ? a->t - block.t0 : block_rows(a);
    int64_t end = a->s;
    if (a->causal) {                    /* the last row sees the most keys */
        end = block.t0 + block.rows + a->s - a->t;
        end = end > 0 ? end : 0;
    }
    int64_t from = block.t0 + 1 + a->s - a->t - a->window;
    if (a->window > 0 && from > 0) {    /* the first row's window begins first */
        block.from = from / 4 * 4;      /* where a block of random numbers begins */
    }
    block.seen = end - block.from;
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

/* Hides the scores of a row whose mask is 0. */
static void hide_masked(real *row, const uint8_t *seen, int64_t step, int64_t n)
{
    int64_t j = 0;
    /* Most hidden keys are padding at the end of a sentence: memchr finds the first one fast. */
    if (step == 1 && n > 0) {
        const uint8_t *first = memchr(seen, 0, (size_t)n);
        j = first ? first - seen : n;
    }
    for (; j < n; j++) {
        if (!seen[j * step]) {
            row[j] = (real)-INFINITY;
        }
    }
}

/* Adds the bias, and hides what a query may not see and what fills up the rows: these scores become
 * minus infinity, whose softmax is exactly 0. */
static void hide(const KAttention *a, const Block *block, real *scores)
{
    for (int64_t i = 0; i < block->rows; i++) {
        real *row = scores + i * block->width;
        int64_t t = block->t0 + i, end = block->seen;
        int64_t limit = t + 1 + a->s - a->t - block->from;      /* of a causal row */
        int64_t first = block->b * a->mask_b + block->h * a->mask_h + t * a->mask_t +
                        block->from * a->mask_s;
        if (a->causal && limit < end) {
            end = limit > 0 ? limit : 0;
        }
        if (a->bias) {
            const real *bias = a->bias + first;
            for (int64_t j = 0; j < end; j++, bias += a->mask_s) {
                row[j] = *bias == (real)-INFINITY ? *bias : row[j] + *bias;
            }
        }
        if (a->window > 0) {
            for (int64_t j = 0; j < limit - a->window; j++) {
                row[j] = (real)-INFINITY;
            }
        }
        if (a->mask) {
            hide_masked(row, a->mask + first, a->mask_s, end);
        }
        for (int64_t j = end; j < block->width; j++) {
            row[j] = (real)-INFINITY;
        }
    }
}

/* Computes w, the softmax of the block's scores, and scaled = scale Q. */
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

/* Returns the number of the block's first row among the rows of all heads. */
static int64_t first_row(const KAttention *a, const Block *block)
{
    return (block->b * a->h + block->h) * a->t + block->t0;
}

/* Drops items of the block's rows, in place. Each row has random numbers of its own, which follow
 * those of the row before. If the block has all keys, one call is enough. */
static void drop(const KAttention *a, const Block *block, real *y)
{
    if (a->dropout == 0) return;
    int64_t per_row = padded(a->s) / 4, calls = block->rows, n = block->width;
    if (block->width == padded(a->s)) {
        calls = 1;
        n = block->rows * block->width;
    }
    for (int64_t i = 0; i < calls; i++) {
        int64_t blocks = (first_row(a, block) + i) * per_row + block->from / 4;
        k_dropout(n, y + i * n, y + i * n, a->dropout, a->seed, a->counter + (uint64_t)blocks,
                  false);
    }
}

/* Computes y of a block. `work` has the memory of one worker. */
static void forward_block(const Job *job, const Block *block, real *work)
{
    const KAttention *a = job->a;
    real *w = work, *scaled = work + 2 * weight_items(a);
    block_weights(a, block, w, scaled);
    drop(a, block, w);
    real *y = job->y + block->b * a->y.b + block->h * a->y.h + block->t0 * a->y.t;
    KGemm sum = { .m = block->rows, .n = a->k, .k = block->seen, .lda = block->width,
                  .ldb = a->kv.t, .ldc = a->y.t, .batch = 1, .bf16 = a->bf16,
                  .b_pairs = block->v_pairs };
    k_gemm(&sum, y, w, block->v);
}

/* ---- the mathematics of backward: a block ---------------------------------------------------- */

/* Adds a block's gradients: see the head of this file. If it is the first block of K and V, it
 * writes dK and dV. */
static void backward_block(const Job *job, const Block *block, bool first, real *work)
{
    const KAttention *a = job->a;
    int64_t items = weight_items(a), seen = block->seen, width = block->width;
    real *w = work, *dw = work + items, *scaled = work + 2 * items;
    real *dropped = scaled + block_rows(a) * a->k;
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
    k_gemm(&to_weights, dw, dy, block->v);              /* dW = dY V^T */
    for (int64_t i = 0; i < block->rows; i++) {
        for (int64_t j = seen; j < width; j++) {
            dw[i * width + j] = 0;
        }
    }
    drop(a, block, dw);
    const real *kept = w;               /* V was multiplied by the weights that dropout left */
    if (a->dropout > 0 && job->dv) {
        memcpy(dropped, w, (size_t)(block->rows * width) * sizeof *w);
        drop(a, block, dropped);
        kept = dropped;
    }
    if (job->dv) {
        k_gemm(&to_values, job->dv + block->kv, kept, dy);      /* dV += W^T dY */
    }
    k_softmax_backward(block->rows, width, dw, dw, w, false);   /* dw becomes dScores */
    if (a->dbias) {
        real *dbias = a->dbias + first_row(a, block) * a->s + block->from;
        for (int64_t i = 0; i < block->rows; i++) {
            memcpy(dbias + i * a->s, dw + i * width, (size_t)seen * sizeof *dw);
        }
    }
    if (job->dk) {
        k_gemm(&to_keys, job->dk + block->kv, dw, scaled);      /* dK += dScores^T Q scale */
    }
    if (!job->dq) return;
    k_unary(K_SCALE, block->rows * width, dw, dw, a->scale, 0);
    KGemm to_queries = { .add = job->add_q, .m = block->rows, .n = a->k, .k = seen, .lda = width,
                         .ldb = a->kv.t, .ldc = a->q.t, .batch = 1, .bf16 = a->bf16 };
    k_gemm(&to_queries, job->dq + (block->q - job->q), dw, block->k);   /* dQ = dScores K scale */
}

/* ---- the division of the work: threads ------------------------------------------------------- */

static int64_t blocks_of(const KAttention *a)
{
    return a->t > 0 ? (a->t + block_rows(a) - 1) / block_rows(a) : 0;
}

/* Returns the size of one worker's memory: weights, their gradient, and the block's scaled
 * queries. */
static int64_t worker_items(const KAttention *a)
{
    return 2 * weight_items(a) + block_rows(a) * a->k;
}

/* Returns how many threads share the tasks. */
static int64_t workers(const KAttention *a, int64_t tasks)
{
    /* less work than this takes less time than to wake a thread */
    enum { SMALL = 65536 };
    if (tasks <= 1 || a->b * a->h * a->t * a->s * a->k < SMALL) return 1;
    int64_t n = k_threads();
    return n < tasks ? n : tasks;
}

/* Asks the processor to load rows of `bytes` bytes, `step` bytes apart, before they are needed. */
static void fetch_rows(const void *x, int64_t rows, int64_t step, int64_t bytes)
{
    enum { LINE = 64 };
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < bytes; j += LINE) {
            __builtin_prefetch((const char *)x + i * step + j, 0, 2);
        }
    }
}

/* Asks for the rows of the next head, if it is before `last`, the end of the worker's heads, and a
 * head is one block. The rows lie apart, so the processor does not load them early by itself. */
static void fetch_ahead(const Job *job, int64_t head, int64_t last)
{
    if (job->blocks != 1 || head >= last) return;
    const KAttention *a = job->a;
    Block next = block_of_head(job, head, 0);
    /* the bytes of a number of K or V */
    const int64_t number = a->k_pairs ? sizeof(uint32_t) / 2 : sizeof(real);
    fetch_rows(next.q, next.rows, a->q.t * (int64_t)sizeof(real), a->k * (int64_t)sizeof(real));
    const void *keys = a->k_pairs ? (const void *)next.k_pairs : next.k;
    const void *values = a->k_pairs ? (const void *)next.v_pairs : next.v;
    fetch_rows(keys, next.seen, a->kv.t * number, a->k * number);
    fetch_rows(values, next.seen, a->kv.t * number, a->k * number);
}

/* ---- forward: a worker may take any block ---------------------------------------------------- */

/* Computes a task, which is a block: the blocks of the first head, then those of the next, ... */
static void forward_task(const Job *job, int64_t task, real *work)
{
    const Block block = block_of_head(job, task / job->blocks, task % job->blocks);
    forward_block(job, &block, work);
}

/* Computes the tasks of worker w. If there are many heads, these are neighbors, whose rows are near
 * each other and mostly in its cache already. If there are few, the workers take blocks in rounds,
 * one each. Later blocks of causal attention take longer, so in every second round the last worker
 * comes first. */
static void forward_tasks(const Job *job, int64_t w)
{
    const int64_t heads = job->a->b * job->a->h, tasks = heads * job->blocks;
    const int64_t workers = job->workers;
    real *work = job->work + w * worker_items(job->a);
    if (job->blocks == 1 || heads >= 4 * workers) {
        const int64_t last = (w + 1) * tasks / workers;
        for (int64_t task = w * tasks / workers; task < last; task++) {
            fetch_ahead(job, task + 1, last);
            forward_task(job, task, work);
        }
        return;
    }
    for (int64_t round = 0; round * workers < tasks; round++) {
        const int64_t task = round * workers + (round % 2 == 0 ? w : workers - 1 - w);
        if (task < tasks) {
            forward_task(job, task, work);
        }
    }
}

static void forward_worker(void *arg, int64_t begin, int64_t end)
{
    for (int64_t w = begin; w < end; w++) {
        forward_tasks(arg, w);
    }
}

int64_t k_attention_work(const KAttention *a)
{
    return worker_items(a) * workers(a, a->b * a->h * a->t);
}

void k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v,
                 real *work)
{
    Job job = { .a = a, .y = y, .q = q, .k = k, .v = v, .work = work, .blocks = blocks_of(a),
                .workers = workers(a, a->b * a->h * blocks_of(a)) };
    k_parallel(job.workers, 1, forward_worker, &job);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Returns the size of one worker's memory, with the weights that dropout has left. */
static int64_t backward_items(const KAttention *a)
{
    return worker_items(a) + weight_items(a);
}

/* Clears the gradients of a head of keys and values before its first block, which does not reach
 * all of them if it is causal. Then every block adds. */
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

/* Computes the tasks of workers. The heads that share K and V belong to one worker, because their
 * blocks are added to dK and dV in a fixed order. */
static void backward_worker(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    const KAttention *a = job->a;
    int64_t groups = a->b * a->h / a->group;
    bool partial = a->causal || job->blocks == 0;   /* the first block does not reach every key */
    for (int64_t w = begin; w < end; w++) {
        real *work = job->work + w * backward_items(a);
        int64_t last = (w + 1) * groups / job->workers * a->group;
        for (int64_t head = w * groups / job->workers * a->group; head < last; head++) {
            bool first = head % a->group == 0;
            fetch_ahead(job, head + 1, last);
            if (partial && first) {
                clear_head(job, head / a->group);
            }
            for (int64_t i = 0; i < job->blocks; i++) {
                Block block = block_of_head(job, head, i);
                backward_block(job, &block, i == 0 && first && !partial, work);
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
