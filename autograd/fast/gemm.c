/* gemm.c: the matrix product C = op(A) op(B), with an optional epilogue (bias and activation).
 *
 * The algorithm is that of Goto and van de Geijn (2008), with the loop names of BLIS but in another order. Five loops surround
 * the microkernel (gemm_micro.h), which computes a tile of C of at most MR x NR in registers. From the outermost:
 *     ic  MC rows of C              gemm_loops (gemm_pass.h)
 *     pc  KC products along k       gemm_loops; packs MC x KC of A (2 MB)
 *     jc  NC columns of C           gemm_loops; packs KC x NC of B (512 KB)
 *     ir  tiles of up to MR rows    compute_part
 *     jr  tiles of up to NR columns compute_part
 * kernels.h fixes the order of the sums: blocks of KC products, added in order. Another KC would change the last bits.
 *
 * Packing copies a block into the order in which the microkernel reads it. It pays if the block is read several times, or if
 * its rows are far apart in memory. A product with few rows reads A and B where they are; with one row this is a
 * matrix-vector product at the speed of the memory.
 *
 * Threads compute a large product together (gemm_pass.h), or each one computes rectangles of C or matrices of a batch. k is
 * never split between threads, so the number of threads does not change a result. */
#include "gemm_common.h"
#include "scratch.h"
#include "gemm_pack.h"
#include "gemm_micro.h"

/* Sizes and limits, in elements. Right of each are the measurements that it follows from, for products of m x n x k on one core
 * of an AMD EPYC (Zen 5 with AVX-512; "AVX2": Zen 3). A and B were in the cache, or B in memory ("mem"). After a limit, a
 * number is the speed of the method that is used up to it, divided by the speed of the other method. After a size, it is the
 * speed with this size, divided by the speed with the other one. */
enum {
    KC = K_GEMM_BLOCK,          /* products in a block of a sum: kernels.h fixes it, another one changes the last bits */
    LINE = 16,                  /* floats in a cache line */
    MC = 1024,                  /* rows of A packed at once, 2 MB     4096x1024x1024: 1.10 against 2048, 0.99 against 512 */
    NC = 256,                   /* columns of B packed, 512 KB     256x1024x1024: 1.05 against 512, 2048x2048x2048: 0.95 */
    STREAM_K = KC,              /* rows of B in a pass of gemm_small_m     4x512x2048: 1.12 against 1024, 1.52 against all */
    SMALL_N_ROWS = 256,         /* rows of C at once in gemm_small_n, 14 KB     1024x1x512, A transposed: 2.6 against 128, 1.00
                                 * against 512 */
    TOGETHER = 64,              /* a product that threads compute together has at least so many rows and columns ... */
    TOGETHER_WORK = 1 << 22,    /* and multiply-adds for each thread     16 threads, AMX: GPT-2 1.04, in bfloat16 1.09 */
    WORK_PER_THREAD = 1 << 18,  /* multiply-adds, 10 us     two threads: 64x64x100: 0.95, 64x64x128: 1.01, 64x80x128: 1.25 */

    /* limits of gemm_small_m, which reads A and B in place */
    TINY_SIZE = 64,             /* n and k, with m < W: no choice of a method     8x32x32: 1.10, 1x64x64: 1.14, 8x96x96: 1.01 */
    SMALL_M = W == 16 ? 2 * MR : 3 * MR,
                                /* mem 28x512x512: 1.13, m = 42: 1.09; both in the cache: 0.92
                                 * AVX2: mem 18x768x768: 1.09, m = 24: 1.00; 16x640x640: 1.13, 20x768x300: 0.89 */
    ALIASED_LD = 1024,          /* rows of A or B so far apart, or a multiple of it, share cache sets: then ALIASED_... hold
                                 * B in place, 128x256x512: 0.94 with ldb 1024, 1.07 with ldb 512 */
    ALIASED_B_SMALL_M = W == 16 ? SMALL_M : MR,
                                /* AVX2: 6x1024x256: 1.00, m = 8: 0.66; mem 12x1024x1024: 0.74 */
    ALIASED_SMALL_M = W == 16 ? 3 : MR,
                                /* B transposed, k >= ALIASED_LD     mem 3x256x1024: 1.08; 4x1024x1024: 0.39, mem: 0.55
                                 * AVX2: a limit of 3, 4x4096x1024: 0.82 */

