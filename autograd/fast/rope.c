/* rope.c: the rotation of pairs of entries of a row. */
#include "vmath.h"

enum { GRAIN = 8192 };

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
