/* gemm_bf16_fma.h: the microkernels of gemm_bf16.c on ordinary vectors.
 *
 * Packed operands are floats that are rounded already, and the two products of each pair along k are computed in neighboring
 * lanes. So a pair of A is loaded at once, and the sums of the even and of the odd products are in one vector; a step of the
 * loop is like that of float32 (gemm_micro.h). A is packed as it is stored: by rows, A_LD apart; if it is transposed, by strips
 * of TILE_M rows, a vector of rows in two vectors of pairs (make_pairs). B is packed by micropanels of TILE_N columns: each
 * two rows of them in two vectors of pairs.
 * Without flush_mode.h the microkernel flushes subnormal numbers itself. Most blocks need it only where C is added to: if the
 * smallest exponents of A and of B are large enough, no sum of products can be subnormal, and no product overflows
 * (products_are_plain). */
#ifndef KAERU_GEMM_BF16_FMA_H
#define KAERU_GEMM_BF16_FMA_H

#include "flush_mode.h"
#include "gemm_common.h"

typedef float Packed;
/* A tile has TILE_M x 2 vectors of sums: 28 in 32 registers, or 12 in 16. */
enum { TILE_M = W == 16 ? 14 : 6, TILE_N = W };
enum {
    /* B's micropanel of KC x TILE_N floats fits the first-level cache. */
    KC = 256, A_LD = KC + 16, STRIP = (TILE_M + W - 1) / W * W, PACKED_TILE_A = STRIP * A_LD, PACKED_B_COLUMN = KC,
    /* So many rows of A meet all micropanels of B before the next rows do: they stay in the second-level cache. 1.04 to 1.08
     * times the speed of MC rows, with AVX2 on Zen 3. */
    NEAR_ROWS = 96 / TILE_M * TILE_M
};
enum { WHOLE_TILES = false };

/* The number of products that is computed for k. Those of the zeros that fill up the last block are left out: see
 * add_products_of_zeros. */
INLINE int64_t padded(int64_t k) { return (k + 1) / 2 * 2; }

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Pairs of an even and an odd lane. Of each four lanes, the first two are in pairs[0] and the others in pairs[1]: as the
 * instructions of x86 do it. */
INLINE void make_pairs(vf pairs[2], vf even, vf odd)
{
#if defined(__AVX512F__)
    pairs[0] = _mm512_unpacklo_ps(even, odd);
    pairs[1] = _mm512_unpackhi_ps(even, odd);
#elif defined(__AVX2__)
    pairs[0] = _mm256_unpacklo_ps(even, odd);
    pairs[1] = _mm256_unpackhi_ps(even, odd);
#else
    pairs[0] = (vf){ even[0], odd[0], even[1], odd[1] };
    pairs[1] = (vf){ even[2], odd[2], even[3], odd[3] };
#endif
}

/* The sum of each pair: even + odd, where make_pairs made the pairs. */
INLINE vf add_pairs(const vf pairs[2])
{
#if defined(__AVX512F__)
    return _mm512_shuffle_ps(pairs[0], pairs[1], 0x88) + _mm512_shuffle_ps(pairs[0], pairs[1], 0xdd);
#elif defined(__AVX2__)
    return _mm256_shuffle_ps(pairs[0], pairs[1], 0x88) + _mm256_shuffle_ps(pairs[0], pairs[1], 0xdd);
#else
    const vf a = pairs[0], b = pairs[1];
    return (vf){ a[0], a[2], b[0], b[2] } + (vf){ a[1], a[3], b[1], b[3] };
#endif
}

/* Where make_pairs puts the pair of lane i. */
INLINE int64_t place_of_pair(int64_t i) { return i / W * 2 * W + i % 4 / 2 * W + i % W / 4 * 4 + i % 2 * 2; }

INLINE int64_t packed_a_size(int64_t rows)             { return (rows + TILE_M - 1) / TILE_M * PACKED_TILE_A; }
INLINE int64_t packed_b_size(int64_t columns)          { return (columns + TILE_N - 1) / TILE_N * TILE_N * KC; }
INLINE const Packed *tile_of_a(const Tiles *t, const Packed *a, int64_t i)
{
    return a + (t->columns_of_a ? i / TILE_M * STRIP * t->k : i * A_LD);
}
INLINE const Packed *panel_of_b(const Packed *b, int64_t j, int64_t k) { return b + j * k; }

/* Packs m rows and k columns of A. */
static void pack_rows_of_a(Packed *to, const float *a, int64_t lda, int64_t m, int64_t k)
{
    for (int64_t i = 0; i < m; i++, a += lda, to += A_LD)
        for (int64_t p = 0; p < k; p += W)
            vstore(to + p, round_to_bf16(vload_left(a + p, k - p)));
}

INLINE void store_in_pairs(Packed *to, vf even, vf odd)
{
    vf pairs[2];
    make_pairs(pairs, even, odd);
    vstore(to, pairs[0]);
    vstore(to + W, pairs[1]);
}

