/* gemm_bf16_vectors.h: the microkernels of gemm_bf16.c on vectors.
 *
 * An item of a packed operand is a float that is rounded already. With AVX-512's VDPBF16PS it is two numbers in bfloat16, k and
 * k + 2: the instruction adds first the product of the upper halves to a sum, then that of the lower halves, and flushes
 * subnormal numbers as AMX does. (With its usual pairs of k and k + 1 the order of the sums would be another one.)
 * An item of even k and the next one of odd k are a pair: a step of STEP numbers along k. The products of a pair are computed
 * in neighboring lanes. So a pair of A is loaded at once, and the sums of the even and of the odd products are in one vector; a
 * step of the loop is like that of float32 (gemm_micro.h). A is packed by rows, A_LD apart; if it is transposed, by strips of
 * TILE_M rows, a vector of rows in two vectors of pairs (make_pairs). B is packed by micropanels of TILE_N columns: each STEP
 * rows of them in two vectors of pairs.
 * With EMULATED_AVX512_BF16 the instruction is two multiply-adds, so that the tests can run it on any processor.
 * Without flush_mode.h the microkernel flushes subnormal numbers itself. Most blocks need it only where C is added to: if the
 * smallest exponents of A and of B are large enough, no sum of products can be subnormal, and no product overflows
 * (products_are_plain). */
#ifndef KAERU_GEMM_BF16_VECTORS_H
#define KAERU_GEMM_BF16_VECTORS_H

#include "bf16.h"
#include "flush_mode.h"
#include "gemm_common.h"

typedef float Packed;                   /* an item */
#if defined(__AVX512BF16__) || defined(EMULATED_AVX512_BF16)
#define DOT_PRODUCTS
enum { ITEM = 2 };                      /* numbers in an item */
#else
enum { ITEM = 1 };
#endif
/* A tile has TILE_M x 2 vectors of sums: 28 in 32 registers, or 12 in 16. */
enum { STEP = 2 * ITEM, TILE_M = W == 16 ? 14 : 6, TILE_N = W };
enum {
    /* B's micropanel of KC / ITEM x TILE_N items fits the first-level cache. */
    KC = 256 * ITEM, PACKED_B_COLUMN = KC / ITEM, A_LD = PACKED_B_COLUMN + 16, STRIP = (TILE_M + W - 1) / W * W,
    PACKED_TILE_A = STRIP * A_LD,
    /* So many rows of A meet all micropanels of B before the next rows do: they stay in the second-level cache. 1.04 to 1.08
     * times the speed of MC rows, with AVX2 on Zen 3. */
    NEAR_ROWS = 96 / TILE_M * TILE_M,
    NC = 256                            /* columns of B packed at once */
};

/* Only AMX's microkernel writes past the caches. */
INLINE bool is_streamed(const KGemm *s, const float *c) { return (void)s, (void)c, false; }

/* The number of products that is computed for k. Those of the zeros that fill up the last block are left out: see
 * add_products_of_zeros. */
INLINE int64_t padded(int64_t k) { return (k + STEP - 1) / STEP * STEP; }

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Pairs of an even and an odd lane. Of each four lanes, the first two are in pairs[0] and the others in pairs[1]: as the
 * instructions of x86 do it. */
INLINE void make_pairs(vf pairs[2], vf even, vf odd)
{
#if defined(X86)
    pairs[0] = X86(unpacklo_ps)(even, odd);
    pairs[1] = X86(unpackhi_ps)(even, odd);
#else
    pairs[0] = (vf){ even[0], odd[0], even[1], odd[1] };
    pairs[1] = (vf){ even[2], odd[2], even[3], odd[3] };
#endif
}

/* The sum of each pair: even + odd, where make_pairs made the pairs. */
INLINE vf add_pairs(const vf pairs[2])
{
#if defined(X86)
    return X86(shuffle_ps)(pairs[0], pairs[1], 0x88) + X86(shuffle_ps)(pairs[0], pairs[1], 0xdd);
#else
    const vf a = pairs[0], b = pairs[1];
    return (vf){ a[0], a[2], b[0], b[2] } + (vf){ a[1], a[3], b[1], b[3] };
#endif
}

/* Where make_pairs puts the pair of lane i. */
INLINE int64_t place_of_pair(int64_t i) { return i / W * 2 * W + i % 4 / 2 * W + i % W / 4 * 4 + i % 2 * 2; }

