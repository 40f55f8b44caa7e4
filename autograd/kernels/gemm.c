/* gemm.c: the matrix product C = op(A) op(B), with what is fused to it.
 *
 * Goto and van de Geijn (2008) is the pattern. k is cut into blocks of K_GEMM_BLOCK, as kernels.h promises. Of each block,
 * all rows of A that a thread has are packed (into its outer cache), then B is packed GROUP columns at a time (into its
 * inner cache), and every tile of A meets every sliver of the group: the tile's part of A stays in the innermost cache
 * while the group streams by, and C is walked along its rows.
 *
 * Packing pays where what is packed is read several times, and where it lies in short pieces: what the caches do not have
 * yet comes from far in long ones only. A product of at most MR rows reads A and B in place; with one
 * row that is a matrix-vector product at the speed of the memory.
 *
 * Threads take rectangles of C, or whole matrices of a batch; k is never cut among them, so they cannot change a bit. */
#include "gemm.h"
#include "gemm_pack.h"
#include "gemm_tile.h"
#include "scratch.h"
#include "vmath.h"

#include "gemm.def"

enum {
    BLOCK = K_GEMM_BLOCK,
    LINE = 16,                  /* floats in a line of the caches */
    TINY = 64, TWO_MIN = 4, TWO_MAX = 10,
    FEW_ROWS = 2 * MR,
    FEW_COLUMNS = W * 5 / 8,
    STRIP = BLOCK,              /* rows of B of which pieces are read before the next ones */
    BAND = 256,                 /* rows of a C of few columns, transposed at once */
    PANEL = 1024,               /* rows of A packed at once, at most */
    GROUP = 256,                /* columns of B packed at once */
    DIRECT_COLUMNS = 512,       /* up to so many columns of B, A is read in place, */
    DIRECT_ROWS = 512,          /* up to so many rows of A, B is; */
    FAR = 1024,                 /* but not if its rows stand a multiple of this apart, in the same lines of the caches: */
    FAR_COLUMNS = 128,
    FAR_ROWS = 2 * MR,
    ACROSS = 64,                /* and of both, if A is transposed: a tile then takes short pieces of many rows */
    THREAD_WORK = 1 << 18       /* multiply-adds that are worth a thread */
};

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- what follows the product ------------------------------------------------------------------------------------ */

INLINE vf activate(KActivation act, vf x)
{
    switch (act) {
    case K_ACT_NONE:     return x;
    case K_ACT_RELU:     return vmax(vset(0), x);
    case K_ACT_GELU:     return vgelu(x);
    case K_ACT_GELU_ERF: return vgelu_erf(x);
    }
    return x;
}

INLINE void finish_as(KActivation act, int64_t ldc, int64_t rows, int64_t columns, float *c, const float *bias, float *pre)
{
    for (int64_t i = 0; i < rows; i++, c += ldc) {
        for (int64_t j = 0; j < columns; j += W) {
            const int64_t left = min(W, columns - j);
            vf x = take(c + j, left);
            if (bias)
                x = x + take(bias + j, left);
            if (pre)
                put(pre + j, x, left);
            put(c + j, activate(act, x), left);
        }
        if (pre)
            pre += ldc;
    }
}

/* Bias and activation of a part of C that was just computed; the pointers point to its first element. */
static void finish(const KGemm *s, int64_t rows, int64_t columns, float *c, const float *bias, float *pre)
{
    switch (s->act) {
    case K_ACT_NONE:     finish_as(K_ACT_NONE, s->ldc, rows, columns, c, bias, pre); break;
    case K_ACT_RELU:     finish_as(K_ACT_RELU, s->ldc, rows, columns, c, bias, pre); break;
    case K_ACT_GELU:     finish_as(K_ACT_GELU, s->ldc, rows, columns, c, bias, pre); break;
    case K_ACT_GELU_ERF: finish_as(K_ACT_GELU_ERF, s->ldc, rows, columns, c, bias, pre); break;
    }
}

static bool has_finish(const KGemm *s) { return s->bias || s->pre || s->act != K_ACT_NONE; }

