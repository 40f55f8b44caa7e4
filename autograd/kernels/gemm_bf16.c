/* gemm_bf16.c: the matrix product in bfloat16, of one thread; k_gemm splits a product between threads and calls it.
 *
 * The loops are those of gemm.c: blocks of A and B are packed, and a microkernel computes tiles of C. Here packing also rounds
 * the operands, and fills up k to whole blocks with zeros. gemm.h fixes the order of the sums. A tile starts from what C holds,
 * so KC does not change a result. */
#include "gemm.h"
#include "gemm_epilogue.h"
#include "scratch.h"

#include "gemm.def"

enum { BLOCK = K_BF16_BLOCK };

#if defined(EMULATED_AMX) || (defined(__AMX_TILE__) && defined(__AMX_BF16__))
#include "gemm_bf16_amx.h"
#else
#include "gemm_bf16_fma.h"
#endif

/* Rows of A and columns of B packed at once. */
enum { MC = 512, NC = 256 };

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* See bf16_round. */
INLINE vf round_to_bf16(vf x)
{
    const vi bits = vbits(x), magnitude = bits & viset(0x7fffffff);
    vi rounded = bits + viset(0x7fff) + (vshr(bits, 16) & viset(1));
    rounded = viselect(vilt(viset(0x7f800000), magnitude), bits | viset(0x00400000), rounded);
    rounded = viselect(vilt(magnitude, viset(0x00800000)), bits & viset(INT32_MIN), rounded);
    return vfrom_bits(rounded & viset((int32_t)0xffff0000));
}

INLINE vf first_lanes(vf x, int64_t n) { return n >= W ? x : vselect(vfirst(n), x, vset(0)); }

/* Packs m rows and k columns of op(A). */
static void pack_a(Packed *to, const KGemm *s, const float *a, int64_t m, int64_t k)
{
    const int64_t end = padded(k);
    for (int64_t i = m; i < packed_rows(m); i++)
        for (int64_t p = 0; p < end; p += W)
            pack_row(to, end, i, p, vset(0));
    if (!s->ta) {
        for (int64_t i = 0; i < m; i++, a += s->lda)
            for (int64_t p = 0; p < end; p += W)
                pack_row(to, end, i, p, p < k ? round_to_bf16(vload_left(a + p, k - p)) : vset(0));
        return;
    }
    for (int64_t i = 0; i < m; i += 4) {
        const int64_t columns = min(4, m - i);
        for (int64_t p = 0; p < end; p += W) {
            const int64_t left = k - p;
            vf column[4] = { vset(0), vset(0), vset(0), vset(0) };
            if (left > 0 && columns == 4)
                load_4_columns(column, a + p * s->lda + i, s->lda, left);
            for (int64_t q = 0; left > 0 && columns < 4 && q < columns; q++)
                column[q] = load_column(a + p * s->lda + i + q, s->lda, left);
            for (int64_t q = 0; q < columns; q++)
                pack_row(to, end, i + q, p, first_lanes(round_to_bf16(column[q]), left));
        }
    }
}

/* Packs columns j..j + W - 1 of a micropanel from the stored rows of B; `columns` of them exist. */
INLINE void pack_stored_rows(Packed *panel, const KGemm *s, const float *b, int64_t j, int64_t columns, int64_t k)
{
    int64_t p = 0;
    for (; p + 2 <= k; p += 2, b += 2 * s->ldb)
        pack_two_rows(panel, p, j, round_to_bf16(vload_left(b, columns)), round_to_bf16(vload_left(b + s->ldb, columns)));
    if (p < k)
        pack_two_rows(panel, p, j, round_to_bf16(vload_left(b, columns)), vset(0));
}

/* The same if B is transposed. */
INLINE void pack_stored_columns(Packed *panel, const KGemm *s, const float *b, int64_t j, int64_t columns, int64_t k)
{
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
        vf column[4];
        load_4_columns(column, b + p, s->ldb, columns);
        pack_two_rows(panel, p, j, round_to_bf16(column[0]), round_to_bf16(column[1]));
        pack_two_rows(panel, p + 2, j, round_to_bf16(column[2]), round_to_bf16(column[3]));
    }
    for (; p < k; p += 2)
        pack_two_rows(panel, p, j, round_to_bf16(load_column(b + p, s->ldb, columns)),
                      p + 1 < k ? round_to_bf16(load_column(b + p + 1, s->ldb, columns)) : vset(0));
}

