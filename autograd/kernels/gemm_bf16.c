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

/* Stores rounded numbers of two rows in pairs: the even row's in the lower half of an item, the odd row's in the upper. */
INLINE void store_pairs(uint32_t *to, vf even, vf odd)
{
    vstore((float *)to, vfrom_bits(vshr(vbits(even), 16) | vbits(odd)));
}

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

INLINE vf first_lanes(vf x, int64_t n) { return n >= W ? x : vselect(vfirst(n > 0 ? n : 0), x, vset(0)); }

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
    const int64_t end = padded(k);
    int64_t p = 0;
    for (; p + 2 <= k; p += 2, b += 2 * s->ldb)
        pack_two_rows(panel, end, p, j, round_to_bf16(vload_left(b, columns)), round_to_bf16(vload_left(b + s->ldb, columns)));
    if (p < k)
        pack_two_rows(panel, end, p, j, round_to_bf16(vload_left(b, columns)), vset(0));
}

/* The same if B is transposed. */
INLINE void pack_stored_columns(Packed *panel, const KGemm *s, const float *b, int64_t j, int64_t columns, int64_t k)
{
    const int64_t end = padded(k);
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
        vf column[4];
        load_4_columns(column, b + p, s->ldb, columns);
        pack_two_rows(panel, end, p, j, round_to_bf16(column[0]), round_to_bf16(column[1]));
        pack_two_rows(panel, end, p + 2, j, round_to_bf16(column[2]), round_to_bf16(column[3]));
    }
    for (; p < k; p += 2)
        pack_two_rows(panel, end, p, j, round_to_bf16(load_column(b + p, s->ldb, columns)),
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
                pack_two_rows(panel, end, p, j, vset(0), vset(0));
        }
    }
}

/* ---- B that k_pack_b has packed ------------------------------------------------------------------------------------ */

static int64_t stored_rows(const KGemm *s) { return bf16_whole_blocks(s->k); }

/* The pairs of row p in the panel that has column j; p is even, and j a multiple of K_PANEL. */
static const uint32_t *stored_part(const KGemm *s, int64_t j, int64_t p)
{
    return s->packed_b + j * stored_rows(s) / 2 + p / 2 * K_PANEL;
}

INLINE vf even_rows(vi pairs) { return vfrom_bits(pairs << 16); }
INLINE vf odd_rows(vi pairs)  { return vfrom_bits(pairs & viset((int32_t)0xffff0000)); }
INLINE vi load_pairs(const uint32_t *p) { return vbits(vload((const float *)p)); }

/* Columns j..j + n - 1 and rows p..p + k - 1, as pack_b packs them. */
static void unpack_b(Packed *to, const KGemm *s, int64_t j, int64_t p, int64_t n, int64_t k)
{
    const int64_t end = padded(k);
    for (int64_t column = 0; column < (n + TILE_N - 1) / TILE_N * TILE_N; column += W) {
        Packed *panel = (Packed *)panel_of_b(to, column / TILE_N * TILE_N, end);
        const uint32_t *from = stored_part(s, (j + column) / K_PANEL * K_PANEL, p) + (j + column) % K_PANEL;
        for (int64_t q = 0; q < end; q += 2, from += K_PANEL) {
            const vi pairs = column < n ? load_pairs(from) : viset(0);
            pack_two_rows(panel, end, q, column % TILE_N, even_rows(pairs), odd_rows(pairs));
        }
    }
}

/* Two rows of a panel, W columns. Columns beyond `columns` become 0. */
INLINE void store_rounded(uint32_t *to, vf even, vf odd, int64_t columns)
{
    store_pairs(to, first_lanes(round_to_bf16(even), columns), first_lanes(round_to_bf16(odd), columns));
}

/* Packs whole panels. */
static void pack_panels(void *arg, int64_t begin, int64_t end)
{
    const KPackB *job = arg;
    const int64_t k = job->k, ld = job->ldb;
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
}

void ISA(pack_b)(const KPackB *job)
{
    k_parallel((job->n + K_PANEL - 1) / K_PANEL, 8, pack_panels, (void *)job);
}

#if defined(HAVE_FLUSH_MODE)

/* Few rows, as in generation: B is read once, at the speed of the memory. A has FEW_ROWS rounded rows, k apart, filled up with
 * zeros. */
enum { FEW_ROWS = W == 16 ? 4 : 2, FEW_COLUMNS = 2 * W };

INLINE void multiply_few(int rows, const KGemm *s, const float *a, float *c)
{
    const int64_t k = stored_rows(s);
    for (int64_t j = 0; j < s->n; j += FEW_COLUMNS) {
        const int64_t columns = min(FEW_COLUMNS, s->n - j);
        const uint32_t *from[2] = { stored_part(s, j / K_PANEL * K_PANEL, 0) + j % K_PANEL, NULL };
        from[1] = columns > W ? stored_part(s, (j + W) / K_PANEL * K_PANEL, 0) + (j + W) % K_PANEL : from[0];
        vf total[FEW_ROWS * 2];
        UNROLL
        for (int i = 0; i < rows; i++)
            UNROLL
            for (int v = 0; v < 2; v++)
                total[i * 2 + v] = !s->add || columns <= v * W ? vset(0) :
                                   vload_left(c + i * s->ldc + j + v * W, columns - v * W);
        for (int64_t p = 0; p < k; p += BLOCK) {
            vf sum[2][FEW_ROWS * 2];
            UNROLL
            for (int i = 0; i < rows * 2; i++)
                sum[0][i] = sum[1][i] = vset(0);
            for (int64_t q = p; q < p + BLOCK; q += 2) {
                UNROLL
                for (int v = 0; v < 2; v++) {
                    const vi pairs = load_pairs(from[v] + q / 2 * K_PANEL);
                    const vf even = even_rows(pairs), odd = odd_rows(pairs);
                    UNROLL
                    for (int i = 0; i < rows; i++) {
                        sum[0][i * 2 + v] = vfma(vset(a[i * k + q]), even, sum[0][i * 2 + v]);
                        sum[1][i * 2 + v] = vfma(vset(a[i * k + q + 1]), odd, sum[1][i * 2 + v]);
                    }
                }
            }
            UNROLL
            for (int i = 0; i < rows * 2; i++)
                total[i] = total[i] + (sum[0][i] + sum[1][i]);
        }
        UNROLL
        for (int i = 0; i < rows; i++)
            UNROLL
            for (int v = 0; v < 2; v++)
                if (columns > v * W)
                    vstore_n(c + i * s->ldc + j + v * W, total[i * 2 + v], min(W, columns - v * W));
    }
}