INLINE const float *shift(const float *p, int64_t by) { return p ? p + by : NULL; }
INLINE float *shift_out(float *p, int64_t by)         { return p ? p + by : NULL; }

/* ---- few rows ---------------------------------------------------------------------------------------------------- */

/* The kernel for the first columns of those `left`, how many vectors it does and how long the last one is. */
static TileKernel *kernel_for(const KGemm *s, int rows, int64_t left, int *vecs, int *last)
{
    *vecs = s->tb && W == 16 && s->m >= TWO_MIN && s->m <= TWO_MAX && left > W ? 2 : 1;
    *last = (int)min(W, left - (*vecs - 1) * W);
    if (s->tb)
        return by_columns[rows - 1][*vecs - 1];
    if (left < W)
        return by_rows_cut[rows - 1];
    if (s->m <= WIDE_ROWS && left >= wide_vecs[rows - 1] * W) {
        *vecs = wide_vecs[rows - 1];
        return wide[rows - 1];
    }
    *vecs = (int)min(NV, left / W);
    return read_once[rows - 1][*vecs - 1];
}

/* A tile with its products p..p + length - 1 along k, or as many as are left. Where there are none, it is zeros. */
static void multiply_part(TileKernel *kernel, Tile *t, const KGemm *s, const float *a, const float *b, int64_t p,
                          int64_t length)
{
    const int64_t end = min(p + length, s->k);
    do {
        t->k = min(BLOCK, end - p);
        t->a = a + p * t->a_k;
        t->b = b + p * (s->tb ? 1 : s->ldb);
        kernel(t);
        t->add = true;
        p += BLOCK;
    } while (p < end);
}

/* Reads A and B in place, and B from the first column to the last: the most that memory can give. Columns of B that lie
 * across its rows are read a strip of rows at a time, so that the next ones are still near when they are wanted. */
static void multiply_few_rows(const KGemm *s, float *c, const float *a, const float *b)
{
    Tile t = { .a_row = s->ta ? 1 : s->lda, .a_k = s->ta ? s->lda : 1, .ldb = s->ldb, .ldc = s->ldc };
    const Cut cut = cut_rows(s->m);
    const int64_t length = s->tb ? s->k : STRIP;
    int64_t p = 0;
    do {
        const bool end = p + length >= s->k;
        for (int64_t j = 0, columns = 0; j < s->n; j += columns) {
            for (int64_t i = 0, tile = 0; tile < cut.tiles; tile++) {
                const int rows = rows_of(cut, (int)tile);
                int vecs;
                TileKernel *kernel = kernel_for(s, rows, s->n - j, &vecs, &t.last);
                columns = (vecs - 1) * W + t.last;
                t.c = c + i * s->ldc + j;
                t.add = s->add || p > 0;
                multiply_part(kernel, &t, s, a + i * t.a_row, b + j * (s->tb ? s->ldb : 1), p, length);
                i += rows;
            }
            if (end && has_finish(s))
                finish(s, s->m, columns, c + j, shift(s->bias, j), shift_out(s->pre, j));
        }
        p += length;
    } while (p < s->k);
}

/* ---- few columns ------------------------------------------------------------------------------------------------- */

/* The product whose result is the transpose. */
static KGemm transposed(KGemm s)
{
    KGemm t = s;
    t.ta = !s.tb, t.lda = s.ldb, t.step_a = s.step_b;
    t.tb = !s.ta, t.ldb = s.lda, t.step_b = s.step_a;
    t.m = s.n, t.n = s.m;
    return t;
}

/* Few columns would leave most lanes of a vector idle. So the transpose is computed, whose rows they are, a band at a
 * time. */
