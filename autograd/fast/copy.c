/* copy.c: copies between arrays of any strides (permute, slice, concatenate, expand), and the same with addition.
 *
 * After strided.h has merged dimensions, most rows are contiguous in both arrays: one memcpy each. If the two arrays are
 * contiguous along different dimensions (a transpose), tiles of 64 x 64 are copied, so that every fetched cache line is used
 * whole. A tile is first copied to an array of its own: the lines of a tile in an array with rows of 2^k bytes have the same
 * place in a cache, which does not hold all of them. */
#include "strided.h"

enum { GRAIN = 16384, TILE = 64 };

typedef struct {
    char *dst;
    const char *src;
    size_t size;
    Rows rows;                  /* a: destination, b: source */
    int across;                 /* transpose: the outer dimension along which the source is dense, else -1 */
} Copy;

static int64_t rows_grain(const Rows *r) { return r->n >= GRAIN ? 1 : GRAIN / (r->n > 0 ? r->n : 1); }

/* ---- copy -------------------------------------------------------------------------------------------------------- */

static void copy_rows(void *arg, int64_t begin, int64_t end)
{
    const Copy *c = arg;
    const int64_t size = (int64_t)c->size;
    RowPlace p;
    row_seek(&c->rows, begin, &p);
    for (int64_t row = begin; row < end; row++, row_next(&c->rows, &p))
        copy_row(c->dst + p.a * size, c->rows.sa, c->src + p.b * size, c->rows.sb, c->rows.n, c->size);
}

/* Copies a tile: item (h, i) is at to[h to_step + i step] and at from[h + i from_step]. */
static void copy_tile(char *to, int64_t to_step, int64_t step, const char *from, int64_t from_step, int64_t high, int64_t wide,
                      int64_t size)
{
    char tile[TILE * TILE * sizeof(uint64_t)];
    for (int64_t i = 0; i < wide; i++)
        memcpy(tile + i * TILE * size, from + i * from_step * size, (size_t)(high * size));
    for (int64_t h = 0; h < high; h++)
        copy_row(to + h * to_step * size, step, tile + h * size, TILE, wide, (size_t)size);
}

/* A part of a transpose: strips of TILE items along `across` and all items of the row. Strips are numbered along `across`
 * first, then along the other outer dimensions. */
static void copy_strips(void *arg, int64_t begin, int64_t end)
{
    const Copy *c = arg;
    const Rows *r = &c->rows;
    const int64_t size = (int64_t)c->size, length = r->dim[c->across], strips = (length + TILE - 1) / TILE;
    for (int64_t strip = begin; strip < end; strip++) {
        int64_t first = strip % strips * TILE, rest = strip / strips, a = first * r->a[c->across], b = first;
        for (int d = r->outer - 1; d >= 0; d--) {
            if (d == c->across) continue;
            a += rest % r->dim[d] * r->a[d];
            b += rest % r->dim[d] * r->b[d];
            rest /= r->dim[d];
        }
        int64_t high = length - first < TILE ? length - first : TILE;
        for (int64_t i = 0; i < r->n; i += TILE) {
            int64_t wide = r->n - i < TILE ? r->n - i : TILE;
            copy_tile(c->dst + (a + i * r->sa) * size, r->a[c->across], r->sa, c->src + (b + i * r->sb) * size, r->sb, high,
                      wide, size);
        }
    }
}

/* The outer dimension along which the source is dense if its rows are not, so that the copy is a transpose; -1: none. */
static int dimension_across(const Rows *r)
{
    if (r->sb == 1 || r->sb == 0 || r->n < 4) return -1;
    for (int d = 0; d < r->outer; d++)
        if (r->b[d] == 1 && r->dim[d] >= 4) return d;
    return -1;
}

void ISA(copy)(const KWalk *walk, void *dst, const void *src, size_t size)
{
    Copy c = { dst, src, size, walk_rows(walk, true, true), -1 };
    c.across = dimension_across(&c.rows);
    if (c.across < 0) {
        k_parallel(c.rows.rows, rows_grain(&c.rows), copy_rows, &c);
        return;
    }
    int64_t length = c.rows.dim[c.across], strips = c.rows.rows / length * ((length + TILE - 1) / TILE);
    k_parallel(strips, 1 + GRAIN / (TILE * c.rows.n), copy_strips, &c);
}

/* ---- addition ---------------------------------------------------------------------------------------------------- */

static void add_rows(void *arg, int64_t begin, int64_t end)
{
    const Copy *c = arg;
    const int64_t n = c->rows.n, to_step = c->rows.sa, from_step = c->rows.sb;
    RowPlace p;
    row_seek(&c->rows, begin, &p);
    for (int64_t row = begin; row < end; row++, row_next(&c->rows, &p)) {
        float *to = (float *)(void *)c->dst + p.a;
        const float *from = (const float *)(const void *)c->src + p.b;
        if (to_step == 1 && from_step == 1)
            EACH(0, n, to, LOAD(to) + LOAD(from));
        else if (to_step == 1 && from_step == 0)
            EACH(0, n, to, LOAD(to) + vset(*from));
        else
            for (int64_t i = 0; i < n; i++)
                to[i * to_step] += from[i * from_step];
    }
}

void ISA(copy_add)(const KWalk *walk, real *dst, const real *src)
{
    Copy c = { (char *)dst, (const char *)src, sizeof(float), walk_rows(walk, true, true), -1 };
    k_parallel(c.rows.rows, rows_grain(&c.rows), add_rows, &c);
}
