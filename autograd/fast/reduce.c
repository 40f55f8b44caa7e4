/* reduce.c: sums and variances along one dimension: x is (outer, n, inner), y is (outer, inner).
 *
 * Along contiguous items (inner 1) a sum is cut into at most PARTIALS chunks of whole blocks, each summed by SUM_OF. Across
 * rows (inner > 1) the columns are cut into strips, and the rows into at most CHUNKS chunks of whole blocks of BLOCK_ROWS
 * rows; in a block each column is one chain of additions, and the sums of the blocks are added in order. Threads take rows,
 * chunks or strips, depending on which are many. The cuts depend on the shape alone and the sums of the chunks are added in
 * order, so the result does not depend on the number of threads. */
#include "simd.h"

enum {
    GRAIN = 16384,
    LONG_ROW = 65536,           /* threads share rows of this length or more */
    PARTIALS = 256,             /* chunks of a row at most */
    STRIP = 256,                /* columns at most */
    LEAST_STRIP = W == 16 ? 128 : 64,       /* fewer take longer for each column: they do not fill VECS vectors */
    BLOCK_ROWS = 64,
    CHUNKS = 32,                /* chunks of rows at most */
    VECS = 8                    /* vectors of columns whose sums are in registers */
};

/* The terms of the sum: x, x - mean, its square, or dy times the normalized x of layer norm. */
typedef enum { VALUE, DEVIATION, SQUARE, NORMALIZED } Term;

typedef struct {
    Term term;
    int64_t outer, n, inner;
    const float *x, *mean, *dy, *rest, *rstd;   /* mean: one for each sum; for NORMALIZED all three are one for each row */
    float scale;
    bool add;
    float *y;
    int64_t length;                         /* of a chunk: items along a row, or rows */
    int64_t strip;                          /* columns */
    float *partial;
} Job;

static void store_sum(const Job *j, int64_t at, double sum)
{
    float value = j->scale * (float)sum;
    j->y[at] = j->add ? j->y[at] + value : value;
}

/* The length of a chunk if n items become at most `most` chunks of whole blocks. */
static int64_t chunk_length(int64_t n, int64_t most, int64_t block)
{
    int64_t length = (n + most - 1) / most;
    return (length + block - 1) / block * block;
}

static int64_t chunks_of(const Job *j) { return j->length > 0 ? (j->n + j->length - 1) / j->length : 0; }

/* ---- inner 1: along the row -------------------------------------------------------------------------------------- */

/* Chunk number p of a row. */
static double sum_items(const Job *j, int64_t row, int64_t p)
{
    const int64_t begin = p * j->length, n = j->n - begin < j->length ? j->n - begin : j->length;
    const float *x = j->x + row * j->n + begin;
    double total = 0;
    if (j->term == VALUE)
        SUM_OF(total, n, LOAD(x))
    else {
        const vf mean = vset(j->mean[row]);
        if (j->term == DEVIATION)
            SUM_OF(total, n, LOAD(x) - mean)
        else
            SUM_OF(total, n, (LOAD(x) - mean) * (LOAD(x) - mean))
    }
    return total;
}

static void sum_rows(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    for (int64_t row = begin; row < end; row++) {
        double total = 0;
        for (int64_t p = 0; p * j->length < j->n; p++)
            total += (float)sum_items(j, row, p);
        store_sum(j, row, total);
    }
}

static void sum_partials(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    for (int64_t p = begin; p < end; p++)
        j->partial[p] = (float)sum_items(j, 0, p);
}

static void sum_along(Job *j)
{
    j->length = chunk_length(j->n, PARTIALS, SUM_BLOCK);
    if (j->n < LONG_ROW) {
        k_parallel(j->outer, 1 + GRAIN / (j->n + 16), sum_rows, j);
        return;
    }
    Job one = *j;
    float partial[PARTIALS];
    one.partial = partial;
    for (int64_t row = 0; row < j->outer; row++) {
        one.x = j->x + row * j->n;
        one.mean = j->mean ? j->mean + row : NULL;
        k_parallel(chunks_of(j), 1 + GRAIN / j->length, sum_partials, &one);
        double total = 0;
        for (int64_t p = 0; p < chunks_of(j); p++)
            total += partial[p];
        store_sum(j, row, total);
    }
}

/* ---- inner > 1: down the columns --------------------------------------------------------------------------------- */