    /* limits of n % W, if m >= W, for gemm_small_n */
    SMALL_N = W * 5 / 8,        /* 2000x10x200: 1.13, n = 11: 0.93; 15x8x512: 1.15, m = 12: 0.89 */
    SMALL_N_TRANSPOSED_A = W == 16 ? 13 : SMALL_N,
                                /* 2000x13x200: 1.23, n = 15: 0.94     AVX2: a limit of 6, 3072x70x128: 0.73 */
    ALIASED_SMALL_N = W == 16 ? 3 : SMALL_N,
                                /* k >= ALIASED_LD     B transposed, 512x3x1024: 1.15, n = 4: 0.66     AVX2: 64x4x1024: 0.69 */

    /* limits of n, for A in place: beyond them it is packed */
    UNPACKED_A_MAX_N = 512,     /* 512x256x500: 1.04, 512x512x768: 1.02, n = 1500: 0.98 */
    ALIASED_A_MAX_N = 128,      /* 512x128x1024: 1.04, n = 256: 0.99; in some runs 0.67 for both */
    TRANSPOSED_A_MAX = 64,      /* 512x64x512: 1.17, n = 128: 1.07, 4096x256x512: 0.97. Also a limit of m, for B in place:
                                 * 64x1024x1024: 1.04, m = 80: 0.98 */

    /* limits of m, for B in place. Never with narrower vectors: a tile reads one cache line of each row. AVX2:
     * 64x768x768: 0.67, 64x128x512: 0.89, mem 512x768x50257: 0.57; a small B, 24x100x100: 1.10 */
    UNPACKED_B_MAX_M = 512,     /* 42x768x128: 1.22, m = 128: 1.06, m = 512: 1.01, m = 1000: 0.96 */
    ALIASED_B_MAX_M = 4 * MR    /* 42x1024x1024: 1.16, m = 56: 1.09, 128x256x512: 0.94 */
};

/* ---- small m: A and B are read in place --------------------------------------------------------------------------- */

/* The microkernel for the next of `left` columns. It computes *vecs vectors, of which the last one has *last columns. */
static Microkernel *choose_microkernel(const KGemm *s, int rows, int64_t left, int *vecs, int *last)
{
    const bool two_columns = s->tb && s->m == rows && by_two_columns[rows - 1] && left > W;
    *vecs = two_columns ? 2 : 1;
    *last = (int)min(W, left - (*vecs - 1) * W);
    if (s->tb) return two_columns ? by_two_columns[rows - 1] : by_columns[rows - 1];
    if (left < W) return masked_kernels[rows - 1];
    if (s->m <= WIDE_ROWS && left >= wide[rows - 1].vecs * W) {
        *vecs = wide[rows - 1].vecs;
        return wide[rows - 1].kernel;
    }
    *vecs = (int)min(NV, left / W);
    return streaming[rows - 1][*vecs - 1];
}

/* Computes a tile from the products p..p + length - 1 along k, or from those that remain. If k is 0, the tile is 0. */
static void run_microkernel(Microkernel *kernel, Tile *t, const KGemm *s, const float *a, const float *b, int64_t p,
                          int64_t length)
{
    const int64_t end = min(p + length, s->k);
    do {
        t->k = min(KC, end - p);
        t->a = a + p * t->a_k;
        t->b = b + p * (s->tb ? 1 : s->ldb);
        kernel(t);
        t->add = true;
        p += KC;
    } while (p < end);
}

/* Reads B from the first column to the last, which is the fastest order for the memory. If B is not transposed, each pass over
 * the columns reads only STREAM_K rows, so that prefetched lines are still in the cache when they are used. */
