/* strided.h: strided iterations (KWalk) as rows, whose innermost dimension is computed in vectors.
 *
 * Neighboring dimensions that both arrays have contiguous are merged first, so that most walks are a single row. */
#ifndef KAERU_STRIDED_H
#define KAERU_STRIDED_H

#include "simd.h"

/* `rows` rows of n items with strides sa and sb; the outer dimensions give the place where each begins. */
typedef struct {
    int64_t rows, n, sa, sb;
    int outer;
    int64_t dim[K_DIMS], a[K_DIMS], b[K_DIMS];
} Rows;

/* reads_a, reads_b: the strides of an array that is not read do not matter. */
static inline Rows walk_rows(const KWalk *w, bool reads_a, bool reads_b)
{
    Rows r;                                                 /* to clear it takes as long as the rest of a small operation */
    int64_t dim[K_DIMS + 1], a[K_DIMS + 1], b[K_DIMS + 1];
    int n = 0;                                              /* merged dimensions, the innermost first */
    for (int d = w->ndim - 1; d >= 0; d--) {
        if (w->dim[d] == 1) continue;
        if (n > 0 && (!reads_a || w->a[d] == a[n - 1] * dim[n - 1]) && (!reads_b || w->b[d] == b[n - 1] * dim[n - 1])) {
            dim[n - 1] *= w->dim[d];
            continue;
        }
        dim[n] = w->dim[d];
        a[n] = w->a[d];
        b[n++] = w->b[d];
    }
    r.rows = 1;
    r.n = n > 0 ? dim[0] : 1;
    r.sa = n > 0 ? a[0] : 0;
    r.sb = n > 0 ? b[0] : 0;
    r.outer = n > 1 ? n - 1 : 0;
    for (int d = 0; d < r.outer; d++) {
        r.dim[d] = dim[n - 1 - d];
        r.a[d] = a[n - 1 - d];
        r.b[d] = b[n - 1 - d];
        r.rows *= r.dim[d];
    }
    if (r.n == 0) r.rows = 0;                               /* not a loop over 2^40 rows of nothing */
    return r;
}

/* The place where a row begins in both arrays, and its index in each outer dimension. */
typedef struct { int64_t a, b, index[K_DIMS]; } RowPlace;

static inline void row_seek(const Rows *r, int64_t row, RowPlace *p)
{
    p->a = p->b = 0;
    for (int d = r->outer - 1; d >= 0; d--) {
        p->index[d] = row % r->dim[d];
        row /= r->dim[d];
        p->a += p->index[d] * r->a[d];
        p->b += p->index[d] * r->b[d];
    }
}

static inline void row_next(const Rows *r, RowPlace *p)
{
    for (int d = r->outer - 1; d >= 0; d--) {
        p->a += r->a[d];
        p->b += r->b[d];
        if (++p->index[d] < r->dim[d]) return;
        p->a -= r->a[d] * r->dim[d];
        p->b -= r->b[d] * r->dim[d];
        p->index[d] = 0;
    }
}

#define COPY_ROW(type)                                                  \
    do {                                                                \
        type *d = (type *)(void *)to;                                   \
        const type *s = (const type *)(const void *)from;               \
        for (int64_t i = 0; i < n; i++)                                 \
            d[i * to_step] = s[i * from_step];                          \
    } while (0)

/* Copies n items of `size` bytes between rows with strides. */
static inline void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n, size_t size)
{
    if (to_step == 1 && from_step == 1) memcpy(to, from, (size_t)n * size);
    else if (size == 1) COPY_ROW(uint8_t);
    else if (size == 4) COPY_ROW(uint32_t);
    else COPY_ROW(uint64_t);
}

#endif
