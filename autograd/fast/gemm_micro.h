/* gemm_micro.h: the microkernels of the matrix product: each computes a tile of C in registers.
 *
 * A tile has `rows` rows and `vecs` vectors of columns. Each step along k loads vecs vectors of B, broadcasts one element of A
 * per row, and does rows * vecs fused multiply-adds into separate registers (a rank-1 update). With AVX-512, fourteen rows by
 * two vectors keep both multipliers busy (28 independent sums, 16 loads) and leave registers for A and B.
 *
 * The number of rows is a compile-time constant, so that the sums stay in registers. There is a microkernel for every height up
 * to MR: m rows are cut into tiles of nearly equal height, and no tile computes rows that are not needed. */
#ifndef KAERU_GEMM_MICRO_H
#define KAERU_GEMM_MICRO_H

#include "gemm_common.h"

/* EACH_WIDE: with up to three rows tiles are wider, because longer reads of the rows of B are faster. 1024 columns and
 * k = 1024, against two vectors: 1 row 2.05, 2 rows 1.23, 3 rows 1.14. */
#if defined(__AVX512F__)
enum { MR = 14, NV = 2 };       /* 28 of 32 registers */
#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define EACH_WIDTH(X, rows) X(rows, 1) X(rows, 2)
#define EACH_WIDE(X) X(1, 16, B_ROWS) X(2, 8, B_STREAMED) X(3, 8, B_STREAMED)
/* Two vectors at once of a transposed B, measured as in gemm.c. 4 x 1024 x 260: 1.12; 10 rows: 1.15; 3 rows with B in memory:
 * 0.90. If ldb is a multiple of 256, they are slower: 8 x 1024 x 256: 0.80; 11 x 768 x 768: 0.85. */
#define EACH_HEIGHT_OF_TWO_COLUMNS(X) X(4) X(5) X(6) X(7) X(8) X(9) X(10)
#elif defined(__AVX2__) && defined(__FMA__)
enum { MR = 6, NV = 2 };        /* 12 of 16 */
#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define EACH_WIDTH(X, rows) X(rows, 1) X(rows, 2)
#define EACH_WIDE(X) X(1, 8, B_STREAMED) X(2, 4, B_STREAMED) X(3, 4, B_STREAMED)
#else
enum { MR = 4, NV = 4 };        /* 16 of NEON's 32 */
#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4)
#define EACH_WIDTH(X, rows) X(rows, 1) X(rows, 2) X(rows, 3) X(rows, 4)
#define EACH_WIDE(X) X(1, 8, B_STREAMED) X(2, 8, B_STREAMED) X(3, 4, B_STREAMED)
#endif
#if !defined(EACH_HEIGHT_OF_TWO_COLUMNS)
#define EACH_HEIGHT_OF_TWO_COLUMNS(X)
#endif
enum {
    NR = NV * W,
    MAX_VECS = 16,
    /* Up to this k, a transposed B is prefetched into the first-level cache. 1 x 1024 x 128: 1.10; 1 x 1024 x 256: 1.16;
     * 1 x 1024 x 500: 1.00; 4 x 1024 x 260: 0.93. */
    L1_K = 256
};

/* The arguments of a microkernel. Element (i, p) of op(A) is a[i * a_row + p * a_k]. The last vector of C has `last` columns.
 * Every fourth step along k prefetches one cache line, at `ahead`, which advances by ahead_step. */
typedef struct {
    const float *a, *b, *ahead;
    float *c;
    int64_t k, a_row, a_k, ldb, ldc, ahead_step;
    int last;
    bool add;
} Tile;

typedef void Microkernel(const Tile *t);

/* The layout of A: by columns (packed), by rows, or any. The layout of B: by rows (B_ROWS, B_STREAMED, B_MASKED) or by columns
 * (transposed). B_STREAMED is for a matrix that is read once: the microkernel prefetches the columns to the right. With
 * B_MASKED, the last vector is partial. Without FAST_FMA, unrolled steps and microkernels of their own for each layout gain
 * nothing, and take long to compile: those of one size are equal for all layouts except a transposed B, and gcc keeps one. */
typedef enum { A_COLUMNS, A_ROWS, A_ANY } LayoutA;
typedef enum { B_ROWS, B_STREAMED, B_MASKED, B_COLUMNS } LayoutB;

/* One step along k: a rank-1 update of the tile. */
INLINE void rank_1_update(vf *sum, int rows, int vecs, const float *a, int64_t a_row, const vf *b)
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        vf x = vset(a[i * a_row]);
        UNROLL
        for (int j = 0; j < vecs; j++)
            vadd_product(&sum[i * vecs + j], x, b[j]);
    }
}