static void gemm_small_m(const KGemm *s, float *c, const float *a, const float *b)
{
    Tile t = { .a_row = s->ta ? 1 : s->lda, .a_k = s->ta ? s->lda : 1, .ldb = s->ldb, .ldc = s->ldc };
    const RowTiles cut = tile_rows(s->m);
    const int64_t length = s->tb ? s->k : STREAM_K;
    int64_t p = 0;
    do {
        const bool end = p + length >= s->k;
        for (int64_t j = 0, columns = 0; j < s->n; j += columns) {
            for (int64_t i = 0, tile = 0; tile < cut.tiles; tile++) {
                const int rows = tile_height(cut, (int)tile);
                int vecs;
                Microkernel *kernel = choose_microkernel(s, rows, s->n - j, &vecs, &t.last);
                columns = (vecs - 1) * W + t.last;
                t.c = c + i * s->ldc + j;
                t.add = s->add || p > 0;
                run_microkernel(kernel, &t, s, a + i * t.a_row, b + j * (s->tb ? s->ldb : 1), p, length);
                i += rows;
            }
            if (end && has_epilogue(s))
                epilogue(s, s->m, columns, c + j, shift(s->bias, j), shift_out(s->pre, j));
        }
        p += length;
    } while (p < s->k);
}

/* ---- small n ----------------------------------------------------------------------------------------------------- */

/* For the last n % W columns, which fill only a part of a vector: computes the transpose of C, SMALL_N_ROWS of its columns at a
 * time, and transposes the result. */
static void gemm_small_n(const KGemm *s, float *c, const float *a, const float *b)
{
    _Alignas(64) float transposed_c[MR * SMALL_N_ROWS];
    KGemm flipped = { .ta = !s->tb, .tb = !s->ta, .add = s->add, .bf16 = s->bf16, .m = s->n, .k = s->k, .lda = s->ldb,
                      .ldb = s->lda, .ldc = SMALL_N_ROWS, .batch = 1 };
    for (int64_t i = 0; i < s->m; i += SMALL_N_ROWS) {
        const int64_t rows = flipped.n = min(SMALL_N_ROWS, s->m - i);
        float *c_rows = c + i * s->ldc;
        for (int64_t j = 0; s->add && j < rows; j += W)
            pack_transposed(transposed_c + j, SMALL_N_ROWS, c_rows + j * s->ldc, s->ldc, min(W, rows - j), s->n);
        const float *rows_of_a = a + i * (s->ta ? 1 : s->lda);
        if (s->bf16) k_gemm_bf16(&flipped, transposed_c, b, rows_of_a);
        else gemm_small_m(&flipped, transposed_c, b, rows_of_a);
        for (int64_t j = 0; j < rows; j += 4) {
            vf row[4];
            load_4_columns(row, transposed_c + j, SMALL_N_ROWS, s->n);
            for (int64_t q = 0; q < 4 && j + q < rows; q++)
                store_finished(s->act, c_rows + (j + q) * s->ldc, row[q], s->n, s->bias,
                               shift_out(s->pre, (i + j + q) * s->ldc));
        }
    }
}

/* ---- packed products ---------------------------------------------------------------------------------------------- */

typedef float Packed;
enum { ROW_UNIT = MR, COLUMN_UNIT = NR };
#include "gemm_pass.h"

/* A block of A or B before packing: rows of `floats` elements, ld apart. */
typedef struct { const float *from; int64_t rows, floats, ld; } Block;

/* The block of op(B) with at most `columns` columns from j on and at most KC rows from p on. */
static Block block_of_b(const KGemm *s, const float *b, int64_t j, int64_t p, int64_t columns)
{
    const int64_t n = min(columns, s->n - j), k = min(KC, s->k - p);
    return s->tb ? (Block){ b + j * s->ldb + p, n, k, s->ldb } : (Block){ b + p * s->ldb + j, k, n, s->ldb };
}

/* Makes the microkernel prefetch part number `call` of the next block: one cache line of each of k / 4 rows. */
static void prefetch_part(Tile *t, const Block *next, int64_t call)
{
    const int64_t lines = (next->floats + LINE - 1) / LINE, rows = t->k / 4;
    t->ahead = t->b;
    t->ahead_step = 0;
    if (lines == 0) return;
    const int64_t row = call / lines * rows;
    if (row < next->rows) {
        t->ahead = next->from + row * next->ld + call % lines * LINE;
        t->ahead_step = next->ld;
    }
}

/* Packing may write up to W floats beyond the end of a part, so the parts are W floats apart. */
static float *packed_rows(const Pass *pass, int64_t i) { return pass->packed_a + i * pass->k + i / pass->rows * W; }