INLINE int64_t packed_a_size(int64_t rows)             { return (rows + TILE_M - 1) / TILE_M * PACKED_TILE_A; }
INLINE int64_t packed_b_size(int64_t columns)          { return (columns + TILE_N - 1) / TILE_N * TILE_N * PACKED_B_COLUMN; }
INLINE int64_t place_of_row(const Tiles *t, int64_t i)
{
    return t->columns_of_a ? i / TILE_M * STRIP * t->k / ITEM : i * A_LD;
}
INLINE int64_t place_of_column(int64_t j, int64_t k) { return j * k / ITEM; }

#if defined(DOT_PRODUCTS)

/* The items of rows p and p + 2, which are row[0] and row[2]. */
INLINE vf item(const vf *row) { return vfrom_bits(round_to_pairs(row[2], row[0])); }

/* The items along a stored row, of which n numbers exist. */
INLINE vf items_of_row(const float *x, int64_t n)
{
    const vf low = vload_left(x, n), high = n > W ? vload_left(x + W, n - W) : vset(0);
#if defined(__AVX512BF16__)
    const __m512i order = _mm512_set4_epi32(0x0b0a0f0e, 0x09080d0c, 0x03020706, 0x01000504);
    return (vf)_mm512_shuffle_epi8((__m512i)_mm512_cvtne2ps_pbh(high, low), order);
#else
    float number[2 * W];
    uint32_t items[W];
    vstore(number, round_to_bf16(low));
    vstore(number + W, round_to_bf16(high));
    for (int i = 0; i < W; i++)
        items[i] = bf16_pair(number[i / 2 * 4 + i % 2 + 2], number[i / 2 * 4 + i % 2]);
    return vload((const float *)items);
#endif
}

/* The items of STEP rows that k_pack_b has packed, of the even and of the odd ones. */
INLINE void unpack_step(vf items[2], const uint32_t *from)
{
    const vi first = load_pairs(from), second = load_pairs(from + K_PANEL);
    items[0] = vfrom_bits(first << 16 | (second & viset(0xffff)));
    items[1] = vfrom_bits((first & viset((int32_t)0xffff0000)) | vshr(second, 16));
}

#else

INLINE vf item(const vf *row)                           { return round_to_bf16(row[0]); }
INLINE vf items_of_row(const float *x, int64_t n)       { return round_to_bf16(vload_left(x, n)); }
INLINE void unpack_step(vf items[2], const uint32_t *from)
{
    items[0] = even_rows(load_pairs(from));
    items[1] = odd_rows(load_pairs(from));
}

#endif

/* Packs m rows and k columns of A. The processor does not foresee where the next rows are: with prefetches, here and for B, a
 * product of 1024 x 1024 x 1024 has 1.03 times the speed (AVX2 on Zen 3). */
static void pack_rows_of_a(Packed *to, const float *a, int64_t lda, int64_t m, int64_t k)
{
    for (int64_t i = 0; i < m; i++, a += lda, to += A_LD)
        for (int64_t p = 0; p < k; p += W * ITEM) {
            __builtin_prefetch(a + 2 * lda + p);
            vstore(to + p / ITEM, items_of_row(a + p, k - p));
        }
}

INLINE void store_in_pairs(Packed *to, vf even, vf odd)
{
    vf pairs[2];
    make_pairs(pairs, even, odd);
    vstore(to, pairs[0]);
    vstore(to + W, pairs[1]);
}

/* Packs one step: STEP rows, W columns. */
INLINE void pack_step(Packed *to, const vf row[STEP]) { store_in_pairs(to, item(row), item(row + 1)); }

/* The same for rows ld apart in memory, of which k exist; the others are 0. */
INLINE void pack_step_from(Packed *to, const float *from, int64_t ld, int64_t columns, int64_t k)
{
    vf row[STEP];
    UNROLL
    for (int q = 0; q < STEP; q++)
        row[q] = q < k ? vload_left(from + q * ld, columns) : vset(0);
    pack_step(to, row);
}

/* Packs m rows and k columns of op(A) if A is transposed. Memory is faster for long reads along its rows. */
static void pack_transposed_a(Packed *to, const float *a, int64_t lda, int64_t m, int64_t k)
{
    for (int64_t p = 0; p < k; p += STEP, a += STEP * lda, to += 2 * STRIP)
        for (int64_t i = 0; i < m; i += TILE_M)
            for (int64_t j = 0; j < STRIP; j += W)
                pack_step_from(to + i / TILE_M * STRIP * padded(k) / ITEM + 2 * j, a + i + j, lda, m - i - j,
                               m > i + j ? k - p : 0);
}

INLINE void pack_a(Packed *to, const KGemm *s, const float *a, int64_t m, int64_t k)
{
    if (s->ta) pack_transposed_a(to, a, s->lda, m, k);
    else pack_rows_of_a(to, a, s->lda, m, k);
}

