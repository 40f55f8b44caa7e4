/* gemm_bf16_fma.h: the microkernels of gemm_bf16.c on ordinary vectors.
 *
 * Packed operands are floats that are rounded already. A is packed as it is stored: by rows, A_LD apart; if it is transposed,
 * by columns of STRIP rows, which take W floats each. B is packed by micropanels of TILE_N columns, each row by row. A tile has
 * two sums for each element of C: of the even and of the odd products.
 * Without flush_mode.h the microkernel flushes subnormal numbers itself. Most blocks need it only where C is added to: if the
 * smallest exponents of A and of B are large enough, no sum of products can be subnormal, and no product overflows
 * (products_are_plain). */
#ifndef KAERU_GEMM_BF16_FMA_H
#define KAERU_GEMM_BF16_FMA_H

#include <float.h>

#include "flush_mode.h"
#include "gemm_load.h"

typedef float Packed;
#if defined(__AVX512F__)
enum { TILE_M = 7, VECS = 2 };          /* 2 x 14 sums in 32 registers */
#else
enum { TILE_M = 3, VECS = 2 };          /* 2 x 6 in 16 */
#endif
/* KC: B's micropanel of KC x TILE_N floats fits the first-level cache. */
enum { TILE_N = VECS * W, KC = 256, A_LD = KC + 16, PACKED_TILE_A = W * A_LD, PACKED_B_COLUMN = KC };
enum { STRIP = W / TILE_M * TILE_M, WHOLE_TILES = false, READS_STORED_B = false };

/* The number of products that is computed for k. Those of the zeros that fill up the last block are left out: see
 * add_products_of_zeros. */
INLINE int64_t padded(int64_t k) { return (k + 1) / 2 * 2; }

/* ---- packing ----------------------------------------------------------------------------------------------------- */

INLINE int64_t packed_rows(int64_t rows)               { return rows; }
INLINE int64_t packed_a_size(int64_t rows)             { return (rows + STRIP - 1) / STRIP * W * KC; }
INLINE int64_t packed_b_size(int64_t columns)          { return (columns + TILE_N - 1) / TILE_N * TILE_N * KC; }
INLINE const Packed *tile_of_a(const Tiles *t, const Packed *a, int64_t i)
{
    return t->columns_of_a ? a + i / STRIP * W * t->k + i % STRIP : a + i * A_LD;
}
INLINE const Packed *panel_of_b(const Packed *b, int64_t j, int64_t k) { return b + j * k; }

/* Elements p..p + W - 1 of row i. */
INLINE void pack_row(Packed *a, int64_t k, int64_t i, int64_t p, vf x)
{
    (void)k;
    vstore(a + i * A_LD + p, x);
}

/* Packs m rows and k columns of op(A) if A is transposed. */
static void pack_transposed_a(Packed *to, const float *a, int64_t lda, int64_t m, int64_t k)
{
    for (int64_t i = 0; i < m; i += STRIP) {
        const float *from = a + i;
        for (int64_t p = 0; p < padded(k); p++, from += lda, to += W)
            vstore(to, p < k ? round_to_bf16(vload_left(from, m - i)) : vset(0));
    }
}

/* Columns j..j + W - 1 of the micropanel, rows p and p + 1. */
INLINE void pack_two_rows(Packed *panel, int64_t k, int64_t p, int64_t j, vf even, vf odd)
{
    (void)k;
    vstore(panel + p * TILE_N + j, even);
    vstore(panel + (p + 1) * TILE_N + j, odd);
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

#if defined(HAVE_FLUSH_MODE)

INLINE bool products_are_plain(const Tiles *t, int64_t m, int64_t n, const Packed *a, const Packed *b)
{
    (void)t, (void)m, (void)n, (void)a, (void)b;
    return true;
}
INLINE vf flush(vf x)                               { return x; }
INLINE vf multiply_add(vf a, vf b, vf c, bool plain) { (void)plain; return vfma(a, b, c); }

#else

/* The biased exponents of the numbers that are not 0. */
static void add_exponents(int64_t n, const Packed *x, int *least, int *greatest)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        const int exponent = bits >> 23 & 0xff;
        if (exponent > 0 && exponent < *least) *least = exponent;
        if (exponent > *greatest) *greatest = exponent;
    }
}

/* All sums of products are multiples of 2^(least exponent of A and of B - 2 x 7). */
static bool products_are_plain(const Tiles *t, int64_t m, int64_t n, const Packed *a, const Packed *b)
{
    enum { BIAS = 127, SMALLEST = -126, LARGEST = 126, BITS = 7 };
    int least_a = 2 * BIAS, least_b = 2 * BIAS, greatest_a = 0, greatest_b = 0;
    if (t->columns_of_a)
        add_exponents((m + STRIP - 1) / STRIP * W * t->k, a, &least_a, &greatest_a);
    for (int64_t i = 0; !t->columns_of_a && i < m; i++)
        add_exponents(t->k, a + i * A_LD, &least_a, &greatest_a);
    add_exponents((n + TILE_N - 1) / TILE_N * TILE_N * t->k, b, &least_b, &greatest_b);
    return least_a + least_b - 2 * BIAS - 2 * BITS >= SMALLEST && greatest_a + greatest_b - 2 * BIAS < LARGEST &&
           greatest_a <= 2 * BIAS && greatest_b <= 2 * BIAS;
}

INLINE vf flush(vf x)
{
    const vi bits = vbits(x);
    return vfrom_bits(viselect(vlt(vabs(x), vset(FLT_MIN)), bits & viset(INT32_MIN), bits));
}