/* Adds the terms of one row, of W columns, to `sum`. `left` columns exist, at least one; there can be more than W. */
INLINE vf add_terms(const Job *j, Term term, int64_t o, int64_t row, int64_t column, int64_t left, vf sum)
{
    const vf x = vload_left(j->x + (o * j->n + row) * j->inner + column, left);
    if (term == VALUE) return sum + x;
    if (term == NORMALIZED) {
        const vf dy = vload_left(j->dy + row * j->inner + column, left), r = vset(j->rstd[row]);
        if (!j->mean) return vfma(dy, x * r, sum);
        return vfma(dy, vfma(x - vset(j->mean[row]), r, vset(-(j->rest[row] * j->rstd[row]))), sum);
    }
    const vf deviation = x - vload_left(j->mean + o * j->inner + column, left);
    return sum + (term == SQUARE ? deviation * deviation : deviation);
}

/* Sums rows row..last - 1 of `vecs` vectors of columns. `width` columns exist: at least one in each vector. */
INLINE void sum_columns(const Job *j, Term term, int vecs, int64_t o, int64_t row, int64_t last, int64_t column, int64_t width,
                        float *total)
{
    vf all[VECS];
    int64_t left[VECS];
    UNROLL
    for (int v = 0; v < vecs; v++) {
        all[v] = vset(0);
        left[v] = width - v * W;
    }
    while (row < last) {
        vf block[VECS];
        UNROLL
        for (int v = 0; v < vecs; v++)
            block[v] = vset(0);
        for (int64_t stop = last - row < BLOCK_ROWS ? last : row + BLOCK_ROWS; row < stop; row++)
            UNROLL
            for (int v = 0; v < vecs; v++)
                block[v] = add_terms(j, term, o, row, column + v * W, left[v], block[v]);
        UNROLL
        for (int v = 0; v < vecs; v++)
            all[v] = all[v] + block[v];
    }
    for (int v = 0; v < vecs; v++)
        vstore_n(total + v * W, all[v], left[v] < W ? left[v] : W);
}

/* The sums of `width` columns over chunk number `chunk` of the rows. */
static void sum_chunk(const Job *j, int64_t o, int64_t chunk, int64_t column, int64_t width, float *total)
{
    const int64_t row = chunk * j->length, last = j->n - row < j->length ? j->n : row + j->length;
    /* 16 registers are too few for 8 sums and the terms of NORMALIZED. */
    const bool wide = W == 16 || j->term != NORMALIZED;
#define SUM_COLUMNS(term)                                                                               \
    case term:                                                                                          \
        for (; wide && width >= VECS * W; width -= VECS * W, column += VECS * W, total += VECS * W)     \
            sum_columns(j, term, VECS, o, row, last, column, VECS * W, total);                          \
        for (; width >= 4 * W; width -= 4 * W, column += 4 * W, total += 4 * W)                         \
            sum_columns(j, term, 4, o, row, last, column, 4 * W, total);                                \
        for (; width > W; width -= 2 * W, column += 2 * W, total += 2 * W)                              \
            sum_columns(j, term, 2, o, row, last, column, width, total);                                \
        if (width > 0) sum_columns(j, term, 1, o, row, last, column, width, total);                     \
        break
    switch (j->term) {
    SUM_COLUMNS(VALUE);
    SUM_COLUMNS(DEVIATION);
    SUM_COLUMNS(SQUARE);
    SUM_COLUMNS(NORMALIZED);
    }
#undef SUM_COLUMNS
}

static void store_strip(const Job *j, int64_t o, int64_t column, int64_t width, const float *sums)
{
    float *y = j->y + o * j->inner + column;
    const vf scale = vset(j->scale);
    EACH_ADD(j->add, 0, width, y, scale * LOAD(sums));
}

static int64_t strips_of(const Job *j) { return (j->inner + j->strip - 1) / j->strip; }

static void sum_strips(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    int64_t strips = strips_of(j);
    for (int64_t s = first; s < last; s++) {
        int64_t o = s / strips, column = s % strips * j->strip;
        int64_t width = j->inner - column < j->strip ? j->inner - column : j->strip;
        float total[STRIP], chunk[STRIP];
        EACH(0, width, total, vset(0));
        for (int64_t c = 0; c < chunks_of(j); c++) {
            sum_chunk(j, o, c, column, width, chunk);
            EACH(0, width, total, LOAD(total) + LOAD(chunk));
        }
        store_strip(j, o, column, width, total);
    }
}

static void sum_chunks(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    for (int64_t c = first; c < last; c++)
        sum_chunk(j, 0, c, 0, j->inner, j->partial + c * STRIP);
}