/* Packs n columns of B from its stored rows. */
static void pack_rows_of_b(Packed *to, const float *b, int64_t ldb, int64_t n, int64_t k)
{
    for (int64_t p = 0; p < k; p += STEP, b += STEP * ldb, to += 2 * W)
        for (int64_t j = 0; j < n; j += W) {
            for (int q = 0; q < STEP; q++)
                __builtin_prefetch(b + (q + STEP) * ldb + j);
            pack_step_from(to + j * padded(k) / ITEM, b + j, ldb, n - j, k - p);
        }
}

/* Packs a micropanel if B is transposed; `columns` of its columns exist. */
INLINE void pack_transposed_b(Packed *to, const float *b, int64_t ldb, int64_t columns, int64_t k)
{
    int64_t p = 0;
    vf column[4];
    for (; p + 4 <= k; p += 4) {
        load_4_columns(column, b + p, ldb, columns);
        for (int q = 0; q < 4; q += STEP, to += 2 * W)
            pack_step(to, column + q);
    }
    for (; p < k; p += STEP, to += 2 * W) {
        for (int q = 0; q < STEP; q++)
            column[q] = p + q < k ? load_column(b + p + q, ldb, columns) : vset(0);
        pack_step(to, column);
    }
}

/* The same from what k_pack_b has packed. */
INLINE void unpack_b(Packed *to, const uint32_t *from, int64_t k)
{
    for (int64_t p = 0; p < k; p += STEP, from += ITEM * K_PANEL, to += 2 * W) {
        vf items[2];
        unpack_step(items, from);
        store_in_pairs(to, items[0], items[1]);
    }
}

/* The same if B is not transposed. */
INLINE void turn_and_unpack_b(Packed *to, const KGemm *s, int64_t j, int64_t p, int64_t k)
{
    for (; k > 0; k -= K_PANEL, p += K_PANEL, to += K_PANEL / ITEM * TILE_N) {
        uint32_t part[K_PANEL / 2][K_PANEL];
        turn_part(part, s, j, p, W);
        unpack_b(to, *part, min(k, K_PANEL));
    }
}

/* Only AMX's microkernel reads what k_pack_b has packed. */
INLINE bool is_in_place(const KGemm *s) { return (void)s, false; }

