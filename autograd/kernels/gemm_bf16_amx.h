/* gemm_bf16_amx.h: the microkernel of gemm_bf16.c on Intel's AMX: a unit with eight tile registers of 16 rows of 64 bytes. Its
 * instruction TDPBF16PS adds a product of 16 x 32 by 32 x 16 bfloat16 to a tile of 16 x 16 floats.
 *
 * Packed operands are bfloat16 in pairs along k, a pair in 32 bits. A: tiles of 16 rows, one after another along k. B: as
 * k_pack_b packs it (gemm.h).
 * With EMULATED_AMX the instructions are plain C, so that the tests can run this file on any processor. */
#ifndef KAERU_GEMM_BF16_AMX_H
#define KAERU_GEMM_BF16_AMX_H

#include "flush_mode.h"
#include "gemm_load.h"

typedef uint32_t Packed;
enum { TILE_M = 32, TILE_N = 32, KC = 512, NEAR_ROWS = MC, SIDE = 16, PAIRS = BLOCK / 2 };

/* ---- tile registers ---------------------------------------------------------------------------------------------- */

typedef struct { uint8_t palette, start_row, zero[14]; uint16_t row_bytes[16]; uint8_t rows[16]; } TileSizes;
static const TileSizes all_tiles = { .palette = 1, .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
                                     .rows = { 16, 16, 16, 16, 16, 16, 16, 16 } };

#if defined(EMULATED_AMX)

#include "bf16.h"

typedef union { float number[SIDE][SIDE]; uint32_t pair[SIDE][PAIRS]; } TileRegister;
static _Thread_local TileRegister tile_register[8];

static void tile_load(int t, const void *from, int64_t row_bytes)
{
    for (int i = 0; i < SIDE; i++)
        memcpy(tile_register[t].pair[i], (const char *)from + i * row_bytes, 64);
}

static void tile_store(int t, void *to, int64_t row_bytes)
{
    for (int i = 0; i < SIDE; i++)
        memcpy((char *)to + i * row_bytes, tile_register[t].pair[i], 64);
}

static void tile_multiply_add(int c, int a, int b)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            float sum[2] = { 0, 0 };
            for (int q = 0; q < PAIRS; q++)
                for (int odd = 0; odd < 2; odd++)
                    sum[odd] = bf16_multiply_add(bf16_of_pair(tile_register[a].pair[i][q], odd),
                                                 bf16_of_pair(tile_register[b].pair[q][j], odd), sum[odd]);
            float *x = &tile_register[c].number[i][j];
            *x = bf16_add(bf16_result(*x), bf16_add(sum[0], sum[1]));
        }
}

#define STORES_ARE_DONE() ((void)0)
INLINE void begin_tiles(void) { (void)all_tiles; }
INLINE void end_tiles(void) {}
#define TILE_ZERO(t)                    (tile_register[t] = (TileRegister){ 0 })
#define TILE_LOAD(t, from, row_bytes)   tile_load(t, from, row_bytes)
#define TILE_STORE(t, to, row_bytes)    tile_store(t, to, row_bytes)
#define TILE_MULTIPLY_ADD(c, a, b)      tile_multiply_add(c, a, b)

#else

/* gcc's _tile_loadd does not say that it reads memory: the compiler could move a store behind it, or leave the store out. */
#define STORES_ARE_DONE() __asm__ volatile("" ::: "memory")

/* A thread that has configured its tiles has more state to be saved when it is interrupted, so they are released again. */
INLINE void begin_tiles(void) { _tile_loadconfig(&all_tiles); }
INLINE void end_tiles(void)   { _tile_release(); }
#define TILE_ZERO(t)                    _tile_zero(t)
#define TILE_LOAD(t, from, row_bytes)   _tile_loadd(t, from, (size_t)(row_bytes))
#define TILE_STORE(t, to, row_bytes)    _tile_stored(t, to, (size_t)(row_bytes))
#define TILE_MULTIPLY_ADD(c, a, b)      _tile_dpbf16ps(c, a, b)

#endif

/* The number of products that is computed for k. */
INLINE int64_t padded(int64_t k) { return bf16_whole_blocks(k); }

/* ---- packing ----------------------------------------------------------------------------------------------------- */

enum { PACKED_A_ROW = KC / 2, PACKED_TILE_A = TILE_M * PACKED_A_ROW, PACKED_B_COLUMN = KC / 2 };
enum { WHOLE_TILES = true, READS_STORED_B = true };
INLINE int64_t packed_rows(int64_t rows)               { return (rows + SIDE - 1) / SIDE * SIDE; }
INLINE int64_t packed_a_size(int64_t rows)             { return packed_rows(rows) * PACKED_A_ROW; }
INLINE int64_t packed_b_size(int64_t columns)          { return (columns + TILE_N - 1) / TILE_N * TILE_N * PACKED_B_COLUMN; }
INLINE const Packed *tile_of_a(const Tiles *t, const Packed *a, int64_t i) { return a + i * t->k / 2; }
INLINE const Packed *panel_of_b(const Packed *b, int64_t j, int64_t k) { return b + j * k / 2; }

