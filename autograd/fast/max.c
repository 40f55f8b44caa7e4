/* max.c: the largest or smallest item along one dimension of (outer, n, inner), and its first place.
 *
 * Along contiguous items (inner 1) the value is found by 32 lanes and its place by a second pass. Across rows (inner > 1)
 * each column keeps its best value and place in a lane. The smallest is the largest of the negated items. NaN is largest. */
#include "simd.h"

enum { GRAIN = 8192 };

typedef struct { int64_t n, inner; float *y; int32_t *index; const float *x; bool least; } Job;

INLINE vm is_nan(vf x) { return vne(x, x); }

/* The first item equal to `best`, or the first NaN if it is one. */
static int64_t place_of(const float *x, int64_t n, float best)
{
    for (int64_t i = 0; i < n; i += W) {
        vf v = vload_left(x + i, n - i);
        vm hit = vand(best == best ? veq(v, vset(best)) : is_nan(v), vfirst(n - i < W ? n - i : W));
        if (vany(hit)) return i + __builtin_ctz(vmask_bits(hit));
    }
    return 0;
}

static void max_rows(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    const vi flip = viset(j->least ? INT32_MIN : 0);
    for (int64_t row = begin; row < end; row++) {
        const float *x = j->x + row * j->n;
        Lanes best = lanes_set(-INFINITY);
        vi nan = viset(0);
        for (int64_t i = 0; i < j->n; i += LANES)
            for (int k = 0; k < PARTS && i + k * W < j->n; k++) {
                int64_t left = j->n - i - k * W;
                vf v = vload_left(x + i + k * W, left);
                nan = viselect(is_nan(v), viset(1), nan);
                v = vfrom_bits(vbits(v) ^ flip);
                if (left < W) v = vselect(vfirst(left), v, vset(-INFINITY));
                best.part[k] = vmax(v, best.part[k]);
            }
        float value = lanes_max(best);
        value = vany(vieq(nan, viset(1))) ? NAN : j->least ? -value : value;
        int64_t at = place_of(x, j->n, value);
        j->y[row] = x[at];
        if (j->index) j->index[row] = (int32_t)at;
    }
}

/* W columns, of which the first `left` exist; x is at their first row, and their results are items `at`... of y. */
static void max_columns(const Job *j, const float *x, int64_t at, int64_t left)
{
    const vi flip = viset(j->least ? INT32_MIN : 0);
    vf best = vfrom_bits(vbits(vload_left(x, left)) ^ flip);
    vi index = viset(0);
    for (int64_t i = 1; i < j->n; i++) {
        vf v = vfrom_bits(vbits(vload_left(x + i * j->inner, left)) ^ flip);
        vm take = vand(vor(vlt(best, v), is_nan(v)), veq(best, best));
        best = vselect(take, v, best);
        index = viselect(take, viset((int32_t)i), index);
    }
    vstore_n(j->y + at, vfrom_bits(vbits(best) ^ flip), left);
    if (j->index) vistore_n(j->index + at, index, left);
}

static void max_strips(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    const int64_t strips = (j->inner + W - 1) / W;
    for (int64_t s = begin; s < end; s++) {
        int64_t o = s / strips, column = s % strips * W, left = j->inner - column;
        max_columns(j, j->x + o * j->n * j->inner + column, o * j->inner + column, left < W ? left : W);
    }
}

void ISA(max)(int64_t outer, int64_t n, int64_t inner, real *y, int32_t *index, const real *x, bool least)
{
    Job j = { n, inner, y, index, x, least };
    if (inner == 1) k_parallel(outer, 1 + GRAIN / n, max_rows, &j);
    else k_parallel(outer * ((inner + W - 1) / W), 1 + GRAIN / (n * W), max_strips, &j);
}