/* Adds all k products to the sums; B by rows. */
INLINE void multiply_b_rows(vf *sum, const Tile *t, int rows, int vecs, int64_t a_row, int64_t a_k, LayoutB layout_b)
{
    const float *a = t->a, *b = t->b, *ahead = t->ahead;
    const int64_t ldb = t->ldb, ahead_step = t->ahead_step, last = t->last;
    int64_t p = t->k;
#define STEP()                                                                                              \
    do {                                                                                                    \
        vf row[MAX_VECS];                                                                                   \
        UNROLL                                                                                              \
        for (int j = 0; j < vecs; j++) {                                                                    \
            row[j] = layout_b == B_MASKED && j == vecs - 1 ? vload_n(b + j * W, last) : vload(b + j * W);   \
            if (FAST_FMA && layout_b == B_STREAMED && j * W % 16 == 0)                                      \
                __builtin_prefetch(b + (vecs + j) * W, 0, 2);                                               \
        }                                                                                                   \
        rank_1_update(sum, rows, vecs, a, a_row, row);                                                      \
        a += a_k;                                                                                           \
        b += ldb;                                                                                           \
    } while (0)
    for (; FAST_FMA && p >= 4; p -= 4) {
        if (layout_b == B_ROWS) __builtin_prefetch(ahead, 0, 2);
        ahead += ahead_step;
        UNROLL
        for (int u = 0; u < 4; u++)
            STEP();
    }
    NO_UNROLL
    for (; p > 0; p--)
        STEP();
#undef STEP
}

/* The same with B transposed: loads four elements of each stored row of B at a time. Meanwhile it prefetches the rows that the
 * next tile reads, one line of a quarter of the rows at a time, so with small m this runs at the speed of the memory. Up to
 * k = L1_K, these rows fit into the first-level cache and are prefetched into it. rest: of load_rest, if k % 4 > 0. */
INLINE void multiply_b_columns(vf *sum, const Tile *t, const float *rest, int rows, int vecs, int64_t last, int64_t a_row,
                               int64_t a_k)
{
    const float *a = t->a, *b = t->b;
    const int64_t k = t->k, ldb = t->ldb;
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
        const float *ahead = b + vecs * (W + p % 16 * W / 16) * ldb + p;
        UNROLL
        for (int j = 0; j < vecs * W / 4; j++, ahead += ldb)
            if (k <= L1_K) __builtin_prefetch(ahead, 0, 3);
            else __builtin_prefetch(ahead, 0, 2);
        vf column[2][4];
        UNROLL
        for (int j = 0; j < vecs; j++)
            load_4_columns(column[j], b + j * W * ldb + p, ldb, j < vecs - 1 ? W : last);
        UNROLL
        for (int q = 0; q < 4; q++, a += a_k) {
            vf row[2] = { column[0][q], column[vecs - 1][q] };
            rank_1_update(sum, rows, vecs, a, a_row, row);
        }
    }
    NO_UNROLL
    for (; p < k; p++, a += a_k, rest += vecs * W) {
        const vf row[2] = { vload(rest), vload(rest + (vecs - 1) * W) };
        rank_1_update(sum, rows, vecs, a, a_row, row);
    }
}

/* The last k % 4 rows of a transposed B: a function of its own, and before there are sums, which a call would spill. */
__attribute__((noinline)) static void load_rest(float rest[3 * 2 * W], const Tile *t, int vecs)
{
    for (int64_t p = t->k - t->k % 4; p < t->k; p++)
        for (int j = 0; j < vecs; j++, rest += W)
            vstore(rest, load_column(t->b + j * W * t->ldb + p, t->ldb, j < vecs - 1 ? W : t->last));
}

INLINE void store_tile(float *c, int64_t ldc, const vf *sum, int rows, int vecs, int64_t last, bool add)
{
    UNROLL
    for (int i = 0; i < rows; i++, c += ldc) {
        UNROLL
        for (int j = 0; j < vecs; j++) {
            const int64_t columns = j < vecs - 1 ? W : last;
            vf x = sum[i * vecs + j];
            if (add) x = vload_masked(c + j * W, columns) + x;
            vstore_masked(c + j * W, x, columns);
        }
    }
}