static void multiply_few_columns(const KGemm *s, float *c, const float *a, const float *b)
{
    _Alignas(64) float band[MR * BAND];
    KGemm flipped = transposed(*s);
    flipped.ldc = BAND;
    flipped.bias = NULL, flipped.pre = NULL, flipped.act = K_ACT_NONE;
    for (int64_t i = 0; i < s->m; i += BAND) {
        const int64_t rows = flipped.n = min(BAND, s->m - i);
        float *c_rows = c + i * s->ldc;
        for (int64_t j = 0; s->add && j < rows; j += W)
            pack_transposed(band + j, BAND, c_rows + j * s->ldc, s->ldc, min(W, rows - j), s->n);
        multiply_few_rows(&flipped, band, b, a + i * (s->ta ? 1 : s->lda));
        for (int64_t j = 0; j < rows; j += 4) {
            vf row[4];
            load_4_columns(row, band + j, BAND, s->n);
            for (int64_t q = 0; q < 4 && j + q < rows; q++)
                vstore_n(c_rows + (j + q) * s->ldc, row[q], s->n);
        }
        if (has_finish(s))
            finish(s, rows, s->n, c_rows, s->bias, shift_out(s->pre, i * s->ldc));
    }
}

/* ---- more rows --------------------------------------------------------------------------------------------------- */

/* A block of A or B as it lies in memory: rows of `floats` elements. */
typedef struct { const float *from; int64_t rows, floats, ld; } Source;

/* Columns j.. of op(B), as many as are left of `group`, and rows p.. of it, as many as are left of BLOCK. */
static Source source_of_b(const KGemm *s, const float *b, int64_t j, int64_t p, int64_t group)
{
    const int64_t n = min(group, s->n - j), k = min(BLOCK, s->k - p);
    return s->tb ? (Source){ b + j * s->ldb + p, n, k, s->ldb } : (Source){ b + p * s->ldb + j, k, n, s->ldb };
}

/* How a product is done: whether A and B are packed, and where to. */
typedef struct { float *panel, *group; int64_t columns; bool pack_a, pack_b; } Plan;

/* Has the tile ask for a part of the next block, one line of each of k / 4 rows; `call` counts the parts. */
static void fetch_ahead(Tile *t, const Source *next, int64_t call)
{
    const int64_t lines = (next->floats + LINE - 1) / LINE, rows = t->k / 4;
    const int64_t row = lines == 0 ? 0 : call / lines * rows;
    t->ahead = t->b;
    t->ahead_step = 0;
    if (row < next->rows) {
        t->ahead = next->from + row * next->ld + call % lines * LINE;
        t->ahead_step = next->ld;
    }
}

/* All tiles of m rows with n columns of B; meanwhile the next rows of A are fetched, where they lie one after the other,
 * and then `next`. The pointers of the tile point to the blocks. If they are `complete` by this, bias and activation follow
 * while they are near. */
static void multiply_group(const KGemm *s, const Plan *plan, Tile t, int64_t m, int64_t n, const Source *next,
                           bool complete, const float *bias, float *pre)
{
    const Cut cut = cut_rows(m);
    const float *b = t.b;
    float *c = t.c;
    int64_t call = 0;
    for (int i = 0; i < cut.tiles; i++) {
        const int rows = rows_of(cut, i);
        TileKernel *const *kernels = by_rows[!plan->pack_a && !s->ta][rows - 1];
        Source next_a = { 0 };
        if (plan->pack_a)
            t.a_row = 1, t.a_k = rows;
        else if (i + 1 < cut.tiles && t.a_row == t.k)
            next_a = (Source){ t.a + rows * t.k, rows * t.k / LINE, LINE, LINE };
        for (int64_t j = 0, columns; j < n; j += columns) {
            columns = min(NR, n - j);
            if (!plan->pack_b && columns > W)
                columns -= columns % W;             /* whole vectors; the cut one comes next */
            const int64_t vecs = (columns + W - 1) / W;
            t.last = (int)(columns - (vecs - 1) * W);
            t.b = b + (plan->pack_b ? j * t.k : j);
            t.ldb = plan->pack_b ? vecs * W : s->ldb;
            t.c = c + j;
            const int64_t part = j / NR;
            if (part * (t.k / 4) < next_a.rows)
                fetch_ahead(&t, &next_a, part);
            else
                fetch_ahead(&t, next, call++);
            (t.last < W && !plan->pack_b ? by_rows_cut[rows - 1] : kernels[vecs - 1])(&t);
        }
        if (complete && has_finish(s)) {
            finish(s, rows, n, c, bias, pre);
            pre = shift_out(pre, rows * s->ldc);
        }
        t.a += plan->pack_a ? rows * t.k : rows * t.a_row;
        c += rows * s->ldc;
    }
}