static void pack_part_of_a(const Pass *pass, int64_t i, int64_t m)
{
    pack_a(packed_rows(pass, i), pass->s, place_in_a(pass, i), m, pass->k);
}

static void pack_part_of_b(const Pass *pass, int64_t j, int64_t n)
{
    const Block from = block_of_b(pass->s, pass->b, pass->j + j, pass->p, n);
    pack_b(pass->packed_b + j * pass->k, pass->s, from.from, n, pass->k);
}

/* The block of B that this thread reads after this one, if it computes the whole product. */
static Block next_block(const Pass *pass)
{
    const KGemm *s = pass->s;
    const int64_t j = pass->j + pass->columns;
    if (s->threads > 1) return (Block){ 0 };
    if (j < s->n) return block_of_b(s, pass->b, j, pass->p, pass->columns);
    return pass->p + KC < s->k ? block_of_b(s, pass->b, 0, pass->p + KC, pass->columns) : (Block){ 0 };
}

/* Computes all tiles of a part. The microkernels prefetch the next rows of A, if those are contiguous, and then the next block
 * of B. If the sums are complete after this, the epilogue runs while they are in the cache. */
static void compute_part(const Pass *pass, int64_t i, int64_t j, int64_t m, int64_t n)
{
    const KGemm *s = pass->s;
    const bool a_is_packed = pass->packed_a, b_is_packed = pass->packed_b;
    const int64_t place = (pass->i + i) * s->ldc + pass->j + j;
    const RowTiles cut = tile_rows(m);
    const Block next = next_block(pass);
    const float *b = b_is_packed ? pass->packed_b + j * pass->k : block_of_b(s, pass->b, pass->j + j, pass->p, n).from;
    float *c = pass->c + place, *pre = shift_out(s->pre, place);
    Tile t = { .a = a_is_packed ? packed_rows(pass, i) : place_in_a(pass, i), .a_row = s->ta ? 1 : s->lda,
               .a_k = s->ta ? s->lda : 1, .ldc = s->ldc, .k = pass->k, .add = s->add || pass->p > 0 };
    int64_t call = 0;
    for (int tile = 0; tile < cut.tiles; tile++) {
        const int rows = tile_height(cut, tile);
        Microkernel *const *kernels = by_rows[!a_is_packed && !s->ta][rows - 1];
        Block next_a = { 0 };
        if (a_is_packed)
            t.a_row = 1, t.a_k = rows;
        else if (tile + 1 < cut.tiles && t.a_row == t.k)
            next_a = (Block){ t.a + rows * t.k, rows * t.k / LINE, LINE, LINE };
        for (int64_t column = 0, columns; column < n; column += columns) {
            columns = min(NR, n - column);
            if (!b_is_packed && columns > W)
                columns -= columns % W;             /* whole vectors; the partial one comes next */
            const int64_t vecs = (columns + W - 1) / W;
            t.last = (int)(columns - (vecs - 1) * W);
            t.b = b + (b_is_packed ? column * t.k : column);
            t.ldb = b_is_packed ? vecs * W : s->ldb;
            t.c = c + column;
            const int64_t part = column / NR;
            if (part * (t.k / 4) < next_a.rows) prefetch_part(&t, &next_a, part);
            else prefetch_part(&t, &next, call++);
            (t.last < W && !b_is_packed ? masked_kernels[rows - 1] : kernels[vecs - 1])(&t);
        }
        if (pass->p + pass->k == s->k && has_epilogue(s)) {
            epilogue(s, rows, n, c, shift(s->bias, pass->j + j), pre);
            pre = shift_out(pre, rows * s->ldc);
        }
        t.a += a_is_packed ? rows * t.k : rows * t.a_row;
        c += rows * s->ldc;
    }
}

/* Without scratch memory: A in place, and B packed NR columns at a time on the stack. */
__attribute__((noinline)) static void gemm_without_scratch(const KGemm *s, float *c, const float *a, const float *b)
{
    _Alignas(64) float panel[NR * KC];
    gemm_loops((Pass){ .s = s, .c = c, .a = a, .b = b, .packed_b = panel }, MC, NR, KC, NR);
}