/* Packs columns j..j + n - 1 and rows p..p + k - 1 of op(B). */
static void pack_columns(Packed *to, const KGemm *s, const float *b, int64_t j, int64_t p, int64_t n, int64_t k)
{
    if (!s->packed_b && !s->tb) {
        pack_rows_of_b(to, b + p * s->ldb + j, s->ldb, n, k);
        return;
    }
    for (int64_t end = j + n; j < end; j += TILE_N, to += TILE_N * padded(k) / ITEM) {
        if (s->packed_b && !s->tb) turn_and_unpack_b(to, s, j, p, k);
        else if (s->packed_b) unpack_b(to, stored_part(s, j / K_PANEL * K_PANEL, p) + j % K_PANEL, k);
        else pack_transposed_b(to, b + j * s->ldb + p, s->ldb, end - j, k);
    }
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

#if defined(HAVE_FLUSH_MODE)

INLINE void add_product(vf *sum, vf a, vf b, bool plain) { (void)plain; vadd_product(sum, a, b); }

#else

#define CHECKS_PRODUCTS                 /* for products_are_plain */

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
    if (ITEM > 1) return false;
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

/* A plain product is exact, so a multiply-add gives the same sum. */
INLINE void add_product(vf *sum, vf a, vf b, bool plain)
{
    if (plain && FAST_FMA)
        vadd_product(sum, a, b);
    else if (plain)
        *sum = *sum + a * b;
    else
        *sum = vjoin(flush_result(vlow(a) * vlow(b) + vlow(*sum)), flush_result(vhigh(a) * vhigh(b) + vhigh(*sum)));
}

#endif

/* The same for all products of two items. */
INLINE void add_products(vf *sum, vf a, vf b, bool plain)
{
#if defined(__AVX512BF16__)
    (void)plain;
    *sum = _mm512_dpbf16_ps(*sum, (__m512bh)a, (__m512bh)b);
#elif defined(DOT_PRODUCTS)
    add_product(sum, odd_rows(vbits(a)), odd_rows(vbits(b)), plain);
    add_product(sum, even_rows(vbits(a)), even_rows(vbits(b)), plain);
#else
    add_product(sum, a, b, plain);
#endif
}

/* ---- microkernels ------------------------------------------------------------------------------------------------ */

/* C = A B or C += A B for a tile of which so many columns exist. */
typedef void Microkernel(const Tiles *t, int64_t columns, const Packed *a, const Packed *b, float *c);

/* Two items, in every pair of lanes. As an integer: some pairs are no normal double. */
INLINE vf vset_pair(const float *p)
{
    uint64_t pair;
    memcpy(&pair, p, sizeof pair);
    return (vf)vlset(pair);
}

/* Adds the products of a step to the sums. */
INLINE void multiply_step(vf sum[TILE_M][2], int rows, bool columns_of_a, bool plain, const Packed *a, const Packed *b)
{
    const vf row[2] = { vload(b), vload(b + W) };
    UNROLL
    for (int i = 0; i < rows; i++) {
        const vf x = vset_pair(a + (columns_of_a ? place_of_pair(i) : i * A_LD));
        UNROLL
        for (int j = 0; j < 2; j++)
            add_products(&sum[i][j], x, row[j], plain);
    }
}

/* The sums of whole blocks are added to a copy of C: rows of C may lie apart so that they have one place in the first-level
 * cache, and it has fewer lines there than a tile has rows. */
INLINE void tile(int rows, bool columns_of_a, bool plain, const Tiles *t, int64_t columns, const Packed *a, const Packed *b,
                 float *c)
{
    vf copy[TILE_M];
    UNROLL                                          /* else gcc uses `rep stos`, which is slow for so few bytes */
    for (int i = 0; i < rows; i++)
        copy[i] = vset(0);
    const int added = t->add ? rows : 0;
    NO_UNROLL
    for (int i = 0; i < added; i++)
        copy[i] = vload_masked(c + i * t->ldc, columns);
    for (int64_t p = 0; p < t->k; p += BLOCK) {
        const int64_t products = min(BLOCK, t->k - p);
        vf sum[TILE_M][2];
        UNROLL
        for (int i = 0; i < rows; i++)
            sum[i][0] = sum[i][1] = vset(0);
        int64_t q = 0;
#define NEXT() \
    (multiply_step(sum, rows, columns_of_a, plain, a, b), q += STEP, a += columns_of_a ? 2 * STRIP : 2, b += 2 * W)
        /* AVX2 on Zen 3: 1.1 times the speed of one step at once. Elsewhere gcc would keep sums on the stack. */
        while (W == 8 && q + 16 <= products)
            NEXT(), NEXT(), NEXT(), NEXT(), NEXT(), NEXT(), NEXT(), NEXT();
        while (q < products)
            NEXT();
#undef NEXT
        UNROLL
        for (int i = 0; i < rows; i++) {
            if (products < BLOCK)
                sum[i][0] = add_products_of_zeros(sum[i][0]), sum[i][1] = add_products_of_zeros(sum[i][1]);
            copy[i] = vflush_result(vflush_result(copy[i]) + vflush_result(add_pairs(sum[i])));
        }
    }
    NO_UNROLL
    for (int i = 0; i < rows; i++)
        vstore_masked(c + i * t->ldc, copy[i], columns);
}

#if defined(__AVX512F__)
#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif
#define MICROKERNEL(name, rows, columns_of_a, plain)                                                            \
    static void name(const Tiles *t, int64_t columns, const Packed *a, const Packed *b, float *c)               \
    {                                                                                                           \
        tile(rows, columns_of_a, plain, t, columns, a, b, c);                                                   \
    }
#define MICROKERNELS(rows) MICROKERNEL(by_rows_##rows, rows, false, true) MICROKERNEL(by_columns_##rows, rows, true, true)
EACH_HEIGHT(MICROKERNELS)
#define BY_ROWS(rows)    by_rows_##rows,
#define BY_COLUMNS(rows) by_columns_##rows,
static Microkernel *const plain_kernels[2][TILE_M] = { { EACH_HEIGHT(BY_ROWS) }, { EACH_HEIGHT(BY_COLUMNS) } };

#if !defined(HAVE_FLUSH_MODE)
MICROKERNEL(exact_by_rows, 1, false, false)
MICROKERNEL(exact_by_columns, 1, true, false)
#endif

/* A tile of at most TILE_M x TILE_N. */
INLINE void multiply_tile(const Tiles *t, int64_t rows, int64_t columns, const Packed *a, const Packed *b, float *c)
{
#if !defined(HAVE_FLUSH_MODE)
    Microkernel *exact = t->columns_of_a ? exact_by_columns : exact_by_rows;
    for (int64_t i = 0; !t->plain && i < rows; i++)
        exact(t, columns, a + (t->columns_of_a ? place_of_pair(i) : i * A_LD), b, c + i * t->ldc);
    if (!t->plain) return;
#endif
    plain_kernels[t->columns_of_a][rows - 1](t, columns, a, b, c);
}

INLINE void begin_tiles(void) {}
INLINE void end_tiles(void) {}

#endif