static void multiply_by(const Plan *plan, const KGemm *s, float *c, const float *a, const float *b)
{
    const int64_t a_row = s->ta ? 1 : s->lda, a_k = s->ta ? s->lda : 1, step = plan->columns;
    for (int64_t i = 0; i < s->m; i += PANEL) {
        const int64_t m = min(PANEL, s->m - i);
        int64_t p = 0;
        do {                                        /* once even if k is 0 */
            const int64_t k = min(BLOCK, s->k - p);
            const float *rows = a + i * a_row + p * a_k;
            if (plan->pack_a)
                pack_a(plan->panel, s, rows, m, k);
            for (int64_t j = 0; j < s->n; j += step) {
                const int64_t n = min(step, s->n - j);
                const Source columns = source_of_b(s, b, j, p, step);
                Source next = { 0 };
                if (j + step < s->n)
                    next = source_of_b(s, b, j + step, p, step);
                else if (p + BLOCK < s->k)
                    next = source_of_b(s, b, 0, p + BLOCK, step);
                if (plan->pack_b)
                    pack_b(plan->group, s, columns.from, n, k);
                Tile t = { .a = plan->pack_a ? plan->panel : rows, .a_row = a_row, .a_k = a_k,
                           .b = plan->pack_b ? plan->group : columns.from,
                           .c = c + i * s->ldc + j, .ldc = s->ldc, .k = k, .add = s->add || p > 0 };
                multiply_group(s, plan, t, m, n, &next, p + k == s->k, shift(s->bias, j),
                               shift_out(s->pre, i * s->ldc + j));
            }
            p += BLOCK;
        } while (p < s->k);
    }
}

/* Without scratch memory: A in place, and of B one sliver at a time, packed here. */
__attribute__((noinline)) static void multiply_without_memory(const KGemm *s, float *c, const float *a, const float *b)
{
    _Alignas(64) float sliver[NR * BLOCK];
    multiply_by(&(Plan){ NULL, sliver, NR, false, true }, s, c, a, b);
}

static void multiply_most_columns(const KGemm *s, float *c, const float *a, const float *b)
{
    enum { PANEL_FLOATS = PANEL * BLOCK + 64, GROUP_FLOATS = GROUP * BLOCK };
    if (s->m <= (s->tb ? MR : FEW_ROWS)) {
        multiply_few_rows(s, c, a, b);
        return;
    }
    Plan plan = { .columns = GROUP };
    plan.pack_a = s->n > (s->ta ? ACROSS : s->lda % FAR == 0 ? FAR_COLUMNS : DIRECT_COLUMNS);
    plan.pack_b = s->tb || s->m > (s->ta ? ACROSS : s->ldb % FAR == 0 ? FAR_ROWS : DIRECT_ROWS);
    if (plan.pack_a || plan.pack_b) {
        plan.group = k_scratch((PANEL_FLOATS + GROUP_FLOATS) * sizeof(float));
        if (!plan.group) {
            multiply_without_memory(s, c, a, b);
            return;
        }
        plan.panel = plan.group + GROUP_FLOATS;
    }
    multiply_by(&plan, s, c, a, b);
}

/* Columns j.. of a product, n of them. */
static KGemm columns_of(const KGemm *s, int64_t j, int64_t n)
{
    KGemm part = *s;
    part.n = n;
    part.bias = shift(s->bias, j);
    part.pre = shift_out(s->pre, j);
    return part;
}