/* See bf16_result. */
INLINE vd flush_result(vd x)
{
    const vl sign = vlset((uint64_t)1 << 63), bits = (vl)x;
    const vl tiny = (vl)((vd)(bits & ~sign) < vdset(0x1p-126 - 0x1p-151));
    return (vd)(bits & (~tiny | sign));
}

INLINE vf multiply_add(vf a, vf b, vf c, bool plain)
{
    if (plain)
        return c + a * b;
    return vjoin(flush_result(vlow(a) * vlow(b) + vlow(c)), flush_result(vhigh(a) * vhigh(b) + vhigh(c)));
}

#endif

/* ---- microkernels ------------------------------------------------------------------------------------------------ */

/* C = A B or C += A B for a tile. */
typedef void Microkernel(bool add, const Packed *a, const Packed *b, int64_t k, float *c, int64_t ldc);

/* Adds an even and an odd product to the sums. */
INLINE void multiply_2(vf sum[2][TILE_M * VECS], int rows, int vecs, bool plain, const Packed *a, int64_t a_row, int64_t a_k,
                       const Packed *b)
{
    UNROLL
    for (int odd = 0; odd < 2; odd++) {
        vf row[VECS];
        UNROLL
        for (int j = 0; j < vecs; j++)
            row[j] = vload(b + odd * TILE_N + j * W);
        UNROLL
        for (int i = 0; i < rows; i++) {
            const vf x = vset(a[i * a_row + odd * a_k]);
            UNROLL
            for (int j = 0; j < vecs; j++)
                sum[odd][i * vecs + j] = multiply_add(x, row[j], sum[odd][i * vecs + j], plain);
        }
    }
}

INLINE void tile(int rows, int vecs, bool columns_of_a, bool plain, bool add, const Packed *a, const Packed *b, int64_t k,
                 float *c, int64_t ldc)
{
    const int64_t a_row = columns_of_a ? 1 : A_LD, a_k = columns_of_a ? W : 1;
    for (int64_t p = 0; p < k; p += BLOCK, add = true) {
        const int64_t products = min(BLOCK, k - p);
        vf sum[2][TILE_M * VECS];
        UNROLL
        for (int i = 0; i < rows * vecs; i++)
            sum[0][i] = sum[1][i] = vset(0);
        int64_t q = 0;
#define STEP() (multiply_2(sum, rows, vecs, plain, a + (p + q) * a_k, a_row, a_k, b), q += 2, b += 2 * TILE_N)
        /* AVX2 on Zen 3: 1.05 times the speed of one step at once. With 32 registers gcc would keep sums on the stack. */
        while (W < 16 && q + 8 <= products)
            STEP(), STEP(), STEP(), STEP();
        while (q < products)
            STEP();
#undef STEP
        UNROLL
        for (int i = 0; i < rows; i++)
            UNROLL
            for (int j = 0; j < vecs; j++) {
                float *to = c + i * ldc + j * W;
                const vf before = add ? flush(vload(to)) : vset(0);
                if (add && products < BLOCK)
                    sum[0][i * vecs + j] = add_products_of_zeros(sum[0][i * vecs + j]);
                vstore(to, flush(before + flush(sum[0][i * vecs + j] + sum[1][i * vecs + j])));
            }
    }
}

#if defined(__AVX512F__)
#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#else
#define EACH_HEIGHT(X) X(1) X(2) X(3)
#endif
#define MICROKERNEL(rows, vecs, layout, columns_of_a)                                                              \
    static void layout##_##rows##x##vecs(bool add, const Packed *a, const Packed *b, int64_t k, float *c, int64_t ldc) \
    {                                                                                                           \
        tile(rows, vecs, columns_of_a, true, add, a, b, k, c, ldc);                                               \
    }
#define MICROKERNELS(rows)                                                      \
    MICROKERNEL(rows, 1, by_rows, false) MICROKERNEL(rows, 2, by_rows, false)   \
    MICROKERNEL(rows, 1, by_columns, true) MICROKERNEL(rows, 2, by_columns, true)
EACH_HEIGHT(MICROKERNELS)
#define BY_ROWS(rows)    { by_rows_##rows##x1, by_rows_##rows##x2 },
#define BY_COLUMNS(rows) { by_columns_##rows##x1, by_columns_##rows##x2 },
static Microkernel *const plain_kernels[2][TILE_M][VECS] = { { EACH_HEIGHT(BY_ROWS) }, { EACH_HEIGHT(BY_COLUMNS) } };

#if !defined(HAVE_FLUSH_MODE)
static void exact_by_rows(bool add, const Packed *a, const Packed *b, int64_t k, float *c, int64_t ldc)
{
    tile(1, 1, false, false, add, a, b, k, c, ldc);
}
static void exact_by_columns(bool add, const Packed *a, const Packed *b, int64_t k, float *c, int64_t ldc)
{
    tile(1, 1, true, false, add, a, b, k, c, ldc);
}
#endif

/* A tile of at most TILE_M x TILE_N; rows of C have room for whole vectors. */
INLINE void multiply_tile(const Tiles *t, int64_t rows, int64_t columns, const Packed *a, const Packed *b, float *c)
{
#if !defined(HAVE_FLUSH_MODE)
    Microkernel *exact = t->columns_of_a ? exact_by_columns : exact_by_rows;
    for (int64_t i = 0; !t->plain && i < rows; i++)
        for (int64_t j = 0; j < columns; j += W)
            exact(t->add, a + i * (t->columns_of_a ? 1 : A_LD), b + j, t->k, c + i * t->ldc + j, t->ldc);
    if (!t->plain)
        return;
#endif
    plain_kernels[t->columns_of_a][rows - 1][(columns - 1) / W](t->add, a, b, t->k, c, t->ldc);
}

INLINE void begin_tiles(void) {}
INLINE void end_tiles(void) {}

#endif