static void sum_across(Job *j)
{
    j->length = chunk_length(j->n, CHUNKS, BLOCK_ROWS);
    j->strip = STRIP;
    if (j->outer > 1 || j->inner > STRIP) {
        /* Narrower strips for many threads; each column is a sum of its own. */
        while (j->strip > LEAST_STRIP && j->n * j->strip > 2 * GRAIN && j->outer * strips_of(j) < 2 * k_threads())
            j->strip /= 2;
        int64_t work = j->n * (j->inner < j->strip ? j->inner : j->strip);
        k_parallel(j->outer * strips_of(j), 1 + GRAIN / (work + 1), sum_strips, j);
        return;
    }
    float partial[CHUNKS * STRIP], total[STRIP];
    j->partial = partial;
    k_parallel(chunks_of(j), 1 + GRAIN / (j->length * j->inner + 1), sum_chunks, j);
    EACH(0, j->inner, total, vset(0));
    for (int64_t c = 0; c < chunks_of(j); c++) {
        const float *chunk = partial + c * STRIP;
        EACH(0, j->inner, total, LOAD(total) + LOAD(chunk));
    }
    store_strip(j, 0, 0, j->inner, total);
}

static void sum_terms(Job j)
{
    if (j.outer == 0 || j.inner == 0) return;
    if (j.inner == 1 && j.term != NORMALIZED) sum_along(&j);
    else sum_across(&j);
}

/* The sum of n items that are `step` apart. */
static double sum_in_double(const float *x, int64_t n, int64_t step)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i * step];
    }
    return sum;
}

/* With scale < 1, as for a mean, y may be finite where the sum in floats is not. */
void ISA(sum)(int64_t outer, int64_t n, int64_t inner, real *y, const real *x, real scale, bool add)
{
    sum_terms((Job){ .term = VALUE, .outer = outer, .n = n, .inner = inner, .x = x, .scale = scale, .add = add, .y = y });
    for (int64_t at = 0; scale < 1 && !add && at < outer * inner; at++) {
        if (!isfinite(y[at])) {
            y[at] = (float)(scale * sum_in_double(x + at / inner * n * inner + at % inner, n, inner));
        }
    }
}

void ISA(sum_normalized)(int64_t rows, int64_t n, real *y, const real *dy, const real *x, const real *mean, const real *rest,
                         const real *rstd, bool add)
{
    sum_terms((Job){ .term = NORMALIZED, .outer = 1, .n = rows, .inner = n, .x = x, .mean = mean, .dy = dy, .rest = rest,
                     .rstd = rstd, .scale = 1, .add = add, .y = y });
}

/* The sum of (x - mean)^2 over n items that are `step` apart, where it is beyond the largest float. */
static double squares_in_double(const float *x, int64_t n, int64_t step, double mean)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double c = x[i * step] - mean;
        sum += c * c;
    }
    return sum;
}

/* The mean of n items that are `step` apart, where their sum in floats is not finite; *rest: what is lost as it is rounded to a
 * float, 0 where an item is not finite. */
static float mean_in_double(const float *x, int64_t n, int64_t step, float *rest)
{
    double exact = sum_in_double(x, n, step) / (double)n;
    float mean = (float)exact;
    *rest = isfinite(mean) ? (float)(exact - mean) : 0;
    return mean;
}

/* The first mean has rounding errors. The mean of the deviations from it corrects it; what the corrected mean loses by rounding
 * is `rest`. sum (x - m)^2 = sum (x - mean)^2 - n rest^2. Equal numbers have a variance of exactly 0. */
void ISA(var)(int64_t outer, int64_t n, int64_t inner, real *y, real *mean, real *rest, const real *x, real scale)
{
    Job j = { .term = VALUE, .outer = outer, .n = n, .inner = inner, .x = x, .scale = (float)(1 / (double)n), .y = mean };
    sum_terms(j);
    j.mean = mean;
    j.term = DEVIATION;
    j.y = rest;
    sum_terms(j);
    for (int64_t at = 0; at < outer * inner; at++) {
        float first = mean[at];
        mean[at] = first + rest[at];
        rest[at] -= mean[at] - first;
        if (!isfinite(mean[at])) mean[at] = mean_in_double(x + at / inner * n * inner + at % inner, n, inner, &rest[at]);
    }
    j.term = SQUARE;
    j.scale = 1;
    j.y = y;
    sum_terms(j);
    for (int64_t at = 0; at < outer * inner; at++) {
        if (y[at] == INFINITY) {
            const float *first = x + at / inner * n * inner + at % inner;
            y[at] = (float)(scale * squares_in_double(first, n, inner, (double)mean[at] + rest[at]));
            continue;
        }
        float squares = (float)(y[at] - (double)n * rest[at] * rest[at]);
        y[at] = scale * (squares < 0 ? 0 : squares);
    }
}
