/* fill.c: simple loops over whole arrays: fill, y += s x, differences, the search for infinities and NaN, sums of squares. */
#include "simd.h"

#include <stdatomic.h>

enum { GRAIN = 16384 };

typedef struct { float *y; const float *x, *x2; float s; bool add; atomic_bool *bad; } Job;

static void fill_range(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    EACH(begin, end, j->y, vset(j->s));
}

void ISA(fill)(int64_t n, real *y, real value)
{
    k_parallel(n, GRAIN, fill_range, &(Job){ .y = y, .s = value });
}

static void axpy_range(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    EACH(begin, end, j->y, vfma(vset(j->s), LOAD(j->x), LOAD(j->y)));
}

void ISA(axpy)(int64_t n, real *y, real s, const real *x)
{
    k_parallel(n, GRAIN, axpy_range, &(Job){ .y = y, .x = x, .s = s });
}

static void difference_range(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    const vf s = vset(j->s);
    if (j->add) EACH(begin, end, j->y, vfma(s, LOAD(j->x) - LOAD(j->x2), LOAD(j->y)));
    else EACH(begin, end, j->y, s * (LOAD(j->x) - LOAD(j->x2)));
}

void ISA(difference)(int64_t n, real *y, const real *a, const real *b, real s, bool add)
{
    k_parallel(n, GRAIN, difference_range, &(Job){ .y = y, .x = a, .x2 = b, .s = s, .add = add });
}

/* x - x is 0, but NaN where x is infinite or NaN. */
static void finite_range(void *arg, int64_t begin, int64_t end)
{
    enum { BLOCK = 64 * W };                    /* a branch for each block takes less time than for each vector */
    const Job *j = arg;
    const vf zero = vset(0);
    for (int64_t i = begin; i < end; ) {
        const int64_t stop = end - i < BLOCK ? end : i + BLOCK;
        vm bad = vne(zero, zero);
        for (; i + W <= stop; i += W) {
            vf x = vload(j->x + i);
            bad = vor(bad, vne(x - x, zero));
        }
        if (i < stop) {
            vf x = vload_n(j->x + i, stop - i);
            bad = vor(bad, vne(x - x, zero));
            i = stop;
        }
        if (vany(bad)) {
            atomic_store_explicit(j->bad, true, memory_order_relaxed);
            return;
        }
    }
}

bool ISA(all_finite)(int64_t n, const real *x)
{
    atomic_bool bad = false;
    k_parallel(n, GRAIN, finite_range, &(Job){ .x = x, .bad = &bad });
    return !bad;
}

/* ---- sums of squares --------------------------------------------------------------------------------------------- */

/* In double, where the square of a float is exact. The array is cut into at most PARTIALS pieces of whole blocks, whose sums
 * are added in order; in a piece, item i is added in lane i % SQUARE_LANES. The cuts depend on n alone. */
enum { PARTIALS = 256, BLOCK = 4096, SQUARE_LANES = 16, SQUARE_PARTS = SQUARE_LANES / W };

/* The squares of x, or of x - y if y is not NULL. */
typedef struct { const float *x, *y; int64_t n, length; double *partial; } Squares;

static double squares_of(const float *x, const float *y, int64_t n)
{
    vd sum[2 * SQUARE_PARTS];
    for (int k = 0; k < 2 * SQUARE_PARTS; k++)
        sum[k] = vdset(0);
    for (int64_t i = 0; i < n; i += SQUARE_LANES)
        for (int k = 0; k < SQUARE_PARTS && i + k * W < n; k++) {
            int64_t at = i + k * W;
            vf v = vload_left(x + at, n - at), u = y ? vload_left(y + at, n - at) : vset(0);
            vd low = vlow(v) - vlow(u), high = vhigh(v) - vhigh(u);
            sum[2 * k] = sum[2 * k] + low * low;
            sum[2 * k + 1] = sum[2 * k + 1] + high * high;
        }
    double lane[SQUARE_LANES];
    for (int k = 0; k < 2 * SQUARE_PARTS; k++)
        vdstore(lane + k * (W / 2), sum[k]);
    for (int half = SQUARE_LANES / 2; half >= 1; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static void square_pieces(void *arg, int64_t begin, int64_t end)
{
    const Squares *s = arg;
    for (int64_t p = begin; p < end; p++) {
        int64_t first = p * s->length, left = s->n - first;
        s->partial[p] = squares_of(s->x + first, s->y ? s->y + first : NULL, left < s->length ? left : s->length);
    }
}

double ISA(squared_distance)(int64_t n, const real *a, const real *b)
{
    double partial[PARTIALS], total = 0;
    int64_t length = ((n + PARTIALS - 1) / PARTIALS + BLOCK - 1) / BLOCK * BLOCK;
    int64_t pieces = length > 0 ? (n + length - 1) / length : 0;
    k_parallel(pieces, 1 + GRAIN / (length + 1), square_pieces, &(Squares){ a, b, n, length, partial });
    for (int64_t p = 0; p < pieces; p++)
        total += partial[p];
    return total;
}