__attribute__((noinline)) static void multiply_few_rows(int64_t rows, const KGemm *s, const float *a, float *c)
{
    switch (rows) {
    case 1:  multiply_few(1, s, a, c); break;
    case 2:  multiply_few(2, s, a, c); break;
    case 3:  multiply_few(FEW_ROWS > 2 ? 3 : 2, s, a, c); break;
    default: multiply_few(FEW_ROWS, s, a, c); break;
    }
}

/* False if there is no memory for the rows of A. */
static bool gemm_few_rows(const KGemm *s, float *c, const float *a)
{
    const int64_t k = stored_rows(s);
    float *rounded = k_scratch((size_t)(FEW_ROWS * k + W) * sizeof *rounded);
    if (!rounded)
        return false;
    for (int64_t i = 0; i < s->m; i += FEW_ROWS) {
        const int64_t rows = min(FEW_ROWS, s->m - i);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t p = 0; p < k; p += W)
                vstore(rounded + r * k + p,
                       p < s->k ? round_to_bf16(vload_left(a + (i + r) * s->lda + p, s->k - p)) : vset(0));
        const unsigned before = begin_flushing();
        multiply_few_rows(rows, s, rounded, c + i * s->ldc);
        end_flushing(before);
    }
    if (has_epilogue(s))
        epilogue(s, s->m, s->n, c, s->bias, s->pre);
    return true;
}

#else

enum { FEW_ROWS = 0 };
static bool gemm_few_rows(const KGemm *s, float *c, const float *a)
{
    (void)s, (void)c, (void)a;
    return false;
}

#endif

/* ---- the product ------------------------------------------------------------------------------------------------- */

/* For a tile that is not whole: on a copy of C. */
static void multiply_part(int64_t rows, int64_t columns, bool plain, bool add, const Packed *a, const Packed *b, int64_t b_k,
                          int64_t k, float *c, int64_t ldc)
{
    _Alignas(64) float copy[TILE_M * TILE_N];
    for (int64_t i = 0; add && i < rows; i++)
        memcpy(copy + i * TILE_N, c + i * ldc, (size_t)columns * sizeof *c);
    multiply_tile(rows, columns, plain, add, a, b, b_k, k, copy, TILE_N);
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, copy + i * TILE_N, (size_t)columns * sizeof *c);
}

/* C = A B or C += A B for packed blocks. A panel of B has b_k rows, of which the first k are used. */
__attribute__((noinline)) static void multiply_blocks(bool add, int64_t m, int64_t n, int64_t k, const Packed *a,
                                                      const Packed *b, int64_t b_k, float *c, int64_t ldc)
{
    const bool plain = products_are_plain(m, n, k, a, b);
    for (int64_t j = 0; j < n; j += TILE_N)
        for (int64_t i = 0; i < m; i += TILE_M) {
            const int64_t rows = min(TILE_M, m - i), columns = min(TILE_N, n - j);
            const Packed *tile_a = tile_of_a(a, i, k), *panel = panel_of_b(b, j, b_k);
            float *to = c + i * ldc + j;
            if (columns < TILE_N || (WHOLE_TILES && rows < TILE_M))
                multiply_part(rows, columns, plain, add, tile_a, panel, b_k, k, to, ldc);
            else
                multiply_tile(rows, columns, plain, add, tile_a, panel, b_k, k, to, ldc);
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
                const Packed *block_b = plan->b;
                int64_t b_k = padded(k);
                if (s->packed_b && READS_STORED_B) {
                    b_k = stored_rows(s);
                    block_b = (const Packed *)stored_part(s, j, p);
                } else if (s->packed_b)
                    unpack_b(plan->b, s, j, p, n, k);
                else
                    pack_b(plan->b, s, b + (s->tb ? j * s->ldb + p : j + p * s->ldb), n, k);
                for (int64_t r = 0; s->k == 0 && !s->add && r < m; r++)
                    memset(block + r * s->ldc, 0, (size_t)n * sizeof *c);
                const unsigned before = begin_flushing();
                if (k > 0)
                    multiply_blocks(s->add || p > 0, m, n, padded(k), plan->a, block_b, b_k, block, s->ldc);
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
    if (s->packed_b && !s->ta && s->m <= 2 * FEW_ROWS && gemm_few_rows(s, c, a))
        return;
    const int64_t a_size = packed_a_size(min(MC, s->m)), b_size = packed_b_size(NC);
    Packed *memory = k_scratch((size_t)(a_size + b_size) * sizeof(Packed));
    begin_tiles();
    if (memory)
        gemm_loops(&(Plan){ memory + b_size, memory, MC, NC }, s, c, a, b);
    else
        gemm_without_scratch(s, c, a, b);
    end_tiles();
}
