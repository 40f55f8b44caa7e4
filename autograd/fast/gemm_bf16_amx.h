/* gemm_bf16_amx.h: the microkernel of gemm_bf16.c on Intel's AMX: a unit with eight tile registers of 16 rows of 64 bytes. Its
 * instruction TDPBF16PS adds a product of 16 x 32 by 32 x 16 bfloat16 to a tile of 16 x 16 floats.
 *
 * Packed operands are bfloat16 in pairs along k, a pair in 32 bits. A: tiles of 16 rows, one after another along k. B: as
 * k_pack_b packs it. AVX-512's conversion to bfloat16, which every processor with AMX has, rounds as bf16_round does.
 * With EMULATED_AMX the instructions are plain C, so that the tests can run this file on any processor. */
#ifndef KAERU_GEMM_BF16_AMX_H
#define KAERU_GEMM_BF16_AMX_H

#include "flush_mode.h"
#include "gemm_common.h"

typedef uint32_t Packed;
/* NEAR_ROWS = TILE_M: C is computed along its rows, in the order of its memory. Until k = 512 these rows of A also stay in the
 * first-level cache while all columns of B are read. 1024 x 1024 x 1024: 1.5 times the speed of NEAR_ROWS = 512.
 * KC: most products of GPT-2 124M have k <= 1024, which needs one pass over C: 1.1 to 1.3 times the speed of KC = 512.
 * NC columns of B are packed at once: 1 MB. Measured on an Intel Xeon with caches of 48 KB and 2 MB.
 * STREAMED: see is_streamed. */
enum { TILE_M = 32, TILE_N = 32, KC = 1024, NC = 512, NEAR_ROWS = TILE_M, SIDE = 16, PAIRS = BLOCK / 2, STREAMED = 1 << 18 };

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
                    sum[odd] = bf16_multiply_add(bf16_flush(bf16_of_pair(tile_register[a].pair[i][q], odd)),
                                                 bf16_flush(bf16_of_pair(tile_register[b].pair[q][j], odd)), sum[odd]);
            float *x = &tile_register[c].number[i][j];
            *x = bf16_add(bf16_result(*x), bf16_add(sum[0], sum[1]));
        }
}

#define STORES_ARE_DONE() ((void)0)
INLINE void begin_tiles(void) { (void)all_tiles; }
INLINE void end_tiles(void) {}
#define TILE_ZERO(t)                    (tile_register[t] = (TileRegister){ 0 })
#define TILE_LOAD(t, from, row_bytes)   tile_load(t, from, row_bytes)
#define TILE_LOAD_FAR                   TILE_LOAD
#define STREAM(to, x)                   vstore(to, x)
#define TILE_STORE(t, to, row_bytes)    tile_store(t, to, row_bytes)
#define TILE_MULTIPLY_ADD(c, a, b)      tile_multiply_add(c, a, b)

#else

/* gcc's _tile_loadd does not say that it reads memory: the compiler could move a store behind it, or leave the store out. */
#define STORES_ARE_DONE() __asm__ volatile("" ::: "memory")

/* A thread that has configured its tiles has more state to be saved when it is interrupted, so they are released again. */
INLINE void begin_tiles(void) { _tile_loadconfig(&all_tiles); }
INLINE void end_tiles(void)
{
    _mm_sfence();       /* what STREAM stored is visible before other threads learn that this part is done */
    _tile_release();
}
#define TILE_ZERO(t)                    _tile_zero(t)
#define TILE_LOAD(t, from, row_bytes)   _tile_loadd(t, from, (size_t)(row_bytes))
/* A hint: not into the first-level cache, where A is. */
#define TILE_LOAD_FAR(t, from, row_bytes) _tile_stream_loadd(t, from, (size_t)(row_bytes))
#define STREAM(to, x)                   _mm512_stream_ps(to, x)         /* past the caches */
#define TILE_STORE(t, to, row_bytes)    _tile_stored(t, to, (size_t)(row_bytes))
#define TILE_MULTIPLY_ADD(c, a, b)      _tile_dpbf16ps(c, a, b)

#endif

/* The number of products that is computed for k. */
INLINE int64_t padded(int64_t k) { return bf16_whole_blocks(k); }

/* ---- packing ----------------------------------------------------------------------------------------------------- */