/* Packs m rows and k columns of op(A) if A is transposed. */
static void pack_transposed_a(Packed *to, const float *a, int64_t lda, int64_t m, int64_t k)
{
    for (int64_t i = 0; i < m; i += TILE_M) {
        const float *from = a + i;
        for (int64_t p = 0; p < padded(k); p += 2, from += 2 * lda)
            for (int64_t j = 0; j < STRIP; j += W, to += 2 * W) {
                const int64_t left = m - i - j;
                store_in_pairs(to, left > 0 ? round_to_bf16(vload_left(from + j, left)) : vset(0),
                               left > 0 && p + 1 < k ? round_to_bf16(vload_left(from + j + lda, left)) : vset(0));
            }
    }
}

INLINE void pack_a(Packed *to, const KGemm *s, const float *a, int64_t m, int64_t k)
{
    if (s->ta) pack_transposed_a(to, a, s->lda, m, k);
    else pack_rows_of_a(to, a, s->lda, m, k);
}

/* Two rows of a micropanel, in floats. */
enum { TWO_ROWS = 2 * TILE_N };
INLINE void pack_two_rows(Packed *to, vf even, vf odd) { store_in_pairs(to, round_to_bf16(even), round_to_bf16(odd)); }

/* Packs a micropanel from the stored rows of B; `columns` of its columns exist. */
INLINE void pack_rows_of_b(Packed *to, const float *b, int64_t ldb, int64_t columns, int64_t k)
{
    int64_t p = 0;
    for (; p + 2 <= k; p += 2, b += 2 * ldb, to += TWO_ROWS)
        pack_two_rows(to, vload_left(b, columns), vload_left(b + ldb, columns));
    if (p < k) pack_two_rows(to, vload_left(b, columns), vset(0));
}

/* The same if B is transposed. */
INLINE void pack_transposed_b(Packed *to, const float *b, int64_t ldb, int64_t columns, int64_t k)
{
    int64_t p = 0;
    for (; p + 4 <= k; p += 4, to += 2 * TWO_ROWS) {
        vf column[4];
        load_4_columns(column, b + p, ldb, columns);
        pack_two_rows(to, column[0], column[1]);
        pack_two_rows(to + TWO_ROWS, column[2], column[3]);
    }
    for (; p < k; p += 2, to += TWO_ROWS)
        pack_two_rows(to, load_column(b + p, ldb, columns), p + 1 < k ? load_column(b + p + 1, ldb, columns) : vset(0));
}

/* The same from what k_pack_b has packed. */
INLINE void unpack_b(Packed *to, const uint32_t *from, int64_t k)
{
    for (int64_t p = 0; p < k; p += 2, from += K_PANEL, to += TWO_ROWS) {
        const vi pairs = load_pairs(from);
        store_in_pairs(to, even_rows(pairs), odd_rows(pairs));
    }
}

/* Packs columns j..j + n - 1 and rows p..p + k - 1 of op(B). Returns where the block is, and how many rows its panels have. */
static const Packed *block_of_b(Packed *room, const KGemm *s, const float *b, int64_t j, int64_t p, int64_t n, int64_t k,
                                int64_t *rows)
{
    *rows = padded(k);
    Packed *to = room;
    for (int64_t end = j + n; j < end; j += TILE_N, to += TILE_N * padded(k)) {
        if (s->packed_b) unpack_b(to, stored_part(s, j / K_PANEL * K_PANEL, p) + j % K_PANEL, k);
        else if (s->tb) pack_transposed_b(to, b + j * s->ldb + p, s->ldb, end - j, k);
        else pack_rows_of_b(to, b + p * s->ldb + j, s->ldb, end - j, k);
    }
    return room;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

#if defined(HAVE_FLUSH_MODE)

INLINE bool products_are_plain(const Tiles *t, int64_t m, int64_t n, const Packed *a, const Packed *b)
{
    (void)t, (void)m, (void)n, (void)a, (void)b;
    return true;
}
INLINE void add_product(vf *sum, vf a, vf b, bool plain) { (void)plain; vadd_product(sum, a, b); }

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
        add_exponents((m + TILE_M - 1) / TILE_M * STRIP * t->k, a, &least_a, &greatest_a);
    for (int64_t i = 0; !t->columns_of_a && i < m; i++)
        add_exponents(t->k, a + i * A_LD, &least_a, &greatest_a);
    add_exponents((n + TILE_N - 1) / TILE_N * TILE_N * t->k, b, &least_b, &greatest_b);
    return least_a + least_b - 2 * BIAS - 2 * BITS >= SMALLEST && greatest_a + greatest_b - 2 * BIAS < LARGEST &&
           greatest_a <= 2 * BIAS && greatest_b <= 2 * BIAS;
}

/* See bf16_result. */
INLINE vd flush_result(vd x)
{
    const vl sign = vlset((uint64_t)1 << 63), bits = (vl)x;
    const vl tiny = (vl)((vd)(bits & ~sign) < vdset(0x1p-126 - 0x1p-151));
    return (vd)(bits & (~tiny | sign));
}

