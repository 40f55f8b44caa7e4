/* paired.c: functions of two entries of a row: SwiGLU of its halves, and the rotation of pairs of entries. */
#include "vmath.h"

enum { GRAIN = 8192 };

/* ---- SwiGLU: y = a sigmoid(a) b ---------------------------------------------------------------------------------- */

typedef struct { int64_t n; float *y; const float *dy, *x; bool add; } Swiglu;

static void swiglu_rows(void *arg, int64_t first, int64_t last)
{
    const Swiglu *j = arg;
    for (int64_t row = first; row < last; row++) {
        const float *a = j->x + row * 2 * j->n, *b = a + j->n;
        float *y = j->y + row * j->n;
        EACH(0, j->n, y, vsilu(LOAD(a)) * LOAD(b));
    }
}

void ISA(swiglu)(int64_t rows, int64_t n, real *y, const real *x)
{
    k_parallel(rows, 1 + GRAIN / (n + 1), swiglu_rows, &(Swiglu){ .n = n, .y = y, .x = x });
}

/* p[i] = v, or += v. */
INLINE void put(float *p, vf v, bool add, int64_t left)
{
    vkeep(p, add ? vload_left(p, left) + v : v, left);
}

/* da = dy b silu'(a), db = dy silu(a), for `left` lanes from item i on. */
INLINE void swiglu_slopes(float *da, const float *a, const float *dy, int64_t n, int64_t i, bool add, int64_t left)
{
    vf slope, silu = vsilu_and_slope(LOAD(a), &slope), g = LOAD(dy);
    put(da + i, g * LOAD(a + n) * slope, add, left);
    put(da + n + i, g * silu, add, left);
}

INLINE void swiglu_backward_row(float *da, const float *a, const float *dy, int64_t n, bool add)
{
    int64_t i = 0;
    for (; i + W <= n; i += W)
        swiglu_slopes(da, a, dy, n, i, add, W);
    if (i < n)
        swiglu_slopes(da, a, dy, n, i, add, n - i);
}

static void swiglu_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Swiglu *j = arg;
    for (int64_t row = first; row < last; row++) {
        const float *a = j->x + row * 2 * j->n, *dy = j->dy + row * j->n;
        float *da = j->y + row * 2 * j->n;
        if (j->add)
            swiglu_backward_row(da, a, dy, j->n, true);
        else
            swiglu_backward_row(da, a, dy, j->n, false);
    }
}

void ISA(swiglu_backward)(int64_t rows, int64_t n, real *dx, const real *dy, const real *x, bool add)
{
    k_parallel(rows, 1 + GRAIN / (n + 1), swiglu_backward_rows, &(Swiglu){ .n = n, .y = dx, .dy = dy, .x = x, .add = add });
}

/* ---- rotation of pairs ------------------------------------------------------------------------------------------- */

typedef struct { const KRope *shape; float *y; const float *x, *table; } Rope;

/* One head: pair i is x[i], x[i + n]. */
static void turn_halves(const KRope *p, float *y, const float *x, const float *cosine, const float *sine, vf sign)
{
    const float *a = x, *b = x + p->n;
    float *ya = y, *yb = y + p->n;
    EACH_ADD(p->add, 0, p->n, ya, vfnma(LOAD(b), sign * LOAD(sine), LOAD(a) * LOAD(cosine)));
    EACH_ADD(p->add, 0, p->n, yb, vfma(LOAD(a), sign * LOAD(sine), LOAD(b) * LOAD(cosine)));
}

/* One head: pair i is x[2 i], x[2 i + 1]; with the bits of turn_halves. The halves are collected first. */
static void turn_adjacent(const KRope *p, float *y, const float *x, const float *cosine, const float *sine, vf sign)
{
    enum { PAIRS = 64 };
    float in[2 * PAIRS], out[2 * PAIRS];
    for (int64_t at = 0; at < p->n; at += PAIRS) {
        const int64_t n = p->n - at < PAIRS ? p->n - at : PAIRS;
        const KRope part = { .n = n };
        for (int64_t i = 0; i < n; i++) {
            in[i] = x[2 * (at + i)];
            in[n + i] = x[2 * (at + i) + 1];
        }
        turn_halves(&part, out, in, cosine + at, sine + at, sign);
        float *to = y + 2 * at;
        for (int64_t i = 0; i < n; i++) {
            to[2 * i] = p->add ? to[2 * i] + out[i] : out[i];
            to[2 * i + 1] = p->add ? to[2 * i + 1] + out[n + i] : out[n + i];
        }
    }
}

static void turn_rows(void *arg, int64_t first, int64_t last)
{
    const Rope *j = arg;
    const KRope *p = j->shape;
    const vf sign = vset(p->back ? -1 : 1);
    for (int64_t row = first; row < last; row++) {
        const float *cosine = j->table + row % p->period * 2 * p->n;
        for (int64_t head = row * p->heads; head < (row + 1) * p->heads; head++)
            (p->adjacent ? turn_adjacent : turn_halves)(p, j->y + head * 2 * p->n, j->x + head * 2 * p->n, cosine,
                                                        cosine + p->n, sign);
    }
}

void ISA(rope)(const KRope *shape, real *y, const real *x, const real *table)
{
    k_parallel(shape->rows, 1 + GRAIN / (shape->heads * shape->n + 1), turn_rows, &(Rope){ shape, y, x, table });
}
