/* gemm_bf16.c: the matrix product in bfloat16, which k_gemm calls.
 *
 * Blocks of A and B are packed (gemm_pass.h), and a microkernel computes tiles of C, column by column for each NEAR_ROWS rows.
 * The sizes of blocks are in the headers of the microkernels. Packing also rounds the operands, and fills up k to whole blocks
 * with zeros. kernels.h fixes the order of the sums. A tile starts from what C holds, so KC does not change a result. */
#include "flush_mode.h"
#include "gemm_common.h"
#include "scratch.h"

enum { BLOCK = K_BF16_BLOCK };

/* See bf16_round. Only between begin_flushing and end_flushing. */
INLINE vf round_to_bf16(vf x)
{
    x = vflush(x);
    const vi bits = vbits(x), rounded = bits + viset(0x7fff) + (vshr(bits, 16) & viset(1));
    return vfrom_bits(viselect(vne(x, x), bits, rounded) & viset((int32_t)0xffff0000));
}

/* Rounds two rows. In pairs: the even row's number in the lower half of an item, the odd row's in the upper. */
INLINE vi round_to_pairs(vf even, vf odd)
{
#if defined(__AVX512BF16__)
    const vi order = viota() | (viota() + viset(W)) << 16;
    return (vi)_mm512_permutexvar_epi16((__m512i)order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
#else
    return vshr(vbits(round_to_bf16(even)), 16) | vbits(round_to_bf16(odd));
#endif
}

INLINE vi load_pairs(const uint32_t *p)        { return vbits(vload((const float *)p)); }
INLINE void store_pairs(uint32_t *p, vi pairs) { vstore((float *)p, vfrom_bits(pairs)); }
/* As operands: an array in bfloat16 may have subnormal numbers. */
INLINE vf even_rows(vi pairs)                  { return vflush_result(vfrom_bits(pairs << 16)); }
INLINE vf odd_rows(vi pairs)                   { return vflush_result(vfrom_bits(pairs & viset((int32_t)0xffff0000))); }

INLINE vf first_lanes(vf x, int64_t n) { return n >= W ? x : vselect(vfirst(n > 0 ? n : 0), x, vset(0)); }

/* For the zeros that fill up a last block: they change a sum of -0 to 0 and no other. It is enough to do this to one of the two
 * sums of an element, since -0 comes only of two such sums. */
INLINE vf add_products_of_zeros(vf sum) { return sum + vset(0); }

/* What all tiles of a block of C have in common. A is packed by rows or by columns. A panel of B has b_k rows, of which the
 * first k are used. plain: see products_are_plain. stream: C is written past the caches (is_streamed). */
typedef struct { bool columns_of_a, plain, add, stream; int64_t k, b_k, ldc; } Tiles;

/* The rows of a panel that k_pack_b has packed. */
static int64_t stored_rows(const KGemm *s) { return bf16_whole_blocks(s->k); }

/* The pairs of row p in the panel that has column j; p is even, and j a multiple of K_PANEL. B is transposed. */
static const uint32_t *stored_part(const KGemm *s, int64_t j, int64_t p)
{
    return s->packed_b + j * stored_rows(s) / 2 + p / 2 * K_PANEL;
}

/* Packs K_PANEL rows from p on, a multiple of K_PANEL, and so many columns from j on if B is not transposed. A stored item has
 * two columns of one row. Two items of neighboring rows (64 bits) become two items of one column each: the two numbers in the
 * middle change places (little-endian). */
INLINE void turn_part(uint32_t to[K_PANEL / 2][K_PANEL], const KGemm *s, int64_t j, int64_t p, int columns)
{
    const uint32_t *from = s->packed_b + p * (bf16_whole_blocks(s->ldb) / 2) + j / 2 * K_PANEL;
    UNROLL
    for (int column = 0; column < columns; column += 2, from += K_PANEL)
        UNROLL
        for (int row = 0; row < K_PANEL; row += 2) {
            uint64_t x;
            memcpy(&x, from + row, sizeof x);
            x = (x & UINT64_C(0xffff00000000ffff)) | (x >> 16 & UINT64_C(0xffff0000)) | (x & UINT64_C(0xffff0000)) << 16;
            memcpy(&to[row / 2][column], &x, sizeof x);
        }
}

/* Rows of A packed at once. */
enum { MC = 1024 };

#if defined(EMULATED_AMX) || (defined(__AMX_TILE__) && defined(__AMX_BF16__))
#include "gemm_bf16_amx.h"
#else
#include "gemm_bf16_vectors.h"
#endif

/* ---- k_pack_b ---------------------------------------------------------------------------------------------------- */

/* Two rows of a panel, W columns. Columns beyond `columns` become 0. */
INLINE void store_rounded(uint32_t *to, vf even, vf odd, int64_t columns)
{
    store_pairs(to, round_to_pairs(first_lanes(even, columns), first_lanes(odd, columns)));
}

/* Packs whole panels. */
static void pack_panels(void *arg, int64_t begin, int64_t end)
{
    const KPackB *job = arg;
    const int64_t k = job->k, ld = job->ldb;
    const unsigned before = begin_flushing();
    for (int64_t j = begin * K_PANEL; j < end * K_PANEL; j += W) {
        const int64_t columns = job->n - j;
        const float *from = job->b + j * ld;
        uint32_t *to = job->to + k_packed_items(j / K_PANEL * K_PANEL, k) + j % K_PANEL;
        int64_t p = 0;
        for (; columns > 0 && p + 4 <= k; p += 4, to += 2 * K_PANEL) {
            vf column[4];
            load_4_columns(column, from + p, ld, columns);
            store_rounded(to, column[0], column[1], columns);
            store_rounded(to + K_PANEL, column[2], column[3], columns);
        }
        for (; p < bf16_whole_blocks(k); p += 2, to += K_PANEL)
            store_rounded(to, columns > 0 && p < k ? load_column(from + p, ld, columns) : vset(0),
                          columns > 0 && p + 1 < k ? load_column(from + p + 1, ld, columns) : vset(0), columns);
    }
    end_flushing(before);
}

void ISA(pack_b)(const KPackB *job)
{
    k_parallel((job->n + K_PANEL - 1) / K_PANEL, 8, pack_panels, (void *)job);
}

/* ---- B that is stored in bfloat16 ---------------------------------------------------------------------------------- */

/* Packs columns of B's stored rows as a panel. Only `pairs` pairs of columns exist. */
INLINE void pack_rows_of_pairs(uint32_t *to, const uint32_t *from, int64_t step, int64_t pairs, int64_t k)
{
    const bool whole = pairs == K_PANEL / 2;
    for (int64_t p = 0; p < k; p += 2, from += 2 * step, to += K_PANEL) {
        uint32_t copy[2][K_PANEL / 2] = { { 0 } };
        const uint32_t *even = from, *odd = from + step;
        if (!whole || p + 1 == k) {
            memcpy(copy[0], even, (size_t)pairs * sizeof *from);
            if (p + 1 < k) memcpy(copy[1], odd, (size_t)pairs * sizeof *from);
            even = copy[0], odd = copy[1];
        }
        for (int64_t j = 0; j < K_PANEL; j += W)
            vstore((float *)to + j, vfrom_bits(load_halves(even + j / 2) | load_halves(odd + j / 2) << 16));
    }
}

/* The same if B is transposed: the pairs of its stored rows are those of the panel. Columns that do not exist repeat the last
 * one; no result is stored for them. */
INLINE void pack_columns_of_pairs(uint32_t *to, const uint32_t *from, int64_t step, int64_t columns, int64_t k)
{
    for (int64_t j = 0; j < K_PANEL; j += W) {
        const float *rows = (const float *)(from + min(j, columns - 1) * step);
        pack_transposed_rows((float *)to + j, K_PANEL, rows, step, columns > j ? columns - j : 1, k / 2);
    }
}

/* Packs rows p..p + k - 1 and columns j..j + n - 1 of op(B), as k_pack_b does. */
static void pack_pairs(uint32_t *to, const KGemm *s, int64_t p, int64_t j, int64_t k, int64_t n)
{
    const int64_t step = s->ldb / 2, used = (k + 1) / 2 * K_PANEL, size = k_packed_items(K_PANEL, k);
    const uint32_t *from = s->b_pairs + (s->tb ? j * step + p / 2 : p * step + j / 2);
    for (; n > 0; n -= K_PANEL, from += s->tb ? K_PANEL * step : K_PANEL / 2, to += size) {
        if (s->tb && n >= K_PANEL) pack_columns_of_pairs(to, from, step, K_PANEL, k);
        else if (s->tb) pack_columns_of_pairs(to, from, step, n, k);
        else if (n >= K_PANEL) pack_rows_of_pairs(to, from, step, K_PANEL / 2, k);
        else pack_rows_of_pairs(to, from, step, n / 2, k);
        memset(to + used, 0, (size_t)(size - used) * sizeof *to);
    }
}

/* Multiplies by one part of B after another. A part is packed first, and then read from the first-level cache. */
static void gemm_of_pairs(const KGemm *s, float *c, const float *a)
{
    enum { ROWS = 256, ITEMS = 8192 };
    _Alignas(64) uint32_t panels[ITEMS];
    const int64_t columns = ITEMS / k_packed_items(K_PANEL, min(ROWS, s->k > 0 ? s->k : 1)) * K_PANEL;
    for (int64_t j = 0; j < s->n; j += columns) {
        int64_t p = 0;
        do {                                        /* if k is 0, too: C must be set to 0 */
            KGemm part = *s;
            part.k = min(ROWS, s->k - p);
            part.n = min(columns, s->n - j);
            part.b_pairs = NULL;
            part.packed_b = panels;
            part.tb = true;
            part.add = s->add || p > 0;
            part.bias = shift(s->bias, j);
            part.pre = shift_out(s->pre, j);
            if (p + part.k < s->k)                  /* the epilogue is for whole sums */
                part.bias = NULL, part.pre = NULL, part.act = K_IDENTITY;
            pack_pairs(panels, s, p, j, part.k, part.n);
            ISA(gemm_bf16)(&part, c + j, a + (s->ta ? p * s->lda : p), NULL);
            p += ROWS;
        } while (p < s->k);
    }
}

/* ---- few rows ---------------------------------------------------------------------------------------------------- */

#if defined(__AVX512BF16__)

/* Few rows wait for the memory of B, and would fill little of a tile register. With AMX or VDPBF16PS there is AVX-512. */
#include "gemm_bf16.h"
enum { FEW_ROWS = 10 };
static bool gemm_few_rows(const KGemm *s, float *c, const float *a, const float *b)
{
    k_avx512_gemm_bf16(s, c, a, b);
    return true;
}

#elif defined(HAVE_FLUSH_MODE)

/* With few rows packing B would take longer than the product. B is read where it is: packed by k_pack_b (as in generation), or
 * stored by rows and rounded on the way. A is rounded first; element (i, p) of op(A) is a[p * m + i]. */
enum { FEW_ROWS = W == 16 ? 10 : 4, FEW_K = 512, MOST_SUMS = FEW_ROWS > 8 ? FEW_ROWS : 8 };
typedef enum { B_PACKED, B_ROWS } LayoutB;
/* The products from `first` on along k. B has k rows from there on; for zeros that fill up the last block there are `end`. */
typedef struct { const float *a, *b; int64_t first, k, end; bool add; } FewRows;

/* Loads rows p and p + 1 of op(B), columns j..j + columns - 1: from `pairs`, if B is packed. Rows beyond k are 0. */
INLINE void load_2_rows(vf row[2], LayoutB layout, const KGemm *s, const FewRows *t, const uint32_t *pairs, int64_t p,
                        int64_t j, int64_t columns)
{
    if (layout == B_PACKED) {
        row[0] = even_rows(load_pairs(pairs));
        row[1] = odd_rows(load_pairs(pairs));
        return;
    }
    const float *from = t->b + p * s->ldb + j;
    UNROLL
    for (int q = 0; q < 2; q++)
        row[q] = p + q < t->k ? round_to_bf16(vload_masked(from + q * s->ldb, columns)) : vset(0);
}

INLINE void few_rows_tile(int rows, int vecs, LayoutB layout, const KGemm *s, const FewRows *t, float *c, int64_t j,
                          int64_t columns)
{
    const float *a = t->a;
    const int64_t panel = stored_rows(s) / 2 * K_PANEL;
    const uint32_t *pairs = layout == B_PACKED ? stored_part(s, j / K_PANEL * K_PANEL, t->first) + j % K_PANEL : NULL;
    for (int64_t p = 0; p < t->end; p += BLOCK) {
        vf sum[2][MOST_SUMS];
        UNROLL
        for (int i = 0; i < rows * vecs; i++)
            sum[0][i] = sum[1][i] = vset(0);
        for (int64_t q = p; q < min(p + BLOCK, t->end); q += 4, a += 4 * rows)
            UNROLL
            for (int r = 0; r < 4; r += 2) {
                UNROLL
                for (int v = 0; v < vecs; v++) {
                    const int64_t place = v * W / K_PANEL * panel + v * W % K_PANEL;
                    vf row[2];
                    load_2_rows(row, layout, s, t, layout == B_PACKED ? pairs + place : NULL, q + r, j + v * W, columns);
                    UNROLL
                    for (int odd = 0; odd < 2; odd++)
                        UNROLL
                        for (int i = 0; i < rows; i++)
                            sum[odd][i * vecs + v] = vfma(vset(a[(r + odd) * rows + i]), row[odd], sum[odd][i * vecs + v]);
                }
                if (layout == B_PACKED) pairs += K_PANEL;
            }
        UNROLL
        for (int i = 0; i < rows; i++)
            UNROLL
            for (int v = 0; v < vecs; v++) {
                float *to = c + i * s->ldc + j + v * W;
                const vf before = t->add || p > 0 ? vload_masked(to, columns) : vset(0);
                if (t->k - p < BLOCK)
                    sum[0][i * vecs + v] = add_products_of_zeros(sum[0][i * vecs + v]);
                vstore_masked(to, before + (sum[0][i * vecs + v] + sum[1][i * vecs + v]), columns);
            }
    }
}

/* Computes all columns. One row waits for the memory, from which four panels at once come faster than two: 1 x 49152 x 576, in
 * 1.2 times the speed on a core with Zen 3, which reads 17 GB/s in one sequence and 24 in eight. */
typedef void FewRowsKernel(const KGemm *s, const FewRows *t, float *c);
#define FEW_ROWS_KERNEL(rows, layout)                                                   \
    static void few_##layout##_##rows(const KGemm *s, const FewRows *t, float *c)       \
    {                                                                                   \
        enum { ONE_ROW = layout == B_PACKED && W > 4 ? 4 * K_PANEL / W : 4 };           \
        enum { VECTORS = rows == 1 ? ONE_ROW : rows * 2 <= FEW_ROWS ? 2 : 1 };          \
        int64_t j = 0;                                                                  \
        for (; j + VECTORS * W <= s->n; j += VECTORS * W)                               \
            few_rows_tile(rows, VECTORS, layout, s, t, c, j, W);                        \
        for (; j < s->n; j += W)                                                        \
            few_rows_tile(rows, 1, layout, s, t, c, j, min(W, s->n - j));               \
    }
#define FEW_ROWS_KERNELS(rows) FEW_ROWS_KERNEL(rows, B_PACKED) FEW_ROWS_KERNEL(rows, B_ROWS)
#if defined(__AVX512F__)
#define EACH_FEW_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10)
#else
#define EACH_FEW_ROWS(X) X(1) X(2) X(3) X(4)
#endif
EACH_FEW_ROWS(FEW_ROWS_KERNELS)
#define OF_FEW_ROWS(rows) { few_B_PACKED_##rows, few_B_ROWS_##rows },
static FewRowsKernel *const few_rows_kernels[FEW_ROWS][2] = { EACH_FEW_ROWS(OF_FEW_ROWS) };

/* Rounds k columns of op(A), and packs them and `end` - k columns of zeros. The last store may write W - m floats more. */
static void pack_few_rows(float *to, const KGemm *s, const float *a, int64_t k, int64_t end)
{
    if (s->ta) {
        for (int64_t p = 0; p < end; p++, a += s->lda, to += s->m)
            vstore(to, p < k ? round_to_bf16(vload_masked(a, s->m)) : vset(0));
        return;
    }
    for (int64_t i = 0; i < s->m; i++, a += s->lda)
        for (int64_t p = 0; p < end; p += W) {
            float part[W];
            vstore(part, p < k ? round_to_bf16(vload_left(a + p, k - p)) : vset(0));
            for (int64_t q = 0; q < min(W, end - p); q++)
                to[(p + q) * s->m + i] = part[q];
        }
}

/* False if there is no memory for A. */
static bool gemm_few_rows(const KGemm *s, float *c, const float *a, const float *b)
{
    const LayoutB layout = s->packed_b ? B_PACKED : B_ROWS;
    const int64_t most = layout == B_PACKED ? s->k : min(FEW_K, s->k);      /* a packed B is read from one end to the other */
    float *packed_a = k_scratch((size_t)((most + 4) * s->m + W) * sizeof *packed_a);
    if (!packed_a) return false;
    for (int64_t p = 0; p < s->k; p += most) {
        const int64_t k = min(most, s->k - p), end = (k + 3) / 4 * 4;
        const FewRows t = { packed_a, s->packed_b ? NULL : b + p * s->ldb, p, k, end, s->add || p > 0 };
        const unsigned before = begin_flushing();
        pack_few_rows(packed_a, s, a + (s->ta ? p * s->lda : p), k, end);
        few_rows_kernels[s->m - 1][layout](s, &t, c);
        end_flushing(before);
    }
    if (has_epilogue(s)) epilogue(s, s->m, s->n, c, s->bias, s->pre);
    return true;
}

#else

enum { FEW_ROWS = 0 };
static bool gemm_few_rows(const KGemm *s, float *c, const float *a, const float *b)
{
    (void)s, (void)c, (void)a, (void)b;
    return false;
}

#endif

/* ---- the product ------------------------------------------------------------------------------------------------- */

/* The first and the last element of each of these rows. */
INLINE void prefetch_rows(const float *c, int64_t ldc, int64_t begin, int64_t end, int64_t columns)
{
    for (int64_t i = begin; i < end; i++) {
        __builtin_prefetch(c + i * ldc);
        __builtin_prefetch(c + i * ldc + columns - 1);
    }
}

/* C = A B or C += A B for packed blocks. The processor does not foresee which rows of C come next, so those among the
 * NEAR_ROWS are prefetched: 1.06 to 1.3 times the speed (AVX2 on Zen 3, GPT-2's shapes). AMX has no such rows. */
__attribute__((noinline)) static void multiply_blocks(Tiles t, int64_t m, int64_t n, const Packed *a, const Packed *b, float *c)
{
#if defined(CHECKS_PRODUCTS)
    t.plain = products_are_plain(&t, m, n, a, b);
#endif
    for (int64_t top = 0; top < m; top += NEAR_ROWS) {
        const int64_t end = min(top + NEAR_ROWS, m);
        for (int64_t j = 0; j < n; j += TILE_N)
            for (int64_t i = top; i < end; i += TILE_M) {
                const int64_t rows = min(TILE_M, m - i), columns = min(TILE_N, n - j);
                const Packed *tile_a = a + place_of_row(&t, i), *panel = b + place_of_column(j, t.b_k);
                prefetch_rows(c + j, t.ldc, i + TILE_M, min(i + 2 * TILE_M, end), columns);
                multiply_tile(&t, rows, columns, tile_a, panel, c + i * t.ldc + j);
            }
    }
}

enum { ROW_UNIT = TILE_M, COLUMN_UNIT = 32 };
#include "gemm_pass.h"

static void pack_part_of_a(const Pass *pass, int64_t i, int64_t m)
{
    const KGemm *s = pass->s;
    const Tiles tiles = { .columns_of_a = s->ta, .k = padded(pass->k) };
    const unsigned before = begin_flushing();
    pack_a(pass->packed_a + place_of_row(&tiles, i), s, place_in_a(pass, i), m, pass->k);
    end_flushing(before);
}

static void pack_part_of_b(const Pass *pass, int64_t j, int64_t n)
{
    const unsigned before = begin_flushing();
    pack_columns(pass->packed_b + place_of_column(j, padded(pass->k)), pass->s, pass->b, pass->j + j, pass->p, n, pass->k);
    end_flushing(before);
}

static void compute_part(const Pass *pass, int64_t i, int64_t j, int64_t m, int64_t n)
{
    const KGemm *s = pass->s;
    const int64_t place = (pass->i + i) * s->ldc + pass->j + j;
    float *c = pass->c + place;
    Tiles tiles = { .columns_of_a = s->ta, .add = s->add || pass->p > 0, .stream = is_streamed(s, pass->c),
                    .k = padded(pass->k), .b_k = pass->packed_b ? padded(pass->k) : stored_rows(s), .ldc = s->ldc };
    const Packed *b = pass->packed_b ? pass->packed_b + place_of_column(j, tiles.k) :
                                       (const Packed *)stored_part(s, pass->j + j, pass->p);
    const unsigned before = begin_flushing();
    begin_tiles();
    for (int64_t r = 0; s->k == 0 && !s->add && r < m; r++)
        memset(c + r * s->ldc, 0, (size_t)n * sizeof *c);
    if (pass->k > 0) multiply_blocks(tiles, m, n, pass->packed_a + place_of_row(&tiles, i), b, c);
    end_tiles();
    end_flushing(before);
    if (pass->p + pass->k == s->k && has_epilogue(s))
        epilogue(s, m, n, c, shift(s->bias, pass->j + j), shift_out(s->pre, place));
}

/* Without scratch memory: one tile at a time, packed on the stack. */
__attribute__((noinline)) static void gemm_without_scratch(Pass pass)
{
    _Alignas(64) Packed tile_a[PACKED_TILE_A], panel[TILE_N * PACKED_B_COLUMN];
    pass.packed_a = tile_a;
    if (!is_in_place(pass.s)) pass.packed_b = panel;
    gemm_loops(pass, TILE_M, TILE_N, KC, TILE_N);
}

void ISA(gemm_bf16)(const KGemm *s, real *c, const real *a, const real *b)
{
    if (s->b_pairs) {
        gemm_of_pairs(s, c, a);
        return;
    }
    if (s->m <= FEW_ROWS && s->k > 0 && (s->packed_b != NULL) == s->tb && gemm_few_rows(s, c, a, b))
        return;
    const int64_t columns = columns_of_pass(s, NC), slices = slices_of_pass(s);
    Pass pass = { .s = s, .c = c, .a = a, .b = b, .a_items = packed_a_size(min(MC, s->m)), .b_items = packed_b_size(columns) };
    Packed *memory = k_scratch((size_t)(slices * (pass.a_items + pass.b_items)) * sizeof *memory);
    if (!memory) {
        gemm_without_scratch(pass);
        return;
    }
    pass.packed_a = memory + slices * pass.b_items;
    if (!is_in_place(s)) pass.packed_b = memory;
    gemm_loops(pass, MC, columns, slices * KC, NC);
}