static void multiply(const KGemm *s, float *c, const float *a, const float *b)
{
    const int64_t rest = s->n % W, whole = s->n - rest;
    if (rest == 0 || rest > FEW_COLUMNS || s->m < W) {
        multiply_most_columns(s, c, a, b);
        return;
    }
    KGemm part = columns_of(s, whole, rest);
    multiply_few_columns(&part, c + whole, a, b + whole * (s->tb ? s->ldb : 1));
    if (whole > 0) {
        part = columns_of(s, 0, whole);
        multiply_most_columns(&part, c, a, b);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Each matrix of the batch is cut into `down` by `across` rectangles. */
typedef struct { const KGemm *s; float *c; const float *a, *b; int64_t down, across; } Job;

static void multiply_rectangles(void *arg, int64_t begin, int64_t end)
{
    const Job *job = arg;
    for (int64_t item = begin; item < end; item++) {
        KGemm s = *job->s;
        const int64_t matrix = item / (job->down * job->across), inside = item % (job->down * job->across);
        const int64_t down = inside / job->across, across = inside % job->across;
        const int64_t i = s.m * down / job->down, j = (s.n + NR - 1) / NR * across / job->across * NR;
        const int64_t next_j = (s.n + NR - 1) / NR * (across + 1) / job->across * NR;
        s.m = s.m * (down + 1) / job->down - i;
        s.n = min(s.n, next_j) - j;
        s.bias = shift(s.bias, j);
        s.pre = shift_out(s.pre, matrix * s.step_c + i * s.ldc + j);
        if (s.m > 0 && s.n > 0)
            multiply(&s, job->c + matrix * s.step_c + i * s.ldc + j,
                     job->a + matrix * s.step_a + (s.ta ? i : i * s.lda), job->b + matrix * s.step_b + (s.tb ? j * s.ldb : j));
    }
}

/* Cuts a matrix into `parts` rectangles, or some fewer, so that the slowest thread has least to do. */
static void cut_matrix(Job *job, int64_t parts)
{
    const int64_t slivers = (job->s->n + NR - 1) / NR;
    int64_t least = INT64_MAX;
    for (int64_t down = 1; down <= parts; down++) {
        const int64_t across = min(slivers, parts / down);
        const int64_t rows = (job->s->m + down - 1) / down, slivers_wide = (slivers + across - 1) / across;
        const int64_t cost = 8 * rows * slivers_wide + 2 * rows + 2 * NR * slivers_wide;         /* the last two: packing */
        if (cost < least) {
            least = cost;
            job->down = down;
            job->across = across;
        }
    }
}

/* Multiply-adds of one matrix; with few rows it is reading B that takes the time. */
static double work_of(const KGemm *s) { return (double)(s->m + 4) * (double)s->n * (double)s->k; }

static void multiply_batch(const KGemm *s, float *c, const float *a, const float *b)
{
    const double work = work_of(s), enough = THREAD_WORK;
    if (s->batch == 1 && work < 2 * enough) {
        multiply(s, c, a, b);
        return;
    }
    Job job = { s, c, a, b, 1, 1 };
    const int64_t threads = k_threads();
    if (s->batch % threads != 0 && s->batch < 4 * threads)
        cut_matrix(&job, (int64_t)fmax(1, fmin((double)threads, work / enough)));
    const int64_t items = s->batch * job.down * job.across;
    k_parallel(items, (int64_t)fmin(ceil(enough / (work / (double)(job.down * job.across) + 1)), (double)items),
               multiply_rectangles, &job);
}

/* Whether the product is so small that deciding how to do it would take longer. */
static bool is_tiny(const KGemm *s)
{
    return s->batch == 1 && s->m > 0 && s->m < W && s->n > 0 && s->n <= TINY && s->k > 0 && s->k <= TINY;
}

void ISA(gemm)(const KGemm *shape, real *c, const real *a, const real *b)
{
    if (is_tiny(shape)) {
        multiply_few_rows(shape, c, a, b);
        return;
    }
    KGemm s = *shape;
    if (s.batch <= 0 || s.m <= 0 || s.n <= 0 || (s.k <= 0 && s.add))
        return;
    if (s.batch > 1 && s.step_b == 0 && !s.ta && s.step_a == s.m * s.lda && s.step_c == s.m * s.ldc) {
        s.m *= s.batch;                             /* one tall matrix */
        s.batch = 1;
    }
    if (s.step_c != 0 || s.batch == 1) {
        multiply_batch(&s, c, a, b);
        return;
    }
    const int64_t batch = s.batch;                  /* all into one C, one after the other */
    s.batch = 1;
    for (int64_t i = 0; i < batch; i++)
        multiply_batch(&s, c, a + i * s.step_a, b + i * s.step_b);
}