INLINE void tile(const Tile *t, int rows, int vecs, LayoutA layout_a, LayoutB layout_b)
{
    const int64_t a_row = FAST_FMA && layout_a == A_COLUMNS ? 1 : t->a_row;
    const int64_t a_k = FAST_FMA && layout_a == A_ROWS ? 1 : t->a_k;
    const int64_t ldc = t->ldc, last = t->last;
    const bool add = t->add;
    float *c = t->c;
    float rest[3 * 2 * W];
    if (layout_b == B_COLUMNS && t->k % 4 > 0) load_rest(rest, t, vecs);
    vf sum[MR * NV];
    UNROLL
    for (int i = 0; i < rows; i++)
        UNROLL
        for (int j = 0; j < vecs; j++) {
            sum[i * vecs + j] = vset(0);
            if (add) __builtin_prefetch(c + i * ldc + j * W, 0, 2);
        }
    if (layout_b == B_COLUMNS && last == W) multiply_b_columns(sum, t, rest, rows, vecs, W, a_row, a_k);
    else if (layout_b == B_COLUMNS) multiply_b_columns(sum, t, rest, rows, vecs, last, a_row, a_k);
    else multiply_b_rows(sum, t, rows, vecs, a_row, a_k, layout_b);
    if (add) store_tile(c, ldc, sum, rows, vecs, last, true);
    else store_tile(c, ldc, sum, rows, vecs, last, false);
}

/* ---- the microkernels, by height and width ------------------------------------------------------------------------ */

#define MICROKERNEL(name, rows, vecs, layout_a, layout_b)             \
    static void name##_##rows##x##vecs(const Tile *t)           \
    {                                                           \
        tile(t, rows, vecs, layout_a, layout_b);                    \
    }
#define MICROKERNELS_OF_SIZE(rows, vecs)                             \
    MICROKERNEL(columns_by_rows, rows, vecs, A_COLUMNS, B_ROWS)   \
    MICROKERNEL(rows_by_rows, rows, vecs, A_ROWS, B_ROWS)
#define MICROKERNELS_OF_HEIGHT(rows)                                 \
    EACH_WIDTH(MICROKERNELS_OF_SIZE, rows)                           \
    EACH_WIDTH(STREAMING_MICROKERNELS, rows)                         \
    MICROKERNEL(masked, rows, 1, A_ANY, B_MASKED)             \
    MICROKERNEL(columns, rows, 1, A_ANY, B_COLUMNS)
#define STREAMING_MICROKERNELS(rows, vecs) MICROKERNEL(streaming, rows, vecs, A_ANY, B_STREAMED)
EACH_HEIGHT(MICROKERNELS_OF_HEIGHT)

/* For up to WIDE_ROWS rows: wide[rows - 1]. */
#define WIDE_KERNEL(rows, vecs, layout_b) MICROKERNEL(wide, rows, vecs, A_ANY, layout_b)
EACH_WIDE(WIDE_KERNEL)
#define WIDE(rows, vecs, layout_b) { wide_##rows##x##vecs, vecs },
enum { WIDE_ROWS = 3 };
static const struct { Microkernel *kernel; int vecs; } wide[WIDE_ROWS] = { EACH_WIDE(WIDE) };

/* by_rows[0: A by columns, 1: A by rows][rows - 1][vecs - 1] */
#define BY_COLUMNS_SIZE(rows, vecs) columns_by_rows_##rows##x##vecs,
#define BY_ROWS_SIZE(rows, vecs)    rows_by_rows_##rows##x##vecs,
#define BY_COLUMNS(rows) { EACH_WIDTH(BY_COLUMNS_SIZE, rows) },
#define BY_ROWS(rows)    { EACH_WIDTH(BY_ROWS_SIZE, rows) },
static Microkernel *const by_rows[2][MR][NV] = { { EACH_HEIGHT(BY_COLUMNS) }, { EACH_HEIGHT(BY_ROWS) } };

/* streaming[rows - 1][vecs - 1]; masked_kernels and by_columns [rows - 1] */
#define STREAMING_SIZE(rows, vecs) streaming_##rows##x##vecs,
#define STREAMING(rows)  { EACH_WIDTH(STREAMING_SIZE, rows) },
static Microkernel *const streaming[MR][NV] = { EACH_HEIGHT(STREAMING) };
#define CUT(rows) masked_##rows##x1,
static Microkernel *const masked_kernels[MR] = { EACH_HEIGHT(CUT) };
#define COLUMNS(rows) columns_##rows##x1,
static Microkernel *const by_columns[MR] = { EACH_HEIGHT(COLUMNS) };

/* Two vectors at once, if B is transposed. NULL for heights where this is not faster: great ones need too many registers. */
#define TWO_COLUMNS_KERNEL(rows) MICROKERNEL(columns, rows, 2, A_ANY, B_COLUMNS)
EACH_HEIGHT_OF_TWO_COLUMNS(TWO_COLUMNS_KERNEL)
#define TWO_COLUMNS(rows) [rows - 1] = columns_##rows##x2,
static Microkernel *const by_two_columns[MR] = { EACH_HEIGHT_OF_TWO_COLUMNS(TWO_COLUMNS) [MR - 1] = NULL };

#endif