/* The largest m for gemm_small_m, which reads B in place. With B transposed against packed, 14 x 768 x 768: 1.25 with B in
 * memory, 0.87 in the cache; 15 x 128 x 128: 0.80. Short rows stay in place: 8 x 8 x 64 with ldb 1024, B in memory: 1.67. */
static int64_t small_m(const KGemm *s)
{
    if (!s->tb) return s->ldb % ALIASED_LD == 0 ? ALIASED_B_SMALL_M : SMALL_M;
    return s->ldb % ALIASED_LD == 0 && s->k >= ALIASED_LD && s->n > NR ? ALIASED_SMALL_M : MR;
}

static void gemm_by_size(const KGemm *s, float *c, const float *a, const float *b)
{
    enum { A_FLOATS = MC * KC + (MC / MR + 2) * W };
    if (s->m <= small_m(s)) {
        gemm_small_m(s, c, a, b);
        return;
    }
    const bool packs_a = s->n > (s->ta ? TRANSPOSED_A_MAX : s->lda % ALIASED_LD == 0 ? ALIASED_A_MAX_N : UNPACKED_A_MAX_N);
    const bool packs_b = s->tb || W < 16 ||
                         s->m > (s->ta ? TRANSPOSED_A_MAX : s->ldb % ALIASED_LD == 0 ? ALIASED_B_MAX_M : UNPACKED_B_MAX_M);
    const int64_t columns = columns_of_pass(s, NC), slices = slices_of_pass(s);
    Pass pass = { .s = s, .c = c, .a = a, .b = b, .a_items = A_FLOATS, .b_items = columns * KC };
    if (packs_a || packs_b) {
        float *memory = k_scratch((size_t)(slices * (pass.a_items + pass.b_items)) * sizeof *memory);
        if (!memory) {
            gemm_without_scratch(s, c, a, b);
            return;
        }
        if (packs_a) pass.packed_a = memory + slices * pass.b_items;
        if (packs_b) pass.packed_b = memory;
    }
    gemm_loops(pass, MC, columns, slices * KC, NC);
}

/* The part of a product with columns j..j + n - 1. */
static KGemm column_part(const KGemm *s, int64_t j, int64_t n)
{
    KGemm part = *s;
    part.n = n;
    part.bias = shift(s->bias, j);
    part.pre = shift_out(s->pre, j);
    return part;
}

/* The largest n % W for gemm_small_n. */
static int64_t small_n(const KGemm *s)
{
    if (s->ta) return SMALL_N_TRANSPOSED_A;
    return s->lda % ALIASED_LD == 0 && s->k >= ALIASED_LD ? ALIASED_SMALL_N : SMALL_N;
}

