/* gemm_pass.h: the loops around the microkernels of a product, for one thread or for several that compute it together.
 *
 * A pass adds a number of products to each sum of a block of C. First the operands are packed, then the block is computed,
 * both in parts, and at most KC products at a time. With several threads each of the two is a parallel region. So an operand is
 * packed once and not by each thread that needs it, and a thread that is late leaves parts to the others. The order of a sum
 * does not depend on the parts.
 * The file that includes this defines Packed, KC, ROW_UNIT, COLUMN_UNIT, and the three functions declared here. */
#ifndef KAERU_GEMM_PASS_H
#define KAERU_GEMM_PASS_H

#include "gemm_common.h"
#include "threads.h"

/* Rows i..i + m - 1 and columns j..j + n - 1 of C get the products p..p + k - 1 along k, in parts of rows x columns. packed_a,
 * packed_b: where op(A) and op(B) are packed, a_items and b_items for each KC products; NULL: they are read in place. */
typedef struct {
    const KGemm *s;
    float *c;
    const float *a, *b;
    Packed *packed_a, *packed_b;
    int64_t a_items, b_items, i, j, p, m, n, k, rows, columns;
} Pass;

/* The pass of these three has at most KC products. The first two pack m rows of op(A) from its row i on, and n columns of op(B)
 * from its column j on. The third computes m rows and n columns of C from there on. */
static void pack_part_of_a(const Pass *pass, int64_t i, int64_t m);
static void pack_part_of_b(const Pass *pass, int64_t j, int64_t n);
static void compute_part(const Pass *pass, int64_t i, int64_t j, int64_t m, int64_t n);

/* The slice of a pass from the product p on: at most KC of them. */
INLINE Pass slice_of(const Pass *pass, int64_t p)
{
    Pass slice = *pass;
    slice.p += p;
    slice.k = min(KC, pass->k - p);
    if (pass->packed_a) slice.packed_a += p / KC * pass->a_items;
    if (pass->packed_b) slice.packed_b += p / KC * pass->b_items;
    return slice;
}

/* Where op(A) has row i and the first product of the pass. */
INLINE const float *place_in_a(const Pass *pass, int64_t i)
{
    const int64_t row = pass->i + i, lda = pass->s->lda;
    return pass->a + (pass->s->ta ? row + pass->p * lda : row * lda + pass->p);
}

INLINE int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }
INLINE int64_t parts_of_rows(const Pass *pass)    { return parts_of(pass->m, pass->rows); }
INLINE int64_t parts_of_columns(const Pass *pass) { return parts_of(pass->n, pass->columns); }

/* A is packed once, together with the first block of columns; the next blocks use it again. */
INLINE int64_t packed_parts_of_a(const Pass *pass) { return pass->packed_a && pass->j == 0 ? parts_of_rows(pass) : 0; }

static void pack_parts(void *arg, int64_t begin, int64_t end)
{
    const Pass *pass = arg;
    const int64_t of_a = packed_parts_of_a(pass);
    for (int64_t part = begin; part < end; part++)
        for (int64_t p = 0; p < pass->k; p += KC) {
            const Pass slice = slice_of(pass, p);
            const int64_t i = part * pass->rows, j = (part - of_a) * pass->columns;
            if (part < of_a) pack_part_of_a(&slice, i, min(pass->rows, pass->m - i));
            else pack_part_of_b(&slice, j, min(pass->columns, pass->n - j));
        }
}

static void compute_parts(void *arg, int64_t begin, int64_t end)
{
    const Pass *pass = arg;
    const int64_t down = parts_of_rows(pass);
    for (int64_t part = begin; part < end; part++) {
        const int64_t i = part % down * pass->rows, j = part / down * pass->columns;
        int64_t p = 0;
        do {                                        /* if k is 0, too: C must be set to 0, and the epilogue must run */
            const Pass slice = slice_of(pass, p);
            compute_part(&slice, i, j, min(pass->rows, pass->m - i), min(pass->columns, pass->n - j));
            p += KC;
        } while (p < pass->k);
    }
}

/* Halves the longer side of a part until there are enough of them. */
static void split_pass(Pass *pass, int64_t threads)
{
    enum { PARTS_EACH = 3 };    /* for each thread, at least, if the block is large enough */
    while (parts_of_rows(pass) * parts_of_columns(pass) < PARTS_EACH * threads) {
        if (pass->rows > ROW_UNIT && (pass->rows >= pass->columns || pass->columns <= COLUMN_UNIT))
            pass->rows = parts_of(pass->rows, 2 * ROW_UNIT) * ROW_UNIT;
        else if (pass->columns > COLUMN_UNIT) pass->columns = parts_of(pass->columns, 2 * COLUMN_UNIT) * COLUMN_UNIT;
        else return;
    }
}

static void run_parts(const Pass *pass, int64_t parts, KBody *body)
{
    if (pass->s->threads > 1) k_parallel(parts, 1, body, (void *)pass);
    else if (parts > 0) body((void *)pass, 0, parts);
}

/* The sizes of a pass: columns, and slices of KC products. Threads that compute together pack more at once, so that they wait
 * for each other less often. */
INLINE int64_t columns_of_pass(const KGemm *s, int64_t of_thread)
{
    return min(parts_of(s->n, COLUMN_UNIT) * COLUMN_UNIT, s->threads > 1 ? s->threads * of_thread : of_thread);
}
INLINE int64_t slices_of_pass(const KGemm *s) { return s->threads > 1 ? min(4, parts_of(s->k, KC)) : 1; }

/* Computes C in passes of at most m rows, n columns and k products, for whose operands there is memory. A thread takes at most
 * `columns` columns at once. */
static void gemm_loops(Pass pass, int64_t m, int64_t n, int64_t k, int64_t columns)
{
    const KGemm *s = pass.s;
    for (; pass.i < s->m; pass.i += m) {
        pass.m = pass.rows = min(m, s->m - pass.i);
        pass.n = min(n, s->n);
        pass.columns = min(columns, pass.n);
        if (s->threads > 1) split_pass(&pass, s->threads);
        pass.p = 0;
        do {
            pass.k = min(k, s->k - pass.p);
            for (pass.j = 0; pass.j < s->n; pass.j += n) {
                pass.n = min(n, s->n - pass.j);
                run_parts(&pass, packed_parts_of_a(&pass) + (pass.packed_b ? parts_of_columns(&pass) : 0), pack_parts);
                run_parts(&pass, parts_of_rows(&pass) * parts_of_columns(&pass), compute_parts);
            }
            pass.p += k;
        } while (pass.p < s->k);
    }
}

#endif