enum { PACKED_A_ROW = KC / 2, PACKED_TILE_A = TILE_M * PACKED_A_ROW, PACKED_B_COLUMN = KC / 2 };
INLINE int64_t packed_a_size(int64_t rows)             { return (rows + SIDE - 1) / SIDE * SIDE * PACKED_A_ROW; }
INLINE int64_t packed_b_size(int64_t columns)          { return (columns + TILE_N - 1) / TILE_N * TILE_N * PACKED_B_COLUMN; }
INLINE int64_t place_of_row(const Tiles *t, int64_t i) { return i * t->k / 2; }
INLINE int64_t place_of_column(int64_t j, int64_t k)   { return j * k / 2; }

/* A tile of SIDE rows of BLOCK numbers, in pairs along the row. Only `rows` rows and n numbers exist. */
INLINE void pack_along_rows(Packed *tile, const float *x, int64_t ld, int64_t rows, int64_t n)
{
    if (rows < SIDE) memset(tile, 0, SIDE * PAIRS * sizeof *tile);
    for (int64_t i = 0; i < min(rows, SIDE); i++, x += ld, tile += PAIRS)
        for (int j = 0; j < BLOCK; j += W) {
            const vf y = j < n ? vload_left(x + j, n - j) : vset(0);
            uint16_t *to = (uint16_t *)tile + j;
#if defined(__AVX512BF16__)
            _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh(y));
#else
            const vi upper = vshr(vbits(round_to_bf16(y)), 16);
            for (int q = 0; q < W; q++)
                to[q] = (uint16_t)upper[q];
#endif
        }
}

/* A tile of BLOCK rows of SIDE numbers, in pairs of two rows. Only `rows` rows and n numbers exist. */
INLINE void pack_across_rows(Packed *tile, const float *x, int64_t ld, int64_t rows, int64_t n)
{
    if (rows < BLOCK || n < SIDE) memset(tile, 0, SIDE * PAIRS * sizeof *tile);
    for (int64_t i = 0; i < min(rows, BLOCK); i += 2, x += 2 * ld, tile += SIDE)
        for (int64_t j = 0; j < min(n, SIDE); j += W)
            store_pairs(tile + j, round_to_pairs(vload_left(x + j, n - j),
                                                 i + 1 < rows ? vload_left(x + ld + j, n - j) : vset(0)));
}

INLINE void transpose_tile(Packed *to, const Packed *tile)
{
    for (int i = 0; i < SIDE; i += W)
        pack_transposed_rows((float *)to + i, SIDE, (const float *)tile + i * SIDE, SIDE, W, SIDE);
}

/* Packs n rows of op(A) or columns of op(B), k numbers of each: tiles of SIDE of them, one after another along k. In memory k
 * goes along the rows or across them. A tile of op(A) has pairs along its rows, and one of op(B) across them. The
 * matrix is read in the order of its memory: up to 2 times the speed if it is not in the caches. */
static void pack_tiles(Packed *to, const float *x, int64_t ld, int64_t n, int64_t k, bool along_rows, bool transposed)
{
    _Alignas(64) Packed copy[SIDE * PAIRS];
    const int64_t rows = along_rows ? n : k, columns = along_rows ? k : n;
    const int64_t down = along_rows ? SIDE : BLOCK, across = along_rows ? BLOCK : SIDE;
    for (int64_t i = 0; i < rows; i += down)
        for (int64_t j = 0; j < columns; j += across) {
            const int64_t item = along_rows ? i : j, p = along_rows ? j : i;
            const float *from = x + i * ld + j;
            Packed *place = to + (item * padded(k) + p * SIDE) / 2, *tile = transposed ? copy : place;
            if (along_rows) pack_along_rows(tile, from, ld, rows - i, columns - j);
            else pack_across_rows(tile, from, ld, rows - i, columns - j);
            if (transposed) transpose_tile(place, tile);
        }
}

static void pack_a(Packed *to, const KGemm *s, const float *a, int64_t m, int64_t k)
{
    pack_tiles(to, a, s->lda, m, k, !s->ta, s->ta);
}

/* Packs n columns and k rows of a B that is not transposed and that k_pack_b has packed; in the order of its memory, too. */
static void turn_panels(Packed *to, const KGemm *s, int64_t j, int64_t p, int64_t n, int64_t k)
{
    for (int64_t q = 0; q < padded(k); q += K_PANEL, to += K_PANEL / 2 * SIDE)
        for (int64_t i = 0; i < n; i += SIDE) {
            Packed *tile = to + i / 2 * padded(k);
            if (q < k) turn_part((uint32_t (*)[K_PANEL])tile, s, j + i, p + q, SIDE);
            else memset(tile, 0, K_PANEL / 2 * SIDE * sizeof *tile);
        }
}

