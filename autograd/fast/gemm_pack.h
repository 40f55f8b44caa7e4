/* gemm_pack.h: packs blocks of A and B into the order in which the microkernel reads them.
 *
 * A packed block of A is a sequence of tiles. Within a tile, the elements of all rows for the same k are contiguous. A packed
 * block of B is a sequence of micropanels of NR columns, each row by row; the last one has as many vectors as needed. The
 * matrices are read along their stored rows, because memory is faster for long contiguous reads. */
#ifndef KAERU_GEMM_PACK_H
#define KAERU_GEMM_PACK_H

#include "gemm_micro.h"

/* m rows as tiles of nearly equal height: the first `longer` tiles have base + 1 rows, the others base. */
typedef struct { int tiles, base, longer; } RowTiles;

INLINE RowTiles tile_rows(int64_t m)
{
    int tiles = (int)((m + MR - 1) / MR);
    return (RowTiles){ tiles, (int)(m / tiles), (int)(m % tiles) };
}

INLINE int tile_height(RowTiles cut, int tile) { return cut.base + (tile < cut.longer); }

/* to[p * step + i] = from[i * ld + p], i < min(rows, W). Writes whole vectors: the lanes beyond `rows` are overwritten by the
 * next p, so the buffer needs W more elements at its end. */
static void pack_transposed(float *to, int64_t step, const float *from, int64_t ld, int64_t rows, int64_t k)
{
    if (rows >= W) pack_transposed_rows(to, step, from, ld, W, k);
    else pack_transposed_rows(to, step, from, ld, rows, k);
}

/* to[t * rows * k + p * rows + i] = from[p * ld + t * rows + i], t < count, i < rows <= W. Also writes whole vectors. */
INLINE void pack_across(float *to, const float *from, int64_t ld, int64_t rows, int64_t count, int64_t k)
{
    for (int64_t p = 0; p < k - 1; p++, from += ld)
        for (int64_t t = 0; t < count; t++) {
            __builtin_prefetch(from + 8 * ld + t * rows);
            vstore(to + t * rows * k + p * rows, vload_masked(from + t * rows, rows));
        }
    for (int64_t t = 0; t < count; t++)             /* the last row: nothing is written beyond the tile */
        vstore_n(to + t * rows * k + (k - 1) * rows, vload_masked(from + t * rows, rows), rows);
}

/* Packs m rows and k columns of op(A). */
static void pack_a(float *to, const KGemm *s, const float *a, int64_t m, int64_t k)
{
    enum { TILES_AT_ONCE = 8 };                     /* the lines of more tiles may share a cache set */
    const RowTiles cut = tile_rows(m);
    for (int t = 0, count; t < cut.tiles; t += count) {
        const int64_t rows = tile_height(cut, t);
        count = 1;
        if (s->ta) {
            const int alike = (t < cut.longer ? cut.longer : cut.tiles) - t;
            count = alike < TILES_AT_ONCE ? alike : TILES_AT_ONCE;
            pack_across(to, a, s->lda, rows, count, k);
            a += count * rows;
        } else {
            pack_transposed(to, rows, a, s->lda, m, k);    /* also reads the next tile's rows: faster than masks */
            a += rows * s->lda;
            m -= rows;
        }
        to += count * rows * k;
    }
}

/* Packs n columns and k rows of op(B). */
static void pack_b(float *to, const KGemm *s, const float *b, int64_t n, int64_t k)
{
    if (s->tb) {
        for (int64_t j = 0; j < n; j += W) {
            const int64_t inside = j % NR, left = n - (j - inside);
            const int64_t width = left < NR ? (left + W - 1) / W * W : NR;
            pack_transposed(to + (j - inside) * k + inside, width, b + j * s->ldb, s->ldb, n - j, k);
        }
        return;
    }
    const int64_t whole = n / NR * NR, rest = n - whole, width = (rest + W - 1) / W * W;
    for (int64_t p = 0; p < k; p++, b += s->ldb) {
        for (int64_t j = 0; j < whole; j += NR)
            for (int v = 0; v < NR; v += W)
                vstore(to + j * k + p * NR + v, vload(b + j + v));
        for (int64_t j = 0; j < rest; j += W)
            vstore(to + whole * k + p * width + j, rest - j < W ? vload_n(b + whole + j, rest - j) : vload(b + whole + j));
    }
}

#endif