INLINE void add_product(vf *sum, vf a, vf b, bool plain)
{
    if (plain)
        *sum = *sum + a * b;
    else
        *sum = vjoin(flush_result(vlow(a) * vlow(b) + vlow(*sum)), flush_result(vhigh(a) * vhigh(b) + vhigh(*sum)));
}

#endif

/* ---- microkernels ------------------------------------------------------------------------------------------------ */

/* C = A B or C += A B for a tile. */
typedef void Microkernel(bool add, const Packed *a, const Packed *b, int64_t k, float *c, int64_t ldc);

/* Two numbers, in every pair of lanes. As an integer: some pairs are no normal double. */
INLINE vf vset_pair(const float *p)
{
    uint64_t pair;
    memcpy(&pair, p, sizeof pair);
    return (vf)vlset(pair);
}

/* Adds an even and an odd product to the sums. */
INLINE void multiply_2(vf sum[TILE_M][2], int rows, bool columns_of_a, bool plain, const Packed *a, const Packed *b)
{
    const vf row[2] = { vload(b), vload(b + W) };
    UNROLL
    for (int i = 0; i < rows; i++) {
        const vf x = vset_pair(a + (columns_of_a ? place_of_pair(i) : i * A_LD));
        UNROLL
        for (int j = 0; j < 2; j++)
            add_product(&sum[i][j], x, row[j], plain);
    }
}

INLINE void tile(int rows, bool columns_of_a, bool plain, bool add, const Packed *a, const Packed *b, int64_t k, float *c,
                 int64_t ldc)
{
    for (int64_t p = 0; p < k; p += BLOCK, add = true) {
        const int64_t products = min(BLOCK, k - p);
        vf sum[TILE_M][2];
        UNROLL
        for (int i = 0; i < rows; i++)
            sum[i][0] = sum[i][1] = vset(0);
        int64_t q = 0;
#define STEP() (multiply_2(sum, rows, columns_of_a, plain, a, b), q += 2, a += columns_of_a ? 2 * STRIP : 2, b += 2 * W)
        /* AVX2 on Zen 3: 1.05 times the speed of one step at once. Elsewhere gcc would keep sums on the stack. */
        while (W == 8 && q + 8 <= products)
            STEP(), STEP(), STEP(), STEP();
        while (q < products)
            STEP();
#undef STEP
        UNROLL
        for (int i = 0; i < rows; i++) {
            if (add && products < BLOCK)
                sum[i][0] = add_products_of_zeros(sum[i][0]), sum[i][1] = add_products_of_zeros(sum[i][1]);
            float *to = c + i * ldc;
            const vf before = add ? vflush_result(vload(to)) : vset(0);
            vstore(to, vflush_result(before + vflush_result(add_pairs(sum[i]))));
        }
    }
}

#if defined(__AVX512F__)
#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif
#define MICROKERNEL(rows, layout, columns_of_a)                                                                 \
    static void layout##_##rows(bool add, const Packed *a, const Packed *b, int64_t k, float *c, int64_t ldc)   \
    {                                                                                                           \
        tile(rows, columns_of_a, true, add, a, b, k, c, ldc);                                                   \
    }
#define MICROKERNELS(rows) MICROKERNEL(rows, by_rows, false) MICROKERNEL(rows, by_columns, true)
EACH_HEIGHT(MICROKERNELS)
#define BY_ROWS(rows)    by_rows_##rows,
#define BY_COLUMNS(rows) by_columns_##rows,
static Microkernel *const plain_kernels[2][TILE_M] = { { EACH_HEIGHT(BY_ROWS) }, { EACH_HEIGHT(BY_COLUMNS) } };

#if !defined(HAVE_FLUSH_MODE)
static void exact_by_rows(bool add, const Packed *a, const Packed *b, int64_t k, float *c, int64_t ldc)
{
    tile(1, false, false, add, a, b, k, c, ldc);
}
static void exact_by_columns(bool add, const Packed *a, const Packed *b, int64_t k, float *c, int64_t ldc)
{
    tile(1, true, false, add, a, b, k, c, ldc);
}
#endif

/* A tile of at most TILE_M x TILE_N; rows of C have room for whole vectors. */
INLINE void multiply_tile(const Tiles *t, int64_t rows, int64_t columns, const Packed *a, const Packed *b, float *c)
{
    (void)columns;
#if !defined(HAVE_FLUSH_MODE)
    Microkernel *exact = t->columns_of_a ? exact_by_columns : exact_by_rows;
    for (int64_t i = 0; !t->plain && i < rows; i++)
        exact(t->add, a + (t->columns_of_a ? place_of_pair(i) : i * A_LD), b, t->k, c + i * t->ldc, t->ldc);
    if (!t->plain) return;
#endif
    plain_kernels[t->columns_of_a][rows - 1](t->add, a, b, t->k, c, t->ldc);
}

INLINE void begin_tiles(void) {}
INLINE void end_tiles(void) {}

#endif