/* Whether B is multiplied as k_pack_b has packed it. */
INLINE bool is_in_place(const KGemm *s) { return s->packed_b && s->tb; }

/* Packs columns j..j + n - 1 and rows p..p + k - 1 of op(B). */
static void pack_columns(Packed *to, const KGemm *s, const float *b, int64_t j, int64_t p, int64_t n, int64_t k)
{
    if (s->packed_b) turn_panels(to, s, j, p, n, k);
    else pack_tiles(to, b + (s->tb ? j * s->ldb + p : p * s->ldb + j), s->ldb, n, k, s->tb, s->tb);
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* C = A B or C += A B for a tile of TILE_M x TILE_N, of which the first `rows` and `columns` count; C has
 * room for all of it. */
INLINE void multiply_whole_tile(const Tiles *t, int64_t rows, int64_t columns, const Packed *a, const Packed *b, float *c)
{
    const int64_t k = t->k, ldc = t->ldc;
    const bool two_rows = rows > SIDE, two_columns = columns > SIDE;
    const int64_t row_bytes = ldc * (int64_t)sizeof *c, next_rows = SIDE * k / 2, next_columns = SIDE * t->b_k / 2;
    STORES_ARE_DONE();
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    if (t->add) TILE_LOAD(0, c, row_bytes);
    if (t->add && two_columns) TILE_LOAD(1, c + SIDE, row_bytes);
    if (t->add && two_rows) TILE_LOAD(2, c + SIDE * ldc, row_bytes);
    if (t->add && two_rows && two_columns) TILE_LOAD(3, c + SIDE * ldc + SIDE, row_bytes);
    for (int64_t p = 0; p < k; p += BLOCK, a += SIDE * PAIRS, b += PAIRS * SIDE) {
        TILE_LOAD(4, a, 64);
        TILE_LOAD_FAR(6, b, 64);
        TILE_MULTIPLY_ADD(0, 4, 6);
        if (two_columns) {
            TILE_LOAD_FAR(7, b + next_columns, 64);
            TILE_MULTIPLY_ADD(1, 4, 7);
        }
        if (two_rows) {
            TILE_LOAD(5, a + next_rows, 64);
            TILE_MULTIPLY_ADD(2, 5, 6);
        }
        if (two_rows && two_columns) TILE_MULTIPLY_ADD(3, 5, 7);
    }
    TILE_STORE(0, c, row_bytes);
    if (two_columns) TILE_STORE(1, c + SIDE, row_bytes);
    if (two_rows) TILE_STORE(2, c + SIDE * ldc, row_bytes);
    if (two_rows && two_columns) TILE_STORE(3, c + SIDE * ldc + SIDE, row_bytes);
}

/* Whether C is written past the caches, so that its lines are not loaded before they are written. Most products A^T B of this
 * size (STREAMED floats: 1 MB) are gradients of weights, which are read only when the backward pass is over.
 * 768 x 2304 x 256: 1.7 times the speed. */
INLINE bool is_streamed(const KGemm *s, const float *c)
{
    const bool aligned = (uintptr_t)c % 64 == 0 && s->ldc % SIDE == 0;
    return aligned && s->ta && !s->add && s->k <= KC && s->m * s->n >= STREAMED;
}

/* A tile that is not whole, or that is streamed, is computed in a copy: tile registers cannot be stored past the caches. */
static void multiply_part(const Tiles *t, int64_t rows, int64_t columns, const Packed *a, const Packed *b, float *c)
{
    _Alignas(64) float copy[TILE_M * TILE_N];
    Tiles on_copy = *t;
    on_copy.ldc = TILE_N;
    for (int64_t i = 0; t->add && i < rows; i++)
        memcpy(copy + i * TILE_N, c + i * t->ldc, (size_t)columns * sizeof *c);
    multiply_whole_tile(&on_copy, rows, columns, a, b, copy);
    const bool stream = t->stream && columns == TILE_N;
    for (int64_t i = 0; i < rows; i++, c += t->ldc) {
        for (int64_t j = 0; stream && j < TILE_N; j += W)
            STREAM(c + j, vload(copy + i * TILE_N + j));
        if (!stream) memcpy(c, copy + i * TILE_N, (size_t)columns * sizeof *c);
    }
}

INLINE void multiply_tile(const Tiles *t, int64_t rows, int64_t columns, const Packed *a, const Packed *b, float *c)
{
    if (rows < TILE_M || columns < TILE_N || t->stream) multiply_part(t, rows, columns, a, b, c);
    else multiply_whole_tile(t, rows, columns, a, b, c);
}

#endif