static void gemm_whole(const KGemm *s, float *c, const float *a, const float *b)
{
    if (s->bf16 && s->n <= SMALL_N && s->m > s->n && !s->packed_b && !s->b_pairs) {
        gemm_small_n(s, c, a, b);
        return;
    }
    if (s->bf16) {
        k_gemm_bf16(s, c, a, b);                    /* through the table: AMX has one of its own */
        return;
    }
    const int64_t rest = s->n % W, whole = s->n - rest;
    if (rest == 0 || rest > small_n(s) || s->m < W || s->threads > 1) {
        gemm_by_size(s, c, a, b);
        return;
    }
    KGemm part = column_part(s, whole, rest);
    gemm_small_n(&part, c + whole, a, b + whole * (s->tb ? s->ldb : 1));
    if (whole > 0) {
        part = column_part(s, 0, whole);
        gemm_by_size(&part, c, a, b);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Each matrix of the batch is split into `down` x `across` rectangles. */
typedef struct { const KGemm *s; float *c; const float *a, *b; int64_t down, across; } Job;

static void thread_task(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    for (int64_t item = begin; item < end; item++) {
        KGemm s = *job->s;
        const int64_t matrix = item / (job->down * job->across), inside = item % (job->down * job->across);
        const int64_t down = inside / job->across, across = inside % job->across;
        const int64_t i = s.m * down / job->down, j = (s.n + NR - 1) / NR * across / job->across * NR;
        const int64_t next_j = (s.n + NR - 1) / NR * (across + 1) / job->across * NR;
        s.m = s.m * (down + 1) / job->down - i;
        s.n = min(s.n, next_j) - j;
        s.bias = shift(s.bias, j);
        s.pre = shift_out(s.pre, matrix * s.step_c + i * s.ldc + j);
        if (s.packed_b) s.packed_b += s.tb ? k_packed_items(j, s.k) : j / 2 * K_PANEL;
        if (s.b_pairs) s.b_pairs += (s.tb ? j * s.ldb : j) / 2;
        if (s.m > 0 && s.n > 0)
            gemm_whole(&s, job->c + matrix * s.step_c + i * s.ldc + j,
                       job->a + matrix * s.step_a + (s.ta ? i : i * s.lda),
                       shift(job->b, matrix * s.step_b + (s.tb ? j * s.ldb : j)));
    }
}

/* Splits a matrix into at most `parts` rectangles so that the largest one costs least. */
static void split_matrix(Job *job, int64_t parts)
{
    const int64_t panels = (job->s->n + NR - 1) / NR;
    int64_t least = INT64_MAX;
    for (int64_t down = 1; down <= parts; down++) {
        const int64_t across = min(panels, parts / down);
        const int64_t rows = (job->s->m + down - 1) / down, panels_wide = (panels + across - 1) / across;
        const int64_t cost = 8 * rows * panels_wide + 2 * rows + 2 * NR * panels_wide;         /* the last two terms: packing */
        if (cost < least) {
            least = cost;
            job->down = down;
            job->across = across;
        }
    }
}

/* The work of one matrix in multiply-adds. The 4 stands for reading B, which takes most of the time if m is small. */
static double work_of(const KGemm *s) { return (double)(s->m + 4) * (double)s->n * (double)s->k; }

static void gemm_threads(const KGemm *s, float *c, const float *a, const float *b)
{
    const double work = work_of(s), enough = WORK_PER_THREAD;
    if (s->batch == 1 && work < 2 * enough) {
        gemm_whole(s, c, a, b);
        return;
    }
    const int64_t threads = k_threads();
    if (threads > 1 && s->batch == 1 && !s->b_pairs && min(s->m, s->n) >= TOGETHER && work >= (double)threads * TOGETHER_WORK) {
        KGemm together = *s;
        together.threads = threads;
        gemm_whole(&together, c, a, b);
        return;
    }
    Job job = { s, c, a, b, 1, 1 };
    if (s->batch % threads != 0 && s->batch < 4 * threads)
        split_matrix(&job, (int64_t)fmax(1, fmin((double)threads, work / enough)));
    const int64_t items = s->batch * job.down * job.across;
    k_parallel(items, (int64_t)fmin(ceil(enough / (work / (double)(job.down * job.across) + 1)), (double)items),
               thread_task, &job);
}

/* Whether the product is so small that choosing a method would take longer than computing it. */
static bool is_tiny(const KGemm *s)
{
    return !s->bf16 && s->batch == 1 && s->m > 0 && s->m < W && s->n > 0 && s->n <= TINY_SIZE && s->k > 0 && s->k <= TINY_SIZE;
}

void ISA(gemm)(const KGemm *shape, real *c, const real *a, const real *b)
{
    if (is_tiny(shape)) {
        gemm_small_m(shape, c, a, b);
        return;
    }
    if (shape->batch <= 0 || shape->m <= 0 || shape->n <= 0 || (shape->k <= 0 && shape->add)) return;
    if (shape->batch == 1) {
        gemm_threads(shape, c, a, b);
        return;
    }
    KGemm s = *shape;
    if (s.step_b == 0 && !s.ta && s.step_a == s.m * s.lda && s.step_c == s.m * s.ldc) {
        s.m *= s.batch;                             /* one product with all rows */
        s.batch = 1;
    }
    if (s.step_c != 0 || s.batch == 1) {
        gemm_threads(&s, c, a, b);
        return;
    }
    const int64_t batch = s.batch;                  /* all products have the same C, so they are computed in turn */
    s.batch = 1;
    for (int64_t i = 0; i < batch; i++)
        gemm_threads(&s, c, a + i * s.step_a, b + i * s.step_b);
}