/* Elements p..p + W - 1 of row i. */
INLINE void pack_row(Packed *a, int64_t k, int64_t i, int64_t p, vf x)
{
    uint16_t *row = (uint16_t *)(a + i / SIDE * SIDE * k / 2 + p / BLOCK * SIDE * PAIRS + i % SIDE * PAIRS) + p % BLOCK;
    const vi upper = vshr(vbits(x), 16);
#if defined(__AVX512F__)
    _mm256_storeu_si256((__m256i *)row, _mm512_cvtepi32_epi16((__m512i)upper));
#else
    for (int q = 0; q < W; q++)
        row[q] = (uint16_t)upper[q];
#endif
}

/* Packs m rows and k columns of op(A) if A is transposed. */
static void pack_transposed_a(Packed *to, const float *a, int64_t lda, int64_t m, int64_t k)
{
    const int64_t end = padded(k);
    for (int64_t i = m; i < packed_rows(m); i++)
        for (int64_t p = 0; p < end; p += W)
            pack_row(to, end, i, p, vset(0));
    for (int64_t i = 0; i < m; i += 4) {
        const int64_t columns = min(4, m - i);
        for (int64_t p = 0; p < end; p += W) {
            const int64_t left = k - p;
            vf column[4] = { vset(0), vset(0), vset(0), vset(0) };
            if (left > 0 && columns == 4)
                load_4_columns(column, a + p * lda + i, lda, left);
            for (int64_t q = 0; left > 0 && columns < 4 && q < columns; q++)
                column[q] = load_column(a + p * lda + i + q, lda, left);
            for (int64_t q = 0; q < columns; q++)
                pack_row(to, end, i + q, p, first_lanes(round_to_bf16(column[q]), left));
        }
    }
}

/* Columns j..j + W - 1 of the micropanel, rows p and p + 1. */
INLINE void pack_two_rows(Packed *panel, int64_t k, int64_t p, int64_t j, vf even, vf odd)
{
    Packed *to = panel + j / SIDE * SIDE * k / 2 + p / 2 * SIDE + j % SIDE;
    store_pairs(to, even, odd);
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

INLINE bool products_are_plain(const Tiles *t, int64_t m, int64_t n, const Packed *a, const Packed *b)
{
    (void)t, (void)m, (void)n, (void)a, (void)b;
    return true;
}

/* C = A B or C += A B for a tile of TILE_M x TILE_N, of which the first `rows` and `columns` count; C has
 * room for all of it. */
INLINE void multiply_tile(const Tiles *t, int64_t rows, int64_t columns, const Packed *a, const Packed *b, float *c)
{
    const int64_t k = t->k, ldc = t->ldc;
    const bool two_rows = rows > SIDE, two_columns = columns > SIDE;
    const int64_t row_bytes = ldc * (int64_t)sizeof *c, next_rows = SIDE * k / 2, next_columns = SIDE * t->b_k / 2;
    STORES_ARE_DONE();
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    if (t->add)
        TILE_LOAD(0, c, row_bytes);
    if (t->add && two_columns)
        TILE_LOAD(1, c + SIDE, row_bytes);
    if (t->add && two_rows)
        TILE_LOAD(2, c + SIDE * ldc, row_bytes);
    if (t->add && two_rows && two_columns)
        TILE_LOAD(3, c + SIDE * ldc + SIDE, row_bytes);
    for (int64_t p = 0; p < k; p += BLOCK, a += SIDE * PAIRS, b += PAIRS * SIDE) {
        TILE_LOAD(4, a, 64);
        TILE_LOAD(6, b, 64);
        TILE_MULTIPLY_ADD(0, 4, 6);
        if (two_columns) {
            TILE_LOAD(7, b + next_columns, 64);
            TILE_MULTIPLY_ADD(1, 4, 7);
        }
        if (two_rows) {
            TILE_LOAD(5, a + next_rows, 64);
            TILE_MULTIPLY_ADD(2, 5, 6);
        }
        if (two_rows && two_columns)
            TILE_MULTIPLY_ADD(3, 5, 7);
    }
    TILE_STORE(0, c, row_bytes);
    if (two_columns)
        TILE_STORE(1, c + SIDE, row_bytes);
    if (two_rows)
        TILE_STORE(2, c + SIDE * ldc, row_bytes);
    if (two_rows && two_columns)
        TILE_STORE(3, c + SIDE * ldc + SIDE, row_bytes);
}

#endif