/* Packs n columns and k rows of op(B). */
static void pack_b(Packed *to, const KGemm *s, const float *b, int64_t n, int64_t k)
{
    const int64_t end = padded(k);
    for (int64_t first = 0; first < n; first += TILE_N) {
        Packed *panel = (Packed *)panel_of_b(to, first, end);
        for (int64_t j = 0; j < TILE_N; j += W) {
            const int64_t columns = n - first - j;
            if (columns > 0 && s->tb)
                pack_stored_columns(panel, s, b + (first + j) * s->ldb, j, columns, k);
            else if (columns > 0)
                pack_stored_rows(panel, s, b + first + j, j, columns, k);
            for (int64_t p = columns > 0 ? (k + 1) / 2 * 2 : 0; p < end; p += 2)
                pack_two_rows(panel, p, j, vset(0), vset(0));
        }
    }
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

/* For a tile that is not whole: on a copy of C. */
static void multiply_part(int64_t rows, int64_t columns, bool plain, bool add, const Packed *a, const Packed *b, int64_t k,
                          float *c, int64_t ldc)
{
    _Alignas(64) float copy[TILE_M * TILE_N];
    for (int64_t i = 0; add && i < rows; i++)
        memcpy(copy + i * TILE_N, c + i * ldc, (size_t)columns * sizeof *c);
    multiply_tile(rows, columns, plain, add, a, b, k, copy, TILE_N);
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, copy + i * TILE_N, (size_t)columns * sizeof *c);
}

/* C = A B or C += A B for packed blocks; not inlined, so that no arithmetic moves out of the flushing mode. */
__attribute__((noinline)) static void multiply_blocks(bool add, int64_t m, int64_t n, int64_t k, const Packed *a,
                                                      const Packed *b, float *c, int64_t ldc)
{
    const bool plain = products_are_plain(m, n, k, a, b);
    for (int64_t j = 0; j < n; j += TILE_N)
        for (int64_t i = 0; i < m; i += TILE_M) {
            const int64_t rows = min(TILE_M, m - i), columns = min(TILE_N, n - j);
            const Packed *tile_a = tile_of_a(a, i, k), *panel = panel_of_b(b, j, k);
            float *to = c + i * ldc + j;
            if (columns < TILE_N || (WHOLE_TILES && rows < TILE_M))
                multiply_part(rows, columns, plain, add, tile_a, panel, k, to, ldc);
            else
                multiply_tile(rows, columns, plain, add, tile_a, panel, k, to, ldc);
        }
}

/* Memory for packed blocks, and their sizes in rows and columns. */
typedef struct { Packed *a, *b; int64_t rows, columns; } Plan;

static void gemm_loops(const Plan *plan, const KGemm *s, float *c, const float *a, const float *b)
{
    for (int64_t i = 0; i < s->m; i += plan->rows) {
        const int64_t m = min(plan->rows, s->m - i);
        int64_t p = 0;
        do {                                        /* if k is 0, too: the epilogue must run */
            const int64_t k = min(KC, s->k - p);
            pack_a(plan->a, s, a + (s->ta ? i + p * s->lda : i * s->lda + p), m, k);
            for (int64_t j = 0; j < s->n; j += plan->columns) {
                const int64_t n = min(plan->columns, s->n - j);
                float *block = c + i * s->ldc + j;
                pack_b(plan->b, s, b + (s->tb ? j * s->ldb + p : j + p * s->ldb), n, k);
                for (int64_t r = 0; s->k == 0 && !s->add && r < m; r++)
                    memset(block + r * s->ldc, 0, (size_t)n * sizeof *c);
                const unsigned before = begin_flushing();
                if (k > 0)
                    multiply_blocks(s->add || p > 0, m, n, padded(k), plan->a, plan->b, block, s->ldc);
                end_flushing(before);
                if (p + k == s->k && has_epilogue(s))
                    epilogue(s, m, n, block, shift(s->bias, j), shift_out(s->pre, i * s->ldc + j));
            }
            p += KC;
        } while (p < s->k);
    }
}

/* Without scratch memory: one tile at a time, packed on the stack. */
__attribute__((noinline)) static void gemm_without_scratch(const KGemm *s, float *c, const float *a, const float *b)
{
    _Alignas(64) Packed tile_a[TILE_M * PACKED_A_ROW], panel[TILE_N * PACKED_B_COLUMN];
    gemm_loops(&(Plan){ tile_a, panel, TILE_M, TILE_N }, s, c, a, b);
}

void ISA(gemm_bf16)(const KGemm *s, real *c, const real *a, const real *b)
{
    const int64_t a_size = packed_a_size(min(MC, s->m)), b_size = packed_b_size(NC);
    Packed *memory = k_scratch((size_t)(a_size + b_size) * sizeof(Packed));
    begin_tiles();
    if (memory)
        gemm_loops(&(Plan){ memory + b_size, memory, MC, NC }, s, c, a, b);
    else
        gemm_without_scratch(s, c, a, b);
    end_tiles();
}
